"""GET, POST /auth/admin/groups: the groups, and a new one.

GET /auth/admin/groups/{id}: one group. GET, POST …/{action}: asks, and changes the group.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import NamedTuple
from urllib.parse import urlencode
from wsgiref.types import WSGIEnvironment

from wsgiauth.accounts import find_user, names
from wsgiauth.accounts.groups import Group
from wsgiauth.accounts.known_permissions import offered_permissions
from wsgiauth.accounts.listing import group_sizes
from wsgiauth.accounts.models import User
from wsgiauth.accounts.names import GROUP_MAX_LENGTH
from wsgiauth.exceptions import NotFoundError, ValidationError
from wsgiauth.features.panel.user_search import Criteria, FoundUser, find_users
from wsgiauth.forms import FormPage, MemberSubmission, Refusal, see_other
from wsgiauth.forms.done import notice_of
from wsgiauth.forms.endpoint import BackLink
from wsgiauth.forms.fields import Flag, Text
from wsgiauth.messages import _, pgettext
from wsgiauth.openapi.answers import Answer, Problem
from wsgiauth.openapi.problems import INVALID, INVALID_QUERY
from wsgiauth.site import Site
from wsgiauth.staff.actions import (
    DANGER,
    DELETE,
    NOTHING_CHANGED,
    ONLY_KNOWN,
    PERMISSION,
    RIGHTS,
    UNCHANGED,
    Action,
    ActionField,
    ActionForm,
    read_new_permission,
    read_permission,
    require_action,
)
from wsgiauth.staff.administration import (
    ONLY_SUPERUSERS,
    TO_CHANGE_A_GROUP,
    Right,
    administer,
    administer_groups,
    can_govern,
)
from wsgiauth.staff.frame import (
    GROUPS,
    USERS,
    PanelEndpoint,
    PanelForm,
    PanelPage,
    find_row,
    frame_of,
    panel_url,
    require_row,
    require_staff,
)
from wsgiauth.staff.groups import PAGE, list_groups
from wsgiauth.web.pages import UrlBelow
from wsgiauth.web.request import prefers_html, query_fields
from wsgiauth.web.responses import Response, json_response
from wsgiauth.web.urls import is_number

AFTER = "after"

TO_GROUPS = BackLink("admin/groups", _("Back to the groups"))


class SizedGroup(NamedTuple):
    """A group with its numbers; see `listing.GroupSize`."""

    id: int
    name: str
    member_count: int
    permission_count: int


class GroupsPage(PanelPage, FormPage):
    """A page of the list of groups, with the form for a new one."""

    template = "admin/groups.html"
    groups_url = UrlBelow("admin/groups")  # where the form is sent, and below which each group is
    groups: tuple[SizedGroup, ...]
    next_url: str  # the next page; empty if there is none
    is_first: bool
    can_change: bool  # the member of the staff can create a group
    name: str = ""  # as entered


_TAKEN = Problem("TakenGroup", 409, {"taken": "Another group has the name."}, has_errors=True)


class Groups(PanelForm):
    """Lists the groups, and creates one."""

    back = TO_GROUPS
    step = _("The groups")
    fields = (
        Text(
            "name",
            "Unique without regard to letter case.",
            required=True,
            maxLength=GROUP_MAX_LENGTH,
            examples=["Editors"],
        ),
    )
    refusals = (INVALID, _TAKEN)
    is_list = True
    right = TO_CHANGE_A_GROUP

    def problems(self, method: str) -> tuple[Problem | Answer, ...]:
        """Return those of the form and of the list, whose query can be wrong."""
        invalid = (INVALID_QUERY,) if method == "get" else ()
        return (*super().problems(method), *invalid)

    def get(self, environ: WSGIEnvironment, site: Site) -> Response:
        """Answer with the list as a page, or as JSON; it needs no recent proof."""
        member = require_staff(environ, site)
        fields = {"name": ""}
        submission = MemberSubmission(environ=environ, site=site, member=member, fields=fields)
        page = self.page(submission, Refusal())
        if prefers_html(environ):
            return site.pages.render(environ, page)
        groups = [each._asdict() for each in page.groups]
        return json_response({"groups": groups, "next": page.next_url or None})

    def act(self, submission: MemberSubmission) -> Response:
        """Create the group."""
        name = submission.fields["name"].strip()
        actor = submission.member.user
        group = administer_groups(actor, lambda: Group.objects.create(name=name))
        if not submission.wants_json:
            return see_other(submission, f"admin/{GROUPS}/{group.id}?done=create")
        created = {"id": group.id, "name": group.name}
        headers = (("Location", f"{panel_url(submission.environ)}/{GROUPS}/{group.id}"),)
        return json_response(created, status=HTTPStatus.CREATED, headers=headers)

    def page(self, submission: MemberSubmission, refusal: Refusal) -> GroupsPage:
        """Return the list with the form."""
        environ, user = submission.environ, submission.member.user
        after = query_fields(environ, (AFTER,))[AFTER]
        listed = list_groups(after if after.isprintable() else "", PAGE + 1)
        shown, next_url = listed[:PAGE], ""
        if len(listed) > PAGE:
            query = urlencode({AFTER: names.key(shown[-1].name)})
            next_url = f"{panel_url(environ)}/{GROUPS}?{query}"
        sizes = group_sizes([each.id for each in shown])
        return GroupsPage(
            frame=frame_of(environ, user, GROUPS),
            groups=tuple(SizedGroup(*each, *size) for each, size in zip(shown, sizes, strict=True)),
            next_url=next_url,
            is_first=not after,
            can_change=can_govern(user),
            name=submission.fields["name"],
            errors=refusal.errors,
            message=refusal.message,
            notice=notice_of(environ, {DELETE: _("The group has been deleted.")}),
        )

    def refusal(self, environ: WSGIEnvironment, site: Site, member: User) -> str | None:
        """Refuse a member of the staff who is not a superuser."""
        return None if can_govern(member) else ONLY_SUPERUSERS


USER = ActionField("user")


@dataclass(frozen=True, kw_only=True)
class GroupAction(Action):
    """An action on a group."""

    change: Callable[[MemberSubmission], object]  # checks the right; False if nothing changed


def _of_group(
    change: Callable[[Group, MemberSubmission], object],
) -> Callable[[MemberSubmission], object]:
    """Return a change of the group itself, in a transaction."""

    def administered(submission: MemberSubmission) -> object:
        return administer_groups(
            submission.member.user,
            lambda: change(require_row(submission.environ, Group), submission),
        )

    return administered


def _of_member(change: Callable[[User, Group], bool]) -> Callable[[MemberSubmission], object]:
    """Return a change of the user that a form names, with the right to change that user."""

    def administered(submission: MemberSubmission) -> object:
        user = _find_member(names.typed(submission.fields[USER.name]))
        try:
            if user is None:
                raise User.DoesNotExist
            return administer(
                submission.member.user,
                user,
                Right.GOVERN,
                lambda present: change(present, require_row(submission.environ, Group)),
            )
        except User.DoesNotExist:  # perhaps since the user was found
            message = _("No user matches. Check the spelling.")
            raise ValidationError({USER.name: [message]}) from None

    return administered


def _find_member(text: str) -> User | None:
    """Return the user with a name, or the one of `user 7`: the buttons send the id.

    A name can belong to another user by the time that a button is pressed. No name has a space.
    """
    number = text.removeprefix("user ")
    if number == text or not is_number(number):
        return find_user(text)
    return User.find_by_id(int(number))


_ACTIONS = (
    GroupAction(
        name="grant",
        section=RIGHTS,
        button=pgettext("permission", "Grant"),
        question=_("All members of the group get this permission."),
        done=_("The permission has been granted to the group."),
        change=_of_group(lambda group, submission: group.grant(read_new_permission(submission))),
        field=PERMISSION,
    ),
    GroupAction(
        name="revoke",
        section=RIGHTS,
        button=pgettext("permission", "Revoke"),
        question=_(
            "The members lose this permission, unless it is also granted to them elsewhere."
        ),
        done=_("The permission has been revoked from the group."),
        change=_of_group(lambda group, submission: group.revoke(read_permission(submission))),
        field=PERMISSION,
    ),
    GroupAction(
        name="add",
        button=_("Add a member"),
        question=_("The user gets the permissions of this group."),
        done=_("The user has been added to the group."),
        change=_of_member(lambda user, group: user.join(group)),
        field=USER,
    ),
    GroupAction(
        name="remove",
        button=_("Remove a member"),
        question=_("The user loses the permissions of this group."),
        done=_("The user has been removed from the group."),
        change=_of_member(lambda user, group: user.leave(group)),
        field=USER,
    ),
    GroupAction(
        name=DELETE,
        section=DANGER,
        button=_("Delete the group"),
        question=_(
            "The members lose the permissions of the group. No user is deleted. This cannot be"
            " undone."
        ),
        done=_("The group has been deleted."),
        change=_of_group(lambda group, submission: group.delete_instance()),
    ),
)
GROUP_ACTIONS: Mapping[str, GroupAction] = {each.name: each for each in _ACTIONS}

_NOTICES = {name: each.done for name, each in GROUP_ACTIONS.items()} | {
    UNCHANGED: NOTHING_CHANGED,
    "create": _("The group has been created. It has no permissions and no members yet."),
}


class GroupPage(PanelPage):
    """The page of a group."""

    template = "admin/group.html"
    users_url = UrlBelow("admin/users")
    name: str
    permissions: tuple[str, ...]
    offered: tuple[str, ...]  # permissions to choose from
    member_count: int  # see `listing.GroupSize`
    members: tuple[FoundUser, ...]  # the newest accounts
    members_url: str  # all members, in the list of users
    own_id: int  # the id of the member of the staff, who cannot change their own groups
    group_url: str  # the path of this page and, with their names, of the actions
    can_change: bool
    notice: str = ""  # what has just been done


class ShowGroup(PanelEndpoint):
    """Shows a group."""

    back = TO_GROUPS
    step = _("The page of a group")

    def get(self, environ: WSGIEnvironment, site: Site) -> Response:
        """Answer with the page, or with the group as JSON."""
        member = require_staff(environ, site).user
        group = require_row(environ, Group)
        if not prefers_html(environ):
            return json_response(_document(group))
        [size] = group_sizes([group.id])
        page = GroupPage(
            frame=frame_of(environ, member, GROUPS),
            name=group.name,
            permissions=tuple(sorted(group.permissions)),
            offered=offered_permissions(),
            member_count=size.members,
            members=tuple(find_users(Criteria(group_id=group.id)).users),
            members_url=f"{panel_url(environ)}/{USERS}?group={group.id}",
            own_id=member.id,
            group_url=f"{panel_url(environ)}/{GROUPS}/{group.id}",
            can_change=can_govern(member),
            notice=notice_of(environ, _NOTICES),
        )
        return site.pages.render(environ, page)


class ChangeGroup(ActionForm):
    """Does the actions of `GROUP_ACTIONS`."""

    section = GROUPS
    back = BackLink("admin/groups/{id}", _("Back to the group"))
    label = _("Group")
    actions = GROUP_ACTIONS
    fields = (
        Text("permission", "For `grant` and `revoke`.", examples=["reports.publish"]),
        Text(
            "user",
            "For `add` and `remove`: a username or an email address, in any letter case; or `user"
            " 7`, the id.",
        ),
        Flag(
            ONLY_KNOWN,
            "For `grant`: whether to refuse a permission that nothing in the application asks for.",
        ),
    )
    right = TO_CHANGE_A_GROUP

    def refusal(self, environ: WSGIEnvironment, site: Site, member: User) -> str | None:
        """Refuse a member of the staff who is not a superuser."""
        return None if can_govern(member) else ONLY_SUPERUSERS

    def find(self, arguments: Mapping[str, str]) -> Group | None:
        """Return the group."""
        return find_row(arguments, Group)

    def change(self, submission: MemberSubmission) -> object:
        """Do the action."""
        action = require_action(submission.environ, GROUP_ACTIONS)
        try:
            return action.change(submission)
        except Group.DoesNotExist:  # deleted meanwhile
            raise NotFoundError from None

    def document(self, submission: MemberSubmission) -> dict[str, object]:
        """Return the group as it is now."""
        return _document(require_row(submission.environ, Group))


def _document(group: Group) -> dict[str, object]:
    [size] = group_sizes([group.id])
    return {
        "id": group.id,
        "name": group.name,
        "permissions": sorted(group.permissions),
        "member_count": size.members,
    }
