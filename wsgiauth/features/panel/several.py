"""GET, POST /auth/admin/users/several: asks, and does one action with several users.

Each user is changed in a transaction of their own, with the checks and events of `ChangeUser`.
"""

from collections.abc import Callable, Mapping
from functools import partial
from http import HTTPStatus
from typing import NamedTuple
from wsgiref.types import WSGIEnvironment

from wsgiauth.accounts.groups import Group
from wsgiauth.accounts.models import User
from wsgiauth.accounts.tables import Session
from wsgiauth.exceptions import ForbiddenError, LastSuperuserError, ValidationError
from wsgiauth.features.panel.user import LAST_SUPERUSER
from wsgiauth.features.panel.user_actions import ACTIONS, GROUP, UserAction
from wsgiauth.forms import NEXT, FormPage, MemberSubmission, Refusal
from wsgiauth.forms.fields import Numbers, Text, named
from wsgiauth.messages import _, list_of, ngettext
from wsgiauth.openapi.answers import Answer, Problem
from wsgiauth.openapi.problems import INVALID_QUERY
from wsgiauth.openapi.schemas import row_id
from wsgiauth.site import Site
from wsgiauth.staff.administration import (
    Party,
    Right,
    administer,
    general_refusal,
    party_of,
    refusal_reason,
)
from wsgiauth.staff.frame import USERS, PanelForm, PanelPage, frame_of, panel_url
from wsgiauth.staff.groups import list_groups, require_group
from wsgiauth.web.pages import UrlBelow
from wsgiauth.web.request import query_form
from wsgiauth.web.responses import Response, json_response, redirect
from wsgiauth.web.urls import is_number, safe_next

MOST = 50  # users of a request, as on a page of the list
CHANGED, UNCHANGED, REFUSED = "changed", "unchanged", "refused"

_ACTION = "action"  # the field with the name of the action
_UNKNOWN = _("There is no user with this id.")


class SharedAction(NamedTuple):
    """An action that can be done with several users at once."""

    action: UserAction
    button: str
    question: str  # what will happen
    idle: str  # why nothing changes if it does not apply
    applies: Callable[[User, MemberSubmission], bool]  # whether it would change a user
    button_for: Callable[[int], str]  # the button that does it with so many users

    @property
    def name(self) -> str:
        """The name of the action in requests."""
        return self.action.name


class Outcome(NamedTuple):
    """The outcome of an action for one user."""

    id: int
    label: str  # empty if there is no such user
    result: str  # `CHANGED`, `UNCHANGED` or `REFUSED`
    detail: str  # for people; if nothing changed, why

    def document(self) -> dict[str, object]:
        """Return the outcome, ready for JSON."""
        return {"id": self.id, "result": self.result, "detail": self.detail}


def _is_logged_in(user: User, submission: MemberSubmission) -> bool:
    return user.sessions.where(Session.id != submission.member.session_id).exists()


def _is_outside(user: User, submission: MemberSubmission) -> bool:
    group = Group.objects.find(submission.fields[GROUP.name].strip())
    return group is None or not user.groups.where(Group.id == group.id).exists()


_SHARED = (
    SharedAction(
        ACTIONS["activate"],
        _("Activate"),
        _("These users can log in again."),
        _("The account is active already."),
        lambda user, submission: not user.is_active,
        lambda num: ngettext("Activate %(num)s user", "Activate %(num)s users", num),
    ),
    SharedAction(
        ACTIONS["deactivate"],
        _("Deactivate"),
        _(
            "These users can no longer log in, and all of their sessions are revoked at once."
            " Nothing is deleted; you can activate the accounts again."
        ),
        _("The account is inactive already."),
        lambda user, submission: user.is_active,
        lambda num: ngettext("Deactivate %(num)s user", "Deactivate %(num)s users", num),
    ),
    SharedAction(
        ACTIONS["end-logins"],
        _("Revoke all sessions"),
        _(
            "These users are logged out everywhere, and can log in again. If your own account is"
            " among them, you stay logged in here."
        ),
        _("The user has no session to revoke."),
        _is_logged_in,
        lambda num: ngettext(
            "Revoke all sessions of %(num)s user", "Revoke all sessions of %(num)s users", num
        ),
    ),
    SharedAction(
        ACTIONS["join"],
        _("Add to a group"),
        _("These users get the permissions of the group."),
        _("The user is in this group already."),
        _is_outside,
        lambda num: ngettext(
            "Add %(num)s user to the group", "Add %(num)s users to the group", num
        ),
    ),
)
SHARED_ACTIONS: Mapping[str, SharedAction] = {each.name: each for each in _SHARED}


class SeveralPage(PanelPage, FormPage):
    """The page that asks before an action, or shows its outcomes."""

    template = "admin/several.html"
    several_url = UrlBelow("admin/users/several")  # where the form is sent
    users_url = UrlBelow("admin/users")
    shared: SharedAction
    outcomes: tuple[Outcome, ...]  # of all chosen users
    is_done: bool = False
    groups: tuple[str, ...] = ()  # names to choose from, if the action needs a group
    group: str = ""  # as entered

    @property
    def is_shown_once(self) -> bool:
        """Whether it shows the outcomes of an action that was done."""
        return self.is_done

    def of(self, *results: str) -> list[Outcome]:
        """Return the outcomes with one of these results."""
        return [each for each in self.outcomes if each.result in results]


class ChangeSeveral(PanelForm):
    """Does the actions of `SHARED_ACTIONS`."""

    step = _("Change several users")
    fields = (
        Text(
            _ACTION,
            "What to do.",
            required=True,
            enum=["activate", "deactivate", "end-logins", "join"],
        ),
        Text(GROUP.name, "For `join`: the name of a group."),
        Numbers(
            USERS,
            "The ids of the users.",
            required=True,
            items=row_id(maximum=9007199254740991),
            maxItems=MOST,
        ),
    )

    def problems(self, method: str) -> tuple[Problem | Answer, ...]:
        """Return those of the form, and of the query that opens it."""
        invalid = (INVALID_QUERY,) if method == "get" else ()
        return (*super().problems(method), *invalid)

    def get(self, environ: WSGIEnvironment, site: Site) -> Response:
        """Answer with the page that asks; without a choice, redirect to the list of users."""
        member = self.require_member(environ, site)
        fields, lists = query_form(
            environ, (*self.strings(site), NEXT), named(self.fields, Numbers)
        )
        destination = safe_next(fields.pop(NEXT), "")
        if not lists[USERS]:
            url = destination or f"{panel_url(environ)}/{USERS}"
            return redirect(HTTPStatus.SEE_OTHER, url)
        submission = MemberSubmission(
            environ=environ,
            site=site,
            member=member,
            fields=fields,
            lists=lists,
            destination=destination,
        )
        return site.pages.render(environ, self.page(submission, Refusal()))

    def act(self, submission: MemberSubmission) -> Response:
        """Do the action with each user, and answer with the outcomes."""
        shared = _require_action(submission)
        if shared.action.field is not None:
            require_group(submission.fields[GROUP.name], GROUP.name)
        outcomes = _outcomes(submission, partial(_change, shared, submission))
        if submission.wants_json:
            return json_response({"results": [each.document() for each in outcomes]})
        page = _page(submission, shared, outcomes).replaced(is_done=True)
        return submission.site.pages.render(submission.environ, page)

    def page(self, submission: MemberSubmission, refusal: Refusal) -> SeveralPage:
        """Return the page that asks before the action."""
        shared = _require_action(submission)
        outcomes = _outcomes(submission, partial(_foresee, shared, submission))
        page = _page(submission, shared, outcomes)
        return page.replaced(message=refusal.message, errors=refusal.errors)

    def refusal(self, environ: WSGIEnvironment, site: Site, member: User) -> str | None:
        """Refuse a member of the staff who cannot change any other account."""
        return general_refusal(Right.SUPPORT, member)


def shared_actions(member: User) -> tuple[SharedAction, ...]:
    """Return the actions that a member of the staff can do with several users."""
    return tuple(each for each in _SHARED if general_refusal(each.action.right, member) is None)


def _require_action(submission: MemberSubmission) -> SharedAction:
    shared = SHARED_ACTIONS.get(submission.fields[_ACTION])
    if shared is None:
        names = list_of(SHARED_ACTIONS)
        message = _("%(field)s must be one of %(values)s.", field=_ACTION, values=names)
        raise ValidationError({_ACTION: [message]})
    return shared


def _outcomes(
    submission: MemberSubmission, decide: Callable[[User], tuple[str, str]]
) -> list[Outcome]:
    """Return the outcome for each chosen user; `decide` returns its result and detail."""
    given = submission.lists[USERS]
    if not 0 < len(given) <= MOST:
        message = _("Choose at least one user, and at most %(most)s.", most=MOST)
        raise ValidationError({USERS: [message]})
    if not all(map(is_number, given)):
        message = _("%(field)s must be ids of users.", field=USERS)
        raise ValidationError({USERS: [message]})
    numbers = list(dict.fromkeys(map(int, given)))
    users = {each.id: each for each in User.select().where(User.id.in_(numbers))}
    return [
        Outcome(number, users[number].label, *decide(users[number]))
        if number in users
        else Outcome(number, "", REFUSED, _UNKNOWN)
        for number in numbers
    ]


def _foresee(shared: SharedAction, submission: MemberSubmission, user: User) -> tuple[str, str]:
    """Return the result of `_change` without the change."""
    member = submission.member.user
    reason = refusal_reason(shared.action.right, party_of(member), Party(user, user.permissions))
    if reason is not None:
        return REFUSED, reason
    if not shared.applies(user, submission):
        return UNCHANGED, shared.idle
    return CHANGED, shared.action.done


def _change(shared: SharedAction, submission: MemberSubmission, user: User) -> tuple[str, str]:
    action = shared.action
    try:
        has_changed = administer(
            submission.member.user,
            user,
            action.right,
            lambda present: action.change(present, submission),
            is_removal=action.is_removal,
        )
    except ForbiddenError as error:
        return REFUSED, error.detail
    except LastSuperuserError:
        return REFUSED, LAST_SUPERUSER
    except User.DoesNotExist:
        return REFUSED, _UNKNOWN
    return (CHANGED, action.done) if has_changed else (UNCHANGED, shared.idle)


def _page(
    submission: MemberSubmission, shared: SharedAction, outcomes: list[Outcome]
) -> SeveralPage:
    needs_group = shared.action.field is not None
    return SeveralPage(
        frame=frame_of(submission.environ, submission.member.user, USERS),
        shared=shared,
        outcomes=tuple(outcomes),
        groups=tuple(each.name for each in list_groups()) if needs_group else (),
        group=submission.fields[GROUP.name],
        next=submission.destination,
    )
