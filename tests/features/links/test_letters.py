"""Emails with a link: who gets which, what they say, and which requests end before."""

import json
import time
from datetime import UTC, datetime

import pytest

from tests.support.declared import COMPOSERS
from tests.support.mails import Clock, Post, with_mail
from tests.support.sites import EMAIL, PASSWORD, USERNAME
from wsgiauth import change_password
from wsgiauth.accounts import create_user, delete_user, update_user
from wsgiauth.accounts.groups import Group
from wsgiauth.accounts.models import User
from wsgiauth.accounts.tables import ADDRESS, INVITATION, OneTimeSecret
from wsgiauth.authentication import one_time
from wsgiauth.features.links.address_links import read_address_proof
from wsgiauth.features.links.invitations import HOURS, Invitation, InvitedGroup
from wsgiauth.features.links.letters import (
    issue_invitation,
    request_address_link,
    request_invitation,
    request_reset,
)
from wsgiauth.mail.letters import plain_text_of
from wsgiauth.mail.outbox import Mail, Outbox

NEW = "ada@example.net"
TAKEN = "grace@example.org"
INVITED = Invitation(email=EMAIL, username=USERNAME)


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
def grace(database, settings):
    return create_user("Grace", TAKEN, PASSWORD, settings=settings)


def ask_proof(outbox, user, email=NEW):
    request_address_link(outbox, user, email, mount="/auth")


@pytest.mark.every_database
@pytest.mark.promise(39)
def test_the_link_goes_to_the_new_address_and_proves_it(outbox, ada, post, clock):
    ask_proof(outbox, ada)
    outbox.deliver()
    assert post.recipients == [NEW]
    *_, link = [each for each in post.links if "token" in each]
    root, _, secret = link.partition("?token=")
    assert root == "https://example.org/auth/verify"
    assert read_address_proof(one_time.find(secret, ADDRESS, now=clock())) == (ada, NEW)
    assert one_time.find(secret, ADDRESS, now=clock() + 3600) is None


@pytest.mark.promise(54)
def test_the_address_is_in_the_row_of_the_link_and_the_secret_is_not(outbox, ada, post):
    ask_proof(outbox, ada)
    outbox.deliver()
    (row,) = OneTimeSecret.select()
    assert (row.purpose, row.user_id, row.data) == ("address", ada.id, NEW)
    (link,) = [each for each in post.links if "token" in each]
    assert link.partition("?token=")[2] not in str(row.__data__)


def test_the_mail_has_nothing_that_the_user_chose(outbox, post, settings):
    user = create_user("win.evil.example", EMAIL, PASSWORD, settings=settings)
    ask_proof(outbox, user)
    outbox.deliver()
    assert "evil" not in post.messages[0].as_string()


@pytest.mark.every_database
@pytest.mark.promise(34)
def test_the_owner_of_a_taken_address_is_told_at_the_stored_address(outbox, ada, grace, post):
    ask_proof(outbox, ada, TAKEN.upper())
    outbox.deliver()
    assert post.recipients == [TAKEN]
    assert "nothing was changed" in plain_text_of(post.messages[0])
    assert "/auth/" not in post.messages[0].as_string()
    assert USERNAME not in plain_text_of(post.messages[0])
    assert not OneTimeSecret.select().exists()


def test_an_inactive_owner_is_told_nothing(outbox, ada, grace, post):
    update_user(grace, is_active=False)
    ask_proof(outbox, ada, TAKEN)
    outbox.deliver()
    assert post.messages == []
    assert not Mail.select().exists()


def test_the_present_address_gets_a_link(outbox, ada, post):
    for email in (EMAIL, EMAIL.upper()):
        ask_proof(outbox, ada, email)
        outbox.deliver()
    assert post.recipients == [EMAIL, EMAIL.upper()]
    assert OneTimeSecret.select().exists()


ENDS = {
    "password": lambda ada, settings: change_password(ada, "third bird song", settings=settings),
    "deactivation": lambda ada, settings: update_user(ada, is_active=False),
    "new address": lambda ada, settings: update_user(ada, email="third@example.org"),
    "deletion": lambda ada, settings: delete_user(ada),
}


@pytest.mark.promise(35)
def test_a_change_of_the_user_before_the_mail_is_made_ends_the_request(outbox, ada, post, settings):
    for end in ENDS.values():
        user = User.get_by_id(ada.id)
        update_user(user, is_active=True)
        ask_proof(outbox, user)
        end(user, settings)
        outbox.deliver()
        assert post.messages == []
        assert not OneTimeSecret.select().exists()


def test_a_user_who_is_deleted_while_the_mail_is_made_gets_none(outbox, ada, settings, clock):
    ask_proof(outbox, ada)
    (mail,) = Mail.select()
    delete_user(ada)
    assert COMPOSERS[ADDRESS](mail, with_mail(settings), clock()) is None


@pytest.fixture
def invite(outbox, settings, clock):
    """Return a function that invites as an operator does."""

    def invite(invitation, mails=outbox):
        return issue_invitation(invitation, mails, with_mail(settings), mount="/auth", now=clock())

    return invite


def text_of(post):
    (message,) = post.messages
    return f"{message['Subject']}\n{plain_text_of(message)}"


def test_a_request_gets_a_mail_that_says_what_to_do_with_one_of_a_strangers(outbox, post):
    request_invitation(outbox, "http://evil.example", EMAIL, mount="/auth")
    outbox.deliver()
    text = text_of(post)
    assert text.startswith("Create your account for example.org\n")
    assert "someone who typed your address" in text
    assert "Open this link to create it." in text
    assert "60 minutes" in text
    assert "evil" not in text
    assert post.recipients == [EMAIL]


def test_an_operators_invitation_lasts_for_hours(invite, outbox, post):
    assert invite(INVITED) is None
    outbox.deliver()
    text = text_of(post)
    assert text.startswith("You are invited to example.org\n")
    assert f"{HOURS} hours" in text
    assert USERNAME not in text.replace(EMAIL, "").replace(post.links[0], "")


def test_there_is_no_secret_before_the_mail_is_sent(invite, outbox, clock):
    invite(INVITED)
    assert OneTimeSecret.select().count() == 0
    clock.move(60)
    outbox.deliver()
    assert OneTimeSecret.get().expires_at == clock() + HOURS * 3600


def test_without_mail_the_operator_gets_the_link(invite):
    link = invite(INVITED, None)
    assert link.startswith("https://example.org/auth/verify?token=")
    assert Mail.select().count() == 0


def test_an_invited_address_that_has_an_account_by_then_gets_nothing(
    invite, outbox, post, settings
):
    invite(INVITED)
    create_user("Other", EMAIL, PASSWORD, settings=settings)
    outbox.deliver()
    assert post.messages == []
    assert Mail.select().count() == 0


@pytest.mark.parametrize("is_active", [True, False])
def test_a_requested_one_gets_a_new_password_if_it_is_active(is_active, outbox, settings):
    request_invitation(outbox, USERNAME, EMAIL.upper(), mount="/auth")
    ada = create_user("Other", EMAIL, PASSWORD, settings=settings)
    update_user(ada, is_active=is_active)
    addressed = COMPOSERS[INVITATION](Mail.get(), with_mail(settings), time.time())
    if is_active:
        assert (addressed.address, addressed.user_id) == (EMAIL, ada.id)
        assert "/reset?" in addressed.letter.link
    else:
        assert addressed is None
    assert OneTimeSecret.select().where(OneTimeSecret.purpose == INVITATION).count() == 0


def test_the_outbox_has_no_secret_and_no_account(invite):
    editors = Group.objects.create(name="Editors")
    invite(INVITED._replace(groups=(InvitedGroup.of(editors),)))
    assert json.loads(Mail.get().data) == {
        "email": EMAIL,
        "username": USERNAME,
        "is_staff": False,
        "permissions": [],
        "groups": [[editors.id, "Editors"]],
        "is_requested": False,
        "actor": "code",
        "is_by_code": False,
        "is_of_staff": False,
        "mount": "/auth",
    }
    assert User.select().count() == 0


@pytest.mark.promise(34)
def test_the_username_is_shown_to_a_verified_address_only(outbox, post, settings):
    user = create_user(USERNAME, EMAIL, PASSWORD, settings=settings)
    for is_verified, username, shown in (
        (False, "ada!_Your_account_was_hacked,_call_0123", "for your account."),
        (True, "ada", "for the account ada."),
        (True, "evil.example", "for your account."),
    ):
        verified_at = datetime.now(UTC) if is_verified else None
        update_user(user, username=username, email_verified_at=verified_at)
        request_reset(outbox, EMAIL, mount="/auth")
        outbox.deliver()
        message = post.messages.pop()
        assert f"A new password was requested {shown}" in plain_text_of(message)
        assert (username in str(message)) is (username in shown)
