"""GET /auth/admin/users/{id}: one user. GET, POST …/{action}: asks, and changes the user."""

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import nullcontext
from datetime import datetime
from http import HTTPStatus
from typing import NamedTuple
from urllib.parse import urlencode, urlsplit
from wsgiref.types import WSGIEnvironment

from wsgiauth.accounts.groups import groups_of
from wsgiauth.accounts.known_permissions import (
    HeldPermission,
    held_permissions,
    offered_permissions,
)
from wsgiauth.accounts.models import User, is_proven, refusing_referenced
from wsgiauth.authentication.identity import UserSession
from wsgiauth.authentication.second_factors import Factor
from wsgiauth.authentication.session_list import LISTED, ListedSession, list_sessions
from wsgiauth.events import actors
from wsgiauth.events.actors import checked, feature_code
from wsgiauth.exceptions import InUseError, LastSuperuserError, NotFoundError, RequestError
from wsgiauth.features.audit import trail
from wsgiauth.features.audit.trail import Filters
from wsgiauth.features.factors.factors import UserFactors, are_offered
from wsgiauth.features.keys.api_keys import ListedKey, list_keys
from wsgiauth.features.panel.help import Obstacle, find_obstacles
from wsgiauth.features.panel.trail import TrailRow, trail_rows
from wsgiauth.features.panel.user_actions import (
    ACTIONS,
    GROUP,
    IDENTITY,
    KEY,
    NOTICES,
    UserAction,
)
from wsgiauth.features.panel.user_query import carried_query
from wsgiauth.features.panel.user_search import FoundUser
from wsgiauth.features.providers.identities import ListedIdentity, list_identities
from wsgiauth.forms import MemberSubmission
from wsgiauth.forms.done import notice_of
from wsgiauth.forms.endpoint import BackLink
from wsgiauth.forms.fields import Flag, Text
from wsgiauth.messages import _
from wsgiauth.openapi.answers import Problem
from wsgiauth.openapi.problems import INVALID, THROTTLED
from wsgiauth.settings import Settings
from wsgiauth.settings.oidc import parse_entries
from wsgiauth.site import Site
from wsgiauth.staff.actions import (
    ACCESS,
    DANGER,
    DELETE,
    ONLY_KNOWN,
    PERMISSION,
    RIGHTS,
    ActionField,
    ActionForm,
    require_action,
)
from wsgiauth.staff.administration import Party, Right, administer, refusal_reason
from wsgiauth.staff.frame import (
    EVENTS,
    USERS,
    PanelEndpoint,
    PanelPage,
    carrying,
    find_row,
    frame_of,
    panel_url,
    require_row,
    require_staff,
)
from wsgiauth.staff.groups import ListedGroup, list_groups
from wsgiauth.staff.user_lists import UserList, UserRow
from wsgiauth.storage.models import json_fields
from wsgiauth.throttling.failed_logins import FailedLogin, Wait
from wsgiauth.web.pages import UrlBelow
from wsgiauth.web.request import prefers_html
from wsgiauth.web.responses import Response, json_response
from wsgiauth.web.templates import Content

_IN_USE = _(
    "Data of the application refers to this account. Delete that data first, or deactivate the"
    " account."
)
LAST_SUPERUSER = _("This is the last active superuser. Make another user a superuser first.")

_EVENTS = 10  # on the page of the user
_FIELDS = FoundUser._fields


class ListOfUser(NamedTuple):
    """A list of another feature."""

    name: str  # in JSON
    title: str
    empty: str  # the sentence if there are no rows
    rows: tuple[UserRow, ...]
    note: str  # the sentence if there can be more; or ""
    icon: str = "app"  # beside the title

    @classmethod
    def of(cls, user_list: UserList, user: User, now: float) -> "ListOfUser":
        """Return the list with the entries of a user."""
        rows = tuple(checked(UserRow, each) for each in user_list.rows(user, now))
        for each in rows:
            json.dumps(each.document, ensure_ascii=False).encode()  # which otherwise fails later
        is_long = user_list.most is not None and len(rows) >= user_list.most
        note = user_list.note if is_long else ""
        return cls(
            user_list.name, user_list.title, user_list.empty, rows, note, icon=user_list.icon
        )

    @classmethod
    def all_of(cls, site: Site, user: User, now: float) -> Iterator["ListOfUser"]:
        """Yield the lists of a user, without those that fail."""
        for feature, each in site.parts.by_feature(UserList):
            with feature_code(feature, f"the list {each.name} of a user"):
                yield checked(cls, cls.of(each, user, now))


class Account(Content):
    """A user as the panel shows them, with the actions that a member of the staff can do."""

    id: int
    username: str
    label: str
    email: str
    is_active: bool
    is_staff: bool
    is_superuser: bool
    created_at: datetime
    email_verified_at: datetime | None
    email_verified_by: str
    last_login_at: datetime | None
    permissions: tuple[HeldPermission, ...]
    groups: tuple[ListedGroup, ...]
    logins: tuple[ListedSession, ...]  # valid, the newest first; at most `LISTED`
    failed_logins: tuple[FailedLogin, ...]  # the last ones, the newest first
    waits: tuple[Wait, ...]  # why logins are refused now
    second_factors: UserFactors | None  # None on a site without second factors
    passkeys: tuple[Factor, ...] = ()  # instead of a password; also in `second_factors`
    keys: tuple[ListedKey, ...]  # valid, the newest first
    has_password: bool
    identities: tuple[ListedIdentity, ...] | None  # None on a site without other providers
    lists: tuple[ListOfUser, ...]  # of further features
    actions: Mapping[str, UserAction]
    can_support: bool  # the member of the staff has `Right.SUPPORT`

    @classmethod
    def read(cls, site: Site, target: User, viewer: UserSession) -> "Account":
        """Return `target` as the panel shows them to `viewer`."""
        held = held_permissions(target)
        parties = (
            Party(viewer.user, viewer.user.permissions),
            Party(target, frozenset(each.name for each in held)),
        )
        now, settings = site.tokens.now(), site.settings
        failures = site.throttle.failed_logins(target)
        return cls(
            **{name: getattr(target, name) for name in _FIELDS},
            label=target.label,
            permissions=tuple(held),
            groups=tuple(ListedGroup(*each) for each in groups_of(target)),
            logins=tuple(list_sessions(target, now, viewer.session_id)),
            failed_logins=tuple(failures),
            waits=tuple(site.throttle.waits(target, [each.address for each in failures])),
            second_factors=UserFactors.read(target) if are_offered(settings) else None,
            passkeys=tuple(site.factors.first_of(target)),
            keys=tuple(list_keys(target, now)),
            has_password=target.has_password,
            identities=tuple(list_identities(target)) if settings.OIDC_PROVIDERS else None,
            lists=tuple(ListOfUser.all_of(site, target, now)),
            actions={
                name: action
                for name, action in ACTIONS.items()
                if action.is_offered(*parties, settings)
            },
            can_support=refusal_reason(Right.SUPPORT, *parties) is None,
        )

    def document(self) -> dict[str, object]:
        """Return the account, ready for JSON."""
        return {
            **json_fields({name: getattr(self, name) for name in (*_FIELDS, "label")}),
            "permissions": [each._asdict() for each in self.permissions],
            "groups": [each._asdict() for each in self.groups],
            "logins": [each.document() for each in self.logins],
            "failed_logins": [json_fields(each._asdict()) for each in self.failed_logins],
            "waits": [json_fields(each._asdict()) for each in self.waits],
            "second_factors": self.second_factors and self.second_factors.document(),
            "keys": [each.document() for each in self.keys],
            "has_password": self.has_password,
            "identities": [each.document() for each in self.identities or ()],
            **{each.name: [row.document for row in each.rows] for each in self.lists},
            "actions": list(self.actions),
        }

    def in_section(self, section: str) -> list[UserAction]:
        """Return the actions in a section of the page."""
        return [each for each in self.actions.values() if each.section == section]


class UserPage(PanelPage):
    """The page of a user."""

    template = "admin/user.html"
    groups_url = UrlBelow("admin/groups")
    users_url = UrlBelow("admin/users")
    account: Account
    user_url: str  # the path of this page and, with their names, of the actions
    list_url: str  # the list from which the page was opened
    list_query: str  # for the links to actions, so that they lead back to the list; can be empty
    is_own: bool  # the user is the member of the staff
    obstacles: tuple[Obstacle, ...]  # what can keep the user from logging in
    choices: Mapping[str, tuple[str, ...]]  # for the fields of the actions, by field
    provider_titles: Mapping[str, str]  # the titles of the identities' providers, by identity
    vouched_by: str | None = None  # who verified the address, if that proves nothing; "": unknown
    events: tuple[TrailRow, ...]  # the newest ones
    events_url: str  # all events of the user
    sections: tuple[str, ...] = (ACCESS, RIGHTS, DANGER)  # of actions
    limit: int = LISTED  # how many sessions are shown at most
    notice: str = ""  # what has just been done


class ShowUser(PanelEndpoint):
    """Shows a user."""

    step = _("The page of a user")

    def get(self, environ: WSGIEnvironment, site: Site) -> Response:
        """Answer with the page, or with the user as JSON."""
        login = require_staff(environ, site)
        target = require_row(environ, User)
        account = Account.read(site, target, login)
        if not prefers_html(environ):
            return json_response(account.document())
        users_url = f"{panel_url(environ)}/{USERS}"
        listed = carried_query(environ)
        of_target = urlencode({"user": actors.user(target.id)})
        page = UserPage(
            frame=frame_of(environ, login.user, USERS),
            account=account,
            user_url=f"{users_url}/{target.id}",
            list_url=f"{users_url}{listed and f'?{listed}'}",
            list_query=carrying(listed),
            is_own=target.id == login.user.id,
            obstacles=find_obstacles(
                target,
                site.settings,
                site.ways_in,
                waits=account.waits,
                second_factors=account.second_factors,
                has_first_key=bool(account.passkeys),
            ),
            choices=_choices(account),
            provider_titles=_titles(account.identities or (), site.settings),
            vouched_by=_vouched_by(target, site.settings),
            events=tuple(
                trail_rows(
                    trail.page(Filters(user_id=target.id), size=_EVENTS), site, panel_url(environ)
                )
            ),
            events_url=f"{panel_url(environ)}/{EVENTS}?{of_target}",
            notice=notice_of(environ, NOTICES),
        )
        return site.pages.render(environ, page)


_ENDED = Problem(
    "Ended",
    404,
    {
        "no_such_login": "There is no such session; perhaps it has ended.",
        "no_such_key": "There is no API key with this id; perhaps it was revoked.",
    },
)
_CONFLICT = Problem(
    "Conflict",
    409,
    {
        "last_superuser": "The user is the last active superuser.",
        "last_way_in": "The user could not log in any more.",
        "in_use": "Data of the application refers to the account, so it cannot be deleted.",
        "inactive": "The account is not active, so a link would not work.",
        "taken": "Another user has the address.",
    },
)


class ChangeUser(ActionForm):
    """Does the actions of `user_actions.ACTIONS`."""

    section = USERS
    back = BackLink("admin/users/{id}", _("Back to the user"))
    label = _("User")
    actions = ACTIONS
    fields = (
        Text("permission", "For `grant` and `revoke`.", examples=["reports.publish"]),
        Text("group", "For `join` and `leave`: the name of a group."),
        Text("login", "For `end-login`: the `handle` of the session."),
        Text("key", "For `end-key`: the `id` of the API key."),
        Text("identity", "For `disconnect`: the `id` of the account of another provider."),
        Text(
            "email",
            "For `verify-email`: the address that the user has; for `change-email`: the new one.",
        ),
        Flag(
            ONLY_KNOWN,
            "For `grant`: whether to refuse a permission that nothing in the application asks for.",
        ),
    )
    refusals = (_ENDED, _CONFLICT, INVALID, THROTTLED)

    def refusal(self, environ: WSGIEnvironment, site: Site, member: User) -> str | None:
        """Refuse a member of the staff without the right to the action."""
        action = require_action(environ, ACTIONS)
        target = require_row(environ, User)
        if not action.exists(site.settings):
            raise NotFoundError
        return refusal_reason(
            action.right, Party(member, member.permissions), Party(target, target.permissions)
        )

    def find(self, arguments: Mapping[str, str]) -> User | None:
        """Return the user."""
        return find_row(arguments, User)

    def list_query(self, environ: WSGIEnvironment) -> str:
        """Return the query of the list of users."""
        return carried_query(environ)

    def change(self, submission: MemberSubmission) -> object:
        """Do the action."""
        action = require_action(submission.environ, ACTIONS)
        target = require_row(submission.environ, User)
        action.count(target, submission)
        is_deletion = action.name == DELETE
        try:
            with refusing_referenced(target.label) if is_deletion else nullcontext():
                return administer(
                    submission.member.user,
                    target,
                    action.right,
                    lambda user: action.change(user, submission),
                    is_removal=action.is_removal,
                )
        except User.DoesNotExist:
            raise NotFoundError from None
        except LastSuperuserError:
            raise RequestError(HTTPStatus.CONFLICT, "last_superuser", LAST_SUPERUSER) from None
        except InUseError:
            raise RequestError(HTTPStatus.CONFLICT, "in_use", _IN_USE) from None

    def document(self, submission: MemberSubmission) -> dict[str, object]:
        """Return the user as the panel shows them."""
        target = require_row(submission.environ, User)
        return Account.read(submission.site, target, submission.member).document()

    def in_words(self, submission: MemberSubmission, field: ActionField, value: str) -> str:
        """Return the name of an API key, or of an account of another provider."""
        owner, site = require_row(submission.environ, User), submission.site
        named: dict[str, str] = {}
        if field is KEY:
            named = {
                key.id: f"{key.name} ({key.id})" for key in list_keys(owner, site.tokens.now())
            }
        if field is IDENTITY:
            listed = list_identities(owner)
            titles = _titles(listed, site.settings)
            named = {
                each.id: _("%(provider)s: %(name)s", provider=titles[each.id], name=each.name)
                for each in listed
            }
        return named.get(value, "")


def _titles(listed: Iterable[ListedIdentity], settings: Settings) -> dict[str, str]:
    """Return the titles of the providers of identities, by identity."""
    entries = parse_entries(settings.OIDC_PROVIDERS)
    return {each.id: each.title(entries) for each in listed}


def _vouched_by(user: User, settings: Settings) -> str | None:
    """Return the title of the provider whose word alone speaks for the address.

    Return "" if the verifier is unknown; None if the address is not verified, or is proven.
    """
    if user.email_verified_at is None or is_proven(user, settings):
        return None
    issuer = user.email_verified_by
    titles = [
        each.title for each in parse_entries(settings.OIDC_PROVIDERS) if each.issuer == issuer
    ]
    return titles[0] if titles else urlsplit(issuer).netloc


def _choices(account: Account) -> dict[str, tuple[str, ...]]:
    """Return the choices for the fields of the actions."""
    if "grant" not in account.actions:
        return {}
    groups = tuple(each.name for each in list_groups())
    return {PERMISSION.name: offered_permissions(), GROUP.name: groups}
