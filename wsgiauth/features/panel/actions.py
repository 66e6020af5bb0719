"""Actions on a user or a group: a button, perhaps a page that asks first, and the change.

`user_actions` and `group` have the actions. `administration` decides who has the right to each.
"""

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, NamedTuple, TypeVar
from wsgiref.types import WSGIEnvironment

from wsgiauth.accounts import names
from wsgiauth.accounts.groups import Group
from wsgiauth.accounts.known_permissions import offered_permissions, similar_permission
from wsgiauth.accounts.models import User
from wsgiauth.exceptions import NotFoundError, ValidationError
from wsgiauth.features.panel.frame import (
    GROUPS,
    PanelForm,
    PanelPage,
    frame_of,
    panel_url,
    require_row,
)
from wsgiauth.features.panel.user_query import carrying
from wsgiauth.forms import FormPage, MemberSubmission, Refusal, see_other
from wsgiauth.messages import Joined, _, pgettext
from wsgiauth.web.request import query_field
from wsgiauth.web.responses import Response, json_response
from wsgiauth.web.urls import ID, routing_argument

DELETE = "delete"
UNCHANGED = "unchanged"  # as the `done` of a query
NOTHING_CHANGED = _("Nothing has changed.")
ACCESS, RIGHTS, DANGER = pgettext("heading", "Access"), _("Rights"), _("Danger")


class Field(NamedTuple):
    """The field of an action."""

    name: str
    label: str


PERMISSION = Field("permission", _("Permission"))
ONLY_KNOWN = "only_known"  # the flag that refuses to grant a permission that nothing asks for


@dataclass(frozen=True, kw_only=True)
class Action:
    """Something that a member of the staff can do with a user or a group."""

    name: str  # in the path of its URL
    button: str
    question: str  # what will happen
    done: str  # what has happened
    section: str = ""  # of the page; empty if it is offered beside what it changes
    field: Field | None = None  # what else it needs


class ActionPage(PanelPage, FormPage):
    """Asks before an action, or says why it was refused."""

    template = "admin/action.html"
    action: Action
    is_of_group: bool = False
    subject: str  # the name of the user or of the group
    action_url: str  # where the form is sent
    back_url: str  # the page of the user or of the group
    value: str = ""  # what was entered or chosen
    is_unknown: bool = False  # whether it is a permission that nothing asks for
    similar: str = ""  # the known permission that was perhaps meant instead; empty if none is
    named: str = ""  # what the value names, in words; then it is not entered here


_Action = TypeVar("_Action", bound=Action)


class ActionForm(PanelForm):
    """Asks before one of its actions, and does it."""

    section: ClassVar[str]  # of the panel, in the path
    model: ClassVar[type[User] | type[Group]]
    actions: ClassVar[Mapping[str, Action]]  # by name

    @abstractmethod
    def change(self, submission: MemberSubmission) -> object:
        """Do the action, if the right to it is still there; return False if nothing changed."""

    @abstractmethod
    def document(self, submission: MemberSubmission) -> dict[str, object]:
        """Return the user or the group, ready for JSON."""

    def in_words(self, submission: MemberSubmission, field: Field, value: str) -> str:
        """Return what a value of a field names; an empty string if people enter the value."""
        return ""

    def list_query(self, environ: WSGIEnvironment) -> str:
        """Return the query of the list to which the page leads back; empty if it has none."""
        return ""

    def step_in_words(self, arguments: Mapping[str, str], user: User) -> str:
        """Return what the button of an action says."""
        action = self.actions.get(arguments["action"])
        return "" if action is None else action.button

    def name_in(self, arguments: Mapping[str, str]) -> str:
        """Return the name of the user or of the group."""
        row = self.model.get_or_none(self.model.id == int(arguments[ID]))
        return "" if row is None else str(row)

    def act(self, submission: MemberSubmission) -> Response:
        """Do the action; answer with what changed, or send the browser back to its page."""
        action = require_action(submission.environ, self.actions)
        done = UNCHANGED if self.change(submission) is False else action.name
        is_deleted = action.name == DELETE
        if submission.wants_json:
            changed = {"detail": action.done} if is_deleted else self.document(submission)
            return json_response(changed)
        listed = self.list_query(submission.environ)
        path, query = self._path(submission.environ), carrying(listed).removeprefix("?")
        if is_deleted:
            path, query = self.section, listed
        return see_other(submission, f"admin/{path}?done={done}{query and f'&{query}'}")

    def page(self, submission: MemberSubmission, refusal: Refusal) -> ActionPage:
        """Return the page that asks."""
        environ = submission.environ
        action = require_action(environ, self.actions)
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
            is_of_group=self.section == GROUPS,
            subject=str(require_row(environ, self.model)),
            action_url=f"{back_url}/{action.name}{query}",
            back_url=f"{back_url}{query}",
            value=value,
            named=named,
            is_unknown=is_unknown,
            similar=similar_permission(value) if is_unknown else "",
            message=refusal.message,
            errors={} if is_unknown else refusal.errors,
        )

    def _path(self, environ: WSGIEnvironment) -> str:
        return f"{self.section}/{routing_argument(environ, ID)}"


def require_action(environ: WSGIEnvironment, actions: Mapping[str, _Action]) -> _Action:
    """Return the action in the path of a request, or raise NotFoundError."""
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

    With `ONLY_KNOWN`, one that nothing asks for is refused. It can still be right, because a guard
    registers its permission when its module is imported: so the page asks, and its buttons leave
    out the flag.
    """
    permission = read_permission(submission)
    if ONLY_KNOWN not in submission.flags or permission in offered_permissions():
        return permission
    message = _("Nothing in this application asks for %(permission)s.", permission=permission)
    if similar := similar_permission(permission):
        message = Joined([message, _("Did you mean %(permission)s?", permission=similar)])
    raise ValidationError({PERMISSION.name: [message]})
