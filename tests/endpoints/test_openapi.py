"""openapi.json describes the running service: every answer it gives, and none that it does not."""

import json
import re
import unicodedata
from functools import cache
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
from tests.features.terms.sites import TERMS
from tests.support import features
from tests.support.catalogues import marked
from tests.support.contract import (
    DOCUMENT,
    JSON,
    Request,
    World,
    address,
    common,
    contract_config,
    cookie_in,
    modules,
    operations,
    requires_session,
    sent,
    without_a_database,
)
from tests.support.logins import find_session
from tests.support.mails import Post
from tests.support.sites import BROWSER, EMAIL, PASSWORD, USERNAME, echo
from wsgiauth import AuthMiddleware, Field, Settings, storage
from wsgiauth.accounts.models import User
from wsgiauth.accounts.names import email_problem, username_problem
from wsgiauth.app import ROUTES
from wsgiauth.languages import SHIPPED
from wsgiauth.storage import context
from wsgiauth.testing import bearer, make_user
from wsgiauth.testing.feature_rules.languages import unmarked
from wsgiauth.web.urls import Router

CONFIG = contract_config(5, seed=1815, deterministic=True)
PHASES = ("examples", "coverage", "fuzzing", "stateful")
WITHOUT_CASES = schemathesis.Config.from_dict(
    {"phases": {phase: {"enabled": False} for phase in PHASES}}
)
ROUTER = Router({path: path for path in ROUTES})
CONTRACT = schemathesis.openapi.from_dict(DOCUMENT, config=CONFIG)
LABELS = [f"{method} {path}" for method, path, _operation in operations()]

ADA = {"username": USERNAME, "email": EMAIL, "password": PASSWORD}
BOB = {"username": "Bob", "email": "bob@example.org", "password": PASSWORD}

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

    def make(mount="/auth", *, has_demands=False, **changes):
        defaults = {
            **features.settings(tmp_path, provider.entry("google"), has_demands=has_demands),
            "DATABASE_URL": database_url,
            "BASIC_AUTH": "off",  # Schemathesis sees only the first of two challenges
            "LOGIN_FAILURES_PER_ACCOUNT": "0",
            "LOGIN_FAILURES_PER_ADDRESS": "0",
            "REGISTRATIONS_PER_ADDRESS": "0",
            "MAILS_PER_ACCOUNT": "0",
            "MAILS_PER_ADDRESS": "0",
            "LANGUAGES": " ".join(("it", *SHIPPED)),  # Italian is the one of `marks`
            "TRANSLATIONS": str(marks),
        }
        settings = Settings.from_mapping(defaults | changes)
        return AuthMiddleware(echo, settings, mount=mount, send_mail=Post())

    return make


@pytest.fixture
def world(make_service, provider):
    """Return the sites that requests are sent to."""
    site, demanding = make_service(), make_service(has_demands=True)
    return World(site, demanding, make_service(**THROTTLE), make_service, provider)


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
    with context.using(site.database):
        ada = User.objects.all().first()
    return bearer(site, ada or make_user(site))


# The document.


def test_the_description_is_openapi_3_1():
    assert DOCUMENT["openapi"].startswith("3.1.")
    CONTRACT.validate()


def test_every_route_is_described_and_nothing_else():
    described = {path: {*item} for path, item in DOCUMENT["paths"].items()}
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
    assert "phone" not in schema_of(DOCUMENT, "/register")["properties"]


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
    offered = {path for path, each in ROUTES.items() if each.is_offered(service.site.settings)}
    assert answer.json["paths"] == {path: DOCUMENT["paths"][path] for path in offered}
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
    document, made = TestApp(site).get("/auth/openapi.json").json, set()
    world = World(site, site, site, make_service, None)
    refused = {"302", "303", "403"}
    for method, path, operation in operations(document):
        if not requires_session(operation):
            continue
        made.add((method, path))
        login = bearer(site, world.user(terms=False), terms=False)
        where, body = address(path, operation), "{}" if method == "POST" else None
        request = Request(method, where, JSON | login, body, accepts=({},))
        drawn = {*answers(world, request)}
        is_refused = (method, path, "403", "application/problem+json") in drawn
        assert is_refused is ((method, path) not in REACHED_WITHOUT_THE_TERMS), (method, path)
        if is_refused and method == "GET":
            page = Request(method, where, cookies=cookie_in(login), accepts=(BROWSER,))
            (drawn,) = answers(world, page)
            assert drawn[2:] == ("302", None)
        described = operation["responses"].keys()
        assert refused - described == {"302" if method == "POST" else "303"} - described
    assert made >= REACHED_WITHOUT_THE_TERMS


def test_what_a_session_lacks_is_described(make_service):
    site, ada = make_service(**TERMS), {**ADA, "accept_terms": "2026-11-27"}
    assert given_by(site, "/register", ada) == {"409"}
    assert given_by(site, "/register", {**ada, "accept_terms": True}) == {"201"}
    later = make_service(**TERMS | {"TERMS_VERSION": "2026-11-29"})
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
    world = World(site, site, site, make_service, None)
    drawn = answers(world, Request("GET", url, login, accepts=({},)))
    assert [status for _method, _path, status, _type in drawn] == ["200"]
    shown = TestApp(site).get(f"/auth{url}", headers=login).json["accepted_terms"]
    assert [each["version"] for each in shown] == [TERMS["TERMS_VERSION"]]


def given_by(site, path, fields):
    """Return the statuses of the answers to JSON."""
    drawn = answers(World(site, site, site, None, None), sent("POST", path, fields, accepts=({},)))
    return {status for _method, _path, status, _type in drawn}


# The service.


# To make the cases takes long: the test does it, and not the collection, as `CONTRACT.parametrize`
# would in each worker.
@pytest.mark.uncounted
@pytest.mark.parametrize("label", LABELS)
def test_whatever_is_sent_is_answered_as_described(label, service, login_of_ada, make_service):
    method, path = label.split()
    site, login = service, login_of_ada
    if not ROUTES[path].is_offered(site.site.settings):
        site = make_service(has_demands=True)
        user = make_user(site, "grace")  # who meets every demand

        def login():
            return bearer(site, user)

    @hypothesis_settings(
        deadline=None,
        suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    )
    def check(case):
        case.operation.schema.app = case.operation.app = site
        for headers in ({}, BROWSER, login()):
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


def test_every_answer_that_is_described_is_given(world, database_url):
    """500 is left to `test_claims`, `test_id_claims`, `test_registration_fields`, `test_data`."""
    given = set()
    for module in modules():
        for each in module.answers(world):
            given |= {*answers(world, each)}
    for each in common(world):
        given |= {*answers(world, each)}
    last = without_a_database(world)
    for module in modules():
        last += getattr(module, "without_a_database", lambda world: [])(world)
    lose(database_url)
    for each in last:
        given |= {*answers(world, each)}
    described = {
        (method, path, status, media_type)
        for method, path, operation in operations()
        for status, response in operation["responses"].items()
        for media_type in resolved(response).get("content", [None])
        if status != "500"
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


@cache
def _contract_of(site):
    return contract_of(site)


def contract_of(site, config=CONFIG):
    return schemathesis.openapi.from_wsgi("/auth/openapi.json", site, config=config)


def answers(world, request):
    """Yield what a program and a browser are answered, when that is as described."""
    request = Request(*request)
    site = request.site or world.site
    path, parameters = ROUTER.find(request.path)
    environ = dict(request.environ or {})
    if request.query:
        environ["QUERY_STRING"] = request.query
    for accept in request.accepts:
        answer = (
            _contract_of(site)[path][request.method]
            .Case(path_parameters={**parameters})
            .call_and_validate(
                headers={**request.headers, **accept},
                data=request.body,
                environ_overrides=environ or None,
                cookies=dict(request.cookies or {}) or None,
                # 503 is described, too. `ignored_auth` does not see the cookies above.
                excluded_checks=[not_a_server_error, *([ignored_auth] if request.cookies else [])],
            )
        )
        media_type = answer.headers.get("content-type", [""])[0].partition(";")[0]
        document = answer.json() if "json" in media_type and answer.content else {}
        sentences = [document.get("detail", ""), *chain(*document.get("errors", {}).values())]
        assert [unmarked(each) for each in sentences if unmarked(each)] == []
        yield request.method, path, str(answer.status_code), media_type if answer.content else None


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
