"""The events of second factors."""

from wsgiauth.authentication.methods import ONE_TIME_CODE
from wsgiauth.events.kinds import Change, Reasons
from wsgiauth.messages import _, pgettext

_FACTORS = {
    ONE_TIME_CODE: pgettext("reason of an event", "authenticator app"),
    "passkey": pgettext("reason of an event", "passkey"),
    "recovery codes": pgettext("reason of an event", "recovery codes"),
}

FACTOR_ADDED = Change(
    "factor_added", _("Two-step verification method added"), icon="fingerprint", reasons=_FACTORS
)
FACTOR_REMOVED = Change(
    "factor_removed",
    _("Two-step verification method removed"),
    icon="fingerprint",
    reasons=_FACTORS,
)
RECOVERY_CODE_USED = Change("recovery_code_used", _("Recovery code used"), icon="fingerprint")
PASSKEY_CLONED = Change(
    "passkey_cloned", _("Passkey possibly copied"), is_warning=True, icon="warning"
)
PASSKEY_SKIPPED = Change(
    "passkey_skipped", _("Logged in by email instead of the passkey"), icon="mail", is_methods=True
)

EVENTS = (FACTOR_ADDED, FACTOR_REMOVED, RECOVERY_CODE_USED, PASSKEY_CLONED, PASSKEY_SKIPPED)
REGISTRATION_REASONS: Reasons = {"passkey": _FACTORS["passkey"]}
