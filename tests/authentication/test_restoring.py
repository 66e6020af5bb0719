"""Former addresses: which of them get a link, what it restores, and what ends it."""

import time
from datetime import UTC, datetime, timedelta

import pytest

from tests.support.keys import make_key
from tests.support.mails import with_mail
from tests.support.sites import EMAIL, PASSWORD
from wsgiauth import User, change_password, events
from wsgiauth.accounts import create_user, delete_user, update_user
from wsgiauth.accounts.models import PROVEN_BY_LINK
from wsgiauth.accounts.tables import Key, OneTimeSecret, TrustedBrowser
from wsgiauth.authentication import authenticate, pending, sessions
from wsgiauth.authentication.password import find_holder, make_reset_link
from wsgiauth.authentication.restoring import (
    HOURS,
    FormerAddress,
    end_restore_links,
    find_restoration,
    former_address,
    make_restore_link,
    mark_change,
    restore_address,
)
from wsgiauth.exceptions import TakenError

NEW_EMAIL = "thief@example.net"
NOW = datetime(2026, 11, 21, 9, 30, tzinfo=UTC)
DAYS_AGO = datetime.now(UTC).replace(microsecond=0) - timedelta(days=30)
FORMER = FormerAddress(EMAIL, DAYS_AGO.isoformat(), PROVEN_BY_LINK)


def secret_of(link):
    return link.partition("?token=")[2]


def restore_secret(user, settings, *, former=FORMER, lifetime=HOURS * 3600):
    """Return the secret of a link that restores an address of a user."""
    now = time.time()
    mark = mark_change(user.id, int(now) + lifetime)
    link = make_restore_link(user.id, former, mark, with_mail(settings), mount="/auth", now=now)
    assert link.startswith("https://example.org/auth/restore?token=")
    return secret_of(link)


def find(secret, now=None):
    return find_restoration(secret, now=time.time() if now is None else now)


def proof_of(user):
    stored = User.get_by_id(user.id)
    return stored.email, stored.email_verified_at, stored.email_verified_by


@pytest.fixture
def stolen(ada):
    """Return Ada, whose address a thief has changed to a proven one."""
    update_user(ada, email=NEW_EMAIL, email_verified_at=datetime.now(UTC))
    return ada


@pytest.fixture
def secret(stolen, settings):
    return restore_secret(stolen, settings)


# Which addresses get a link


@pytest.mark.promise(87)
def test_only_an_address_that_was_proven_for_72_hours_gets_a_link():
    for case, (age, is_restored) in {
        "72 hours": (timedelta(hours=HOURS), True),
        "a year": (timedelta(days=400), True),
        "a second less than 72 hours": (timedelta(hours=HOURS) - timedelta(seconds=1), False),
        "just now": (timedelta(), False),
    }.items():
        proven = (NOW - age).isoformat()
        details = {"old_email": EMAIL, "verified_at": proven, "verified_by": "link"}
        former = FormerAddress(EMAIL, proven, "link") if is_restored else None
        assert former_address(details, NOW) == former, case


@pytest.mark.promise(87)
def test_an_address_that_was_never_proven_gets_no_link():
    details = {"old_email": EMAIL, "verified_at": "", "verified_by": ""}
    assert former_address(details, NOW) is None


@pytest.mark.every_database
def test_a_change_reports_how_the_former_address_was_proven(ada):
    update_user(ada, email_verified_at=DAYS_AGO, email_verified_by=PROVEN_BY_LINK)
    noted = []
    events.record(ada.database, [lambda event, details: noted.append(details)])
    update_user(ada, email=NEW_EMAIL)
    assert former_address(noted[0], datetime.now(UTC)) == FORMER


# What the link restores


@pytest.mark.every_database
@pytest.mark.promise(87)
def test_the_address_is_restored_with_the_proof_that_it_had(stolen, secret):
    assert restore_address(find(secret))
    assert proof_of(stolen) == (EMAIL, DAYS_AGO, PROVEN_BY_LINK)


@pytest.mark.every_database
@pytest.mark.promise(87)
def test_sessions_keys_links_and_incomplete_logins_end(stolen, secret, settings, tokens):
    sessions.start(stolen, tokens, methods="pwd")
    make_key(stolen)
    TrustedBrowser.insert(
        id="x",
        user=stolen.id,
        digest="x",
        stamp=0,
        factors="",
        created_at=0,
        expires_at=2**31,
        address="",
        agent="",
    ).execute()
    reset = secret_of(make_reset_link(stolen, settings, mount="/auth", now=time.time()))
    waiting = pending.start(stolen, destination="/", remember=False, now=time.time())
    assert find_holder(reset, now=time.time()) == stolen
    assert restore_address(find(secret))
    assert stolen.sessions.count() == Key.select().count() == TrustedBrowser.select().count() == 0
    assert find_holder(reset, now=time.time()) is None
    assert pending.find(waiting, time.time()) is None


@pytest.mark.every_database
@pytest.mark.promise(87)
def test_a_link_restores_once_and_a_new_one_ends_the_former(stolen, secret, settings):
    other = restore_secret(stolen, settings)
    assert find(secret) is None
    found, later = find(other), find(other)
    assert restore_address(found)
    update_user(stolen, email=NEW_EMAIL)
    assert not restore_address(later)
    assert find(other) is None
    assert User.get_by_id(stolen.id).email == NEW_EMAIL


@pytest.mark.promise(87)
@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda user: end_restore_links(user.id), id="all links have ended"),
        pytest.param(lambda user: update_user(user, is_active=False), id="deactivated"),
        pytest.param(lambda user: user.delete_instance(), id="deleted"),
    ],
)
def test_an_email_that_is_late_has_no_link_after(change, stolen, settings):
    now = time.time()
    mark = mark_change(stolen.id, int(now) + 60)
    change(stolen)
    made = (stolen.id, FORMER, mark, with_mail(settings))
    assert make_restore_link(*made, mount="/auth", now=now) is None


@pytest.mark.promise(87)
def test_a_deactivation_ends_the_link_for_good(stolen, secret):
    update_user(stolen, is_active=False)
    update_user(stolen, is_active=True)
    assert find(secret) is None


@pytest.mark.every_database
def test_the_trail_has_each_consequence(stolen, secret, tokens):
    sessions.start(stolen, tokens, methods="pwd")
    make_key(stolen)
    noted = []
    events.subscribe(stolen.database, [noted.append])
    assert restore_address(find(secret))
    assert [(each.name, each.reason) for each in noted] == [
        ("logout", "all sessions"),
        ("key_ended", "all keys"),
        ("names_changed", "email"),
        ("address_restored", None),
    ]


@pytest.mark.every_database
@pytest.mark.promise(87)
def test_the_password_stays(stolen, secret):
    assert restore_address(find(secret))
    assert authenticate(EMAIL, PASSWORD, rounds=4) == stolen


# What a thief can do against it


@pytest.mark.every_database
@pytest.mark.promise(87)
def test_a_thief_who_changes_the_address_and_the_password_again_ends_no_link(
    stolen, secret, settings
):
    update_user(stolen, email="again@example.net", email_verified_at=datetime.now(UTC))
    change_password(stolen, "some words of the thief", settings=settings)
    assert restore_address(find(secret))
    assert proof_of(stolen)[0] == EMAIL


@pytest.mark.every_database
@pytest.mark.promise(87)
def test_the_address_that_is_replaced_gets_no_link(stolen, secret):
    User.update(email_verified_at=DAYS_AGO).where(User.id == stolen.id).execute()
    noted = []
    events.record(stolen.database, [lambda event, details: noted.append((event, details))])
    assert restore_address(find(secret))
    (details,) = (each for event, each in noted if event.name == "names_changed")
    assert details["old_email"] == details["unproven"] == NEW_EMAIL
    assert former_address(details, datetime.now(UTC)) is None


@pytest.mark.every_database
@pytest.mark.promise(87)
def test_a_second_theft_after_the_restoration_can_be_undone_at_once(stolen, secret):
    assert restore_address(find(secret))
    noted = []
    events.record(stolen.database, [lambda event, details: noted.append(details)])
    update_user(User.get_by_id(stolen.id), email=NEW_EMAIL, email_verified_at=datetime.now(UTC))
    assert former_address(noted[0], datetime.now(UTC)) == FORMER


@pytest.mark.every_database
@pytest.mark.promise(87)
def test_nothing_is_lost_if_another_account_has_the_address(stolen, secret, settings, tokens):
    stranger = create_user("stranger", EMAIL, PASSWORD, settings=settings)
    sessions.start(stolen, tokens, methods="pwd")
    with pytest.raises(TakenError):
        restore_address(find(secret))
    assert proof_of(stolen)[0] == NEW_EMAIL
    assert stolen.sessions.count() == 1
    update_user(stranger, email="stranger@example.net")
    assert restore_address(find(secret))
    assert proof_of(stolen)[0] == EMAIL


# What ends it


@pytest.mark.promise(87)
def test_the_link_works_until_its_end(stolen, settings):
    secret = restore_secret(stolen, settings, lifetime=100)
    end = OneTimeSecret.get(OneTimeSecret.purpose == "restore").expires_at
    assert find(secret, end - 1) is not None
    assert find(secret, end) is None


ENDS = {
    "a deletion": delete_user,
    "a deactivation": lambda user: update_user(user, is_active=False),
    "the address itself": lambda user: update_user(user, email=EMAIL),
    "an operator": lambda user: end_restore_links(user.id),
}


@pytest.mark.every_database
@pytest.mark.parametrize("end", ENDS.values(), ids=ENDS)
def test_the_link_ends_with(stolen, secret, end):
    end(stolen)
    assert find(secret) is None


@pytest.mark.every_database
@pytest.mark.parametrize(
    "end",
    [each for name, each in ENDS.items() if name != "an operator"],
    ids=[each for each in ENDS if each != "an operator"],
)
def test_a_link_that_was_found_before_restores_nothing_after(stolen, secret, end):
    found = find(secret)
    end(stolen)
    before = [proof_of(each) for each in User.select()]
    assert not restore_address(found)
    assert [proof_of(each) for each in User.select()] == before


@pytest.mark.parametrize("secret", ["", "x", "x" * 101], ids=["none", "unknown", "too long"])
def test_another_secret_restores_nothing(stolen, secret):
    assert find(secret) is None


def test_the_secret_of_a_link_for_a_password_restores_nothing(stolen, settings):
    link = make_reset_link(stolen, settings, mount="/auth", now=time.time())
    assert find(secret_of(link)) is None
