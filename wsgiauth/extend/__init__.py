"""The public door for features that are not ours: what their declarations and rules need.

A feature imports this package, its modules `openapi`, `console`, `one_time`, `samples` and
`trusted_browsers`, and nothing else of wsgiauth. docs/extend.md leads through a feature.

- The declaration: `Feature`, `Command`, `ConfirmationWay`, `Figure`, `Finding`, `FactorsOf`,
  `PartFactories`, `Question`, `Records`, `Several`, `StaffSection`, `Waiting`, `WellKnown`
- Settings: `FeatureSettings`, `Settings`, and the functions that declare a setting: `choice`,
  `key`, `limit`, `objects`, `path`, `string`, `switch`, `whole_number`, `words`
- The site and its people: `Site`, `User`, `Group`, `Session`, `UserSession`, `find_user`,
  `lock_user`, `is_email`, `is_day`, `is_handle`, `typed`
- Tables: `Model`, `UTCDateTimeField`, `database`, `repeated_after_conflict`, `insert_new`,
  `purge_some`, `pages_of`, `rows_of`, `json_fields`, `from_timestamp`, `utc_now`, `utc_text`
- Events: `Change`, `EventKind`, `RefusedAttempt`, `Event`, `Recorder`, `emit`, `EventReasons`
- Sentences: `_`, `ngettext`, `pgettext`, `list_of`, `counted`, `Message`
- URLs: `Endpoint`, `PublicForm`, `MemberForm`, `ListForm`, `FormPage`, `Page`, `UrlBelow`, the
  fields `Flag`, `Number`, `Numbers`, `Text`, `Texts`, and what a form gets and returns:
  `Submission`, `MemberSubmission`, `Refusal`, `Response`, `json_response`, `redirect`, `see_other`
- Who sent a request: `require_login`, `require_fresh`, `require_caller`, `Caller`
- The account page: `AccountLink`, `BackLink`, `Overview`, `State`, and its headings
- Demands: `Demand`, `UnmetDemandError`, `FeatureField`
- Limits: `Attempt`, `Counter`, `Counters`, `Limit`
- Values that clients send back: `ExpiringValues`, `KeyedDigests`, `Purpose`, `SignedValues`
- Emails: `Letter`, `LinkLetter`, `Addressed`, `Composer`, `Mail`, `ask_for`, `enqueue`
- The staff panel: `PanelEndpoint`, `PanelForm`, `PanelPage`, `UserList`, `UserRow`, `Action`,
  `ActionField`, `ActionForm`, `ActionPage`, `Right`, `administer`, `require_staff`
- Errors: `RequestError` and those that inherit from it, `ValidationError`, `ApplicationError`

Provisional: see docs/versions.md.
"""

from wsgiauth.accounts import find_user, lock_user
from wsgiauth.accounts.groups import Group
from wsgiauth.accounts.models import User
from wsgiauth.accounts.names import email_problem, is_handle, is_same_mailbox, typed
from wsgiauth.accounts.personal_data import PersonalData, Records, pages_of, rows_of
from wsgiauth.accounts.registration import FeatureField
from wsgiauth.accounts.tables import Session, insert_new, revoke_keys
from wsgiauth.authentication.demands import Demand
from wsgiauth.authentication.identity import UserSession
from wsgiauth.authentication.second_factors import Factor, SecondFactors
from wsgiauth.endpoints.logout import log_out_everywhere
from wsgiauth.events import Event, Recorder, emit
from wsgiauth.events.kinds import Change, EventKind, RefusedAttempt
from wsgiauth.exceptions import (
    ApplicationError,
    ConfigurationError,
    ForbiddenError,
    InsufficientAuthenticationError,
    NotFoundError,
    RequestError,
    RetryLaterError,
    TakenError,
    UnauthenticatedError,
    UnmetDemandError,
    ValidationError,
    WsgiAuthError,
)
from wsgiauth.feature import (
    Command,
    ConfirmationWay,
    FactorsOf,
    Feature,
    Finding,
    Question,
    WellKnown,
)
from wsgiauth.figures import Figure, Waiting
from wsgiauth.forms import (
    FormPage,
    ListForm,
    MemberForm,
    MemberSubmission,
    PublicForm,
    Refusal,
    Submission,
    see_other,
)
from wsgiauth.forms.endpoint import (
    LEAVING,
    LOGIN,
    PROGRAMS,
    SECURITY,
    STAFF,
    AccountLink,
    BackLink,
    Caller,
    Endpoint,
    Overview,
    State,
    problems_of_session,
    require_caller,
    require_fresh,
    require_login,
    require_not_in_advance,
    require_opened,
    require_part,
    require_same_origin,
)
from wsgiauth.forms.fields import Flag, Input, Number, Numbers, Text, Texts
from wsgiauth.forms.handover import destination_after_login
from wsgiauth.mail.letters import Addressed, Letter, LinkLetter, SiteLabel, unlinked
from wsgiauth.mail.outbox import Composer, Mail, Outbox, ask_for, enqueue
from wsgiauth.messages import Message, _, counted, list_of, ngettext, pgettext
from wsgiauth.openapi.answers import Answer, Problem, Scheme, Tag
from wsgiauth.openapi.problems import APPLICATION_FAILED, INVALID, RETRY_AFTER
from wsgiauth.openapi.schemas import obj, text
from wsgiauth.parts import PartFactories, Parts, Several
from wsgiauth.settings import Settings
from wsgiauth.settings.checks import is_day
from wsgiauth.settings.kinds import (
    FeatureSettings,
    choice,
    key,
    limit,
    objects,
    path,
    string,
    switch,
    whole_number,
    words,
)
from wsgiauth.signed_values import ExpiringValues, KeyedDigests, Purpose, SignedValues, Unexpired
from wsgiauth.site import Site
from wsgiauth.staff.actions import (
    ACCESS,
    DANGER,
    RIGHTS,
    Action,
    ActionField,
    ActionForm,
    ActionPage,
    require_action,
)
from wsgiauth.staff.administration import Right, administer, general_refusal
from wsgiauth.staff.event_reasons import EventReasons
from wsgiauth.staff.frame import (
    Frame,
    PanelEndpoint,
    PanelForm,
    PanelPage,
    frame_of,
    panel_url,
    require_staff,
)
from wsgiauth.staff.user_lists import UserList, UserRow
from wsgiauth.storage import database
from wsgiauth.storage.conflicts import repeated_after_conflict
from wsgiauth.storage.models import (
    Model,
    UTCDateTimeField,
    from_timestamp,
    json_fields,
    utc_now,
    utc_text,
)
from wsgiauth.storage.searches import contains
from wsgiauth.storage.upkeep import purge_some
from wsgiauth.throttling.attempts import Attempt
from wsgiauth.throttling.counts import Limit, Networks
from wsgiauth.web.clients import Client, browser_in_words, user_agent_in_words
from wsgiauth.web.cookies import OwnCookie
from wsgiauth.web.cors import ALL_ORIGINS, CrossOrigin
from wsgiauth.web.failures import must_send_again
from wsgiauth.web.pages import Around, Page, StaffSection, UrlBelow
from wsgiauth.web.request import prefers_html, query_field, query_fields
from wsgiauth.web.responses import Header, Response, json_response, redirect
from wsgiauth.web.urls import mount_url, routing_argument, url_for_client, with_next

__all__ = [
    "ACCESS",
    "ALL_ORIGINS",
    "APPLICATION_FAILED",
    "DANGER",
    "INVALID",
    "LEAVING",
    "LOGIN",
    "PROGRAMS",
    "RETRY_AFTER",
    "RIGHTS",
    "SECURITY",
    "STAFF",
    "AccountLink",
    "Action",
    "ActionField",
    "ActionForm",
    "ActionPage",
    "Addressed",
    "Answer",
    "ApplicationError",
    "Around",
    "Attempt",
    "BackLink",
    "Caller",
    "Change",
    "Client",
    "Command",
    "Composer",
    "ConfigurationError",
    "ConfirmationWay",
    "CrossOrigin",
    "Demand",
    "Endpoint",
    "Event",
    "EventKind",
    "EventReasons",
    "ExpiringValues",
    "Factor",
    "FactorsOf",
    "Feature",
    "FeatureField",
    "FeatureSettings",
    "Figure",
    "Finding",
    "Flag",
    "ForbiddenError",
    "FormPage",
    "Frame",
    "Group",
    "Header",
    "Input",
    "InsufficientAuthenticationError",
    "KeyedDigests",
    "Letter",
    "Limit",
    "LinkLetter",
    "ListForm",
    "Mail",
    "MemberForm",
    "MemberSubmission",
    "Message",
    "Model",
    "Networks",
    "NotFoundError",
    "Number",
    "Numbers",
    "Outbox",
    "Overview",
    "OwnCookie",
    "Page",
    "PanelEndpoint",
    "PanelForm",
    "PanelPage",
    "PartFactories",
    "Parts",
    "PersonalData",
    "Problem",
    "PublicForm",
    "Purpose",
    "Question",
    "Recorder",
    "Records",
    "Refusal",
    "RefusedAttempt",
    "RequestError",
    "Response",
    "RetryLaterError",
    "Right",
    "Scheme",
    "SecondFactors",
    "Session",
    "Settings",
    "Several",
    "SignedValues",
    "Site",
    "SiteLabel",
    "StaffSection",
    "State",
    "Submission",
    "Tag",
    "TakenError",
    "Text",
    "Texts",
    "UTCDateTimeField",
    "UnauthenticatedError",
    "Unexpired",
    "UnmetDemandError",
    "UrlBelow",
    "User",
    "UserList",
    "UserRow",
    "UserSession",
    "ValidationError",
    "Waiting",
    "WellKnown",
    "WsgiAuthError",
    "_",
    "administer",
    "ask_for",
    "browser_in_words",
    "choice",
    "contains",
    "counted",
    "database",
    "destination_after_login",
    "email_problem",
    "emit",
    "enqueue",
    "find_user",
    "frame_of",
    "from_timestamp",
    "general_refusal",
    "insert_new",
    "is_day",
    "is_handle",
    "is_same_mailbox",
    "json_fields",
    "json_response",
    "key",
    "limit",
    "list_of",
    "lock_user",
    "log_out_everywhere",
    "mount_url",
    "must_send_again",
    "ngettext",
    "obj",
    "objects",
    "pages_of",
    "panel_url",
    "path",
    "pgettext",
    "prefers_html",
    "problems_of_session",
    "purge_some",
    "query_field",
    "query_fields",
    "redirect",
    "repeated_after_conflict",
    "require_action",
    "require_caller",
    "require_fresh",
    "require_login",
    "require_not_in_advance",
    "require_opened",
    "require_part",
    "require_same_origin",
    "require_staff",
    "revoke_keys",
    "routing_argument",
    "rows_of",
    "see_other",
    "string",
    "switch",
    "text",
    "typed",
    "unlinked",
    "url_for_client",
    "user_agent_in_words",
    "utc_now",
    "utc_text",
    "whole_number",
    "with_next",
    "words",
]
