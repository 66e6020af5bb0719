"""Which pages of other origins can read the answers for apps (CORS)."""

from dataclasses import replace

import peewee
import pytest
from webtest import TestApp

from tests.support.oauth_apps import REGISTER, TOKEN, USERINFO, App
from tests.support.service_keys import ISSUER
from tests.support.sites import echo
from tests.support.tables import row_by_row
from wsgiauth import AuthMiddleware
from wsgiauth.app import ROUTES
from wsgiauth.features.oauth_server import clients, origins

ORIGIN, OTHER = "https://page.example", "https://other.example"
URI = f"{ORIGIN}/callback"
REVOKE, KEYS = "/auth/oauth/revoke", "/auth/jwks.json"
OF_APPS = (TOKEN, REVOKE, USERINFO)
SERVICE = "http://localhost/mcp"
DOCUMENTS = (
    "/.well-known/openid-configuration",
    "/.well-known/oauth-authorization-server",
    "/.well-known/oauth-protected-resource/mcp",
    KEYS,
)
EXPOSED = "WWW-Authenticate, Retry-After"


@pytest.fixture
def further():
    return {"SERVICES": (SERVICE,), "OAUTH_REGISTRATION": True}


@pytest.fixture
def page(site):
    """Return an app that is a page in browsers."""
    return App(site, "Page", URI, is_public=True)


def preflight(client, path, origin, method="POST", **headers):
    """Ask as a browser does before it sends what no form can."""
    asked = {"Origin": origin, "Access-Control-Request-Method": method, **headers}
    return client.options(path, headers=asked, status="*")


def allowed(answer):
    assert "Access-Control-Allow-Credentials" not in answer.headers
    return answer.headers.get("Access-Control-Allow-Origin")


def cors_headers(answer):
    return {each for each in answer.headers if each.startswith("Access-Control-")}


def varies(answer):
    return "Origin" in answer.headers.getall("Vary")


def test_these_urls_alone_answer_pages_of_other_origins():
    shared = {f"/auth{path}" for path, each in ROUTES.items() if each.cross_origin is not None}
    assert shared == {*OF_APPS, REGISTER, KEYS}


@row_by_row(
    ("path", "methods"),
    [(TOKEN, "POST"), (REVOKE, "POST"), (USERINFO, "HEAD, GET, POST")],
)
@pytest.mark.usefixtures("page")
def test_a_preflight_of_an_app_is_answered(client, path, methods):
    answer = preflight(client, path, ORIGIN)
    assert (answer.status_int, answer.body) == (204, b"")
    assert allowed(answer) == ORIGIN
    assert answer.headers["Access-Control-Allow-Methods"] == methods
    assert answer.headers["Access-Control-Allow-Headers"] == "authorization, content-type"
    assert answer.headers["Access-Control-Max-Age"] == "3600"
    assert varies(answer)


@row_by_row("path", OF_APPS)
@row_by_row(
    "origin",
    [
        *(OTHER, "null", "", "http://page.example", f"{ORIGIN}:8443", f"{ORIGIN}/callback"),
        *("https://[", f"{ORIGIN}, {OTHER}", f"{ORIGIN}.evil.example", "https://ada@page.example"),
    ],
)
@pytest.mark.promise(95)
@pytest.mark.usefixtures("page")
def test_pages_of_other_origins_get_none_of_the_headers(client, path, origin):
    for answer in (
        preflight(client, path, origin),
        client.post(path, headers={"Origin": origin}, status="*"),
    ):
        assert answer.status_int != 204
        assert cors_headers(answer) == set()
        assert varies(answer)


@pytest.mark.promise(95)
def test_the_redirect_uri_of_a_confidential_client_opens_nothing(site, client):
    App(site, "Wiki", URI)
    assert cors_headers(preflight(client, TOKEN, ORIGIN)) == set()


@row_by_row("origin", ["HTTPS://page.example", f"{ORIGIN}:443"])
@pytest.mark.usefixtures("page")
def test_origins_are_compared_and_not_strings(client, origin):
    assert allowed(preflight(client, TOKEN, origin)) == origin


@row_by_row("origin", ["http://localhost:8080", "http://[::1]:8080", "https://page.example:8080"])
def test_the_port_belongs_to_the_origin(site, client, origin):
    """Although an app can name another port of this computer in a request."""
    App(site, "Page", f"{origin}/callback", is_public=True)
    assert allowed(preflight(client, TOKEN, origin)) == origin
    assert allowed(preflight(client, TOKEN, origin.replace("8080", "9090"))) is None


def test_an_app_reads_each_answer(site, client, browser, page, clock):
    from_page = {"Origin": ORIGIN}
    tokens = page.log_in(browser)
    bearer = {"Authorization": f"Bearer {tokens['access_token']}"}
    refreshed = {"grant_type": "refresh_token", "refresh_token": tokens["refresh_token"]}
    answers = [
        client.get(USERINFO, headers={**from_page, **bearer}, status=200),
        client.post(TOKEN, {"client_id": page.id, **refreshed}, headers=from_page, status=200),
        client.post(TOKEN, {}, headers=from_page, status=415),
        client.post(TOKEN, {"client_id": page.id}, headers=from_page, status=400),
        client.post(TOKEN, {"client_id": "unknown"}, headers=from_page, status=401),
        client.get(USERINFO, headers=from_page, status=401),
        client.get(TOKEN, headers=from_page, status=405),
        client.post(
            REVOKE,
            {"client_id": page.id, "token": tokens["refresh_token"]},
            headers=from_page,
            status=200,
        ),
    ]
    for each in answers:
        assert allowed(each) == ORIGIN
        assert each.headers["Access-Control-Expose-Headers"] == EXPOSED
        assert varies(each)


def test_an_app_reads_that_the_database_is_away(client, page, monkeypatch):
    assert allowed(preflight(client, TOKEN, ORIGIN)) == ORIGIN

    def fail(*_):
        raise peewee.OperationalError("away")

    monkeypatch.setattr(clients, "find", fail)
    monkeypatch.setattr(origins._FIND, "fetchone", fail)
    answer = client.post(TOKEN, {"client_id": page.id}, headers={"Origin": ORIGIN}, status=503)
    assert allowed(answer) == ORIGIN
    assert "Retry-After" in answer.headers


def test_without_an_origin_nothing_is_looked_up(client, page, queries):
    def ask():
        return client.post(TOKEN, {"client_id": "a"}, status=401)

    before = len(queries(ask))
    answer = ask()
    assert (cors_headers(answer), varies(answer)) == (set(), True)
    assert len(queries(lambda: preflight(client, TOKEN, ORIGIN))) == 1
    assert len(queries(ask)) == before


@row_by_row("origin", [OTHER, "null", "chrome-extension://abc", "http://localhost:6274"])
def test_pages_of_all_origins_read_what_is_public(client, origin):
    for path in DOCUMENTS:
        asked = {"Access-Control-Request-Headers": "mcp-protocol-version,x-a"}
        answer = preflight(client, path, origin, "GET", **asked)
        assert (answer.status_int, allowed(answer)) == (204, "*")
        assert answer.headers["Access-Control-Allow-Headers"] == (
            "authorization, content-type, mcp-protocol-version,x-a"
        )
        assert set(answer.headers["Access-Control-Allow-Methods"].split(", ")) == {"GET", "HEAD"}
        read = client.get(path, headers={"Origin": origin})
        assert (allowed(read), "Vary" in read.headers) == ("*", False)


def test_what_is_public_says_so_without_an_origin_too(client):
    """A cache can give the answer to a page of any origin later."""
    assert {allowed(client.get(each)) for each in DOCUMENTS} == {"*"}
    assert {allowed(client.head(each)) for each in DOCUMENTS} == {"*"}


@row_by_row("names", ["", "a b", "x-a;y", "\u00e9".encode().decode("latin-1"), "x-a, " * 300 + "b"])
def test_other_lists_of_headers_are_not_repeated(client, names):
    asked = {"Access-Control-Request-Headers": names}
    answer = preflight(client, KEYS, OTHER, "GET", **asked)
    assert answer.headers["Access-Control-Allow-Headers"] == "authorization, content-type"


def test_what_is_public_below_a_path_is_at_the_root_of_its_host_as_well(settings):
    made = replace(settings, PUBLIC_URL=f"{ISSUER}/app", SERVICES=(f"{ISSUER}/app/mcp",))
    outer = TestApp(AuthMiddleware(echo, settings=made))
    for path in (
        "/.well-known/oauth-authorization-server/app",
        "/.well-known/openid-configuration/app",
        "/.well-known/oauth-protected-resource/app/mcp",
    ):
        assert allowed(preflight(outer, path, OTHER, "GET")) == "*"
        assert allowed(outer.get(path)) == "*"


def test_the_application_answers_other_requests_above_the_mount(client):
    """`echo` answers all of them."""
    path = DOCUMENTS[0]
    assert "user" in client.options(path).json
    assert "user" in client.post(path, headers={"Origin": OTHER}).json
    change = preflight(client, "/.well-known/change-password", OTHER)
    assert ("user" in change.json, cors_headers(change)) == (True, set())


@row_by_row("origin", ["http://localhost:6274", "http://localhost", "http://127.0.0.1:1"])
def test_a_page_of_this_computer_registers_an_app(client, origin):
    assert allowed(preflight(client, REGISTER, origin)) == origin
    sent = {"redirect_uris": [f"{origin}/callback"]}
    answer = client.post_json(REGISTER, sent, headers={"Origin": origin}, status=201)
    assert (allowed(answer), varies(answer)) == (origin, True)
    assert allowed(client.post_json(REGISTER, {}, headers={"Origin": origin}, status=400)) == origin
    assert allowed(preflight(client, TOKEN, origin)) == origin


@row_by_row("origin", ["http://[::1]:6274", "http://localhost:65535"])
def test_any_port_of_this_computer_can_register(client, origin):
    assert allowed(preflight(client, REGISTER, origin)) == origin


@row_by_row(
    "origin",
    [ORIGIN, "https://localhost:6274", "http://localhost.evil.example", "http://10.0.0.1", "null"],
)
@pytest.mark.promise(95)
@pytest.mark.usefixtures("page")
def test_a_page_of_the_web_registers_nothing(client, origin):
    for answer in (
        preflight(client, REGISTER, origin),
        client.post_json(REGISTER, {}, headers={"Origin": origin}, status=400),
    ):
        assert (cors_headers(answer), varies(answer)) == (set(), True)


def test_a_page_reads_when_it_can_register_again(settings):
    limited = TestApp(AuthMiddleware(echo, replace(settings, OAUTH_REGISTRATIONS_PER_ADDRESS=1)))
    origin, sent = "http://localhost:6274", {"redirect_uris": ["http://localhost:6274/"]}
    for status in (201, 429):
        answer = limited.post_json(REGISTER, sent, headers={"Origin": origin}, status=status)
        assert allowed(answer) == origin
    assert "Retry-After" in answer.headers


@row_by_row(
    "path",
    [
        *("authorize", "consent", "login", "me", "openapi.json", "introspect", "oauth/device"),
        *("apps", "oauth/logout", "token", "account", "unknown"),
    ],
)
@pytest.mark.promise(95)
@pytest.mark.usefixtures("page")
def test_other_urls_answer_no_page_of_another_origin(client, path):
    for origin in (ORIGIN, "http://localhost:6274"):
        for answer in (
            preflight(client, f"/auth/{path}", origin),
            client.get(f"/auth/{path}", headers={"Origin": origin}, status="*"),
        ):
            assert cors_headers(answer) == set()


def test_a_site_that_is_no_provider_has_none(settings):
    off = dict.fromkeys(("OAUTH_SERVER", "OAUTH_REGISTRATION"), False)
    changed = replace(settings, SERVICE_KEYS=None, SERVICES=(), **off)
    other = TestApp(AuthMiddleware(echo, changed))
    for path in (*OF_APPS, REGISTER, KEYS):
        answer = preflight(other, path, ORIGIN)
        assert (answer.status_int, cors_headers(answer)) == (404, set())


@row_by_row("path", OF_APPS)
@pytest.mark.promise(95)
@pytest.mark.usefixtures("page")
def test_a_cookie_counts_nowhere(site, client, browser, path):
    """A page whose requests are answered so gets with a user's cookie what it gets without."""
    headers = {"Origin": ORIGIN, "Sec-Fetch-Site": "cross-site"}
    answers = [each.post(path, headers=headers, status="*") for each in (client, browser)]
    assert len({(each.status, each.body) for each in answers}) == 1
    assert "Set-Cookie" not in answers[1].headers


@pytest.mark.promise(8)
@pytest.mark.usefixtures("page")
def test_a_page_of_an_app_can_send_no_form_of_a_user(browser):
    """The origins of apps are none of TRUSTED_ORIGINS."""
    headers = {"Origin": ORIGIN, "Sec-Fetch-Site": "cross-site"}
    answer = browser.post("/auth/logout", headers=headers, status=403)
    assert answer.json["code"] == "cross_origin"
    assert cors_headers(answer) == set()
