"""The declaration of the feature `notices`: see `wsgiauth.feature`."""

from wsgiauth.events import Recorder
from wsgiauth.feature import Feature
from wsgiauth.features.notices import notices
from wsgiauth.settings import Settings
from wsgiauth.site import Site


def _recorder(settings: Settings, site: Site | None) -> Recorder | None:
    if settings.MAIL_URL is None:
        return None
    if site is None:
        return notices.Notices(settings)
    return notices.Notices(settings, site.outbox, site.pages.mount)


FEATURE = Feature(
    name="notices",
    composers=lambda factors: notices.COMPOSERS,
    letter_samples=notices.SAMPLES,
    recorder=_recorder,
)
