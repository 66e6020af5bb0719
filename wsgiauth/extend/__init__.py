"""The public door for features that are not ours: what their declarations and rules need.

A feature imports this package and its modules (`console` for commands, `one_time` for secrets that
work once, `openapi` for the description of endpoints, `samples` for examples of pages and emails,
`trusted_browsers`), and nothing else of wsgiauth. All of it is provisional: see docs/versions.md.

- The declaration: `Feature`, and what its attributes have: `Command`, `Composer`,
  `ConfirmationWay`, `FactorsOf`, `FeatureField`, `Figure`, `Finding`, `PartFactories`, `Parts`,
  `Question`, `Recorder`, `Records`, `Several`, `StaffSection`, `Waiting`, `WellKnown`
- Settings: `FeatureSettings`, `Settings`. Its fields: `choice`, `key`, `limit`, `path`, `string`,
  `switch`, `whole_number`, `words`; check: `is_day`
- The site and its people: `Site`, `User`, `Group`, `Session`, `UserSession`, `find_user`,
  `lock_user`, `PersonalData`. Names: `email_in_part`, `email_problem`, `is_handle`,
  `is_same_mailbox`, `typed`
- Tables: `Model`, `UTCDateTimeField`, and `database`, a proxy of Peewee for the one of the site.
  Rows: `contains`, `insert_new`, `pages_of`, `purge_some`, `repeated_after_conflict`, `rows_of`.
  Values: `from_timestamp`, `json_fields`, `utc_now`, `utc_text`. Migrations: `FrozenModels`
- Events: `Change`, `RefusedAttempt`, `EventKind`, `Event`, `emit`, `EventReasons`
- Sentences for people: `_`, `ngettext`, `pgettext`, `list_of`, `Message`; for operators: `counted`
- URLs: `Endpoint`, and for forms `PublicForm`, `MemberForm`, `ListForm`. Their fields: `Input`,
  `Flag`, `Number`, `Numbers`, `Text`, `Texts`. What they get: `Submission`, `MemberSubmission`,
  `Networks`, `Refusal`. Their pages: `Page`, `FormPage`, `UrlBelow`
- Requests: `mount_url`, `prefers_html`, `query_field`, `routing_argument`,
  `url_for_client`, `must_send_again`. Who sent one: `Caller`, `Client`, `OwnCookie`,
  `user_agent_in_words`
- Checks of a request: `require_login`, `require_fresh`, `require_caller`, `require_part`,
  `require_same_origin`, `require_not_in_advance`, `require_opened`; for views: `make_guard`
- Responses: `Response`, `Header`, `json_response`, `redirect`, `see_other` and `notice_of`,
  `destination_after_login`, `log_out_everywhere`. For pages of other origins: `CrossOrigin`,
  `ALL_ORIGINS`
- The account page: `AccountLink`, under a heading: `LOGIN`, `SECURITY`, `PROGRAMS`, `STAFF`,
  `LEAVING`, or another one. Its state: `State`, of an `Overview`. Back from a page: `BackLink`
- Demands: `Demand`, `UnmetDemandError`. Second factors: `SecondFactors`, `Factor`
- Limits: `Limit`, `Attempt`, which `Site.attempt` makes
- Values that clients send back: `Purpose`, `ExpiringValues`, `SignedValues`, `Unexpired`, and those
  of a `OneTimeSecret`
- Emails: `Letter`, `LinkLetter`, `SiteLabel`, `Addressed`, `Mail`, `Outbox`, `ask_for`, `enqueue`
- The staff panel: `PanelEndpoint`, `PanelForm`, `PanelPage`, `Frame`, `frame_of`, `panel_url`,
  `require_staff`. A list on the page of a user: `UserList`, `UserRow`. Actions: `Action`,
  `ActionField`, `ActionForm`, `ActionPage`, `require_action`, in a section of the page: `ACCESS`,
  `RIGHTS`, `DANGER`. Rights: `Right`, `administer`, `general_refusal`
- Errors: `RequestError`, and those that inherit from it: `ForbiddenError`, `NotFoundError`,
  `RetryLaterError`, `UnauthenticatedError`, `InsufficientAuthenticationError`,
  `KeyNotAcceptedError`. Others: `ValidationError`, `TakenError`, `ApplicationError`,
  `ConfigurationError`, `WsgiAuthError`
- Failures in the OpenAPI document: `Problem`, `Answer`, `problems_of_session`, `obj` and `text` for
  their members. Those that several endpoints have: `INVALID` (422), `APPLICATION_FAILED` (500), and
  the header `RETRY_AFTER`

The examples are of a feature whose users have badges. In them, `environ`, `site`, `settings`,
`user`, who is a superuser, and `submission` are those of a request.
"""

from wsgiauth.accounts import find_user, lock_user
from wsgiauth.accounts.groups import Group
from wsgiauth.accounts.models import User
from wsgiauth.accounts.names import email_in_part, email_problem, is_handle, is_same_mailbox, typed
from wsgiauth.accounts.personal_data import PersonalData, Records, pages_of, rows_of
from wsgiauth.accounts.registration import FeatureField
from wsgiauth.accounts.tables import OneTimeSecret, Session, insert_new
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
    KeyNotAcceptedError,
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
from wsgiauth.forms.done import notice_of
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
from wsgiauth.guards import make_guard
from wsgiauth.mail.letters import Addressed, Letter, LinkLetter, SiteLabel
from wsgiauth.mail.outbox import Composer, Mail, Outbox, ask_for, enqueue
from wsgiauth.messages import Message, _, counted, list_of, ngettext, pgettext
from wsgiauth.openapi.answers import Answer, Problem
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
    path,
    string,
    switch,
    whole_number,
    words,
)
from wsgiauth.signed_values import ExpiringValues, Purpose, SignedValues, Unexpired
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
from wsgiauth.storage.frozen import FrozenModels
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
from wsgiauth.web.clients import Client, user_agent_in_words
from wsgiauth.web.cookies import OwnCookie
from wsgiauth.web.cors import ALL_ORIGINS, CrossOrigin
from wsgiauth.web.failures import must_send_again
from wsgiauth.web.pages import Page, StaffSection, UrlBelow
from wsgiauth.web.request import prefers_html, query_field
from wsgiauth.web.responses import Header, Response, json_response, redirect
from wsgiauth.web.urls import mount_url, routing_argument, url_for_client

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
    "FrozenModels",
    "Group",
    "Header",
    "Input",
    "InsufficientAuthenticationError",
    "KeyNotAcceptedError",
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
    "OneTimeSecret",
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
    "choice",
    "contains",
    "counted",
    "database",
    "destination_after_login",
    "email_in_part",
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
    "make_guard",
    "mount_url",
    "must_send_again",
    "ngettext",
    "notice_of",
    "obj",
    "pages_of",
    "panel_url",
    "path",
    "pgettext",
    "prefers_html",
    "problems_of_session",
    "purge_some",
    "query_field",
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
    "routing_argument",
    "rows_of",
    "see_other",
    "string",
    "switch",
    "text",
    "typed",
    "url_for_client",
    "user_agent_in_words",
    "utc_now",
    "utc_text",
    "whole_number",
    "words",
]
