"""GET /auth/oidc/{provider}/callback: logins by known accounts, connections and confirmations."""

import time
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import parse_qsl, urlencode

import pytest
from webtest import TestApp

from tests.support.factors import FACTOR_KEY, add_app
from tests.support.hostile_provider import Provider
from tests.support.provider_answers import Answer, Held
from tests.support.provider_keys import DROP
from tests.support.provider_logins import (
    begin,
    come_back,
    connect,
    errand,
    log_in,
    path_of,
    with_provider,
)
from tests.support.sites import BROWSER, SAME_ORIGIN, USERNAME
from tests.support.tabs import OIDC, give_cookies, tab_cookies
from wsgiauth import AuthMiddleware, storage
from wsgiauth.accounts import find_user, update_user
from wsgiauth.accounts.groups import Group
from wsgiauth.accounts.models import PROVEN_BY_LINK, User
from wsgiauth.accounts.tables import OneTimeSecret, Session
from wsgiauth.authentication import freshness
from wsgiauth.authentication.lifetimes import HOST_SKEW
from wsgiauth.features.providers import identities, oidc
from wsgiauth.features.providers.endpoints import oidc_callback
from wsgiauth.features.providers.identities import Identity
from wsgiauth.features.providers.oidc.errands import CONFIRM, CONNECT, LIFETIME
from wsgiauth.features.providers.oidc.transport import MAX_AT_ONCE
from wsgiauth.features.providers.provider_sessions import ProviderSession
from wsgiauth.storage.models import utc_now
from wsgiauth.storage.upkeep import purge_expired
from wsgiauth.testing import logged_in, make_user


@pytest.fixture
def site(make_provider_site):
    return make_provider_site(FACTOR_KEY=FACTOR_KEY)


@pytest.fixture
def known(ada, provider):
    """Return the row of Ada's account of the provider."""
    return connect(ada, provider)


def who(client):
    return client.get("/").json["user"]


def session_cookie(answer):
    """Return the header with the cookie of the session."""
    cookies = answer.headers.getall("Set-Cookie")
    [found] = [each for each in cookies if each.startswith("wsgiauth=")]
    return found


def failures(heard):
    return [each.reason for each in heard if each.name == "provider_failed"]


def changed(query, **parameters):
    """Return a query with other parameters; None leaves one out."""
    given = dict(parse_qsl(query)) | parameters
    return urlencode({name: value for name, value in given.items() if value is not None})


@pytest.mark.every_database
def test_a_known_account_logs_its_user_in(client, known, provider, heard):
    answer = log_in(client, provider, next="/reports?page=2", status=303)
    assert answer.location == "/reports?page=2"
    assert "Max-Age" not in session_cookie(answer)
    assert who(client) == USERNAME
    session = Session.get()
    assert (session.methods, session.idle > 0) == ("fed", True)
    assert ProviderSession.get().identity_id == known.id
    assert [(each.name, each.reason) for each in heard][-1:] == [("login", "fed")]
    assert Identity.get().name == "ada@example.org"


@pytest.mark.every_database
def test_a_user_of_hundreds_of_groups_joins_those_of_this_site(make_provider_site, ada, provider):
    client = TestApp(make_provider_site({"groups": "groups"}))
    connect(ada, provider)
    provider.claims["groups"] = [f"{number:050}" for number in range(300)]
    Group.create(name=provider.claims["groups"][-1])
    log_in(client, provider, status=303)
    assert [each.name for each in ada.groups] == provider.claims["groups"][-1:]


@pytest.mark.promise(18)
def test_a_login_leads_only_to_this_site_and_ends_the_session_that_the_browser_had(
    site, grace, ada, known, provider
):
    client = logged_in(site, grace)
    assert who(client) == "Grace"
    answer = log_in(client, provider, status=303, next="https://evil.example/", remember="on")
    assert (answer.location, who(client)) == ("/", USERNAME)
    assert "Max-Age" in session_cookie(answer)
    assert [row.user_id for row in Session.select()] == [ada.id]


def test_the_answers_hide_their_address_and_delete_the_cookie(client, known, provider):
    url = begin(client)
    [name] = tab_cookies(client, OIDC)
    answer = come_back(client, provider.authorize(url))
    cookies = answer.headers.getall("Set-Cookie")
    assert f"{name}=; Max-Age=0; Path=/; HttpOnly; SameSite=Lax" in cookies
    for each in (answer, come_back(client, "state=x&code=y")):
        assert each.headers["Referrer-Policy"] == "strict-origin"


@pytest.mark.every_database
def test_only_a_known_account_needs_no_userinfo(client, ada, provider, heard):
    provider.claims["email"] = DROP
    provider.answers["/userinfo"] = Answer(403)
    log_in(client, provider, status=502)
    assert who(client) is None
    assert failures(heard) == ["google: userinfo: status"]
    connect(ada, provider)
    assert log_in(client, provider, status=303).location == "/"
    assert (who(client), Identity.get().name) == (USERNAME, "ada@example.com")


# Promise 72: what holds for every way in.


@pytest.mark.promise(72)
def test_a_deactivated_user_is_refused(client, ada, known, provider, heard):
    update_user(ada, is_active=False)
    heard.clear()
    page = log_in(client, provider, status=403)
    assert "deactivated" in page.html.main.text
    assert page.html.find("a", string="Back to the login page")["href"] == "/auth/login"
    assert [(each.name, each.reason) for each in heard] == [("login_failed", "inactive")]
    assert (who(client), Session.select().count()) == (None, 0)


@pytest.mark.promise(72)
@pytest.mark.every_database
def test_a_second_factor_is_asked_for_as_after_a_password(client, site, ada, known, provider):
    app = add_app(site, ada)
    answer = log_in(client, provider, next="/reports", remember="on", status=303)
    assert path_of(answer) == "/auth/second"
    assert (who(client), Session.select().count()) == (None, 0)
    page = client.get("/auth/second", headers=BROWSER)
    page.form["code"] = app.code()
    done = page.form.submit(headers=SAME_ORIGIN, status=303)
    assert done.location == "/reports"
    assert Session.get().methods == "fed otp"


@pytest.mark.promise(68)
def test_an_address_that_its_user_changes_meanwhile_connects_nothing(
    make_provider_site, ada, provider, monkeypatch
):
    client = TestApp(make_provider_site({"link": "verified"}))
    proof = {"email_verified_at": utc_now(), "email_verified_by": PROVEN_BY_LINK}
    update_user(ada, email="ada@example.org", **proof)

    def find_and_change(name):
        found = find_user(name)
        before = vars(found)["__data__"].copy()
        update_user(found, email="new@example.org", **proof)
        return User(**before)

    monkeypatch.setattr(oidc_callback, "find_user", find_and_change)
    assert path_of(log_in(client, provider, status=303)) == "/auth/complete"
    assert not Identity.select().exists()


@pytest.mark.promise(74)
def test_a_logout_at_the_provider_ends_the_login_that_waits_for_the_second_factor(
    client, site, ada, known, provider
):
    app = add_app(site, ada)
    log_in(client, provider)
    client.get("/auth/second", headers=BROWSER, status=200)
    logout = {"logout_token": provider.logout_token(sid=DROP)}
    client.post("/auth/oidc/google/logout", logout, status=200)
    answer = client.post("/auth/second", {"code": app.code()}, headers=SAME_ORIGIN, status=302)
    assert path_of(answer) == "/auth/login"
    assert who(client) is None


@pytest.mark.promise(72)
@pytest.mark.parametrize(
    ("trust", "methods", "path"),
    [
        ("trusted", ["pwd", "otp", "mfa"], "/"),
        ("asked", ["mfa"], "/auth/second"),
    ],
)
def test_the_operator_decides_whose_second_factor_is_enough(
    trust, methods, path, make_provider_site, ada, provider
):
    site = make_provider_site({"second_factor": trust}, FACTOR_KEY=FACTOR_KEY)
    connect(ada, provider)
    add_app(site, ada)
    provider.claims["amr"] = methods
    assert path_of(log_in(TestApp(site), provider)) == path


@pytest.mark.promise(72)
def test_where_a_second_factor_is_demanded_it_is_set_up_first(make_provider_site, ada, provider):
    client = TestApp(make_provider_site(FACTOR_KEY=FACTOR_KEY, SECOND_FACTOR="all"))
    connect(ada, provider)
    answer = log_in(client, provider, next="/reports", status=303)
    assert answer.location == "/auth/totp?next=%2Freports"
    assert who(client) is None


@pytest.mark.promise(72)
def test_a_user_who_logs_in_too_often_waits(
    make_provider_site, ada, provider, heard, stopped_throttle
):
    client = TestApp(make_provider_site(LOGINS_PER_ACCOUNT=2))
    connect(ada, provider)
    answers = [log_in(client, provider).status_int for _ in range(3)]
    assert answers == [303, 303, 429]


@pytest.mark.promise(72)
def test_failed_callbacks_make_the_client_wait(
    make_provider_site, ada, provider, heard, stopped_throttle
):
    client = TestApp(make_provider_site(LOGIN_FAILURES_PER_ADDRESS=2))
    connect(ada, provider)
    log_in(client, provider, status=303)
    provider.claims["nonce"] = "wrong"
    assert [log_in(client, provider).status_int for _ in range(3)] == [502, 502, 429]
    provider.claims.clear()
    page = log_in(client, provider, status=429)
    assert int(page.headers["Retry-After"]) > 0
    assert page.html.find("a", string="Back to the login page")
    assert heard[-1].reason == "providers"


@pytest.mark.promise(71)
def test_a_provider_that_is_down_makes_nobody_wait(
    make_provider_site, ada, provider, stopped_throttle, heard
):
    site = make_provider_site(LOGIN_FAILURES_PER_ADDRESS=1)
    connect(ada, provider)
    client = TestApp(make_provider_site(LOGIN_FAILURES_PER_ADDRESS=1))
    query = provider.authorize(begin(client))
    with provider.down():
        page = come_back(client, query, status=503)
    assert int(page.headers["Retry-After"]) > 0
    assert failures(heard) == ["google: token: connection"]
    log_in(TestApp(site), provider, status=303)


# Promise 69: the browser, the provider, the moment.


@pytest.mark.promise(71)
def test_a_browser_that_comes_back_while_others_wait_loads_the_page_again(
    site, client, known, provider, heard, queries
):
    waiting = [TestApp(site) for _ in range(MAX_AT_ONCE)]
    callbacks = [provider.authorize(begin(each), "ada") for each in (*waiting, client)]
    held = provider.answers["/token"] = Held()
    with ThreadPoolExecutor() as threads:
        calls = [threads.submit(come_back, *each) for each in zip(waiting, callbacks, strict=False)]
        while len(provider.requests["/token"]) < MAX_AT_ONCE:
            held.reached.wait()
        refused = []
        sent = queries(lambda: refused.append(come_back(client, callbacks[-1], status=503)))
        held.release()
        assert [path_of(call.result()) for call in calls] == ["/", "/"]
    assert sent == []
    assert refused[0].headers["Retry-After"] == "1"
    assert int(refused[0].headers["Refresh"]) in (1, 2, 3)
    assert "loaded again" in refused[0]
    assert failures(heard) == ["google: busy"]
    assert path_of(come_back(client, callbacks[-1])) == "/"


@pytest.mark.promise(69)
def test_the_callback_in_another_browser_is_refused(client, site, known, provider, heard):
    """Login CSRF: an attacker's own code and state, in a browser that began nothing, or a login."""
    query = provider.authorize(begin(client), "mallory")
    victim = TestApp(site)
    come_back(victim, query, status=400)
    begin(victim)
    come_back(victim, query, status=400)
    assert failures(heard) == ["google: no cookie"] * 2
    assert (who(victim), Session.select().count()) == (None, 0)
    assert not OneTimeSecret.select().exists()
    assert provider.requests["/token"] == []


@pytest.mark.promise(69)
@pytest.mark.every_database
def test_a_state_is_used_once(client, known, provider, heard):
    url = begin(client)
    cookies, query = tab_cookies(client, OIDC), provider.authorize(url)
    come_back(client, query, status=303)
    client.get("/auth/logout")
    give_cookies(client, cookies)
    purge_expired(OneTimeSecret, time.time() + LIFETIME + HOST_SKEW)  # a slow host accepts it
    come_back(client, query, status=400)
    come_back_later = changed(provider.authorize(url))  # with a code of its own
    give_cookies(client, cookies)
    come_back(client, come_back_later, status=400)
    assert failures(heard) == ["google: state used"] * 2
    assert (who(client), len(provider.requests["/token"])) == (None, 1)


def test_a_user_who_comes_back_once_more_is_led_to_the_account(client, known, provider):
    url = begin(client)
    query = provider.authorize(url)
    come_back(client, query, status=303)
    page = come_back(client, query, status=400)
    assert page.html.find("a", string="Back to your account")["href"] == "/auth/account"
    assert not page.html.find("a", string="Back to the login page")
    client.reset()
    page = come_back(client, query, status=400)
    assert page.html.find("a", string="Back to the login page")


@pytest.mark.promise(69)
def test_a_state_that_failed_is_used_too(client, known, provider):
    provider.claims["nonce"] = "wrong"
    url = begin(client)
    cookies, query = tab_cookies(client, OIDC), provider.authorize(url)
    come_back(client, query, status=502)
    provider.claims.clear()
    give_cookies(client, cookies)
    come_back(client, query, status=400)


@pytest.mark.promise(69)
def test_a_login_at_one_provider_does_not_end_at_another(settings, provider, ada, heard):
    """Mix-up (RFC 9700 section 4.4)."""
    with Provider() as other:
        changed_settings = with_provider(settings, provider, further=(other.entry("other"),))
        site = AuthMiddleware(lambda *_: [], changed_settings, on_event=heard.append)
        connect(ada, provider)
        client = TestApp(site)
        query = provider.authorize(begin(client))
        come_back(client, query, name="other", status=400)
        assert other.requests["/token"] == []
    assert failures(heard) == ["other: state"]
    storage.discard_connection(site.database)


@pytest.mark.promise(69)
def test_a_callback_that_is_not_as_the_provider_sent_it_is_refused(
    make_provider_site, ada, provider, heard
):
    client = TestApp(make_provider_site(LOGIN_FAILURES_PER_ADDRESS=100))
    connect(ada, provider)
    heard.clear()
    for spoil, reason in (
        (lambda query: "", "state"),
        (lambda query: changed(query, state=None), "state"),
        (lambda query: changed(query, state="x"), "state"),
        (lambda query: changed(query, state="é\0"), "state"),
        (lambda query: f"{query}&code=x", "query"),
        (lambda query: f"{query}&state=x", "query"),
        (lambda query: f"{query}&iss=x", "query"),
        (lambda query: f"{query}&a={'x' * 12_288}", "query"),
        (lambda query: f"{query}&a=%FF", "query"),
        (lambda query: changed(query, iss="https://evil.example"), "iss"),
        (lambda query: changed(query, iss=None), "iss"),
    ):
        spoiled = spoil(provider.authorize(begin(client)))
        page = come_back(client, spoiled, status=400)
        assert (spoiled, failures(heard)) == (spoiled, [f"google: {reason}"])
        heard.clear()
    assert page.html.find("a", string="Back to the login page")["href"] == "/auth/login"
    assert (who(client), Session.select().count()) == (None, 0)
    assert provider.requests["/token"] == []


def begins_again(client, page, provider):
    """Press the button of a failure; return where the new login ends, and its cookie's header."""
    form = page.forms["again"]
    begun = form.submit(headers=SAME_ORIGIN, status=303)
    done = come_back(client, provider.authorize(begun.location), status=303)
    return done.location, session_cookie(done)


@pytest.mark.promise(69)
def test_a_login_that_took_too_long_begins_again_with_its_page(
    client, site, known, provider, heard, monkeypatch
):
    form = {"next": "/reports?page=2", "remember": "on"}
    answer = client.post("/auth/oidc/google", form, headers=SAME_ORIGIN)
    [cookie] = answer.headers.getall("Set-Cookie")
    assert int(cookie.partition("Max-Age=")[2].partition(";")[0]) > 11 * 60
    query = provider.authorize(answer.location)
    now = site.site.tokens.now
    with monkeypatch.context() as later:
        later.setattr(site.site.tokens, "now", lambda: now() + LIFETIME)
        page = come_back(client, query, status=400)
    assert failures(heard) == ["google: state"]
    assert (provider.requests["/token"], Session.select().count()) == ([], 0)
    link = page.html.find("a", string="Back to the login page")
    assert link["href"] == "/auth/login?next=%2Freports%3Fpage%3D2"
    destination, cookie = begins_again(client, page, provider)
    assert (destination, "Max-Age" in cookie) == ("/reports?page=2", True)


def test_a_login_that_the_provider_refused_begins_again_with_its_page(
    client, known, provider, heard
):
    for error, status, reason in (
        ("temporarily_unavailable", 400, "temporarily_unavailable"),
        ("of its own", 400, "error"),
        ("access_denied", 403, "access_denied"),
    ):
        client.reset()
        url = begin(client, next="/reports")
        query = changed(provider.authorize(url), code=None, error=error)
        page = come_back(client, query, status=status)
        assert failures(heard)[-1] == f"google: {reason}"
        destination, cookie = begins_again(client, page, provider)
        assert (destination, "Max-Age" in cookie) == ("/reports", False)
    assert "You did not allow the login with Google" in page.html.main.text
    assert page.html.find("a", string="Back to the login page")


def test_a_button_that_begins_again_can_lead_to_the_provider(client, known, provider):
    """Browsers apply form-action to the redirect, too."""
    policy = come_back(client, f"{provider.authorize(begin(client))}&iss=x").headers[
        "Content-Security-Policy"
    ]
    assert "form-action 'self';" in policy
    provider.claims["nonce"] = "wrong"
    page = log_in(client, provider, status=502)
    assert page.forms["again"].action == "/auth/oidc/google"
    assert "form-action 'self' https:" in page.headers["Content-Security-Policy"]


def test_a_confirmation_that_took_too_long_leads_back_to_its_page(
    member, site, ada, known, provider, monkeypatch
):
    url = errand(member, site, CONFIRM, user_id=ada.id, destination="/auth/username")
    query = provider.authorize(url)
    now = site.site.tokens.now
    monkeypatch.setattr(site.site.tokens, "now", lambda: now() + 11 * 60)
    page = come_back(member, query, status=400)
    link = page.html.find("a", string="Confirm in another way")
    assert link["href"] == "/auth/confirm?next=%2Fauth%2Fusername"
    assert "again" not in page.forms


def test_what_the_provider_says_of_an_error_is_for_the_log_alone(client, known, provider, caplog):
    refused = {"code": None, "error": "access_denied", "error_description": "User is not assigned"}
    page = come_back(client, changed(provider.authorize(begin(client)), **refused), status=403)
    assert "the provider google answered with the error" in caplog.text
    assert "User is not assigned" in caplog.text
    assert "assigned" not in page


def test_a_stranger_writes_nothing_into_the_log(client, caplog):
    query = "state=x&error=access_denied&error_description=canary"
    problem = client.get(f"/auth/oidc/google/callback?{query}", status=400).json
    assert problem["code"] == "provider_failed"
    assert "canary" not in caplog.text


def test_groups_that_the_provider_left_out_are_kept(make_provider_site, ada, provider, caplog):
    """Microsoft Entra names the place where more than 200 groups are (`_claim_names`)."""
    client = TestApp(make_provider_site({"groups": "groups"}))
    connect(ada, provider)
    Group.create(name="staff")
    provider.claims["groups"] = ["staff"]
    log_in(client, provider, status=303)
    provider.claims |= {"groups": DROP, "_claim_names": {"groups": "src1"}}
    log_in(client, provider, status=303)
    assert [each.name for each in ada.groups] == ["staff"]
    assert (
        "the provider google omitted the groups of a user (_claim_names); the user keeps the"
        " groups of earlier logins" in caplog.messages
    )
    provider.claims["_claim_names"] = {"other": "src1"}
    log_in(client, provider, status=303)
    assert list(ada.groups) == []


@pytest.mark.promise(69)
def test_other_methods_change_nothing(client, known, provider):
    query = provider.authorize(begin(client))
    for method in ("HEAD", "POST", "PUT"):
        refused = client.request(f"/auth/oidc/google/callback?{query}", method=method, status=405)
        assert (refused.headers["Allow"], "Set-Cookie" in refused.headers) == ("GET", False)
    client.get("/auth/oidc/other/callback", status=404)
    come_back(client, query, status=303)
    assert who(client) == USERNAME


@pytest.mark.promise(71)
def test_no_transaction_is_open_while_the_provider_is_asked(client, known, provider, monkeypatch):
    finish, seen = oidc.Provider.finish, []

    def observed(*arguments, **further):
        seen.append((storage.current().in_transaction(), OneTimeSecret.get().purpose))
        return finish(*arguments, **further)

    monkeypatch.setattr(oidc.Provider, "finish", observed)
    log_in(client, provider, status=303)
    assert seen == [(False, "used state")]


# What a provider does wrong; tests/authentication/oidc has the table.


@pytest.mark.promise(70)
def test_a_failure_is_a_page_an_event_and_never_a_login(client, known, provider, heard):
    provider.claims["aud"] = "another client"
    page = log_in(client, provider, status=502)
    assert "cannot accept" in page.html.main.text
    assert failures(heard) == ["google: aud"]
    assert (who(client), Session.select().count()) == (None, 0)
    assert page.click("Back to the login page").form["username"]


def test_a_user_who_changes_at_the_same_moment_logs_in_again(
    client, ada, known, provider, heard, monkeypatch
):
    monkeypatch.setattr(
        "wsgiauth.features.providers.endpoints.oidc_callback.start_browser_session",
        lambda *_, **__: None,
    )
    log_in(client, provider, status=400)
    assert [(each.name, each.reason) for each in heard if "failed" in each.name] == [
        ("login_failed", "changed meanwhile"),
        ("provider_failed", "google: changed meanwhile"),
    ]


# To connect.


@pytest.fixture
def member(site, ada):
    return logged_in(site, ada)


def go(client, site, provider, purpose, user, subject="ada", **values):
    url = errand(client, site, purpose, user_id=user.id, **values)
    return come_back(client, provider.authorize(url, subject))


@pytest.mark.every_database
@pytest.mark.promise(68)
def test_a_user_connects_an_account(member, site, ada, provider, heard):
    answer = go(member, site, provider, CONNECT, ada)
    assert answer.location == "/auth/identities?done=connected"
    row = identities.find(provider.issuer, "ada")
    assert (row.user_id, row.provider) == (ada.id, "google")
    assert heard[-1].actor == f"user {ada.id}"
    assert who(member) == USERNAME


@pytest.mark.promise(68)
@pytest.mark.promise(69)
def test_another_user_who_is_logged_in_meanwhile_gets_nothing(site, ada, grace, provider, heard):
    client = logged_in(site, grace)
    for purpose in (CONNECT, CONFIRM):
        page = go(client, site, provider, purpose, ada)
        page.mustcontain("You are not logged in to the account")
    assert failures(heard) == ["google: another user"] * 2
    assert not Identity.select().exists()


def test_a_user_who_is_logged_out_meanwhile_is_refused(client, site, ada, provider, heard):
    for purpose, path in ((CONNECT, "/auth/identities"), (CONFIRM, "/auth/confirm")):
        page = go(client, site, provider, purpose, ada)
        assert (page.status_int, failures(heard)[-1]) == (403, "google: another user")
        assert page.html.select(f'a[href="{path}"]')


def test_a_user_who_is_deactivated_meanwhile_connects_nothing(
    member, site, ada, provider, heard, monkeypatch
):
    finish = oidc.Provider.finish

    def deactivate(*arguments, **further):
        account = finish(*arguments, **further)
        identify = site.site.identifier.identify

        def outdated(environ):
            found = identify(environ)
            update_user(User.get_by_id(ada.id), is_active=False)
            return found

        monkeypatch.setattr(site.site.identifier, "identify", outdated)
        return account

    monkeypatch.setattr(oidc.Provider, "finish", deactivate)
    page = go(member, site, provider, CONNECT, ada)
    assert page.status_int == 400
    assert failures(heard) == ["google: session ended"]
    assert not Identity.select().exists()


# To confirm.


@pytest.mark.every_database
def test_a_user_confirms_by_a_login_at_the_provider(site, ada, provider, heard):
    client = logged_in(site, ada, confirmed_minutes_ago=60)
    row = connect(ada, provider)
    client.get("/auth/username", status=401)
    answer = go(client, site, provider, CONFIRM, ada, destination="/auth/username")
    assert answer.location == "/auth/username"
    client.get("/auth/username", headers=BROWSER, status=200)
    session = Session.get()
    assert session.methods == "fed"
    assert ProviderSession.get().session_id == session.id
    assert (ProviderSession.get().identity_id, heard[-1].name) == (row.id, "confirmed")


def test_an_account_that_is_not_the_users_confirms_nothing(
    member, site, ada, grace, provider, heard
):
    for _ in ("of no user", "of another user"):
        page = go(member, site, provider, CONFIRM, ada)
        assert (page.status_int, failures(heard)[-1]) == (403, "google: another account")
        connect(grace, provider)
    assert page.html.find("a", string="Confirm in another way")["href"] == "/auth/confirm"
    assert Session.get().methods == "pwd"


@pytest.mark.promise(72)
def test_a_provider_does_not_replace_a_second_factor(member, site, ada, provider, heard):
    connect(ada, provider)
    add_app(site, ada)
    page = go(member, site, provider, CONFIRM, ada)
    assert (page.status_int, failures(heard)) == (403, ["google: one factor"])


def test_a_user_who_must_set_up_a_second_factor_can_confirm(make_provider_site, provider):
    site = make_provider_site(FACTOR_KEY=FACTOR_KEY, SECOND_FACTOR="all")
    user = make_user(site)
    client = logged_in(site, user, confirmed_minutes_ago=60, second_factor=False)
    connect(user, provider)
    answer = go(client, site, provider, CONFIRM, user, destination="/auth/totp")
    assert answer.location == "/auth/totp"
    client.get("/auth/totp", headers=BROWSER, status=200)


def test_a_session_that_ends_at_the_same_moment_is_not_confirmed(
    member, site, ada, provider, heard, monkeypatch
):
    connect(ada, provider)
    monkeypatch.setattr("wsgiauth.authentication.freshness.confirm", lambda *_, **__: None)
    page = go(member, site, provider, CONFIRM, ada)
    assert (page.status_int, failures(heard)) == (400, ["google: session ended"])


@pytest.mark.every_database
def test_an_account_that_is_disconnected_at_the_same_moment_confirms_nothing(
    member, site, ada, provider, heard, monkeypatch
):
    connect(ada, provider)
    before = Session.get()
    renew = freshness.renew

    def disconnected(*arguments, **further):
        Identity.delete().execute()
        return renew(*arguments, **further)

    monkeypatch.setattr(freshness, "renew", disconnected)
    page = go(member, site, provider, CONFIRM, ada)
    assert (page.status_int, failures(heard)) == (400, ["google: session ended"])
    assert "confirmed" not in [each.name for each in heard]
    assert (Session.get().id, Session.get().authenticated_at) == (
        before.id,
        before.authenticated_at,
    )


def test_a_provider_that_does_not_ask_again_confirms_nothing(member, site, ada, provider, heard):
    connect(ada, provider)
    provider.claims["auth_time"] = provider.now() - 3600
    page = go(member, site, provider, CONFIRM, ada)
    assert (page.status_int, failures(heard)) == (403, ["google: auth_time"])
