"""Emails to the owner of an account about what happens to it."""

from wsgiauth.feature import Feature
from wsgiauth.mail import notices

FEATURE = Feature(
    name="notices",
    composers=notices.COMPOSERS,
    letter_samples=notices.SAMPLES,
    recorder=notices.Notices,
)
