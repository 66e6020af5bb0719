"""The events of logins with other providers."""

from wsgiauth.events.kinds import LOGOUT, Change, RefusedAttempt
from wsgiauth.messages import _, pgettext

IDENTITY_CONNECTED = Change(
    "identity_connected", _("Account of another provider connected"), icon="link"
)
IDENTITY_DISCONNECTED = Change(
    "identity_disconnected", _("Account of another provider disconnected"), icon="link"
)
PROVIDER_FAILED = RefusedAttempt("provider_failed")

EVENTS = (IDENTITY_CONNECTED, IDENTITY_DISCONNECTED, PROVIDER_FAILED)
REASONS = {
    LOGOUT: {
        "provider": pgettext("reason of an event", "provider"),
        "identity disconnected": pgettext("reason of an event", "identity disconnected"),
    }
}
