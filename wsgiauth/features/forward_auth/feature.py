"""What the feature `forward_auth` declares: see `wsgiauth.feature`."""

from wsgiauth.endpoints.check import Check
from wsgiauth.feature import Feature

FEATURE = Feature(
    name="forward_auth",
    urls={
        "/check": Check(),
    },
)
