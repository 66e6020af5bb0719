"""What the feature `services` declares: see `wsgiauth.feature`."""

from collections.abc import Iterator, Sequence

from wsgiauth.authentication.sessions import Sessions
from wsgiauth.authentication.tokens import Tokens
from wsgiauth.feature import Feature
from wsgiauth.features.services.introspect import Introspect
from wsgiauth.features.services.introspection import INTROSPECT, Introspector
from wsgiauth.features.services.jwks import PublishedKeys, well_known_urls
from wsgiauth.features.services.service_tokens import ServiceTokens
from wsgiauth.features.services.signed_tokens import SignedTokens
from wsgiauth.features.services.token import Token
from wsgiauth.settings import Settings


def _parts(settings: Settings, tokens: Tokens, earlier: Sequence[object]) -> Iterator[object]:
    if settings.SERVICE_KEYS:
        sessions = next(each for each in earlier if isinstance(each, Sessions))
        signed = SignedTokens(settings)
        services = ServiceTokens(settings, signed, tokens.now)
        yield from (signed, services, Introspector(tokens, sessions, services))


FEATURE = Feature(
    name="services",
    urls={"/token": Token(), "/jwks.json": PublishedKeys(), "/introspect": Introspect()},
    well_known=well_known_urls,
    permissions=lambda settings: (INTROSPECT,) if settings.SERVICE_KEYS else (),
    parts=_parts,
)
