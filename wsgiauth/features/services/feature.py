"""What the feature `services` declares: see `wsgiauth.feature`."""

from wsgiauth.authentication.descriptions import DescribedClaims, DescribedStrings
from wsgiauth.authentication.sessions import Sessions
from wsgiauth.authentication.tokens import Tokens
from wsgiauth.feature import Feature
from wsgiauth.features.services.introspect import Introspect
from wsgiauth.features.services.introspection import INTROSPECT, Introspector
from wsgiauth.features.services.jwks import PublishedKeys, well_known_urls
from wsgiauth.features.services.service_tokens import ServiceTokens
from wsgiauth.features.services.signed_tokens import SignedTokens
from wsgiauth.features.services.token import Token
from wsgiauth.messages import _
from wsgiauth.parts import PartFactories
from wsgiauth.settings import Settings


def _parts(settings: Settings) -> PartFactories:
    if not settings.SERVICE_KEYS:
        return {}
    return {
        SignedTokens: lambda _: SignedTokens(settings),
        ServiceTokens: lambda parts: ServiceTokens(
            settings, parts.need(SignedTokens), parts.need(Tokens).now
        ),
        Introspector: lambda parts: Introspector(
            parts.need(Tokens),
            parts.need(Sessions),
            parts.need(ServiceTokens),
            strings=parts.all(DescribedStrings),
            claims=parts.all(DescribedClaims),
        ),
    }


FEATURE = Feature(
    name="services",
    urls={"/token": Token(), "/jwks.json": PublishedKeys(), "/introspect": Introspect()},
    openapi="wsgiauth.features.services.openapi",
    well_known=well_known_urls,
    permissions=lambda settings: (INTROSPECT,) if settings.SERVICE_KEYS else (),
    parts=_parts,
    headlines={
        "invalid_scope": _("The request for a token was refused"),
        "invalid_target": _("The request for a token was refused"),
    },
)
