"""GET, POST /auth/passkeys: list, add, rename and remove the user's passkeys."""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from http import HTTPStatus
from typing import NamedTuple
from wsgiref.types import WSGIEnvironment

from wsgiauth.authentication.identity import UserSession
from wsgiauth.authentication.methods import HARDWARE_KEY
from wsgiauth.exceptions import ValidationError
from wsgiauth.features.factors import factors, recovery_codes
from wsgiauth.features.factors.factor_form import FactorForm, check_name, must_set_up
from wsgiauth.features.factors.passkeys import (
    MOST_PASSKEYS,
    NAME_MAX_LENGTH,
    Passkey,
    list_passkeys,
    rename,
)
from wsgiauth.features.factors.passkeys.relying_party import RelyingParty
from wsgiauth.forms import MemberForm, MemberSubmission, Refusal
from wsgiauth.forms.done import Notice, just_done, notice_of
from wsgiauth.forms.endpoint import LOGIN, AccountLink, Overview, State
from wsgiauth.forms.fields import Text
from wsgiauth.forms.handover import next_after_set_up
from wsgiauth.forms.proofs import CREDENTIAL, PasskeyPage
from wsgiauth.messages import _, ngettext, pgettext
from wsgiauth.openapi.answers import Answer, Problem
from wsgiauth.openapi.problems import APPLICATION_FAILED, INVALID, LAST_WAY_IN
from wsgiauth.settings import Settings
from wsgiauth.site import Site
from wsgiauth.storage.models import from_timestamp, utc_text
from wsgiauth.web.clients import user_agent_in_words
from wsgiauth.web.pages import UrlBelow
from wsgiauth.web.responses import Response
from wsgiauth.web.urls import mount_url, with_next


class ListedPasskey(NamedTuple):
    """A passkey in the list of its owner; times are in UTC."""

    handle: str  # not a credential
    name: str
    created_at: datetime
    last_used_at: datetime | None
    is_backed_up: bool  # on several devices
    is_usable: bool  # on this site
    host: str  # of its site

    @classmethod
    def of(cls, row: Passkey, host: str) -> "ListedPasskey":
        """Return a passkey for its owner, on a site at `host`."""
        return cls(
            handle=row.id,
            name=row.name,
            created_at=from_timestamp(row.created_at),
            last_used_at=from_timestamp(row.last_used_at) if row.last_used_at else None,
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


_EXAMPLE = pgettext("name of a device", "Laptop")
_NOTICES: Mapping[str, Notice] = {
    "passkey": lambda name: _("The passkey “%(name)s” has been added.", name=name),
    "renamed": lambda name: _("The passkey is now called “%(name)s”.", name=name),
    "removed": lambda name: _(
        "The passkey “%(name)s” has been removed. Remove it from your device, too.", name=name
    ),
    "last": lambda name: _(
        "The passkey “%(name)s” has been removed. Remove it from your device, too. Logins no longer"
        " ask for a second step.",
        name=name,
    ),
}


class PasskeysPage(PasskeyPage):
    """The list of the user's passkeys, and the form to add one."""

    template = "passkeys.html"
    passkeys_url = UrlBelow("passkeys")
    codes_url = UrlBelow("recovery-codes")
    passkeys: tuple[ListedPasskey, ...]
    codes_left: int  # recovery codes
    is_last: bool = False  # the user has no other second factor
    is_first: bool = False  # the passkeys replace the password; see `SecondFactors.first_of`
    name: str  # of a new passkey: a proposal, or as it was sent
    proposal: str = ""  # the name of a new passkey
    renamed: str = ""  # the handle of the passkey whose name the page asks for
    logout_url: str = ""  # for users who must have a second factor first


def _how_many(overview: Overview) -> State:
    count = len(overview.passkeys)
    if not count:
        return State(pgettext("passkeys", "None yet"))
    return State(ngettext("%(num)s passkey", "%(num)s passkeys", count), "good")


class Passkeys(FactorForm):
    """Adds a passkey; renames and removes passkeys."""

    account_link = AccountLink(
        LOGIN,
        _("Passkeys"),
        _("Log in with your fingerprint, your face, your screen lock or a security key."),
        place=4,
        icon="fingerprint",
        state=_how_many,
    )
    step = _("Add or remove passkeys")
    fields = (
        Text(
            "name",
            "How the user calls a new passkey, or the one of `rename`.",
            maxLength=NAME_MAX_LENGTH,
            examples=["Laptop"],
        ),
        Text(
            CREDENTIAL,
            "The new passkey: the `RegistrationResponseJSON` for the `creation_options`.",
        ),
        Text("rename", "Gives the passkey of this `handle` the name in `name`."),
        Text("remove", "Removes the passkey of this `handle`."),
    )
    refusals = (INVALID, LAST_WAY_IN)
    failures = (APPLICATION_FAILED,)
    path = "passkeys"
    gone = _("That passkey has already been removed.")

    def problems(self, method: str) -> tuple[Problem | Answer, ...]:
        """Return those of the form, which its list needs a recent proof for, too."""
        return MemberForm.problems(self, method)

    def is_offered(self, settings: Settings) -> bool:
        """Return whether there are passkeys."""
        return settings.PASSKEYS

    def require_reader(self, environ: WSGIEnvironment, site: Site) -> UserSession:
        """Ask for a recent proof, because the list has the options for a new passkey."""
        return self.require_member(environ, site)

    def document(
        self, environ: WSGIEnvironment, member: UserSession, site: Site
    ) -> dict[str, object]:
        """Return the passkeys, and the options for a new one."""
        user, party = member.user, site.require(RelyingParty)
        rows = list_passkeys(user)
        options = party.creation_options(user, site.tokens.now())
        return {
            "passkeys": [ListedPasskey.of(each, party.host).document() for each in rows],
            "recovery_codes_left": recovery_codes.count(user),
            "creation_options": json.loads(options),
        }

    def act(self, submission: MemberSubmission) -> Response:
        """Remove a passkey, rename one, or add one."""
        if submission.fields["remove"]:
            return self.remove(submission)
        if submission.fields["rename"]:
            return self._rename(submission)
        user, site, fields = submission.member.user, submission.site, submission.fields
        name = check_name(fields["name"], _EXAMPLE, NAME_MAX_LENGTH)
        party = site.require(RelyingParty)
        factors.add_passkey(party, user, name, fields[CREDENTIAL], site.tokens.now())
        return self.answer_added(
            submission, HARDWARE_KEY, done="passkey", name=name, status=HTTPStatus.CREATED
        )

    def _rename(self, submission: MemberSubmission) -> Response:
        user, fields = submission.member.user, submission.fields
        name = check_name(fields["name"], _EXAMPLE, NAME_MAX_LENGTH)
        if not rename(user, fields["rename"], name):
            raise ValidationError({"rename": [self.gone]})
        page = with_next(f"{self.path}?done=renamed", submission.destination)
        return self.answer_changed(submission, page, name=name)

    def page(self, submission: MemberSubmission, refusal: Refusal) -> PasskeysPage:
        """Return the list and the form."""
        user, now = submission.member.user, submission.site.tokens.now()
        party, rows = submission.site.require(RelyingParty), list_passkeys(user)
        is_first = bool(submission.site.factors.first_of(user))
        proposal, renamed = _proposal(submission, rows), submission.fields["rename"]
        done = just_done(submission.environ)
        if done.word == "passkey":
            renamed = next((row.id for row in reversed(rows) if row.name == done.name), "")
        own = ["name"] if any(row.id == submission.fields["rename"] for row in rows) else []
        is_full, logout_url = len(rows) >= MOST_PASSKEYS, f"{mount_url(submission.environ)}/logout"
        return PasskeysPage(
            passkeys=tuple(ListedPasskey.of(each, party.host) for each in rows),
            codes_left=recovery_codes.count(user),
            is_last=not is_first and len(factors.list_factors(user)) == 1,
            is_first=is_first,
            passkey_options="" if is_full else party.creation_options(user, now),
            name=submission.fields["name"] if refusal.text else proposal,
            proposal=proposal,
            renamed=renamed,
            next=next_after_set_up(submission),
            logout_url=logout_url if must_set_up(submission) else "",
            message=refusal.text_without(*own),
            errors=refusal.errors,
            notice=notice_of(submission.environ, _NOTICES),
        )


def _proposal(submission: MemberSubmission, rows: Sequence[Passkey]) -> str:
    """Return a name for a new passkey that no other passkey of the user has."""
    browser = user_agent_in_words(submission.environ.get("HTTP_USER_AGENT", ""))
    proposals = (browser, *(f"{browser} {number}" for number in range(2, len(rows) + 2)))
    return next(each for each in proposals if each not in {row.name for row in rows})
