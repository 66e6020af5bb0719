"""GET, POST /auth/admin/users/{id}/{action}: asks, and does one of `actions.ACTIONS`."""

from http import HTTPStatus
from typing import Any
from wsgiref.types import WSGIEnvironment

from wsgiauth.accounts.administration import (
    TO_CHANGE_AN_ACCOUNT,
    Party,
    administer,
    refusal_reason,
    refused,
)
from wsgiauth.accounts.models import User
from wsgiauth.admin import (
    USERS,
    Frame,
    PanelForm,
    PanelPage,
    frame_of,
    panel_url,
    require_target,
)
from wsgiauth.admin.account import Account
from wsgiauth.admin.actions import ACTIONS, UNCHANGED, Action
from wsgiauth.exceptions import (
    LastSuperuserError,
    NotFoundError,
    RequestError,
)
from wsgiauth.forms import MemberSubmission, Refusal
from wsgiauth.site import Site
from wsgiauth.web.pages import Page
from wsgiauth.web.request import query_field
from wsgiauth.web.responses import Response, json_response, redirect
from wsgiauth.web.urls import ID, routing_argument

_ACTION = "action"  # in the path


class ActionPage(PanelPage):
    """Asks before an action, or says why it was refused.

    Attributes:
        frame: See `PanelPage`.
        action: The action.
        is_of_group: Whether it concerns a group instead of a user.
        subject: The name of the user or of the group.
        action_url: Where the form is sent.
        back_url: The page of the user or of the group.
        value: What was entered or chosen.
        named: What the value names, in words; then it is not entered here.
        message: Why the form was refused.
        errors: Messages about the field of the action.
    """

    template = "admin/action.html"

    frame: Frame
    action: Action | Any
    is_of_group: bool = False
    subject: str
    action_url: str
    back_url: str
    value: str = ""
    named: str = ""
    message: str = ""
    errors: list[str] = []


class UserActions(PanelForm):
    """Does an action with a user, or says that it changed nothing."""

    fields = ("permission", "group", "login", "key")

    def act(self, submission: MemberSubmission) -> Response:
        """Do the action, if the member of the staff still has the right to."""
        environ, site = submission.environ, submission.site
        action, target = _action(environ), require_target(environ)
        action.count(target, submission)
        try:
            result = administer(
                submission.member.user,
                target,
                action.right,
                lambda user: action.change(user, submission),
                is_removal=action.is_removal,
            )
        except User.DoesNotExist:
            raise NotFoundError from None
        except LastSuperuserError:
            detail = "This is the last active superuser. Make another user a superuser first."
            raise RequestError(HTTPStatus.CONFLICT, "last_superuser", detail) from None
        is_deleted = action.name == "delete"
        if not submission.wants_json:
            done = UNCHANGED if result is False else action.name
            page = f"{panel_url(environ)}/{USERS}" if is_deleted else _user_url(environ)
            return redirect(HTTPStatus.SEE_OTHER, f"{page}?done={done}")
        if is_deleted:
            return json_response({"detail": action.done})
        account = Account.read(site, require_target(environ), submission.member)
        return json_response(account.document())

    def page(self, submission: MemberSubmission, refusal: Refusal) -> Page:
        """Return the page that asks."""
        environ = submission.environ
        action, target = _action(environ), require_target(environ)
        name, value, named = "", "", ""
        if action.field is not None:
            name = action.field.name
            value = submission.fields[name] or query_field(environ, name)
            named = action.field.in_words(target, value, submission.site.tokens.now())
        return ActionPage(
            frame=frame_of(environ, submission.member.user, USERS),
            action=action,
            subject=target.username,
            action_url=f"{_user_url(environ)}/{action.name}",
            back_url=_user_url(environ),
            value=value,
            named=named,
            message=refusal.message,
            errors=refusal.errors.get(name, []),
        )

    def check_right(self, environ: WSGIEnvironment, site: Site, member: User) -> None:
        """Refuse a member of the staff without the right to the action."""
        action, target = _action(environ), require_target(environ)
        if not action.exists(site.settings):
            raise NotFoundError
        reason = refusal_reason(
            action.right, Party(member, member.permissions), Party(target, target.permissions)
        )
        if reason is not None:
            raise refused(member, TO_CHANGE_AN_ACCOUNT, reason)


def _action(environ: WSGIEnvironment) -> Action:
    action = ACTIONS.get(routing_argument(environ, _ACTION))
    if action is None:
        raise NotFoundError
    return action


def _user_url(environ: WSGIEnvironment) -> str:
    return f"{panel_url(environ)}/{USERS}/{routing_argument(environ, ID)}"
