"""Sites that demand a second factor: what a login without one can do, and how it gets one."""

import json
import re
from dataclasses import replace
from functools import partial

import pytest
from peewee import OperationalError
from webtest import TestApp

from tests.support.authenticators import PASSKEYS, Authenticator, add_passkey
from tests.support.factors import FACTOR_KEY, App, add_app
from tests.support.logins import make_stale
from tests.support.processes import PROCESSES, meet
from tests.support.sites import BROWSER, PASSWORD, SAME_ORIGIN, SECRET_KEY, USERNAME, echo
from wsgiauth import (
    AuthMiddleware,
    Settings,
    log_in,
    log_out,
    login_required,
    permission_required,
    storage,
)
from wsgiauth.accounts import create_user, update_user
from wsgiauth.accounts.models import User
from wsgiauth.accounts.tables import Session
from wsgiauth.app import ROUTES
from wsgiauth.authentication import sessions
from wsgiauth.authentication.methods import MULTI_FACTOR
from wsgiauth.features.factors import factors, recovery_codes
from wsgiauth.features.factors.passkeys import Passkey
from wsgiauth.storage import context
from wsgiauth.testing import api_key, bearer, logged_in, make_settings, make_user

CREDENTIALS = {"username": USERNAME, "password": PASSWORD}
TOTP, CODES, CONFIRM = "/auth/totp", "/auth/recovery-codes", "/auth/confirm"
SET_UP, INSUFFICIENT = "second_factor_setup_required", "insufficient_user_authentication"
CHALLENGE = f'Bearer realm="wsgiauth", error="{INSUFFICIENT}", acr_values="{MULTI_FACTOR}"'


def demanding(settings, of, app=echo, **arguments):
    return AuthMiddleware(
        app, replace(settings, FACTOR_KEY=FACTOR_KEY, SECOND_FACTOR=of), **arguments
    )


@pytest.fixture
def site(settings):
    made = demanding(settings, "all", view)
    yield made
    storage.discard_connection(made.database)


@pytest.fixture
def incomplete(site, ada):
    """Return the header of a login without the second factor that the site demands."""
    return bearer(site, ada, second_factor=False)


@pytest.fixture
def browser(site, ada):
    """Return a browser with such a login."""
    return logged_in(site, ada, second_factor=False)


def ada_of(made):
    """Return Ada as another application on the same database knows her."""
    with context.using(made.database):
        return User.get()


def view(environ, start_response):
    """Echo, or guard /members."""
    guarded = login_required(redirect_url="/auth/login")(echo)
    app = guarded if environ["PATH_INFO"].startswith("/members") else echo
    return app(environ, start_response)


def set_up(client, site, headers=None):
    """Set an app up as a program; return the last answer."""
    begun = client.post_json(TOTP, {"name": "Phone"}, headers=headers, status=201)
    sent = {"code": App(begun.json["secret"], site).code()}
    return client.post_json(TOTP, sent, headers=headers, status=200)


# A person


@pytest.mark.every_database
@pytest.mark.promise(55)
def test_the_page_to_confirm_tells_an_incomplete_session_nothing_of_the_next(site, browser, ada):
    add_app(site, ada)
    grace = create_user("Grace", "grace@example.org", PASSWORD, settings=site.site.settings)
    update_user(ada, is_staff=True)
    next_url = f"/auth/admin/users/{grace.id}/delete"
    page = browser.get(f"{CONFIRM}?next={next_url}", headers=BROWSER)
    page.mustcontain(no=["Next:", "Grace"])
    assert page.html.find("a", string="Back to the home page")["href"] == "/"
    assert page.html.find("a", string="Back to your account") is None


def test_a_person_is_led_to_the_set_up_and_then_to_the_page_they_wanted(client, site, ada):
    asked = client.get("/members?page=2", headers=BROWSER, status=302).follow(headers=BROWSER)
    asked.form["username"], asked.form["password"] = USERNAME, PASSWORD
    page = asked.form.submit(headers=SAME_ORIGIN, status=303).follow(headers=BROWSER)
    assert page.request.path == TOTP
    page.mustcontain("Your account needs two-step verification to log in here.")
    assert page.html.find("a", string="Your account") is None
    page.forms[0]["name"] = "Phone"
    page = page.forms[0].submit(headers=SAME_ORIGIN, status=303).follow(headers=BROWSER)
    page.forms[0]["code"] = App(page.html.find(class_="key").text.replace(" ", ""), site).code()
    page = page.forms[0].submit(headers=SAME_ORIGIN, status=303).follow(headers=BROWSER)
    assert (
        page.html.find("a", string="Continue without recovery codes")["href"] == "/members?page=2"
    )
    page = page.form.submit(headers=SAME_ORIGIN, status=201)
    saved = page.form.submit("saved", headers=SAME_ORIGIN, status=303)
    assert saved.location == "/members?page=2"
    assert client.get("/members", headers=BROWSER, status=200).json["user"] == USERNAME
    assert Session.get().methods == "pwd otp"


def test_a_login_without_a_page_to_go_to_is_led_to_the_set_up_too(client, ada):
    answer = client.post("/auth/login", CREDENTIALS, headers=SAME_ORIGIN, status=303)
    assert answer.headers["Location"] == TOTP
    script = {"Accept": "application/json", "Sec-Fetch-Site": "same-origin"}
    assert client.post("/auth/login", CREDENTIALS, headers=script).json["next"] == TOTP


def test_so_is_a_person_who_registers(client, site):
    grace = {"username": "Grace", "email": "grace@example.org", "password": PASSWORD}
    sent = {**grace, "next": "/members"}
    answer = client.post("/auth/register", sent, headers=SAME_ORIGIN, status=303)
    assert answer.headers["Location"] == f"{TOTP}?next=%2Fmembers"
    assert client.get("/").json["user"] is None


def test_where_there_are_passkeys_alone_the_set_up_is_that_of_passkeys(settings, site, ada):
    keys = {"PASSKEYS": True, "PUBLIC_URL": "http://localhost"}
    made = AuthMiddleware(login_required(echo), replace(settings, SECOND_FACTOR="all", **keys))
    answer = TestApp(made).post("/auth/login", CREDENTIALS, headers=SAME_ORIGIN, status=303)
    assert answer.headers["Location"] == "/auth/passkeys"
    browser = logged_in(made, ada_of(made), second_factor=False)
    answer = browser.get("/x", headers=BROWSER, status=302)
    assert answer.headers["Location"] == "/auth/passkeys?next=%2Fx"
    storage.discard_connection(made.database)


def test_the_set_up_needs_a_recent_password(browser):
    make_stale()
    page = browser.get(f"{TOTP}?next=/members", headers=BROWSER, status=302).follow(headers=BROWSER)
    page.form["password"] = PASSWORD
    back = page.form.submit(headers=SAME_ORIGIN, status=303)
    assert back.headers["Location"] == f"{TOTP}?next=/members"
    back.follow(headers=BROWSER, status=200)


def test_a_person_can_log_out_instead(browser):
    headers = {**SAME_ORIGIN, "Referer": "http://localhost:80/members/new"}
    answer = browser.post("/members", {"text": "x"}, headers=headers, status=302)
    assert answer.headers["Location"] == f"{TOTP}?next=%2Fmembers%2Fnew"
    browser.get(TOTP, headers=BROWSER).forms[1].submit(headers=SAME_ORIGIN, status=303)
    assert not Session.select().exists()


def test_the_login_page_is_that_of_an_anonymous_visitor_and_the_next_login_replaces_this_one(
    browser, site, settings
):
    create_user("Grace", "grace@example.org", PASSWORD, settings=settings)
    page = browser.get("/auth/login", headers=BROWSER)
    assert "has ended" not in page.text
    page.form["username"], page.form["password"] = "Grace", PASSWORD
    page.form.submit(headers=SAME_ORIGIN, status=303)
    assert [each.user.username for each in Session.select()] == ["Grace"]


def test_a_login_from_before_the_demand_of_a_user_with_an_app_is_asked_for_its_code(site, ada):
    app = add_app(site, ada)
    for remember in (False, True):
        browser = logged_in(site, ada, remember=remember, second_factor=False)
        for path in ("/members", "/auth/account", TOTP, CODES):
            answer = browser.get(path, headers=BROWSER, status=302)
            assert answer.headers["Location"] == f"{CONFIRM}?next={path.replace('/', '%2F')}"
    page = browser.get("/members", headers=BROWSER, status=302).follow(headers=BROWSER)
    page.form["code"] = app.code()
    page.form.submit(headers=SAME_ORIGIN, status=303).follow(headers=BROWSER, status=200)


@pytest.mark.promise(55)
def test_such_a_login_cannot_set_up_another_app_instead(client, site, ada):
    add_app(site, ada)
    incomplete = bearer(site, ada, second_factor=False)
    for sent in ({"name": "Mine"}, {"code": "123456"}, {"remove": "x"}):
        client.post_json(TOTP, sent, headers=incomplete, status=401)
    client.post_json(CONFIRM, {"password": PASSWORD}, headers=incomplete, status=422)
    code, *_ = recovery_codes.replace(ada, rounds=4)
    confirmed = client.post_json(CONFIRM, {"code": code}, headers=incomplete)
    assert "restriction" not in confirmed.json


def test_the_last_app_stays_where_one_is_demanded(site, ada):
    add_app(site, ada)
    browser = logged_in(site, ada)
    done = browser.get(f"{TOTP}?next=/auth/logout", headers=BROWSER)
    assert done.html.find("a", string="Continue")["href"] == "/"  # no dead end
    page = browser.get(TOTP, headers=BROWSER).forms[0].submit(headers=SAME_ORIGIN, status=422)
    assert "Add another app or passkey, then remove this one." in page.html.find(role="alert").text
    assert len(factors.list_factors(ada)) == 1
    add_app(site, ada, "Tablet")
    browser.get(TOTP, headers=BROWSER).forms[0].submit(headers=SAME_ORIGIN, status=303)
    assert len(factors.list_factors(ada)) == 1


def remove_at_once(token, url, handle):
    """Remove an app when each process does; return the status."""
    settings = Settings(SECRET_KEY=SECRET_KEY, BCRYPT_ROUNDS=4, DATABASE_URL=url)
    client = TestApp(demanding(settings, "all"))
    client.authorization = ("Bearer", token)
    meet()
    return client.post_json(TOTP, {"remove": handle}, status="*").status_int


@pytest.mark.every_database
def test_of_eight_processes_that_remove_every_app_one_leaves_its_app(
    in_processes, settings, site, ada
):
    for number in range(PROCESSES):
        add_app(site, ada, f"App {number}")
    with context.using(site.database):
        recovery_codes.replace(ada, rounds=4)
        handles = [each.handle for each in factors.list_factors(ada)]
    remove = partial(remove_at_once, token_of(bearer(site, ada)))
    statuses = in_processes(remove, settings.DATABASE_URL, handles)
    assert sorted(statuses) == [200] * (PROCESSES - 1) + [422]
    with context.using(site.database):
        assert len(factors.list_factors(ada)) == 1
        assert recovery_codes.count(ada) == recovery_codes.NUMBER


# A program


@pytest.mark.every_database
def test_a_program_gets_a_token_for_the_set_up_and_then_one_for_everything(client, site, ada):
    login = client.post_json("/auth/login", {**CREDENTIALS, "refresh": True}).json
    assert login["restriction"] == SET_UP
    headers = {"Authorization": f"Bearer {login['access_token']}"}
    refused = client.get("/members", headers=headers, status=401)
    assert refused.json["code"] == SET_UP
    assert refused.json["detail"].endswith(f"The page is {TOTP}.")
    assert refused.headers["WWW-Authenticate"] == CHALLENGE
    login = set_up(client, site, headers).json["login"]
    assert "restriction" not in login
    headers = {"Authorization": f"Bearer {login['access_token']}"}
    assert client.get("/members", headers=headers).json["user"] == USERNAME
    pair = client.post_json("/auth/refresh", {"refresh_token": login["refresh_token"]})
    assert "restriction" not in pair.json


def test_a_refreshed_login_lacks_what_it_lacked(client, site, ada):
    login = client.post_json("/auth/login", {**CREDENTIALS, "refresh": True}).json
    add_app(site, ada)
    pair = client.post_json("/auth/refresh", {"refresh_token": login["refresh_token"]}).json
    assert pair["restriction"] == INSUFFICIENT
    headers = {"Authorization": f"Bearer {pair['access_token']}"}
    refused = client.get("/auth/me", headers=headers, status=401)
    assert (refused.json["code"], refused.headers["WWW-Authenticate"]) == (INSUFFICIENT, CHALLENGE)


def test_a_key_works_as_before_and_cannot_be_made_without_the_factor(client, site, ada, incomplete):
    ada.grant("a.b")
    assert client.get("/", headers=api_key(site, ada, ["a.b"])).json["key"]
    client.post_json("/auth/keys", {"name": "x"}, headers=incomplete, status=401)


# Default deny


@pytest.mark.promise(55)
def test_code_that_reads_the_caller_sees_nobody(client, incomplete, browser):
    for seen in (client.get("/", headers=incomplete).json, browser.get("/").json):
        assert seen == {
            **client.get("/").json,
            "error": INSUFFICIENT,
        }


# All that users need who must set up a second factor, or prove it. All else must refuse them.
OPEN = {
    (method, path)
    for method in ("GET", "POST")
    for path in ("/confirm", "/totp", "/passkeys", "/logout")
}
REQUESTS = sorted((method, path) for path, each in ROUTES.items() for method in each.handlers)
FIELDS = {"permission": "a.b", "end": "others", "name": "x", "username": "x", "email": "x@y.org"}


@pytest.fixture(scope="module")
def panel_site():
    """Return a site that offers every URL."""
    limits = {"MAILS_PER_ACCOUNT": 0, "LOGIN_FAILURES_PER_ACCOUNT": 0}
    demand = {"FACTOR_KEY": FACTOR_KEY, "SECOND_FACTOR": "all", **PASSKEYS}
    return AuthMiddleware(echo, make_settings(MAIL_URL="memory:", **limits, **demand))


@pytest.fixture(scope="module")
def boss(panel_site):
    """Return a superuser who has no second factor."""
    return make_user(panel_site, "boss", is_staff=True, is_superuser=True)


def send(client, method, path, boss, kind):
    """Send a request as a program, with JSON, or as a browser, with a form."""
    url = "/auth" + re.sub("{(id|client)}", str(boss.id), path).replace("{action}", "grant")
    if method == "GET":
        return client.get(url, headers={} if kind == "program" else BROWSER, status="*")
    if kind == "program":
        return client.post_json(url, FIELDS, status="*")
    return client.post(url, FIELDS, headers=SAME_ORIGIN, status="*")


def is_refused(answer):
    """Return whether an answer says that the login lacks a second factor."""
    location = answer.headers.get("Location", "")
    if answer.status_int == 302:
        return location.startswith((TOTP, CONFIRM))
    return answer.status_int == 401 and CHALLENGE in answer.headers.getall("WWW-Authenticate")


def is_right(client, method, path, boss, kind):
    """Return whether a URL knows the login if it is open to it, and does not otherwise."""
    answer = send(client, method, path, boss, kind)
    if is_refused(answer):
        return (method, path) not in OPEN or (method, path, kind) == ("GET", "/totp", "program")
    if (method, path) in OPEN:
        return answer.status_int in (200, 201, 303, 422)
    # It answers everyone, and the user like everyone.
    anonymous = send(TestApp(client.app), method, path, boss, kind)
    return (answer.status_int, shown(answer)) == (anonymous.status_int, shown(anonymous))


@pytest.mark.promise(55)
@pytest.mark.parametrize("kind", ["program", "browser"])
def test_a_url_does_not_know_such_a_login_unless_it_opts_in(kind, panel_site, boss):
    client = logged_in(panel_site, boss, second_factor=False)
    if kind == "program":
        client = TestApp(panel_site)
        client.authorization = ("Bearer", token_of(bearer(panel_site, boss, second_factor=False)))
    # The open ones are the last, so that they show that the login has not ended meanwhile.
    requests = sorted(REQUESTS, key=lambda each: (each in OPEN, each[1] == "/logout"))
    assert [each for each in requests if not is_right(client, *each, boss, kind)] == []


def shown(answer):
    """Return a body without the challenge and the handle for a passkey, which differ each time."""
    return re.sub(rb"(challenge|id)&#34;: &#34;[^&]+", b"", answer.body)


def token_of(headers):
    return headers["Authorization"].partition(" ")[2]


# The application's own code


@pytest.mark.promise(55)
def test_a_guard_a_gate_and_a_challenge_lead_to_the_second_factor(settings, site, ada):
    permission = permission_required("a.b", redirect_url="/auth/login")
    guarded = [
        demanding(settings, "all", app, **arguments)
        for app, arguments in (
            (login_required(echo), {}),
            (permission(echo), {}),
            (login_required(fresh=True)(echo), {}),
            (echo, {"public": ("/",)}),
            (echo, {"require": "a.b"}),
            (refusing, {"challenge": True}),
        )
    ]
    for has_app in (False, True):
        if has_app:
            add_app(site, ada)
        url, code = (CONFIRM, INSUFFICIENT) if has_app else (TOTP, SET_UP)
        for each in guarded:
            browser = logged_in(each, ada_of(each), second_factor=False)
            answer = browser.get("/x?y=1", headers=BROWSER, status=302)
            assert answer.headers["Location"] == f"{url}?next=%2Fx%3Fy%3D1"
            headers = bearer(each, ada_of(each), second_factor=False)
            refused = TestApp(each).get("/x", headers=headers, status=401)
            assert refused.json["code"] == code
            assert refused.headers["WWW-Authenticate"] == CHALLENGE
    for each in guarded:
        storage.discard_connection(each.database)


def refusing(environ, start_response):
    """Refuse whoever is anonymous, as an application without guards does."""
    start_response("401 Unauthorized", [("Content-Type", "text/plain")])
    return [b""]


def test_a_guard_without_a_database_answers_503(settings, site, ada, monkeypatch):
    def fail(*_):
        raise OperationalError("away")

    guarded = demanding(settings, "all", login_required(echo))
    browser = logged_in(guarded, ada_of(guarded), second_factor=False)
    monkeypatch.setattr("wsgiauth.authentication.second_factors.SecondFactors.is_needed_by", fail)
    browser.get("/", headers=BROWSER, status=503)
    storage.discard_connection(guarded.database)


def test_a_login_that_was_completed_before_the_guard_asked_is_sent_to_the_login(
    settings, site, ada
):
    """The guard looks it up again, and the id that the request has is no longer valid."""

    def app(environ, start_response):
        sessions.revoke_all(ada)
        return login_required(redirect_url="/auth/login")(echo)(environ, start_response)

    guarded = demanding(settings, "all", app)
    browser = logged_in(guarded, ada_of(guarded), second_factor=False)
    answer = browser.get("/", headers=BROWSER, status=302)
    assert answer.headers["Location"].startswith("/auth/login")
    storage.discard_connection(guarded.database)


def test_a_login_that_code_starts_is_judged_by_its_methods(settings, site, ada):
    def app(environ, start_response):
        if environ["PATH_INFO"] == "/in":
            methods = environ["QUERY_STRING"].replace("+", " ")
            headers = log_in(environ, User.get(), methods=methods)
            seen = environ["wsgiauth.user"]
            start_response("200 OK", [*headers, ("Content-Type", "text/plain")])
            return [str(seen and seen.username).encode()]
        if environ["PATH_INFO"] == "/out":
            start_response("200 OK", [*log_out(environ), ("Content-Type", "text/plain")])
            return [b""]
        return echo(environ, start_response)

    own = demanding(settings, "all", app)
    client = TestApp(own)
    for methods, user in (("pwd", None), ("pwd+otp", USERNAME)):
        for _ in range(2):  # the second one ends the first one
            assert client.get(f"/in?{methods}").text == str(user)
            assert client.get("/").json["user"] == user
            assert Session.select().count() == 1
        client.get("/out")
        assert not Session.select().exists()
    storage.discard_connection(own.database)


# Who must have one


STAFF, SUPERUSER = {"is_staff": True}, {"is_superuser": True}


def test_the_setting_says_who_must_have_one(settings, site, ada):
    for of, flags, is_enough in (
        ("staff", {}, True),
        ("all", {}, False),
        ("staff", STAFF, False),
        ("offered", STAFF | SUPERUSER, True),
        ("staff", SUPERUSER, False),
    ):
        User.update({"is_staff": False, "is_superuser": False} | flags).execute()
        made = demanding(settings, of)
        headers = bearer(made, ada_of(made), second_factor=False)
        seen = TestApp(made).get("/", headers=headers).json
        assert (seen["user"], seen["error"]) == (
            (USERNAME, None) if is_enough else (None, INSUFFICIENT)
        ), (of, flags)
        assert TestApp(made).get("/", headers=bearer(made, ada_of(made))).json["user"] == USERNAME
        storage.discard_connection(made.database)


def test_a_promotion_counts_on_the_next_request(settings, site, ada):
    made = demanding(settings, "staff")
    browser = logged_in(made, ada_of(made))
    assert browser.get("/").json["user"] == USERNAME
    update_user(ada, is_staff=True)
    assert browser.get("/").json["user"] is None
    update_user(ada, is_staff=False)
    assert browser.get("/").json["user"] == USERNAME
    storage.discard_connection(made.database)


def test_identification_costs_one_select(settings, site, ada, queries):
    for of in ("offered", "staff", "all"):
        made = demanding(settings, of)
        for second_factor in (False, True):
            headers = bearer(made, ada_of(made), second_factor=second_factor)
            (sql,) = queries(partial(TestApp(made).get, "/", headers=headers))
            assert ("methods" in sql) is (of != "offered")
        storage.discard_connection(made.database)


# A factor of a type that is switched off

OFF = "second_factor_switched_off"
APPS = {"FACTOR_KEY": FACTOR_KEY}

EACH_TYPE = pytest.mark.parametrize(
    ("add", "before", "now", "path"),
    [(add_app, APPS, PASSKEYS, "/auth/passkeys"), (add_passkey, PASSKEYS, APPS, TOTP)],
    ids=["app", "passkey"],
)


@pytest.fixture
def restart(settings, ada):
    """Return a function that makes a site on the same database, with other factors."""
    opened = []

    def made(types, of="all", app=echo):
        opened.append(AuthMiddleware(app, replace(settings, SECOND_FACTOR=of, **types)))
        return opened[-1]

    yield made
    for each in opened:
        storage.discard_connection(each.database)


@pytest.mark.promise(55)
@EACH_TYPE
def test_the_password_alone_does_not_replace_a_factor_that_is_switched_off(
    add, before, now, path, restart, ada
):
    add(restart(before), ada)
    made = restart(now, app=login_required(redirect_url="/auth/login")(echo))
    client = TestApp(made)
    login = client.post_json("/auth/login", CREDENTIALS).json
    assert login["restriction"] == OFF
    headers = {"Authorization": f"Bearer {login['access_token']}"}
    sent = {"name": "Mine", "credential": "{}", "code": "123456"}
    for refused in (
        client.get(path, headers=headers, status=401),
        client.post_json(path, sent, headers=headers, status=401),
        client.post_json(CONFIRM, {"password": PASSWORD}, headers=headers, status=401),
    ):
        assert refused.json["code"] == OFF
        assert (
            "Ask an operator of this site to switch the method on again" in refused.json["detail"]
        )
        assert refused.headers["WWW-Authenticate"] == CHALLENGE
    answer = client.post("/auth/login", CREDENTIALS, headers=SAME_ORIGIN, status=303)
    assert answer.headers["Location"] == path
    for url in (path, "/members"):
        page = client.get(url, headers=BROWSER, status=401)
        assert page.html.h1.text.strip() == "Your two-step verification is switched off"
        page.mustcontain("or to remove it from your account")
    client.post("/auth/logout", headers=SAME_ORIGIN, status=303)


def test_a_login_that_the_site_accepts_can_set_up_a_factor_of_another_type(restart, ada):
    add_app(restart(APPS), ada)
    for of, second_factor in (
        ("all", True),  # proven before
        ("offered", False),
        ("staff", False),  # not of this user
    ):
        made = restart(PASSKEYS, of)
        headers = bearer(made, ada_of(made), second_factor=second_factor)
        client, path = TestApp(made), "/auth/passkeys"
        options = json.dumps(client.get(path, headers=headers).json["creation_options"])
        sent = {"name": "Laptop", "credential": Authenticator().create(options)}
        client.post_json(path, sent, headers=headers, status=201)
        Passkey.delete().execute()
