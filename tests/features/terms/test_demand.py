"""Sessions without the terms: what they reach, and how everything else answers."""

import re

import pytest
from webtest import TestApp

from tests.features.terms.sites import LACKING, MEMBERS, PAGE, TERMS, VERSION, known_to, to_page
from tests.support.authenticators import PASSKEYS
from tests.support.factors import FACTOR_KEY
from tests.support.logins import make_stale
from tests.support.sites import BROWSER, PASSWORD, SAME_ORIGIN, USERNAME, echo
from wsgiauth import AuthMiddleware, access, log_in, log_out, login_required, permission_required
from wsgiauth.accounts.models import User
from wsgiauth.accounts.tables import Session
from wsgiauth.app import ROUTES
from wsgiauth.features.terms import acceptances
from wsgiauth.storage import context
from wsgiauth.testing import api_key, bearer, logged_in, make_settings, make_user
from wsgiauth.web.urls import with_next

ERROR = "terms_required"
CREDENTIALS = {"username": USERNAME, "password": PASSWORD}
HTMX = {"HX-Request": "true", "HX-Current-Url": "http://localhost:80/list?page=2"}


# Default deny


@pytest.mark.every_database
@pytest.mark.promise(96)
def test_the_application_sees_nobody_until_the_terms_are_accepted(client, lacking, browser):
    anonymous = TestApp(client.app).get("/").json
    for seen in (client.get("/", headers=lacking).json, browser.get("/").json):
        assert seen == {**anonymous, "error": ERROR}
    client.post_json(PAGE, {"version": VERSION}, headers=lacking)
    for seen in (client.get("/", headers=lacking).json, browser.get("/").json):
        assert (seen["user"], seen["error"]) == (USERNAME, None)


@pytest.mark.promise(96)
def test_sessions_from_before_the_setting_are_asked_on_their_next_request(make_site, ada):
    before = make_site(version=None)
    browser = logged_in(before, known_to(before, ada))
    after = make_site()
    for app, user in ((before, USERNAME), (after, None), (before, USERNAME)):
        browser.app = app
        assert browser.get("/").json["user"] == user


def test_identification_costs_one_select(make_site, ada, queries):
    site = make_site()
    for terms in (True, False):
        headers = bearer(site, known_to(site, ada), terms=terms)
        with context.using(site.database):
            (sql,) = queries(lambda: TestApp(site).get("/", headers=headers))  # noqa: B023
        assert "wsgiauth_terms_acceptance" in sql


def test_an_api_key_is_not_concerned_and_cannot_be_made_without_the_terms(
    client, site, ada, lacking
):
    ada.grant("a.b")
    assert client.get("/", headers=api_key(site, ada, ["a.b"])).json["user"] == USERNAME
    client.post_json("/auth/keys", {"name": "x"}, headers=lacking, status=403)


OPEN = {
    (method, path)
    for method in ("GET", "POST")
    for path in ("/terms", "/logout", "/language", "/data", "/close", "/me", "/confirm")
}
# These know no session, or refuse every one; the last is a logout, which has a test of its own.
OTHERS = ("/userinfo", "/introspect", "/oauth/logout")
REQUESTS = sorted(
    (method, path)
    for path, each in ROUTES.items()
    for method in each.handlers
    if path not in OTHERS
)
FIELDS = {"permission": "a.b", "end": "others", "name": "x", "username": "x", "email": "x@y.org"}


@pytest.fixture(scope="module")
def panel_site():
    """Return a site that offers every URL."""
    limits = {"MAILS_PER_ACCOUNT": 0, "LOGIN_FAILURES_PER_ACCOUNT": 0}
    further = {"FACTOR_KEY": FACTOR_KEY, "OAUTH_SERVER": True, "SERVICES": ("https://r.example",)}
    return AuthMiddleware(
        echo, make_settings(MAIL_URL="memory:", **limits, **further, **PASSKEYS, **TERMS)
    )


@pytest.fixture(scope="module")
def boss(panel_site):
    """Return a superuser who has not accepted the terms."""
    return make_user(panel_site, "boss", is_staff=True, is_superuser=True, terms=False)


def send(client, method, path, boss, kind):
    """Send a request as a program, with JSON, or as a browser, with a form."""
    url = "/auth" + re.sub("{(id|client)}", str(boss.id), path).replace("{action}", "grant")
    if method == "GET":
        return client.get(url, headers={} if kind == "program" else BROWSER, status="*")
    if kind == "program":
        return client.post_json(url, FIELDS, status="*")
    return client.post(url, FIELDS, headers=SAME_ORIGIN, status="*")


def is_refused(answer):
    """Return whether an answer says that the login lacks the terms."""
    if answer.status_int in (302, 303):
        return answer.headers["Location"].startswith(PAGE)
    return answer.status_int == 403 and "WWW-Authenticate" not in answer.headers and names(answer)


def names(answer):
    if answer.content_type == "application/problem+json":
        return answer.json["code"] == ERROR and MEMBERS.items() <= answer.json.items()
    return "Accept the terms of use" in answer.text


def is_right(client, method, path, boss, kind):
    """Return whether a URL knows the login if it is open to it, and does not otherwise."""
    answer = send(client, method, path, boss, kind)
    if is_refused(answer):
        return (method, path) not in OPEN
    if (method, path) in OPEN:
        return answer.status_int in (200, 303, 403, 409, 422)
    # It answers everyone, and the user like everyone.
    anonymous = send(TestApp(client.app), method, path, boss, kind)
    return (answer.status_int, shown(answer)) == (anonymous.status_int, shown(anonymous))


def shown(answer):
    """Return a body without the random values for a passkey, which differ each time."""
    return re.sub(rb"(challenge|id)&#34;: &#34;[^&]+", b"", answer.body)


@pytest.mark.promise(96)
@pytest.mark.parametrize("kind", ["program", "browser"])
def test_a_url_does_not_know_such_a_login_unless_it_opts_in(kind, panel_site, boss):
    client = logged_in(panel_site, boss)
    if kind == "program":
        client = TestApp(panel_site)
        client.authorization = ("Bearer", bearer(panel_site, boss)["Authorization"][7:])
    # The open ones are the last, so that they show that the login has not ended meanwhile.
    requests = sorted(REQUESTS, key=lambda each: (each in OPEN, each[1] == "/logout"))
    assert [each for each in requests if not is_right(client, *each, boss, kind)] == []


@pytest.mark.promise(96)
def test_the_page_of_the_terms_comes_before_the_404_of_the_staff(client, lacking):
    client.get("/auth/admin/users", headers=lacking, status=403)
    client.get("/auth/admin/users/1", headers={**BROWSER, **lacking}, status=403)


# What is reachable


def test_me_names_what_is_missing_and_account_does_not_answer(client, lacking, ada):
    answer = client.get("/auth/me", headers=lacking, status=200)
    assert answer.json["username"] == USERNAME
    assert LACKING.items() <= answer.json.items()
    client.get("/auth/account", headers=lacking, status=403)
    client.post_json(PAGE, {"version": VERSION}, headers=lacking)
    for path in ("/auth/me", "/auth/account"):
        shown = client.get(path, headers=lacking).json
        assert shown["username"] == USERNAME
        assert not LACKING.keys() & shown.keys()


def test_a_user_can_take_their_data_with_them(browser, client, lacking):
    assert browser.get("/auth/data", headers=BROWSER).json["accepted_terms"] == []
    assert client.get("/auth/data", headers=lacking).json["preferred_username"] == USERNAME


def test_a_user_can_close_the_account_after_a_proof(browser):
    make_stale()
    page = browser.get("/auth/close", headers=BROWSER, status=302).follow(headers=BROWSER)
    page.form["password"] = PASSWORD
    back = page.form.submit(headers=SAME_ORIGIN, status=303)
    assert back.location == "/auth/close"
    page = back.follow(headers=BROWSER, status=200)
    form = next(each for each in page.forms.values() if each.action.endswith("/close"))
    form.submit(headers=SAME_ORIGIN, status=303)
    assert not User.select().exists()


def test_a_program_can_confirm_and_still_lacks_the_terms(client, lacking):
    confirmed = client.post_json("/auth/confirm", {"password": PASSWORD}, headers=lacking)
    assert LACKING.items() <= confirmed.json.items()


def test_a_confirmation_leads_to_the_terms_or_to_what_is_reachable(browser):
    for wanted, location in (
        ("/members", to_page("/members")),
        ("/auth/data", "/auth/data"),
        (f"{PAGE}?next=/x", f"{PAGE}?next=/x"),
        ("/auth/logout", to_page("/")),
        ("", PAGE),
    ):
        page = browser.get(with_next("/auth/confirm", wanted), headers=BROWSER)
        page.form["password"] = PASSWORD
        assert page.form.submit(headers=SAME_ORIGIN, status=303).location == location


def test_a_logout_is_possible(browser, client, lacking):
    client.post_json("/auth/logout", {}, headers=lacking, status=200)
    browser.post("/auth/logout", headers=SAME_ORIGIN, status=303)
    assert not Session.select().exists()


# Where browsers are led


def test_the_pages_to_log_in_and_to_register_lead_to_the_terms(browser, client):
    for path in ("/auth/login", "/auth/register"):
        answer = browser.get(f"{path}?next=/members%3Fpage=2", headers=BROWSER, status=303)
        assert answer.location == to_page("/members?page=2")
        assert browser.get(path, headers=BROWSER, status=303).location == PAGE
        back = browser.get(with_next(path, to_page("/x")), headers=BROWSER, status=303)
        assert back.location == to_page("/x")
        page = browser.get(f"{path}?switch=1", headers=BROWSER, status=200)
        assert "username" in page.form.fields
        assert "username" in client.get(path, headers=BROWSER, status=200).form.fields


def test_a_switch_replaces_the_session(browser, grace):
    page = browser.get("/auth/login?switch=1", headers=BROWSER)
    page.form["username"], page.form["password"] = "Grace", PASSWORD
    page.form.submit(headers=SAME_ORIGIN, status=303)
    assert [each.user.username for each in Session.select()] == ["Grace"]


def refusing(environ, start_response):
    """Refuse whoever is anonymous, as an application without guards does."""
    start_response("401 Unauthorized", [("Content-Type", "text/plain")])
    return [b""]


PERMISSION = permission_required("a.b", redirect_url="/auth/login")
GUARDED = {
    "login": (login_required(echo), {}),
    "permission": (PERMISSION(echo), {}),
    "fresh": (login_required(fresh=True)(echo), {}),
    "second factor": (login_required(second_factor=True)(echo), {}),
    "public": (echo, {"public": ("/",)}),
    "require": (echo, {"require": "a.b"}),
    "challenge": (refusing, {"challenge": True}),
}


@pytest.mark.promise(96)
@pytest.mark.parametrize("guard", GUARDED)
def test_a_guard_a_gate_and_a_challenge_lead_to_the_terms(make_site, ada, guard):
    app, arguments = GUARDED[guard]
    if guard == "public":
        arguments = {"public": ("/open",)}
    site = make_site(app, **arguments)
    ada = known_to(site, ada)
    browser = logged_in(site, ada, terms=False)
    answer = browser.get("/x?y=1", headers=BROWSER, status=302)
    assert answer.location == to_page("/x?y=1")
    form = {**SAME_ORIGIN, "Referer": "http://localhost:80/new?z=1"}
    answer = browser.post("/x", {"text": "y"}, headers=form, status=303)
    assert answer.location == f"{PAGE}?resend=1&next=%2Fnew%3Fz%3D1"
    page = answer.follow(headers=BROWSER, status=200)
    page.mustcontain("Nothing has been changed yet. After this, fill in the form again")
    browser.get(to_page("/x"), headers=BROWSER).mustcontain(no="fill in the form again")
    refused = TestApp(site).get("/x", headers=bearer(site, ada, terms=False), status=403)
    assert refused.json["code"] == ERROR
    assert MEMBERS.items() <= refused.json.items()
    assert "WWW-Authenticate" not in refused.headers
    assert refused.json["detail"].endswith(f"The page is {PAGE}.")


@pytest.mark.promise(96)
def test_another_mount_below_a_prefix_leads_to_the_terms_and_back(make_site, ada):
    inner = make_site(login_required(redirect_url="/in/login")(echo), mount="/in")

    def below(environ, start_response):
        environ["SCRIPT_NAME"], environ["PATH_INFO"] = "/shop", environ["PATH_INFO"][5:]
        return inner(environ, start_response)

    client = TestApp(below)
    page = client.get("/shop/x?y=1", headers=BROWSER, status=302).follow(headers=BROWSER)
    page.form["username"], page.form["password"] = USERNAME, PASSWORD
    answer = page.form.submit(headers=SAME_ORIGIN, status=303)
    assert answer.location == "/shop/in/terms?next=%2Fshop%2Fx%3Fy%3D1"
    asked = client.get("/shop/x?y=1", headers=BROWSER, status=302)
    assert asked.location == answer.location
    lead = client.get("/shop/in/login?next=/shop/in/logout", headers=BROWSER, status=303)
    assert lead.location == "/shop/in/terms?next=%2Fshop%2F"
    page = asked.follow(headers=BROWSER)
    page.forms[0]["accept"] = True
    back = page.forms[0].submit(headers=SAME_ORIGIN, status=303)
    assert back.location == "/shop/x?y=1"
    assert client.get(back.location, headers=BROWSER, status=200).json["user"] == USERNAME


def test_a_dead_end_is_not_wanted(make_site, ada):
    site = make_site(login_required(echo))
    browser = logged_in(site, known_to(site, ada), terms=False)
    for wanted in (PAGE, "/auth/logout", "/auth/login", "/auth/second", "/auth/confirm"):
        form = {**SAME_ORIGIN, "Referer": f"http://localhost:80{wanted}"}
        page = browser.post("/x", headers=form, status=303).follow(headers=BROWSER)
        page.forms[0]["accept"] = True
        assert page.forms[0].submit(headers=SAME_ORIGIN, status=303).location == "/"
        with context.using(site.database):
            acceptances.withdraw(ada, VERSION)


@pytest.mark.promise(96)
def test_htmx_and_scripts_get_403(make_site, ada):
    site = make_site(login_required(echo))
    browser = logged_in(site, known_to(site, ada), terms=False)
    for method in ("GET", "POST"):
        headers = {**SAME_ORIGIN, **HTMX}
        answer = browser.request("/part", method=method, headers=headers, status=403)
        assert answer.headers["HX-Redirect"].partition("?")[0] == PAGE
        assert answer.headers["HX-Redirect"].endswith("next=%2Flist%3Fpage%3D2")
        cors = {**SAME_ORIGIN, "Sec-Fetch-Mode": "cors"}
        for script in (cors, {"Accept": "application/json", "Sec-Fetch-Site": "same-origin"}):
            answer = browser.request("/part", method=method, headers=script, status=403)
            assert "HX-Redirect" not in answer.headers


def test_the_demand_is_met_between_the_request_and_the_guard(make_site, ada):
    def app(environ, start_response):
        acceptances.accept(ada, VERSION)
        return login_required(redirect_url="/auth/login")(echo)(environ, start_response)

    site = make_site(app)
    browser = logged_in(site, known_to(site, ada), terms=False)
    answer = browser.get("/x", headers=BROWSER, status=302)
    assert answer.location == "/auth/login?next=%2Fx"


def test_a_login_that_code_starts_lacks_the_terms(make_site, ada):
    def app(environ, start_response):
        if environ["PATH_INFO"] == "/in":
            headers = log_in(environ, User.get())
            seen = str(environ["wsgiauth.user"]) + str(environ["wsgiauth.error"])
            start_response("200 OK", [*headers, ("Content-Type", "text/plain")])
            return [seen.encode()]
        if environ["PATH_INFO"] == "/out":
            start_response("200 OK", [*log_out(environ), ("Content-Type", "text/plain")])
            return [b""]
        return echo(environ, start_response)

    client = TestApp(make_site(app))
    for _ in range(2):
        assert client.get("/in").text == f"None{ERROR}"
        assert client.get("/").json["error"] == ERROR
    client.get("/out")
    assert client.get("/").json["error"] is None


# The texts that must be read before


@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("/terms", "/terms"),
        ("/terms?lang=en", "/terms"),
        ("/terms#privacy", "/terms"),
        ("/the%20terms/%C3%A9", "/the%20terms/%C3%A9"),
        ("https://site.example/terms", "/terms"),
    ],
)
@pytest.mark.parametrize("guard", [{"public": ("/open",)}, {"require": {"/": "a.b"}}])
def test_a_gate_lets_everyone_read_exactly_the_terms_and_the_policy(
    make_site, ada, url, path, guard
):
    of = {"TERMS_URL": url, "PRIVACY_URL": "/privacy", "PUBLIC_URL": "https://site.example"}
    site = make_site(of=of, **guard)
    browser = logged_in(site, known_to(site, ada), terms=False)
    for client in (browser, TestApp(site)):
        for each in (path, f"{path}?print=1", "/privacy"):
            client.get(each, headers=BROWSER, status=200)
            client.head(each, headers=BROWSER, status=200)
            client.post(each, headers=SAME_ORIGIN, status="3*")
            client.put(each, headers={"Sec-Fetch-Site": "same-origin"}, status="4*")
        for each in (f"{path}/", f"{path}/x", path.upper(), f"/x{path}", "/", "/privacy.txt"):
            client.get(each, headers=BROWSER, status=302)


@pytest.mark.parametrize("url", ["/shop/terms", "https://site.example/shop/terms"])
def test_a_gate_below_a_prefix_opens_the_path_that_the_page_links(make_site, url):
    inner = make_site(of={"TERMS_URL": url, "PUBLIC_URL": "https://site.example"}, public=("/o",))

    def below(environ, start_response):
        environ["SCRIPT_NAME"], environ["PATH_INFO"] = "/shop", environ["PATH_INFO"][5:]
        return inner(environ, start_response)

    client = TestApp(below)
    client.get("/shop/terms", headers=BROWSER, status=200)
    client.get("/shop/shop/terms", headers=BROWSER, status=302)


def test_the_page_of_another_host_opens_nothing(make_site):
    site = make_site(of={"TERMS_URL": "https://legal.example/terms"}, public=("/open",))
    TestApp(site).get("/terms", headers=BROWSER, status=302)
    site = make_site(of={"TERMS_URL": "https://legal.example"}, public=("/open",))
    TestApp(site).get("/", headers=BROWSER, status=302)


def test_a_guard_of_the_application_in_front_of_the_terms_is_logged(make_site, ada, caplog):
    access.warn_of_guard.cache_clear()
    site = make_site(login_required(echo))
    browser = logged_in(site, known_to(site, ada), terms=False)
    browser.get("/other", headers=BROWSER, status=302)
    assert "remove the guard" not in caplog.text
    for _ in range(2):
        browser.get("/terms", headers=BROWSER, status=302)
    assert caplog.text.count("'/terms' is refused to a client who is anonymous") == 1


def test_a_path_that_can_mean_another_one_is_not_opened(make_site):
    urls = {"TERMS_URL": "/terms", "PRIVACY_URL": "/a/../b"}
    client = TestApp(make_site(echo, of=urls, public=()))
    for closed in ("/a/../b", "/b", "/a"):
        client.get(closed, status=401)


def test_what_the_gate_itself_keeps_closed_is_not_logged(make_site, caplog):
    access.warn_of_guard.cache_clear()
    client = TestApp(make_site(echo, public=["/"]))
    client.get("/terms", status=200)
    client.post("/terms", status=401)
    client.get("//terms", status=401)
    assert "is refused to a client" not in caplog.text


# Forward authentication


@pytest.fixture
def proxied(make_site, ada):
    """Return a site behind a proxy that asks, and the headers of Ada's browser."""
    site = make_site(of={"FORWARD_AUTH": True})
    token = bearer(site, known_to(site, ada), terms=False)["Authorization"].partition(" ")[2]
    return TestApp(site), {"Cookie": f"wsgiauth={token}", "X-Forwarded-Method": "GET"}, token


@pytest.mark.promise(96)
def test_a_proxy_that_names_no_page_gets_401(proxied):
    client, cookie, _ = proxied
    for headers in ({}, BROWSER, HTMX):
        refused = client.get("/auth/check", headers={**cookie, **headers}, status=401)
        assert refused.json["code"] == ERROR
        assert refused.headers["WWW-Authenticate"].startswith("Bearer ")


@pytest.mark.promise(96)
def test_a_proxy_that_names_the_page_leads_browsers_to_the_terms(proxied):
    client, cookie, token = proxied
    page = {**BROWSER, "X-Forwarded-Uri": "/reports?year=1843"}
    for query in ("", "?permission=a.b", "?fresh", "?second_factor"):
        answer = client.get(f"/auth/check{query}", headers={**cookie, **page}, status=302)
        assert answer.location == to_page("/reports?year=1843")
        program = {"Authorization": f"Bearer {token}", "X-Forwarded-Method": "GET"}
        program["X-Forwarded-Uri"] = "/reports"
        refused = client.get(f"/auth/check{query}", headers=program, status=403)
        assert (refused.json["code"], refused.json["terms_version"]) == (ERROR, VERSION)


def test_a_proxy_that_guards_the_terms_is_logged(make_site, caplog):
    access.warn_of_guard.cache_clear()
    client = TestApp(make_site(of={"FORWARD_AUTH": True, "TERMS_URL": "/legal/terms%20of%20use"}))
    for uri, is_logged in (("/reports", False), ("/legal/terms%20of%20use?lang=en", True)):
        headers = {**BROWSER, "X-Forwarded-Method": "GET", "X-Forwarded-Uri": uri}
        client.get("/auth/check", headers=headers, status=302)
        assert ("'/legal/terms of use' is refused" in caplog.text) is is_logged


@pytest.mark.parametrize("path", ["", "/app"])
def test_a_proxy_of_another_host_gets_whole_urls(make_site, ada, path):
    of = {
        "FORWARD_AUTH": True,
        "COOKIE_DOMAIN": "example.org",
        "PUBLIC_URL": f"https://login.example.org{path}",
        "NEXT_HOSTS": ("wiki.example.org",),
        "TERMS_URL": f"{path}/terms",
    }
    site = make_site(of=of)
    token = bearer(site, known_to(site, ada), terms=False)["Authorization"].partition(" ")[2]
    program = {
        "Authorization": f"Bearer {token}",
        "X-Forwarded-Method": "GET",
        "X-Forwarded-Uri": "/reports",
        "X-Forwarded-Host": "wiki.example.org",
    }
    refused = TestApp(site).get("/auth/check", headers=program, status=403)
    assert refused.json["terms_url"] == f"https://login.example.org{path}/terms"
