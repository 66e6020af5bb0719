"""The list of features, with one declaration for each."""

from collections.abc import Iterator

from wsgiauth.authentication import factors
from wsgiauth.authentication.introspection import Introspector
from wsgiauth.authentication.oidc import Providers
from wsgiauth.authentication.passkeys.relying_party import RelyingParty
from wsgiauth.authentication.services import ServiceTokens
from wsgiauth.authentication.tokens import Tokens
from wsgiauth.events import Recorder
from wsgiauth.feature import Feature, composers_of, letter_samples_of
from wsgiauth.mail import link_letters, notices, provider_letters
from wsgiauth.mail.outbox import Outbox
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
    Feature(
        name="links",
        composers=link_letters.COMPOSERS,
        letter_samples=link_letters.SAMPLES,
    ),
    Feature(
        name="providers",
        parts=_parts_of_providers,
        composers=provider_letters.COMPOSERS,
        letter_samples=provider_letters.SAMPLES,
    ),
    Feature(
        name="notices",
        composers=notices.COMPOSERS,
        letter_samples=notices.SAMPLES,
        recorder=notices.Notices,
    ),
    Feature(name="services", parts=_parts_of_services),
)

COMPOSERS = composers_of(FEATURES)
LETTER_SAMPLES = letter_samples_of(FEATURES)


def recorders(settings: Settings, outbox: Outbox | None, mount: str) -> list[Recorder]:
    """Return what is called in the transaction of each change of an account; see `Feature`."""
    return [each.recorder(settings, outbox, mount) for each in FEATURES if each.recorder]
