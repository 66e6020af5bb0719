"""What the feature `providers` declares: see `wsgiauth.feature`."""

from collections.abc import Iterator, Sequence

from wsgiauth.accounts.personal_data import Records
from wsgiauth.authentication.tokens import Tokens
from wsgiauth.feature import Feature
from wsgiauth.features.providers import addresses
from wsgiauth.features.providers.endpoints.complete import Complete
from wsgiauth.features.providers.endpoints.identities import Identities
from wsgiauth.features.providers.endpoints.oidc import ProviderLogin
from wsgiauth.features.providers.endpoints.oidc_callback import ProviderCallback
from wsgiauth.features.providers.endpoints.oidc_logout import BackChannelLogout
from wsgiauth.features.providers.identities import own_identities, remove_all
from wsgiauth.features.providers.oidc import Providers
from wsgiauth.features.providers.provider_logins import ProviderLogins, can_log_in
from wsgiauth.features.providers.provider_sessions import own_logins
from wsgiauth.features.providers.questions import QUESTIONS
from wsgiauth.features.providers.redirects import BUTTON, ask_provider
from wsgiauth.settings import Settings
from wsgiauth.web.pages import Page


def _parts(settings: Settings, tokens: Tokens, earlier: Sequence[object]) -> Iterator[object]:
    if settings.OIDC_PROVIDERS:
        providers = Providers(settings, tokens.now)
        yield from (providers, ProviderLogins(providers))


def _pages() -> Sequence[Page]:
    from wsgiauth.features.providers.samples import PAGES

    return PAGES


FEATURE = Feature(
    name="providers",
    urls={
        "/identities": Identities(),
        "/oidc/{provider}": ProviderLogin(),
        "/oidc/{provider}/callback": ProviderCallback(),
        "/complete": Complete(),
        "/oidc/{provider}/logout": BackChannelLogout(),
    },
    pages=_pages,
    at_first_proof=remove_all,
    way_in=can_log_in,
    is_way_in=lambda settings: bool(settings.OIDC_PROVIDERS),
    parts=_parts,
    composers=addresses.COMPOSERS,
    letter_samples=addresses.SAMPLES,
    confirmations={BUTTON: ask_provider},
    personal_data={
        "wsgiauth_identity": Records("provider_accounts", own_identities),
        "wsgiauth_provider_session": Records("provider_logins", own_logins),
    },
    questions=QUESTIONS,
)
