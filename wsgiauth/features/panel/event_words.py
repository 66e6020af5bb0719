"""The words for events and reasons on the pages of the audit trail.

JSON, the log and the trail itself keep the words of `events`.
"""

import re
from collections.abc import Callable, Mapping

from wsgiauth.authentication.methods import ONE_TIME_CODE, methods_in_words
from wsgiauth.events import Event
from wsgiauth.messages import _, list_of, pgettext

TITLES: Mapping[str, str] = {
    "registration": _("Account created"),
    "login": pgettext("event", "Logged in"),
    "logout": pgettext("event", "Logged out"),
    "confirmed": _("Identity confirmed"),
    "password_changed": _("Password changed"),
    "names_changed": _("Name or email address changed"),
    "address_restored": _("Former email address restored"),
    "language_changed": _("Language changed"),
    "rights_changed": _("Rights changed"),
    "group_changed": _("Group changed"),
    "link_sent": _("Link sent"),
    "invitation_ended": _("Invitation revoked"),
    "user_deleted": _("Account deleted"),
    "users_exported": _("Users downloaded"),
    "data_exported": _("Personal data downloaded"),
    "refresh_reused": _("Refresh token used twice"),
    "key_created": _("API key created"),
    "key_ended": _("API key revoked"),
    "factor_added": _("Two-step verification method added"),
    "factor_removed": _("Two-step verification method removed"),
    "factor_guessed": _("Several wrong codes"),
    "trust_given": _("Browser trusted"),
    "trust_ended": _("Browser no longer trusted"),
    "recovery_code_used": _("Recovery code used"),
    "passkey_cloned": _("Passkey possibly copied"),
    "identity_connected": _("Account of another provider connected"),
    "identity_disconnected": _("Account of another provider disconnected"),
    "consent_given": _("App allowed"),
    "consent_revoked": _("App revoked"),
    "offline_access_given": _("Lasting access of an app"),
    "device_allowed": _("Device allowed"),
    "device_refused": _("Device refused"),
    "grant_reused": _("Token of an app used twice"),
    "client_created": _("App registered"),
    "client_changed": _("App changed"),
    "client_removed": _("App removed"),
}
# Of changes that have a name of their own, by the reason of `rights_changed`.
_FLAGS: Mapping[str, str] = {
    "is_active on": pgettext("event", "Activated"),
    "is_active off": pgettext("event", "Deactivated"),
    "is_staff on": pgettext("event", "Added to the staff"),
    "is_staff off": pgettext("event", "Removed from the staff"),
    "is_superuser on": pgettext("event", "Made superuser"),
    "is_superuser off": pgettext("event", "Superuser status removed"),
}
_FACTORS = {
    ONE_TIME_CODE: pgettext("reason of an event", "authenticator app"),
    "passkey": pgettext("reason of an event", "passkey"),
    "recovery codes": pgettext("reason of an event", "recovery codes"),
}

# By the name of the event.
_REASONS: Mapping[str, Mapping[str, str]] = {
    "registration": {"import": pgettext("reason of an event", "import")},
    "factor_guessed": {
        "without the password": pgettext(
            "reason of an event", "after a code by email or at a provider, or in a session"
        ),
    },
    "logout": {
        "all sessions": pgettext("reason of an event", "all sessions"),
        "all other sessions": pgettext("reason of an event", "all other sessions"),
        "all sessions of all users": pgettext("reason of an event", "all sessions of all users"),
        "provider": pgettext("reason of an event", "provider"),
        "identity disconnected": pgettext("reason of an event", "identity disconnected"),
    },
    "names_changed": {
        "username": pgettext("reason of an event", "username"),
        "email": pgettext("reason of an event", "email"),
        "email verified": pgettext("reason of an event", "email verified"),
        "email not verified": pgettext("reason of an event", "email not verified"),
    },
    "link_sent": {
        "reset": pgettext("reason of an event", "reset"),
        "invitation": pgettext("reason of an event", "invitation"),
        "is_staff": pgettext("reason of an event", "member of the staff"),
        "printed": pgettext("reason of an event", "printed"),
    },
    "key_ended": {"all keys": pgettext("reason of an event", "all keys")},
    "trust_ended": {"all browsers": pgettext("reason of an event", "all browsers")},
    "factor_added": _FACTORS,
    "factor_removed": _FACTORS,
    "users_exported": {
        "all users": pgettext("reason of an event", "all users"),
        "a search": pgettext("reason of an event", "a search"),
    },
}
# Reasons with names in them, by pattern; a permission has no spaces.
_NAMING: Mapping[str, Mapping[str, Callable[..., str]]] = {
    "rights_changed": {
        "granted (.*)": lambda name: pgettext(
            "reason of an event", "granted %(permission)s", permission=name
        ),
        "revoked (.*)": lambda name: pgettext(
            "reason of an event", "revoked %(permission)s", permission=name
        ),
        "joined (.*)": lambda name: pgettext("reason of an event", "joined %(group)s", group=name),
        "left (.*)": lambda name: pgettext("reason of an event", "left %(group)s", group=name),
    },
    "group_changed": {
        "created (.*)": lambda name: pgettext(
            "reason of an event", "created %(group)s", group=name
        ),
        "renamed to (.*)": lambda name: pgettext(
            "reason of an event", "renamed to %(group)s", group=name
        ),
        "deleted (.*)": lambda name: pgettext(
            "reason of an event", "deleted %(group)s", group=name
        ),
        r"granted (\S+) to (.*)": lambda permission, group: pgettext(
            "reason of an event",
            "granted %(permission)s to %(group)s",
            permission=permission,
            group=group,
        ),
        r"revoked (\S+) from (.*)": lambda permission, group: pgettext(
            "reason of an event",
            "revoked %(permission)s from %(group)s",
            permission=permission,
            group=group,
        ),
    },
    "link_sent": {
        "group (.*)": lambda name: pgettext("reason of an event", "group %(name)s", name=name)
    },
}
_LISTING = ("link_sent", "users_exported")  # whose reasons are lists


def title_of(event: Event) -> str:
    """Return the title of an event, which for a flag of a user says what has changed."""
    title = TITLES.get(event.name, event.name)
    return _FLAGS.get(event.reason or "", title) if event.name == "rights_changed" else title


def reason_in_words(event: Event) -> str:
    """Return the words for the reason of an event that its title does not say.

    An unknown reason stays.
    """
    reason = event.reason or ""
    if event.name == "rights_changed" and reason in _FLAGS:
        return ""
    if event.name in ("login", "confirmed"):
        return methods_in_words(reason.split())
    if event.name in _LISTING:
        return list_of(_in_words(event.name, each) for each in reason.split(", "))
    return _in_words(event.name, reason)


def _in_words(event_name: str, reason: str) -> str:
    if reason in _REASONS.get(event_name, {}):
        return _REASONS[event_name][reason]
    for pattern, sentence in _NAMING.get(event_name, {}).items():
        if match := re.fullmatch(pattern, reason):
            return sentence(*match.groups())
    return reason
