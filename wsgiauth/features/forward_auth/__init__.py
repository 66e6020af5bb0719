"""Answers for a proxy that asks who sent a request (forward authentication)."""

from wsgiauth.endpoints.check import Check
from wsgiauth.feature import Feature

FEATURE = Feature(
    name="forward_auth",
    urls={
        "/check": Check(),
    },
)
