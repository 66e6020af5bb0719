"""The page of a user who registered with a passkey instead of a password."""

from dataclasses import replace
from urllib.parse import urlsplit

import pytest

from tests.support.authenticators import Authenticator, register_with_passkey
from tests.support.factors import add_app
from tests.support.sites import SAME_ORIGIN
from wsgiauth.features.factors.passkeys import Passkey

MAIL = {
    "MAIL_URL": "memory:",
    "MAIL_FROM": "site@example.org",
    "PUBLIC_URL": "https://example.org",
}


@pytest.fixture
def options():
    """Return further settings of the site."""
    return {}


@pytest.fixture
def settings(settings, options):
    return replace(settings, PASSKEYS=True, **MAIL, **options)


@pytest.fixture
def tim(site, make):
    user, key = make("Tim"), Authenticator()
    key.origin = site.site.settings.PUBLIC_URL
    key.host = urlsplit(key.origin).hostname
    register_with_passkey(site, user, key)
    return user


def section_of(page, name):
    return " ".join(page.html.find(id=name).find_parent("section").text.split())


def page_of(browser, user):
    return browser.get(f"/auth/admin/users/{user.id}")


def test_a_passkey_that_replaces_the_password_is_no_two_step_verification(browser, tim):
    page = page_of(browser, tim)
    assert section_of(page, "second-factors").startswith("Passkeys Laptop Passkey, added ")
    page.mustcontain(no=["Two-step verification", "Recovery codes left", "A login needs"])


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({}, "an email lets them in. Send a password reset link"),
        ({"PASSWORD_LOGIN": False, "LOGIN_CODES": True}, "an email lets them in."),
        ({"PASSWORD_LOGIN": False, "VERIFICATION": True}, "no email lets them in."),
    ],
)
def test_the_page_says_whether_an_email_replaces_a_lost_passkey(browser, tim, says):
    help_of_tim = section_of(page_of(browser, tim), "help")
    assert f"The user logs in with a passkey. If it is lost, {says}" in help_of_tim


def test_with_an_app_the_passkey_is_a_second_factor(site, browser, tim):
    add_app(site, tim)
    page = page_of(browser, tim)
    assert section_of(page, "second-factors").startswith("Two-step verification")
    page.mustcontain("A login needs the second step", no="The user logs in with a passkey.")


@pytest.mark.every_database
@pytest.mark.promise(73)
def test_the_passkeys_are_not_removed_if_they_are_the_last_way_in(browser, tim):
    url = f"/auth/admin/users/{tim.id}/remove-factors"
    refused = browser.post(url, {}, headers=SAME_ORIGIN, status=409)
    refused.mustcontain("This is the only way to log in to the account. Send a link to choose a")
    assert Passkey.select().exists()
