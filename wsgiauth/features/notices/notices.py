"""Notices: emails to the owner of an account about changes of it.

`Notices` is a recorder of `events`, so its emails are committed with the change. A notice goes to
the address at that moment: a thief cannot stop it by a change of the address or by closing the
account.

After a change of the email address by its owner, the former address gets a link that restores it:
see `authentication.restoring`. The composer makes its secret, so that the outbox has none.

An unproven address can belong to a stranger. It gets only a few emails a day, so that a client
cannot fill the stranger's mailbox.
"""

import json
import weakref
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from urllib.parse import quote

from wsgiauth.accounts import names
from wsgiauth.accounts.models import User
from wsgiauth.authentication.restoring import (
    HOURS,
    FormerAddress,
    end_restore_links,
    former_address,
    make_restore_link,
    mark_change,
)
from wsgiauth.authentication.scopes import OFFLINE, ScopeInWords, in_words
from wsgiauth.events import Event, actors
from wsgiauth.features.notices.limits import NoticeLimits
from wsgiauth.languages.dates import moment_in_words
from wsgiauth.mail.letters import (
    SAMPLE_ROOT,
    Addressed,
    Letter,
    SiteLabel,
    secret_in,
    unlinked,
)
from wsgiauth.mail.outbox import Composer, Mail, Outbox, enqueue
from wsgiauth.messages import Message, _
from wsgiauth.settings import Settings
from wsgiauth.settings.oidc import parse_entries
from wsgiauth.storage import context
from wsgiauth.web.clients import browser_in_words, network_of, user_agent_in_words


class Notice(Letter):
    """The email about an event."""

    event: str  # its name
    label: str  # empty if the address is not proven, or if the name looks like a link
    time: str  # in UTC
    address: str  # of the client; empty for the staff, a command or the site's code
    browser: str  # and its system in words, for a login and a trusted browser
    # Of the event, such as `otp` for an authenticator app; `first passkey` for one that replaces a
    # password.
    reason: str = ""
    factor: str = ""  # the user's name for the app or the passkey; empty as `label`
    provider: str = ""  # the title of the other provider, or its name without an entry
    app: str = ""  # the name of an app that uses the account; empty as `factor`
    scopes: tuple[str, ...] = ()  # what the app has been allowed
    # Of /auth/forgot, or of /auth/sessions without passwords; empty if a command does not know it.
    forgot_url: str
    apps_url: str = ""  # of /auth/apps; empty if a command does not know it
    new_email: str = ""  # in part, such as `g…@example.net`, for a former address that was proven
    restore_url: str = ""  # restores a former address that was proven for long enough
    restore_until: str = ""  # in UTC

    @property
    def template(self) -> str:
        """The name of the template's file."""
        return TEMPLATES[self.event]

    @property
    def scopes_in_words(self) -> tuple[ScopeInWords, ...]:
        """The scopes as sentences about what the app can do."""
        return in_words(self.scopes)

    @property
    def secret(self) -> str:
        """The one-time secret in `restore_url`; empty for none."""
        return secret_in(self.restore_url)

    def actions(self, site: SiteLabel) -> Mapping[str, Message]:
        """Return what the links do, by URL, in the words of a button."""
        return {
            **super().actions(site),
            self.forgot_url: _("Choose a new password")
            if site.password_login
            else _("See your sessions"),
            self.apps_url: _("Apps that use your account"),
            self.restore_url: _("Restore your email address"),
        }

    def why(self, site: SiteLabel, address: str) -> Message:
        """Return the sentence at its end: who sends it to this address, and why."""
        return _(
            "%(site)s sent this email to %(email)s to protect an account there.",
            site=site.name,
            email=address,
        )


_NAME_MAX_LENGTH = 60  # characters, of several names together
_NAME_MAX_DIGITS = 4

_KIND = "notice "  # with the name of the event, the kind of its emails

# By event.
TEMPLATES: Mapping[str, str] = {
    "password_changed": "mail/notice_password.txt",
    "names_changed": "mail/notice_email.txt",
    "user_deleted": "mail/notice_closing.txt",
    "refresh_reused": "mail/notice_reuse.txt",
    "login": "mail/notice_login.txt",
    "key_created": "mail/notice_key.txt",
    "factor_added": "mail/notice_factor_added.txt",
    "factor_removed": "mail/notice_factor_removed.txt",
    "factor_guessed": "mail/notice_factor_guessed.txt",
    "recovery_code_used": "mail/notice_recovery_code.txt",
    "trust_given": "mail/notice_trusted.txt",
    "passkey_cloned": "mail/notice_passkey_cloned.txt",
    "passkey_skipped": "mail/notice_passkey_skipped.txt",
    "identity_connected": "mail/notice_identity_connected.txt",
    "identity_disconnected": "mail/notice_identity_disconnected.txt",
    "consent_given": "mail/notice_app.txt",
    "offline_access_given": "mail/notice_app.txt",
    "device_allowed": "mail/notice_device.txt",
    "grant_reused": "mail/notice_app_reuse.txt",
}

# Which a client can cause without limit.
_LIMITED = frozenset(
    (
        *("refresh_reused", "factor_guessed", "passkey_cloned", "trust_given"),
        "passkey_skipped",
        *("consent_given", "device_allowed", "grant_reused"),
    )
)


class Notices:
    """Inserts emails to the owner of an account, in the transaction of the change.

    Without an outbox, another process sends them. A command does not know the mount.
    """

    def __init__(self, settings: Settings, outbox: Outbox | None = None, mount: str = "") -> None:
        # A weak reference, because the thread of the outbox ends with the outbox: see `worker`.
        self._outbox: Callable[[], Outbox | None] = (
            weakref.ref(outbox) if outbox is not None else lambda: None
        )
        self._is_command = outbox is None
        self._has_login_notices = settings.LOGIN_NOTICES
        self._titles = {each.name: each.title for each in parse_entries(settings.OIDC_PROVIDERS)}
        self._limits = NoticeLimits(settings)
        self._mount = mount

    def __call__(self, event: Event, details: Mapping[str, str]) -> None:
        """Insert the emails about an event, if there are any."""
        user_id = event.user_id
        if user_id is None or not self._is_due(event, user_id, details):
            return
        owner = details if "email" in details else _owner(user_id)
        if owner is None:
            return
        owner = {**owner, **details}
        unproven = (owner["unproven"], details.get("new_unproven"))
        is_by_other = actors.user_id_of(event.actor or "") not in (None, user_id)
        # The address of a member of the staff is not for the owner.
        address = "" if is_by_other else event.address or ""
        is_request = context.current_request()[1] is not None
        data = {
            "user_id": user_id,
            "time": moment_in_words(event.time),  # for processes of the version before
            "at": int(event.time.timestamp()),
            "address": address.partition("%")[0] if network_of(address) else "",
            "browser": user_agent_in_words(details.get("agent", "")),
            "reason": f"first {event.reason}" if "replaces" in details else event.reason or "",
            "provider": self._provider_of(event),
            "mount": self._mount,
        }
        former = self._former_of(event, user_id, details, is_by_other=is_by_other)
        for email in dict.fromkeys((details.get("old_email", owner["email"]), owner["email"])):
            # A stranger can choose the name, and register with the address of someone else.
            username = "" if email in unproven else unlinked(owner["username"])
            is_limited = is_request and email in unproven
            if not is_limited or self._limits.admits_to(event.name, email):
                factor = "" if email in unproven else _plain_name(details.get("factor", ""))
                mail = {**data, "username": username, "email": email, "factor": factor}
                mail |= _of_app(details, is_proven=email not in unproven)
                mail |= former if email == details.get("old_email") else {}
                kind, language = f"{_KIND}{event.name}", owner["language"]
                enqueue(self._outbox(), kind, data=mail, language=language)

    def _is_due(self, event: Event, user_id: int, details: Mapping[str, str]) -> bool:
        if event.name == "names_changed":
            return details.get("old_email") != details.get("email")
        if event.name == "offline_access_given":
            return self._limits.admits_app(user_id, event.reason or "")
        if event.name in _LIMITED:
            is_admitted = self._limits.admits(event.name, user_id)
            if is_admitted and OFFLINE in details.get("scopes", "").split():
                self._limits.admits_app(user_id, event.reason or "")  # the same notice says it
            return is_admitted
        if event.name == "key_created":  # a command has no key for digests, and needs no limit
            return self._is_command or self._limits.admits(event.name, user_id)
        if event.name == "login":
            return self._is_new_place(event, user_id, details)
        if event.name == "identity_connected":
            return "is_new_user" not in details
        return event.name in TEMPLATES

    def _former_of(
        self, event: Event, user_id: int, details: Mapping[str, str], *, is_by_other: bool
    ) -> Mapping[str, object]:
        """Return the further values for the notice to a former address that was proven.

        An operator can change an address because its mailbox is lost or stolen, so such a change
        has no link, and ends former ones.
        """
        if event.name != "names_changed":
            return {}
        is_by_operator = is_by_other or (event.actor or "").startswith(actors.COMMAND_LINE)
        if is_by_operator:
            end_restore_links(user_id)
        if details["unproven"]:
            return {}
        values: dict[str, object] = {"new_email": names.email_in_part(details["email"])}
        former = None if is_by_operator or not self._mount else former_address(details, event.time)
        if former is None:
            return values
        ends_at = event.time + timedelta(hours=HOURS)
        return {**values, "former": former, "mark": mark_change(user_id, int(ends_at.timestamp()))}

    def _provider_of(self, event: Event) -> str:
        """Return the site's title for the provider of an event, never the provider's own words."""
        if event.name not in ("identity_connected", "identity_disconnected"):
            return ""
        return self._titles.get(event.reason or "", event.reason or "")

    def _is_new_place(self, event: Event, user_id: int, details: Mapping[str, str]) -> bool:
        if not self._has_login_notices or event.address is None:
            return False
        browser = user_agent_in_words(details["agent"])
        return self._limits.is_new_place(user_id, network_of(event.address), browser)


def _owner(user_id: int) -> Mapping[str, str] | None:
    user = User.find_by_id(user_id)
    if user is None:  # deleted at the same moment
        return None
    return {
        "email": user.email,
        "username": user.username,
        "unproven": "" if user.email_verified_at else user.email,
        "language": user.language,
    }


def _of_app(details: Mapping[str, str], *, is_proven: bool) -> Mapping[str, object]:
    """Return the further values for a notice of an app; the version before knows none of them."""
    if "client" not in details:
        return {}
    name = details.get("client_host") or _plain_name(details["client"]) if is_proven else ""
    return {"app": name, "scopes": details.get("scopes", "").split()}


def _compose_notice(mail: Mail, settings: Settings, now: float) -> Addressed:
    data = json.loads(mail.data)
    email, user_id, mount = (data.pop(name) for name in ("email", "user_id", "mount"))
    root = (settings.PUBLIC_URL or "").rstrip("/")
    page = "forgot" if settings.PASSWORD_LOGIN else "sessions"
    forgot_url = f"{root}{quote(mount)}/{page}" if mount else ""
    apps_url = f"{root}{quote(mount)}/apps" if mount else ""
    former, mark = data.pop("former", None), data.pop("mark", "")
    link = former and make_restore_link(
        user_id, FormerAddress(*former), mark, settings, mount=mount, now=now
    )
    if link:
        until = datetime.fromtimestamp(data["at"], UTC) + timedelta(hours=HOURS)
        data |= {"restore_url": link, "restore_until": moment_in_words(until)}
    if "at" in data:  # the version before has none
        data["time"] = moment_in_words(datetime.fromtimestamp(data.pop("at"), UTC))
    data["browser"] = browser_in_words(data["browser"])
    label = data.pop("username")
    if not settings.USERNAMES:
        label = email  # never another address
    event = mail.kind.removeprefix(_KIND)
    notice = Notice(event=event, label=label, **data, forgot_url=forgot_url, apps_url=apps_url)
    return Addressed(notice, email, user_id, mail.language)


COMPOSERS: Mapping[str, Composer] = {f"{_KIND}{name}": _compose_notice for name in TEMPLATES}

_AT = datetime(2026, 11, 21, 9, 30, tzinfo=UTC)


def _sample(event: str, reason: str = "passkey", **further: str) -> Notice:
    return Notice(
        event=event,
        label="ada",
        time=moment_in_words(_AT),
        address="192.0.2.1",
        browser=browser_in_words("Firefox on Linux"),
        reason=reason,
        factor="Laptop",
        provider="Google",
        app="Wiki",
        scopes=("openid", "email", "reports.publish"),
        forgot_url=f"{SAMPLE_ROOT}/forgot",
        apps_url=f"{SAMPLE_ROOT}/apps",
        **further,
    )


_RESTORE = {
    "new_email": "g…@example.net",
    "restore_url": f"{SAMPLE_ROOT}/restore?token=example",
    "restore_until": moment_in_words(_AT + timedelta(hours=HOURS)),
}

SAMPLES: tuple[Letter, ...] = (
    *map(_sample, TEMPLATES),
    _sample("names_changed", **_RESTORE),
    _sample("factor_added", "first passkey"),
    _sample("factor_removed", "first passkey"),
)


def _plain_name(name: str) -> str:
    """Return a name that consists of a few plain words, otherwise an empty string.

    A thief of a session could choose a name that reads like our sentence with a telephone number.
    """
    is_plain = all(each.isalnum() or each in " ,'-" for each in name)
    digits = sum(each.isdigit() for each in name)
    is_short = len(name) <= _NAME_MAX_LENGTH and digits <= _NAME_MAX_DIGITS
    return name if is_plain and is_short else ""
