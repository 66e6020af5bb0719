"""Invitations: whom they are sent to, and what they say."""

import json
import time
from dataclasses import replace

import pytest

from tests.support.mails import Clock, Post, with_mail
from tests.support.sites import EMAIL, PASSWORD, USERNAME
from wsgiauth.accounts import create_user, update_user
from wsgiauth.accounts.groups import Group
from wsgiauth.accounts.models import User
from wsgiauth.authentication.one_time import OneTimeSecret
from wsgiauth.exceptions import TakenError, ValidationError
from wsgiauth.mail.invitations import (
    HOURS,
    INVITATION,
    Invitation,
    InvitedGroup,
    compose,
    invite,
    request_invitation,
)
from wsgiauth.mail.kinds import COMPOSERS
from wsgiauth.mail.models import Mail
from wsgiauth.mail.outbox import Outbox

INVITED = Invitation(email=EMAIL, username=USERNAME)


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def post():
    return Post()


@pytest.fixture
def outbox(database, settings, post, clock, unsent):
    return Outbox(with_mail(settings), post, COMPOSERS, clock=clock)


@pytest.fixture
def ask(outbox, settings, clock):
    """Return a function that invites as an operator does."""

    def ask(invitation, mails=outbox):
        return invite(invitation, mails, with_mail(settings), mount="/auth", now=clock())

    return ask


def text_of(post):
    (message,) = post.messages
    return f"{message['Subject']}\n{message.get_content()}"


def test_a_request_gets_a_mail_that_says_what_to_do_with_one_of_a_strangers(outbox, post):
    request_invitation(outbox, "http://evil.example", EMAIL, mount="/auth")
    outbox.deliver()
    text = text_of(post)
    assert text.startswith("Create your account for example.org\n")
    assert "someone who typed your address" in text
    assert "60 minutes" in text
    assert "evil" not in text
    assert post.recipients == [EMAIL]


def test_an_operators_invitation_lasts_for_hours(ask, outbox, post):
    assert ask(INVITED) is None
    outbox.deliver()
    text = text_of(post)
    assert text.startswith("You are invited to example.org\n")
    assert f"{HOURS} hours" in text
    assert USERNAME not in text.replace(EMAIL, "").replace(post.links[0], "")


def test_there_is_no_secret_before_the_mail_is_sent(ask, outbox, clock):
    ask(INVITED)
    assert OneTimeSecret.select().count() == 0
    clock.move(60)
    outbox.deliver()
    assert OneTimeSecret.get().expires_at == clock() + HOURS * 3600


def test_without_mail_the_operator_gets_the_link(ask):
    link = ask(INVITED, None)
    assert link.startswith("https://example.org/auth/verify?token=")
    assert Mail.select().count() == 0


@pytest.mark.parametrize("field", ["email", "username"])
def test_taken_names_are_not_invited(field, ask, settings):
    other = {"email": "x@example.org", "username": "Other", field: getattr(INVITED, field).upper()}
    create_user(**other, password=PASSWORD, settings=settings)
    with pytest.raises(TakenError) as caught:
        ask(INVITED)
    assert caught.value.errors.keys() == {field}
    assert Mail.select().count() == 0


@pytest.mark.parametrize(
    ("invitation", "error"),
    [
        (Invitation(email="ada"), ValidationError),
        (Invitation(email=""), ValidationError),
        (Invitation(email=EMAIL, username="a b"), ValidationError),
        (Invitation(email=EMAIL, permissions=("publish",)), ValueError),
    ],
    ids=["no address", "empty", "username", "permission"],
)
def test_what_breaks_a_rule_is_not_invited(invitation, error, ask):
    with pytest.raises(error):
        ask(invitation)
    assert Mail.select().count() == 0


def test_an_invited_address_that_got_an_account_meanwhile_gets_nothing(ask, outbox, post, settings):
    ask(INVITED)
    create_user("Other", EMAIL, PASSWORD, settings=settings)
    outbox.deliver()
    assert post.messages == []
    assert Mail.select().count() == 0


@pytest.mark.parametrize("is_active", [True, False])
def test_a_requested_one_gets_a_new_password_if_it_is_active(is_active, outbox, settings):
    request_invitation(outbox, USERNAME, EMAIL.upper(), mount="/auth")
    ada = create_user("Other", EMAIL, PASSWORD, settings=settings)
    update_user(ada, is_active=is_active)
    addressed = compose(Mail.get(), with_mail(settings), time.time())
    if is_active:
        assert (addressed.address, addressed.user_id) == (EMAIL, ada.id)
        assert "/reset?" in addressed.letter.link
    else:
        assert addressed is None
    assert OneTimeSecret.select().where(OneTimeSecret.purpose == INVITATION).count() == 0


def test_a_group_that_is_deleted_is_not_invited_to(ask):
    editors = Group.objects.create(name="Editors")
    groups = (InvitedGroup.of(editors),)
    editors.delete_instance()
    with pytest.raises(Group.DoesNotExist):
        ask(Invitation(email=EMAIL, groups=groups))
    assert Mail.select().count() == 0


def test_the_outbox_has_no_secret_and_no_account(ask):
    editors = Group.objects.create(name="Editors")
    ask(replace(INVITED, groups=(InvitedGroup.of(editors),)))
    assert json.loads(Mail.get().data) == {
        "email": EMAIL,
        "username": USERNAME,
        "is_staff": False,
        "permissions": [],
        "groups": [[editors.id, "Editors"]],
        "is_requested": False,
        "actor": "code",
        "is_of_staff": False,
        "mount": "/auth",
    }
    assert User.select().count() == 0
