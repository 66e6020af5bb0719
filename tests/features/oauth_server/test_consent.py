"""GET, POST /auth/consent: what the page says, and what its form does."""

from datetime import UTC, datetime
from urllib.parse import urlsplit

import pytest
from webtest import TestApp

from tests.support.oauth_apps import (
    AUTHORIZE,
    CALLBACK,
    CONSENT,
    ISSUER,
    STATE,
    App,
    answer_in,
    code_in,
    consent_form,
    walk,
)
from tests.support.service_keys import REPORTS
from tests.support.sites import BROWSER, PASSWORD, SAME_ORIGIN, USERNAME
from tests.support.tables import row_by_row
from wsgiauth.accounts.groups import Group
from wsgiauth.accounts.models import User
from wsgiauth.accounts.tables import Session
from wsgiauth.authentication import sessions
from wsgiauth.features.oauth_server import grants
from wsgiauth.features.oauth_server.tables import Client, Consent
from wsgiauth.testing import api_key, logged_in

DAY = 24 * 3600


def open_consent(client, app, status=200, **changes):
    return client.get(app.url(CONSENT, **changes), headers=BROWSER, status=status)


def decide(page, decision="allow", status=303, **fields):
    """Send the form of a page, with other fields."""
    form = consent_form(page)
    for name, value in fields.items():
        form[name].force_value(value)
    return form.submit("decision", value=decision, headers=SAME_ORIGIN, status=status)


def allowed():
    """Return the scopes of all consents, by the users and the apps."""
    rows = Consent.select(Consent, User, Client).join(User).switch(Consent).join(Client)
    return {(each.user.username, each.client.name): each.scopes for each in rows}


def day_of(seconds):
    """Return a day as an English page writes it."""
    day = datetime.fromtimestamp(seconds, UTC)
    return f"{day.day} {day:%B %Y}"


# The page


@pytest.mark.promise(90)
def test_the_page_says_who_asks_and_for_what(browser, ada, site, clock):
    ada.grant("reports.read")
    app = App(site, "Wiki & Co", scopes=("openid", "email", "reports.read", "offline_access"))
    page = open_consent(
        logged_in(site, ada), app, scope="reports.read offline_access email openid profile"
    )
    main = page.html.main
    assert page.html.h1.text == "Log in to Wiki & Co"
    known = ["wiki.example.org", "The operator of this site", day_of(clock.now)]
    assert [each.text for each in main.find_all("dd")] == known
    assert [each.text for each in main.find_all("li")] == [
        "Recognize you when you log in again",
        "See your email address",
        "Keep this access after you log out here",
        "Use your permission reports.read",
    ]
    assert [each.text for each in main.find_all("button")] == ["Allow", "Refuse"]
    assert "Wiki & Co asks to use your account Ada." in main.text
    assert "It does not get your password" in main.text


def test_the_page_names_the_permissions_that_the_user_cannot_give(browser, ada, site):
    ada.grant("a.read")
    app = App(site, scopes=("openid", "a.read", "a.write", "b.read"))
    asked = "openid a.read a.write b.read c.read groups"  # the last two are not the app's
    browser = logged_in(site, ada)
    page = open_consent(browser, app, scope=asked)
    assert "and does not get them: a.write, b.read" in page.html.main.text
    assert "does not get them" not in open_consent(browser, app, scope="openid a.read")


def test_without_scopes_the_app_only_learns_that_there_is_an_account(browser, wiki):
    page = open_consent(browser, wiki, scope=None)
    assert [each.text for each in page.html.main.find_all("li")] == [
        "Know that you have an account here"
    ]


@row_by_row(
    ("uri", "is_public", "host", "is_on_device"),
    [
        (CALLBACK, True, "wiki.example.org", False),
        ("https://wiki.example.org:8443/x", True, "wiki.example.org:8443", False),
        ("http://127.0.0.1/x", True, "127.0.0.1", True),
        ("http://127.0.0.1/x", False, "127.0.0.1", False),
        ("org.example.wiki:/x", True, "org.example.wiki:", True),
    ],
    ids=["https", "a port", "loopback", "loopback with a secret", "scheme"],
)
def test_the_page_says_where_the_app_is(browser, site, uri, is_public, host, is_on_device):
    page = open_consent(browser, App(site, uri=uri, is_public=is_public))
    assert page.html.main.dd.text == host
    assert ("Allow it only if you have just opened it yourself" in page.text) is is_on_device


@pytest.mark.promise(90)
def test_the_page_cannot_be_framed_and_leads_to_the_app_alone(browser, wiki):
    headers = open_consent(browser, wiki).headers
    policy = headers["Content-Security-Policy"].split("; ")
    assert "frame-ancestors 'none'" in policy
    assert "form-action 'self' https://wiki.example.org" in policy
    assert (headers["Cache-Control"], headers["Referrer-Policy"]) == ("no-store", "same-origin")


def test_the_user_can_log_in_to_another_account_and_come_back(browser, wiki, grace):
    page = open_consent(browser, wiki, prompt="select_account")
    (link,) = [each for each in page.html.main.find_all("a") if "switch=1" in each["href"]]
    page = browser.get(link["href"], headers=BROWSER, status=200)
    form = next(each for each in page.forms.values() if "password" in each.fields)
    form["username"], form["password"] = "Grace", PASSWORD
    answer = form.submit(headers=SAME_ORIGIN, status=303)
    assert "code" in answer_in(walk(browser, answer.location))
    assert allowed() == {("Grace", "Wiki"): "email openid profile"}


# The decision


def test_allowing_sends_a_code(browser, wiki):
    location = decide(open_consent(browser, wiki)).location
    assert location.startswith(f"{CALLBACK}?code=")
    assert wiki.exchange(code_in(location))["scope"] == "openid profile email"
    assert allowed() == {(USERNAME, "Wiki"): "email openid profile"}


@pytest.mark.promise(89)
def test_the_answer_with_a_code_is_not_stored_and_leaks_by_no_referrer(browser, wiki):
    headers = decide(open_consent(browser, wiki)).headers
    assert (headers["Cache-Control"], headers["Referrer-Policy"]) == ("no-store", "no-referrer")


def test_allowing_can_answer_with_a_form(browser, wiki):
    page = decide(open_consent(browser, wiki, response_mode="form_post"), status=200)
    (form,) = [each for each in page.forms.values() if "code" in each.fields]
    assert (form.action, form["state"].value, form["iss"].value) == (CALLBACK, STATE, ISSUER)
    assert wiki.exchange(form["code"].value)["token_type"] == "Bearer"


@pytest.mark.promise(90)
def test_refusing_says_so_and_nothing_else(browser, wiki):
    found = answer_in(decide(open_consent(browser, wiki), "refuse").location)
    assert found == {
        "error": "access_denied",
        "error_description": "the user has refused",
        "state": STATE,
        "iss": ISSUER,
    }
    assert allowed() == {}


@pytest.mark.promise(90)
@row_by_row("decision", ["", "yes", "ALLOW"])
def test_anything_else_is_no_decision(browser, wiki, decision):
    page = decide(open_consent(browser, wiki), decision, status=422)
    assert "Allow the app, or refuse it." in page.html.main.text
    assert consent_form(page)["scope"].value == "openid profile email"
    assert allowed() == {}


@pytest.mark.promise(90)
def test_a_user_allows_only_the_scopes_that_the_page_has_shown(browser, wiki, site):
    page = open_consent(browser, wiki, scope="openid")
    form = consent_form(page)
    form.action = wiki.url(CONSENT, scope="openid profile email")
    location = form.submit("decision", value="allow", headers=SAME_ORIGIN, status=303).location
    assert wiki.exchange(code_in(location))["scope"] == "openid"
    assert allowed() == {(USERNAME, "Wiki"): "openid"}


@pytest.mark.promise(90)
def test_no_form_allows_a_scope_that_was_not_asked_for(browser, ada, site):
    app = App(site, scopes=("openid", "email"))
    page = open_consent(browser, app, scope="openid")
    answer = decide(page, scope="openid email profile reports.read")
    assert app.exchange(code_in(answer.location))["scope"] == "openid"


def test_a_wider_consent_keeps_the_former_scopes(browser, wiki):
    decide(open_consent(browser, wiki, scope="openid profile"))
    decide(open_consent(browser, wiki, scope="openid email"))
    assert allowed() == {(USERNAME, "Wiki"): "email openid profile"}


def test_the_second_sending_of_a_form_allows_nothing_more(browser, wiki):
    page = open_consent(browser, wiki)
    assert code_in(decide(page).location) != code_in(decide(page).location)
    assert Consent.select().count() == 1


# Whose consent


@pytest.mark.promise(90)
@pytest.mark.parametrize(
    "headers",
    [
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Origin": "https://wiki.example.org"},
        {"Origin": "null"},
    ],
    ids=["cross-site", "same-site", "origin", "opaque origin"],
)
def test_a_form_of_another_site_is_no_consent(browser, wiki, headers):
    form = consent_form(open_consent(browser, wiki))
    fields = dict([*form.submit_fields(), ("decision", "allow")])
    answer = browser.post(wiki.url(CONSENT), fields, headers={**BROWSER, **headers}, status="4*")
    assert "Location" not in answer.headers
    assert allowed() == {}


@pytest.mark.promise(90)
@pytest.mark.parametrize("account", ["", "x", "1"], ids=["none", "forged", "id"])
def test_a_form_without_its_account_is_no_consent(browser, wiki, account):
    decide(open_consent(browser, wiki), account=account, status=403)
    assert allowed() == {}


@pytest.mark.promise(90)
def test_the_form_of_another_user_is_no_consent(browser, wiki, site, grace):
    form = consent_form(open_consent(logged_in(site, grace), wiki))
    decide(open_consent(browser, wiki), account=form["account"].value, status=403)
    assert allowed() == {}


def test_a_form_of_an_ended_session_leads_to_the_login_and_back(browser, wiki):
    page = open_consent(browser, wiki)
    Session.delete().execute()
    answer = decide(page, status=303)
    assert answer.location.startswith("/auth/login?done=unsent&next=%2Fauth%2Fconsent%3F")
    assert allowed() == {}


def test_an_api_key_cannot_consent(client, ada, site, wiki):
    headers = api_key(site, ada)
    form = {"decision": "allow", "scope": "openid"}
    client.post_json(wiki.url(CONSENT), form, headers=headers, status=403)
    assert allowed() == {}


def test_a_program_with_a_session_is_answered_in_json(client, ada, site, wiki):
    headers = {"Authorization": f"Bearer {sessions.start(ada, site.site.tokens).token}"}
    form = {"decision": "allow", "scope": "openid email"}
    answer = client.post_json(wiki.url(CONSENT), form, headers=headers)
    assert wiki.exchange(code_in(answer.json["location"]))["scope"] == "openid email"
    refused = client.post_json(wiki.url(CONSENT), {"decision": "refuse"}, headers=headers)
    assert answer_in(refused.json["location"])["error"] == "access_denied"


def test_an_anonymous_browser_logs_in_first(site, wiki):
    for headers in (BROWSER, {}, {"Accept": "application/json"}):
        answer = TestApp(site).get(wiki.url(CONSENT), headers=headers, status=303)
        assert answer.location.startswith("/auth/login?next=%2Fauth%2Fauthorize%3F")


# What changes meanwhile


def test_a_form_after_the_removal_of_the_app_is_refused(browser, wiki):
    page = open_consent(browser, wiki)
    Client.delete().execute()
    assert decide(page, status=400).html.h1.text == "This app is not known here"


def test_a_form_after_the_user_has_left_the_group_is_none(browser, ada, site):
    group = Group.create(name="Staff")
    ada.join(group)
    app = App(site, group=group)
    page = open_consent(browser, app)
    ada.leave(group)
    assert decide(page).location.startswith(f"{AUTHORIZE}?")
    assert allowed() == {}


def test_a_form_after_too_long_a_time_needs_another_proof(browser, wiki, clock):
    page = open_consent(browser, wiki, max_age="60")
    clock.move(61)
    answer = decide(page)
    assert answer.location.startswith(f"{AUTHORIZE}?")
    again = browser.get(answer.location, headers=BROWSER, status=303)
    assert again.location.startswith("/auth/confirm?")
    assert allowed() == {}


@pytest.mark.promise(90)
def test_a_form_after_a_loss_of_permission_gives_the_rest(browser, ada, site):
    ada.grant("reports.read")
    app = App(site, scopes=("openid", "reports.read"))
    page = open_consent(logged_in(site, ada), app, scope="openid reports.read")
    ada.revoke("reports.read")
    location = decide(page).location
    assert app.exchange(code_in(location))["scope"] == "openid"


def test_a_user_who_changes_during_the_decision_decides_nothing(browser, ada, wiki, monkeypatch):
    lock_user = grants.lock_user

    def change_and_lock(user_id):
        User.update(security_stamp=User.security_stamp + 1).execute()
        return lock_user(user_id)

    page = open_consent(browser, wiki)
    monkeypatch.setattr(grants, "lock_user", change_and_lock)
    assert decide(page, status=303).location.startswith("/auth/login?")
    assert allowed() == {}


@pytest.mark.promise(90)
def test_a_form_that_did_not_show_the_service_allows_nothing(browser, wiki):
    form = consent_form(open_consent(browser, wiki, resource=REPORTS))
    form["scope"] = "openid profile email"
    answer = form.submit("decision", value="allow", headers=BROWSER)
    assert urlsplit(answer.location).path == AUTHORIZE
    assert allowed() == {}
