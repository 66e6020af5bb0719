"""GET and POST /auth/confirm, and the forms that need a recent proof."""

from dataclasses import replace

import pytest
from webtest import TestApp

from tests.support.logins import make_stale
from tests.support.sites import BROWSER, PASSWORD, SAME_ORIGIN, USERNAME, echo
from tests.web.pages import PAGES
from wsgiauth import AuthMiddleware, Group, change_password, login_required, storage
from wsgiauth.accounts import create_user, find_user
from wsgiauth.accounts.models import User
from wsgiauth.authentication import sessions
from wsgiauth.authentication.lifetimes import of_refreshable
from wsgiauth.feature import Feature
from wsgiauth.forms import MemberForm
from wsgiauth.forms.fields import Text
from wsgiauth.testing import logged_in
from wsgiauth.web.responses import json_response

SCRIPT = {"Accept": "application/json", "Sec-Fetch-Site": "same-origin"}
CREDENTIALS = {"username": USERNAME, "password": PASSWORD}
NOT_CARRIED_OUT = (
    "Nothing has been changed yet. After this, fill in the form again: what you entered is lost."
)
RIGHT, WRONG = {"password": PASSWORD}, {"password": "wrong"}


@pytest.fixture
def site(settings):
    made = AuthMiddleware(login_required(fresh=True)(echo), settings)
    yield made
    storage.discard_connection(made.database)


@pytest.fixture
def browser(site, ada):
    """Return a browser whose login is stale."""
    visitor = logged_in(site, ada)
    make_stale()
    return visitor


def token_of(answer):
    return {"Authorization": f"Bearer {answer.json['access_token']}"}


@pytest.fixture
def stale(client, ada):
    """Return the header of a program's stale login."""
    headers = token_of(client.post_json("/auth/login", CREDENTIALS))
    make_stale()
    return headers


@pytest.mark.every_database
@pytest.mark.promise(46)
def test_a_browser_goes_to_confirm_and_back(browser):
    page = browser.get("/reports?page=2", headers=BROWSER, status=302).follow(headers=BROWSER)
    page.mustcontain(no=NOT_CARRIED_OUT)
    page.form["password"] = PASSWORD
    before = browser.cookies["wsgiauth"]
    back = page.form.submit(headers=SAME_ORIGIN, status=303).follow(headers=BROWSER)
    assert (back.request.path_qs, back.json["user"]) == ("/reports?page=2", USERNAME)
    assert browser.cookies["wsgiauth"] != before
    browser.reset()
    browser.set_cookie("wsgiauth", before)
    assert browser.get("/auth/me", status=401).json["code"] == "invalid_token"


@pytest.mark.promise(46)
def test_a_program_confirms_under_a_new_token(client, stale):
    refused = client.get("/", headers=stale, status=401)
    assert refused.json["code"] == "insufficient_user_authentication"
    confirmed = client.post_json("/auth/confirm", RIGHT, headers=stale)
    assert confirmed.json.keys() == {"access_token", "token_type", "expires_in"}
    assert client.get("/", headers=token_of(confirmed)).json["user"] == USERNAME
    client.get("/auth/me", headers=stale, status=401)


def test_a_refreshable_login_gets_a_new_pair(client, ada, site):
    lifetime = of_refreshable(site.site.settings, remember=False)
    login = sessions.start(ada, site.site.tokens, lifetime)
    headers = {"Authorization": f"Bearer {login.token}"}
    confirmed = client.post_json("/auth/confirm", RIGHT, headers=headers)
    pair = {"refresh_token": confirmed.json["refresh_token"]}
    client.post_json("/auth/refresh", pair, status=200)


def test_a_script_gets_the_cookie_and_no_token(browser):
    for send in (browser.post, browser.post_json):
        answer = send("/auth/confirm", RIGHT, headers=SCRIPT)
        assert answer.json == {"detail": "Confirmed.", "next": "/"}
        assert browser.get("/").json["user"] == USERNAME


def test_a_form_with_a_token_gets_a_token(client, stale):
    headers = {**SAME_ORIGIN, **stale}
    confirmed = client.post("/auth/confirm", RIGHT, headers=headers, status=200)
    assert "Set-Cookie" not in confirmed.headers
    client.get("/", headers=token_of(confirmed), status=200)


@pytest.mark.promise(18)
def test_the_browser_is_sent_to_safe_paths_only(browser):
    for destination, location in [
        ("/reports?page=2", "/reports?page=2"),
        ("//evil.example", "/"),
        ("/auth/logout", "/"),
        ("/auth/login", "/"),
        ("/auth/confirm", "/"),
        ("", "/"),
    ]:
        form = {**RIGHT, "next": destination}
        answer = browser.post("/auth/confirm", form, headers=SAME_ORIGIN, status=303)
        assert answer.headers["Location"] == location, (destination, location)


@pytest.mark.promise(46)
def test_a_wrong_password_leaves_the_login_stale(client, browser, stale):
    refused = client.post_json("/auth/confirm", WRONG, headers=stale, status=401)
    assert refused.json["code"] == "invalid_credentials"
    assert refused.headers["WWW-Authenticate"] == 'Bearer realm="wsgiauth"'
    page = browser.post("/auth/confirm", {**WRONG, "next": "/x"}, headers=SAME_ORIGIN, status=401)
    assert page.html.find(role="alert").text == "This is not your current password."
    assert page.form["next"].value == "/x"
    client.get("/", headers=stale, status=401)
    browser.get("/", headers=BROWSER, status=302)


def test_the_page_leads_to_another_account(browser):
    page = browser.get("/auth/confirm?next=/reports", headers=BROWSER)
    link = page.html.find("a", string="Use another account")
    assert link["href"] == "/auth/login?switch=1&next=%2Freports"


OF_AN_APPLICATION = "After this, you open the page that you asked for."
TO_ACCOUNT = ("Back to your account", "/auth/account")
HOME = ("Back to the home page", "/")


def said(visitor, destination):
    """Return what the page says comes next, and the text and URL of the link that leads back."""
    page = visitor.get("/auth/confirm", {"next": destination} if destination else {})
    texts = [each.text for each in page.html.find_all("p")]
    next_step = [each for each in texts if each.startswith(("Next:", "After this"))]
    way_back, _ = page.html.find_all("p", class_="other")
    return next_step, (way_back.text, way_back.a["href"])


def test_the_page_says_what_comes_next_and_leads_back(browser):
    for destination, step, way_back in [
        ("/auth/close", "Next: Close your account", TO_ACCOUNT),
        ("/auth/%63lose?x=1", "Next: Close your account", TO_ACCOUNT),
        ("/auth/keys", "Next: Create or revoke API keys", TO_ACCOUNT),
        ("/auth/email", OF_AN_APPLICATION, HOME),  # this site sends no email
        ("/auth/nowhere", OF_AN_APPLICATION, HOME),
        ("/auth", OF_AN_APPLICATION, HOME),
        ("/close", OF_AN_APPLICATION, HOME),
        ("/reports?Next:=Close", OF_AN_APPLICATION, HOME),
        ("", None, HOME),
    ]:
        assert said(browser, destination) == ([step] if step else [], way_back), (
            destination,
            step,
            way_back,
        )


def test_it_says_to_the_staff_what_comes_next_in_the_panel(browser, ada):
    User.update(is_staff=True).execute()
    user, group = f"users/{ada.id}", f"groups/{Group.objects.create(name='Editors').id}"
    for path, step, text, url in (
        (f"{user}/delete", "Next: Delete the account (Ada)", "Back to the user", user),
        ("users/7/delete", "Next: Delete the account", "Back to the user", "users/7"),
        ("users/7/nothing", OF_AN_APPLICATION, "Back to the user", "users/7"),
        ("users/several?users=7", "Next: Change several users", "Back to the users", "users"),
        ("users/7", "Next: The page of a user", "Back to the users", "users"),
        (f"{group}/delete", "Next: Delete the group (Editors)", "Back to the group", group),
        ("groups/3/delete", "Next: Delete the group", "Back to the group", "groups/3"),
        ("groups", "Next: The groups", "Back to the groups", "groups"),
    ):
        assert said(browser, f"/auth/admin/{path}") == ([step], (text, f"/auth/admin/{url}"))


@pytest.mark.promise(49)
def test_it_says_nothing_of_the_panel_to_others(browser):
    for path in ("users/7/delete", "users", "nowhere"):
        assert said(browser, f"/auth/admin/{path}") == ([OF_AN_APPLICATION], HOME)


def test_a_form_that_was_not_processed_is_named(browser):
    page = browser.get("/auth/confirm?resend=1&next=/auth/close")
    page.mustcontain("Close your account", NOT_CARRIED_OUT)
    page = browser.get("/auth/confirm?resend=1&next=/reports")
    page.mustcontain(NOT_CARRIED_OUT, no=OF_AN_APPLICATION)


def test_a_missing_password_is_named(client, stale):
    refused = client.post_json("/auth/confirm", {}, headers=stale, status=422)
    assert refused.json["errors"] == {"password": ["Enter your password."]}


def test_the_password_is_that_of_the_user_whoever_has_the_name_by_now(client, stale, settings, ada):
    """Names of imported accounts can break the rules: this one is the e-mail address of Grace."""
    User.update(username="grace@example.org").where(User.id == ada.id).execute()
    create_user("Grace", "grace@example.org", "another unrelated phrase", settings=settings)
    other = {"password": "another unrelated phrase"}
    client.post_json("/auth/confirm", other, headers=stale, status=401)
    client.post_json("/auth/confirm", RIGHT, headers=stale, status=200)


@pytest.mark.promise(12)
def test_guesses_wait_like_those_at_the_login(settings, ada, bearer, stopped_throttle):
    site = AuthMiddleware(echo, replace(settings, LOGIN_FAILURES_PER_ACCOUNT=2))
    client = TestApp(site)
    headers = bearer(ada)
    for status in (401, 401, 429):
        refused = client.post_json("/auth/confirm", WRONG, headers=headers, status=status)
    assert int(refused.headers["Retry-After"]) > 0
    client.post_json("/auth/login", CREDENTIALS, status=429)
    storage.discard_connection(site.database)


def test_an_anonymous_client_is_asked_to_log_in(client):
    for path in ["/auth/confirm", "/auth/password"]:
        client.get(path, status=401)
        client.post_json(path, {}, status=401)
        location = client.get(path, headers=BROWSER, status=302).headers["Location"]
        assert location == f"/auth/login?next={path.replace('/', '%2F')}"


@pytest.mark.promise(17)
def test_a_form_of_another_site_is_refused(browser):
    for path in ["/auth/confirm", "/auth/password"]:
        headers = {**BROWSER, "Sec-Fetch-Site": "cross-site"}
        browser.post(path, RIGHT, headers=headers, status=403)


@pytest.mark.every_database
def test_a_login_that_ends_while_it_confirms_is_asked_to_log_in(client, stale, ada, meanwhile):
    meanwhile(lambda: sessions.revoke_all(ada))
    refused = client.post_json("/auth/confirm", RIGHT, headers=stale, status=401)
    assert refused.json["code"] == "invalid_token"


@pytest.mark.every_database
def test_a_password_that_changes_while_it_confirms_ends_the_login(
    client, stale, ada, settings, meanwhile
):
    meanwhile(lambda: change_password(ada, "another unrelated phrase", settings=settings))
    refused = client.post_json("/auth/confirm", RIGHT, headers=stale, status=401)
    assert refused.json["code"] == "invalid_token"


# Forms that need a recent proof.


class Sensitive(MemberForm):
    """Says what was typed."""

    is_sensitive = True
    fields = (Text("text", "What was typed."),)

    def act(self, submission):
        return json_response({"text": submission.fields["text"]})

    def page(self, submission, refusal):
        return PAGES["confirm.html"]


@pytest.fixture
def sensitive(settings):
    """Return a site with the form."""
    feature = Feature(name="sensitive", urls={"/sensitive": Sensitive()})
    return AuthMiddleware(echo, replace(settings, FEATURES=(feature,)))


@pytest.mark.promise(46)
def test_a_sensitive_form_needs_a_recent_proof(ada, sensitive):
    browser = logged_in(sensitive, find_user(USERNAME))
    sent = {"text": "x"}
    browser.get("/auth/sensitive", headers=BROWSER, status=200)
    browser.post("/auth/sensitive", sent, headers=SAME_ORIGIN, status=200)
    make_stale()
    to_confirm = "/auth/confirm?next=%2Fauth%2Fsensitive"
    asked = browser.get("/auth/sensitive", headers=BROWSER, status=302)
    refused = browser.post("/auth/sensitive", sent, headers=SAME_ORIGIN, status=303)
    assert asked.headers["Location"] == to_confirm
    resend = "/auth/confirm?resend=1&next=%2Fauth%2Fsensitive"
    assert refused.headers["Location"] == resend
    page = refused.follow(headers=BROWSER)
    page.mustcontain(NOT_CARRIED_OUT)
    page.form["password"] = "wrong"
    page = page.form.submit(headers=SAME_ORIGIN, status=401)
    page.mustcontain(NOT_CARRIED_OUT)
    page.form["password"] = PASSWORD
    back = page.form.submit(headers=SAME_ORIGIN, status=303)
    assert back.headers["Location"] == "/auth/sensitive"


@pytest.mark.promise(46)
def test_a_program_is_told_that_a_sensitive_form_needs_a_recent_proof(sensitive, stale):
    client = TestApp(sensitive)
    refused = client.post_json("/auth/sensitive", {"text": "x"}, headers=stale, status=401)
    assert refused.json["code"] == "insufficient_user_authentication"
    assert refused.json["detail"] == "Confirm that it is you at /auth/confirm, then try again."
    assert refused.headers["WWW-Authenticate"] == (
        'Bearer realm="wsgiauth", error="insufficient_user_authentication", max_age="900"'
    )


def test_a_sensitive_form_asks_an_anonymous_client_to_log_in(sensitive):
    TestApp(sensitive).get("/auth/sensitive", status=401)


def test_a_password_that_no_account_can_have_is_not_compared(client, stale):
    for _ in range(6):  # more than a throttle would let pass
        fields = {"password": "x" * 73}
        refused = client.post_json("/auth/confirm", fields, headers=stale, status=422)
    text = "A password must have at most 72 bytes in UTF-8."
    assert refused.json["errors"] == {"password": [text]}
