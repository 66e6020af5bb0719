"""The events of apps that use the account here. Their reasons are the ids of the apps."""

from wsgiauth.events.kinds import Change, RefusedAttempt
from wsgiauth.messages import _

CONSENT_GIVEN = Change("consent_given", _("App allowed"), icon="app")
CONSENT_REVOKED = Change("consent_revoked", _("App revoked"), icon="app")
OFFLINE_ACCESS_GIVEN = Change("offline_access_given", _("Lasting access of an app"), icon="app")
DEVICE_ALLOWED = Change("device_allowed", _("Device allowed"), icon="phone")
DEVICE_REFUSED = Change("device_refused", _("Device refused"), icon="phone")
GRANT_REUSED = Change(
    "grant_reused", _("Token of an app used twice"), is_warning=True, icon="warning"
)
CLIENT_CREATED = Change("client_created", _("App registered"), icon="app")
CLIENT_CHANGED = Change("client_changed", _("App changed"), icon="app")
CLIENT_REMOVED = Change("client_removed", _("App removed"), icon="app")
LOGOUT_FAILED = RefusedAttempt("logout_failed")

EVENTS = (
    CONSENT_GIVEN,
    CONSENT_REVOKED,
    OFFLINE_ACCESS_GIVEN,
    DEVICE_ALLOWED,
    DEVICE_REFUSED,
    GRANT_REUSED,
    CLIENT_CREATED,
    CLIENT_CHANGED,
    CLIENT_REMOVED,
    LOGOUT_FAILED,
)
