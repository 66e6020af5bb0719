"""One-time secrets: one use, one purpose, one stamp."""

import time

import pytest

from tests.support.sites import EMAIL, PASSWORD, USERNAME
from wsgiauth import change_password, storage
from wsgiauth.accounts import create_user, delete_user, update_user
from wsgiauth.accounts.models import User
from wsgiauth.accounts.tables import OneTimeSecret, end_secrets
from wsgiauth.authentication import one_time
from wsgiauth.storage.upkeep import purge_expired

NOW = 1_000_000
LIFETIME = 3600

pytestmark = pytest.mark.every_database


def issue(user, purpose="reset", **options):
    return one_time.issue(purpose, user, **{"now": NOW, "lifetime": LIFETIME, **options})


def find(secret, purpose="reset", now=NOW):
    return one_time.find(secret, purpose, now=now)


def redeem(secret, purpose="reset", now=NOW):
    return one_time.redeem(secret, purpose, now=now)


@pytest.mark.promise(33)
def test_a_secret_is_found_any_number_of_times_and_redeemed_once(ada):
    secret = issue(ada, data='{"a": 1}')
    assert [find(secret).user.username for _ in range(3)] == [USERNAME] * 3
    assert redeem(secret).data == '{"a": 1}'
    assert redeem(secret) is None
    assert find(secret) is None


@pytest.mark.promise(35)
def test_a_secret_and_its_user_are_read_at_one_moment(ada, queries):
    secret = issue(ada)
    assert len(queries(lambda: find(secret).user.security_stamp)) == 1


@pytest.mark.promise(35)
def test_using_a_secret_ends_the_others_of_its_user_and_purpose(ada, settings):
    grace = create_user("Grace", "grace@example.org", PASSWORD, settings=settings)
    first, second, other, hers = issue(ada), issue(ada), issue(ada, "email"), issue(grace)
    assert redeem(second)
    assert redeem(first) is None
    assert redeem(other, "email")
    assert redeem(hers)


@pytest.mark.promise(35)
def test_a_secret_of_one_purpose_opens_no_other(ada):
    secret = issue(ada)
    assert find(secret, "email") is None
    assert redeem(secret, "email") is None
    assert redeem(secret)


@pytest.mark.promise(35)
def test_a_secret_ends_with_its_time(ada):
    secret = issue(ada)
    assert find(secret, now=NOW + LIFETIME - 1)
    assert redeem(secret, now=NOW + LIFETIME) is None


ENDS = {
    "password": lambda user, settings: change_password(user, "other birds sing", settings=settings),
    "deactivation": lambda user, settings: update_user(user, is_active=False),
    "reactivation": lambda user, settings: [
        update_user(user, is_active=value) for value in (False, True)
    ],
    "deletion": lambda user, settings: delete_user(user),
}


@pytest.mark.promise(35)
@pytest.mark.parametrize("end", ENDS.values(), ids=ENDS)
def test_a_secret_ends_with_a_change_of_its_user(end, ada, settings):
    secret = issue(ada)
    end(ada, settings)
    assert find(secret) is None
    assert redeem(secret) is None


@pytest.mark.promise(35)
def test_a_secret_for_a_user_read_before_a_change_is_not_valid_after_it(ada, settings):
    stale = User.get_by_id(ada.id)
    change_password(ada, "other birds sing", settings=settings)
    assert find(issue(stale)) is None


def test_a_secret_can_be_for_no_user(database):
    first, second = issue(None, "invitation", data="{}"), issue(None, "invitation")
    assert redeem(first, "invitation").data == "{}"
    assert redeem(second, "invitation")


def test_what_was_never_issued_is_not_found(database):
    for secret in ["", "x", "x" * 10_000, "\ud800", "\0", "ä"]:
        assert find(secret) is None


@pytest.mark.promise(54)
def test_the_table_has_no_secret(ada):
    secret = issue(ada)
    (row,) = OneTimeSecret.select().dicts()
    assert secret not in str(row)
    assert find(row["id"]) is None
    assert len(secret) >= 43  # 256 bits, six in a character


def test_redeeming_is_undone_with_its_transaction(ada):
    secret = issue(ada)
    with storage.current().atomic() as transaction:
        assert redeem(secret)
        transaction.rollback()
    assert redeem(secret)


def test_expired_secrets_are_deleted(ada):
    secret = issue(ada)
    issue(None, now=NOW + LIFETIME)
    assert find(secret, now=NOW) is None  # issuing deletes a few
    assert purge_expired(OneTimeSecret, NOW + 3 * LIFETIME) == 1


def redeem_once(url):
    storage.open_database(url)
    return redeem("s" * 43) is not None


@pytest.mark.promise(33)
def test_of_eight_processes_that_redeem_a_secret_one_does(
    ada,
    settings,
    monkeypatch,
    in_processes,
):
    monkeypatch.setattr("secrets.token_urlsafe", lambda _: "s" * 43)
    issue(ada)
    redeemed = in_processes(redeem_once, settings.DATABASE_URL)
    assert sorted(redeemed) == [False] * 7 + [True]


@pytest.mark.every_database
def test_the_secrets_for_some_purposes_end_and_others_stay(ada):
    kept, ended = (
        one_time.issue(purpose, ada, now=time.time(), lifetime=60) for purpose in ("a", "b")
    )
    end_secrets(ada.id, "b", "c")
    assert one_time.find(kept, "a", now=time.time()) is not None
    assert one_time.find(ended, "b", now=time.time()) is None


def test_the_secrets_about_one_address_end_for_one_purpose(database):
    ended = [issue(None, "invitation", subject=EMAIL) for _ in range(2)]
    others = {
        "address": issue(None, "address", subject=EMAIL),
        "invitation": issue(None, "invitation", subject="grace@example.org"),
    }
    for _ in range(2):  # the second time, there are none
        one_time.end_about(EMAIL, "invitation")
    assert [find(secret, "invitation") for secret in ended] == [None, None]
    assert all(find(secret, purpose) for purpose, secret in others.items())
    assert EMAIL not in str([row.__data__ for row in OneTimeSecret.select()])
