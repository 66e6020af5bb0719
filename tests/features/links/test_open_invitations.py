"""Open invitations: which are listed, and what their end ends."""

import json

import pytest

from tests.support.declared import COMPOSERS
from tests.support.mails import Clock, Post, with_mail
from tests.support.sites import EMAIL
from wsgiauth.accounts.groups import Group
from wsgiauth.accounts.tables import INVITATION, OneTimeSecret
from wsgiauth.authentication import one_time
from wsgiauth.events import actors
from wsgiauth.events.models import RecordedEvent
from wsgiauth.features.links import letters
from wsgiauth.features.links.invitations import HOURS, Invitation, InvitedGroup
from wsgiauth.features.links.letters import issue_invitation, request_invitation
from wsgiauth.features.links.open_invitations import (
    OpenInvitation,
    count_invitations,
    end_invitations,
    find_invitations,
    open_invitations,
)
from wsgiauth.mail.outbox import Mail, Outbox
from wsgiauth.storage.models import from_timestamp

pytestmark = [pytest.mark.every_database, pytest.mark.usefixtures("database")]

JOAN = "joan@example.org"


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
def invite(settings, outbox, clock):
    """Return a function that invites an address, and sends the email unless told otherwise."""

    def invite(email, *, is_sent=True, **changes):
        invitation = Invitation(email=email, **changes)
        issue_invitation(invitation, outbox, with_mail(settings), mount="/auth", now=clock())
        if is_sent:
            outbox.deliver()

    return invite


def emails(now, limit=None):
    return [each.email for each in open_invitations(now, limit)]


def works(post, clock):
    secret = post.links[-1].partition("?token=")[2]
    return one_time.find(secret, INVITATION, now=clock()) is not None


def test_an_invitation_has_the_values_of_its_link(invite, clock):
    group = InvitedGroup.of(Group.objects.create(name="Editors"))
    with actors.acting("user 7"):
        invite(EMAIL, username="ada", is_staff=True, permissions=("a.b",), groups=(group,))
    until = from_timestamp(int(clock()) + HOURS * 3600)
    expected = OpenInvitation(EMAIL, "ada", True, ("a.b",), ("Editors",), "user 7", until)
    assert open_invitations(clock()) == find_invitations(EMAIL.upper(), clock()) == [expected]
    assert expected.gives_rights


def test_an_email_that_waits_has_no_end(invite, clock):
    invite(EMAIL, is_sent=False)
    (listed,) = open_invitations(clock())
    assert (listed.until, listed.gives_rights) == (None, False)
    assert find_invitations(EMAIL, clock()) == [listed]


def test_the_newest_come_first_and_each_address_once(invite, clock):
    for email in (EMAIL, JOAN):
        invite(email)
        clock.now += 60
    invite("una@example.org", is_sent=False)
    invite(EMAIL.upper(), is_sent=False)
    assert sorted(emails(clock())[:2]) == [EMAIL.upper(), "una@example.org"]
    assert emails(clock())[2:] == [JOAN]
    assert len(emails(clock(), 2)) == 2


def test_expired_and_requested_links_are_no_open_invitations(invite, outbox, clock):
    invite(EMAIL)
    request_invitation(outbox, "joan", JOAN, mount="/auth")
    assert emails(clock()) == [EMAIL]
    outbox.deliver()
    assert (emails(clock()), find_invitations(JOAN, clock())) == ([EMAIL], [])
    assert emails(clock() + HOURS * 3600) == find_invitations(EMAIL, clock() + HOURS * 3600) == []


def test_a_name_cannot_make_a_link_an_invitation(outbox, clock):
    request_invitation(outbox, '"is_requested": false', JOAN, mount="/auth")
    outbox.deliver()
    assert open_invitations(clock()) == []


def test_the_end_ends_links_and_emails_of_the_address_alone(invite, post, clock):
    invite(EMAIL)
    assert works(post, clock)
    invite(JOAN)
    invite(EMAIL.upper(), is_sent=False)
    end_invitations(EMAIL)
    assert emails(clock()) == [JOAN]
    assert Mail.select().count() == 0
    assert works(post, clock)
    event = RecordedEvent.get(RecordedEvent.name == "invitation_ended")
    assert (event.user_id, event.reason) == (None, None)


def test_the_end_leaves_a_link_that_the_person_asked_for(invite, outbox, post, clock):
    invite(EMAIL)
    request_invitation(outbox, "ada", EMAIL, mount="/auth")
    outbox.deliver()
    end_invitations(EMAIL)
    assert works(post, clock)
    (row,) = OneTimeSecret.select()
    assert json.loads(row.data)["is_requested"]


def test_an_email_that_is_revoked_while_it_is_sent_gets_no_link(invite, outbox, post, monkeypatch):
    find_user = letters.find_user

    def revoke(email):
        end_invitations(email)
        return find_user(email)

    monkeypatch.setattr(letters, "find_user", revoke)
    invite(EMAIL)
    assert (post.recipients, OneTimeSecret.select().count()) == ([], 0)


def test_sent_and_waiting_invitations_are_counted_until_they_expire(invite, clock):
    assert count_invitations(clock()) == 0
    invite(JOAN)
    invite("eve@example.org", is_requested=True)
    invite("lin@example.org", is_sent=False)
    assert count_invitations(clock()) == 2
    clock.move(HOURS * 3600)
    assert count_invitations(clock()) == 1
