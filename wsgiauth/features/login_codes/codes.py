"""Codes in emails: the request for one, and its code.

A request for a code is a secret of the client that asked, as `authentication.one_time` stores them:
the table has its digest. Its row exists before anyone looks for an account, and whether there is
one or not. The composer of the email, which runs later, writes the user into the row.

The code is stored nowhere. It is computed from the row with a key that is derived from SECRET_KEY,
because a digest of eight digits can be reversed. So a second attempt to send an email has the same
code, and another user, stamp or address in the row makes another code.
"""

import json
import secrets
from collections.abc import Sequence
from typing import NamedTuple

import peewee

from wsgiauth import events
from wsgiauth.accounts import find_user
from wsgiauth.accounts.models import User, is_proven_here
from wsgiauth.accounts.tables import CODE, OneTimeSecret
from wsgiauth.authentication import one_time
from wsgiauth.authentication.lifetimes import MINUTE
from wsgiauth.authentication.typed_codes import digits_in
from wsgiauth.events import kinds
from wsgiauth.exceptions import RequestError
from wsgiauth.features.links.letters import compose_reset, storable_name
from wsgiauth.features.links.mail_limits import MailLimits
from wsgiauth.features.login_codes.letter import CodeLetter
from wsgiauth.features.login_codes.limits import code_attempt, tries_of
from wsgiauth.forms import Submission
from wsgiauth.forms.endpoint import require_part, unauthorized
from wsgiauth.forms.handover import REMEMBER
from wsgiauth.mail.letters import Addressed
from wsgiauth.mail.outbox import Mail, ask_for
from wsgiauth.messages import _
from wsgiauth.settings import Settings
from wsgiauth.signed_values import KeyedDigests, Purpose
from wsgiauth.storage import database
from wsgiauth.throttling.throttle import Throttle
from wsgiauth.web.clients import browser_in_words, user_agent_in_words

MINUTES = 10
LIFETIME = MINUTES * MINUTE  # seconds
DIGITS = 8

_PURPOSE = Purpose("login codes")


class RightCode(NamedTuple):
    """A code that was right."""

    user: User  # as when it was sent
    row: OneTimeSecret  # of the request
    remember: bool  # whether the form that asked for it had "Keep me logged in"


class _Asked(NamedTuple):
    """The part of a request that its row keeps; an unknown request has none."""

    is_known: bool = False  # see `Throttle.knows`; confirmed when the email is composed
    networks: Sequence[str] = ()  # of a client that the name knows
    log_id: str = ""  # see `Throttle.failure_log`
    remember: bool = False  # see `RightCode`


def ask_for_code(submission: Submission, name: str, user: User | None = None) -> str:
    """Ask for an email with a code, and return the secret of this request.

    Args:
        name: As typed. No account is looked up for it.
        user: The user who is logged in, and whose username it is.

    Raises:
        RetryLaterError: 429: There were too many emails; see `MailLimits`.
    """
    site = submission.site
    outbox, now = require_part(site.outbox), site.tokens.now()
    is_known = user is not None or site.throttle.knows(name, submission.networks)
    limits = site.require(MailLimits)
    limits.count_code(name, submission.networks, is_known=is_known, user=user)
    asked = _Asked(
        is_known,
        submission.networks if is_known and user is None else (),
        site.throttle.failure_log(name).id,
        REMEMBER in submission.flags,
    )
    data = json.dumps(asked._asdict())
    browser = user_agent_in_words(submission.environ.get("HTTP_USER_AGENT", ""))
    mail = {"mount": site.pages.mount, "browser": browser}
    with database.atomic():
        secret = one_time.issue(CODE, None, now=now, lifetime=LIFETIME, data=data)
        mail["request"] = one_time.digest(secret)
        ask_for(outbox, CODE, name=storable_name(name), user=user, data=mail)
    return secret


def void_request(secret: str) -> None:
    """End a request, used or not."""
    with database.atomic():
        OneTimeSecret.delete().where(
            OneTimeSecret.id == one_time.digest(secret), OneTimeSecret.purpose == CODE
        ).execute()


def require_code(
    submission: Submission, secret: str, typed: str, owner: User | None = None
) -> RightCode:
    """Return the user of a right code, and its request; `use_code` uses it.

    What this costs depends on whether there is such a request, and not on whether it has a user: a
    client that asked for the code of any name must not learn whether there is an account.

    Args:
        secret: The request, as the client sent it.
        typed: The code as the user typed it, perhaps with the sentence around it.
        owner: The only user whose code is right; None: any user.

    Raises:
        RequestError: 401 `invalid_code`.
        RetryLaterError: 429: There were too many wrong codes from the address of the client.
    """
    site, now = submission.site, submission.site.tokens.now()
    row = _find(secret, now)
    asked = _Asked() if row is None else _Asked(**json.loads(row.data))
    attempt = code_attempt(site, submission.networks, is_known=asked.is_known, log_id=asked.log_id)
    attempt.begin()
    if row is None:
        raise _report_failure(None)
    tries = tries_of(site, row.id)
    has_try = tries.add(now)
    user = _user_of(row, digits_in(typed, DIGITS), site.settings)
    if user is None or not has_try or owner not in (None, user):
        attempt.failed("wrong email code")
        raise _report_failure(row)
    attempt.succeeded()
    tries.take_back()
    return RightCode(user, row, asked.remember)


def use_code(right: RightCode) -> None:
    """Use a code that `require_code` has returned; raise `invalid_code` if it was used meanwhile.

    No lock of the user is needed: what follows compares the stamp with which the user was read.
    """
    if not one_time.use(right.row):
        raise _report_failure(right.row)


def compose_code(mail: Mail, settings: Settings, now: float) -> Addressed | None:
    """Return the letter with the code to an active account with a proven address.

    If the address was never proven, return the letter for a new password. Its link proves the
    address, and removes what someone else may have added to the account: a code would let both in.
    """
    user = find_user(mail.name) if mail.user_id is None else mail.user
    if user is None or not user.is_active:
        return None
    if not is_proven_here(user):
        limits = MailLimits(settings, clock=lambda: now)
        is_admitted = limits.admits_link_instead_of_code(user.email)
        return compose_reset(mail, settings, now, is_instead_of_code=True) if is_admitted else None
    data = json.loads(mail.data)
    row: OneTimeSecret | None = OneTimeSecret.get_or_none(_is_open(data["request"], now))
    if row is None:  # the client has asked again, or the email is late
        return None
    asked = _confirmed(_Asked(**json.loads(row.data)), mail.name, user, settings, now)
    if asked is None:
        return None
    row.user, row.stamp, row.subject = user, user.security_stamp, one_time.digest(user.email)
    bound = {"user": user.id, "stamp": row.stamp, "subject": row.subject}
    bound["data"] = json.dumps(asked._asdict())
    with database.atomic():
        OneTimeSecret.update(bound).where(OneTimeSecret.id == row.id).execute()
    code = _codes_of(row, settings)[0]
    letter = CodeLetter(
        code=f"{code[:4]} {code[4:]}",
        browser=browser_in_words(data["browser"]),
        minutes=MINUTES,
    )
    return Addressed(letter, user.email, user.id, user.language or mail.language)


def _confirmed(
    asked: _Asked, name: str, user: User, settings: Settings, now: float
) -> _Asked | None:
    """Return the request, as that of a stranger if the account does not know the client.

    The client asked with a name that knows it, but the name can have another owner now, or the
    account a new password. Return None if such clients have asked for too many codes.
    """
    throttle = Throttle(settings, clock=lambda: now)
    if not asked.networks or throttle.is_known(user, asked.networks):
        return asked._replace(networks=())
    if not MailLimits(settings, clock=lambda: now).admits_former_client(name):
        return None
    return asked._replace(is_known=False, networks=())


def _is_open(request_id: str, now: float) -> peewee.Expression:
    has_id = (OneTimeSecret.id == request_id) & (OneTimeSecret.purpose == CODE)
    return has_id & (OneTimeSecret.expires_at > int(now))


def _find(secret: str, now: float) -> OneTimeSecret | None:
    """Return the row of a request that has not expired, with the user, changed or not."""
    if not secret or len(secret) > one_time.MAX_LENGTH:
        return None
    rows = OneTimeSecret.select(OneTimeSecret, User).join(User, peewee.JOIN.LEFT_OUTER)
    row: OneTimeSecret | None = rows.where(_is_open(one_time.digest(secret), now)).first()
    return row


def _user_of(row: OneTimeSecret, digits: str, settings: Settings) -> User | None:
    """Return the user of a code with these digits, unless the user has changed since."""
    user, sent = row.user, digits.encode(errors="replace")
    codes = [each.encode() for each in _codes_of(row, settings)]
    is_right = True in [secrets.compare_digest(each, sent) for each in codes]
    if user is None or not (is_right and user.is_active and is_proven_here(user)):
        return None
    is_same = (user.security_stamp, one_time.digest(user.email)) == (row.stamp, row.subject)
    return user if is_same else None


def _codes_of(row: OneTimeSecret, settings: Settings) -> list[str]:
    """Return the code under SECRET_KEY, and under each of SECRET_KEY_FALLBACKS."""
    about = json.dumps([row.id, row.user_id, row.stamp, row.subject])
    digests = KeyedDigests(settings, _PURPOSE).all(about.encode())
    return [f"{int.from_bytes(each) % 10**DIGITS:0{DIGITS}}" for each in digests]


def _report_failure(row: OneTimeSecret | None) -> RequestError:
    """Emit `login_failed`, and return the answer to the client."""
    events.emit(
        kinds.LOGIN_FAILED, user_id=None if row is None else row.user_id, reason="email code"
    )
    return invalid_code()


def invalid_code() -> RequestError:
    """Return the one answer to every code that is not accepted."""
    detail = _(
        "This code is wrong, or was used, replaced or sent too long ago. After five wrong codes,"
        " ask for another one."
    )
    return unauthorized("invalid_code", detail)
