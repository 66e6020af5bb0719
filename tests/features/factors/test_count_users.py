"""How many users have a second factor."""

import pytest

from tests.conftest import HASH_OF_PASSWORD, insert_rows, read_user
from wsgiauth.features.factors.factors import count_users
from wsgiauth.features.factors.passkeys import Passkey, PasskeyAccount
from wsgiauth.features.factors.totp import Totp

pytestmark = [pytest.mark.every_database, pytest.mark.usefixtures("database")]


@pytest.fixture
def user():
    """Return a function that makes a user with factors."""

    def make(name, *, has_password=True, apps=0, unconfirmed=0, passkeys=0, registered=False):
        hashed = HASH_OF_PASSWORD if has_password else ""
        insert_rows([{"username": name, "email": f"{name}@x.org", "hashed_password": hashed}])
        user = read_user(name)
        for number in range(apps + unconfirmed):
            confirmed_at = 1 if number < apps else 0
            app = {"name": "a", "salt": "0", "created_at": 1, "confirmed_at": confirmed_at}
            Totp.insert(id=f"{name}{number}", user=user.id, **app).execute()
        for number in range(passkeys):
            texts = dict.fromkeys(("credential_id", "public_key", "user_handle"), "x")
            of_site = {"name": "k", "relying_party": "x.org", "sign_count": 0, "created_at": 1}
            Passkey.insert(id=f"{name}{number}", user=user.id, **texts, **of_site).execute()
        if registered:
            PasskeyAccount.insert(user=user.id, registered_at=1).execute()

    return make


@pytest.mark.parametrize(
    ("factors", "expected"),
    [
        ({}, 0),
        ({"unconfirmed": 1}, 0),
        ({"apps": 1}, 1),
        ({"apps": 2, "passkeys": 2}, 1),
        ({"passkeys": 1}, 1),
        ({"passkeys": 1, "has_password": False}, 1),
        ({"passkeys": 2, "has_password": False, "registered": True}, 0),
        ({"passkeys": 1, "has_password": True, "registered": True}, 1),
        ({"passkeys": 1, "has_password": False, "registered": True, "apps": 1}, 1),
    ],
)
def test_a_user_counts_once_with_any_second_factor(user, factors, expected):
    user("other", apps=1)
    user("ada", **factors)
    assert count_users() == expected + 1
