"""An example of each page of the panel."""

from datetime import UTC, datetime, timedelta

from wsgiauth.accounts.known_permissions import HeldPermission
from wsgiauth.authentication.second_factors import Factor
from wsgiauth.endpoints.samples import SESSION, THEN
from wsgiauth.events.kinds import LOGIN, LOGOUT
from wsgiauth.features.factors.factors import UserFactors
from wsgiauth.features.keys.samples import KEY
from wsgiauth.features.links.invitations_page import InvitationsPage, ListedInvitation
from wsgiauth.features.links.invite import InvitePage
from wsgiauth.features.links.open_invitations import OpenInvitation
from wsgiauth.features.panel.groups import (
    GROUP_ACTIONS,
    GroupPage,
    GroupsPage,
    SizedGroup,
)
from wsgiauth.features.panel.help import Obstacle
from wsgiauth.features.panel.overview import (
    Chart,
    LockedUser,
    OverviewPage,
    WaitingMessages,
)
from wsgiauth.features.panel.several import SHARED_ACTIONS, Outcome, SeveralPage
from wsgiauth.features.panel.trail import EventsPage, TrailRow
from wsgiauth.features.panel.user import Account, ListOfUser, UserPage
from wsgiauth.features.panel.user_actions import ACTIONS
from wsgiauth.features.panel.user_query import FILTERS, Choice
from wsgiauth.features.panel.user_search import FoundUser
from wsgiauth.features.panel.users import Column, UsersPage
from wsgiauth.features.providers.identities import ListedIdentity
from wsgiauth.messages import _
from wsgiauth.staff.actions import ActionPage
from wsgiauth.staff.frame import OVERVIEW, USERS, Chip, Frame
from wsgiauth.staff.groups import ListedGroup
from wsgiauth.staff.people import Person
from wsgiauth.staff.user_lists import UserRow
from wsgiauth.throttling.failed_logins import FailedLogin, Wait
from wsgiauth.web.pages import Around, ErrorPage, Page

_REGISTERED_AT = datetime(2026, 3, 1, 9, 30, tzinfo=UTC)
_FRAME = Frame("/auth/admin", USERS, "ada", "/auth/account", "/")
_USER = FoundUser(
    id=7,
    username="grace",
    email="grace@example.org",
    is_active=True,
    is_staff=True,
    is_superuser=False,
    created_at=_REGISTERED_AT,
    email_verified_at=_REGISTERED_AT,
    email_verified_by="link",
    last_login_at=THEN,
)
_IDENTITY = ListedIdentity(
    id="0123456789ab",
    provider="google",
    issuer="https://accounts.google.com",
    subject="108204268033311374519",
    name="grace@example.org",
    connected_at=_REGISTERED_AT,
    last_used_at=THEN,
)
_APP = UserRow("Wiki", THEN, {}, "apps/1", "email address", "Revoke the app", "apps/1/revoke")
_ACCOUNT = Account(
    **_USER._asdict(),
    label="grace",
    permissions=(HeldPermission("reports.publish", True, ("Editors",)),),
    groups=(ListedGroup(3, "Editors"),),
    logins=(SESSION._replace(is_current=False),),
    failed_logins=(FailedLogin(THEN, "wrong password", "192.0.2.1"),),
    waits=(Wait("account", THEN, "username", None),),
    second_factors=UserFactors(
        factors=(Factor("otp", "0123456789abcdef", "Phone", _REGISTERED_AT, "Authenticator app"),),
        recovery_codes_left=8,
    ),
    keys=(KEY,),
    has_password=True,
    identities=(_IDENTITY,),
    lists=(
        ListOfUser(
            "apps",
            _("Apps"),
            _("No app uses the account."),
            (_APP,),
            _("Only the apps that were allowed last are listed."),
        ),
    ),
    actions=ACTIONS,
    can_support=True,
)
_ROW = TrailRow(
    time=THEN,
    title="Rights changed",
    user=Person(7, "grace"),
    actor=Person(1, "ada", "4fD8sKq2ZxLw", "nightly export"),
    address="192.0.2.1",
    reason="granted reports.publish",
    icon="shield",
)
_INVITATION = OpenInvitation(
    email="mary@example.org",
    username="mary",
    is_staff=True,
    permissions=("reports.publish",),
    groups=("Editors",),
    actor="user 1",
    until=THEN,
)
_GRANT = ActionPage(
    frame=_FRAME,
    action=ACTIONS["grant"],
    label="User",
    subject="grace",
    action_url="/auth/admin/users/7/grant",
    back_url="/auth/admin/users/7",
    back_text="Back to the user",
)
_OUTCOMES = (
    Outcome(7, "grace", "changed", ""),
    Outcome(8, "lin", "unchanged", "The account is inactive already."),
    Outcome(9, "", "refused", "There is no user with this id."),
)
_HOURS = tuple(_REGISTERED_AT.replace(minute=0) + timedelta(hours=each) for each in range(24))
_LOGINS = (*(12, 4, 2, 0, 0, 1, 3, 18, 64, 121, 98, 87), *(73, 90, 102, 96), *(81, 66, 40, 38) * 2)
_FAILURES = (1, 0, 0, 0, 0, 0, 0, 2, 5, 9, 6, 4, 3, 7, 5, 61, 48, 12, 2, 3, 1, 2, 1, 0)

_NOTE = "Settings with a risk: MAIL_URL. `python -m wsgiauth check` says more."

PAGES: tuple[Page, ...] = (
    OverviewPage(
        frame=_FRAME._replace(section=OVERVIEW),
        active=18_204,
        inactive=311,
        new_users=129,
        sessions=4_120,
        age=40,
        charts=(
            Chart.of(_("Logins"), _HOURS, _LOGINS),
            Chart.of(_("Failed logins"), _HOURS, _FAILURES),
        ),
        locked=(LockedUser(7, "grace", THEN),),
        waiting=(WaitingMessages("emails", 3, 130), WaitingMessages("logout_tokens", 0, 0)),
        warnings=(_NOTE, "2 emails overdue: `python -m wsgiauth mail` sends them."),
        notes=(_NOTE,),
    ),
    UsersPage(
        frame=_FRAME,
        users=(_USER,),
        search="gr",
        choices=tuple(Choice(each, each.values[0]) for each in FILTERS),
        groups=(ListedGroup(3, "Editors"),),
        group=3,
        chosen=len(FILTERS),
        chips=(Chip("Staff", "yes", "/auth/admin/users?q=gr"),),
        columns=(
            Column("Username", "ascending", "/auth/admin/users?q=gr&sort=-username"),
            Column("Status"),
        ),
        sort="email",
        order="by email address",
        count=1001,
        count_is_exact=False,
        csv_url="/auth/admin/users.csv?q=gr",
        actions=tuple(SHARED_ACTIONS.values()),
        this_url="/auth/admin/users?q=gr",
        list_query="?list=q%3Dgr",
        invite_url="/auth/admin/invite",
        invitations_url="/auth/admin/invitations",
        first_url="/auth/admin/users?q=gr",
        previous_url="/auth/admin/users?q=gr&before=email%3Agrace%40example.org~7",
        next_url="/auth/admin/users?q=gr&after=email%3Agrace%40example.org~7",
        is_first=False,
        timed_out=True,
        notice="It has been deleted.",
    ),
    UserPage(
        frame=_FRAME,
        account=_ACCOUNT,
        user_url="/auth/admin/users/7",
        list_url="/auth/admin/users?q=gr",
        list_query="?list=q%3Dgr",
        is_own=False,
        obstacles=(
            Obstacle("The account is inactive: every login is refused.", "activate"),
            Obstacle("Some logins must wait.", until=THEN),
        ),
        choices={"permission": ("reports.read",), "group": ("Editors",)},
        provider_titles={_IDENTITY.id: "Google"},
        events=(_ROW,),
        events_url="/auth/admin/events?user=user+7",
        notice=ACTIONS["grant"].done,
    ),
    _GRANT.replaced(
        value="publish",
        message="Only superusers can make this change.",
        errors={"permission": ["A permission has the form app.action, such as reports.publish."]},
    ),
    _GRANT.replaced(value="reports.publsh", is_unknown=True, similar="reports.publish"),
    _GRANT.replaced(
        action=ACTIONS["end-key"],
        action_url="/auth/admin/users/7/end-key",
        value="4fD8sKq2ZxLw",
        named="nightly export (4fD8sKq2ZxLw)",
    ),
    SeveralPage(
        frame=_FRAME,
        shared=SHARED_ACTIONS["join"],
        outcomes=_OUTCOMES,
        groups=("Editors", "Writers"),
        group="Readers",
        errors={"group": ["There is no group with this name."]},
        next="/auth/admin/users?q=gr",
    ),
    SeveralPage(
        frame=_FRAME, shared=SHARED_ACTIONS["deactivate"], outcomes=_OUTCOMES, is_done=True
    ),
    InvitePage(
        frame=_FRAME,
        gives_rights=True,
        offered=("reports.archive", "reports.publish"),
        chosen=frozenset({"reports.publish"}),
        groups=("Editors", "Writers"),
        joined=frozenset({"Editors"}),
        email="grace",
        username="grace",
        is_staff=True,
        message="Only superusers can invite members of the staff, or give permissions or groups.",
        errors={"email": ["Enter an email address such as ada@example.org."]},
    ),
    InvitationsPage(
        frame=_FRAME,
        invitations=(
            ListedInvitation(_INVITATION._replace(until=None), "command line ada", False),
            ListedInvitation(_INVITATION, Person(1, "ada"), True),
        ),
        invite_url="/auth/admin/invite",
        message="Only superusers can invite members of the staff, or give permissions or groups.",
        notice="The invitation is revoked.",
    ),
    GroupsPage(
        frame=_FRAME,
        groups=(SizedGroup(3, "Editors", 1, 2), SizedGroup(4, "Everyone", 1001, 1)),
        next_url="/auth/admin/groups?after=everyone",
        is_first=False,
        can_change=True,
        name="Editors",
        errors={"name": ["This group name is taken."]},
        message="Only superusers can make this change.",
        notice="It has been deleted.",
    ),
    GroupPage(
        frame=_FRAME,
        name="Editors",
        permissions=("reports.publish",),
        offered=("reports.read",),
        member_count=2,
        members=(_USER, _USER._replace(id=1, username="ada", email="ada@example.org")),
        members_url="/auth/admin/users?group=3",
        own_id=1,
        group_url="/auth/admin/groups/3",
        can_change=True,
        notice="The group is created.",
    ),
    _GRANT.replaced(
        action=GROUP_ACTIONS["delete"],
        label="Group",
        subject="Editors",
        action_url="/auth/admin/groups/3/delete",
        back_url="/auth/admin/groups/3",
        back_text="Back to the group",
    ),
    ErrorPage(
        status=403,
        title="You do not have permission to open this page",
        detail="Only superusers can make this change.",
        login_url="/auth/login?switch=1",
        login_text="Use another account",
        around=Around("admin/frame.html", "/auth/admin/users/7", "Back to the user", _FRAME),
    ),
    EventsPage(
        frame=_FRAME,
        rows=(
            _ROW,
            _ROW._replace(user=Person(8, ""), actor="command line ada"),
            _ROW._replace(
                title="API key created",
                reason="nightly export",
                reason_url="/auth/admin/users/7#keys",
                icon="key",
                is_warning=True,
            ),
        ),
        titles={each.name: each.title for each in (LOGIN, LOGOUT)},
        fields={"user": "grace", "actor": "", "name": "", "since": "2026-11-02", "until": ""},
        newest_url="/auth/admin/events?user=grace&since=2026-11-02",
        next_url="/auth/admin/events?before=1793610300-7",
        is_filtered=True,
        chips=(
            Chip("Account", "grace", "/auth/admin/events?since=2026-11-02"),
            Chip("Since", "2026-11-02", "/auth/admin/events?user=grace"),
        ),
    ),
)
