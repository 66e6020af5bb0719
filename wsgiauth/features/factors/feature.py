"""The declaration of the feature `factors`: see `wsgiauth.feature`."""

from collections.abc import Sequence

from wsgiauth.accounts.personal_data import Records
from wsgiauth.events import kinds
from wsgiauth.feature import Command, Feature
from wsgiauth.features.factors import passkeys, totp
from wsgiauth.features.factors.endpoints.passkeys import Passkeys
from wsgiauth.features.factors.endpoints.recovery_codes import RecoveryCodes
from wsgiauth.features.factors.endpoints.second import SecondStep
from wsgiauth.features.factors.endpoints.totp import AuthenticatorApps
from wsgiauth.features.factors.event_kinds import EVENTS, REGISTRATION_REASONS
from wsgiauth.features.factors.factors import KINDS, count_users, remove_unproven
from wsgiauth.features.factors.passkeys.relying_party import RelyingParty
from wsgiauth.features.factors.questions import QUESTIONS
from wsgiauth.figures import Figure
from wsgiauth.messages import _
from wsgiauth.parts import PartFactories
from wsgiauth.settings import Settings
from wsgiauth.web.pages import Page


def _parts(settings: Settings) -> PartFactories:
    return {RelyingParty: lambda _: RelyingParty(settings)} if settings.PASSKEYS else {}


def _pages() -> Sequence[Page]:
    from wsgiauth.features.factors.samples import PAGES

    return PAGES


FEATURE = Feature(
    name="factors",
    commands={
        "removefactor": Command(
            "wsgiauth.features.factors.commands",
            "remove all second factors of a user, and revoke their sessions",
        )
    },
    urls={
        "/second": SecondStep(),
        "/passkeys": Passkeys(),
        "/totp": AuthenticatorApps(),
        "/recovery-codes": RecoveryCodes(),
    },
    openapi="wsgiauth.features.factors.openapi",
    pages=_pages,
    parts=_parts,
    at_first_proof=remove_unproven,
    way_in=passkeys.can_log_in,
    is_way_in=lambda settings: settings.PASSKEYS,
    factor_kinds=KINDS,
    events=EVENTS,
    event_reasons={kinds.REGISTRATION: REGISTRATION_REASONS},
    personal_data={
        "wsgiauth_totp": Records("authenticator_apps", totp.own_apps),
        "wsgiauth_passkey": Records("passkeys", passkeys.own_passkeys),
        "wsgiauth_passkey_account": Records("registrations_by_passkey", passkeys.own_registration),
    },
    figures=lambda settings: [
        Figure(
            "users_with_second_factor",
            "Users with a confirmed authenticator app, or a passkey that does not replace a"
            " password.",
            lambda now: count_users(),
        )
    ],
    questions=QUESTIONS,
    headlines={
        "no_second_factor": _("Two-step verification is not set up"),
        "passkey_used": _("This passkey was used before"),
    },
)
