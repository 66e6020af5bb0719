"""Links to choose a new password: for whom they work, and when they end."""

import time

import pytest

from tests.support.mails import with_mail
from tests.support.sites import EMAIL, PASSWORD
from wsgiauth import change_password
from wsgiauth.accounts import delete_user, update_user
from wsgiauth.accounts.models import User
from wsgiauth.authentication import authenticate
from wsgiauth.authentication.password import find_holder, make_reset_link, reset_password
from wsgiauth.feature import at_first_proof_of
from wsgiauth.features.registry import FEATURES

NEW_PASSWORD = "other unrelated birds"
NOW = time.time()


@pytest.fixture
def token(ada, settings):
    link = make_reset_link(ada, with_mail(settings), mount="/auth", now=NOW)
    return link.removeprefix("https://example.org/auth/reset?token=")


def reset(user, token, settings):
    return reset_password(
        user,
        token,
        NEW_PASSWORD,
        settings=settings,
        now=NOW,
        at_first_proof=at_first_proof_of(FEATURES),
    )


@pytest.mark.every_database
@pytest.mark.promise(33)
def test_a_secret_sets_a_password_once_and_proves_the_address(token, ada, settings):
    user = find_holder(token, now=NOW)
    assert user == ada
    assert [reset(user, token, settings) for _ in range(2)] == [True, False]
    assert find_holder(token, now=NOW) is None
    assert authenticate(EMAIL, NEW_PASSWORD, rounds=settings.BCRYPT_ROUNDS) == ada
    assert User.get().email_verified_at is not None


ENDS = {
    "password": lambda ada, settings: change_password(ada, PASSWORD[::-1], settings=settings),
    "deactivation": lambda ada, settings: update_user(ada, is_active=False),
    "new address": lambda ada, settings: update_user(ada, email="third@example.org"),
    "deletion": lambda ada, settings: delete_user(ada),
    "bulk query": lambda ada, _: User.update(email="third@example.org").execute(),
}


@pytest.mark.parametrize("end", ENDS.values(), ids=ENDS)
@pytest.mark.promise(35)
def test_a_change_of_the_user_while_the_password_is_hashed_wins(end, token, ada, settings):
    user = find_holder(token, now=NOW)
    end(ada, settings)
    assert find_holder(token, now=NOW) is None
    assert not reset(user, token, settings)
