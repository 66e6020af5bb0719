"""Emails with a link: the requests for them, and their letters.

A request only inserts a row, so that its answer and its time do not depend on whether there is an
account. A composer runs later, in the thread of the outbox: it decides what to send. `mount` is
always the path of /auth on the site.
"""

import json
from collections.abc import Iterable, Mapping
from functools import partial

from wsgiauth import events
from wsgiauth.accounts import find_user, names
from wsgiauth.accounts.groups import Group, resolve_group
from wsgiauth.accounts.models import User, is_proven_here
from wsgiauth.accounts.tables import ADDRESS, INVITATION, RESET
from wsgiauth.authentication.one_time import digest
from wsgiauth.authentication.password import make_reset_link
from wsgiauth.events import kinds
from wsgiauth.exceptions import ConfigurationError
from wsgiauth.feature import FactorsOf, Inviter
from wsgiauth.features.links.address_links import make_address_link
from wsgiauth.features.links.invitations import (
    HOURS,
    Invitation,
    InvitedGroup,
    check_invitation,
    make_invitation_link,
    parse_invitation,
)
from wsgiauth.mail.letters import (
    SAMPLE_ROOT,
    Addressed,
    Letter,
    LinkLetter,
    SiteLabel,
    unlinked,
)
from wsgiauth.mail.outbox import Composer, Mail, Outbox, ask_for
from wsgiauth.messages import Message, _, pgettext
from wsgiauth.settings import Settings
from wsgiauth.site import Site
from wsgiauth.storage import database
from wsgiauth.storage.statements import ModelStatement, Statement, given, is_given, locked
from wsgiauth.web.clients import browser_in_words


class CodedLetter(Letter):
    """An email that can also have a code, if a registration asked for it."""

    code: str = ""  # as it is shown: 1234 5678
    browser: str = ""  # and its system in words, of the client that asked
    code_minutes: int = 0


class ResetLetter(CodedLetter, LinkLetter):
    """The email with the link to choose a new password or to log in; see `links.reset`."""

    template = "mail/reset.txt"
    label: str  # empty if the address is not proven, or if the name looks like a link
    is_instead_of_code: bool = False  # see `compose_reset`
    is_registration: bool = False  # likewise
    is_login: bool = False  # the link logs in, without a password

    @property
    def action(self) -> Message:
        """What the link does, in the words of a button."""
        return _("Log in") if self.is_login else _("Choose a new password")


class InvitationLetter(CodedLetter, LinkLetter):
    """The email with the link to create an account.

    It has no username: a stranger can type one that mail software turns into a link.
    """

    template = "mail/invitation.txt"
    action = _("Create your account")
    is_requested: bool

    def why(self, site: SiteLabel, address: str) -> Message:
        """Return the sentence at its end: who sends it to this address, and why."""
        if self.is_requested:
            return super().why(site, address)
        return _(
            "%(site)s sent this email to %(email)s to invite you to create an account there.",
            site=site.name,
            email=address,
        )


class AddressLetter(LinkLetter):
    """The email with the link to prove an address.

    It has no text from the user, because the address can belong to anyone.
    """

    template = "mail/address.txt"
    action = _("Verify your email address")


class AddressTakenLetter(CodedLetter):
    """The email to the owner of an address that another user has entered; it has no link."""

    template = "mail/address_taken.txt"


def request_reset(outbox: Outbox, name: str, *, mount: str) -> None:
    """Ask for a link to choose a new password; `name` is as typed."""
    ask_for(outbox, RESET, name=storable_name(name), data={"mount": mount})


def storable_name(name: str) -> str:
    """Return a name as typed, or "" for a string that cannot be one.

    Such a string is not stored, because it can be a password in the wrong field.
    """
    is_name = names.email_problem(name) is None or names.username_problem(name) in (
        None,
        names.LEADING_DASH,
    )
    return name if is_name else ""


def send_reset(outbox: Outbox, user: User, *, mount: str) -> None:
    """Send a link to choose a new password to the user's stored address, and report it."""
    with database.atomic():
        ask_for(outbox, RESET, user=user, data={"mount": mount})
        events.emit(kinds.LINK_SENT, user_id=user.id, reason=RESET)


def request_address_link(outbox: Outbox, user: User, email: str, *, mount: str) -> None:
    """Ask for a link that proves a valid address, new or present, for the user."""
    data = {"mount": mount, "stamp": user.security_stamp, "present": digest(user.email)}
    ask_for(outbox, ADDRESS, name=email, user=user, data=data)


def request_invitation(outbox: Outbox, username: str, email: str, *, mount: str) -> None:
    """Ask for an invitation; the names are valid."""
    _enqueue(outbox, Invitation(email=email, username=username, is_requested=True), mount)


def issue_invitation(
    invitation: Invitation, outbox: Outbox | None, settings: Settings, *, mount: str, now: float
) -> str | None:
    """Invite an address that has no account; return the link if the site sends no email.

    Raises:
        ValidationError, TakenError, ValueError, Group.DoesNotExist: See `check_invitation`.
        ConfigurationError: There is no outbox, and no PUBLIC_URL for a link.
    """
    if outbox is None and settings.PUBLIC_URL is None:
        raise ConfigurationError(
            "PUBLIC_URL must be set, because the link of the invitation begins with it."
        )
    invitation = check_invitation(invitation)
    reason = [INVITATION, *(["is_staff"] if invitation.is_staff else []), *invitation.permissions]
    reason += [f"group {each.name}" for each in invitation.groups]
    reason += ["printed"] if outbox is None else []
    with database.atomic():
        events.emit(kinds.LINK_SENT, reason=", ".join(reason))
        if outbox is None:
            return make_invitation_link(invitation, settings, mount=mount, now=now)
        _enqueue(outbox, invitation, mount)
        return None


# Further words for the reasons of `issue_invitation`.
REASONS: Mapping[kinds.Change, kinds.Reasons] = {
    kinds.LINK_SENT: {
        INVITATION: pgettext("reason of an event", "invitation"),
        "is_staff": pgettext("reason of an event", "member of the staff"),
        "group (.*)": lambda name: pgettext("reason of an event", "group %(name)s", name=name),
    }
}


class LinkInviter(Inviter):
    """Invites people for the code of the application."""

    def invite(
        self,
        site: Site,
        email: str,
        *,
        username: str,
        is_staff: bool,
        permissions: Iterable[str],
        groups: Iterable[Group | str],
    ) -> str | None:
        """Send an invitation; return its link if the site sends no emails."""
        if username and not site.settings.USERNAMES:
            raise ValueError("USERNAMES is off, so an invitation has no username")
        invitation = Invitation(
            email=email,
            username=username,
            is_staff=is_staff,
            permissions=tuple(permissions),
            groups=tuple(InvitedGroup.of(resolve_group(group)) for group in groups),
        )
        return issue_invitation(
            invitation, site.outbox, site.settings, mount=site.pages.mount, now=site.tokens.now()
        )


def _enqueue(outbox: Outbox, invitation: Invitation, mount: str) -> None:
    data = {**invitation._asdict(), "mount": mount}
    ask_for(outbox, INVITATION, name=invitation.email, data=data)


def compose_reset(
    mail: Mail,
    settings: Settings,
    now: float,
    *,
    factors: FactorsOf,
    is_instead_of_code: bool = False,
    is_registration: bool = False,
) -> Addressed | None:
    """Return the letter to an active account; the row has its user or a name.

    Args:
        is_instead_of_code: Whether a code was asked for, and the address was never proven here.
        is_registration: Whether an account was asked for, and the address has one.
    """
    user = find_user(mail.name) if mail.user_id is None else mail.user
    if user is None or not user.is_active or not (settings.PASSWORD_LOGIN or is_instead_of_code):
        return None
    link = make_reset_link(user, settings, mount=json.loads(mail.data)["mount"], now=now)
    # A stranger can choose the name, and register with the address of someone else.
    label = user.email if not settings.USERNAMES else ""
    if settings.USERNAMES and user.email_verified_at:
        label = unlinked(user.username)
    has_first = is_proven_here(user) and bool(factors(settings).first_of(user))
    letter = ResetLetter(
        label=label,
        link=link,
        minutes=settings.LINK_MINUTES,
        is_instead_of_code=is_instead_of_code,
        is_registration=is_registration,
        is_login=has_first or not settings.PASSWORD_LOGIN,
    )
    return Addressed(letter, user.email, user.id, user.language or mail.language)


def compose_invitation(
    mail: Mail, settings: Settings, now: float, *, factors: FactorsOf
) -> Addressed | None:
    """Return the letter with the link.

    If the address has an account meanwhile, return the letter for a new password to a person who
    asked, or the letter about a taken address if there are no passwords. Return None for an invited
    person, and for an invitation that was revoked meanwhile.
    """
    mount = json.loads(mail.data)["mount"]
    invitation = parse_invitation(mail.data)
    owner = find_user(invitation.email)
    if owner is not None:
        if not invitation.is_requested:
            return None
        if not settings.PASSWORD_LOGIN:
            return address_taken(owner)
        return compose_reset(mail, settings, now, factors=factors, is_registration=True)
    with database.atomic():
        if not _is_stored(mail):
            return None
        link = make_invitation_link(invitation, settings, mount=mount, now=now)
    letter = InvitationLetter(
        link=link,
        minutes=invitation.minutes(settings),
        is_requested=invitation.is_requested,
    )
    return Addressed(letter, invitation.email, None, mail.language)


def _is_stored(mail: Mail) -> bool:
    """Lock the row of an email until the transaction ends; return False if it was deleted."""
    return _LOCK.fetchone(id=mail.id) is not None


_LOCK = Statement(lambda: locked(Mail.select(Mail.id).where(is_given(Mail.id))))
_OTHER_OWNER = ModelStatement(
    lambda: User.select().where(is_given(User.email_key), User.id != given(User.id, "user_id"))
)


def _compose_address(mail: Mail, settings: Settings, now: float) -> Addressed | None:
    """Return the letter with the link, or the letter to the owner of a taken address.

    Return None if the owner is inactive, or if the user who asked is inactive or deleted, or has
    another password or address meanwhile.
    """
    data = json.loads(mail.data)
    asked = (data["stamp"], data["present"])
    user = User.find_by_id(mail.user_id)
    if user is None or not user.is_active:
        return None
    if asked != (user.security_stamp, digest(user.email)):
        return None
    owner = _OTHER_OWNER.first(email_key=names.key(mail.name), user_id=user.id)
    if owner is not None:
        return address_taken(owner)
    link = make_address_link(user, mail.name, settings, mount=data["mount"], now=now)
    letter = AddressLetter(link=link, minutes=settings.LINK_MINUTES)
    return Addressed(letter, mail.name, user.id, user.language or mail.language)


def address_taken(owner: User) -> Addressed | None:
    """Return the letter to the owner of a taken address; None if the owner is inactive."""
    if not owner.is_active:
        return None
    return Addressed(AddressTakenLetter(), owner.email, owner.id, owner.language)


def composers(factors: FactorsOf) -> Mapping[str, Composer]:
    """Return the composers by the kind of the email."""
    return {
        RESET: partial(compose_reset, factors=factors),
        INVITATION: partial(compose_invitation, factors=factors),
        ADDRESS: _compose_address,
    }


_RESET_LINK = f"{SAMPLE_ROOT}/reset?token=example"
_VERIFY_LINK = f"{SAMPLE_ROOT}/verify?token=example"

_WITH_CODE: tuple[CodedLetter, ...] = (
    InvitationLetter(link=_VERIFY_LINK, minutes=60, is_requested=True),
    ResetLetter(label="ada", link=_RESET_LINK, minutes=60, is_registration=True),
    AddressTakenLetter(),
)

SAMPLES: tuple[Letter, ...] = (
    ResetLetter(label="ada", link=_RESET_LINK, minutes=60),
    ResetLetter(label="", link=_RESET_LINK, minutes=60, is_instead_of_code=True),
    ResetLetter(label="", link=_RESET_LINK, minutes=60, is_instead_of_code=True, is_login=True),
    ResetLetter(label="ada", link=_RESET_LINK, minutes=60, is_login=True),
    ResetLetter(label="ada", link=_RESET_LINK, minutes=60, is_registration=True, is_login=True),
    InvitationLetter(link=_VERIFY_LINK, minutes=60, is_requested=True),
    InvitationLetter(link=_VERIFY_LINK, minutes=HOURS * 60, is_requested=False),
    AddressLetter(link=_VERIFY_LINK, minutes=60),
    AddressTakenLetter(),
    *(
        each.replaced(
            code="1234 5678", browser=browser_in_words("Firefox on Linux"), code_minutes=10
        )
        for each in _WITH_CODE
    ),
)
