"""Accounts of providers: found by issuer and subject alone, connected, followed into groups."""

import json

import pytest

from tests.conftest import insert_user
from tests.support.identities import ISSUER, account
from wsgiauth import storage
from wsgiauth.accounts import NewAccount, lock_user
from wsgiauth.accounts.groups import Group
from wsgiauth.accounts.models import User
from wsgiauth.exceptions import RequestError, TakenError, UnauthenticatedError
from wsgiauth.features.audit import trail
from wsgiauth.features.providers import identities
from wsgiauth.features.providers.identities import MOST_IDENTITIES, Identity
from wsgiauth.settings.oidc import parse_entries

NOW = 2_000_000_000


def recorded():
    return [(each.event.name, each.event.reason) for each in trail.page()]


@pytest.mark.promise(68)
@pytest.mark.every_database
def test_an_account_of_a_provider_is_its_issuer_and_its_subject_exactly(ada):
    identities.connect(ada, account("Sub-1"), NOW)
    found = identities.find(ISSUER, "Sub-1")
    assert (found.user, found.name, found.created_at) == (ada, "ada@example.com", NOW)
    for issuer, subject in (
        (ISSUER, "sub-1"),
        (ISSUER, "Sub-1 "),
        (ISSUER, "Sub-1\0"),
        (f"{ISSUER}/", "Sub-1"),
        (ISSUER.upper(), "Sub-1"),
        ("https://other.example.com", "Sub-1"),
        (f'{ISSUER}", "Sub', "1"),
    ):
        assert identities.find(issuer, subject) is None


def test_a_connection_is_listed_and_recorded(ada):
    row = identities.connect(ada, account(), NOW)
    [listed] = identities.list_identities(ada)
    assert listed.document() == {
        "id": row.handle,
        "provider": "example",
        "issuer": ISSUER,
        "subject": "s-1",
        "name": "ada@example.com",
        "connected_at": "2033-05-18T03:33:20Z",
        "last_used_at": "2033-05-18T03:33:20Z",
    }
    assert recorded() == [("identity_connected", "example")]


@pytest.mark.every_database
def test_connecting_again_only_records_the_use(ada):
    identities.connect(ada, account(), NOW)
    again = identities.connect(ada, account(name="lovelace@example.com"), NOW + 60)
    assert again == Identity.get()
    [listed] = identities.list_identities(ada)
    assert (listed.name, listed.last_used_at.minute) == ("lovelace@example.com", 34)
    assert recorded() == [("identity_connected", "example")]


@pytest.mark.promise(68)
@pytest.mark.every_database
def test_the_account_of_another_user_is_not_connected(ada, grace):
    identities.connect(ada, account(), NOW)
    with pytest.raises(RequestError) as refused:
        identities.connect(grace, account(), NOW)
    assert (refused.value.status, refused.value.code) == (409, "identity_taken")
    assert identities.find(ISSUER, "s-1").user == ada


def test_a_user_who_has_changed_meanwhile_gets_no_connection(ada):
    for change in ({"is_active": False}, {"security_stamp": User.security_stamp + 1}):
        User.update(change).where(User.id == ada.id).execute()
        with pytest.raises(UnauthenticatedError):
            identities.connect(ada, account(), NOW)
    assert identities.find(ISSUER, "s-1") is None


def test_a_user_has_a_few_accounts_of_providers_at_most(ada):
    for number in range(MOST_IDENTITIES):
        identities.connect(ada, account(f"s-{number}"), NOW)
    identities.connect(ada, account("s-0"), NOW)  # known already
    with pytest.raises(RequestError, match="Disconnect one"):
        identities.connect(ada, account("another"), NOW)


@pytest.mark.promise(73)
@pytest.mark.every_database
def test_a_new_account_has_no_password_and_the_proven_address(settings, database):
    new = NewAccount("ada", "Ada@Example.com", None, settings=settings)
    user = identities.register(new, account(), NOW)
    stored = User.get()
    assert (stored, stored.hashed_password, stored.has_password) == (user, "", False)
    assert stored.email_verified_at is not None
    assert stored.email_verified_by == ISSUER
    assert identities.find(ISSUER, "s-1").user == user


@pytest.mark.promise(68)
def test_another_address_is_not_proven(settings, database):
    for email, is_verified in (("ada@example.com", False), ("other@example.com", True)):
        seen = account(email_verified=is_verified, subject=email)
        new = NewAccount(email.partition("@")[0], email, None, settings=settings)
        user = User.get_by_id(identities.register(new, seen, NOW).id)
        assert (user.email, user.email_verified_at, user.email_verified_by) == (email, None, "")


@pytest.mark.every_database
def test_a_refused_account_leaves_nothing_behind(ada, settings):
    identities.connect(ada, account(), NOW)
    for new, error in (
        (NewAccount("grace", "grace@example.com", None, settings=settings), RequestError),
        (NewAccount("grace", ada.email, None, settings=settings), TakenError),
    ):
        with pytest.raises(error):
            identities.register(new, account(), NOW)
    assert list(User.select()) == [ada]
    assert Identity.select().count() == 1


def test_a_group_that_is_deleted_during_a_login_is_not_joined(ada, monkeypatch):
    row = identities.connect(ada, account(), NOW)
    for name in ("gone", "readers"):
        Group.objects.create(name=name)
    join = User.join

    def joined(user, group):
        if group.name == "gone":
            Group.delete().where(Group.name == "gone").execute()
        return join(user, group)

    monkeypatch.setattr(User, "join", joined)
    identities.record_login(row, account(groups=("gone", "readers")), NOW)
    assert [each.name for each in ada.groups] == ["readers"]


@pytest.mark.promise(72)
@pytest.mark.every_database
def test_logins_follow_the_groups_that_a_claim_names(ada):
    for name in ("Editors", "readers", "Staff only", "by hand"):
        Group.objects.create(name=name)
    ada.join("by hand")
    row = identities.connect(ada, account(groups=("Editors", "readers", "by hand", "none")), NOW)

    def logged_in(*groups):
        identities.record_login(row, account(groups=groups), NOW)
        return [each.name for each in ada.groups]

    assert [each.name for each in ada.groups] == ["by hand", "Editors", "readers"]
    assert logged_in("Editors", "READERS", "by hand") == ["by hand", "Editors"]
    assert logged_in() == ["by hand"]
    assert logged_in("Editors ", "\uff25ditors", "editors") == ["by hand"]
    assert logged_in("Editors") == ["by hand", "Editors"]
    Group.get(name="Editors").delete_instance()
    assert logged_in("readers") == ["by hand", "readers"]
    assert json.loads(Identity.get().joined) == [Group.get(name="readers").id]
    with storage.database.atomic():
        identities.remove(row)
    assert [each.name for each in ada.groups] == ["by hand"]
    user = User.get()
    assert (user.is_staff, user.is_superuser) == (False, False)


def test_a_login_of_an_account_that_was_just_disconnected_records_nothing(ada):
    row = identities.connect(ada, account(), NOW)
    with storage.database.atomic():
        assert identities.remove_all(lock_user(ada.id)) == 1
    identities.record_login(row, account(), NOW)
    assert recorded()[0] == ("identity_disconnected", "example")
    ada.delete_instance()
    identities.record_login(row, account(), NOW)
    assert Identity.select().count() == 0


def connect_once(url, user_id):
    """Connect the account of a provider to a user, in one of eight processes."""
    storage.open_database(url)
    try:
        return identities.connect(User.get_by_id(user_id), account(), NOW).user_id
    except RequestError as error:
        return error.code


@pytest.mark.promise(68)
@pytest.mark.every_database
def test_of_users_who_connect_one_account_at_the_same_time_one_gets_it(settings, ada, in_processes):
    users = [ada] + [insert_user(f"user{n}", f"user{n}@example.org") for n in range(7)]
    results = in_processes(connect_once, settings.DATABASE_URL, [each.id for each in users])
    assert results.count("identity_taken") == 7
    assert identities.find(ISSUER, "s-1").user_id in results


def test_the_title_of_a_provider_is_that_of_its_entry(ada):
    at = "accounts.example.com:8443"
    identities.connect(ada, account(issuer=f"https://{at}"), NOW)
    (listed,) = identities.list_identities(ada)
    here = f"https://i:s@{at}"
    for entries, title in (
        ((), at),
        (("a:https://i:s@other.example.com?title=A",), at),
        ((f"a:{here}?title=A", f"b:{here.replace('i:', 'j:')}?title=B"), "A"),
        ((f"a:{here}?title=A", f"example:{here.replace('i:', 'j:')}?title=Firm"), "Firm"),
    ):
        assert (entries, listed.title(parse_entries(entries))) == (entries, title)
