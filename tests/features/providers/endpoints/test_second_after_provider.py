"""The second step of a login that began at another provider, where no password was entered."""

import pytest
from webtest import TestApp

from tests.support.factors import FACTOR_KEY, add_app
from tests.support.mails import MAIL
from tests.support.provider_logins import connect, log_in, path_of
from tests.support.sites import SAME_ORIGIN, USERNAME
from wsgiauth.events.models import RecordedEvent
from wsgiauth.mail.letters import plain_text_of
from wsgiauth.testing import bearer, make_user
from wsgiauth.throttling.throttle import CODE_FAILURES


@pytest.fixture
def site(make_provider_site):
    return make_provider_site(FACTOR_KEY=FACTOR_KEY, **MAIL)


@pytest.fixture
def user(site, provider):
    made = make_user(site, USERNAME)
    connect(made, provider)
    return made


@pytest.fixture
def app(site, user):
    return add_app(site, user)


@pytest.fixture
def browser(client, app, provider):
    """Return a browser that has logged in at the provider, and is asked for a code."""
    assert path_of(log_in(client, provider, status=303)) == "/auth/second"
    return client


def enter(browser, code, status):
    browser.post("/auth/second", {"code": code}, headers=SAME_ORIGIN, status=status)


def guess(client, status):
    fields = {"username": USERNAME, "password": "wrong"}
    client.post_json("/auth/login", fields, status=status)


@pytest.mark.promise(12)
@pytest.mark.every_database
def test_a_right_code_does_not_reset_the_count_of_passwords(site, app, browser):
    """A thief of the account at the provider and of the app could guess the password on and on."""
    thief = TestApp(site)
    for _ in range(site.site.settings.LOGIN_FAILURES_PER_ACCOUNT):
        guess(thief, 401)
    guess(thief, 429)
    enter(browser, app.code(), 303)
    assert browser.get("/").json["user"] == USERNAME
    guess(thief, 429)


def letter_of(site, letters):
    site.site.outbox.stop()
    site.site.outbox.deliver()
    return plain_text_of(
        next(each for each in letters.messages if "Wrong codes" in each["Subject"])
    )


def test_neither_the_notice_nor_the_log_say_that_the_password_was_entered(
    site, user, letters, browser
):
    for _ in range(CODE_FAILURES):
        enter(browser, "000000", 401)
    failures = site.site.throttle.failed_logins(user)
    assert {each.reason for each in failures} == {"provider, wrong code"}
    (event,) = RecordedEvent.select().where(RecordedEvent.name == "factor_guessed")
    assert event.reason == "without the password"
    text = letter_of(site, letters)
    assert "right password" not in text
    assert "several wrong codes" in " ".join(text.split())


def test_neither_does_that_of_codes_in_a_session(site, user, app, client, letters):
    headers = bearer(site, user)
    for _ in range(CODE_FAILURES):
        client.post_json("/auth/confirm", {"code": "000000"}, headers=headers, status=401)
    text = letter_of(site, letters)
    assert "right password" not in text
