"""GET /auth/admin/groups/{id}: one group. GET, POST …/{action}: asks, and changes the group."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from wsgiref.types import WSGIEnvironment

from wsgiauth.accounts import find_user
from wsgiauth.accounts.groups import Group
from wsgiauth.accounts.known_permissions import offered_permissions
from wsgiauth.accounts.listing import group_sizes
from wsgiauth.accounts.models import User
from wsgiauth.accounts.names import typed
from wsgiauth.exceptions import NotFoundError, ValidationError
from wsgiauth.features.panel.actions import (
    DANGER,
    DELETE,
    NOTHING_CHANGED,
    ONLY_KNOWN,
    PERMISSION,
    RIGHTS,
    UNCHANGED,
    Action,
    ActionForm,
    Field,
    read_new_permission,
    read_permission,
    require_action,
)
from wsgiauth.features.panel.administration import Right, administer, administer_groups, can_govern
from wsgiauth.features.panel.frame import (
    GROUPS,
    USERS,
    PanelEndpoint,
    PanelPage,
    frame_of,
    panel_url,
    require_row,
    require_staff,
)
from wsgiauth.features.panel.groups import TO_GROUPS, require_governor
from wsgiauth.features.panel.user_search import Criteria, FoundUser, find_users
from wsgiauth.forms import MemberSubmission
from wsgiauth.forms.done import notice_of
from wsgiauth.forms.endpoint import BackLink
from wsgiauth.messages import _, pgettext
from wsgiauth.site import Site
from wsgiauth.web.pages import UrlBelow
from wsgiauth.web.request import prefers_html
from wsgiauth.web.responses import Response, json_response
from wsgiauth.web.urls import ID

USER = Field("user", _("Username or email address"))


@dataclass(frozen=True, kw_only=True)
class GroupAction(Action):
    """Something that a superuser can do with a group.

    Attributes:
        change: Does it, if the member of the staff still has the right to; returns False if nothing
            changed.
    """

    change: Callable[[MemberSubmission], object]


def _of_group(
    change: Callable[[Group, MemberSubmission], object],
) -> Callable[[MemberSubmission], object]:
    """Return a change of the group itself, which is made in a transaction."""

    def administered(submission: MemberSubmission) -> object:
        return administer_groups(
            submission.member.user,
            lambda: change(require_row(submission.environ, Group), submission),
        )

    return administered


def _of_member(change: Callable[[User, Group], bool]) -> Callable[[MemberSubmission], object]:
    """Return a change of the user that a form names, with the right that their own page needs."""

    def administered(submission: MemberSubmission) -> object:
        user = find_user(typed(submission.fields[USER.name]))
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
            message = _("There is no user with this username or email address.")
            raise ValidationError({USER.name: [message]}) from None

    return administered


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

_NOTICES = {name: each.done for name, each in GROUP_ACTIONS.items()}
_NOTICES |= {UNCHANGED: NOTHING_CHANGED}
_NOTICES |= {"create": _("The group has been created. It has no permissions and no members yet.")}


class GroupPage(PanelPage):
    """The page of a group."""

    template = "admin/group.html"
    users_url = UrlBelow("admin/users")
    name: str
    permissions: tuple[str, ...]
    offered: tuple[str, ...]  # permissions to choose from
    member_count: int  # see `listing.GroupSize`
    members: tuple[FoundUser, ...]  # those with the newest accounts
    members_url: str  # all members, in the list of users
    own_id: int  # the number of the member of the staff, who cannot change their own groups
    group_url: str  # the path of this page, below which the actions are
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
    """Does what `GROUP_ACTIONS` lists."""

    section = GROUPS
    back = BackLink("admin/groups/{id}", _("Back to the group"))
    actions = GROUP_ACTIONS
    fields = ("permission", "user")
    flags = (ONLY_KNOWN,)

    def check_right(self, environ: WSGIEnvironment, site: Site, member: User) -> None:
        """Refuse a member of the staff who is not a superuser."""
        require_governor(member)

    def change(self, submission: MemberSubmission) -> object:
        """Do the action, if the member of the staff still has the right to."""
        action = require_action(submission.environ, GROUP_ACTIONS)
        try:
            return action.change(submission)
        except Group.DoesNotExist:  # it was deleted meanwhile
            raise NotFoundError from None

    def subject(self, environ: WSGIEnvironment) -> str:
        """Return the name of the group."""
        return require_row(environ, Group).name

    def name_in(self, arguments: Mapping[str, str]) -> str:
        """Return the name of the group."""
        group = Group.get_or_none(Group.id == int(arguments[ID]))
        return "" if group is None else group.name

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
