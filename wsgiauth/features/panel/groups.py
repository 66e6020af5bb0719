"""GET, POST /auth/admin/groups: the groups, and a new one."""

from http import HTTPStatus
from typing import Any, NamedTuple
from urllib.parse import urlencode
from wsgiref.types import WSGIEnvironment

from wsgiauth.accounts import names
from wsgiauth.accounts.groups import Group
from wsgiauth.accounts.listing import group_sizes
from wsgiauth.accounts.models import User
from wsgiauth.exceptions import ValidationError
from wsgiauth.features.panel.administration import (
    ONLY_SUPERUSERS,
    TO_CHANGE_A_GROUP,
    administer_groups,
    can_govern,
    refused,
)
from wsgiauth.features.panel.frame import (
    GROUPS,
    PanelForm,
    PanelPage,
    frame_of,
    panel_url,
    require_staff,
)
from wsgiauth.forms import FormPage, MemberSubmission, Refusal, see_other
from wsgiauth.forms.done import notice_of
from wsgiauth.forms.endpoint import BackLink
from wsgiauth.messages import _
from wsgiauth.site import Site
from wsgiauth.web.pages import UrlBelow
from wsgiauth.web.request import prefers_html, query_fields
from wsgiauth.web.responses import Response, json_response

PAGE = 50  # groups
AFTER = "after"

TO_GROUPS = BackLink("admin/groups", _("Back to the groups"))

_NOTICES = {"delete": _("The group has been deleted.")}


class ListedGroup(NamedTuple):
    """A group in a list."""

    id: int
    name: str


class SizedGroup(NamedTuple):
    """A group in the list of groups; for the numbers, see `listing.GroupSize`."""

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
    is_first: bool  # whether the list begins with this page
    can_change: bool  # whether the member of the staff can create a group
    name: str = ""  # what was entered


class Groups(PanelForm):
    """Lists the groups, and creates one."""

    back = TO_GROUPS
    step = _("The groups")
    fields = ("name",)

    def get(self, environ: WSGIEnvironment, site: Site) -> Response:
        """Answer with the list as a page, or as JSON; it needs no recent proof."""
        member = require_staff(environ, site)
        submission = MemberSubmission(
            environ=environ, site=site, member=member, fields={"name": ""}
        )
        if prefers_html(environ):
            return site.pages.render(environ, self.page(submission, Refusal()))
        groups, next_url = _listed(environ)
        return json_response(
            {"groups": [each._asdict() for each in groups], "next": next_url or None}
        )

    def act(self, submission: MemberSubmission) -> Response:
        """Create the group."""
        name = submission.fields["name"].strip()
        actor = submission.member.user
        group = administer_groups(actor, lambda: Group.objects.create(name=name))
        location = f"{_groups_url(submission.environ)}/{group.id}"
        if not submission.wants_json:
            return see_other(submission, f"admin/{GROUPS}/{group.id}?done=create")
        created = ListedGroup(group.id, group.name)._asdict()
        headers = (("Location", location),)
        return json_response(created, status=HTTPStatus.CREATED, headers=headers)

    def page(self, submission: MemberSubmission, refusal: Refusal) -> GroupsPage:
        """Return the list with the form."""
        environ, user = submission.environ, submission.member.user
        groups, next_url = _listed(environ)
        return GroupsPage(
            frame=frame_of(environ, user, GROUPS),
            groups=tuple(groups),
            next_url=next_url,
            is_first=not query_fields(environ, (AFTER,))[AFTER],
            can_change=can_govern(user),
            name=submission.fields["name"],
            errors=refusal.errors,
            message=refusal.message,
            notice=notice_of(environ, _NOTICES),
        )

    def check_right(self, environ: WSGIEnvironment, site: Site, member: User) -> None:
        """Refuse a member of the staff who is not a superuser."""
        require_governor(member)


def require_governor(member: User) -> None:
    """Raise ForbiddenError for a member of the staff who is not a superuser."""
    if not can_govern(member):
        raise refused(member, TO_CHANGE_A_GROUP, ONLY_SUPERUSERS)


def require_group(name: str, field: str) -> Group:
    """Return the group that a field of a form names, or raise ValidationError."""
    group = Group.objects.find(name.strip())
    if group is None:
        raise ValidationError({field: [_("There is no group with this name.")]})
    return group


def list_groups(after: str = "", limit: int = PAGE) -> list[ListedGroup]:
    """Return groups by name: at most `limit` whose `name_key` is after a given one."""
    query: Any = Group.select(Group.id, Group.name).where(Group.name_key > after)
    rows = query.order_by(Group.name_key).limit(limit).tuples()
    return [ListedGroup(*row) for row in rows]


def _listed(environ: WSGIEnvironment) -> tuple[list[SizedGroup], str]:
    """Return a page of groups and the URL of the next one."""
    after = query_fields(environ, (AFTER,))[AFTER]
    listed = list_groups(after if after.isprintable() else "", PAGE + 1)
    page, next_url = listed[:PAGE], ""
    if len(listed) > PAGE:
        query = urlencode({AFTER: names.key(page[-1].name)})
        next_url = f"{_groups_url(environ)}?{query}"
    sizes = group_sizes([each.id for each in page])
    groups = [SizedGroup(*each, *size) for each, size in zip(page, sizes, strict=True)]
    return groups, next_url


def _groups_url(environ: WSGIEnvironment) -> str:
    return f"{panel_url(environ)}/{GROUPS}"
