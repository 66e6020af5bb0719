"""The list of features, with one declaration for each."""

from collections.abc import Iterator

from wsgiauth.authentication import factors
from wsgiauth.authentication.introspection import Introspector
from wsgiauth.authentication.oidc import Providers
from wsgiauth.authentication.passkeys.relying_party import RelyingParty
from wsgiauth.authentication.services import ServiceTokens
from wsgiauth.authentication.tokens import Tokens
from wsgiauth.feature import Feature
from wsgiauth.settings import Settings


def _parts_of_factors(settings: Settings, tokens: Tokens) -> Iterator[object]:
    if settings.PASSKEYS:
        yield RelyingParty(settings)


def _parts_of_providers(settings: Settings, tokens: Tokens) -> Iterator[object]:
    if settings.OIDC_PROVIDERS:
        yield Providers(settings, tokens.now)


def _parts_of_services(settings: Settings, tokens: Tokens) -> Iterator[object]:
    if settings.SERVICE_KEYS:
        services = ServiceTokens(settings, tokens.now)
        yield from (services, Introspector(settings, tokens, services))


FEATURES = (
    Feature(name="factors", factor_kinds=factors.KINDS, parts=_parts_of_factors),
    Feature(name="providers", parts=_parts_of_providers),
    Feature(name="services", parts=_parts_of_services),
)
