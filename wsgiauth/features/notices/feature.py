"""The declaration of the feature `notices`: see `wsgiauth.feature`."""

from wsgiauth.feature import Feature
from wsgiauth.features.notices import notices

FEATURE = Feature(
    name="notices",
    composers=notices.COMPOSERS,
    letter_samples=notices.SAMPLES,
    recorder=notices.Notices,
)
