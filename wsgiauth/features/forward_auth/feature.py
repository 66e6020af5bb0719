"""What the feature `forward_auth` declares: see `wsgiauth.feature`."""

from wsgiauth.feature import Feature
from wsgiauth.features.forward_auth.check import Check
from wsgiauth.features.forward_auth.questions import QUESTIONS

FEATURE = Feature(
    name="forward_auth",
    openapi="wsgiauth.features.forward_auth.openapi",
    urls={"/check": Check()},
    questions=QUESTIONS,
)
