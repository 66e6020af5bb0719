"""The kinds of events: what the kernel and each feature declare, and the kernel's own."""

import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import KW_ONLY, dataclass, field

from wsgiauth.messages import _, pgettext

# By the reason, or by a pattern for the whole reason: its words, or a function that returns them
# and gets the groups of the pattern.
Reasons = Mapping[str, str | Callable[..., str]]


@dataclass(frozen=True, eq=False)
class EventKind:
    """A kind of event: a `Change` or a `RefusedAttempt`.

    Attributes:
        name: Its name in the log, in the trail and for the application; at most 32 letters.

    Example:
        def is_logged_as_warning(kind: EventKind) -> bool:
            return kind.level >= logging.WARNING
    """

    name: str

    @property
    def level(self) -> int:
        """The level in the log."""
        return logging.WARNING


@dataclass(frozen=True, eq=False)
class RefusedAttempt(EventKind):
    """An attempt that failed or was refused, and so changed nothing: it is only logged.

    Example:
        BADGE_REFUSED = RefusedAttempt("badges_refused")
    """


@dataclass(frozen=True, eq=False)
class Change(EventKind):
    """A change, which the audit trail keeps.

    Attributes:
        title: What the pages of the trail call it.
        titles: Other titles, by the reason that they say.
        reasons: The words of reasons on these pages. A reason without words is shown as it is.
        is_list: Whether the reason is a list with commas; `reasons` then has the words of an item.
        is_methods: Whether the reason is how the user proved their identity: see
            `authentication.methods`.
        is_warning: Whether it is logged as a warning, because it can be an attack.
        icon: The icon beside its title, by its name in `macros.html`.

    Example:
        BADGE_GIVEN = Change("badges_given", _("Badge given"), icon="check")
    """

    title: str
    _: KW_ONLY
    titles: Mapping[str, str] = field(default_factory=dict)
    reasons: Reasons = field(default_factory=dict)
    is_list: bool = False
    is_methods: bool = False
    is_warning: bool = False
    icon: str = "pencil"

    @property
    def level(self) -> int:
        """The level in the log."""
        return logging.WARNING if self.is_warning else logging.INFO


class DeclaredKinds:
    """The kinds of events that a site can have, of the kernel and of features."""

    def __init__(self, kinds: Iterable[EventKind]) -> None:
        self._kinds = {each.name: each for each in kinds}

    def find(self, name: str) -> EventKind | None:
        """Return the kind with a name."""
        return self._kinds.get(name)


LOGIN_FAILED = RefusedAttempt("login_failed")
SECOND_FACTOR_FAILED = RefusedAttempt("second_factor_failed")
THROTTLED = RefusedAttempt("throttled")
REFUSED = RefusedAttempt("refused")
MAIL_FAILED = RefusedAttempt("mail_failed")

REGISTRATION = Change("registration", _("Account created"), icon="person")
LOGIN = Change("login", pgettext("event", "Logged in"), is_methods=True, icon="login")
LOGOUT = Change(
    "logout",
    pgettext("event", "Logged out"),
    icon="logout",
    reasons={
        "all sessions": pgettext("reason of an event", "all sessions"),
        "all other sessions": pgettext("reason of an event", "all other sessions"),
        "all sessions of all users": pgettext("reason of an event", "all sessions of all users"),
    },
)
CONFIRMED = Change("confirmed", _("Identity confirmed"), is_methods=True, icon="check")
PASSWORD_CHANGED = Change("password_changed", _("Password changed"), icon="lock")
NAMES_CHANGED = Change(
    "names_changed",
    _("Name or email address changed"),
    reasons={
        "username": pgettext("reason of an event", "username"),
        "email": pgettext("reason of an event", "email"),
        "email verified": pgettext("reason of an event", "email verified"),
        "email not verified": pgettext("reason of an event", "email not verified"),
    },
)
ADDRESS_RESTORED = Change("address_restored", _("Former email address restored"), icon="mail")
LANGUAGE_CHANGED = Change("language_changed", _("Language changed"), icon="world")
RIGHTS_CHANGED = Change(
    "rights_changed",
    _("Rights changed"),
    icon="shield",
    titles={
        "is_active on": pgettext("event", "Activated"),
        "is_active off": pgettext("event", "Deactivated"),
        "is_staff on": pgettext("event", "Added to the staff"),
        "is_staff off": pgettext("event", "Removed from the staff"),
        "is_superuser on": pgettext("event", "Made superuser"),
        "is_superuser off": pgettext("event", "Superuser status removed"),
    },
    reasons={
        "granted (.*)": lambda name: pgettext(
            "reason of an event", "granted %(permission)s", permission=name
        ),
        "revoked (.*)": lambda name: pgettext(
            "reason of an event", "revoked %(permission)s", permission=name
        ),
        "joined (.*)": lambda name: pgettext("reason of an event", "joined %(group)s", group=name),
        "left (.*)": lambda name: pgettext("reason of an event", "left %(group)s", group=name),
    },
)
GROUP_CHANGED = Change(
    "group_changed",
    _("Group changed"),
    icon="users",
    reasons={
        "created (.*)": lambda name: pgettext(
            "reason of an event", "created %(group)s", group=name
        ),
        "renamed to (.*)": lambda name: pgettext(
            "reason of an event", "renamed to %(group)s", group=name
        ),
        "deleted (.*)": lambda name: pgettext(
            "reason of an event", "deleted %(group)s", group=name
        ),
        # A permission has no spaces.
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
)
LINK_SENT = Change(
    "link_sent",
    _("Link sent"),
    icon="mail",
    is_list=True,
    reasons={
        "reset": pgettext("reason of an event", "reset"),
        "printed": pgettext("reason of an event", "printed"),
    },
)
USER_DELETED = Change("user_deleted", _("Account deleted"), icon="trash")
REFRESH_REUSED = Change(
    "refresh_reused", _("Refresh token used twice"), is_warning=True, icon="warning"
)
KEY_ENDED = Change(
    "key_ended",
    _("API key revoked"),
    icon="key",
    reasons={"all keys": pgettext("reason of an event", "all keys")},
)
TRUST_ENDED = Change(
    "trust_ended",
    _("Browser no longer trusted"),
    icon="laptop",
    reasons={"all browsers": pgettext("reason of an event", "all browsers")},
)
FACTOR_GUESSED = Change(
    "factor_guessed",
    _("Several wrong codes"),
    is_warning=True,
    icon="warning",
    reasons={
        "without the password": pgettext(
            "reason of an event", "after a code by email or at a provider, or in a session"
        ),
    },
)
RESTORED = Change("restored", _("Backup restored"), icon="download")

KINDS: tuple[EventKind, ...] = (
    LOGIN_FAILED,
    SECOND_FACTOR_FAILED,
    THROTTLED,
    REFUSED,
    MAIL_FAILED,
    REGISTRATION,
    LOGIN,
    LOGOUT,
    CONFIRMED,
    PASSWORD_CHANGED,
    NAMES_CHANGED,
    ADDRESS_RESTORED,
    LANGUAGE_CHANGED,
    RIGHTS_CHANGED,
    GROUP_CHANGED,
    LINK_SENT,
    USER_DELETED,
    REFRESH_REUSED,
    KEY_ENDED,
    TRUST_ENDED,
    FACTOR_GUESSED,
    RESTORED,
)
