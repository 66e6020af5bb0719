"""Answers to identified callers, and the caches that other callers share."""

import http.client
import ssl
import sys
from types import SimpleNamespace
from wsgiref.validate import validator

import pytest
from webob import Request
from webtest import TestApp

from tests.frameworks.clients import PATIENCE, Client, cookie, settings_of
from tests.support.nginx import nginx
from tests.support.sites import BROWSER, USERNAME, echo, serving
from tests.support.tables import row_by_row
from wsgiauth import AuthMiddleware, login_required, permission_required, storage

PLAIN = ("Content-Type", "text/plain")
PRIVATE = [("Cache-Control", "private")]
VARY = [("Vary", "Authorization, Cookie")]

SERVER = """
    proxy_cache_path cache keys_zone=pages:1m;
    server {{
        listen 443 ssl;
        ssl_certificate certificate.pem;
        ssl_certificate_key key.pem;
        location / {{
            proxy_pass {address};
            proxy_set_header Host $http_host;
            proxy_set_header X-Forwarded-Proto $scheme;
            proxy_cache pages;
            proxy_cache_valid any 1m;
            add_header X-Cache $upstream_cache_status always;
        }}
    }}
"""


@pytest.fixture
def stage():
    """Return an application that shows whichever view a test puts on it."""
    return SimpleNamespace(view=echo)


@pytest.fixture
def site(settings, stage):
    middleware = AuthMiddleware(lambda *arguments: stage.view(*arguments), settings)
    yield middleware
    storage.discard_connection(storage.current())


@pytest.fixture
def credentials(ada, bearer):
    """Return the headers of a user, by what they identify themselves with."""
    headers = bearer(ada)
    token = headers["Authorization"].removeprefix("Bearer ")
    return {"bearer": headers, "cookie": {"Cookie": f"wsgiauth={token}"}}


def answering(status, *headers):
    has_body = not status.startswith("304")

    def view(environ, start_response):
        start_response(status, [PLAIN, *headers] if has_body else list(headers))
        return [b"x"] if has_body else []

    return view


def added(client, headers):
    """Return the headers that concern caches, of an answer with any status."""
    answer = client.get("/", headers=headers, expect_errors=True)
    names = {"cache-control", "vary"}
    return [(name, value) for name, value in answer.headerlist if name.lower() in names]


STATUSES = ["200 OK", "304 Not Modified", "301 Moved Permanently", "404 Not Found", "410 Gone"]
BY = pytest.mark.parametrize("by", ["bearer", "cookie"])


@pytest.mark.promise(21)
@BY
def test_an_identified_callers_answer_is_private(client, stage, credentials, by):
    for status in STATUSES:
        stage.view = answering(status)
        assert added(client, credentials[by]) == [*PRIVATE, *VARY], status


@pytest.mark.promise(21)
@row_by_row(
    "headers",
    [
        pytest.param({}, id="no credentials"),
        pytest.param({"Authorization": "Bearer x.y.z"}, id="stale token"),
        pytest.param({"Cookie": "wsgiauth=x.y.z"}, id="stale cookie"),
        pytest.param({"Cookie": "theme=dark"}, id="another cookie"),
    ],
)
def test_an_anonymous_callers_answer_is_left_as_it_is(client, stage, headers):
    for status in STATUSES:
        stage.view = answering(status, ("Vary", "Accept"))
        assert added(client, headers) == [("Vary", "Accept")], status


@pytest.mark.promise(21)
@BY
def test_an_application_that_sets_cache_control_decides(client, stage, credentials, by):
    for headers in (
        [("Cache-Control", "public, max-age=60")],
        [("cache-control", "no-store"), ("vary", "Accept")],
        [("Vary", "Accept"), ("Cache-Control", "no-cache"), ("Cache-Control", "private")],
    ):
        stage.view = answering("200 OK", *headers)
        assert added(client, credentials[by]) == headers


@pytest.mark.promise(21)
def test_the_applications_vary_is_kept_and_merged(client, stage, credentials):
    for varying, merged in (
        (["Accept-Encoding"], "Accept-Encoding, Authorization, Cookie"),
        (["accept, COOKIE"], "accept, COOKIE, Authorization"),
        (["Cookie,Authorization"], "Cookie, Authorization"),
        (["Accept", "Origin, Cookie"], "Accept, Origin, Cookie, Authorization"),
        (["X-Cookie"], "X-Cookie, Authorization, Cookie"),
        (["*"], "*"),
        (["Accept", "*"], "*"),
        ([""], "Authorization, Cookie"),
        ([", Accept,"], "Accept, Authorization, Cookie"),
    ):
        stage.view = answering("200 OK", *(("Vary", value) for value in varying))
        assert added(client, credentials["cookie"]) == [*PRIVATE, ("Vary", merged)]


@pytest.mark.promise(21)
def test_the_other_headers_and_the_list_are_the_applications(site, stage, credentials):
    headers = [("Set-Cookie", "a=1"), ("Vary", "Accept"), PLAIN, ("Set-Cookie", "b=2")]
    given, seen = list(headers), []

    def view(environ, start_response):
        start_response("200 OK", given)
        return []

    stage.view = view
    site(
        Request.blank("/", headers=credentials["cookie"]).environ,
        lambda status, headers: seen.append((status, headers)),
    )
    assert given == headers
    others = [("Set-Cookie", "a=1"), PLAIN, ("Set-Cookie", "b=2")]
    merged = ("Vary", "Accept, Authorization, Cookie")
    assert seen == [("200 OK", [*others, *PRIVATE, merged])]


@pytest.mark.promise(21)
def test_write_and_exc_info_are_the_servers(site, stage, credentials):
    calls, written, answer = [], [], iter([b"end"])

    def start_response(status, headers, *exc_info):
        calls.append((status, headers, *(each[0] for each in exc_info)))
        return written.append

    def view(environ, start_response):
        start_response("200 OK", [])(b"begun")
        try:
            raise LookupError
        except LookupError:
            start_response("500 Oops", [PLAIN], sys.exc_info())(b"failed")
        return answer

    stage.view = view
    environ = Request.blank("/", headers=credentials["cookie"]).environ
    assert next(iter(site(environ, start_response))) == b"end"
    assert written == [b"begun", b"failed"]
    assert calls == [
        ("200 OK", [*PRIVATE, *VARY]),
        ("500 Oops", [PLAIN, *PRIVATE, *VARY], LookupError),
    ]


@pytest.mark.promise(21)
@pytest.mark.parametrize("challenge", [False, True])
def test_a_private_answer_keeps_to_pep_3333(settings, credentials, challenge):
    client = TestApp(validator(AuthMiddleware(validator(echo), settings, challenge=challenge)))
    for headers in credentials.values():
        client.get("/", headers=headers, status=200)


@pytest.mark.promise(21)
@pytest.mark.parametrize(
    "guard",
    [
        login_required(redirect_url="/auth/login"),
        permission_required("reports.publish"),
    ],
    ids=["login", "permission"],
)
def test_no_guards_refusal_is_stored(client, stage, credentials, guard):
    stage.view = guard(answering("200 OK", ("Cache-Control", "public")))
    for caller in ({}, *credentials.values()):
        for accept in ({}, BROWSER):
            answer = client.get("/", headers={**accept, **caller}, expect_errors=True)
            expected = "public" if answer.status_int == 200 else "no-store"
            assert answer.headers.getall("Cache-Control") == [expected]


@pytest.fixture(scope="module")
def https(tmp_path_factory):
    """Return a client of a site behind nginx's cache; /members is for users only."""
    folder = tmp_path_factory.mktemp("cache")
    members = login_required(redirect_url="/auth/login")(echo)

    def app(environ, start_response):
        view = members if environ["PATH_INFO"] == "/members" else echo
        return view(environ, start_response)

    site = AuthMiddleware(app, settings_of(folder))
    options = {"trusted_proxy": "127.0.0.1", "trusted_proxy_headers": "x-forwarded-proto"}
    with (
        serving(site, threads=4, **options) as address,
        nginx(folder, SERVER.format(address=address)) as port,
    ):
        context = ssl.create_default_context(cafile=folder / "certificate.pem")
        yield Client(
            lambda: http.client.HTTPSConnection(
                "127.0.0.1", port, timeout=PATIENCE, context=context
            )
        )


@pytest.mark.promise(21)
@BY
def test_a_shared_cache_shows_no_users_page_to_others(https, by):
    headers = cookie(https.log_in()) if by == "cookie" else https.bearer()
    callers = [headers, {}, headers, {}]
    answers = [https.ask("GET", f"/{by}", headers=each) for each in callers]
    # What the stranger was shown is stored, and says nothing about anybody.
    assert [answer.json["user"] for answer in answers] == [USERNAME, None, None, None]
    assert [answer.headers["X-Cache"] for answer in answers] == ["MISS", "MISS", "HIT", "HIT"]


@pytest.mark.promise(21)
def test_a_shared_cache_stores_no_refusal(https):
    user = {**BROWSER, **cookie(https.log_in())}
    answers = [https.ask("GET", "/members", headers=each) for each in (BROWSER, user, {}, user)]
    assert [answer.status for answer in answers] == [302, 200, 401, 200]
