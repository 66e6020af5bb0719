"""GET and POST /auth/password."""

from dataclasses import replace
from functools import partial
from unicodedata import normalize

import bcrypt
import pytest
from webtest import TestApp

from tests.support.factors import FACTOR_KEY, add_app
from tests.support.federated import (
    connected,
    logged_in_at_provider,
    remove_password,
    with_providers,
)
from tests.support.logins import valid_session_ids
from tests.support.sites import BROWSER, EMAIL, PASSWORD, SAME_ORIGIN, USERNAME, echo
from wsgiauth import AuthMiddleware, change_password, storage
from wsgiauth.accounts.models import User
from wsgiauth.authentication import sessions
from wsgiauth.testing import logged_in
from wsgiauth.throttling.counts import AttemptCount
from wsgiauth.throttling.hash_slots import HashSlots

NEW_PASSWORD = "another unrelated phrase"
CHANGE = {"current_password": PASSWORD, "new_password": NEW_PASSWORD}
WRONG = {**CHANGE, "current_password": "wrong"}
DONE = "/auth/account?done=password"
SCRIPT = {"Accept": "application/json", "Sec-Fetch-Site": "same-origin"}


@pytest.fixture
def settings(settings):
    """Return settings with a provider of logins."""
    return with_providers(settings, "google:https://client:secret@accounts.google.com")


@pytest.fixture
def browser(site, ada):
    return logged_in(site, ada)


@pytest.fixture
def hashed(monkeypatch):
    """Return a list that grows by the name of every bcrypt that is computed."""
    computed = []

    def counting(name, compute):
        def counted(*arguments):
            computed.append(name)
            return compute(*arguments)

        return counted

    for name in ("checkpw", "hashpw"):
        monkeypatch.setattr(bcrypt, name, counting(name, getattr(bcrypt, name)))
    return computed


def can_log_in(client, password):
    credentials = {"username": USERNAME, "password": password}
    return client.post_json("/auth/login", credentials, expect_errors=True).status_int == 200


def token_of(answer):
    return {"Authorization": f"Bearer {answer.json['access_token']}"}


def test_a_site_without_email_offers_no_help_with_a_forgotten_password(browser):
    for path in ["/auth/password", "/auth/confirm"]:
        assert "Forgot" not in browser.get(path, headers=BROWSER).text


@pytest.mark.promise(31)
def test_a_program_goes_on_under_a_new_token_alone(client, ada, bearer):
    changing, other = bearer(ada), bearer(ada)
    changed = client.post_json("/auth/password", CHANGE, headers=changing)
    assert changed.json.keys() == {"access_token", "token_type", "expires_in"}
    assert client.get("/", headers=token_of(changed)).json["user"] == USERNAME
    for ended in (changing, other):
        assert client.get("/auth/me", headers=ended, status=401).json["code"] == "invalid_token"
    assert len(valid_session_ids()) == 1
    assert (can_log_in(client, PASSWORD), can_log_in(client, NEW_PASSWORD)) == (False, True)


@pytest.mark.promise(31)
def test_a_login_with_a_refresh_token_gets_a_new_pair(client, ada):
    credentials = {"username": USERNAME, "password": PASSWORD, "refresh": True}
    pair = client.post_json("/auth/login", credentials)
    changed = client.post_json("/auth/password", CHANGE, headers=token_of(pair))
    old, new = ({"refresh_token": each.json["refresh_token"]} for each in (pair, changed))
    client.post_json("/auth/refresh", old, status=401)
    client.post_json("/auth/refresh", new, status=200)


@pytest.mark.every_database
@pytest.mark.promise(31)
def test_a_browser_goes_on_and_another_is_logged_out(site, browser, ada):
    other = logged_in(site, ada)
    page = browser.get("/auth/password?next=/x", headers=BROWSER)
    page.form["current_password"], page.form["new_password"] = PASSWORD, NEW_PASSWORD
    changed = page.form.submit(headers=SAME_ORIGIN, status=303)
    assert changed.headers["Location"] == "/x"
    assert browser.get("/").json["user"] == USERNAME
    assert other.get("/").json == {**other.get("/").json, "user": None, "error": "invalid_token"}


def test_without_a_next_the_account_page_says_that_the_password_is_changed(browser):
    page = browser.get("/auth/account", headers=BROWSER).click("Change your password")
    page.form["current_password"], page.form["new_password"] = PASSWORD, NEW_PASSWORD
    changed = page.form.submit(headers=SAME_ORIGIN, status=303)
    assert changed.headers["Location"] == DONE
    notice = changed.follow(headers=BROWSER).html.find(role="status")
    assert notice.text == "Your password has been changed. You are logged out everywhere else."


def test_the_current_password_is_not_a_new_one(client, ada, bearer):
    fields = {**CHANGE, "new_password": PASSWORD}
    refused = client.post_json("/auth/password", fields, headers=bearer(ada), status=422)
    text = "The new password is the same as the current one. Choose another."
    assert refused.json["errors"] == {"new_password": [text]}


def test_the_current_password_composed_in_another_way_is_not_a_new_one(
    client, ada, bearer, settings
):
    change_password(ada, "café à la carte", settings=settings)
    one, other = (normalize(form, "café à la carte") for form in ("NFC", "NFD"))
    fields = {"current_password": one, "new_password": other}
    refused = client.post_json("/auth/password", fields, headers=bearer(ada), status=422)
    text = "The new password is the same as the current one. Choose another."
    assert refused.json["errors"] == {"new_password": [text]}


def test_a_password_that_no_account_can_have_is_not_compared(client, ada, bearer):
    fields = {**CHANGE, "current_password": "x" * 73}
    for _ in range(6):  # more than a throttle would let pass
        refused = client.post_json("/auth/password", fields, headers=bearer(ada), status=422)
    text = "A password must have at most 72 bytes in UTF-8."
    assert refused.json["errors"] == {"current_password": [text]}


def test_the_page_says_whose_password_it_is_and_leads_back(browser):
    page = browser.get("/auth/password", headers=BROWSER)
    assert page.html.strong.text == USERNAME
    assert page.html.find("a", string="Your account")["href"] == "/auth/account"


def test_a_script_gets_the_cookie_and_no_token(browser):
    back = {"current_password": NEW_PASSWORD, "new_password": PASSWORD}
    for send, change in ((browser.post, CHANGE), (browser.post_json, back)):
        changed = send("/auth/password", change, headers=SCRIPT)
        assert changed.json == {"detail": "Password changed.", "next": DONE}
        assert browser.get("/").json["user"] == USERNAME


@pytest.mark.promise(31)
def test_a_wrong_current_password_changes_nothing(client, browser, ada, bearer):
    headers = bearer(ada)
    refused = client.post_json("/auth/password", WRONG, headers=headers, status=401)
    assert refused.json["code"] == "invalid_credentials"
    assert refused.headers["WWW-Authenticate"] == 'Bearer realm="wsgiauth"'
    page = browser.post("/auth/password", WRONG, headers=SAME_ORIGIN, status=401)
    assert page.html.find(role="alert").text == "This is not your current password."
    assert [page.form[name].value for name in WRONG] == ["", ""]
    assert client.get("/", headers=headers).json["user"] == USERNAME
    assert can_log_in(client, PASSWORD)


@pytest.mark.promise(7)
def test_a_field_that_breaks_a_rule_is_named_and_costs_no_more_than_a_comparison(
    client, browser, ada, bearer, hashed
):
    for case, (fields, errors, comparisons) in {
        "nothing": ({}, {"current_password", "new_password"}, 0),
        "no current": ({**CHANGE, "current_password": ""}, {"current_password"}, 0),
        "the same": ({**CHANGE, "new_password": PASSWORD}, {"new_password"}, 0),
        "short": ({**CHANGE, "new_password": "short"}, {"new_password"}, 1),
        "a name": ({**CHANGE, "new_password": EMAIL}, {"new_password"}, 1),
    }.items():
        refused = client.post_json("/auth/password", fields, headers=bearer(ada), status=422)
        assert refused.json["errors"].keys() == errors, case
        sent = {"next": "", **fields}
        page = browser.post("/auth/password", sent, headers=SAME_ORIGIN, status=422)
        marked = page.html.find_all("input", {"aria-invalid": "true"})
        assert {each["name"] for each in marked} == errors, case
        focused = "current_password" if "current_password" in errors else "new_password"
        assert page.html.find(autofocus=True)["name"] == focused, case
        assert hashed == ["checkpw"] * comparisons * 2, case
        hashed.clear()


@pytest.mark.promise(12)
def test_a_wrong_current_password_and_a_bad_new_one_are_reported_together(
    client, browser, ada, bearer
):
    fields = {**WRONG, "new_password": "short"}
    refused = client.post_json("/auth/password", fields, headers=bearer(ada), status=401)
    assert refused.json["code"] == "invalid_credentials"
    assert refused.json["errors"].keys() == {"current_password", "new_password"}
    assert refused.json["errors"]["current_password"] == ["This is not your current password."]
    page = browser.post("/auth/password", fields, headers=SAME_ORIGIN, status=401)
    assert page.html.find(id="current_password-error").text == "This is not your current password."
    assert page.html.find(role="alert") is None
    marked = page.html.find_all("input", {"aria-invalid": "true"})
    assert [each["name"] for each in marked] == ["current_password", "new_password"]
    assert page.html.find(autofocus=True)["name"] == "current_password"


def test_a_change_costs_one_comparison_and_one_hash(client, ada, bearer, hashed):
    client.post_json("/auth/password", CHANGE, headers=bearer(ada), status=200)
    assert hashed == ["checkpw", "hashpw"]


def test_a_wrong_current_password_costs_one_comparison(client, ada, bearer, hashed):
    client.post_json("/auth/password", WRONG, headers=bearer(ada), status=401)
    assert hashed == ["checkpw"]


@pytest.mark.promise(14)
def test_the_new_password_is_hashed_in_a_slot(settings, ada, bearer, monkeypatch):
    monkeypatch.setattr("wsgiauth.site.HashSlots", partial(HashSlots, longest_wait=0))
    site = AuthMiddleware(echo, replace(settings, HASHING_THREADS=1))
    client, headers, other = TestApp(site), bearer(ada), bearer(ada)
    compute, statuses = bcrypt.hashpw, []

    def hashpw(*arguments):
        monkeypatch.setattr(bcrypt, "hashpw", compute)
        busy = client.post_json("/auth/password", CHANGE, headers=other, expect_errors=True)
        statuses.append((busy.status_int, busy.json["code"]))
        return compute(*arguments)

    monkeypatch.setattr(bcrypt, "hashpw", hashpw)
    client.post_json("/auth/password", CHANGE, headers=headers, status=200)
    assert statuses == [(503, "busy")]
    storage.discard_connection(site.database)


@pytest.mark.promise(12)
@pytest.mark.parametrize(
    ("limit", "new"),
    [("LOGIN_FAILURES_PER_ACCOUNT", NEW_PASSWORD), ("LOGIN_FAILURES_PER_ADDRESS", "short")],
    ids=["of an account, with a good new one", "of an address, with a bad new one"],
)
def test_guesses_wait_like_those_at_the_login(settings, ada, bearer, limit, new, stopped_throttle):
    site = AuthMiddleware(echo, replace(settings, **{limit: 2}))
    client = TestApp(site, extra_environ={"REMOTE_ADDR": "192.0.2.7"})
    headers, fields = bearer(ada), {**WRONG, "new_password": new}
    for status in (401, 401, 429):
        refused = client.post_json("/auth/password", fields, headers=headers, status=status)
        assert ("errors" in refused.json) == (new == "short")
    assert int(refused.headers["Retry-After"]) > 0
    credentials = {"username": USERNAME, "password": PASSWORD}
    client.post_json("/auth/login", credentials, status=429)
    page = client.post("/auth/password", CHANGE, headers={**SAME_ORIGIN, **headers}, status=429)
    assert "Try again in" in page.html.find(role="alert").text
    storage.discard_connection(site.database)


@pytest.mark.every_database
@pytest.mark.promise(31)
@pytest.mark.parametrize(
    "end",
    [
        pytest.param(lambda user, settings: sessions.revoke_all(user), id="logout"),
        pytest.param(
            lambda user, settings: change_password(user, "the first change", settings=settings),
            id="another change",
        ),
    ],
)
def test_a_login_that_ends_while_the_password_is_hashed_changes_nothing(
    client, browser, ada, bearer, settings, meanwhile, end
):
    headers = bearer(ada)
    meanwhile(lambda: end(ada, settings))
    refused = client.post_json("/auth/password", CHANGE, headers=headers, status=401)
    assert refused.json["code"] == "invalid_token"
    assert not can_log_in(client, NEW_PASSWORD)


def test_a_browser_whose_login_ends_while_the_password_is_hashed_goes_to_the_login(
    browser, ada, meanwhile
):
    meanwhile(lambda: sessions.revoke_all(ada))
    answer = browser.post("/auth/password", CHANGE, headers=SAME_ORIGIN, status=302)
    assert answer.headers["Location"] == "/auth/login?done=unsent&next=%2Fauth%2Fpassword"
    answer.follow(headers=BROWSER).mustcontain("the form that you sent was not processed")


def test_a_hash_of_another_cost_does_not_hinder_a_change(client, settings, ada, bearer):
    headers = bearer(ada)
    site = AuthMiddleware(echo, replace(settings, BCRYPT_ROUNDS=5))
    TestApp(site).post_json("/auth/password", CHANGE, headers=headers, status=200)
    assert can_log_in(client, NEW_PASSWORD)
    storage.discard_connection(site.database)


def test_the_page_tells_password_managers_whose_password_it_is(browser):
    page = browser.get("/auth/password", headers=BROWSER)
    fields = {each["name"]: each.get("autocomplete") for each in page.html.form.find_all("input")}
    assert fields == {
        "account": None,
        "next": None,
        "username": "username",
        "current_password": "current-password",
        "new_password": "new-password",
    }
    assert page.form["username"].value == USERNAME


@pytest.mark.promise(12)
@pytest.mark.parametrize("address", ["192.0.2.1", "192.0.2.99"], ids=["known", "new"])
def test_strangers_who_guess_do_not_keep_the_owner_from_a_new_password(
    settings, ada, stopped_throttle, address
):
    site = AuthMiddleware(echo, replace(settings, LOGIN_FAILURES_PER_ACCOUNT=2))
    owner = TestApp(site, extra_environ={"REMOTE_ADDR": "192.0.2.1"})
    credentials = {"username": USERNAME, "password": PASSWORD}
    token = token_of(owner.post_json("/auth/login", credentials))
    stranger = TestApp(site, extra_environ={"REMOTE_ADDR": "198.51.100.1"})
    for status in (401, 401, 429):
        stranger.post_json("/auth/login", {**credentials, "password": "wrong"}, status=status)
    environ = {"REMOTE_ADDR": address}
    owner.post_json("/auth/password", WRONG, headers=token, extra_environ=environ, status=401)
    owner.post_json("/auth/password", CHANGE, headers=token, extra_environ=environ, status=200)
    storage.discard_connection(site.database)


@pytest.mark.promise(12)
def test_only_the_client_that_changes_the_password_stays_known(settings, ada, stopped_throttle):
    site = AuthMiddleware(echo, replace(settings, LOGIN_FAILURES_PER_ACCOUNT=2))

    def log_in(address, password, status):
        client = TestApp(site, extra_environ={"REMOTE_ADDR": address})
        credentials = {"username": USERNAME, "password": password}
        return client.post_json("/auth/login", credentials, status=status)

    here, elsewhere = "192.0.2.1", "192.0.2.2"
    log_in(elsewhere, PASSWORD, 200)
    token = token_of(log_in(here, PASSWORD, 200))
    client = TestApp(site, extra_environ={"REMOTE_ADDR": here})
    client.post_json("/auth/password", CHANGE, headers=token, status=200)
    for status in (401, 401, 429):
        log_in("198.51.100.1", "wrong", status)
    log_in(elsewhere, NEW_PASSWORD, 429)
    log_in(here, NEW_PASSWORD, 200)
    storage.discard_connection(site.database)


@pytest.mark.promise(12)
def test_a_session_with_a_second_factor_makes_its_client_known(settings, ada, stopped_throttle):
    site = AuthMiddleware(echo, replace(settings, FACTOR_KEY=FACTOR_KEY))
    app = add_app(site, ada)
    there = ("203.0.113.5",)
    client = TestApp(site, extra_environ={"REMOTE_ADDR": "192.0.2.1"})
    credentials = {"username": USERNAME, "password": PASSWORD, "code": app.code()}
    token = token_of(client.post_json("/auth/login", credentials, status=200))
    environ = {"REMOTE_ADDR": there[0]}
    client.post_json("/auth/password", CHANGE, headers=token, extra_environ=environ, status=200)
    throttle, changed = site.site.throttle, User.get_by_id(ada.id)
    assert throttle.is_known(changed, there)
    assert not throttle.is_known(changed, ("192.0.2.1",))
    storage.discard_connection(site.database)


# Users without a password


SET = {"new_password": NEW_PASSWORD}
TO_CONFIRM = "/auth/confirm?next=%2Fauth%2Fpassword"
HOUR_AGO = 3600


@pytest.fixture
def tim(site, ada):
    """Return Ada, who has no password."""
    return remove_password(ada)


@pytest.fixture
def of_provider(site, tim):
    """Return a function that returns a browser whose session began at a provider."""
    identity = connected(site, tim)
    return partial(logged_in_at_provider, site, tim, identity)


@pytest.mark.every_database
@pytest.mark.promise(31)
def test_a_user_without_a_password_sets_one_after_a_login_at_the_provider(client, of_provider, tim):
    browser, other = of_provider(), of_provider()
    page = browser.get("/auth/account", headers=BROWSER).click("Set a password")
    assert page.html.h1.text == "Set a password"
    assert "current_password" not in page.form.fields
    assert page.html.find(autofocus=True)["name"] == "new_password"
    page.form["new_password"] = NEW_PASSWORD
    done = page.form.submit(headers=SAME_ORIGIN, status=303).follow(headers=BROWSER)
    text = "Your password has been set. You are logged out everywhere else."
    assert done.html.find(role="status").text == text
    assert browser.get("/auth/me").json["has_password"] is True
    other.get("/auth/me", status=401)
    assert can_log_in(client, NEW_PASSWORD)


def test_a_script_sets_the_first_password(of_provider):
    changed = of_provider().post("/auth/password", SET, headers=SCRIPT)
    assert changed.json == {"detail": "Password set.", "next": "/auth/account?done=set"}


def test_a_token_sets_the_first_password_too(client, of_provider):
    token = {"Authorization": f"Bearer {of_provider().cookies['wsgiauth']}"}
    changed = client.post_json("/auth/password", SET, headers=token)
    assert changed.json.keys() == {"access_token", "token_type", "expires_in"}


def test_the_first_password_costs_one_hash_in_a_slot(of_provider, hashed, monkeypatch):
    claims = []
    slot = HashSlots.slot
    monkeypatch.setattr(HashSlots, "slot", lambda *of: claims.append(of) or slot(*of))
    of_provider().post("/auth/password", SET, headers=SAME_ORIGIN, status=303)
    assert (hashed, len(claims)) == (["hashpw"], 1)


@pytest.mark.promise(46)
@pytest.mark.parametrize("ago", [HOUR_AGO, None], ids=["an hour ago", "not said"])
def test_the_first_password_needs_a_recent_login_that_the_provider_states(of_provider, hashed, ago):
    browser = of_provider(ago=ago)
    for send in (browser.get, partial(browser.post, params=SET)):
        asked = send("/auth/password", headers=SAME_ORIGIN)
        assert asked.headers["Location"] in (TO_CONFIRM, TO_CONFIRM.replace("?", "?resend=1&"))
    refused = browser.post_json("/auth/password", SET, headers=SCRIPT, status=401)
    assert refused.json["code"] == "insufficient_user_authentication"
    assert hashed == []
    assert browser.get("/auth/me").json["has_password"] is False


@pytest.mark.promise(46)
def test_a_session_by_code_alone_sets_no_first_password(site, tim):
    browser = logged_in(site, tim)
    refused = browser.post("/auth/password", SET, headers=SAME_ORIGIN, status=303)
    assert refused.headers["Location"].startswith("/auth/confirm")


@pytest.mark.promise(46)
def test_a_user_with_a_second_factor_proves_that_one_instead(settings, ada):
    site = AuthMiddleware(echo, replace(settings, FACTOR_KEY=FACTOR_KEY))
    tim = remove_password(ada)
    app, browser = add_app(site, tim), logged_in_at_provider(site, tim, connected(site, tim))
    asked = browser.get("/auth/password", headers=BROWSER, status=302)
    page = asked.follow(headers=BROWSER)
    page.mustcontain("Next: <strong>Set a password</strong>")
    page.form["code"] = app.code()
    page = page.form.submit(headers=SAME_ORIGIN, status=303).follow(headers=BROWSER)
    page.form["new_password"] = NEW_PASSWORD
    page.form.submit(headers=SAME_ORIGIN, status=303)
    assert browser.get("/auth/me").json["has_password"] is True
    storage.discard_connection(site.database)


def test_a_rule_that_the_first_password_breaks_is_named(of_provider, hashed):
    refused = of_provider().post_json("/auth/password", {}, headers=SCRIPT, status=422)
    assert refused.json["errors"].keys() == {"new_password"}
    assert hashed == []


@pytest.mark.every_database
def test_of_two_first_passwords_at_once_one_is_set(site, of_provider, tim, settings, monkeypatch):
    browser, compute = of_provider(), bcrypt.hashpw

    def hashpw(*arguments):
        monkeypatch.setattr(bcrypt, "hashpw", compute)
        change_password(tim, "the first change", settings=settings)
        return compute(*arguments)

    monkeypatch.setattr(bcrypt, "hashpw", hashpw)
    refused = browser.post_json("/auth/password", SET, headers=SCRIPT, status=401)
    assert refused.json["code"] == "invalid_token"
    assert can_log_in(TestApp(site), "the first change")


NO_PASSWORDS = ["", " ", "\0", "None", "x" * 72, "\xe9" * 36]


@pytest.mark.promise(73)
def test_nothing_is_the_password_of_a_user_without_one(client, tim, bearer):
    headers = bearer(tim)
    for password in NO_PASSWORDS:
        fields = {"username": USERNAME, "password": password, "current_password": password, **SET}
        for path in ("/auth/login", "/auth/confirm", "/auth/password"):
            AttemptCount.delete().execute()  # let no attempt wait
            refused = client.post_json(path, fields, headers=headers, expect_errors=True)
            assert refused.status_int in (401, 422), (password, path)
            assert User.get_by_id(tim.id).hashed_password == "", (password, path)


@pytest.mark.promise(73)
@pytest.mark.promise(2)
def test_a_login_without_a_password_costs_one_comparison_as_every_login(client, tim, hashed):
    for name in (USERNAME, "nobody-has-this-name"):
        credentials = {"username": name, "password": PASSWORD}
        refused = client.post_json("/auth/login", credentials, status=401)
        assert refused.json["code"] == "invalid_credentials"
        assert hashed == ["checkpw"]
        hashed.clear()
