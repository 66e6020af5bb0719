"""GET, POST /auth/passkeys: the user's passkeys, a new one, and an end to one."""

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from http import HTTPStatus
from typing import cast
from wsgiref.types import WSGIEnvironment

from wsgiauth.authentication import factors, recovery_codes
from wsgiauth.authentication.identity import UserSession
from wsgiauth.authentication.methods import HARDWARE_KEY
from wsgiauth.authentication.passkeys import MOST_PASSKEYS, NAME_MAX_LENGTH, Passkey, list_passkeys
from wsgiauth.authentication.passkeys.relying_party import RelyingParty
from wsgiauth.exceptions import ValidationError
from wsgiauth.forms import MemberForm, MemberSubmission, Refusal, choose_action, factor_changes
from wsgiauth.forms.endpoint import AccountLink
from wsgiauth.forms.factor_changes import cookies_of, must_set_up, tokens_of, upgrade
from wsgiauth.forms.handover import has_token, next_after_set_up
from wsgiauth.forms.proofs import CREDENTIAL, PasskeyPage
from wsgiauth.settings import Settings
from wsgiauth.site import Site
from wsgiauth.storage.models import utc_text
from wsgiauth.web.pages import Page
from wsgiauth.web.request import prefers_html, query_field
from wsgiauth.web.responses import Header, Response, json_response, redirect
from wsgiauth.web.urls import mount_url, with_next


@dataclass(frozen=True, kw_only=True)
class ListedPasskey:
    """A passkey in the list of its owner; times are in UTC.

    Attributes:
        handle: Names it; no credential.
        name: What the owner calls it.
        created_at: When it was added.
        last_used_at: When it was last used, or None.
        is_backed_up: Whether it is on several devices.
        is_usable: Whether it works on this site.
        host: The host that it was made for.
    """

    handle: str
    name: str
    created_at: datetime
    last_used_at: datetime | None
    is_backed_up: bool
    is_usable: bool
    host: str

    @classmethod
    def of(cls, row: Passkey, host: str) -> "ListedPasskey":
        """Return what the owner sees of a passkey, on a site at `host`."""
        return cls(
            handle=row.id,
            name=row.name,
            created_at=_moment(row.created_at),
            last_used_at=_moment(row.last_used_at) if row.last_used_at else None,
            is_backed_up=row.is_backed_up,
            is_usable=row.relying_party == host,
            host=row.relying_party,
        )

    def document(self) -> dict[str, object]:
        """Return the passkey, ready for JSON."""
        return {
            "handle": self.handle,
            "name": self.name,
            "created_at": utc_text(self.created_at),
            "last_used_at": self.last_used_at and utc_text(self.last_used_at),
            "backed_up": self.is_backed_up,
            "host": self.host,
        }


def _moment(seconds: int) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


# What has just been done, by the `done` of the query.
_NOTICES = {
    "passkey": "The passkey has been added.",
    "removed": "The passkey has been removed. Remove it from your device, too.",
}


class PasskeysPage(PasskeyPage):
    """The list of the user's passkeys, and the form to add one.

    Attributes:
        passkeys_url: Where the forms are sent.
        account_url: The page of the account.
        codes_url: The page of the recovery codes.
        passkeys: The passkeys.
        codes_left: How many recovery codes are left.
        name: The name of a new passkey, as it was sent before.
        next: Where to go afterwards; a safe path, or empty.
        logout_url: Where the form to log out is sent, if the user can do nothing else before they
            have a second factor; or empty.
        message: Why a form was refused, or nothing.
        notice: What has just been done, or nothing.
    """

    template = "passkeys.html"

    passkeys_url: str
    account_url: str
    codes_url: str
    passkeys: tuple[ListedPasskey, ...]
    codes_left: int
    name: str = ""
    next: str = ""
    logout_url: str = ""
    message: str = ""
    notice: str = ""


class Passkeys(MemberForm):
    """Adds a passkey, and removes passkeys."""

    account_link = AccountLink(
        "Passkeys", "Log in by your fingerprint, your face, your screen lock or a security key."
    )
    is_sensitive = True
    admits_incomplete = True  # of users without a factor: those with one are not fresh
    fields = ("name", "credential", "remove")

    def is_offered(self, settings: Settings) -> bool:
        """Return whether there are passkeys."""
        return settings.PASSKEYS

    def get(self, environ: WSGIEnvironment, site: Site) -> Response:
        """Answer with the page, or with the list as JSON."""
        if prefers_html(environ):
            return super().get(environ, site)
        return json_response(_document(self.require_member(environ, site), site))

    def act(self, submission: MemberSubmission) -> Response:
        """Remove a passkey, or add one."""
        actions = {"remove": self._remove, "name": self._add}
        return choose_action(submission, actions)(submission)

    def _remove(self, submission: MemberSubmission) -> Response:
        gone = "That passkey has already been removed."
        factor_changes.remove(submission, submission.fields["remove"], gone)
        if submission.wants_json:
            return json_response(_document(submission.member, submission.site))
        return _see_other(submission, "passkeys?done=removed")

    def _add(self, submission: MemberSubmission) -> Response:
        user, site, fields = submission.member.user, submission.site, submission.fields
        name = _checked(fields["name"])
        factors.add_passkey(_party(site), user, name, fields[CREDENTIAL], site.tokens.now())
        login = upgrade(submission, HARDWARE_KEY)
        cookies = cookies_of(submission, login)
        if submission.wants_json or (login is not None and has_token(submission)):
            document = _document(submission.member, site) | tokens_of(submission, login)
            return json_response(document, status=HTTPStatus.CREATED, headers=cookies)
        page = "passkeys" if recovery_codes.count(user) else "recovery-codes"
        return _see_other(submission, f"{page}?done=passkey", cookies)

    def page(self, submission: MemberSubmission, refusal: Refusal) -> Page:
        """Return the list and the form."""
        mount, user = mount_url(submission.environ), submission.member.user
        party, rows = _party(submission.site), list_passkeys(user)
        is_full = len(rows) >= MOST_PASSKEYS
        now = submission.site.tokens.now()
        return PasskeysPage(
            passkeys_url=f"{mount}/passkeys",
            account_url=f"{mount}/account",
            codes_url=f"{mount}/recovery-codes",
            passkeys=tuple(ListedPasskey.of(each, party.host) for each in rows),
            codes_left=recovery_codes.count(user),
            passkey_options="" if is_full else party.creation_options(user, now),
            name=submission.fields["name"],
            next=next_after_set_up(submission),
            logout_url=f"{mount}/logout" if must_set_up(submission) else "",
            message=refusal.text,
            notice=_NOTICES.get(query_field(submission.environ, "done"), ""),
        )


def _see_other(
    submission: MemberSubmission, page: str, headers: tuple[Header, ...] = ()
) -> Response:
    location = with_next(f"{mount_url(submission.environ)}/{page}", submission.destination)
    return redirect(HTTPStatus.SEE_OTHER, location, headers=headers)


def _party(site: Site) -> RelyingParty:
    return cast(RelyingParty, site.relying_party)  # without it, there is no such URL


def _checked(name: str) -> str:
    name = " ".join(name.split())
    if not name:
        raise ValidationError({"name": ["Give the passkey a name, such as Laptop."]})
    if len(name) > NAME_MAX_LENGTH or not name.isprintable():
        detail = f"The name must have at most {NAME_MAX_LENGTH} printable characters."
        raise ValidationError({"name": [detail]})
    return name


def _document(member: UserSession, site: Site) -> dict[str, object]:
    user, party = member.user, _party(site)
    rows = list_passkeys(user)
    options = party.creation_options(user, site.tokens.now())
    return {
        "passkeys": [ListedPasskey.of(each, party.host).document() for each in rows],
        "recovery_codes_left": recovery_codes.count(user),
        "creation_options": json.loads(options),
    }
