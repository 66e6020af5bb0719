"""openapi.json describes the running service: every answer it gives, and none that it does not."""

import json
import re
import unicodedata
from pathlib import Path

import pytest
import schemathesis
from hypothesis import HealthCheck
from hypothesis import settings as hypothesis_settings
from schemathesis.checks import not_a_server_error
from schemathesis.engine import Status, from_schema
from schemathesis.engine.events import PhaseFinished
from schemathesis.engine.run import PhaseName
from webtest import TestApp

import wsgiauth
from tests.support.sites import BROWSER, EMAIL, PASSWORD, SECRET_KEY, USERNAME, echo
from wsgiauth import AuthMiddleware, Settings, storage
from wsgiauth.accounts.names import email_problem, username_problem
from wsgiauth.app import ROUTES

DOCUMENT = json.loads(Path(wsgiauth.__file__).with_name("openapi.json").read_text(encoding="utf-8"))
CONFIG = schemathesis.Config.from_dict(
    {
        "seed": 1815,
        "generation": {"max-examples": 5, "deterministic": True},
        "operations": [
            {
                "include-name": "POST /register",
                # A name can be taken, or break a rule that no schema can tell.
                "checks": {"positive_data_acceptance": {"expected-statuses": [201, 409, 422]}},
            }
        ],
    }
)
PHASES = ("examples", "coverage", "fuzzing", "stateful")
WITHOUT_CASES = schemathesis.Config.from_dict(
    {"phases": {phase: {"enabled": False} for phase in PHASES}}
)
CONTRACT = schemathesis.openapi.from_dict(DOCUMENT, config=CONFIG)

ADA = {"username": USERNAME, "email": EMAIL, "password": PASSWORD}
BOB = {"username": "Bob", "email": "bob@example.org", "password": PASSWORD}
JSON = {"Content-Type": "application/json"}
CROSS_SITE = {"Sec-Fetch-Site": "cross-site"}

# Requests that between them draw every described answer: method, path, headers, body, environ.
REQUESTS = [
    *(
        ("POST", path, *request)
        for path in ("/register", "/login")
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
    ("GET", "/register", {}),
    ("GET", "/login", {}),
    ("GET", "/openapi.json", {}),
    ("GET", "/logout", {}),
    ("GET", "/logout", CROSS_SITE),
    ("POST", "/logout", {}),
    ("POST", "/logout", CROSS_SITE),
    ("GET", "/me", {}),
]
REQUESTS_WITHOUT_A_DATABASE = [  # by somebody who had logged in before it went away
    ("GET", "/me", {}),
    ("GET", "/login", {}),
    ("GET", "/logout", {}),
    ("POST", "/logout", {}),
    ("POST", "/register", JSON, json.dumps(ADA)),
    ("POST", "/login", JSON, json.dumps(ADA)),
]
# Sent often enough, each draws 429 where one attempt is free: the waits double from one second on.
THROTTLED_REQUESTS = [
    ("POST", "/register", JSON, json.dumps(BOB)),
    ("POST", "/login", JSON, json.dumps({"username": "unknown", "password": "wrong"})),
] * 5
THROTTLE = {"LOGIN_FAILURES_PER_ADDRESS": "1", "REGISTRATIONS_PER_ADDRESS": "1"}


@pytest.fixture
def make_service(database_url):
    """Return a function that makes a site, without a throttle unless the test asks for one."""

    def make(mount="/auth", **changes):
        defaults = {
            "SECRET_KEY": SECRET_KEY,
            "BCRYPT_ROUNDS": "4",
            "DATABASE_URL": database_url,
            "LOGIN_FAILURES_PER_ACCOUNT": "0",
            "LOGIN_FAILURES_PER_ADDRESS": "0",
            "REGISTRATIONS_PER_ADDRESS": "0",
        }
        return AuthMiddleware(echo, Settings.from_mapping(defaults | changes), mount=mount)

    return make


@pytest.fixture
def service(make_service):
    """Return a site where Ada has an account."""
    site = make_service()
    TestApp(site).post_json("/auth/register", ADA)
    return site


def bearer_of_ada(site):
    token = TestApp(site).post_json("/auth/login", ADA).json["access_token"]
    return {"Authorization": f"Bearer {token}"}


# The document.


def test_the_description_is_openapi_3_1():
    assert DOCUMENT["openapi"].startswith("3.1.")
    CONTRACT.validate()


def test_every_route_is_described_and_nothing_else():
    described = {path: {*operations} for path, operations in DOCUMENT["paths"].items()}
    assert described == {path: {*map(str.lower, methods)} for path, methods in ROUTES.items()}


def test_every_reference_leads_to_a_component_and_every_component_is_referred_to():
    references = set(re.findall(r'"\$ref": "#/components/([^"]+)"', json.dumps(DOCUMENT)))
    required = {
        f"securitySchemes/{scheme}"
        for operations in DOCUMENT["paths"].values()
        for operation in operations.values()
        for alternative in operation["security"]
        for scheme in alternative
    }
    components = {
        f"{kind}/{name}" for kind, named in DOCUMENT["components"].items() for name in named
    }
    assert references | required == components


def test_the_description_has_the_version_of_the_package():
    assert DOCUMENT["info"]["version"] == wsgiauth.__version__


@pytest.mark.parametrize(
    ("schema", "problem", "form"),
    [("Username", username_problem, "a{}b"), ("Email", email_problem, "a{0}b@c{0}d.example")],
)
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


def test_the_description_is_served_as_json(service):
    answer = TestApp(service).get("/auth/openapi.json", headers=BROWSER)
    assert answer.content_type == "application/json"
    assert answer.json == {**DOCUMENT, "servers": [{"url": "/auth"}]}


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
    assert client.get(f"{mount}/login").form.action == f"{url}/login"


def test_where_registration_is_off_it_is_not_described(make_service):
    closed = TestApp(make_service(REGISTRATION="off")).get("/auth/openapi.json").json
    opened = TestApp(make_service()).get("/auth/openapi.json").json
    assert closed["paths"].keys() == opened["paths"].keys() - {"/register"}
    assert opened["paths"] == DOCUMENT["paths"]


def test_it_names_the_cookie_as_it_is_configured(make_service):
    served = TestApp(make_service(COOKIE_NAME="shop")).get("/auth/openapi.json").json
    schemes = served["components"]["securitySchemes"]
    names = {name: scheme.get("name") for name, scheme in schemes.items()}
    assert names == {"bearer": None, "cookie": "shop", "secureCookie": "__Host-shop"}


# The service.


@pytest.mark.parametrize("caller", ["program", "browser", "somebody logged in"])
@CONTRACT.parametrize()
@hypothesis_settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_is_sent_is_answered_as_described(case, service, caller):
    case.operation.schema.app = case.operation.app = service
    headers = BROWSER if caller == "browser" else {}
    if caller == "somebody logged in":
        headers = bearer_of_ada(service)
    case.call_and_validate(headers=headers)


def test_schemathesis_registers_and_logs_in_by_itself(service):
    engine = from_schema(contract_of(service, WITHOUT_CASES)).execute()
    finished = {each.phase.name: each.status for each in engine if isinstance(each, PhaseFinished)}
    assert finished[PhaseName.AUTH_BOOTSTRAP] is Status.SUCCESS


def test_every_answer_that_is_described_is_given(service, make_service, database_url):
    throttled = contract_of(make_service(**THROTTLE))
    contract = contract_of(service)
    given = {answer for request in REQUESTS for answer in answers(contract, *request)}
    given |= {answer for request in THROTTLED_REQUESTS for answer in answers(throttled, *request)}
    bearer = bearer_of_ada(service)
    given |= set(answers(contract, "GET", "/me", bearer))
    lose(database_url)
    for method, path, headers, *body in REQUESTS_WITHOUT_A_DATABASE:
        given |= set(answers(contract, method, path, headers | bearer, *body))
    described = {
        (method.upper(), path, status, media_type)
        for path, operations in DOCUMENT["paths"].items()
        for method, operation in operations.items()
        for status, response in operation["responses"].items()
        for media_type in resolved(response).get("content", [None])
    }
    assert given == described


@pytest.mark.parametrize(
    ("component", "method", "path", "body", "status"),
    [
        ("Profile", "POST", "/register", BOB, 201),
        ("Profile", "GET", "/me", None, 200),
        ("Token", "POST", "/login", ADA, 200),
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
    assert answer.json.keys() == properties(DOCUMENT["components"]["schemas"][component])


def properties(schema):
    """Return the names of the members of a schema, and of those that it is made of."""
    name = schema.get("$ref", "").removeprefix("#/components/schemas/")
    described = DOCUMENT["components"]["schemas"][name] if name else schema
    names = set(described.get("properties", {}))
    return names.union(*map(properties, described.get("allOf", [])))


def contract_of(site, config=CONFIG):
    return schemathesis.openapi.from_wsgi("/auth/openapi.json", site, config=config)


def answers(contract, method, path, headers, body=None, environ=None):
    """Yield what a program and a browser are answered, when that is as described."""
    for accept in ({}, BROWSER):
        answer = (
            contract[path][method]
            .Case()
            .call_and_validate(
                headers=headers | accept,
                data=body,
                environ_overrides=environ,
                excluded_checks=[not_a_server_error],  # 503 is described, too
            )
        )
        media_type = answer.headers["content-type"][0].partition(";")[0]
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
