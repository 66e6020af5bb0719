"""Invitations: who can be invited, and what their links create."""

import time
from dataclasses import replace

import pytest

from tests.support.mails import with_mail
from tests.support.sites import EMAIL, PASSWORD, USERNAME, echo
from wsgiauth import AuthMiddleware
from wsgiauth.accounts import NewAccount, create_user
from wsgiauth.accounts.groups import Group
from wsgiauth.accounts.tables import INVITATION, OneTimeSecret
from wsgiauth.authentication import one_time
from wsgiauth.exceptions import TakenError, ValidationError
from wsgiauth.features.links.invitations import (
    Invitation,
    InvitedGroup,
    accept_invitation,
    check_invitation,
    make_invitation_link,
    read_invitation,
)

INVITED = Invitation(email=EMAIL, username=USERNAME)
NOW = time.time()

pytestmark = pytest.mark.usefixtures("database")


@pytest.fixture
def secret_of(settings):
    """Return a function that makes a link, and returns the row of its secret."""

    def secret_of(invitation):
        link = make_invitation_link(invitation, with_mail(settings), mount="/auth", now=NOW)
        secret = link.removeprefix("https://example.org/auth/verify?token=")
        return one_time.find(secret, INVITATION, now=NOW)

    return secret_of


@pytest.mark.every_database
@pytest.mark.promise(37)
def test_a_link_creates_the_account_as_invited_once(secret_of, settings):
    editors = Group.objects.create(name="Editors")
    invitation = Invitation(
        email=EMAIL,
        username=USERNAME,
        is_staff=True,
        permissions=("reports.publish",),
        groups=(InvitedGroup.of(editors),),
    )
    assert invitation.gives_rights
    secret = secret_of(invitation)
    assert read_invitation(secret) == invitation
    accounts = [
        NewAccount(name, f"{name}@example.org", PASSWORD, settings=settings)
        for name in ("ada", "eve")
    ]
    user, none = (
        accept_invitation(invitation, secret, account, account.hash_password())
        for account in accounts
    )
    assert (user.is_staff, user.permissions) == (True, {"reports.publish"})
    assert [each.name for each in user.groups] == ["Editors"]
    assert user.email_verified_at is not None
    assert user.email_verified_by == "link"
    assert none is None


def test_an_invitation_by_an_operator_ends_the_earlier_ones(secret_of, settings):
    first, requested, second = (
        secret_of(each)
        for each in (INVITED, Invitation(email=EMAIL.upper(), is_requested=True), INVITED)
    )
    left = [row.id for row in OneTimeSecret.select()]
    assert left == [second.id]
    assert first.subject == requested.subject == second.subject


def test_taken_names_are_not_invited(settings):
    for taken, name in {"email": EMAIL, "username": USERNAME}.items():
        other = {"email": f"not-{taken}@example.org", "username": f"not-{taken}"}
        other[taken] = name.upper()
        user = create_user(**other, password=PASSWORD, settings=settings)
        with pytest.raises(TakenError) as caught:
            check_invitation(INVITED)
        assert caught.value.errors.keys() == {taken}
        user.delete_instance()


def test_what_breaks_a_rule_is_not_invited():
    for invitation, error in (
        (Invitation(email="ada"), ValidationError),
        (Invitation(email=""), ValidationError),
        (Invitation(email=EMAIL, username="a b"), ValidationError),
        (Invitation(email=EMAIL, username="uabcdefgh2345672"), ValidationError),  # reserved
        (Invitation(email=EMAIL, permissions=("publish",)), ValueError),
    ):
        with pytest.raises(error):
            check_invitation(invitation)


def test_without_usernames_code_invites_to_none(settings):
    site = AuthMiddleware(echo, replace(with_mail(settings), MAIL_URL=None, USERNAMES=False))
    with pytest.raises(ValueError, match="USERNAMES is off"):
        site.invite(EMAIL, username=USERNAME)
    assert site.invite(EMAIL).startswith("https://example.org/auth/verify?token=")


def test_a_group_that_is_deleted_is_not_invited_to():
    editors = Group.objects.create(name="Editors")
    groups = (InvitedGroup.of(editors),)
    editors.delete_instance()
    with pytest.raises(Group.DoesNotExist):
        check_invitation(Invitation(email=EMAIL, groups=groups))


def test_an_invitation_has_the_present_name_of_a_group():
    editors = Group.objects.create(name="Editors")
    invitation = Invitation(email=EMAIL, groups=(InvitedGroup(editors.id, "Writers"),))
    assert check_invitation(invitation).groups == (InvitedGroup(editors.id, "Editors"),)
