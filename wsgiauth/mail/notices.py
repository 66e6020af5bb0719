"""Notices: mails that tell the owner of an account what happened to it.

`Notices` is a recorder of `events`: its mail is committed with the change, or not at all, whatever
made the change. A notice goes to the address that was stored at that moment, so that a thief who
changes the address next, or closes the account, stops none.

An address that is not proven can belong to a stranger. Without a limit, a client could fill the
stranger's mailbox by one change after the other, so such an address gets a few mails a day.
"""

import json
import time
import weakref
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from urllib.parse import quote

from wsgiauth.accounts.models import User
from wsgiauth.events import Event, actors
from wsgiauth.mail.letters import SAMPLE_ROOT, Addressed, Letter, unlinked
from wsgiauth.mail.models import Mail
from wsgiauth.mail.outbox import Composer, Outbox, insert
from wsgiauth.settings import Settings
from wsgiauth.storage import context
from wsgiauth.throttling.notice_limits import NoticeLimits
from wsgiauth.web.clients import network_of, user_agent_in_words


@dataclass(frozen=True, kw_only=True)
class Notice(Letter):
    """What happened to an account.

    Attributes:
        username: The user's name; nothing if the address is not proven, or if the name could be
            read as a link.
        time: When it happened, in UTC.
        address: The client's address; nothing if it was the staff, a command or the site's code.
        browser: For a login: the browser and its system in words.
        forgot_url: Where a new password is asked for; nothing if a command does not know it.
    """

    username: str
    time: str
    address: str
    browser: str
    forgot_url: str


class PasswordNotice(Notice):
    """The account has a new password."""

    template = "mail/notice_password.txt"


class EmailNotice(Notice):
    """The account has a new e-mail address; to the old and to the new one."""

    template = "mail/notice_email.txt"


class ClosingNotice(Notice):
    """The account was deleted."""

    template = "mail/notice_closing.txt"


class ReuseNotice(Notice):
    """A refresh token was used twice, and its login ended."""

    template = "mail/notice_reuse.txt"


class LoginNotice(Notice):
    """A login from a new place."""

    template = "mail/notice_login.txt"


class KeyNotice(Notice):
    """The account has a new API key."""

    template = "mail/notice_key.txt"


class FactorAddedNotice(Notice):
    """The account has a new authenticator app, a new passkey, or new recovery codes."""

    template = "mail/notice_factor_added.txt"


class FactorRemovedNotice(Notice):
    """An authenticator app or a passkey was removed."""

    template = "mail/notice_factor_removed.txt"


class FactorGuessedNotice(Notice):
    """Codes were guessed by someone who knows the password."""

    template = "mail/notice_factor_guessed.txt"


class RecoveryCodeNotice(Notice):
    """A recovery code was used."""

    template = "mail/notice_recovery_code.txt"


class PasskeyClonedNotice(Notice):
    """A passkey was used that seems to have a copy."""

    template = "mail/notice_passkey_cloned.txt"


# By the event.
_LETTERS: Mapping[str, type[Notice]] = {
    "password_changed": PasswordNotice,
    "names_changed": EmailNotice,
    "user_deleted": ClosingNotice,
    "refresh_reused": ReuseNotice,
    "login": LoginNotice,
    "key_created": KeyNotice,
    "factor_added": FactorAddedNotice,
    "factor_removed": FactorRemovedNotice,
    "factor_guessed": FactorGuessedNotice,
    "recovery_code_used": RecoveryCodeNotice,
    "passkey_cloned": PasskeyClonedNotice,
}

SAMPLES = tuple(
    letter(
        username="ada",
        time="2026-11-21 09:30 UTC",
        address="192.0.2.1",
        browser="Firefox on Linux",
        forgot_url=f"{SAMPLE_ROOT}/forgot",
    )
    for letter in _LETTERS.values()
)


class Notices:
    """Records the mails to the owner of an account, in the transaction of what happens to it.

    Args:
        settings: `LOGIN_NOTICES` and `SECRET_KEY`.
        outbox: Sends the mails. None: they are left to another process.
        mount: The path of /auth on the site; empty if it is not known.
    """

    def __init__(
        self, settings: Settings, outbox: Outbox | None = None, *, mount: str = ""
    ) -> None:
        # Weakly, because the thread of the outbox ends with it: see `worker`.
        self._outbox: Callable[[], Outbox | None] = (
            weakref.ref(outbox) if outbox is not None else lambda: None
        )
        self._is_command = outbox is None
        self._has_login_notices = settings.LOGIN_NOTICES
        self._limits = NoticeLimits(settings)
        self._mount = mount

    def __call__(self, event: Event, details: Mapping[str, str]) -> None:
        """Insert the mails about an event, if it is worth one.

        Args:
            event: What happened.
            details: See `events.emit`.

        Raises:
            peewee.DatabaseError: The database failed.
        """
        user_id = event.user_id
        if user_id is None or not self._is_due(event, user_id, details):
            return
        owner = details if "email" in details else _owner(user_id)
        if owner is None:
            return
        unproven = (owner["unproven"], details.get("new_unproven"))
        is_by_other = actors.user_id_of(event.actor or "") not in (None, user_id)
        # The address of a member of the staff is not for the owner.
        address = "" if is_by_other else event.address or ""
        is_request = context.current_request()[1] is not None
        data = {
            "user_id": user_id,
            "time": f"{event.time:%Y-%m-%d %H:%M} UTC",
            "address": address.partition("%")[0] if network_of(address) else "",
            "browser": user_agent_in_words(details.get("agent", "")),
            "mount": self._mount,
        }
        for email in dict.fromkeys((details.get("old_email", owner["email"]), owner["email"])):
            # A stranger can choose the name, and register with the address of someone else.
            username = "" if email in unproven else unlinked(owner["username"])
            is_limited = is_request and email in unproven
            if not is_limited or self._limits.admits_to(event.name, email):
                self._enqueue(_kind(event.name), {**data, "username": username, "email": email})

    def _is_due(self, event: Event, user_id: int, details: Mapping[str, str]) -> bool:
        if event.name == "names_changed":
            return details.get("old_email") != details.get("email")
        if event.name in ("refresh_reused", "factor_guessed", "passkey_cloned"):
            return self._limits.admits(event.name, user_id)
        if event.name == "key_created":  # a command has no key for digests, and needs no limit
            return self._is_command or self._limits.admits(event.name, user_id)
        if event.name == "login":
            return self._is_new_place(event, user_id, details)
        return event.name in _LETTERS

    def _is_new_place(self, event: Event, user_id: int, details: Mapping[str, str]) -> bool:
        if not self._has_login_notices or event.address is None:
            return False
        browser = user_agent_in_words(details["agent"])
        return self._limits.is_new_place(user_id, network_of(event.address), browser)

    def _enqueue(self, kind: str, data: Mapping[str, object]) -> None:
        outbox = self._outbox()
        if outbox is None:
            insert(kind, data=data, now=time.time())
        else:
            outbox.enqueue(kind, data=data)


def _kind(name: str) -> str:
    """Return the kind of the mails about an event."""
    return f"notice {name}"


def _owner(user_id: int) -> Mapping[str, str] | None:
    user: User | None = User.get_or_none(User.id == user_id)
    if user is None:  # deleted at the same moment
        return None
    unproven = "" if user.email_verified_at else user.email
    return {"email": user.email, "username": user.username, "unproven": unproven}


def _composer(letter: type[Notice]) -> Composer:
    def compose(mail: Mail, settings: Settings, _now: float) -> Addressed:
        data = json.loads(mail.data)
        email, user_id, mount = (data.pop(name) for name in ("email", "user_id", "mount"))
        root = (settings.PUBLIC_URL or "").rstrip("/")
        forgot_url = f"{root}{quote(mount)}/forgot" if mount else ""
        return Addressed(letter(**data, forgot_url=forgot_url), email, user_id)

    return compose


COMPOSERS: Mapping[str, Composer] = {
    _kind(name): _composer(letter) for name, letter in _LETTERS.items()
}
