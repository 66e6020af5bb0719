"""Tokens for other services, and their introspection."""

from collections.abc import Iterator

from wsgiauth.authentication.introspection import Introspector
from wsgiauth.authentication.services import ServiceTokens
from wsgiauth.authentication.tokens import Tokens
from wsgiauth.feature import Feature
from wsgiauth.settings import Settings


def _parts(settings: Settings, tokens: Tokens) -> Iterator[object]:
    if settings.SERVICE_KEYS:
        services = ServiceTokens(settings, tokens.now)
        yield from (services, Introspector(settings, tokens, services))


FEATURE = Feature(name="services", parts=_parts)
