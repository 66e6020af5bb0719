"""The staff panel at /auth/admin: an overview, users, groups and the audit trail.

Members of the staff see everything. A change is a POST, and needs a right (see
`administration`) and a recent proof of identity. For other users, the panel does not
exist.

All URLs of the panel share this file. Every function in this room that uses the database raises
peewee.DatabaseError if it fails.
"""

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple, TypeVar
from urllib.parse import urlencode
from wsgiref.types import WSGIEnvironment

from wsgiauth.accounts.groups import Group
from wsgiauth.accounts.models import User
from wsgiauth.authentication.identity import UserSession
from wsgiauth.exceptions import InsufficientAuthenticationError, NotFoundError, UnauthenticatedError
from wsgiauth.forms import MemberForm
from wsgiauth.forms.endpoint import (
    BackLink,
    Endpoint,
    problems_of_session,
    require_login,
    require_same_origin,
)
from wsgiauth.forms.shown_to import require_shown_to, sent_account
from wsgiauth.messages import _
from wsgiauth.openapi.answers import Answer, Problem, Scheme
from wsgiauth.openapi.callers import ADMINISTRATION, SESSION
from wsgiauth.openapi.problems import NO_RIGHT, NOT_OF_STAFF, UNAVAILABLE
from wsgiauth.settings import Settings
from wsgiauth.site import Site
from wsgiauth.staff.administration import TO_CHANGE_AN_ACCOUNT, refused
from wsgiauth.web.pages import Around, Page
from wsgiauth.web.request import JSON, content_type
from wsgiauth.web.responses import Response
from wsgiauth.web.urls import ID, ROUTING_ARGS, mount_url, root_url

_Row = TypeVar("_Row", bound=User | Group)

OVERVIEW = ""
USERS = "users"
GROUPS = "groups"
EVENTS = "events"
LIST = "list"  # in the query of a page that was opened from a list: the query of that list


class Frame(NamedTuple):
    """The header of every page of the panel.

    Example:
        frame: Frame = frame_of(environ, user, section="badges")
    """

    panel_url: str
    section: str  # the part of the panel to which the page belongs
    label: str  # of the member of the staff
    account_url: str  # their account page
    home_url: str  # the root of the site


class Chip(NamedTuple):
    """A filter of a list that has a value."""

    label: str
    value: str  # in words
    url: str  # the list without this filter


class PanelPage(Page):
    """A page of the panel.

    Example:
        class AllBadgesPage(PanelPage):
            template = "admin/badges.html"
            names: Sequence[str] = ()
            message: str = ""
    """

    frame: Frame


class PanelEndpoint(Endpoint):
    """A URL of the panel.

    Example:
        class AllBadges(PanelEndpoint):
            def get(self, environ: WSGIEnvironment, site: Site) -> Response:
                require_staff(environ, site)
                return json_response({"badges": [each.name for each in Badge.select()]})
    """

    is_for_staff = True
    back: ClassVar[BackLink] = BackLink("admin/users", _("Back to the users"))
    tag = ADMINISTRATION

    def problems(self, method: str) -> tuple[Problem | Answer, ...]:
        """Return those of a session, and the 404 for others than the staff."""
        of_session = problems_of_session(method, is_fresh=self.is_sensitive)
        return (*super().problems(method), *of_session, NOT_OF_STAFF)

    def security(self, method: str) -> tuple[Scheme | None, ...]:
        """Return the schemes of a session."""
        return SESSION

    def is_offered(self, settings: Settings) -> bool:
        """Return whether the site has a panel."""
        return settings.ADMIN_PANEL

    def around(self, environ: WSGIEnvironment, user: User, back: BackLink) -> Around:
        """Return the header of the panel, with the link back. Internal."""
        frame = frame_of(environ, user, section=back.path.split("/")[1])
        return Around("admin/frame.html", f"{mount_url(environ)}/{back.path}", back.text, frame)


class PanelForm(PanelEndpoint, MemberForm):
    """A form of the panel.

    GET and POST need the right that `refusal` asks for, and a recent proof. To show a list above
    the form to all of the staff, override `get`, as in the example.

    Attributes:
        is_list: Whether `get` needs neither. It changes only the OpenAPI document.
        right: What a member who cannot send the form lacks, for the event in the log.

    Example:
        class GiveBadge(PanelForm):
            back = BackLink("admin/badges", _("Back to the badges"))
            step = _("The badges")
            fields = (Text("name", "The badge.", required=True),)
            is_list = True

            def get(self, environ: WSGIEnvironment, site: Site) -> Response:
                member = require_staff(environ, site)
                if not prefers_html(environ):
                    return json_response({"badges": [each.name for each in Badge.select()]})
                shown = MemberSubmission(environ=environ, site=site, member=member, fields={})
                return site.pages.render(environ, self.page(shown, Refusal()))

            def act(self, submission: MemberSubmission) -> Response:
                Badge.create(user=submission.member.user, name=submission.fields["name"])
                return see_other(submission, "admin/badges")

            def page(self, submission: MemberSubmission, refusal: Refusal) -> AllBadgesPage:
                member = submission.member.user
                names = [each.name for each in Badge.select()]
                frame = frame_of(submission.environ, member, section="badges")
                return AllBadgesPage(frame=frame, names=names, message=refusal.text)

            def refusal(self, environ: WSGIEnvironment, site: Site, member: User) -> str | None:
                return general_refusal(Right.MANAGE, member)
    """

    is_sensitive = True
    is_list: ClassVar[bool] = False
    right: ClassVar[str] = TO_CHANGE_AN_ACCOUNT

    def problems(self, method: str) -> tuple[Problem | Answer, ...]:
        """Return those of the form, and the 403 for members of the staff without the right."""
        if method == "get" and self.is_list:
            return (UNAVAILABLE, *problems_of_session(method), NOT_OF_STAFF)
        return (*super().problems(method), NO_RIGHT)

    @abstractmethod
    def refusal(self, environ: WSGIEnvironment, site: Site, member: User) -> str | None:
        """Return why a member of the staff cannot send the form, for people, or None."""

    def post(self, environ: WSGIEnvironment, site: Site) -> Response:
        """Take the form; tell nothing to clients that are not members of the staff."""
        try:
            require_staff(environ, site)
        except UnauthenticatedError:  # perhaps a form of another site, whose cookie is ignored
            if content_type(environ) != JSON:
                require_same_origin(environ, site)
            raise
        except NotFoundError:  # perhaps another tab has logged in as another user
            account = sent_account(environ)
            if site.form_accounts.read(account) is not None:  # the form is from a page of this site
                member = require_login(environ, site).user
                require_shown_to(member, account, site, page="account")
            raise
        return super().post(environ, site)

    def require_member(self, environ: WSGIEnvironment, site: Site) -> UserSession:
        """Check the right first, then ask for a recent proof of identity."""
        login = require_staff(environ, site)
        reason = self.refusal(environ, site, login.user)
        if reason is not None:
            raise refused(login.user, self.right, reason)
        if not site.freshness.is_fresh(login.session_id):
            raise InsufficientAuthenticationError(site.freshness.max_age)
        return login


def require_staff(environ: WSGIEnvironment, site: Site) -> UserSession:
    """Return the session of the staff member who sent a request, or raise NotFoundError.

    Example:
        member = require_staff(environ, site)
    """
    login = require_login(environ, site)
    if not login.user.is_staff:
        raise NotFoundError
    return login


def require_row(environ: WSGIEnvironment, model: type[_Row]) -> _Row:
    """Return the user or the group whose id is in the path, or raise NotFoundError."""
    row = find_row(environ[ROUTING_ARGS][1], model)
    if row is None:
        raise NotFoundError
    return row


def find_row(arguments: Mapping[str, str], model: type[_Row]) -> _Row | None:
    """Return the user or the group whose id is among the named parts of a path, or None."""
    found: Any = model.find_by_id(int(arguments[ID]))
    row: _Row | None = found
    return row


def panel_url(environ: WSGIEnvironment) -> str:
    """Return the percent-encoded path of the panel.

    Example:
        url = f"{panel_url(environ)}/badges"
    """
    return f"{mount_url(environ)}/admin"


def carrying(text: str) -> str:
    """Return `?list=…` with the query of the list; empty if the query is empty."""
    return f"?{urlencode({LIST: text})}" if text else ""


def frame_of(environ: WSGIEnvironment, user: User, section: str) -> Frame:
    """Return the header of a page of the panel.

    Example:
        page = AllBadgesPage(frame=frame_of(environ, user, section="badges"))
    """
    return Frame(
        panel_url=panel_url(environ),
        section=section,
        label=user.label,
        account_url=f"{mount_url(environ)}/account",
        home_url=f"{root_url(environ)}/",
    )
