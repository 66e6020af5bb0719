"""`python -m wsgiauth mail` with codes."""

import pytest

from tests.features.login_codes.conftest import proven
from tests.support.mails import MAIL
from tests.support.sites import SECRET_KEY, USERNAME
from wsgiauth.accounts.models import User
from wsgiauth.accounts.tables import CODE
from wsgiauth.authentication import one_time
from wsgiauth.mail.outbox import enqueue


@pytest.fixture
def with_codes(monkeypatch):
    for name, value in {**MAIL, "MAIL_URL": "console:", "LOGIN_CODES": "on"}.items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def mail(person):
    """Insert the email for a code of a user."""
    proven(User.get_by_id(person.id))
    secret = one_time.issue(CODE, None, now=2**33, lifetime=600, data="{}")
    data = {"mount": "/auth", "request": one_time.digest(secret), "browser": "Unknown browser"}
    enqueue(None, CODE, name=USERNAME, data=data)


def test_the_command_sends_codes(wsgiauth, with_codes, mail, monkeypatch):
    monkeypatch.setenv("SECRET_KEY", SECRET_KEY)
    status, output, errors = wsgiauth("mail")
    assert (status, output) == (0, "0 emails left for later.\n")
    assert "Your code for example.org" in errors


def test_the_command_needs_the_key_that_makes_the_codes(wsgiauth, with_codes, mail):
    status, _, errors = wsgiauth("mail")
    assert status == 1
    assert "SECRET_KEY must be set" in errors
