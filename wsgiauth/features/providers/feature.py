"""What the feature `providers` declares: see `wsgiauth.feature`."""

from collections.abc import Sequence

from wsgiauth.accounts.personal_data import Records
from wsgiauth.authentication.tokens import Tokens
from wsgiauth.feature import Command, ConfirmationWay, Feature
from wsgiauth.features.providers import addresses
from wsgiauth.features.providers.endpoints.complete import Complete
from wsgiauth.features.providers.endpoints.identities import Identities
from wsgiauth.features.providers.endpoints.oidc import ProviderLogin
from wsgiauth.features.providers.endpoints.oidc_callback import ProviderCallback
from wsgiauth.features.providers.endpoints.oidc_logout import BackChannelLogout
from wsgiauth.features.providers.event_kinds import EVENTS, REASONS
from wsgiauth.features.providers.identities import own_identities, remove_all
from wsgiauth.features.providers.oidc import Providers
from wsgiauth.features.providers.problems import PROVIDER_REFUSED, PROVIDER_UNAVAILABLE
from wsgiauth.features.providers.provider_logins import ProviderLogins, can_log_in
from wsgiauth.features.providers.provider_sessions import own_logins
from wsgiauth.features.providers.questions import QUESTIONS
from wsgiauth.features.providers.reasons import ProviderReasons
from wsgiauth.features.providers.redirects import BUTTON, ask_provider
from wsgiauth.messages import _
from wsgiauth.parts import PartFactories
from wsgiauth.settings import Settings
from wsgiauth.web.pages import Page


def _parts(settings: Settings) -> PartFactories:
    if not settings.OIDC_PROVIDERS:
        return {}
    return {
        Providers: lambda parts: Providers(settings, parts.need(Tokens).now),
        ProviderLogins: lambda parts: ProviderLogins(parts.need(Providers)),
        ProviderReasons: lambda _: ProviderReasons(settings),
    }


def _pages() -> Sequence[Page]:
    from wsgiauth.features.providers.samples import PAGES

    return PAGES


_COMMANDS = "wsgiauth.features.providers.commands"

FEATURE = Feature(
    name="providers",
    commands={
        "identities": Command(
            _COMMANDS, "list the accounts of other providers that a user has connected"
        ),
        "unlink": Command(
            _COMMANDS, "disconnect an account of another provider, and revoke its sessions"
        ),
    },
    urls={
        "/identities": Identities(),
        "/oidc/{provider}": ProviderLogin(),
        "/oidc/{provider}/callback": ProviderCallback(),
        "/complete": Complete(),
        "/oidc/{provider}/logout": BackChannelLogout(),
    },
    openapi="wsgiauth.features.providers.openapi",
    pages=_pages,
    at_first_proof=remove_all,
    way_in=can_log_in,
    is_way_in=lambda settings: bool(settings.OIDC_PROVIDERS),
    parts=_parts,
    events=EVENTS,
    event_reasons=REASONS,
    composers=lambda factors: addresses.COMPOSERS,
    letter_samples=addresses.SAMPLES,
    confirmations={BUTTON: ConfirmationWay(ask_provider, (PROVIDER_REFUSED, PROVIDER_UNAVAILABLE))},
    personal_data={
        "wsgiauth_identity": Records("provider_accounts", own_identities),
        "wsgiauth_provider_session": Records("provider_logins", own_logins),
    },
    questions=QUESTIONS,
    headlines={
        "identity_taken": _("This account is connected already"),
        "too_many_identities": _("There are too many connected accounts"),
        "other_browser": _("This link is for another browser"),
        "provider_failed": _("The login was not completed"),
        "provider_unavailable": _("The provider does not answer"),
        "provider_login_expired": _("Log in with the provider again"),
    },
)
