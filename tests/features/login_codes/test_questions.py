"""What `check` says about codes."""

import pytest

from tests.support.sites import EMAIL
from wsgiauth.accounts.models import User
from wsgiauth.features.login_codes.questions import QUESTIONS


def sentences(site):
    return [each.sentence for question in QUESTIONS for each in question.ask(site.site)]


def test_a_site_without_a_limit_of_emails_is_warned(site, settings):
    assert sentences(site) == []
    object.__setattr__(site.site.settings, "MAILS_PER_ACCOUNT", 0)
    (sentence,) = sentences(site)
    assert "nothing limits how many codes" in sentence


@pytest.mark.every_database
def test_users_who_get_no_code_are_counted(site, ada, grace):
    (sentence,) = sentences(site)
    assert sentence.startswith("1 active user with an address")
    User.update(email_verified_by="").where(User.email == EMAIL).execute()
    (sentence,) = sentences(site)
    assert sentence.startswith("2 active users with an address")


def test_the_note_says_what_arrives_and_what_helps(site, ada, grace):
    for password_login, outcome in (
        (True, "gets the link for a new password instead of a code."),
        (False, "gets the link that verifies the address instead of a code."),
    ):
        object.__setattr__(site.site.settings, "PASSWORD_LOGIN", password_login)
        (sentence,) = sentences(site)
        assert outcome in sentence
        assert sentence.endswith("run `python -m wsgiauth set NAME --verified`.")
    object.__setattr__(site.site.settings, "LOGIN_CODES", False)
    assert sentences(site) == []
