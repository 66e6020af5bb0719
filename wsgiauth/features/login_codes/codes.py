"""Codes in emails: the request for one, and its code.

A request for a code is a secret of the client that asked, as `authentication.one_time` stores them:
the table has its digest. Its row exists before anyone looks for an account, and whether there is
one or not. The composer of the email, which runs later, writes the user into the row, or the link
of a registration, which the code then opens.

The code is stored nowhere. It is computed from the row with a key that is derived from SECRET_KEY,
because a digest of eight digits can be reversed. So a second attempt to send an email has the same
code, and another user, stamp or address in the row makes another code. So does another link of a
registration: a second attempt makes one.
"""

import json
import secrets
from collections.abc import Sequence
from typing import NamedTuple

import peewee

from wsgiauth import events
from wsgiauth.accounts import find_user
from wsgiauth.accounts.models import User, is_proven_here
from wsgiauth.accounts.tables import CODE, INVITATION, REGISTRATION, OneTimeSecret
from wsgiauth.authentication import one_time
from wsgiauth.authentication.lifetimes import MINUTE
from wsgiauth.authentication.typed_codes import digits_in
from wsgiauth.events import kinds
from wsgiauth.exceptions import RequestError
from wsgiauth.feature import FactorsOf
from wsgiauth.features.links.invitations import Invitation, read_invitation
from wsgiauth.features.links.letters import compose_invitation, compose_reset, storable_name
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
from wsgiauth.storage.statements import ModelStatement, Statement, given, is_given
from wsgiauth.throttling.throttle import Throttle
from wsgiauth.web.clients import browser_in_words, user_agent_in_words

MINUTES = 10
LIFETIME = MINUTES * MINUTE  # seconds
DIGITS = 8

_PURPOSE = Purpose("login codes")
_CAN_LOG_IN = "can_log_in"  # in the data of an email: whether the limit admits a code of an account


class RightCode(NamedTuple):
    """A code that was right."""

    opens: User | OneTimeSecret  # the user as when it was sent, or the link of a registration
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
    site, networks = submission.site, submission.networks
    is_known = user is not None or site.throttle.knows(name, networks)
    limits = site.require(MailLimits)
    limits.count_code(name, networks, is_known=is_known, user=user)
    asked = _Asked(
        is_known,
        networks if is_known and user is None else (),
        site.throttle.failure_log(name).id,
        REMEMBER in submission.flags,
    )
    return _send(submission, asked, CODE, storable_name(name), user)


def ask_for_registration(submission: Submission, username: str, email: str) -> str:
    """Ask for the email of a registration, with a code, and return the secret of this request.

    The names are valid, and the email has been counted. No account is looked up.
    """
    site, networks = submission.site, submission.networks
    is_known = site.throttle.knows(email, networks)
    limits = site.require(MailLimits)
    can_log_in = limits.admits_code_of_registration(email, networks, is_known=is_known)
    log_id = site.throttle.failure_log(email).id
    asked = _Asked(is_known, networks if is_known else (), log_id)
    invitation = Invitation(email=email, username=username, is_requested=True)
    data = {**invitation._asdict(), _CAN_LOG_IN: can_log_in}
    return _send(submission, asked, REGISTRATION, email, **data)


def _send(
    submission: Submission,
    asked: _Asked,
    kind: str,
    name: str,
    user: User | None = None,
    **data: object,
) -> str:
    """Insert an email and the request for its code; return the secret of the request."""
    site = submission.site
    browser = user_agent_in_words(submission.environ.get("HTTP_USER_AGENT", ""))
    with database.atomic():
        secret = one_time.issue(
            CODE,
            None,
            now=site.tokens.now(),
            lifetime=LIFETIME,
            data=json.dumps(asked._asdict()),
        )
        data |= {
            "mount": site.pages.mount,
            "browser": browser,
            "request": one_time.digest(secret),
        }
        ask_for(require_part(site.outbox), kind, name=name, user=user, data=data)
    return secret


_HAS_ID = is_given(OneTimeSecret.id) & (OneTimeSecret.purpose == CODE)
_IS_VALID = OneTimeSecret.expires_at > given(OneTimeSecret.expires_at, "now")
_VOID = Statement(lambda: OneTimeSecret.delete().where(_HAS_ID))
_REQUEST = ModelStatement(lambda: OneTimeSecret.select().where(_HAS_ID, _IS_VALID))
_WITH_USER = ModelStatement(
    lambda: (
        OneTimeSecret.select(OneTimeSecret, User)
        .join(User, peewee.JOIN.LEFT_OUTER)
        .where(_HAS_ID, _IS_VALID)
    )
)
_BIND = Statement(
    lambda: OneTimeSecret.update(
        user=given(OneTimeSecret.user),
        stamp=given(OneTimeSecret.stamp),
        subject=given(OneTimeSecret.subject),
        data=given(OneTimeSecret.data),
    ).where(is_given(OneTimeSecret.id))
)
_LINK = ModelStatement(
    lambda: OneTimeSecret.select().where(
        is_given(OneTimeSecret.id), OneTimeSecret.purpose == INVITATION, _IS_VALID
    )
)


def void_request(secret: str) -> None:
    """End a request, used or not."""
    with database.atomic():
        _VOID.execute(id=one_time.digest(secret))


def require_code(
    submission: Submission, secret: str, typed: str, owner: User | None = None
) -> RightCode:
    """Return what a right code opens, and its request; `use_code` uses it.

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
        raise report_failure(None)
    tries = tries_of(site, row.id)
    has_try = tries.add(now)
    opens = _opened_by(row, digits_in(typed, DIGITS), site.settings, now)
    if opens is None or not has_try or owner not in (None, opens):
        attempt.failed("wrong email code")
        raise report_failure(row, has_ended=tries.is_used_up(int(now)))
    attempt.succeeded()
    tries.take_back()
    return RightCode(opens, row, asked.remember)


def use_code(right: RightCode) -> None:
    """Use a code that `require_code` has returned; raise `invalid_code` if it was used meanwhile.

    No lock of the user is needed: what follows compares the stamp with which the user was read.
    """
    if not one_time.use(right.row):
        raise report_failure(right.row)


def compose_code(
    mail: Mail, settings: Settings, now: float, *, factors: FactorsOf
) -> Addressed | None:
    """Return the letter with the code to an active account with a proven address.

    If the address was never proven, return the letter for a new password or, without passwords, for
    a login by its link. The link proves the address, and removes what someone else may have added
    to the account: a code would let both in.
    """
    user = find_user(mail.name) if mail.user_id is None else mail.user
    if user is None or not user.is_active:
        return None
    if not is_proven_here(user):
        limits = MailLimits(settings, clock=lambda: now)
        is_admitted = limits.admits_link_instead_of_code(user.email)
        if not is_admitted:
            return None
        return compose_reset(mail, settings, now, factors=factors, is_instead_of_code=True)
    code = _code_to_log_in(mail, user, settings, now)
    if not code:
        return None
    letter = CodeLetter(
        code=code,
        browser=_browser_of(mail),
        minutes=MINUTES,
        is_confirmation=mail.user_id is not None,
    )
    return Addressed(letter, user.email, user.id, user.language or mail.language)


def compose_registration(
    mail: Mail, settings: Settings, now: float, *, factors: FactorsOf
) -> Addressed | None:
    """Return the letter of a registration, with a code.

    The code creates the account, as the link does. If the address has an account, and was proven,
    the code logs in. The letter has no code if the client has asked again, or if the email is late.
    """
    addressed = compose_invitation(mail, settings, now, factors=factors)
    if addressed is None:
        return None
    letter, user_id = addressed.letter, addressed.user_id
    if user_id is None:
        code = _code_to_register(mail, one_time.digest(letter.secret), settings, now)
    else:
        user, is_admitted = User.get_by_id(user_id), json.loads(mail.data)[_CAN_LOG_IN]
        is_sent = is_admitted and is_proven_here(user)
        code = _code_to_log_in(mail, user, settings, now) if is_sent else ""
    if not code:
        return addressed
    coded = letter.replaced(code=code, browser=_browser_of(mail), code_minutes=MINUTES)
    return addressed._replace(letter=coded)


def _code_to_log_in(mail: Mail, user: User, settings: Settings, now: float) -> str:
    """Return the code of a user with a proven address; "" if there is none to send."""
    row = _request_of(mail, now)
    if row is None:
        return ""
    asked = _confirmed(_Asked(**json.loads(row.data)), mail.name, user, settings, now)
    if asked is None:
        return ""
    row.user, row.stamp, row.subject = user, user.security_stamp, one_time.digest(user.email)
    row.data = json.dumps(asked._asdict())
    return _bind(row, settings)


def _code_to_register(mail: Mail, link_id: str, settings: Settings, now: float) -> str:
    """Return the code that opens what a link in the same email opens; "" if it comes too late."""
    row = _request_of(mail, now)
    if row is None:
        return ""
    row.subject = link_id
    return _bind(row, settings)


def _request_of(mail: Mail, now: float) -> OneTimeSecret | None:
    """Return the request of an email; None if the client has asked again, or the email is late."""
    return _REQUEST.first(id=json.loads(mail.data)["request"], now=int(now))


def _bind(row: OneTimeSecret, settings: Settings) -> str:
    """Store what the code of a request opens, and return the code as an email shows it."""
    bound = {"user": row.user_id, "stamp": row.stamp, "subject": row.subject, "data": row.data}
    with database.atomic():
        _BIND.execute(id=row.id, **bound)
    code = _codes_of(row, settings)[0]
    return f"{code[:4]} {code[4:]}"


def _browser_of(mail: Mail) -> str:
    return browser_in_words(json.loads(mail.data)["browser"])


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


def _find(secret: str, now: float) -> OneTimeSecret | None:
    """Return the row of a request that has not expired, with the user, changed or not."""
    if not secret or len(secret) > one_time.MAX_LENGTH:
        return None
    return _WITH_USER.first(id=one_time.digest(secret), now=int(now))


def _opened_by(
    row: OneTimeSecret, digits: str, settings: Settings, now: float
) -> User | OneTimeSecret | None:
    """Return what a code with these digits opens; None if it is wrong, or nothing any more."""
    sent = digits.encode(errors="replace")
    codes = [each.encode() for each in _codes_of(row, settings)]
    if True not in [secrets.compare_digest(each, sent) for each in codes]:
        return None
    return _link_of(row, now) if row.user is None else _user_of(row, row.user)


def _link_of(row: OneTimeSecret, now: float) -> OneTimeSecret | None:
    """Return the link of a registration, unless it was used, or its address has an account."""
    link = _LINK.first(id=row.subject, now=int(now))
    if link is None or find_user(read_invitation(link).email) is not None:
        return None
    return link


def _user_of(row: OneTimeSecret, user: User) -> User | None:
    """Return the user of a request, unless the user has changed since."""
    if not (user.is_active and is_proven_here(user)):
        return None
    is_same = (user.security_stamp, one_time.digest(user.email)) == (row.stamp, row.subject)
    return user if is_same else None


def _codes_of(row: OneTimeSecret, settings: Settings) -> list[str]:
    """Return the code under SECRET_KEY, and under each of SECRET_KEY_FALLBACKS."""
    about = json.dumps([row.id, row.user_id, row.stamp, row.subject])
    digests = KeyedDigests(settings, _PURPOSE).all(about.encode())
    return [f"{int.from_bytes(each) % 10**DIGITS:0{DIGITS}}" for each in digests]


def report_failure(row: OneTimeSecret | None, *, has_ended: bool = False) -> RequestError:
    """Emit `login_failed`, and return the answer to the client.

    Args:
        has_ended: Whether no try of the request is left.
    """
    events.emit(
        kinds.LOGIN_FAILED, user_id=None if row is None else row.user_id, reason="email code"
    )
    if has_ended:
        return unauthorized("invalid_code", _("There were five wrong codes. Ask for another code."))
    return invalid_code()


def invalid_code() -> RequestError:
    """Return the one answer to every code that is not accepted."""
    detail = _(
        "This code is wrong, or was used, replaced or sent too long ago. After five wrong codes,"
        " ask for another one."
    )
    return unauthorized("invalid_code", detail)
