"""One login for all subdomains: shared cookies, ways to other hosts, and neighbours that attack.

tests/docs/test_subdomains_page.py does the same with nginx and Chromium.
"""

from dataclasses import replace
from pathlib import Path

import pytest
from webtest import TestApp

import wsgiauth
from tests.support.factors import FACTOR_KEY, add_app
from tests.support.sites import BROWSER, PASSWORD, SAME_ORIGIN, USERNAME, echo
from wsgiauth import AuthMiddleware, log_out
from wsgiauth.accounts.tables import Session
from wsgiauth.authentication import sessions
from wsgiauth.authentication.pending import PENDING
from wsgiauth.features.providers.oidc.errands import ERRAND
from wsgiauth.features.providers.unclaimed import UNCLAIMED
from wsgiauth.testing import logged_in
from wsgiauth.web.readers import LANGUAGE

PACKAGE = Path(wsgiauth.__file__).parent
SHARED = "__Secure-wsgiauth"
FORMER = "__Host-wsgiauth"
FILES = "https://files.example.org/report.txt"
CREDENTIALS = {"username": USERNAME, "password": PASSWORD}
SAME_SITE = {"Sec-Fetch-Site": "same-site", "Origin": "https://evil.example.org"}


@pytest.fixture
def settings(settings):
    """Return the settings of a login for all hosts of a domain."""
    return replace(
        settings,
        COOKIE_DOMAIN="example.org",
        NEXT_HOSTS=("*.example.org",),
        PUBLIC_URL="https://auth.example.org",
    )


def at(site, host, cookies=None):
    """Return a browser at a host, perhaps with the cookies of another one."""
    environ = {"wsgi.url_scheme": "https", "HTTP_HOST": host}
    return TestApp(site, extra_environ=environ, cookiejar=cookies and cookies.cookiejar)


@pytest.fixture
def auth(site):
    """Return a browser at the host of the login."""
    return at(site, "auth.example.org")


def log_in(browser, **fields):
    """Log in by the form; return the answer."""
    return browser.post("/auth/login", {**CREDENTIALS, **fields}, headers=SAME_ORIGIN, status=303)


def set_cookies(answer):
    """Return the names of cookies that an answer sets, with their attributes."""
    cookies = [each.split("; ") for each in answer.headers.getall("Set-Cookie")]
    return {pair.partition("=")[0]: set(attributes) for pair, *attributes in cookies}


def caller(browser, method="GET", **headers):
    """Return the user that the application is told."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    send = browser.get if method == "GET" else browser.post
    return send("/", headers=named).json["user"]


@pytest.mark.promise(85)
def test_the_cookie_of_the_session_is_for_the_domain(auth, ada):
    attributes = {"Domain=example.org", "Path=/", "HttpOnly", "SameSite=Lax", "Secure"}
    assert set_cookies(log_in(auth)) == {SHARED: attributes}
    left = set_cookies(auth.post("/auth/logout", headers=SAME_ORIGIN))
    assert left.pop(SHARED) == attributes | {"Max-Age=0"}
    assert [name for name, values in left.items() if "Domain=example.org" in values] == []


@pytest.mark.promise(85)
def test_the_cookie_of_the_language_is_for_the_domain(settings):
    browser = at(
        AuthMiddleware(echo, replace(settings, LANGUAGES=("en", "de"))), "auth.example.org"
    )
    answer = browser.post("/auth/language", {"language": "de"}, headers=SAME_ORIGIN)
    assert "Domain=example.org" in set_cookies(answer)[f"{SHARED}-language"]
    elsewhere = at(browser.app, "files.example.org", browser)
    assert elsewhere.get("/auth/login", headers=BROWSER).headers["Content-Language"] == "de"


@pytest.mark.promise(85)
def test_every_other_cookie_stays_with_its_host(site):
    for kind in (PENDING, ERRAND, UNCLAIMED):
        _, header = site.site.identifier.own_cookie({"wsgi.url_scheme": "http"}, kind, "value")
        assert header.startswith(f"{FORMER}{kind.suffix}=value; ")
        assert "Domain" not in header


@pytest.mark.promise(85)
def test_only_the_session_and_the_language_are_shared():
    modules = {
        each for each in PACKAGE.rglob("*.py") if "is_shared=True" in each.read_text("utf-8")
    }
    assert {each.stem for each in modules} == {"identity", "readers"}
    assert LANGUAGE.is_shared


@pytest.mark.promise(85)
def test_a_login_counts_at_every_host_until_a_logout_at_one(site, auth, ada):
    log_in(auth)
    app, files = at(site, "app.example.org", auth), at(site, "files.example.org", auth)
    assert [caller(each) for each in (auth, app, files)] == [USERNAME] * 3
    token = next(each.value for each in auth.cookiejar if each.name == SHARED)
    app.post("/auth/logout", headers=SAME_ORIGIN)
    assert [each.name for each in files.cookiejar if each.name == SHARED] == []
    for host in (auth, app, files):
        assert caller(host, Cookie=f"{SHARED}={token}") is None


def test_a_test_of_an_application_is_logged_in(site, ada):
    assert caller(logged_in(site, ada)) == USERNAME


def test_a_host_outside_the_domain_keeps_no_cookie(site, ada):
    other = at(site, "example.net")
    log_in(other)
    assert caller(other) is None


@pytest.mark.promise(85)
def test_a_cookie_of_another_name_does_not_count(auth, ada, tokens):
    token = sessions.start(ada, tokens).token
    names = ("wsgiauth", FORMER, SHARED)
    callers = [caller(auth, Cookie=f"{name}={token}") for name in names]
    assert callers == [None, None, USERNAME]


@pytest.mark.promise(85)
def test_over_plain_http_the_cookie_is_for_https_all_the_same(site, ada):
    answer = log_in(TestApp(site))
    assert set_cookies(answer)[SHARED] >= {"Domain=example.org", "Secure"}


@pytest.mark.promise(85)
def test_a_logout_deletes_the_cookie_from_before_the_setting(auth, ada, tokens):
    former = {"Cookie": f"{FORMER}={sessions.start(ada, tokens).token}"}
    deleted = set_cookies(auth.post("/auth/logout", headers=SAME_ORIGIN | former))
    assert deleted[FORMER] == {"Max-Age=0", "Path=/", "HttpOnly", "SameSite=Lax", "Secure"}
    assert FORMER not in set_cookies(auth.post("/auth/logout", headers=SAME_ORIGIN))


@pytest.mark.promise(85)
def test_a_logout_of_the_application_deletes_it_too(settings, ada, tokens):
    def leave(environ, start_response):
        start_response("204 No Content", log_out(environ))
        return []

    cookie = f"{FORMER}=a; {SHARED}={sessions.start(ada, tokens).token}"
    left = at(AuthMiddleware(leave, settings), "app.example.org").get(
        "/", headers={"Cookie": cookie}
    )
    assert set(set_cookies(left)) == {FORMER, SHARED}


def test_without_the_setting_a_logout_deletes_one_cookie(settings, ada):
    alone = replace(settings, COOKIE_DOMAIN=None, NEXT_HOSTS=())
    answer = at(AuthMiddleware(echo, alone), "auth.example.org").post(
        "/auth/logout", headers={"Accept": "*/*", "Cookie": f"{SHARED}=a; {FORMER}=b"}
    )
    assert set(set_cookies(answer)) == {FORMER}


# What pages of a neighbour can send.
OF_NEIGHBOURS = [
    SAME_SITE,  # a form
    {"Sec-Fetch-Site": "same-site"},  # without Origin
    {"Origin": "https://evil.example.org"},  # an old browser
    {"Origin": "https://example.org"},  # the domain itself
    {"Origin": "https://auth.example.org:8443"},  # another port
    {"Origin": "null"},  # a sandboxed frame
    {**SAME_SITE, "Upgrade": "websocket"},  # a WebSocket
]


@pytest.mark.promise(85)
def test_a_neighbours_request_is_that_of_another_site(auth, ada):
    log_in(auth)
    for headers in OF_NEIGHBOURS:
        assert caller(auth, "GET" if "Upgrade" in headers else "POST", **headers) is None, headers
        for path in ("/auth/logout", "/auth/login", "/auth/password", "/auth/language"):
            sent = {**BROWSER, **headers}
            refused = auth.post(path, {"language": "en"}, headers=sent, status=403)
            assert SHARED not in str(refused.headers)
    assert caller(auth) == USERNAME


@pytest.mark.promise(85)
def test_a_neighbours_link_to_the_logout_is_refused(auth, ada):
    log_in(auth)
    auth.get("/auth/logout", headers={**BROWSER, "Sec-Fetch-Site": "same-site"}, status=403)
    assert caller(auth) == USERNAME


@pytest.mark.promise(16)
@pytest.mark.promise(85)
def test_a_second_cookie_of_a_neighbour_makes_the_request_anonymous(auth, ada, tokens, caplog):
    token = sessions.start(ada, tokens).token
    rivals = {"Cookie": f"{SHARED}=planted; {SHARED}={token}"}
    assert caller(auth, **rivals) is None
    assert f"two cookies called {SHARED} and different values" in caplog.text
    page = auth.get("/auth/login", headers={**BROWSER, **rivals})
    assert f"two different cookies named {SHARED}" in page.text
    assert caller(auth, Cookie=f"{SHARED}={token}; {SHARED}={token}") == USERNAME


@pytest.mark.promise(85)
def test_the_cookie_of_a_neighbour_in_place_of_ours_is_the_session_that_it_names(
    auth, ada, grace, tokens
):
    assert caller(auth, Cookie=f"{SHARED}={sessions.start(grace, tokens).token}") == "Grace"
    assert caller(auth, Cookie=f"{SHARED}=planted") is None


@pytest.mark.promise(85)
def test_a_form_shown_before_a_neighbour_changed_the_session_does_nothing(auth, ada, grace, tokens):
    log_in(auth)
    shown = auth.get("/auth/password", headers=BROWSER).forms
    account = next(form["account"].value for form in shown.values() if "account" in form.fields)
    fields = {"current": PASSWORD, "password": "other unrelated words", "account": account}
    planted = {"Cookie": f"{SHARED}={sessions.start(grace, tokens).token}"}
    at(auth.app, "auth.example.org").post(
        "/auth/password", fields, headers={**SAME_ORIGIN, **planted}, status=403
    )


# Where `next` leads.
def form_action(page):
    """Return where the policy of a page lets its forms lead."""
    policies = page.headers["Content-Security-Policy"].split("; ")
    (found,) = (each for each in policies if each.startswith("form-action "))
    return found.removeprefix("form-action ")


@pytest.mark.promise(85)
@pytest.mark.parametrize("path", ["/auth/login", "/auth/register"])
def test_a_login_leads_to_another_host(auth, ada, path):
    page = auth.get(path, {"next": FILES}, headers=BROWSER)
    assert page.form["next"].value == FILES
    assert form_action(page) == "'self' https://files.example.org"
    page.form["username"] = "Grace" if "register" in path else USERNAME
    page.form["password"] = PASSWORD
    if "register" in path:
        page.form["email"] = "grace@example.org"
    assert page.form.submit(headers=SAME_ORIGIN, status=303).location == FILES


@pytest.mark.promise(85)
def test_no_login_leads_elsewhere(auth, ada):
    for wanted in (
        "https://evil.example/",
        "https://example.org/",
        "https://files.example.org@evil.example/",
        "http://files.example.org/",
    ):
        page = auth.get("/auth/login", {"next": wanted}, headers=BROWSER)
        assert (page.form["next"].value, form_action(page)) == ("", "'self'"), wanted
        assert log_in(auth, next=wanted).location == "/"
        left = auth.get("/auth/logout", {"next": wanted}, headers=SAME_ORIGIN, status=303)
        assert left.location == "/auth/login?done=logout"


@pytest.mark.promise(85)
def test_a_policy_names_no_host_without_need(auth):
    for path in ("/auth/login", "/auth/login?next=/reports", "/auth/register"):
        assert form_action(auth.get(path, headers=BROWSER)) == "'self'"


@pytest.mark.promise(85)
def test_no_login_leads_to_a_logout_at_another_host(auth, ada):
    assert log_in(auth, next="https://app.example.org/auth/logout").location == "/"


def test_a_script_is_told_of_the_other_host(auth, ada):
    answer = auth.post(
        "/auth/login",
        {**CREDENTIALS, "next": FILES},
        headers={"Accept": "application/json", "Sec-Fetch-Site": "same-origin"},
    )
    assert answer.json["next"] == FILES


def test_a_user_who_is_logged_in_goes_on_to_the_other_host(auth, ada):
    log_in(auth)
    page = auth.get("/auth/login", {"next": FILES}, headers=BROWSER)
    assert page.html.find("a", href=FILES)


def test_a_logout_leads_to_the_other_host(auth, ada):
    log_in(auth)
    left = auth.get("/auth/logout", {"next": FILES}, headers=SAME_ORIGIN, status=303)
    assert left.location == FILES


@pytest.mark.promise(85)
def test_the_second_step_leads_to_the_other_host(settings, ada):
    site = AuthMiddleware(echo, replace(settings, FACTOR_KEY=FACTOR_KEY))
    app = add_app(site, ada)
    browser = at(site, "auth.example.org")
    second = browser.get(log_in(browser, next=FILES).location, headers=BROWSER)
    assert form_action(second) == "'self' https://files.example.org"
    form = next(each for each in second.forms.values() if "code" in each.fields)
    form["code"] = app.code()
    assert form.submit(headers=SAME_ORIGIN, status=303).location == FILES


@pytest.mark.promise(85)
def test_a_confirmation_leads_to_the_other_host(auth, ada):
    log_in(auth)
    Session.update(authenticated_at=0).execute()
    page = auth.get("/auth/confirm", {"next": FILES}, headers=BROWSER)
    assert form_action(page) == "'self' https://files.example.org"
    form = next(each for each in page.forms.values() if "password" in each.fields)
    form["password"] = PASSWORD
    assert form.submit(headers=SAME_ORIGIN, status=303).location == FILES
