"""What scripts are answered, wherever a login is missing or not enough: 401; htmx with HX-Redirect.

The tests of `guards`, `challenges` and `gate` have the redirects of browsers and the challenges.
"""

from dataclasses import replace
from http import HTTPStatus
from types import SimpleNamespace

import pytest
from webtest import TestApp

from tests.support.factors import FACTOR_KEY, add_app
from tests.support.logins import make_stale
from tests.support.sites import BROWSER, PASSWORD, SAME_ORIGIN, USERNAME, echo
from tests.support.tables import row_by_row
from wsgiauth import AuthMiddleware, login_required, permission_required, storage
from wsgiauth.testing import logged_in, make_user
from wsgiauth.throttling.attempts import try_again_in
from wsgiauth.web.failures import failure
from wsgiauth.web.pages import Pages
from wsgiauth.web.urls import Destinations, with_next

LOGIN = "/auth/login"
PAGE = "http://localhost:80/notes?page=2"
BACK = "next=%2Fnotes%3Fpage%3D2"
# What htmx sends from a page; in version 4, it asks for HTML.
HTMX = {
    "HX-Request": "true",
    "HX-Current-URL": PAGE,
    "Sec-Fetch-Mode": "cors",
    "Sec-Fetch-Site": "same-origin",
}
HTMX_4 = {**HTMX, "Accept": "text/html, text/event-stream"}
LOG_IN = 'Bearer realm="wsgiauth"'
# What the scripts of a page send that ask for HTML.
FETCH = {**BROWSER, "Sec-Fetch-Mode": "cors", "Sec-Fetch-Site": "same-origin"}
XHR = {**BROWSER, "X-Requested-With": "XMLHttpRequest"}


BROWSER_ENVIRON = {
    "HTTP_ACCEPT": "text/html",
    "REQUEST_METHOD": "GET",
    "SCRIPT_NAME": "",
    "wsgiauth.root": "",
}


def refusing(environ, start_response):
    """Answer 401, as a framework does."""
    start_response("401 Unauthorized", [("Content-Type", "text/plain")])
    return [b"no"]


def never(environ, start_response):
    pytest.fail("the view was entered")


@pytest.fixture
def make_client(settings):
    """Return a function that returns a client of a site."""
    made = []

    def make(app, environ=None, options=(), **arguments):
        site = AuthMiddleware(app, replace(settings, **dict(options)), **arguments)
        made.append(site)
        return TestApp(site, extra_environ=environ)

    yield make
    for site in made:
        storage.discard_connection(site.database)


def redirected(answer):
    """Return where htmx is sent, by an answer that no cache keeps."""
    assert (answer.status_code, "Location" in answer.headers) == (401, False)
    assert answer.headers["WWW-Authenticate"].startswith(LOG_IN)
    assert answer.headers["Cache-Control"] == "no-store"
    return answer.headers["HX-Redirect"]


ENDS = [
    pytest.param(login_required(redirect_url=LOGIN)(never), {}, id="guard"),
    pytest.param(permission_required("a.b", LOGIN)(never), {}, id="permission"),
    pytest.param(refusing, {"challenge": True}, id="challenge"),
    pytest.param(refusing, {"challenge": "anonymous"}, id="challenge for anonymous clients"),
    pytest.param(never, {"public": ["/"]}, id="public paths"),
    pytest.param(never, {"require": "a.b"}, id="permission for all"),
]


@row_by_row(("app", "arguments"), ENDS)
def test_htmx_is_sent_to_the_login_page_and_back_to_the_page(make_client, app, arguments):
    client = make_client(app, **arguments)
    for headers in (HTMX, HTMX_4):
        answer = client.get("/part", headers=headers, status=401)
        assert redirected(answer) == f"{LOGIN}?{BACK}"


def test_the_login_leads_back_to_the_page(make_client):
    client = make_client(login_required(redirect_url=LOGIN)(echo))
    make_user(client.app, USERNAME, password=PASSWORD)
    form = client.get(redirected(client.get("/part", headers=HTMX, status=401))).form
    form["username"], form["password"] = USERNAME, PASSWORD
    assert form.submit(headers=SAME_ORIGIN).headers["Location"] == "/notes?page=2"


@pytest.mark.promise(18)
def test_only_a_page_of_this_site_is_gone_back_to(make_client):
    client = make_client(login_required(redirect_url=LOGIN)(never))
    pages = {
        PAGE: "/notes?page=2",
        "https://localhost:80/notes": "/notes",  # behind a proxy with https
        "http://localhost:80/notes#top": "/notes",
        "http://localhost:80/n%C3%B6tes": "/n%C3%B6tes",
        "": "",
        "/notes": "",
        "http://evil.example/notes": "",
        "http://localhost:81/notes": "",
        "http://localhost:80@evil.example/notes": "",
        "//evil.example/notes": "",
        "javascript:alert(1)": "",
        "http://localhost:80//evil.example/": "",
        "http://localhost:80/\\evil.example/": "",
        "http://localhost:80/a%0d%0ab": "",
        "http://localhost:80/a\tb": "/ab",  # no URL has a tab
        "http://localhost:80/a\x7fb": "",
        "http://localhost:80/notes,http://evil.example/": "/notes,http://evil.example/",  # twice
        "http://[localhost:80/notes": "",
        "http://localhost:80/" + "x" * 8192: "",
        "http://localhost:80/" + "x" * 100_000: "",
    }
    for url, page in pages.items():
        answer = client.get("/part", headers={**HTMX, "HX-Current-URL": url}, status=401)
        assert redirected(answer) == with_next(LOGIN, page)


@pytest.mark.promise(18)
def test_without_a_page_none_is_gone_back_to(make_client):
    client = make_client(login_required(redirect_url=LOGIN)(never))
    headers = {name: value for name, value in HTMX.items() if name != "HX-Current-URL"}
    assert redirected(client.get("/part", headers=headers, status=401)) == LOGIN


def test_the_login_page_says_that_nothing_was_sent(make_client):
    client = make_client(login_required(redirect_url=LOGIN)(never))
    for method in ("POST", "PUT", "PATCH", "DELETE"):
        location = redirected(client.request("/part", method=method, headers=HTMX, status=401))
        assert location == f"{LOGIN}?done=unsent&{BACK}"
    client.get(location).mustcontain("the form that you sent was not processed")


def test_a_login_page_of_the_application_is_told_only_of_what_it_can_show(make_client):
    client = make_client(login_required(redirect_url="/join")(never))
    assert redirected(client.get("/part", headers=HTMX, status=401)) == f"/join?{BACK}"
    assert redirected(client.post("/part", headers=HTMX, status=401)) == "/join"


def test_below_a_prefix_and_a_mount_the_pages_are_there(make_client):
    client = make_client(
        login_required(fresh=True, redirect_url="/my/login")(never),
        {"SCRIPT_NAME": "/shop"},
        mount="/my",
    )
    headers = {**HTMX, "HX-Current-URL": "http://localhost:80/shop/notes"}
    answer = client.get("/part", headers=headers, status=401)
    assert redirected(answer) == "/shop/my/login?next=%2Fshop%2Fnotes"
    stale = logged_in(client.app)
    make_stale()
    answer = stale.get("/part", headers=headers, extra_environ={"SCRIPT_NAME": "/shop"}, status=401)
    assert redirected(answer) == "/shop/my/confirm?next=%2Fshop%2Fnotes"


@pytest.mark.promise(46)
@pytest.mark.parametrize(("method", "query"), [("GET", f"?{BACK}"), ("POST", f"?resend=1&{BACK}")])
def test_htmx_without_a_recent_proof_is_sent_to_confirm(make_client, method, query):
    stale = logged_in(make_client(login_required(fresh=True)(never)).app)
    make_stale()
    answer = stale.request("/part", method=method, headers=HTMX, status=401)
    assert redirected(answer) == f"/auth/confirm{query}"
    assert 'error="insufficient_user_authentication"' in answer.headers["WWW-Authenticate"]
    assert answer.json["code"] == "insufficient_user_authentication"


@pytest.mark.promise(55)
@pytest.mark.parametrize(
    ("app", "demand"),
    [
        pytest.param(login_required(second_factor=True)(never), "offered", id="of a guard"),
        pytest.param(login_required(redirect_url=LOGIN)(never), "all", id="of the site"),
    ],
)
def test_htmx_without_a_second_factor_is_sent_to_its_pages(make_client, app, demand):
    client = make_client(app, options={"FACTOR_KEY": FACTOR_KEY, "SECOND_FACTOR": demand})
    site = client.app
    ada = make_user(site, USERNAME)
    answer = logged_in(site, ada, second_factor=False).post("/part", headers=HTMX, status=401)
    assert redirected(answer) == f"/auth/totp?{BACK}"
    add_app(site, ada)
    confirming = logged_in(site, ada, second_factor=False)
    answer = confirming.get("/part", headers=HTMX, status=401)
    assert redirected(answer) == f"/auth/confirm?{BACK}"
    answer = confirming.post("/part", headers=HTMX, status=401)
    assert redirected(answer) == f"/auth/confirm?resend=1&{BACK}"


@row_by_row(("app", "arguments"), ENDS)
def test_a_script_is_not_sent_to_the_login_page(make_client, app, arguments):
    client = make_client(app, **arguments)
    for headers in (FETCH, XHR):
        answer = client.get("/part", headers=headers, status=401)
        assert answer.headers["WWW-Authenticate"] == LOG_IN
        answer.mustcontain("Log in to open this page.", 'href="/auth/login?next=%2Fpart"')


def test_a_browser_that_opens_a_page_is_sent_to_the_login_page(make_client):
    client = make_client(login_required(redirect_url=LOGIN)(never))
    client.get("/part", headers={**FETCH, "Sec-Fetch-Mode": "navigate"}, status=302)


@pytest.mark.promise(46)
def test_a_script_without_a_recent_proof_is_not_sent_to_confirm(make_client):
    stale = logged_in(make_client(login_required(fresh=True)(never)).app)
    make_stale()
    answer = stale.post("/part", headers=FETCH, status=401)
    assert 'error="insufficient_user_authentication"' in answer.headers["WWW-Authenticate"]


@pytest.mark.promise(55)
def test_a_script_without_a_second_factor_is_not_sent_to_its_pages(make_client):
    app = login_required(second_factor=True)(never)
    client = make_client(app, options={"FACTOR_KEY": FACTOR_KEY})
    answer = logged_in(client.app, second_factor=False).get("/part", headers=FETCH, status=401)
    assert 'error="insufficient_user_authentication"' in answer.headers["WWW-Authenticate"]


def test_other_programs_get_only_the_challenge(make_client):
    client = make_client(login_required(redirect_url=LOGIN)(never))
    for other in ({"HX-Request": "false"}, {"Authorization": "Bearer x.y.z"}):
        answer = client.get("/part", headers={**HTMX, **other}, status=401)
        assert "HX-Redirect" not in answer.headers


def test_without_a_login_page_htmx_gets_only_the_challenge(make_client):
    answer = make_client(login_required(never)).get("/part", headers=HTMX, status=401)
    assert "HX-Redirect" not in answer.headers


@pytest.mark.promise(17)
def test_another_site_does_nothing_by_the_headers_of_htmx(make_client):
    client = logged_in(make_client(login_required(redirect_url=LOGIN)(never)).app)
    headers = {**HTMX, "Sec-Fetch-Site": "cross-site", "Origin": "http://evil.example"}
    redirected(client.post("/part", headers=headers, status=401))


@pytest.mark.promise(12)
def test_the_page_of_a_wait_counts_it_down_and_leads_to_another_try():
    site = SimpleNamespace(pages=Pages("/auth"), destinations=Destinations())
    environ = {**BROWSER_ENVIRON, "wsgiauth.site": site, "PATH_INFO": "/auth/verify"}
    status, detail = HTTPStatus.TOO_MANY_REQUESTS, try_again_in(37)
    response = failure(environ, status, "throttled", detail)
    page = TestApp(response, extra_environ={"wsgiauth.site": site}).get("/", status=429).html.main
    assert page.select_one("p > [data-wait='37']").text == "Try again in 37 seconds."
    assert [(each.text, each["href"]) for each in page.select("a")] == [
        ("Try again", "/auth/verify"),
        ("Go to the home page", "/"),
    ]
