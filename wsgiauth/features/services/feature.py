"""What the feature `services` declares: see `wsgiauth.feature`."""

from collections.abc import Iterator

from wsgiauth.authentication.introspection import INTROSPECT, Introspector
from wsgiauth.authentication.services import ServiceTokens
from wsgiauth.authentication.tokens import Tokens
from wsgiauth.endpoints.introspect import Introspect
from wsgiauth.endpoints.jwks import KeySet
from wsgiauth.endpoints.token import Token
from wsgiauth.feature import Feature
from wsgiauth.features.services.well_known import well_known_urls
from wsgiauth.settings import Settings


def _parts(settings: Settings, tokens: Tokens) -> Iterator[object]:
    if settings.SERVICE_KEYS:
        services = ServiceTokens(settings, tokens.now)
        yield from (services, Introspector(settings, tokens, services))


def _permissions(settings: Settings) -> tuple[str, ...]:
    return (INTROSPECT,) if settings.SERVICE_KEYS else ()


FEATURE = Feature(
    name="services",
    urls={
        "/token": Token(),
        "/jwks.json": KeySet(),
        "/introspect": Introspect(),
    },
    well_known=well_known_urls,
    permissions=_permissions,
    parts=_parts,
)
