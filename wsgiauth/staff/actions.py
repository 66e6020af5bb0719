"""Actions on a user, a group or an app: a button, perhaps a page that asks first, the change.

Features have tables of actions, such as `features.panel.user_actions`; `administration` decides
about rights.
"""

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, NamedTuple, TypeVar
from wsgiref.types import WSGIEnvironment

from wsgiauth.accounts import names
from wsgiauth.accounts.known_permissions import offered_permissions, similar_permission
from wsgiauth.accounts.models import User
from wsgiauth.exceptions import NotFoundError, ValidationError
from wsgiauth.forms import FormPage, MemberSubmission, Refusal, see_other
from wsgiauth.messages import Joined, _, pgettext
from wsgiauth.staff.frame import (
    PanelForm,
    PanelPage,
    carrying,
    frame_of,
    panel_url,
)
from wsgiauth.web.request import query_field
from wsgiauth.web.responses import Response, json_response
from wsgiauth.web.urls import ROUTING_ARGS, routing_argument

DELETE = "delete"
UNCHANGED = "unchanged"  # as the `done` of a query
NOTHING_CHANGED = _("Nothing has changed.")
ACCESS, RIGHTS, DANGER = pgettext("heading", "Access"), _("Rights"), _("Danger")


class ActionField(NamedTuple):
    """The field of an action.

    Example:
        field = ActionField("name", _("Badge"))
    """

    name: str
    label: str = ""  # empty if people enter the name of a user


PERMISSION = ActionField("permission", _("Permission"))
ONLY_KNOWN = "only_known"  # the flag that refuses permissions that nothing asks for


@dataclass(frozen=True, kw_only=True)
class Action:
    """An action of a member of the staff on a user, a group or an app.

    Example:
        TAKE = Action(
            name="take",
            button=_("Take the badge"),
            question=_("The user loses the badge."),
            done=_("The badge is taken."),
        )
    """

    name: str  # in the path of its URL
    button: str
    question: str  # what will happen
    done: str  # what has happened
    section: str = ""  # of the page; empty for a button beside the value that it changes
    field: ActionField | None = None
    name_field: ActionField | None = None  # takes the name of the thing whose id `field` has


class ActionPage(PanelPage, FormPage):
    """The page that asks before an action, or says why the action was refused.

    Example:
        def is_about_badges(page: ActionPage) -> bool:
            return page.label == "Badge"
    """

    template = "admin/action.html"
    action: Action
    label: str  # what it acts on, such as "User"
    subject: str  # the name of the user or the group
    action_url: str  # where the form is sent
    back_url: str  # the page of the user or the group
    back_text: str
    value: str = ""  # as entered or chosen
    is_unknown: bool = False  # the value is a permission that nothing asks for
    similar: str = ""  # a known permission with a similar name
    entered: str = ""  # in `name_field`; the page then asks about the thing that has this name
    named: str = ""  # the thing that the value names, in words: people do not enter the value


_Action = TypeVar("_Action", bound=Action)


class ActionForm(PanelForm):
    """Asks before one of its actions, and does it.

    Its URL ends in `/{action}`, such as `/admin/badges/{id}/{action}`. After the action, it leads
    to the page of the row, here `/admin/badges/{id}`; after an action named "delete", to that of
    the section.

    Example:
        class BadgeActions(ActionForm):
            section = "badges"
            label = _("Badge")
            actions = {"take": TAKE}

            def refusal(self, environ: WSGIEnvironment, site: Site, member: User) -> str | None:
                return general_refusal(Right.MANAGE, member)

            def find(self, arguments: Mapping[str, str]) -> object | None:
                return Badge.get_or_none(Badge.id == int(arguments["id"]))

            def change(self, submission: MemberSubmission) -> object:
                number = int(routing_argument(submission.environ, "id"))
                return bool(Badge.delete().where(Badge.id == number).execute())

            def document(self, submission: MemberSubmission) -> dict[str, object]:
                return {}
    """

    section: ClassVar[str]  # of the panel, in the path
    label: ClassVar[str]  # what its actions act on
    actions: ClassVar[Mapping[str, Action]]  # by name

    @abstractmethod
    def change(self, submission: MemberSubmission) -> object:
        """Check the right again, and do the action; return False if nothing changed."""

    @abstractmethod
    def find(self, arguments: Mapping[str, str]) -> object | None:
        """Return the row that the path names, whose `str` is its name, or None."""

    @abstractmethod
    def document(self, submission: MemberSubmission) -> dict[str, object]:
        """Return the changed row, ready for JSON."""

    def in_words(self, submission: MemberSubmission, field: ActionField, value: str) -> str:
        """Return the thing that a value names, in words; empty if people enter the value."""
        return ""

    def name_done(self, submission: MemberSubmission) -> str:
        """Return the name of what an action was about, for the notice; empty for none."""
        return ""

    def step_in_words(self, arguments: Mapping[str, str], user: User) -> str:
        """Return the text of the button of an action."""
        action = self.actions.get(arguments["action"])
        return "" if action is None else action.button

    def name_in(self, arguments: Mapping[str, str]) -> str:
        """Return the name of the row."""
        row = self.find(arguments)
        return "" if row is None else str(row)

    def list_query(self, environ: WSGIEnvironment) -> str:
        """Return the query of the list from which the row was opened, or an empty string."""
        return ""

    def act(self, submission: MemberSubmission) -> Response:
        """Do the action; answer with the changed row, or send the browser back to its page."""
        action = require_action(submission.environ, self.actions)
        done = UNCHANGED if self.change(submission) is False else action.name
        is_deleted = action.name == DELETE
        if submission.wants_json:
            return json_response(
                {"detail": action.done} if is_deleted else self.document(submission)
            )
        listed = self.list_query(submission.environ)
        path, query = self._path(submission.environ), carrying(listed).removeprefix("?")
        if is_deleted:
            path, query = self.section, listed
        return see_other(
            submission,
            f"admin/{path}?done={done}{query and f'&{query}'}",
            name=self.name_done(submission),
        )

    def page(self, submission: MemberSubmission, refusal: Refusal) -> ActionPage:
        """Return the page that asks before the action."""
        environ = submission.environ
        action = require_action(environ, self.actions)
        row = self.find(environ[ROUTING_ARGS][1])
        if row is None:
            raise NotFoundError
        name, value, named = "", "", ""
        if action.field is not None:
            name = action.field.name
            value = (submission.fields[name] or query_field(environ, name)).strip()
            named = self.in_words(submission, action.field, value)
        # A permission of the right form is refused only if nothing asks for it.
        is_unknown = PERMISSION.name in refusal.errors and names.is_permission(value)
        back_url = f"{panel_url(environ)}/{self._path(environ)}"
        query = carrying(self.list_query(environ))
        return ActionPage(
            frame=frame_of(environ, submission.member.user, self.section),
            action=action,
            label=self.label,
            subject=str(row),
            action_url=f"{back_url}/{action.name}{query}",
            back_url=f"{back_url}{query}",
            back_text=self.back.text,
            value=value,
            named=named,
            is_unknown=is_unknown,
            similar=similar_permission(value) if is_unknown else "",
            message=refusal.message,
            errors={} if is_unknown else refusal.errors,
        )

    def _path(self, environ: WSGIEnvironment) -> str:
        """Return the path of the row, below the panel: that of the request without the action."""
        path: str = environ["PATH_INFO"]
        return path.rpartition("/")[0].removeprefix("/admin/")


def require_action(environ: WSGIEnvironment, actions: Mapping[str, _Action]) -> _Action:
    """Return the action in the path of a request, or raise NotFoundError.

    Example:
        class AskedAction(PanelEndpoint):
            def get(self, environ: WSGIEnvironment, site: Site) -> Response:
                require_staff(environ, site)
                return json_response({"question": require_action(environ, {"take": TAKE}).question})
    """
    action = actions.get(routing_argument(environ, "action"))
    if action is None:
        raise NotFoundError
    return action


def read_permission(submission: MemberSubmission) -> str:
    """Return the permission that a form names, or raise ValidationError."""
    permission = submission.fields[PERMISSION.name].strip()
    if not names.is_permission(permission):
        message = _("A permission has the form app.action, such as reports.publish.")
        raise ValidationError({PERMISSION.name: [message]})
    return permission


def read_new_permission(submission: MemberSubmission) -> str:
    """Return the permission to grant, or raise ValidationError.

    With `ONLY_KNOWN`, refuse a permission that nothing asks for. It can still be right, because a
    guard registers its permission only when its module is imported. So the page asks, and its
    buttons leave out the flag.
    """
    permission = read_permission(submission)
    if ONLY_KNOWN not in submission.flags or permission in offered_permissions():
        return permission
    message = _("Nothing in this application asks for %(permission)s.", permission=permission)
    if similar := similar_permission(permission):
        message = Joined([message, _("Did you mean %(permission)s?", permission=similar)])
    raise ValidationError({PERMISSION.name: [message]})
