"""Mails with a link to choose a new password: what they show."""

from datetime import UTC, datetime

import pytest

from tests.support.mails import Clock, Post, with_mail
from tests.support.sites import EMAIL, PASSWORD
from wsgiauth.accounts import create_user, update_user
from wsgiauth.mail.kinds import COMPOSERS
from wsgiauth.mail.outbox import Outbox
from wsgiauth.mail.resets import request_reset


@pytest.fixture
def post():
    return Post()


@pytest.fixture
def outbox(database, settings, post, unsent):
    """Return an outbox whose thread is not started."""
    return Outbox(with_mail(settings), post, COMPOSERS, clock=Clock())


@pytest.mark.promise(34)
@pytest.mark.parametrize(
    ("is_verified", "username", "shown"),
    [
        (True, "ada", "for the account ada."),
        (True, "evil.example", "for your account."),
        (False, "ada!_Your_account_was_hacked,_call_0123", "for your account."),
    ],
    ids=["verified", "a link", "not verified"],
)
def test_the_username_is_shown_to_a_verified_address_only(
    outbox, post, settings, is_verified, username, shown
):
    user = create_user(username, EMAIL, PASSWORD, settings=settings)
    if is_verified:
        update_user(user, email_verified_at=datetime.now(UTC))
    request_reset(outbox, EMAIL, mount="/auth")
    outbox.deliver()
    (message,) = post.messages
    assert f"asked for a new password {shown}" in message.get_content()
    assert (username in str(message)) is (username in shown)
