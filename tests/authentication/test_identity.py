"""Identity: which header says who is calling, and the cookie that remembers them."""

import dataclasses
import json
from contextlib import ExitStack
from urllib.parse import urlencode
from urllib.request import HTTPCookieProcessor, Request, build_opener
from wsgiref.util import shift_path_info

import pytest
from webtest import TestApp

from tests.support.sites import EMAIL, PASSWORD, SAME_ORIGIN, SECRET_KEY, USERNAME, echo, serving
from wsgiauth import AuthMiddleware, Settings, storage
from wsgiauth.accounts import create_user
from wsgiauth.authentication.identity import bearer_token
from wsgiauth.web.cookies import MAX_COOKIE_HEADER

HTTPS = {"wsgi.url_scheme": "https"}
CREDENTIALS = {"username": USERNAME, "password": PASSWORD}
ATTRIBUTES = ["HttpOnly", "Path=/", "SameSite=Lax"]


@pytest.fixture
def settings(settings):
    """Return the settings with an origin that is trusted."""
    return dataclasses.replace(settings, TRUSTED_ORIGINS=("https://app.example.org",))


@pytest.fixture
def token(ada, bearer):
    """Return a token of Ada's."""
    return bearer(ada)["Authorization"].removeprefix("Bearer ")


def caller(client, *, method="GET", environ=None, **headers):
    """Return the username that the wrapped app is told, and the error."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    answer = client.request("/", method=method, headers=named, environ=environ)
    return answer.json["user"], answer.json["error"]


def cookie_of(answer):
    """Return the name and value of the login cookie that was set, and its attributes, sorted."""
    cookies = answer.headers.getall("Set-Cookie")
    (header,) = (each for each in cookies if "-done=" not in each)
    pair, *attributes = header.split("; ")
    name, _, value = pair.partition("=")
    return name, value, sorted(attributes)


# The Authorization header.


@pytest.mark.promise(4)
def test_the_scheme_is_read_in_any_letter_case(client, token):
    for scheme in ["Bearer ", "bearer ", "BEARER ", "bEaReR ", " Bearer  ", "\tBearer "]:
        assert caller(client, Authorization=scheme + token) == (USERNAME, None)


def test_a_malformed_bearer_is_nobody_and_an_invalid_token(client, token):
    for case, form in {
        "no token": "Bearer",
        "empty token": "Bearer ",
        "padded": "Bearer {}=",
        "two words": "Bearer {} x",
        "two headers joined": "Bearer {0}, Bearer {0}",
        "quoted": 'Bearer "{}"',
        "scheme twice": "Bearer Bearer {}",
        "not ASCII": "Bearer {}\xff",
        "garbage": "Bearer x.y.z",
    }.items():
        assert caller(client, Authorization=form.format(token)) == (None, "invalid_token"), case


def test_another_scheme_is_nobody_and_no_error(client, token):
    for form in ["", " ", "{}", "Basic {}", "Token {}", "Bearer={}", "Bearerx {}"]:
        assert caller(client, Authorization=form.format(token)) == (None, None)


def test_what_stands_after_bearer_is_the_token():
    for header, expected in [
        ("Bearer a.b.c", "a.b.c"),
        ("bearer \t a ", "a"),
        ("Bearer", ""),
        ("Basic a", None),
        ("", None),
    ]:
        assert bearer_token(header) == expected, (header, expected)


@pytest.mark.promise(4)
def test_a_token_in_the_query_or_a_form_is_not_looked_for(client, token):
    for field in ["access_token", "token", "wsgiauth", "Authorization"]:
        for answer in (
            client.get("/", {field: token}),
            client.post("/", {field: token}),
            client.post_json("/", {field: token}),
        ):
            assert (answer.json["user"], answer.json["error"]) == (None, None), field


# The cookie.


def test_the_cookie_identifies(client, token):
    assert caller(client, Cookie=f"theme=dark; wsgiauth={token}; lang=en") == (USERNAME, None)


def test_a_stale_cookie_is_nobody_and_an_invalid_token(client):
    assert caller(client, Cookie="wsgiauth=x.y.z") == (None, "invalid_token")


def test_the_bearer_wins_over_the_cookie(client, token, bearer, settings):
    bob = create_user("Bob", "bob@example.org", PASSWORD, settings=settings)
    seen = caller(client, Cookie=f"wsgiauth={token}", **bearer(bob))
    assert seen == ("Bob", None)


def test_an_invalid_bearer_wins_over_a_valid_cookie(client, token):
    seen = caller(client, Cookie=f"wsgiauth={token}", Authorization="Bearer x.y.z")
    assert seen == (None, "invalid_token")


def test_the_cookie_stands_beside_another_scheme(client, token):
    seen = caller(client, Cookie=f"wsgiauth={token}", Authorization="Basic eDp5")
    assert seen == (USERNAME, None)


@pytest.mark.promise(16)
def test_two_cookies_of_our_name_are_nobody(client, token):
    for case, form in {
        "planted after": "wsgiauth={0}; wsgiauth=planted",
        "planted before": "wsgiauth=planted; wsgiauth={0}",
        "planted empty": "wsgiauth=; wsgiauth={0}",
    }.items():
        assert caller(client, Cookie=form.format(token)) == (None, None), case


@pytest.mark.promise(16)
@pytest.mark.parametrize(("environ", "name"), [({}, "wsgiauth"), (HTTPS, "__Host-wsgiauth")])
def test_the_log_says_once_a_minute_that_two_cookies_differ(
    client, site, token, environ, name, caplog
):
    now = site.site.tokens.now()
    header = f"{name}={token}; {name}=planted"
    for seconds, reports in ((0, 1), (1, 1), (59, 1), (60, 2), (61, 2)):
        site.site.tokens.now = lambda seconds=seconds: now + seconds
        for path in ("/", "/auth/login"):
            client.get(path, headers={"Cookie": header}, extra_environ=environ)
        found = [each for each in caplog.messages if "two cookies" in each]
        assert len(found) == reports
    assert name in found[0]
    assert not any(secret in caplog.text for secret in (token, "planted"))


def test_the_log_says_nothing_of_other_cookies(client, token, caplog):
    for header in (f"wsgiauth={token}; wsgiauth={token}", "wsgiauth2=a; wsgiauth3=b", "a=b; a=c"):
        client.get("/", headers={"Cookie": header})
    assert "two cookies" not in caplog.text


@pytest.mark.promise(16)
def test_two_equal_cookies_count_as_one(client, token):
    header = f"wsgiauth={token}; a=b; wsgiauth={token}"
    assert caller(client, Cookie=header) == (USERNAME, None)


@pytest.mark.promise(16)
def test_each_scheme_reads_its_own_cookie_only(client, token):
    plain, secure = f"wsgiauth={token}", f"__Host-wsgiauth={token}"
    assert caller(client, Cookie=plain, environ=HTTPS) == (None, None)
    assert caller(client, Cookie=secure) == (None, None)
    assert caller(client, Cookie=f"{secure}; wsgiauth=planted", environ=HTTPS) == (USERNAME, None)


@pytest.mark.promise(15)
def test_a_cookie_header_of_8_kib_is_read_and_one_of_more_is_not(client, token):
    cookie = f"; wsgiauth={token}"
    full = "x=".ljust(MAX_COOKIE_HEADER - len(cookie), "x") + cookie
    assert MAX_COOKIE_HEADER == 8192
    assert caller(client, Cookie=full) == (USERNAME, None)
    assert caller(client, Cookie="x" + full) == (None, None)


@pytest.mark.promise(15)
def test_no_cookie_header_is_an_error(client):
    for filler in ["; ", "=", '"', "wsgiauth", "a=b;", '\\"', "a\xff;"]:
        header = (filler * MAX_COOKIE_HEADER)[:MAX_COOKIE_HEADER].strip()
        assert caller(client, Cookie=header) == (None, None), filler


# The cookie on requests that change something.


@pytest.mark.promise(17)
def test_another_site_cannot_use_the_cookie_to_change_anything(client, token):
    for case, (headers, expected) in {
        "no browser": ({}, USERNAME),
        "same origin": ({"Sec_Fetch_Site": "same-origin"}, USERNAME),
        "the person's own act": ({"Sec_Fetch_Site": "none"}, USERNAME),
        "Origin is Host": ({"Origin": "http://localhost:80"}, USERNAME),
        "trusted origin": ({"Origin": "https://app.example.org"}, USERNAME),
        "another site": ({"Sec_Fetch_Site": "cross-site"}, None),
        "a neighbouring host": ({"Sec_Fetch_Site": "same-site"}, None),
        "another origin": ({"Origin": "https://evil.example"}, None),
        "no origin": ({"Origin": "null"}, None),
    }.items():
        for method in ("POST", "PUT", "PATCH", "DELETE", "TRACE"):
            seen = caller(client, method=method, Cookie=f"wsgiauth={token}", **headers)
            assert seen == (expected, None), case


@pytest.mark.promise(17)
def test_a_page_of_another_site_opens_no_websocket_as_the_user(client, token):
    for case, (headers, expected) in {
        "this site": ({"Origin": "http://localhost:80"}, USERNAME),
        "marked as this site": ({"Sec_Fetch_Site": "same-origin"}, USERNAME),
        "a program": ({}, USERNAME),
        "a neighbour": ({"Origin": "http://localhost:81"}, None),
        "no site": ({"Origin": "null"}, None),
        "marked": ({"Sec_Fetch_Site": "same-site"}, None),
    }.items():
        headers = {**headers, "Upgrade": "websocket", "Cookie": f"wsgiauth={token}"}
        assert caller(client, **headers) == (expected, None), case


@pytest.mark.promise(17)
@pytest.mark.parametrize("method", ["GET", "HEAD", "OPTIONS"])
def test_a_link_from_another_site_brings_the_cookie_along(site, token, method):
    seen = []

    def look(environ, start_response):
        app_iter = site(environ, start_response)
        seen.append(environ["REMOTE_USER"])
        return app_iter

    headers = {"Cookie": f"wsgiauth={token}", "Sec-Fetch-Site": "cross-site"}
    TestApp(look, lint=False).request("/", method=method, headers=headers)
    assert seen == [USERNAME]


@pytest.mark.promise(17)
def test_a_bearer_changes_things_from_anywhere(client, ada, bearer):
    seen = caller(client, method="POST", Sec_Fetch_Site="cross-site", **bearer(ada))
    assert seen == (USERNAME, None)


# The cookie that is set.


@pytest.mark.promise(16)
@pytest.mark.parametrize(
    ("environ", "name", "attributes"),
    [
        pytest.param({}, "wsgiauth", ATTRIBUTES, id="http"),
        pytest.param(HTTPS, "__Host-wsgiauth", [*ATTRIBUTES, "Secure"], id="https"),
    ],
)
def test_the_cookie_is_set_and_dropped_with_the_same_attributes(
    client, ada, environ, name, attributes
):
    request = {"headers": SAME_ORIGIN, "extra_environ": environ}
    set_name, value, set_attributes = cookie_of(client.post("/auth/login", CREDENTIALS, **request))
    dropped = cookie_of(client.post("/auth/logout", **request))
    assert (set_name, set_attributes) == (name, sorted(attributes))
    assert value.count(".") == 2
    assert dropped == (name, "", sorted([*attributes, "Max-Age=0"]))


@pytest.mark.promise(16)
@pytest.mark.parametrize("environ", [{}, HTTPS], ids=["http", "https"])
def test_the_cookie_has_the_name_that_is_configured(settings, ada, token, environ):
    client = TestApp(AuthMiddleware(echo, dataclasses.replace(settings, COOKIE_NAME="shop")))
    name = "__Host-shop" if environ else "shop"
    answer = client.post("/auth/login", CREDENTIALS, headers=SAME_ORIGIN, extra_environ=environ)
    assert cookie_of(answer)[0] == name
    client.reset()
    assert caller(client, Cookie=f"{name}={token}", environ=environ) == (USERNAME, None)
    default = name.replace("shop", "wsgiauth")
    assert caller(client, Cookie=f"{default}={token}", environ=environ) == (None, None)


@pytest.fixture(params=["ports", "mounts"])
def two_sites(request, tmp_path):
    """Yield the URLs of two sites on one host, each with accounts of its own, and a user."""
    sites = []
    for name in ("shop", "blog"):
        site_settings = Settings(
            SECRET_KEY=SECRET_KEY,
            BCRYPT_ROUNDS=4,
            DATABASE_URL=f"sqlite:///{tmp_path}/{name}.db",
            COOKIE_NAME=name,
        )
        sites.append(AuthMiddleware(echo, site_settings))
        create_user(name, f"{name}@example.org", PASSWORD, settings=site_settings)
        storage.discard_connection(storage.current())
    with ExitStack() as stack:
        if request.param == "ports":
            yield [stack.enter_context(serving(site, threads=1)) for site in sites]
            return
        shop, blog = sites

        def dispatch(environ, start_response):
            if environ["PATH_INFO"].startswith("/blog/"):
                shift_path_info(environ)
                return blog(environ, start_response)
            return shop(environ, start_response)

        address = stack.enter_context(serving(dispatch, threads=1))
        yield [address, f"{address}/blog"]


@pytest.mark.promise(16)
def test_two_sites_on_one_host_keep_their_logins_apart(two_sites):
    browser = build_opener(HTTPCookieProcessor())

    def ask(url, path, fields=None):
        body = None if fields is None else urlencode(fields).encode()
        with browser.open(Request(url + path, body, SAME_ORIGIN), timeout=60) as answer:
            return answer.read()

    def users():
        return [json.loads(ask(url, "/"))["user"] for url in two_sites]

    seen = [users()]
    for url, name in zip(two_sites, ("shop", "blog"), strict=True):
        ask(url, "/auth/login", {"username": name, "password": PASSWORD})
        seen.append(users())
    ask(two_sites[0], "/auth/logout", {})
    assert [*seen, users()] == [[None, None], ["shop", None], ["shop", "blog"], [None, "blog"]]


@pytest.mark.promise(16)
def test_behind_a_proxy_that_hides_https_the_cookie_is_secure_all_the_same(settings):
    secure = dataclasses.replace(settings, COOKIE_SECURE="on")
    client = TestApp(AuthMiddleware(echo, secure))
    create_user(USERNAME, EMAIL, PASSWORD, settings=secure)
    answer = client.post("/auth/login", CREDENTIALS, headers=SAME_ORIGIN)
    name, value, attributes = cookie_of(answer)
    assert (name, "Secure" in attributes) == ("__Host-wsgiauth", True)
    assert caller(client, Cookie=f"{name}={value}") == (USERNAME, None)


def test_https_remembers_a_browser(client, ada):
    client.post("/auth/login", CREDENTIALS, headers=SAME_ORIGIN, extra_environ=HTTPS)
    assert caller(client, environ=HTTPS) == (USERNAME, None)


@pytest.mark.promise(4)
def test_a_tab_may_stand_between_scheme_and_token(client, ada, bearer):
    token = bearer(ada)["Authorization"].partition(" ")[2]
    assert client.get("/", headers={"Authorization": f"Bearer\t{token}"}).json["user"] == USERNAME
