"""Logins with other providers (OpenID Connect)."""

from collections.abc import Iterator, Sequence

from wsgiauth.authentication.oidc import Providers
from wsgiauth.authentication.tokens import Tokens
from wsgiauth.feature import Feature
from wsgiauth.features.providers.questions import QUESTIONS
from wsgiauth.mail import provider_letters
from wsgiauth.settings import Settings
from wsgiauth.web.pages import Page


def _parts(settings: Settings, tokens: Tokens) -> Iterator[object]:
    if settings.OIDC_PROVIDERS:
        yield Providers(settings, tokens.now)


def _pages() -> Sequence[Page]:
    from wsgiauth.features.providers.samples import PAGES

    return PAGES


FEATURE = Feature(
    name="providers",
    pages=_pages,
    parts=_parts,
    composers=provider_letters.COMPOSERS,
    letter_samples=provider_letters.SAMPLES,
    questions=QUESTIONS,
)
