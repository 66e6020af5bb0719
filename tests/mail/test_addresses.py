"""Mails that prove an address: who gets which, and which links end before they are sent."""

import json

import pytest

from tests.support.mails import Clock, Post, with_mail
from tests.support.sites import EMAIL, PASSWORD, USERNAME
from wsgiauth import change_password
from wsgiauth.accounts import create_user, delete_user, update_user
from wsgiauth.authentication import one_time
from wsgiauth.authentication.one_time import OneTimeSecret
from wsgiauth.mail import addresses
from wsgiauth.mail.addresses import ADDRESS, read_proof, request_proof
from wsgiauth.mail.kinds import COMPOSERS
from wsgiauth.mail.models import Mail
from wsgiauth.mail.outbox import Outbox

NEW = "ada@example.net"
TAKEN = "grace@example.org"


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def post():
    return Post()


@pytest.fixture
def outbox(database, settings, clock, post, unsent):
    """Return an outbox whose thread is not started."""
    return Outbox(with_mail(settings), post, COMPOSERS, clock=clock)


@pytest.fixture
def ada(database, settings):
    return create_user(USERNAME, EMAIL, PASSWORD, settings=settings)


@pytest.fixture
def grace(database, settings):
    return create_user("Grace", TAKEN, PASSWORD, settings=settings)


def ask(outbox, user, email=NEW):
    request_proof(outbox, user, email, mount="/auth")


@pytest.mark.every_database
@pytest.mark.promise(39)
def test_the_link_goes_to_the_new_address_and_proves_it(outbox, ada, post, clock):
    ask(outbox, ada)
    outbox.deliver()
    assert post.recipients == [NEW]
    *_, link = [each for each in post.links if "token" in each]
    root, _, secret = link.partition("?token=")
    assert root == "https://example.org/auth/verify"
    assert read_proof(one_time.find(secret, ADDRESS, now=clock())) == (ada, NEW)
    assert one_time.find(secret, ADDRESS, now=clock() + 3600) is None


@pytest.mark.promise(54)
def test_the_address_is_in_the_row_of_the_link_and_the_secret_is_not(outbox, ada, post):
    ask(outbox, ada)
    outbox.deliver()
    (row,) = OneTimeSecret.select()
    assert (row.purpose, row.user_id, json.loads(row.data)["email"]) == ("address", ada.id, NEW)
    (link,) = [each for each in post.links if "token" in each]
    assert link.partition("?token=")[2] not in str(row.__data__)


def test_the_mail_has_nothing_that_the_user_chose(outbox, post, settings):
    user = create_user("win.evil.example", EMAIL, PASSWORD, settings=settings)
    ask(outbox, user)
    outbox.deliver()
    assert "evil" not in post.messages[0].as_string()


@pytest.mark.every_database
@pytest.mark.promise(34)
def test_the_owner_of_a_taken_address_is_told_at_the_stored_address(outbox, ada, grace, post):
    ask(outbox, ada, TAKEN.upper())
    outbox.deliver()
    assert post.recipients == [TAKEN]
    assert "nothing was changed" in post.messages[0].get_content()
    assert "/auth/" not in post.messages[0].as_string()
    assert USERNAME not in post.messages[0].get_content()
    assert not OneTimeSecret.select().exists()


def test_an_inactive_owner_is_told_nothing(outbox, ada, grace, post):
    update_user(grace, is_active=False)
    ask(outbox, ada, TAKEN)
    outbox.deliver()
    assert post.messages == []
    assert not Mail.select().exists()


@pytest.mark.parametrize("email", [EMAIL, EMAIL.upper()], ids=["same", "another spelling"])
def test_the_present_address_gets_a_link(outbox, ada, post, email):
    ask(outbox, ada, email)
    outbox.deliver()
    assert post.recipients == [email]
    assert OneTimeSecret.select().exists()


ENDS = {
    "password": lambda ada, settings: change_password(ada, "third bird song", settings=settings),
    "deactivation": lambda ada, settings: update_user(ada, is_active=False),
    "new address": lambda ada, settings: update_user(ada, email="third@example.org"),
    "deletion": lambda ada, settings: delete_user(ada),
}


@pytest.mark.promise(35)
@pytest.mark.parametrize("end", ENDS.values(), ids=ENDS)
def test_a_change_of_the_user_before_the_mail_is_made_ends_the_request(
    end, outbox, ada, post, settings
):
    ask(outbox, ada)
    end(ada, settings)
    outbox.deliver()
    assert post.messages == []
    assert not OneTimeSecret.select().exists()


def test_a_user_who_is_deleted_while_the_mail_is_made_gets_none(outbox, ada, settings, clock):
    ask(outbox, ada)
    (mail,) = Mail.select()
    delete_user(ada)
    assert addresses.compose(mail, with_mail(settings), clock()) is None
