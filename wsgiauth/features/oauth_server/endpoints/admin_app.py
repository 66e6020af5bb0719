"""GET /auth/admin/apps/{client}: one client, and who has allowed it.

GET, POST …/{action}: asks, and revokes it for a user, or removes it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from wsgiref.types import WSGIEnvironment

from wsgiauth.accounts import find_user, names
from wsgiauth.accounts.models import User
from wsgiauth.authentication.scopes import STANDARD
from wsgiauth.exceptions import NotFoundError, ValidationError
from wsgiauth.features.oauth_server import clients, grants
from wsgiauth.features.oauth_server.apps import MOST_LISTED, list_apps
from wsgiauth.features.oauth_server.client_pages import ClientUser, user_counts, users_of
from wsgiauth.features.oauth_server.clients import ListedClient
from wsgiauth.features.oauth_server.endpoints.admin_apps import (
    APPS,
    KINDS,
    REGISTERED,
    REMOVED,
    OfApps,
)
from wsgiauth.features.oauth_server.scope_words import for_staff
from wsgiauth.features.oauth_server.tables import Client
from wsgiauth.forms import MemberSubmission, Refusal
from wsgiauth.forms.done import Notice, notice_of
from wsgiauth.forms.endpoint import BackLink
from wsgiauth.forms.fields import Text
from wsgiauth.messages import _, pgettext
from wsgiauth.openapi.problems import INVALID_QUERY
from wsgiauth.site import Site
from wsgiauth.staff.actions import (
    ACCESS,
    DANGER,
    DELETE,
    UNCHANGED,
    Action,
    ActionField,
    ActionForm,
    ActionPage,
    require_action,
)
from wsgiauth.staff.administration import (
    Party,
    Right,
    administer,
    can_govern,
    changeable,
    general_refusal,
    govern,
    party_of,
    refusal_reason,
)
from wsgiauth.staff.frame import PanelPage, frame_of, panel_url, require_staff
from wsgiauth.staff.user_lists import UserList, UserRow
from wsgiauth.web.pages import UrlBelow
from wsgiauth.web.request import prefers_html, query_field, query_fields
from wsgiauth.web.responses import Response, json_response
from wsgiauth.web.urls import CLIENT, ROUTING_ARGS, is_number

REVOKE = "revoke"
TO_CHANGE_AN_APP = "to change an app"  # the right, in events

_AFTER = "after"
_ONLY_SUPERUSERS = _("Only superusers can remove apps.")
_NO_USER = _("No user matches. Check the spelling.")

# Two fields, because a username can be the number of another user.
USER = ActionField("user", _("User"))
USERNAME = ActionField("username")


@dataclass(frozen=True, kw_only=True)
class AppAction(Action):
    """An action on a client."""

    change: Callable[[Client, MemberSubmission], object]  # checks the right; see `ActionForm`
    refusal: Callable[[User], str | None]  # why a member of the staff can never do it, or None


def _revoke(client: Client, submission: MemberSubmission) -> object:
    user = _user_in(submission)
    try:
        if user is None:
            raise User.DoesNotExist
        return administer(
            submission.member.user,
            user,
            Right.SUPPORT,
            lambda present: grants.revoke(present, client.id, submission.site.tokens.now()),
        )
    except User.DoesNotExist:  # perhaps since the user was found
        if submission.fields[USER.name]:
            raise ValidationError({USER.name: [_("There is no user with this id.")]}) from None
        raise ValidationError({USERNAME.name: [_NO_USER]}) from None


def _remove(client: Client, submission: MemberSubmission) -> None:
    actor = submission.member.user
    is_removed = govern(
        actor, lambda: clients.remove(client), right=TO_CHANGE_AN_APP, reason=_ONLY_SUPERUSERS
    )
    if not is_removed:
        raise NotFoundError


def _user_in(submission: MemberSubmission) -> User | None:
    fields = submission.fields
    return _find_user(fields[USER.name], fields[USERNAME.name])


def _user_of_query(environ: WSGIEnvironment) -> User | None:
    entered = names.typed(query_field(environ, USERNAME.name))
    return _find_user(query_field(environ, USER.name), entered)


def _find_user(user_id: str, name: str) -> User | None:
    """Return the user with this id; without an id, the one with this username or address."""
    if not user_id:
        return find_user(name)
    user = User.find_by_id(int(user_id)) if is_number(user_id) else None
    return user


_ACTIONS = (
    AppAction(
        name=REVOKE,
        section=ACCESS,
        button=_("Revoke for a user"),
        question=_(
            "The access of the app to the account of this user ends. It needs the consent of the"
            " user again, unless an operator trusts it. Within the app, the user may stay logged in"
            " for a while."
        ),
        done="",  # the notice names the user
        field=USER,
        name_field=USERNAME,
        change=_revoke,
        refusal=partial(general_refusal, Right.SUPPORT),
    ),
    AppAction(
        name=DELETE,
        section=DANGER,
        button=_("Remove the app"),
        question=_(
            "No user can log in to the app any more, and its access to all accounts ends. This"
            " cannot be undone."
        ),
        done=REMOVED,
        change=_remove,
        refusal=lambda member: None if can_govern(member) else _ONLY_SUPERUSERS,
    ),
)
APP_ACTIONS: Mapping[str, AppAction] = {each.name: each for each in _ACTIONS}
# A service uses no account, so there is nothing to revoke for a user.
_SERVICE_ACTIONS: Mapping[str, AppAction] = {
    DELETE: replace(
        APP_ACTIONS[DELETE],
        button=_("Remove the service"),
        question=_("The program gets no more tokens. This cannot be undone."),
    )
}
_NOTICES: Mapping[str, Notice] = {
    REVOKE: lambda user: _("The app can no longer use the account of %(user)s.", user=user),
    UNCHANGED: lambda user: _("%(user)s has not allowed this app.", user=user),
}


class ClientPage(PanelPage):
    """The page of a client."""

    template = "admin/app.html"
    users_url = UrlBelow("admin/users")
    client: ListedClient
    label: str  # what it is, in words
    kinds: Mapping[str, str] = KINDS  # in words
    registered: Mapping[str | None, str] = REGISTERED  # how an app registered itself, in words
    scopes: str  # in words
    users: tuple[ClientUser, ...]
    access: tuple[str, ...]  # what each of them has allowed, in words
    user_count: int  # see `client_pages.user_counts`
    revocable: frozenset[int]  # ids of the users whose consent the reader can revoke
    app_url: str  # the path of this page and, with their names, of the actions
    first_url: str  # empty on the first page of users
    next_url: str  # empty if there is no next page
    actions: Mapping[str, AppAction]  # that the member of the staff can do
    sections: tuple[str, ...] = (ACCESS, DANGER)  # of actions
    notice: str = ""  # what has just been done

    def in_section(self, section: str) -> list[AppAction]:
        """Return the actions in a section of the page."""
        return [each for each in self.actions.values() if each.section == section]


class AdminApp(OfApps):
    """Shows a client, with a page of its users."""

    step = _("The page of an app")
    failures = (INVALID_QUERY,)

    def get(self, environ: WSGIEnvironment, site: Site) -> Response:
        """Answer with the page, or with the same as JSON."""
        member = require_staff(environ, site).user
        row, listed = _require_client(environ)
        given = query_fields(environ, (_AFTER,))[_AFTER]
        users, after = users_of(row, int(given) if is_number(given) else 0)
        app_url = f"{panel_url(environ)}/{APPS}/{row.id}"
        next_url = f"{app_url}?{_AFTER}={after}" if after else ""
        [user_count] = user_counts([row.id])
        if not prefers_html(environ):
            return json_response(_document(listed, users, user_count, next_url))
        actions = {
            name: each for name, each in _actions_of(listed).items() if each.refusal(member) is None
        }
        shown = [each.id for each in users] if REVOKE in actions else []
        page = ClientPage(
            frame=frame_of(environ, member, APPS),
            client=listed,
            label=_label_of(listed),
            scopes=for_staff(listed.scopes or STANDARD),
            users=tuple(users),
            access=tuple(for_staff(each.scopes) for each in users),
            user_count=user_count,
            revocable=changeable(Right.SUPPORT, member, shown),
            app_url=app_url,
            first_url=app_url if given else "",
            next_url=next_url,
            actions=actions,
            notice=notice_of(environ, _NOTICES),
        )
        return site.pages.render(environ, page)


class ChangeApp(OfApps, ActionForm):
    """Does the actions of `APP_ACTIONS`."""

    section = APPS
    label = _("App")
    back = BackLink("admin/apps/{client}", _("Back to the app"))
    actions = APP_ACTIONS
    fields = (
        Text(USER.name, "For `revoke`: the id of a user.", examples=["7"]),
        Text(
            USERNAME.name,
            "For `revoke` without `user`: a username or an email address.",
            examples=["grace"],
        ),
    )
    right = TO_CHANGE_AN_APP

    def refusal(self, environ: WSGIEnvironment, site: Site, member: User) -> str | None:
        """Refuse a member of the staff without the right to the action."""
        _row, listed = _require_client(environ)
        action = require_action(environ, _actions_of(listed))
        reason = action.refusal(member)
        target = _user_of_query(environ) if action.field and reason is None else None
        if target is None:
            return reason
        party = Party(target, target.permissions)
        return refusal_reason(Right.SUPPORT, party_of(member), party)

    def find(self, arguments: Mapping[str, str]) -> Client | None:
        """Return the client, also one that has expired."""
        found = clients.find_listed(arguments[CLIENT])
        return None if found is None else found[0]

    def change(self, submission: MemberSubmission) -> object:
        """Do the action."""
        client, _listed = _require_client(submission.environ)
        return require_action(submission.environ, APP_ACTIONS).change(client, submission)

    def document(self, submission: MemberSubmission) -> dict[str, object]:
        """Return the client, with the first page of its users."""
        row, listed = _require_client(submission.environ)
        users, after = users_of(row)
        [user_count] = user_counts([row.id])
        url = f"{panel_url(submission.environ)}/{APPS}/{row.id}"
        return _document(listed, users, user_count, f"{url}?{_AFTER}={after}" if after else "")

    def in_words(self, submission: MemberSubmission, field: ActionField, value: str) -> str:
        """Return the name of the user."""
        found = _find_user(value, "")
        return "" if found is None else str(found)

    def name_done(self, submission: MemberSubmission) -> str:
        """Return the name of the user."""
        return str(_user_in(submission) or "")

    def page(self, submission: MemberSubmission, refusal: Refusal) -> ActionPage:
        """Return the page that asks, first for a name, then whether to revoke it for this user."""
        environ = submission.environ
        _row, listed = _require_client(environ)
        action = require_action(environ, _actions_of(listed))
        page = super().page(submission, refusal).replaced(action=action, label=_label_of(listed))
        if action.field is None:
            return page
        user = _user_in(submission) or _user_of_query(environ)
        if user is not None:
            button = _("Revoke %(app)s for %(user)s", app=page.subject, user=str(user))
            return page.replaced(
                action=replace(action, button=button), value=str(user.id), named=str(user)
            )
        entered = submission.fields[USERNAME.name] or query_field(environ, USERNAME.name)
        problems = {USERNAME.name: [_NO_USER]} if entered or page.value else {}
        return page.replaced(entered=entered, errors=problems)


class UserApps(UserList):
    """The apps that a user has allowed, on the page of the user."""

    name = "apps"
    title = _("Apps")
    empty = _("No app uses the account.")
    most = MOST_LISTED
    note = _("Only the apps that were allowed last are listed.")

    def rows(self, user: User, now: float) -> Sequence[UserRow]:
        """Return the apps, the last used first."""
        return [
            UserRow(
                name=each.name,
                path=f"{APPS}/{each.key}",
                text=for_staff(each.scopes),
                since=each.allowed_at,
                action=_("Revoke the app"),
                action_path=f"{APPS}/{each.key}/{REVOKE}?{USER.name}={user.id}",
                document=each.document(),
            )
            for each in list_apps(user, now)
        ]


def _require_client(environ: WSGIEnvironment) -> tuple[Client, ListedClient]:
    found = clients.find_listed(environ[ROUTING_ARGS][1][CLIENT])
    if found is None:
        raise NotFoundError
    return found


def _actions_of(client: ListedClient) -> Mapping[str, AppAction]:
    return _SERVICE_ACTIONS if client.kind == clients.SERVICE else APP_ACTIONS


def _label_of(client: ListedClient) -> str:
    return pgettext("other app", "Service") if client.kind == clients.SERVICE else _("App")


def _document(
    listed: ListedClient, users: Sequence[ClientUser], user_count: int, next_url: str
) -> dict[str, object]:
    return {
        **listed.document(),
        "user_count": user_count,
        "users": [each.document() for each in users],
        "next": next_url or None,
    }
