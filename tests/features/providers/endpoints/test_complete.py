"""GET and POST /auth/complete: an account of a provider that no user has yet."""

import pytest
from webtest import TestApp

from tests.support.factors import FACTOR_KEY
from tests.support.hostile_provider import Provider
from tests.support.mails import MAIL
from tests.support.provider_keys import DROP
from tests.support.provider_logins import connect, log_in, path_of
from tests.support.sites import BROWSER, EMAIL, PASSWORD, SAME_ORIGIN, USERNAME
from tests.support.tabs import PROVIDER, give_cookies, tab_cookies
from wsgiauth import Field
from wsgiauth.accounts.models import User
from wsgiauth.accounts.tables import OneTimeSecret, Session
from wsgiauth.features.providers import identities
from wsgiauth.features.providers.identities import Identity
from wsgiauth.features.providers.provider_sessions import ProviderLogin, ProviderSession
from wsgiauth.mail.outbox import Mail
from wsgiauth.testing import logged_in

SCRIPT = {"Accept": "application/json", "Sec-Fetch-Site": "same-origin"}


@pytest.fixture
def site(make_provider_site):
    return make_provider_site()


def arrive(client, provider, subject="eve", **fields):
    """Log in with an account that no user has; return the page of /auth/complete."""
    answer = log_in(client, provider, subject, status=303, **fields)
    assert path_of(answer) == "/auth/complete"
    return client.get(answer.location, headers=BROWSER, status="*")


def who(client):
    return client.get("/").json["user"]


def send(client, status, headers=SAME_ORIGIN, **fields):
    return client.post("/auth/complete", fields, headers=headers, status=status)


@pytest.mark.every_database
def test_a_user_creates_an_account_with_the_verified_address(client, provider, heard):
    page = arrive(client, provider, next="/reports", remember="on")
    assert "email" not in page.form.fields
    assert page.form["username"].value == "eve"
    page.form["username"] = "Evelyn"
    answer = page.form.submit(headers=SAME_ORIGIN, status=303)
    assert answer.location == "/reports"
    assert who(client) == "Evelyn"
    user = User.get()
    assert (user.email, user.has_password) == ("eve@example.org", False)
    assert user.email_verified_at is not None
    assert Identity.get().user_id == user.id
    assert (Session.get().methods, ProviderSession.select().count()) == ("fed", 1)
    assert [(each.name, each.reason) for each in heard] == [
        ("registration", "google"),
        ("identity_connected", "google"),
        ("login", "fed"),
    ]
    cookies = answer.headers.getall("Set-Cookie")
    _session, created, _tab = cookies
    assert ["Max-Age=25" in each for each in cookies] == [True, False, False]
    assert "-created=" in created
    assert not tab_cookies(client, PROVIDER)
    log_in(client, provider, "eve", status=303)


@pytest.mark.promise(68)
def test_only_the_very_address_that_the_provider_has_verified_is_verified(client, provider):
    for name, sent, typed, is_verified in (
        ("case", "Case@example.org", "case@EXAMPLE.org", True),
        ("wide", "wide\uff20example.org", "wide@example.org", False),
    ):
        client.reset()
        provider.people[name] = {"email": sent, "email_verified": True}
        arrive(client, provider, name)
        send(client, 303, username=name, email=typed)
        user = User.get(User.username == name)
        assert (sent, user.email_verified_at is not None) == (sent, is_verified)


@pytest.mark.promise(74)
def test_a_logout_at_the_provider_ends_the_wait(client, provider):
    arrive(client, provider)
    logout = {"logout_token": provider.logout_token(sub="eve", sid=DROP)}
    client.post("/auth/oidc/google/logout", logout, status=200)
    send(client, 410, username="Evelyn")
    assert User.select().count() == 0


def test_a_logout_here_ends_the_wait(client, provider):
    arrive(client, provider)
    cookies = tab_cookies(client, PROVIDER)
    client.post("/auth/logout", headers=SAME_ORIGIN, status=303)
    assert not tab_cookies(client, PROVIDER)
    give_cookies(client, cookies)
    client.get("/auth/complete", headers=BROWSER, status=410)
    client.post("/auth/logout", headers=SAME_ORIGIN, status=303)


@pytest.mark.promise(72)
def test_a_demanded_second_factor_is_set_up_first(make_provider_site, provider):
    client = TestApp(make_provider_site(FACTOR_KEY=FACTOR_KEY, SECOND_FACTOR="all"))
    answer = arrive(client, provider).form.submit(headers=SAME_ORIGIN, status=303)
    assert path_of(answer) == "/auth/totp"
    assert who(client) is None


def test_the_proposal_keeps_the_rules(client, ada, provider):
    for claims, proposal in (
        ({"preferred_username": "Eve Black"}, "EveBlack"),
        ({"preferred_username": "black@corp.example"}, "black"),
        ({"preferred_username": "", "email": "e.black+site@example.org"}, "e.black"),
        ({"preferred_username": "-eve"}, "eve"),
        ({"preferred_username": USERNAME.upper()}, "ADA"),
        ({"preferred_username": "--", "email": "+@example.org"}, ""),
    ):
        provider.people["eve"] = claims
        page = arrive(client, provider)
        assert (claims, page.form["username"].value) == (claims, proposal)
        client.reset()


@pytest.mark.promise(68)
def test_the_proposal_reveals_no_name(client, ada, provider, queries):
    proposals = []
    for name in (USERNAME, "Nobody"):
        provider.people[name] = {"preferred_username": name, "email": f"{name}@example.net"}
        page = arrive(client, provider, name)
        proposals.append(page.form["username"].value)
        sent = queries(lambda page=page: client.get(page.form.action, headers=BROWSER))
        assert not [sql for sql in sent if '"username_key"' in sql.partition("WHERE")[2]]
    assert proposals == [USERNAME, "Nobody"]


def test_a_name_that_cannot_be_had_is_asked_for_again(client, ada, provider):
    arrive(client, provider)
    for username, status, message in (
        (USERNAME, 409, "taken"),
        ("a b", 422, "spaces"),
        ("", 422, "Enter a username"),
    ):
        page = send(client, status, username=username)
        assert message in page.html.select_one("#username-error").text
    assert tab_cookies(client, PROVIDER)
    assert User.select().count() == 1


def test_a_script_gets_all_that_breaks_a_rule_and_the_profile(client, provider):
    provider.people["eve"] = {"email_verified": False}
    assert arrive(client, provider).form["email"].value == "eve@example.org"
    problem = send(client, 422, headers=SCRIPT, username="a b", email="x").json
    assert problem["errors"].keys() == {"username", "email"}
    answer = send(client, 201, headers=SCRIPT, username="Evelyn", email="eve@example.org")
    assert answer.json["username"] == "Evelyn"
    assert who(client) == "Evelyn"


def test_what_the_answers_say_is_limited(make_provider_site, ada, provider, stopped_throttle):
    client = TestApp(make_provider_site(REGISTRATIONS_PER_ADDRESS=2))
    arrive(client, provider)
    answers = [send(client, "*", username=USERNAME).status_int for _ in range(3)]
    assert answers == [409, 409, 429]


def test_an_address_that_cannot_be_one_is_asked_for(client, provider):
    provider.people["ivy"] = {"email": None, "email_verified": None}
    provider.people["eve"] = {"email": "no address", "email_verified": True}
    for name in ("ivy", "eve"):
        client.reset()
        page = arrive(client, provider, name)
        page.form["email"] = f"{name}@example.net"
        page.form.submit(headers=SAME_ORIGIN, status=303)
        assert User.get(User.username == name).email_verified_at is None


@pytest.mark.promise(75)
def test_the_fields_of_the_site_are_asked_for_and_passed_on(settings, provider, make_provider_site):
    passed = []
    site = make_provider_site(
        registration=[Field("phone", "Phone", required=True)],
        on_registered=lambda user, values: passed.append((user.username, values)),
    )
    client = TestApp(site)
    page = arrive(client, provider)
    refused = page.form.submit(headers=SAME_ORIGIN, status=422)
    assert "required" in refused.html.select_one("#phone-error").text
    refused.form["phone"] = "030 1"
    refused.form.submit(headers=SAME_ORIGIN, status=303)
    assert passed == [("eve", {"phone": "030 1"})]


def test_an_application_that_fails_leaves_nothing_behind(provider, make_provider_site):
    failing = make_provider_site(on_registered=lambda *_: 1 / 0)
    client = TestApp(failing)
    arrive(client, provider).form.submit(headers=SAME_ORIGIN, status=500)
    assert not User.select().exists()
    assert not Identity.select().exists()
    client.get("/auth/complete", headers=BROWSER, status=200)


def test_a_user_whose_claims_fail_has_an_account_and_logs_in_later(provider, make_provider_site):
    client = TestApp(make_provider_site(claims=lambda user: 1 / 0))
    answer = arrive(client, provider).form.submit(headers=SAME_ORIGIN, status=303)
    assert (answer.location, User.select().count()) == ("/auth/login", 1)


def test_an_account_that_is_disconnected_at_once_has_no_session(client, provider, monkeypatch):
    page = arrive(client, provider)
    monkeypatch.setattr(ProviderLogin, "is_valid_for", lambda *_: False)
    assert path_of(page.form.submit(headers=SAME_ORIGIN, status=303)) == "/auth/login"


# Which account waits.


@pytest.mark.every_database
def test_an_account_waits_once(client, provider):
    page = arrive(client, provider)
    cookies = tab_cookies(client, PROVIDER)
    page.form.submit(headers=SAME_ORIGIN, status=303)
    client.reset()
    give_cookies(client, cookies)
    expired = client.get("/auth/complete", headers=BROWSER, status=410)
    assert expired.html.find("a", string="Go to the login page")
    send(client, 410, username="again")


def test_of_two_requests_at_the_same_time_one_creates_the_account(client, provider, monkeypatch):
    arrive(client, provider)
    monkeypatch.setattr("wsgiauth.features.providers.unclaimed.finish", lambda *_: False)
    send(client, 410, username="eve")
    assert not User.select().exists()


@pytest.mark.promise(68)
def test_an_account_of_a_provider_that_is_gone_does_not_wait(client, provider, make_provider_site):
    arrive(client, provider)
    with Provider() as moved:
        for entry in (moved.entry("google"), provider.entry("other")):
            later = TestApp(make_provider_site(OIDC_PROVIDERS=(entry,)))
            give_cookies(later, tab_cookies(client, PROVIDER))
            later.get("/auth/complete", headers=BROWSER, status=410)


def test_a_second_login_does_not_lead_back_to_the_page(client, provider):
    arrive(client, provider)
    page = arrive(client, provider, next="/auth/complete")
    assert page.form.submit(headers=SAME_ORIGIN, status=303).location == "/"


@pytest.mark.promise(17)
@pytest.mark.promise(69)
def test_another_site_or_browser_cannot_complete_or_connect(client, site, provider):
    arrive(client, provider)
    cross_site = {**BROWSER, "Sec-Fetch-Site": "cross-site"}
    send(client, 403, headers=cross_site, username="eve")
    TestApp(site).get("/auth/complete", headers=BROWSER, status=410)
    assert not User.select().exists()


def test_a_user_starts_again(client, provider):
    for headers, status in ((SAME_ORIGIN, 303), (SCRIPT, 200)):
        arrive(client, provider)
        answer = send(client, status, headers=headers, cancel="on")
        assert (answer.location if status == 303 else answer.json["next"]) == "/auth/login"
        assert not tab_cookies(client, PROVIDER)
        waiting = OneTimeSecret.select().where(OneTimeSecret.purpose == "provider account")
        assert not waiting.exists()


# An account has the address, or there can be none.


@pytest.mark.promise(68)
def test_the_owner_of_an_address_logs_in_and_connects_both(client, site, ada, provider, heard):
    page = arrive(client, provider, "ada", next="/reports")
    assert EMAIL in page.html.main.text
    login = page.click("Log in to connect both")
    assert "You can then connect it to the account of the other provider." in login
    assert "connect" not in TestApp(client.app).get(
        "/auth/login?next=/auth/complete", headers=BROWSER
    )
    login.form["username"], login.form["password"] = USERNAME, PASSWORD
    back = login.form.submit(headers=SAME_ORIGIN, status=303)
    assert path_of(back) == "/auth/complete"
    page = back.follow(headers=BROWSER)
    assert USERNAME in page.html.main.text
    done = page.form.submit("connect", headers=SAME_ORIGIN, status=303)
    assert done.location == "/reports"
    assert not tab_cookies(client, PROVIDER)
    assert identities.find(provider.issuer, "ada").user_id == ada.id
    client.reset()
    log_in(client, provider, "ada", status=303)
    assert who(client) == USERNAME


def test_where_registration_is_closed_an_account_can_still_be_connected(
    make_provider_site, ada, provider
):
    site = make_provider_site(REGISTRATION=False)
    client = TestApp(site)
    provider.people["eve"] = {"email": EMAIL, "email_verified": False}
    page = arrive(client, provider)
    assert "There is no account for you here" in page
    assert page.html.find("a", string="Log in to connect both")
    send(client, 403, username="eve", email="eve@a.example")
    assert User.select().count() == 1
    member = logged_in(site, User.get())
    give_cookies(member, tab_cookies(client, PROVIDER))
    page = member.get("/auth/complete", headers=BROWSER)
    assert page.form.submit("connect", headers=SAME_ORIGIN).location == (
        "/auth/identities?done=connected"
    )
    assert identities.find(provider.issuer, "eve").user_id == ada.id


# Logged in.


@pytest.fixture
def member(site, ada, provider):
    """Return a client of Ada's in which an account waits."""
    client = logged_in(site, ada)
    arrive(client, provider)
    return client


@pytest.mark.promise(68)
def test_a_script_connects_both_if_the_user_has_asked_for_it(member, ada, provider):
    page = send(member, 422, username="eve")
    assert "Choose whether" in page.html.main.text
    assert not Identity.select().exists()
    answer = send(member, 200, headers=SCRIPT, connect="on")
    assert answer.json == {"detail": "Connected.", "next": "/auth/identities"}
    assert identities.find(provider.issuer, "eve").user_id == ada.id


def test_a_user_does_not_connect_them(member):
    answer = send(member, 303, cancel="on")
    assert path_of(answer) == "/auth/account"
    assert not Identity.select().exists()
    assert not tab_cookies(member, PROVIDER)


@pytest.mark.promise(68)
def test_only_a_user_who_has_recently_proved_who_they_are_connects(site, ada, provider):
    client = logged_in(site, ada, confirmed_minutes_ago=60)
    page = arrive(client, provider)
    assert page.location.startswith("/auth/confirm?next=%2Fauth%2Fcomplete%3Flogin%3D")
    assert path_of(send(client, 303, connect="on")) == "/auth/confirm"
    refused = send(client, 401, headers=SCRIPT, connect="on")
    assert "insufficient_user_authentication" in refused.headers["WWW-Authenticate"]
    assert not Identity.select().exists()


def test_an_account_that_another_user_got_meanwhile_stays_theirs(member, grace, provider):
    row = connect(grace, provider, "eve")
    page = send(member, 409, connect="on")
    assert "another account of this site" in page.html.main.text
    assert Identity.get_by_id(row.id).user_id == grace.id


def test_of_two_requests_at_the_same_time_one_connects(member, monkeypatch):
    monkeypatch.setattr("wsgiauth.features.providers.unclaimed.finish", lambda *_: False)
    page = send(member, 410, connect="on")
    assert "too long ago" in page.html.main.text


# By a link: tests/features/providers/endpoints/test_provider_address.py has what the link does.


@pytest.mark.promise(68)
@pytest.mark.usefixtures("unsent")
def test_every_address_gets_the_same_answer_and_the_same_statements(
    make_provider_site, ada, provider, queries
):
    client = TestApp(make_provider_site(**MAIL, MAILS_PER_ADDRESS=0))
    provider.people["eve"] = {"email": EMAIL, "email_verified": False}
    page = arrive(client, provider)
    assert "We will send a link" in page.html.main.text

    def ask(email):
        answers = []
        sent = queries(lambda: answers.append(send(client, 202, username="eve", email=email)))
        assert not [sql for sql in sent if '"email_key" =' in sql]
        return answers[0].body, len(sent)

    ask("first@example.org")
    assert ask(EMAIL) == ask("new@example.org") == ask("Other@example.org")
    assert not Identity.select().exists()
    assert Mail.select().count() == 4


@pytest.mark.usefixtures("unsent")
def test_names_that_break_a_rule_ask_for_no_link(make_provider_site, provider):
    client = TestApp(make_provider_site(**MAIL))
    provider.people["eve"] = {"email_verified": False}
    assert arrive(client, provider).form["email"].value == "eve@example.org"
    problem = send(client, 422, headers=SCRIPT, username="a b", email="x").json
    assert problem["errors"].keys() == {"username", "email"}
    answers = [send(client, "*", username="eve", email="e@example.org") for _ in range(4)]
    assert [each.status_int for each in answers] == [202, 202, 202, 429]
    assert Mail.select().count() == 3
