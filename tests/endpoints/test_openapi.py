"""openapi.json describes the running service: every answer it gives, and none that it does not."""

import json
import re
import time
import unicodedata
from functools import partial
from itertools import chain
from pathlib import Path

import pytest
import schemathesis
from hypothesis import HealthCheck
from hypothesis import settings as hypothesis_settings
from schemathesis.checks import load_all_checks, not_a_server_error
from schemathesis.engine import Status, from_schema
from schemathesis.engine.events import PhaseFinished
from schemathesis.engine.run import PhaseName
from schemathesis.generation.feedback import FeedbackSources
from schemathesis.pytest._test_builder import build_operation_test
from schemathesis.specs.openapi.checks import ignored_auth
from webtest import TestApp

import wsgiauth
from tests.endpoints.app_requests import (
    app_requests,
    app_requests_without_a_database,
    cookie_in,
    throttled_app_requests,
)
from tests.endpoints.callback_requests import (
    callback_of,
    callbacks_of,
    completion,
    completions,
)
from tests.endpoints.panel_requests import PANEL_WITHOUT_A_DATABASE, panel_requests
from tests.endpoints.provider_requests import (
    FORM,
    provider_requests,
    requests_at_wrong_provider,
)
from tests.endpoints.terms_requests import (
    TERMS,
    terms_requests,
    terms_requests_without_a_database,
)
from tests.support.authenticators import Authenticator
from tests.support.catalogues import marked, unmarked
from tests.support.contract import contract_config
from tests.support.factors import FACTOR_KEY, add_app
from tests.support.federated import remove_password
from tests.support.logins import find_session
from tests.support.mails import MAIL, Post
from tests.support.service_keys import REPORTS, write_key
from tests.support.sites import BROWSER, EMAIL, PASSWORD, SECRET_KEY, USERNAME, echo
from tests.support.tabs import SECOND, named
from wsgiauth import AuthMiddleware, Field, Settings, storage
from wsgiauth.accounts import delete_user, update_user
from wsgiauth.accounts.models import User, verified_by_operator
from wsgiauth.accounts.names import email_problem, username_problem
from wsgiauth.accounts.tables import Key
from wsgiauth.app import ROUTES
from wsgiauth.authentication import pending
from wsgiauth.authentication.password import make_reset_link
from wsgiauth.authentication.restoring import FormerAddress, make_restore_link, mark_change
from wsgiauth.features.factors import totp
from wsgiauth.features.factors.passkeys import Passkey
from wsgiauth.features.factors.passkeys.relying_party import RelyingParty
from wsgiauth.features.keys.api_keys import MAX_KEYS
from wsgiauth.features.links.address_links import make_address_link
from wsgiauth.features.links.invitations import Invitation
from wsgiauth.features.links.letters import issue_invitation
from wsgiauth.languages import SHIPPED
from wsgiauth.storage import context
from wsgiauth.testing import api_key, bearer, mailbox, make_user
from wsgiauth.throttling.counts import AttemptCount
from wsgiauth.web.urls import Router

DOCUMENT = ROUTES["/openapi.json"].document
CONFIG = contract_config(5, seed=1815, deterministic=True)
# A login, and not an API key.
LOGGED_IN = [{"bearer": []}, {"cookie": []}, {"secureCookie": []}]
PHASES = ("examples", "coverage", "fuzzing", "stateful")
WITHOUT_CASES = schemathesis.Config.from_dict(
    {"phases": {phase: {"enabled": False} for phase in PHASES}}
)
OFFERED = {path: each for path, each in DOCUMENT["paths"].items() if path != "/terms"}
ROUTER = Router({path: path for path in ROUTES})
CONTRACT = schemathesis.openapi.from_dict(DOCUMENT, config=CONFIG)
LABELS = [
    f"{method.upper()} {path}"
    for path, operations in DOCUMENT["paths"].items()
    for method in operations
]

ADA = {"username": USERNAME, "email": EMAIL, "password": PASSWORD}
BOB = {"username": "Bob", "email": "bob@example.org", "password": PASSWORD}
JSON = {"Content-Type": "application/json"}
CROSS_SITE = {"Sec-Fetch-Site": "cross-site"}
GARBAGE = {"Authorization": "Bearer x"}
FORWARDED = {"X-Forwarded-Method": "GET", "X-Forwarded-Uri": "/"}
KEY = {"name": "export", "permissions": ["a.read"]}
NEW = {"current_password": PASSWORD, "new_password": "another unrelated phrase"}

# Requests that between them draw every described answer: method, path, headers, body, environ.
REQUESTS = [
    *(
        ("POST", path, *request)
        for path in (
            "/register",
            "/login",
            "/refresh",
            "/token",
            "/introspect",
            "/sessions",
            "/keys",
            "/identities",
            "/oidc/google",
            "/complete",
            "/password",
            "/confirm",
            "/forgot",
            "/code",
            "/code/enter",
            "/reset",
            "/restore",
            "/verify",
            "/email",
            "/username",
            "/language",
            "/close",
            "/second",
            "/passkeys",
            "/totp",
            "/recovery-codes",
        )
        for request in (
            (JSON, json.dumps(BOB), {}),  # sent twice: the second time, the name is taken
            (JSON, "{}", {}),
            (JSON, "{", {}),
            ({"Content-Type": "text/plain"}, "", {}),
            (JSON, " " * (16 * 1024 + 1), {}),
            (JSON, "{}", {"CONTENT_LENGTH": ""}),
        )
    ),
    ("POST", "/login", JSON, json.dumps({**ADA, "password": "wrong"})),
    ("GET", "/complete", {}),
    ("GET", "/oidc/google/callback", {}),
    ("GET", "/oidc/unknown/callback", {}),
    ("GET", "/register", {}),
    ("GET", "/login", {}),
    ("GET", "/openapi.json", {}),
    ("GET", "/logout", {}),
    ("GET", "/logout", CROSS_SITE),
    ("POST", "/logout", {}),
    ("POST", "/logout", CROSS_SITE),
    ("GET", "/me", {}),
    ("GET", "/check", FORWARDED),
    ("GET", "/check", FORWARDED | GARBAGE),
    ("GET", "/check", {}, None, {"QUERY_STRING": "permissions=a.read"}),
    ("GET", "/jwks.json", {}),
    ("POST", "/token", JSON | GARBAGE, json.dumps({"audience": REPORTS})),
    ("POST", "/introspect", JSON | GARBAGE, "{}"),
    ("GET", "/language", {}),
    ("POST", "/language", JSON, json.dumps({"language": "en"})),
    ("GET", "/account", {}),
    ("GET", "/account", {"Authorization": "Bearer x"}),
    ("GET", "/data", {}),
    ("GET", "/data", GARBAGE),
    ("GET", "/sessions", {}),
    ("GET", "/sessions", {"Authorization": "Bearer x"}),
    ("POST", "/sessions", {**JSON, "Authorization": "Bearer x"}, "{}"),
    ("POST", "/refresh", JSON, json.dumps({"refresh_token": "x"})),
    ("GET", "/keys", {}),
    ("GET", "/keys", GARBAGE),
    ("POST", "/keys", JSON | GARBAGE, "{}"),
    ("GET", "/password", {}),
    ("GET", "/password", GARBAGE),
    ("POST", "/password", JSON | GARBAGE, "{}"),
    ("GET", "/forgot", {}),
    ("POST", "/forgot", JSON, json.dumps({"username": USERNAME})),
    ("GET", "/code", {}),
    ("POST", "/code", JSON, json.dumps({"username": USERNAME})),
    ("GET", "/code/enter", {}),
    ("POST", "/code/enter", JSON, json.dumps({"request": "x", "code": "x"})),
    ("GET", "/reset", {}),
    ("GET", "/restore", {}),
    ("GET", "/verify", {}),
    ("POST", "/verify", JSON, json.dumps({"token": "x", "password": PASSWORD})),
    ("GET", "/confirm", {}),
    ("GET", "/confirm", GARBAGE),
    ("POST", "/confirm", JSON | GARBAGE, "{}"),
    ("GET", "/verify", {}),
    *(
        (method, path, headers, "{}")
        for path in (
            *("/email", "/username", "/close", "/second", "/identities"),
            *("/passkeys", "/totp", "/recovery-codes"),
        )
        for method, headers in (("GET", {}), ("GET", GARBAGE), ("POST", JSON | GARBAGE))
    ),
]
REQUESTS_OF_A_USER = [  # each of the last two ends the login that sends it
    ("GET", "/me", {}),
    ("GET", "/check", FORWARDED),
    ("GET", "/check", FORWARDED, None, {"QUERY_STRING": "permission=a.write"}),
    ("POST", "/token", JSON, json.dumps({"audience": REPORTS, "scope": "a.read"})),
    ("POST", "/token", JSON, json.dumps({"audience": REPORTS, "scope": "read"})),
    ("POST", "/token", JSON, "{}"),
    ("GET", "/account", {}),
    ("POST", "/language", JSON, json.dumps({"language": "it"})),
    ("GET", "/sessions", {}),
    ("POST", "/sessions", JSON, json.dumps({"end": "others"})),
    ("POST", "/sessions", JSON, json.dumps({"end": "0" * 16})),
    ("POST", "/sessions", JSON, "{}"),
    ("GET", "/keys", {}),
    ("POST", "/keys", JSON, "{}"),
    *(
        ("POST", "/keys", JSON, json.dumps({"name": "export", "permissions": ["a.read"]}))
        for _ in range(MAX_KEYS // 2 + 1)
    ),
    ("POST", "/keys", JSON, json.dumps({"end": "unknown"})),
    ("GET", "/password", {}),
    ("GET", "/confirm", {}),
    ("POST", "/password", JSON, "{}"),
    ("POST", "/confirm", JSON, "{}"),
    ("POST", "/password", JSON, json.dumps({**NEW, "current_password": "wrong"})),
    ("POST", "/confirm", JSON, json.dumps({"password": "wrong"})),
    ("POST", "/confirm", JSON, json.dumps(ADA)),
    ("POST", "/password", JSON, json.dumps(NEW)),
    ("GET", "/email", {}),
    ("POST", "/email", JSON, json.dumps(ADA)),
    ("POST", "/email", JSON, "{}"),
    ("GET", "/username", {}),
    ("POST", "/username", JSON, json.dumps(BOB)),
    ("POST", "/username", JSON, json.dumps({"username": "lovelace"})),
    ("POST", "/username", JSON, "{}"),
    ("GET", "/identities", {}),
    ("GET", "/passkeys", {}),
    ("POST", "/passkeys", JSON, "{}"),
    ("GET", "/totp", {}),
    ("POST", "/totp", JSON, json.dumps({"name": "Phone"})),
    ("POST", "/totp", JSON, "{}"),
    ("GET", "/recovery-codes", {}),
    ("POST", "/recovery-codes", JSON, "{}"),
    *[("GET", "/data", {})] * 11,
    ("GET", "/close", {}),
    ("POST", "/close", JSON, "{}"),
]
REQUESTS_OF_A_STALE_BROWSER = [
    ("GET", "/data", {}, None),
    ("POST", "/keys", JSON, "{}"),
    *(
        (method, path, headers, "{}")
        for path in ("/email", "/username", "/close")
        for method, headers in (("GET", {}), ("POST", JSON))
    ),
]
REQUESTS_OF_A_STALE_BROWSER += [
    ("GET", "/identities", BROWSER, "{}"),  # as JSON, it is for every session
    *(
        ("POST", path, JSON, "{}")
        for path in ("/identities", "/passkeys", "/totp", "/recovery-codes")
    ),
]
REQUESTS_WITHOUT_A_DATABASE = [  # by somebody who had logged in before it went away
    ("GET", "/me", {}),
    ("GET", "/check", FORWARDED),
    ("POST", "/token", JSON, json.dumps({"audience": REPORTS})),
    ("POST", "/introspect", JSON, json.dumps({"token": "x"})),
    ("GET", "/login", {}),
    ("GET", "/register", {}),
    ("GET", "/logout", {}),
    ("POST", "/logout", {}),
    ("GET", "/account", {}),
    ("GET", "/data", {}),
    ("POST", "/language", JSON, json.dumps({"language": "en"})),
    ("GET", "/sessions", {}),
    ("POST", "/sessions", JSON, json.dumps({"end": "others"})),
    ("GET", "/keys", {}),
    ("POST", "/keys", JSON, "{}"),
    ("GET", "/password", {}),
    ("GET", "/confirm", {}),
    ("POST", "/password", JSON, json.dumps(NEW)),
    ("POST", "/confirm", JSON, json.dumps(ADA)),
    ("POST", "/register", JSON, json.dumps(ADA)),
    ("POST", "/login", JSON, json.dumps(ADA)),
    ("POST", "/forgot", JSON, json.dumps({"username": USERNAME})),
    ("GET", "/code", {}),
    ("GET", "/code/enter", {}),
    ("POST", "/code", JSON, json.dumps({"username": USERNAME})),
    ("POST", "/code/enter", JSON, json.dumps({"request": "x", "code": "x"})),
    ("GET", "/reset", {}, None, {"QUERY_STRING": "token=x"}),
    ("POST", "/reset", JSON, json.dumps({"token": "x", "password": "x"})),
    ("GET", "/restore", {}, None, {"QUERY_STRING": "token=x"}),
    ("POST", "/restore", JSON, json.dumps({"token": "x"})),
    ("GET", "/verify", {}, None, {"QUERY_STRING": "token=x"}),
    ("POST", "/verify", JSON, json.dumps({"token": "x", "password": "x"})),
    *(
        (method, path, headers, "{}")
        for path in (
            *("/email", "/username", "/close", "/identities"),
            *("/passkeys", "/totp", "/recovery-codes"),
        )
        for method, headers in (("GET", {}), ("POST", JSON))
    ),
    ("GET", "/second", {}, None, None, {f"wsgiauth-second-{'0' * 16}": "x"}),
    (
        "POST",
        "/second",
        JSON,
        json.dumps({"code": "x"}),
        None,
        {f"wsgiauth-second-{'0' * 16}": "x"},
    ),
]
# Sent often enough, each draws 429 where one attempt is free: the waits double from one second on.
THROTTLED_REQUESTS = [
    ("POST", "/register", JSON, json.dumps(BOB)),
    ("POST", "/login", JSON, json.dumps({"username": "unknown", "password": "wrong"})),
    ("POST", "/password", JSON, json.dumps({**NEW, "current_password": "wrong"})),
    ("POST", "/confirm", JSON, json.dumps({"password": "wrong"})),
    ("POST", "/forgot", JSON, json.dumps({"username": "unknown"})),
    ("POST", "/code", JSON, json.dumps({"username": "unknown"})),
    ("POST", "/code/enter", JSON, json.dumps({"request": "x", "code": "x"})),
    ("POST", "/email", JSON, json.dumps(ADA)),
    ("POST", "/username", JSON, json.dumps(BOB)),
] * 5
THROTTLE = {
    "LOGIN_FAILURES_PER_ACCOUNT": "1",
    "LOGIN_FAILURES_PER_ADDRESS": "1",
    "REGISTRATIONS_PER_ADDRESS": "1",
    "MAILS_PER_ADDRESS": "1",
}


@pytest.fixture(scope="module")
def marks(tmp_path_factory):
    """Return the catalogue that shows which messages cannot be translated."""
    return marked(tmp_path_factory.mktemp("marks") / "translations", "it")


@pytest.fixture
def make_service(database_url, unsent, tmp_path, provider, marks):
    """Return a function that makes a site, without a throttle unless the test asks for one."""

    keys = write_key(tmp_path / "key")

    def make(mount="/auth", **changes):
        defaults = {
            "SECRET_KEY": SECRET_KEY,
            "BCRYPT_ROUNDS": "4",
            "DATABASE_URL": database_url,
            "LOGIN_FAILURES_PER_ACCOUNT": "0",
            "LOGIN_FAILURES_PER_ADDRESS": "0",
            "REGISTRATIONS_PER_ADDRESS": "0",
            "MAILS_PER_ACCOUNT": "0",
            "MAILS_PER_ADDRESS": "0",
            "FACTOR_KEY": FACTOR_KEY,
            "PASSKEYS": "on",
            "LOGIN_CODES": "on",
            "FORWARD_AUTH": "on",
            "SERVICE_KEYS": str(keys),
            "SERVICES": REPORTS,
            "OAUTH_SERVER": "on",
            "OAUTH_REGISTRATION": "on",
            "OIDC_PROVIDERS": provider.entry("google"),
            "LANGUAGES": " ".join(("it", *SHIPPED)),  # Italian is the one of `marks`
            "TRANSLATIONS": str(marks),
            **MAIL,
        }
        settings = Settings.from_mapping(defaults | changes)
        return AuthMiddleware(echo, settings, mount=mount, send_mail=Post())

    return make


@pytest.fixture
def service(make_service):
    """Return a site where Ada has an account, and a permission."""
    site = make_service()
    TestApp(site).post_json("/auth/register", ADA)
    with context.using(site.database):
        User.objects.get().grant("a.read")
    return site


@pytest.fixture
def login_of_ada(service):
    """Return a function that returns a login of Ada's: the last one unless it has ended."""
    login = bearer_of_ada(service)

    def renewed():
        nonlocal login
        token = login["Authorization"].removeprefix("Bearer ")
        with context.using(service.database):
            is_valid = find_session(token, service.site.tokens) is not None
        if not is_valid:
            login = bearer_of_ada(service)
        return login

    return renewed


def bearer_of_ada(site):
    """Log Ada in, whose name a request can have changed; if she is deleted, another user."""
    return bearer(site, ada_of(site) or make_user(site))


def ada_of(site):
    with context.using(site.database):
        return User.objects.all().first()


def stale_cookie_of_ada(site):
    token = bearer(site, ada_of(site), confirmed_minutes_ago=60)["Authorization"].removeprefix(
        "Bearer "
    )
    return {"wsgiauth": token}


def refresh_of_ada(site):
    tokens = TestApp(site).post_json("/auth/login", {**ADA, "refresh": True}).json
    return "POST", "/refresh", JSON, json.dumps({"refresh_token": tokens["refresh_token"]})


def resets_of_ada(site):
    """Return requests with a link that works."""
    with context.using(site.database):
        link = make_reset_link(ada_of(site), site.site.settings, mount="/auth", now=time.time())
    token = link.partition("=")[2]
    yield "GET", "/reset", {}, None, {"QUERY_STRING": f"token={token}"}
    for password in ("short", NEW["new_password"]):
        yield "POST", "/reset", JSON, json.dumps({"token": token, "password": password})


def restorations_of_ada(site):
    """Return requests with a link that restores an address, which another user has at first."""
    other = make_user(site, "other", email="former@example.org")
    with context.using(site.database):
        now = int(time.time())
        former = FormerAddress(other.email, "2026-01-01T00:00:00+00:00", "link")
        user, settings = make_user(site, "renamed"), site.site.settings
        mark = mark_change(user.id, now + 60)
        link = make_restore_link(user.id, former, mark, settings, mount="/auth", now=now)
    token = link.partition("=")[2]
    yield "GET", "/restore", {}, None, {"QUERY_STRING": f"token={token}"}
    yield "POST", "/restore", JSON, json.dumps({"token": token})
    with context.using(site.database):
        delete_user(other)
    yield "POST", "/restore", JSON, json.dumps({"token": token})


def code_of_ada(site):
    """Return a request with a code from an email."""
    with context.using(site.database):
        update_user(ada_of(site), **verified_by_operator(ada_of(site)))
    mailbox(site)
    asked = TestApp(site).post_json("/auth/code", {"username": ada_of(site).username})
    sent = {"request": asked.json["request"], "code": mailbox(site).codes[-1]}
    return "POST", "/code/enter", JSON, json.dumps(sent)


def second_steps(site):
    """Return requests with a pending login, and one that removes its second factor."""
    user = make_user(site, "grace")
    app = add_app(site, user)
    with context.using(site.database):
        start = partial(pending.start, user, destination="", remember=False, now=time.time())
        first, second = (named(SECOND, start()) for _ in range(2))
        (device,) = totp.devices(user)
    yield "GET", "/second", {}, None, None, second
    yield "POST", "/second", JSON, "{}", None, second
    for _ in range(4):
        yield "POST", "/second", JSON, json.dumps({"code": "x"}), None, second
    with context.using(site.database):
        AttemptCount.delete().execute()
        first = named(SECOND, start())
    yield "POST", "/second", JSON, json.dumps({"code": app.code()}), None, first
    yield "POST", "/totp", JSON | bearer(site, user), json.dumps({"remove": device.id})


def passkeys_of_grace(site):
    """Return requests that add a passkey, make recovery codes for it, and remove it."""
    with context.using(site.database):
        grace = User.objects.get(username="grace")
        options = site.site.part(RelyingParty).creation_options(grace, time.time())
    key = Authenticator()
    key.host, key.origin = "example.org", MAIL["PUBLIC_URL"]
    sent = {"name": "Laptop", "credential": key.create(options)}
    login = JSON | bearer(site, grace)
    yield "POST", "/passkeys", login, json.dumps(sent)
    with context.using(site.database):
        handle = Passkey.get().id
    login = JSON | bearer(site, grace)  # the first passkey renewed the other
    yield "POST", "/recovery-codes", login, "{}"
    yield "POST", "/passkeys", login, json.dumps({"remove": handle})


def invitations(site, domain):
    """Return requests with links that work, of which the last one is throttled."""
    names = ("Ada", "Ada", "Eve", "Fay")
    with context.using(site.database):
        links = [
            issue_invitation(
                Invitation(email=f"{number}@{domain}", is_requested=True),
                None,
                site.site.settings,
                mount="/auth",
                now=time.time(),
            )
            for number in range(len(names))
        ]
    for name, link in zip(names, links, strict=True):
        token = link.partition("=")[2]
        yield "GET", "/verify", {}, None, {"QUERY_STRING": f"token={token}"}
        for password in ("short", PASSWORD):
            body = {"token": token, "username": name, "password": password}
            yield "POST", "/verify", JSON, json.dumps(body)


def requests_of_keys(site):
    """Yield a request that ends a key, and one with a key for each operation that refuses it."""
    owner = make_user(site, "owner", permissions=["a.read"])
    api_key(site, owner, ["a.read"])
    with context.using(site.database):
        end = json.dumps({"end": Key.get(Key.user == owner.id).id})
    yield "POST", "/keys", JSON | bearer(site, owner), end
    key = api_key(site, owner, ["a.read"])
    for path, operations in OFFERED.items():
        for method, operation in operations.items():
            if "403" in operation["responses"] and operation["security"] == LOGGED_IN:
                concrete = re.sub("{(id|client)}", "1", path).replace("{action}", "grant")
                yield method.upper(), concrete, JSON | key, "{}" if method == "post" else None


def questions(site):
    """Yield questions about tokens, by keys of which the first lacks the permission."""
    owner = make_user(site, "asker", permissions=["wsgiauth.introspect"])
    token = bearer(site, owner)["Authorization"].removeprefix("Bearer ")
    keys = [api_key(site, owner, permissions) for permissions in ([], ["wsgiauth.introspect"])]
    for headers in (*keys, bearer(site, owner)):
        for body in ({"token": token}, {"token": "x"}, {}):
            yield "POST", "/introspect", JSON | headers, json.dumps(body)
    yield "POST", "/introspect", JSON | keys[1], "{}", {"CONTENT_LENGTH": ""}
    yield "POST", "/introspect", JSON | keys[1], " " * (16 * 1024 + 1)
    yield "POST", "/introspect", {"Content-Type": "text/plain"} | keys[1], ""


def first_passwords(site):
    """Return requests of a user without a password who has to confirm first."""
    user = make_user(site, "frida")
    with context.using(site.database):
        user = remove_password(user)
    token = bearer(site, user)["Authorization"].removeprefix("Bearer ")
    for method, headers, body in (("GET", {}, None), ("POST", JSON, json.dumps(NEW))):
        yield method, "/password", headers, body, None, {"wsgiauth": token}


def verifications(site):
    """Return requests with a link of Ada's that works, by anonymous clients, Bob and Ada."""
    with context.using(site.database):
        ada, bob = User.objects.all()
        taken, free = (
            make_address_link(ada, email, site.site.settings, mount="/auth", now=time.time())
            for email in (bob.email, "ada@example.net")
        )
    for link, users in ((taken, (None, bob, ada)), (free, (ada,))):
        token = link.partition("=")[2]
        for headers in (GARBAGE if user is None else bearer(site, user) for user in users):
            asked = {"QUERY_STRING": f"token={token}"}
            yield "GET", "/verify", {}, None, asked, cookie_in(headers)
            yield "POST", "/verify", JSON | headers, json.dumps({"token": token})
        yield "GET", "/verify", {}, None, {"QUERY_STRING": f"token={token}"}
        yield "POST", "/verify", JSON, json.dumps({"token": token})


# The document.


def test_the_description_is_openapi_3_1():
    assert DOCUMENT["openapi"].startswith("3.1.")
    CONTRACT.validate()


def test_every_route_is_described_and_nothing_else():
    described = {path: {*operations} for path, operations in DOCUMENT["paths"].items()}
    assert described == {path: {*map(str.lower, each.handlers)} for path, each in ROUTES.items()}


ASKED = (
    Field("phone", "Phone number", required=True, max_length=9),
    Field("note", "A <b>note</b>"),
)
ASKED_KINDS = (
    Field("line", "Line", kind="tel", hint="With the code of the country."),
    Field("invoices", "Invoices", kind="email", required=True),
    Field("website", "Website", kind="url"),
    Field("seats", "Seats", kind="number"),
    Field("branch", "Branch", kind="select", options=[("n", "North"), ("s", "South")]),
    Field("plan", "Plan", kind="select", options=["free", "paid"], required=True),
    Field("letter", "Send me the letter.", kind="checkbox"),
    Field("rules", "I accept the rules.", kind="checkbox", required=True),
)


@pytest.fixture
def asking(make_service):
    """Return a function that makes a client of a site with fields of its own."""

    def make(asked=ASKED, **changes):
        settings = make_service(**changes).site.settings
        return TestApp(AuthMiddleware(echo, settings, send_mail=Post(), registration=asked))

    return make


def schema_of(document, path):
    body = document["paths"][path]["post"]["requestBody"]["content"]["application/json"]
    return body["schema"]


def test_the_fields_of_a_site_are_described(asking):
    client = asking()
    document = client.get("/auth/openapi.json").json
    schemathesis.openapi.from_dict(document, config=CONFIG).validate()
    for path in ("/register", "/verify"):
        described = {
            each.name: schema_of(document, path)["properties"][each.name] for each in ASKED
        }
        assert [each["description"] for each in described.values()] == [
            "Phone number",
            ASKED[1].label,
        ]
        assert [each["maxLength"] for each in described.values()] == [9, 100]
    named = document["components"]["schemas"]["FieldErrors"]["propertyNames"]["enum"]
    assert {"phone", "note", "email"} <= {*named}
    assert "phone" not in json.dumps(DOCUMENT)


def test_the_description_of_a_field_is_that_of_what_is_accepted(asking):
    client = asking()
    schema = schema_of(client.get("/auth/openapi.json").json, "/register")
    assert schema["required"] == ["username", "email", "password", "phone"]
    for number, (value, status) in enumerate({"": 422, "1" * 9: 201, "1" * 10: 422}.items()):
        body = {**BOB, "username": f"bob{number}", "email": f"{number}@example.org"}
        client.post_json("/auth/register", {**body, "phone": value}, status=status)
        phone = schema["properties"]["phone"]
        assert (phone["minLength"] <= len(value) <= phone["maxLength"]) is (status == 201)


def test_the_kinds_of_fields_are_described_as_what_is_accepted(asking):
    client = asking(ASKED_KINDS)
    document = client.get("/auth/openapi.json").json
    schemathesis.openapi.from_dict(document, config=CONFIG).validate()
    described = schema_of(document, "/register")["properties"]
    formats = {each.name: described[each.name].get("format") for each in ASKED_KINDS}
    assert {name: found for name, found in formats.items() if found} == {
        "invoices": "idn-email",
        "website": "iri",
        "seats": "decimal",
    }
    assert described["line"]["description"] == "Line (With the code of the country.)"
    valid = {"invoices": "a@example.org", "plan": "free", "rules": "on"}
    enums = {name: each["enum"] for name, each in described.items() if "enum" in each}
    assert enums == {
        "branch": ["", "n", "s"],
        "plan": ["free", "paid"],
        "letter": ["", "on", "off"],
        "rules": ["on"],
    }
    tried = [(name, value) for name, values in enums.items() for value in (*values, "else")]
    for number, (name, value) in enumerate(tried):
        body = {**BOB, "username": f"bob{number}", "email": f"{number}@example.org", **valid}
        status = 422 if value == "else" else 201
        client.post_json("/auth/register", {**body, name: value}, status=status)
    of_links = schema_of(document, "/verify")["properties"]
    assert of_links["rules"]["enum"] == ["", "on", "off"]  # a link can need no fields


def test_with_verification_the_link_alone_asks_for_the_fields(asking):
    document = asking(VERIFICATION="on").get("/auth/openapi.json").json
    assert "phone" not in schema_of(document, "/register")["properties"]
    assert "phone" in schema_of(document, "/verify")["properties"]
    assert schema_of(document, "/verify")["required"] == ["token"]  # which can be of an address


def test_the_description_has_the_version_of_the_package():
    assert DOCUMENT["info"]["version"] == wsgiauth.__version__


@pytest.mark.parametrize(
    ("schema", "problem", "form"),
    [("Username", username_problem, "a{}b"), ("Email", email_problem, "a{0}b@c{0}d.example")],
)
@pytest.mark.uncounted
def test_the_patterns_of_names_admit_what_is_accepted_and_no_control_characters(
    schema, problem, form
):
    pattern = re.compile(DOCUMENT["components"]["schemas"][schema]["pattern"])
    for character in map(chr, range(0x3000)):
        name = form.format(character)
        if problem(name) is None:
            assert pattern.search(name)
        elif unicodedata.category(character) in ("Cc", "Zs", "Zl", "Zp"):
            assert not pattern.search(name)


# The endpoint.


def test_the_description_is_served_as_json(make_service):
    service = make_service(LANGUAGES=" ".join(SHIPPED))
    answer = TestApp(service).get("/auth/openapi.json", headers=BROWSER)
    assert answer.content_type == "application/json"
    assert answer.json["paths"] == OFFERED
    assert answer.json.keys() == DOCUMENT.keys()
    assert answer.json["servers"] == [{"url": "/auth"}]


def test_the_description_has_the_languages_of_the_site(make_service):
    service = make_service(LANGUAGES="it de")
    document = TestApp(service).get("/auth/openapi.json").json
    assert document["components"]["schemas"]["Language"]["enum"] == ["it", "de"]


@pytest.mark.parametrize(
    ("prefix", "mount", "url"),
    [
        ("", "/account", "/account"),
        ("/site", "/auth", "/site/auth"),
        ("/caf\xc3\xa9 {x}", "/a/b", "/caf%C3%A9%20%7Bx%7D/a/b"),
    ],
)
def test_its_server_is_where_the_pages_send_their_forms(make_service, prefix, mount, url):
    client = TestApp(make_service(mount), extra_environ={"SCRIPT_NAME": prefix})
    (server,) = client.get(f"{mount}/openapi.json").json["servers"]
    assert server == {"url": url}
    assert client.get(f"{mount}/login").forms[0].action == f"{url}/login"


def test_where_registration_is_off_it_is_not_described(make_service):
    closed = TestApp(make_service(REGISTRATION="off")).get("/auth/openapi.json").json
    opened = TestApp(make_service()).get("/auth/openapi.json").json
    assert closed["paths"].keys() == opened["paths"].keys() - {"/register"}
    assert opened["paths"] == OFFERED


def test_it_names_the_cookie_as_it_is_configured(make_service):
    served = TestApp(make_service(COOKIE_NAME="shop")).get("/auth/openapi.json").json
    schemes = served["components"]["securitySchemes"]
    names = {name: scheme.get("name") for name, scheme in schemes.items()}
    assert names == {
        "bearer": None,
        "key": None,
        "basic": None,
        "client": None,
        "appToken": None,
        "cookie": "shop",
        "secureCookie": "__Host-shop",
    }


REACHED_WITHOUT_THE_TERMS = {
    *(("GET", path) for path in ("/me", "/data", "/close", "/confirm", "/terms")),
    *(("POST", path) for path in ("/close", "/confirm", "/terms")),
    ("GET", "/check"),  # 401 for a proxy that does not say what was asked for
    *(("GET", path) for path in ("/authorize", "/consent", "/device")),  # for a cookie alone
}


def test_the_answers_to_an_unmet_demand_are_described(make_service):
    site = make_service(**TERMS)
    contract, document = contract_of(site), TestApp(site).get("/auth/openapi.json").json
    operations = {*operations_of_sessions(document)}
    refused = {"302", "303", "403"}
    for number, (method, path) in enumerate(sorted(operations)):
        user = make_user(site, f"user{number}", terms=False)
        login = JSON | bearer(site, user, terms=False)
        concrete = re.sub("{(id|client)}", "1", path).replace("{action}", "grant")
        body = "{}" if method == "POST" else None
        drawn = {*answers(contract, method, concrete, login, body, accepts=({},))}
        is_refused = (method, path, "403", "application/problem+json") in drawn
        assert is_refused is ((method, path) not in REACHED_WITHOUT_THE_TERMS), (method, path)
        if is_refused and method == "GET":
            cookies = cookie_in(login)
            (drawn,) = answers(contract, method, concrete, {}, accepts=(BROWSER,), cookies=cookies)
            assert drawn[2:] == ("302", None)
        described = document["paths"][path][method.lower()]["responses"].keys()
        assert refused - described == {"302" if method == "POST" else "303"} - described
    assert operations >= REACHED_WITHOUT_THE_TERMS


def test_what_a_session_lacks_is_described(make_service):
    site = make_service(**TERMS)
    contract, ada = contract_of(site), {**ADA, "accept_terms": "2026-11-27"}
    assert given_by(contract, "/register", ada) == {"409"}
    assert given_by(contract, "/register", {**ada, "accept_terms": True}) == {"201"}
    later = contract_of(make_service(**TERMS | {"TERMS_VERSION": "2026-11-29"}))
    assert given_by(later, "/login", {"username": USERNAME, "password": PASSWORD}) == {"200"}
    schemas = TestApp(site).get("/auth/openapi.json").json["components"]["schemas"]
    for name, code in (("Token", "second_factor_setup_required"), ("Profile", "terms_required")):
        described = schemas[name]["properties"]
        assert {code, "terms_required"} <= {*described["restriction"]["enum"]}
        assert {"terms_url", "terms_version"} <= described.keys()
    assert "restriction" not in DOCUMENT["components"]["schemas"]["Profile"]["properties"]


def test_the_accepted_terms_of_a_user_are_described(make_service):
    site = make_service(**TERMS)
    staff = make_user(site, "grace", is_staff=True, is_superuser=True)
    url, login = f"/admin/users/{staff.id}", bearer(site, staff)
    drawn = answers(contract_of(site), "GET", url, login, accepts=({},))
    assert [status for _method, _path, status, _type in drawn] == ["200"]
    shown = TestApp(site).get(f"/auth{url}", headers=login).json["accepted_terms"]
    assert [each["version"] for each in shown] == [TERMS["TERMS_VERSION"]]


def given_by(contract, path, body):
    """Return the statuses of the answers to JSON."""
    drawn = answers(contract, "POST", path, JSON, json.dumps(body), accepts=({},))
    return {status for _method, _path, status, _type in drawn}


def operations_of_sessions(document):
    """Yield the method and the path of each operation that requires a session."""
    for path, item in document["paths"].items():
        for method, operation in item.items():
            if {"cookie": []} in operation["security"] and {} not in operation["security"]:
                yield method.upper(), path


# The service.


# To make the cases takes long: the test does it, and not the collection, as `CONTRACT.parametrize`
# would in each worker.
@pytest.mark.uncounted
@pytest.mark.parametrize("label", LABELS)
def test_whatever_is_sent_is_answered_as_described(label, service, login_of_ada, make_service):
    method, path = label.split()
    site = service if path in OFFERED else make_service(**TERMS)

    @hypothesis_settings(
        deadline=None,
        suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    )
    def check(case):
        case.operation.schema.app = case.operation.app = site
        for headers in ({}, BROWSER, login_of_ada()):
            case.call_and_validate(headers=headers)

    load_all_checks()
    build_operation_test(
        config=CONTRACT.config,
        operation=CONTRACT[path][method],
        test_func=check,
        given_kwargs={},
        feedback=FeedbackSources(),
    )()


@pytest.mark.uncounted
def test_schemathesis_registers_and_logs_in_by_itself(service):
    engine = from_schema(contract_of(service, WITHOUT_CASES)).execute()
    finished = {each.phase.name: each.status for each in engine if isinstance(each, PhaseFinished)}
    assert finished[PhaseName.AUTH_BOOTSTRAP] is Status.SUCCESS


def test_every_answer_that_is_described_is_given(service, make_service, database_url, provider):
    limited = make_service(**THROTTLE)
    throttled = contract_of(limited)
    contract = contract_of(service)
    refresh = refresh_of_ada(service)
    requests = [*REQUESTS, refresh]
    given = {answer for request in requests for answer in answers(contract, *request)}
    login = bearer_of_ada(service)
    given |= {each for request in verifications(service) for each in answers(contract, *request)}
    stale = stale_cookie_of_ada(service)
    for method, path, headers, body in REQUESTS_OF_A_STALE_BROWSER:
        given |= set(answers(contract, method, path, headers, body, cookies=stale))
    for method, path, headers, body in THROTTLED_REQUESTS:
        given |= set(answers(throttled, method, path, headers | login, body))
    for method, path, headers, *body in REQUESTS_OF_A_USER:
        login = bearer_of_ada(service)
        given |= set(answers(contract, method, path, headers | login, *body))
    given |= {each for request in resets_of_ada(service) for each in answers(contract, *request)}
    restorations = restorations_of_ada(service)
    given |= {each for request in restorations for each in answers(contract, *request)}
    given |= set(answers(contract, *code_of_ada(service)))
    for where, domain in ((limited, "a.example"), (service, "b.example")):
        served = contract_of(where)
        requests = invitations(where, domain)
        given |= {each for request in requests for each in answers(served, *request)}
    for requests in (requests_of_keys, questions, first_passwords):
        given |= {each for request in requests(service) for each in answers(contract, *request)}
    given |= {each for request in second_steps(service) for each in answers(contract, *request)}
    requests = passkeys_of_grace(service)
    given |= {each for request in requests for each in answers(contract, *request)}
    requests = provider_requests(service, provider)
    given |= {each for request in requests for each in answers(contract, *request)}
    requests = completions(service)
    given |= {each for request in requests for each in answers(contract, *request)}
    without_passwords = contract_of(make_service(PASSWORD_LOGIN="off"))
    given |= set(answers(without_passwords, "POST", "/login", JSON, json.dumps(ADA), accepts=({},)))
    closed = make_service(OIDC_PROVIDERS=provider.entry("google", create="off"))
    given |= set(answers(contract_of(closed), *completion(closed)))
    for _ in range(2):
        given |= set(answers(throttled, *completion(limited)))
    callbacks = callbacks_of(service, limited, provider)
    given |= {each for where, request in callbacks for each in answers_once(where, *request)}
    callback, unfinished = callback_of(service, provider), completion(service)
    with provider.down():
        away = contract_of(make_service())
        given |= set(answers(away, "POST", "/oidc/google", JSON, "{}"))
    provider.discovery["issuer"] = "https://elsewhere.example"
    wrong = make_service()
    requests = requests_at_wrong_provider(wrong, provider)
    given |= {each for request in requests for each in answers(contract_of(wrong), *request)}
    update_user(ada_of(service), is_superuser=True)
    given |= set(answers(contract, "POST", "/close", JSON | bearer_of_ada(service), "{}"))
    requests = throttled_app_requests(limited)
    given |= {each for request in requests for each in answers(throttled, *request)}
    requests = app_requests(service)
    given |= {each for request in requests for each in answers(contract, *request)}
    asking = make_service(**TERMS)
    requests = terms_requests(asking)
    given |= {each for request in requests for each in answers(contract_of(asking), *request)}
    of_apps = app_requests_without_a_database(service)
    of_terms = [*terms_requests_without_a_database(asking)]
    requests = panel_requests(service)
    given |= {each for request in requests for each in answers(contract, *request)}
    logout = ("POST", "/oidc/google/logout", FORM, f"logout_token={provider.logout_token()}")
    lose(database_url)
    for request in (logout, callback, unfinished, ("GET", *unfinished[1:]), *of_apps):
        given |= set(answers(contract, *request))
    given |= {each for request in of_terms for each in answers(contract_of(asking), *request)}
    for method, path, headers, *body in (
        *REQUESTS_WITHOUT_A_DATABASE,
        *PANEL_WITHOUT_A_DATABASE,
        refresh,
    ):
        given |= set(answers(contract, method, path, headers | login, *body))
    described = {
        (method.upper(), path, status, media_type)
        for path, operations in DOCUMENT["paths"].items()
        for method, operation in operations.items()
        for status, response in operation["responses"].items()
        for media_type in resolved(response).get("content", [None])
        if status
        != "500"  # test_claims.py, test_registration_fields.py and test_data.py draw these
    }
    missing, extra = described - given, given - described
    assert (sorted(map(str, missing)), sorted(map(str, extra))) == ([], [])


@pytest.mark.parametrize(
    ("component", "method", "path", "body", "status"),
    [
        ("Profile", "POST", "/register", BOB, 201),
        ("Profile", "GET", "/me", None, 200),
        ("Token", "POST", "/login", ADA | {"refresh": True}, 200),
        ("Detail", "POST", "/logout", None, 200),
        ("TakenProblem", "POST", "/register", ADA, 409),
        ("InvalidProblem", "POST", "/register", {}, 422),
    ],
)
def test_a_body_has_the_members_that_are_described_and_no_others(
    service, component, method, path, body, status
):
    answer = TestApp(service).request(
        f"/auth{path}",
        method=method,
        headers={**JSON, **bearer_of_ada(service)},
        body=json.dumps(body).encode() if body is not None else b"",
        status=status,
    )
    further = {"restriction"}  # of a login where a second factor is demanded
    described = properties(DOCUMENT["components"]["schemas"][component])
    assert answer.json.keys() == described - further


def properties(schema):
    """Return the names of the members of a schema, and of those that it is made of."""
    name = schema.get("$ref", "").removeprefix("#/components/schemas/")
    described = DOCUMENT["components"]["schemas"][name] if name else schema
    names = set(described.get("properties", {}))
    return names.union(*map(properties, described.get("allOf", [])))


def contract_of(site, config=CONFIG):
    return schemathesis.openapi.from_wsgi("/auth/openapi.json", site, config=config)


def answers_once(site, accept, *request):
    """Yield what a client with this `Accept` is answered, to what it can send only once."""
    yield from answers(contract_of(site), *request, accepts=(accept,))


def answers(
    contract, method, path, headers, body=None, environ=None, cookies=None, accepts=({}, BROWSER)
):
    """Yield what a program and a browser are answered, when that is as described."""
    path, parameters = ROUTER.find(path)
    for accept in accepts:
        answer = (
            contract[path][method]
            .Case(path_parameters={**parameters})
            .call_and_validate(
                headers=headers | accept,
                data=body,
                environ_overrides=environ,
                cookies=cookies,
                # 503 is described, too. `ignored_auth` does not see the cookies above.
                excluded_checks=[not_a_server_error, *([ignored_auth] if cookies else [])],
            )
        )
        media_type = answer.headers.get("content-type", [""])[0].partition(";")[0]
        document = answer.json() if "json" in media_type and answer.content else {}
        sentences = [document.get("detail", ""), *chain(*document.get("errors", {}).values())]
        assert [unmarked(each) for each in sentences if unmarked(each)] == []
        yield method, path, str(answer.status_code), media_type if answer.content else None


def lose(database_url):
    """Make the database fail from now on."""
    storage.discard_connection(storage.current())
    file = Path(database_url.removeprefix("sqlite:///"))
    file.unlink()
    file.mkdir()


def resolved(response):
    """Return what a response object is, or refers to."""
    name = response.get("$ref", "").removeprefix("#/components/responses/")
    return DOCUMENT["components"]["responses"][name] if name else response
