"""The actions on a user: a table, and the functions that do them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus

from wsgiauth.accounts import names, update_user
from wsgiauth.accounts.groups import Group
from wsgiauth.accounts.models import User, is_proven_here, verified_by_operator
from wsgiauth.authentication import sessions
from wsgiauth.authentication.session_list import revoke_by_handle
from wsgiauth.exceptions import RequestError, ValidationError
from wsgiauth.features.factors import factors
from wsgiauth.features.keys import api_keys
from wsgiauth.features.links.letters import send_reset
from wsgiauth.features.links.mail_limits import MailLimits
from wsgiauth.features.providers import provider_logins
from wsgiauth.forms import MemberSubmission
from wsgiauth.forms.endpoint import require_part
from wsgiauth.messages import _, pgettext
from wsgiauth.settings import Settings
from wsgiauth.staff.actions import (
    ACCESS,
    DANGER,
    DELETE,
    NOTHING_CHANGED,
    PERMISSION,
    RIGHTS,
    UNCHANGED,
    Action,
    ActionField,
    read_new_permission,
    read_permission,
)
from wsgiauth.staff.administration import Party, Right, refusal_reason
from wsgiauth.staff.groups import require_group

GROUP = ActionField("group", _("Group"))
LOGIN = ActionField("login", _("Session"))
KEY = ActionField("key", _("API key"))
IDENTITY = ActionField("identity", _("Account"))
EMAIL = ActionField("email", _("Email address"))
NEW_EMAIL = EMAIL._replace(label=_("New email address"))

# By whether users log in with a password.
_LAST_WAY_IN = {
    True: _(
        "This is the only way to log in to the account. Send a link to choose a password first, or"
        " deactivate the account."
    ),
    False: _("This is the only way to log in to the account. Deactivate the account instead."),
}


def _set_flag(flag: str, value: bool) -> Callable[[User, MemberSubmission], object]:
    def change(user: User, submission: MemberSubmission) -> bool:
        setattr(user, flag, value)
        return bool(user.save())

    return change


def _verify_email(user: User, submission: MemberSubmission) -> bool:
    # Members of the staff enter the address: their page can be older than the user's address.
    if names.key(names.typed(submission.fields[EMAIL.name])) != user.email_key:
        raise ValidationError({EMAIL.name: [_("This is not the address of the user.")]})
    return update_user(user, **verified_by_operator(user))


def _change_email(user: User, submission: MemberSubmission) -> bool:
    email = submission.fields[EMAIL.name]
    problem = names.email_problem(email)
    if problem is not None:
        raise ValidationError({EMAIL.name: [problem]})
    return update_user(user, email=email)


def _end_login(user: User, submission: MemberSubmission) -> None:
    handle = submission.fields[LOGIN.name]
    if not handle:
        raise ValidationError({LOGIN.name: [_("Choose a session.")]})
    if revoke_by_handle(user, handle, submission.site.tokens.now()) is None:
        raise RequestError(
            HTTPStatus.NOT_FOUND, "no_such_login", _("This session has already ended.")
        )


def _end_key(user: User, submission: MemberSubmission) -> None:
    key_id = submission.fields[KEY.name].strip()
    if not key_id:
        raise ValidationError({KEY.name: [_("Choose an API key.")]})
    if not api_keys.revoke(user, key_id):
        raise RequestError(
            HTTPStatus.NOT_FOUND,
            "no_such_key",
            _("This API key has already been revoked or has expired."),
        )


def _disconnect(user: User, submission: MemberSubmission) -> None:
    handle = submission.fields[IDENTITY.name].strip()
    try:
        provider_logins.disconnect(user, handle, submission.site.ways_in)
    except ValidationError:  # which names the field of another form
        gone = _("This account is no longer connected.")
        message = gone if handle else _("Choose an account.")
        raise ValidationError({IDENTITY.name: [message]}) from None
    except RequestError as error:
        detail = _LAST_WAY_IN[submission.site.settings.PASSWORD_LOGIN]
        raise RequestError(error.status, error.code, detail) from None


def _remove_factors(user: User, submission: MemberSubmission) -> None:
    site = submission.site
    had_way_in = site.ways_in.has_one(user)
    factors.remove_all(user)
    if had_way_in and not site.ways_in.has_one(user):  # a passkey without a password
        detail = _LAST_WAY_IN[site.settings.PASSWORD_LOGIN]
        raise RequestError(HTTPStatus.CONFLICT, "last_way_in", detail)


def _count_link(user: User, submission: MemberSubmission) -> None:
    if user.is_active:  # others are refused, and get none
        submission.site.require(MailLimits).count_by_staff(user)


def _send_link(user: User, submission: MemberSubmission) -> None:
    if not user.is_active:
        raise RequestError(
            HTTPStatus.CONFLICT, "inactive", _("The account is inactive. Activate it first.")
        )
    site = submission.site
    send_reset(require_part(site.outbox), user, mount=site.pages.mount)


def _named_group(submission: MemberSubmission) -> Group:
    return require_group(submission.fields[GROUP.name], GROUP.name)


@dataclass(frozen=True, kw_only=True)
class UserAction(Action):
    """An action on a user."""

    right: Right
    # Runs in a transaction, with the user as stored; returns False if nothing changed.
    change: Callable[[User, MemberSubmission], object]
    # Counts a limited action before the transaction, and raises an exception at the limit.
    count: Callable[[User, MemberSubmission], None] = lambda user, submission: None
    asks_first: bool = False  # has a page that asks first
    is_removal: bool = False  # can take away a superuser
    exists: Callable[[Settings], bool] = lambda settings: True  # on a site with these settings
    applies: Callable[[User], bool] = lambda user: True  # would change this user

    def is_offered(self, actor: Party, target: Party, settings: Settings) -> bool:
        """Return whether the page of `target` offers it to `actor`."""
        is_permitted = refusal_reason(self.right, actor, target) is None
        return is_permitted and self.exists(settings) and self.applies(target.user)


_ACTIONS = (
    UserAction(
        name="activate",
        section=ACCESS,
        button=_("Activate"),
        question=_("The user can log in again."),
        done=_("The account is active again."),
        right=Right.MANAGE,
        change=_set_flag("is_active", True),
        applies=lambda user: not user.is_active,
    ),
    UserAction(
        name="deactivate",
        section=ACCESS,
        button=_("Deactivate"),
        question=_(
            "The user can no longer log in, and all of their sessions are revoked at once."
            " Nothing is deleted; you can activate the account again."
        ),
        done=_("The account is inactive: the user cannot log in, and all sessions are revoked."),
        right=Right.MANAGE,
        change=_set_flag("is_active", False),
        asks_first=True,
        is_removal=True,
        applies=lambda user: user.is_active,
    ),
    UserAction(
        name="end-logins",
        section=ACCESS,
        button=_("Revoke all sessions"),
        question=_(
            "The user is logged out everywhere, and can log in again. If this is your own"
            " account, you stay logged in here."
        ),
        done=_("All sessions have been revoked."),
        right=Right.SUPPORT,
        change=lambda user, submission: sessions.revoke_all(
            user, except_id=submission.member.session_id
        ),
        asks_first=True,
        applies=lambda user: user.is_active,
    ),
    UserAction(
        name="end-login",
        button=_("Revoke this session"),
        question=_("The user is logged out of this session."),
        done=_("The session has been revoked."),
        right=Right.SUPPORT,
        change=_end_login,
        field=LOGIN,
    ),
    UserAction(
        name="end-key",
        button=_("Revoke this key"),
        question=_(
            "Programs can no longer use this API key. This cannot be undone; the user can"
            " create another key."
        ),
        done=_("The API key has been revoked."),
        right=Right.SUPPORT,
        change=_end_key,
        field=KEY,
        asks_first=True,
    ),
    UserAction(
        name="disconnect",
        button=_("Disconnect"),
        question=_(
            "The user can no longer log in with this account of the other provider, and the"
            " sessions that began or were confirmed with it are revoked. They can connect it again."
        ),
        done=_("The account of the other provider has been disconnected."),
        right=Right.MANAGE,
        change=_disconnect,
        field=IDENTITY,
        asks_first=True,
        exists=lambda settings: bool(settings.OIDC_PROVIDERS),
    ),
    UserAction(
        name="remove-factors",
        button=_("Remove apps and passkeys"),
        question=_(
            "The authenticator apps, passkeys and recovery codes of the user are removed, and"
            " all of their sessions are revoked. Logins then ask for no second step. Make sure that"
            " the user asked for this."
        ),
        done=_("The apps and passkeys have been removed, and all sessions have been revoked."),
        right=Right.MANAGE,
        change=_remove_factors,
        asks_first=True,
        exists=factors.are_offered,
    ),
    UserAction(
        name="reset-link",
        section=ACCESS,
        button=_("Send a password reset link"),
        question=_("The user gets an email with a link to choose a new password."),
        done=_("An email with a link to choose a new password is on its way to the user."),
        right=Right.SUPPORT,
        change=_send_link,
        count=_count_link,
        exists=lambda settings: settings.MAIL_URL is not None and settings.PASSWORD_LOGIN,
        applies=lambda user: user.is_active,
    ),
    UserAction(
        name="change-email",
        section=ACCESS,
        button=_("Change the email address"),
        question=_(
            "Links in emails then go to the new address, which counts as not verified until the"
            " user proves it. Links that were sent to the present address no longer work. With"
            " email, both addresses get a notice. Make sure that the user asked for this."
        ),
        done=_("The email address has been changed."),
        right=Right.GOVERN,  # whoever reads the new address can choose a password
        change=_change_email,
        field=NEW_EMAIL,
        asks_first=True,
    ),
    UserAction(
        name="verify-email",
        section=ACCESS,
        button=_("Mark the email address as verified"),
        question=_(
            "The address then counts as if the user had opened a link in an email, and such a link"
            " no longer removes two-step verification. Make sure that the user reads the emails to"
            " this address, and has set up the account. Enter the address that you know."
        ),
        done=_("Email address verified."),
        right=Right.GOVERN,  # applications can give rights by the domain of a verified address
        change=_verify_email,
        field=EMAIL,
        asks_first=True,
        applies=lambda user: not is_proven_here(user),
    ),
    UserAction(
        name="grant",
        section=RIGHTS,
        button=pgettext("permission", "Grant"),
        question=_("The user gets this permission."),
        done=_("The permission has been granted."),
        right=Right.GOVERN,
        change=lambda user, submission: user.grant(read_new_permission(submission)),
        field=PERMISSION,
    ),
    UserAction(
        name="revoke",
        button=pgettext("permission", "Revoke"),
        question=_("The user loses this permission, unless a group also grants it."),
        done=_("The permission has been revoked."),
        right=Right.GOVERN,
        change=lambda user, submission: user.revoke(read_permission(submission)),
        field=PERMISSION,
    ),
    UserAction(
        name="join",
        section=RIGHTS,
        button=_("Add to the group"),
        question=_("The user gets the permissions of this group."),
        done=_("The user has been added to the group."),
        right=Right.GOVERN,
        change=lambda user, submission: user.join(_named_group(submission)),
        field=GROUP,
    ),
    UserAction(
        name="leave",
        button=pgettext("group", "Remove"),
        question=_("The user loses the permissions of this group."),
        done=_("The user has been removed from the group."),
        right=Right.GOVERN,
        change=lambda user, submission: user.leave(_named_group(submission)),
        field=GROUP,
    ),
    UserAction(
        name="make-staff",
        section=RIGHTS,
        button=_("Add to the staff"),
        question=_("The user can open this panel, and see all users."),
        done=_("The user is now a member of the staff."),
        right=Right.GOVERN,
        change=_set_flag("is_staff", True),
        asks_first=True,
        applies=lambda user: not user.is_staff,
    ),
    UserAction(
        name="unmake-staff",
        section=RIGHTS,
        button=_("Remove from the staff"),
        question=_("The user can no longer open this panel."),
        done=_("The user is no longer a member of the staff."),
        right=Right.GOVERN,
        change=_set_flag("is_staff", False),
        asks_first=True,
        applies=lambda user: user.is_staff,
    ),
    UserAction(
        name="make-superuser",
        section=RIGHTS,
        button=_("Make superuser"),
        question=_(
            "The user gets every permission. A superuser in the staff can change every"
            " account, including yours."
        ),
        done=_("The user is now a superuser."),
        right=Right.GOVERN,
        change=_set_flag("is_superuser", True),
        asks_first=True,
        applies=lambda user: not user.is_superuser,
    ),
    UserAction(
        name="unmake-superuser",
        section=RIGHTS,
        button=_("Remove superuser status"),
        question=_("The user keeps only the permissions that have been granted."),
        done=_("The user is no longer a superuser."),
        right=Right.GOVERN,
        change=_set_flag("is_superuser", False),
        asks_first=True,
        is_removal=True,
        applies=lambda user: user.is_superuser,
    ),
    UserAction(
        name=DELETE,
        section=DANGER,
        button=_("Delete the account"),
        question=_(
            "The account is deleted with all of its sessions and permissions. This cannot be"
            " undone. Others can then register with the same names."
        ),
        done=_("The account has been deleted."),
        right=Right.GOVERN,
        change=lambda user, submission: user.delete_instance(),
        asks_first=True,
        is_removal=True,
    ),
)

ACTIONS: Mapping[str, UserAction] = {each.name: each for each in _ACTIONS}
NOTICES: Mapping[str, str] = {UNCHANGED: NOTHING_CHANGED} | {
    each.name: each.done for each in _ACTIONS
}
