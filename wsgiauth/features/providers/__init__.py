"""Logins with other providers (OpenID Connect)."""

from collections.abc import Iterator

from wsgiauth.authentication.oidc import Providers
from wsgiauth.authentication.tokens import Tokens
from wsgiauth.feature import Feature
from wsgiauth.features.providers.questions import QUESTIONS
from wsgiauth.mail import provider_letters
from wsgiauth.settings import Settings


def _parts(settings: Settings, tokens: Tokens) -> Iterator[object]:
    if settings.OIDC_PROVIDERS:
        yield Providers(settings, tokens.now)


FEATURE = Feature(
    name="providers",
    parts=_parts,
    composers=provider_letters.COMPOSERS,
    letter_samples=provider_letters.SAMPLES,
    questions=QUESTIONS,
)
