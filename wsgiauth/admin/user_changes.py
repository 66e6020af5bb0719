"""What each action of `user_actions` does with a user, in the transaction of the change."""

from collections.abc import Callable
from http import HTTPStatus

from wsgiauth.accounts.groups import Group
from wsgiauth.accounts.models import User
from wsgiauth.admin.actions import Field, read_permission
from wsgiauth.authentication import factors, keys, sessions
from wsgiauth.authentication.session_list import end_by_handle
from wsgiauth.exceptions import RequestError, ValidationError
from wsgiauth.forms import MemberSubmission
from wsgiauth.forms.endpoint import require_part
from wsgiauth.mail.link_letters import send_reset

GROUP = Field("group", "Group")
LOGIN = Field("login", "Session")
KEY = Field("key", "API key")


def set_flag(flag: str, value: bool) -> Callable[[User, MemberSubmission], object]:
    """Return a change that sets a flag of the user."""

    def change(user: User, submission: MemberSubmission) -> bool:
        setattr(user, flag, value)
        return bool(user.save())

    return change


def has_flag(flag: str, value: bool) -> Callable[[User], bool]:
    """Return a condition: a flag of the user has this value."""
    return lambda user: bool(getattr(user, flag)) is value


def end_logins(user: User, submission: MemberSubmission) -> None:
    """Revoke all sessions of the user, except the one that sent the form."""
    sessions.end_all(user, except_id=submission.member.session_id)


def end_login(user: User, submission: MemberSubmission) -> None:
    """Revoke the session that the form names."""
    handle = submission.fields[LOGIN.name]
    if not handle:
        raise ValidationError({LOGIN.name: ["Choose a session."]})
    if end_by_handle(user, handle, submission.site.tokens.now()) is None:
        raise RequestError(HTTPStatus.NOT_FOUND, "no_such_login", "This session has already ended.")


def end_key(user: User, submission: MemberSubmission) -> None:
    """Revoke the API key that the form names."""
    key_id = submission.fields[KEY.name].strip()
    if not key_id:
        raise ValidationError({KEY.name: ["Choose an API key."]})
    if not keys.end(user, key_id):
        raise RequestError(
            HTTPStatus.NOT_FOUND,
            "no_such_key",
            "This API key has already been revoked or has expired.",
        )


def remove_factors(user: User, submission: MemberSubmission) -> None:
    """Remove the second factors of the user and the recovery codes, and end all sessions."""
    factors.remove_all(user)


def count_link(user: User, submission: MemberSubmission) -> None:
    """Count a link that the user will get."""
    if user.is_active:
        submission.site.mail_limits.count_by_staff(user)


def send_link(user: User, submission: MemberSubmission) -> None:
    """Send the user a link to choose a new password."""
    if not user.is_active:
        raise RequestError(
            HTTPStatus.CONFLICT, "inactive", "The account is inactive. Activate it first."
        )
    site = submission.site
    send_reset(require_part(site.outbox), user, mount=site.pages.mount)


def grant(user: User, submission: MemberSubmission) -> bool:
    """Grant the permission that the form names."""
    return user.grant(read_permission(submission))


def revoke(user: User, submission: MemberSubmission) -> bool:
    """Revoke the permission that the form names."""
    return user.revoke(read_permission(submission))


def _group(submission: MemberSubmission) -> Group:
    group = Group.objects.find(submission.fields[GROUP.name].strip())
    if group is None:
        raise ValidationError({GROUP.name: ["There is no group of this name."]})
    return group


def join(user: User, submission: MemberSubmission) -> bool:
    """Put the user into the group that the form names."""
    return user.join(_group(submission))


def leave(user: User, submission: MemberSubmission) -> bool:
    """Remove the user from the group that the form names."""
    return user.leave(_group(submission))


def delete(user: User, submission: MemberSubmission) -> None:
    """Delete the user."""
    user.delete_instance()
