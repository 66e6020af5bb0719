"""GET, POST /auth/admin/groups/{id}/{action}: asks, and changes a group."""

from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import NamedTuple
from wsgiref.types import WSGIEnvironment

from wsgiauth.accounts.administration import administer_groups
from wsgiauth.accounts.groups import Group
from wsgiauth.accounts.models import User
from wsgiauth.admin import (
    GROUPS,
    PanelForm,
    frame_of,
    panel_url,
)
from wsgiauth.admin.actions import DANGER, RIGHTS, UNCHANGED
from wsgiauth.admin.changes import PERMISSION, Field, read_permission
from wsgiauth.admin.groups import require_governor
from wsgiauth.admin.user_actions import ActionPage
from wsgiauth.exceptions import NotFoundError
from wsgiauth.forms import MemberSubmission, Refusal
from wsgiauth.site import Site
from wsgiauth.web.pages import Page
from wsgiauth.web.responses import Response, json_response, redirect
from wsgiauth.web.urls import ID, routing_argument, routing_number

_ACTION = "action"  # in the path


class GroupAction(NamedTuple):
    """Something that a superuser can do with a group; see `actions.Action`."""

    name: str
    section: str
    button: str
    question: str
    done: str
    change: Callable[[Group, MemberSubmission], object]
    field: Field | None = None


_ACTIONS = (
    GroupAction(
        name="grant",
        section=RIGHTS,
        button="Grant",
        question="All members of the group get this permission.",
        done="The permission has been granted to the group.",
        change=lambda group, submission: group.grant(read_permission(submission)),
        field=PERMISSION,
    ),
    GroupAction(
        name="revoke",
        section=RIGHTS,
        button="Revoke",
        question="The members lose this permission, unless it is also granted to them elsewhere.",
        done="The permission has been revoked from the group.",
        change=lambda group, submission: group.revoke(read_permission(submission)),
        field=PERMISSION,
    ),
    GroupAction(
        name="delete",
        section=DANGER,
        button="Delete the group",
        question="The members lose the permissions of the group. No user is deleted. This cannot"
        " be undone.",
        done="The group has been deleted.",
        change=lambda group, submission: group.delete_instance(),
    ),
)
GROUP_ACTIONS: Mapping[str, GroupAction] = {each.name: each for each in _ACTIONS}


class ChangeGroup(PanelForm):
    """Does an action with a group, or says that it changed nothing."""

    fields = ("permission",)

    def act(self, submission: MemberSubmission) -> Response:
        """Do the action, if the member of the staff still has the right to."""
        environ, action = submission.environ, _action(submission.environ)

        def change() -> object:
            return action.change(require_group(environ), submission)

        result = administer_groups(submission.member.user, change)
        is_deleted = action.name == "delete"
        if not submission.wants_json:
            done = UNCHANGED if result is False else action.name
            page = f"{panel_url(environ)}/{GROUPS}" if is_deleted else _group_url(environ)
            return redirect(HTTPStatus.SEE_OTHER, f"{page}?done={done}")
        if is_deleted:
            return json_response({"detail": action.done})
        return json_response(group_document(require_group(environ)))

    def page(self, submission: MemberSubmission, refusal: Refusal) -> Page:
        """Return the page that asks."""
        environ = submission.environ
        action = _action(environ)
        return ActionPage(
            frame=frame_of(environ, submission.member.user, GROUPS),
            action=action,
            is_of_group=True,
            subject=require_group(environ).name,
            action_url=f"{_group_url(environ)}/{action.name}",
            back_url=_group_url(environ),
            value=submission.fields["permission"],
            message=refusal.message,
            errors=refusal.errors.get("permission", []),
        )

    def check_right(self, environ: WSGIEnvironment, site: Site, member: User) -> None:
        """Refuse a member of the staff who is not a superuser."""
        require_governor(member)
        _action(environ)
        require_group(environ)


def require_group(environ: WSGIEnvironment) -> Group:
    """Return the group whose number is in the path of a request.

    Raises:
        NotFoundError: There is no such group.
    """
    group: Group | None = Group.get_or_none(Group.id == routing_number(environ))
    if group is None:
        raise NotFoundError
    return group


def group_document(group: Group) -> dict[str, object]:
    """Return a group, ready for JSON."""
    return {"id": group.id, "name": group.name, "permissions": sorted(group.permissions)}


def _action(environ: WSGIEnvironment) -> GroupAction:
    action = GROUP_ACTIONS.get(routing_argument(environ, _ACTION))
    if action is None:
        raise NotFoundError
    return action


def _group_url(environ: WSGIEnvironment) -> str:
    return f"{panel_url(environ)}/{GROUPS}/{routing_argument(environ, ID)}"
