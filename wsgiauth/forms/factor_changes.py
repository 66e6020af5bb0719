"""What the pages share on which users set up and remove second factors."""

from wsgiauth.authentication import demand, factors
from wsgiauth.authentication.freshness import methods_of, renew
from wsgiauth.authentication.issuing import Login
from wsgiauth.authentication.methods import has_second_factor, with_method
from wsgiauth.exceptions import UnauthenticatedError, ValidationError
from wsgiauth.forms import MemberSubmission
from wsgiauth.forms.handover import has_token, renewed_cookie, token_document
from wsgiauth.storage import database
from wsgiauth.web.responses import Header


def upgrade(submission: MemberSubmission, method: str) -> Login | None:
    """Renew the login of a user who has just set up their first second factor, with its method.

    Args:
        submission: The form of a `MemberForm`, which needed a fresh login.
        method: What the user has just proven, such as `otp`.

    Returns:
        None if the login was proven by a second factor before: it goes on unchanged.

    Raises:
        UnauthenticatedError: The login has ended meanwhile.
        peewee.DatabaseError: The database failed.
    """
    session_id, user = submission.member.session_id, submission.member.user
    methods = methods_of(session_id)
    if has_second_factor(methods):
        return None
    login = renew(session_id, user, submission.site.tokens, methods=with_method(methods, method))
    if login is None:
        raise UnauthenticatedError("invalid_token")
    return login


def cookies_of(submission: MemberSubmission, login: Login | None) -> tuple[Header, ...]:
    """Return the cookie of a login that `upgrade` renewed, if the request came with one."""
    if login is None or has_token(submission):
        return ()
    return (renewed_cookie(submission, login),)


def tokens_of(submission: MemberSubmission, login: Login | None) -> dict[str, object]:
    """Return the tokens of a login that `upgrade` renewed, as `login`, if it came with a token.

    Raises:
        peewee.DatabaseError: The database failed.
    """
    if login is None or not has_token(submission):
        return {}
    return {"login": token_document(submission.site, login)}


def must_set_up(submission: MemberSubmission) -> bool:
    """Return whether the user who sent a form must have a second factor, and has none.

    Raises:
        peewee.DatabaseError: The database failed.
    """
    user, settings = submission.member.user, submission.site.settings
    return demand.is_made_of(user, settings) and not factors.has_factor(user, settings)


def remove(submission: MemberSubmission, handle: str, gone: str) -> None:
    """Remove a factor of the user who sent a form, unless it is the last and they must have one.

    Args:
        submission: The form, with the field `remove`.
        handle: Names the factor.
        gone: What to say if the user does not have it any more.

    Raises:
        ValidationError: It stays, or is gone.
        peewee.DatabaseError: The database failed.
    """
    with database.atomic():  # rolled back if it was the last
        if not factors.remove(submission.member.user, handle):
            raise ValidationError({"remove": [gone]})
        if must_set_up(submission):
            detail = "You need a second step to log in here. Add another one, then remove this one."
            raise ValidationError({"remove": [detail]})
