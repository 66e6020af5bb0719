"""What the OpenAPI document says of the staff panel."""

from wsgiauth.authentication.session_list import LISTED
from wsgiauth.features.keys.api_keys import MAX_KEYS
from wsgiauth.features.keys.openapi import API_KEY
from wsgiauth.features.panel import overview, several, trail, user_search
from wsgiauth.features.panel.groups import GROUP_ACTIONS, ChangeGroup, Groups, ShowGroup
from wsgiauth.features.panel.overview import Overview
from wsgiauth.features.panel.several import SHARED_ACTIONS, ChangeSeveral
from wsgiauth.features.panel.trail import Events
from wsgiauth.features.panel.user import ChangeUser, ShowUser
from wsgiauth.features.panel.user_actions import ACTIONS
from wsgiauth.features.panel.user_query import FILTERS
from wsgiauth.features.panel.user_search import SORTS
from wsgiauth.features.panel.users import ORDERS, Users, UsersCsv
from wsgiauth.openapi.answers import Answer, Operation, answer, answer_or_page, leads
from wsgiauth.openapi.objects import DETAIL, LOGIN
from wsgiauth.openapi.schemas import (
    array,
    boolean,
    in_path,
    integer,
    nullable,
    obj,
    object_of,
    query,
    row_id,
    text,
    time,
)
from wsgiauth.openapi.strings import EMAIL, LABEL, USERNAME
from wsgiauth.staff.groups import PAGE as GROUPS_PAGE

IDENTITY = obj(
    "Identity",
    id=text("Names it among those of its user.", pattern="^[0-9a-f]{12}$"),
    provider=text("The name of the provider's entry at the last login.", examples=["google"]),
    issuer=text(
        "The issuer of the provider, which with the subject is the account.",
        examples=["https://accounts.google.com"],
    ),
    subject=text("The account at the provider."),
    name=text("What the provider calls it; it proves nothing."),
    connected_at=time(),
    last_used_at=time("Its last login."),
)
FOUND_USER = obj(
    "FoundUser",
    id=row_id(),
    username=USERNAME,
    label=LABEL,
    email=EMAIL,
    is_active=boolean("Whether the user can log in."),
    is_staff=boolean("Whether the user is a member of the staff."),
    is_superuser=boolean("Whether the user has every permission."),
    created_at=time("In UTC."),
    email_verified_at=nullable(time("When the email address was verified.")),
    email_verified_by=text(
        "By what: `link`, `operator` or the issuer of a provider. Empty: unknown, or not verified."
    ),
    last_login_at=nullable(time("When the user last logged in, to the hour.")),
)
FOUND_USERS = obj(
    "FoundUsers",
    users=array(FOUND_USER, maxItems=user_search.PAGE),
    sort=text(
        "Their order; `-verified`: the latest verification first.",
        enum=[*ORDERS],
    ),
    count=integer(
        "How many users match; if `count_is_exact` is false, at least so many.",
        minimum=0,
        maximum=1001,
    ),
    count_is_exact=boolean(),
    timed_out=boolean("Whether the search took too long and has no users: narrow it."),
    first=text("The path and query of the first page."),
    previous=nullable(text("The path and query of the page before. Null: this is the first.")),
    next=nullable(text("The path and query of the next page. Null: this is the last.")),
)
OUTCOME = obj(
    "Outcome",
    id=row_id(),
    result=text(enum=["changed", "unchanged", "refused"]),
    detail=text(
        "What was done, or why nothing was.", examples=["The account is inactive already."]
    ),
)
OUTCOMES = obj(
    "Outcomes",
    results=array(
        OUTCOME, "One for each user, in the order of the request.", maxItems=several.MOST
    ),
)
FAILED_LOGIN = obj(
    "FailedLogin",
    time=time("In UTC."),
    reason=text(
        "What failed; with `inactive` and the last two, the password was right.",
        enum=[
            "no such user",
            "wrong password",
            "inactive",
            "wrong code",
            "wrong passkey",
            "provider, wrong code",
            "provider, wrong passkey",
        ],
    ),
    address=nullable(text("Of the client.")),
)
WAIT = obj(
    "Wait",
    reason=text(
        "The limit, as in the event `throttled`.",
        enum=["account", "address", "logins", "second factor"],
    ),
    until=time("In UTC."),
    name=nullable(
        text(
            "With which name attempts must wait. Null: with any.", enum=["username", "email", None]
        )
    ),
    address=nullable(
        text(
            "From which address, or IPv6 network, attempts must wait. Null: from addresses that"
            " the account does not know or, for `logins`, from those that it knows."
        )
    ),
)
SECOND_FACTORS = obj(
    "SecondFactors",
    factors=array(
        object_of(
            method=text(
                "What it proves, by RFC 8176: `otp` for an authenticator app.", examples=["otp"]
            ),
            name=text("As the user calls it."),
            added_at=time("When it became a factor."),
        )
    ),
    recovery_codes_left=integer("How many recovery codes are not used yet.", minimum=0),
)
HELD_PERMISSION = obj(
    "HeldPermission",
    name=text(examples=["reports.publish"]),
    is_own=boolean("Whether it is granted to the user themselves."),
    groups=array(text(), "The groups of the user that have it."),
)
GROUP = obj("Group", id=row_id(), name=text(examples=["Editors"]))
ACCOUNT = obj(
    "Account",
    FOUND_USER,
    permissions=array(HELD_PERMISSION),
    groups=array(GROUP),
    logins=array(LOGIN, maxItems=LISTED),
    failed_logins=array(FAILED_LOGIN, "Those of the last day, the newest first.", maxItems=10),
    waits=array(WAIT, "Why logins of the user must wait now."),
    second_factors={
        "description": "Null: the site has no second factors.",
        "anyOf": [SECOND_FACTORS, {"type": "null"}],
    },
    keys=array(API_KEY, "The API keys; never a secret.", maxItems=MAX_KEYS),
    has_password=boolean("Whether the user has a password."),
    identities=array(
        IDENTITY,
        "The accounts of other providers that are connected, the oldest first; empty if the site"
        " has no other providers.",
        maxItems=10,
    ),
    actions=array(
        text(enum=[*ACTIONS]),
        "What the caller can do with the user.",
    ),
)
SIZED_GROUP = obj(
    "SizedGroup",
    id=row_id(),
    name=text(examples=["Editors"]),
    member_count=integer("1001 stands for any larger number.", minimum=0, maximum=1001),
    permission_count=integer("1001 stands for any larger number.", minimum=0, maximum=1001),
)
GROUPS = obj(
    "Groups",
    groups=array(SIZED_GROUP, maxItems=GROUPS_PAGE),
    next=nullable(text("The path and query of the next page. Null: this is the last.")),
)
GROUP_RIGHTS = obj(
    "GroupRights",
    id=row_id(),
    name=text(),
    permissions=array(text()),
    member_count=integer("1001 stands for any larger number.", minimum=0, maximum=1001),
)
EVENT = obj(
    "Event",
    time=time(),
    name=text(examples=["rights_changed"]),
    user_id=nullable(integer("The account.")),
    actor=nullable(text("`user 7`, `user 7 key 4fD8…`, `command line ada` or `code`.")),
    address=nullable(text()),
    reason=nullable(text()),
)
EVENTS = obj(
    "Events",
    events=array(EVENT, maxItems=trail.PAGE),
    next=nullable(text("The path and query of the next page. Null: this is the last.")),
)
HOUR = obj(
    "Hour",
    start=time("In UTC."),
    logins=integer(minimum=0),
    failures=integer("Wrong passwords and wrong second factors.", minimum=0),
)
LOCKED_USER = obj(
    "LockedUser",
    id=row_id(),
    label=LABEL,
    until=time("In UTC."),
)
WAITING = obj(
    "WaitingMessages",
    queue=text(examples=["emails"]),
    number=integer(minimum=0),
    oldest_seconds=integer("For how long the oldest waits.", minimum=0),
)
USERS = obj(
    "NumbersOfUsers",
    active=integer("Users who can log in.", minimum=0),
    inactive=integer(minimum=0),
)
OVERVIEW = obj(
    "Overview",
    users={"anyOf": [USERS, {"type": "null"}]},
    new_users=nullable(integer("Created in the last seven days.", minimum=0)),
    sessions=nullable(integer("Sessions that have not expired.", minimum=0)),
    age=integer("How old the figures are, in seconds.", minimum=0),
    hours=array(HOUR, "The last 24 hours, the present one last.", minItems=24, maxItems=24),
    locked=array(
        LOCKED_USER,
        "Users with whose names strangers must wait to log in.",
        maxItems=overview.LISTED,
    ),
    waiting=nullable(array(WAITING, "The messages that wait to be sent.")),
    warnings=nullable(
        array(text(), "Warnings of `python -m wsgiauth check`. Null: the caller is no superuser.")
    ),
)

_MAX_ID = 10**18 - 1  # of a path; see `web.urls.is_number`
_USER = in_path("id", "The id of the user.", row_id(maximum=_MAX_ID))
_GROUP = in_path("id", "The id of the group.", row_id(maximum=_MAX_ID))
_ACTION = in_path(
    "action",
    "What to do. `reset-link` is only there where the site sends mail, `remove-factors` where it"
    " has second factors, and `disconnect` where it has other providers.",
    text(enum=[*ACTIONS]),
)
_FILTERS = {
    "active": "Active: only these users.",
    "staff": "Staff: only these users.",
    "superuser": "Superuser: only these users.",
    "verified": "Email address verified, also by a provider alone: only these users.",
    "seen": "Logged in: only these users.",
}
_SEARCH = (
    query(
        "q",
        "A part of the username or the email address, or an `@` and the domain of the"
        " address, in any letter case.",
        text(),
    ),
    *(query(each.name, _FILTERS[each.name], text(enum=[*each.values, ""])) for each in FILTERS),
    query("group", "The id of a group: only its members.", text()),
    query(
        "sort",
        "The order; `-created` has the newest account first, `-last_login` the latest login.",
        text(enum=[*SORTS, ""]),
    ),
)

OPERATIONS = {
    Overview: {
        "get": Operation(
            "showOverview",
            "How the site is",
            "The first page of the staff panel.\n\n"
            "The figures are counted at most every 15 seconds; one that cannot be counted in"
            " time is null.",
            answers=(answer_or_page("The figures.", OVERVIEW),),
        )
    },
    Users: {
        "get": Operation(
            "findUsers",
            "Find users",
            "At most 50 users. Without `sort`, the newest come first, or the latest login or"
            " verification.\n\n"
            "A search that takes longer than two seconds has no users: `timed_out` says so.",
            answers=(answer_or_page("The users.", FOUND_USERS),),
            parameters=(
                *_SEARCH,
                query("after", "Where the page begins, as in a `next`.", text()),
                query("before", "Where the page ends, as in a `previous`.", text()),
            ),
        )
    },
    UsersCsv: {
        "get": Operation(
            "exportUsers",
            "All users of a list, as CSV",
            "In the order of the list, without pages.\n\n"
            "A name that a spreadsheet would take for a formula begins with an apostrophe, and"
            " one follows each semicolon. Each download is an event.",
            answers=(Answer(status=200, about="The users.", content={"text/csv": text()}),),
            parameters=_SEARCH,
        )
    },
    ChangeSeveral: {
        "get": Operation(
            "askBeforeSeveral",
            "The page that asks before an action on several users",
            "For browsers. It names the users that the action would not change, with the reason."
            " Without users, it redirects to the list.",
            answers=(leads(303, "`Location` is the list of users."),),
            parameters=(
                query(
                    "action",
                    "What to do.",
                    text(enum=[*SHARED_ACTIONS]),
                    required=True,
                ),
                query(
                    "users",
                    "The id of a user; repeated for each of them.",
                    array(row_id(maximum=_MAX_ID), maxItems=several.MOST),
                ),
                query("group", "For `join`: the name of a group.", text()),
            ),
        ),
        "post": Operation(
            "changeSeveral",
            "Do one action with several users",
            "Each user is changed in a transaction of their own, and needs the same right as"
            " `/admin/users/{id}/{action}`.\n\n"
            "A repeated request changes nothing more. After a 422, nothing has changed.",
            answers=(answer(200, "What became of each user.", OUTCOMES),),
            browser="A page with the results.",
            example={"action": "deactivate", "users": [7, 8]},
        ),
    },
    ShowUser: {
        "get": Operation(
            "showUser",
            "A user",
            "Their account, rights and sessions, and what the caller can do with them.",
            answers=(answer_or_page("The user.", ACCOUNT),),
            parameters=(_USER,),
        )
    },
    ChangeUser: {
        "get": Operation(
            "askBeforeAction",
            "The page that asks before an action",
            parameters=(
                _USER,
                _ACTION,
            ),
        ),
        "post": Operation(
            "changeUser",
            "Change a user",
            "Needs a right that depends on the action and on the user. `disconnect` also"
            " revokes the sessions that began or were confirmed with the account of the"
            " provider, `remove-factors` all sessions.\n\n"
            "429 (code `throttled`) after `MAILS_PER_ACCOUNT` links to one user in an hour.",
            answers=(
                answer(
                    200,
                    "The user as they are now; after `delete`, that it is done.",
                    {"anyOf": [ACCOUNT, DETAIL]},
                ),
            ),
            parameters=(
                _USER,
                _ACTION,
            ),
            example={"permission": "reports.publish"},
        ),
    },
    Groups: {
        "get": Operation(
            "listGroups",
            "The groups",
            "At most 50, by name.",
            answers=(answer_or_page("The groups.", GROUPS),),
            parameters=(query("after", "Where the page begins, as in a `next`.", text()),),
        ),
        "post": Operation(
            "createGroup",
            "Create a group",
            "For superusers. The group has no permissions and no members.",
            answers=(answer(201, "The group.", GROUP),),
            example={"name": "Editors"},
        ),
    },
    ShowGroup: {
        "get": Operation(
            "showGroup",
            "A group",
            "Its permissions; `/admin/users?group=…` lists its members.",
            answers=(answer_or_page("The group.", GROUP_RIGHTS),),
            parameters=(_GROUP,),
        )
    },
    ChangeGroup: {
        "get": Operation(
            "askBeforeGroupAction",
            "The page that asks before a group changes",
            parameters=(
                _GROUP,
                in_path(
                    "action",
                    "What to do.",
                    text(enum=[*GROUP_ACTIONS]),
                ),
            ),
        ),
        "post": Operation(
            "changeGroup",
            "Change a group",
            "For superusers, who cannot add or remove themselves.",
            answers=(
                answer(
                    200,
                    "The group as it is now; after `delete`, that it is done.",
                    {"anyOf": [GROUP_RIGHTS, DETAIL]},
                ),
            ),
            parameters=(
                _GROUP,
                in_path(
                    "action",
                    "What to do.",
                    text(enum=[*GROUP_ACTIONS]),
                ),
            ),
            example={"permission": "reports.publish"},
        ),
    },
    Events: {
        "get": Operation(
            "readTrail",
            "The audit trail",
            "At most 50 events, the newest first.",
            answers=(answer_or_page("The events.", EVENTS),),
            parameters=(
                query(
                    "user",
                    "A username or an email address; or `user 7`, the id, for which `7` is enough"
                    " if no user has this name.",
                    text(),
                ),
                query(
                    "actor",
                    "Who did it: a user as in `user`, `command line`, `code`, or `user 7 key"
                    " 4fD8…`, an API key.",
                    text(),
                ),
                query("name", "The name of the event.", text()),
                query("since", "At this date or time (ISO 8601, UTC) or later.", text()),
                query("until", "Before this date or time.", text()),
                query("before", "Where the page begins, as in a `next`.", text()),
            ),
        )
    },
}
