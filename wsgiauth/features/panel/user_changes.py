"""What the actions on a user do, and the fields of their forms; `user_actions` has the table."""

from collections.abc import Callable
from http import HTTPStatus

from wsgiauth.accounts import names, update_user
from wsgiauth.accounts.groups import Group
from wsgiauth.accounts.models import User, verified_by_operator
from wsgiauth.authentication.session_list import revoke_by_handle
from wsgiauth.exceptions import RequestError, ValidationError
from wsgiauth.features.keys import api_keys as keys
from wsgiauth.features.links.letters import send_reset
from wsgiauth.features.panel.actions import Field
from wsgiauth.features.panel.groups import require_group
from wsgiauth.features.providers import origins as provider_origins
from wsgiauth.forms import MemberSubmission
from wsgiauth.forms.endpoint import require_part
from wsgiauth.messages import _

GROUP = Field("group", _("Group"))
LOGIN = Field("login", _("Session"))
KEY = Field("key", _("API key"))
IDENTITY = Field("identity", _("Account"))
EMAIL = Field("email", _("Email address"))

_LAST_WAY_IN = _(
    "This is the only way to log in to the account. Send a link to choose a password first, or"
    " deactivate the account."
)


def set_flag(flag: str, value: bool) -> Callable[[User, MemberSubmission], object]:
    """Return a change that sets a flag of the user."""

    def change(user: User, submission: MemberSubmission) -> bool:
        setattr(user, flag, value)
        return bool(user.save())

    return change


def verify_email(user: User, submission: MemberSubmission) -> bool:
    """Store that the member of the staff knows the address to be the user's own.

    They enter it: a page that was opened earlier can show another one than the user has now.
    """
    if names.key(names.typed(submission.fields[EMAIL.name])) != user.email_key:
        raise ValidationError({EMAIL.name: [_("This is not the address of the user.")]})
    return update_user(user, **verified_by_operator(user))


def end_login(user: User, submission: MemberSubmission) -> None:
    """Revoke the session that a form names."""
    handle = submission.fields[LOGIN.name]
    if not handle:
        raise ValidationError({LOGIN.name: [_("Choose a session.")]})
    if revoke_by_handle(user, handle, submission.site.tokens.now()) is None:
        raise RequestError(
            HTTPStatus.NOT_FOUND, "no_such_login", _("This session has already ended.")
        )


def end_key(user: User, submission: MemberSubmission) -> None:
    """Revoke the API key that a form names."""
    key_id = submission.fields[KEY.name].strip()
    if not key_id:
        raise ValidationError({KEY.name: [_("Choose an API key.")]})
    if not keys.revoke(user, key_id):
        raise RequestError(
            HTTPStatus.NOT_FOUND,
            "no_such_key",
            _("This API key has already been revoked or has expired."),
        )


def disconnect(user: User, submission: MemberSubmission) -> None:
    """Disconnect the account of a provider that a form names."""
    handle = submission.fields[IDENTITY.name].strip()
    try:
        provider_origins.disconnect(user, handle, submission.site.ways_in)
    except ValidationError:  # which names the field of another form
        gone = _("This account is not connected any more.")
        message = gone if handle else _("Choose an account.")
        raise ValidationError({IDENTITY.name: [message]}) from None
    except RequestError as error:
        raise RequestError(error.status, error.code, _LAST_WAY_IN) from None


def count_link(user: User, submission: MemberSubmission) -> None:
    """Count a link to choose a new password, which the user gets."""
    if user.is_active:  # others are refused, and get none
        submission.site.mail_limits.count_by_staff(user)


def send_link(user: User, submission: MemberSubmission) -> None:
    """Send the user a link to choose a new password."""
    if not user.is_active:
        raise RequestError(
            HTTPStatus.CONFLICT, "inactive", _("The account is inactive. Activate it first.")
        )
    site = submission.site
    send_reset(require_part(site.outbox), user, mount=site.pages.mount)


def named_group(submission: MemberSubmission) -> Group:
    """Return the group that a form names, or raise ValidationError."""
    return require_group(submission.fields[GROUP.name], GROUP.name)
