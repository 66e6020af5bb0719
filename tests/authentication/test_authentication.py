"""Who is it that knows this password?"""

from unicodedata import normalize

import bcrypt
import pytest

from tests.support.logins import find_session
from tests.support.sites import EMAIL, PASSWORD, USERNAME
from wsgiauth import change_password, hash_password, verify_password
from wsgiauth.accounts import create_user
from wsgiauth.accounts.models import User
from wsgiauth.authentication import authenticate, sessions

every_database = pytest.mark.every_database
ROUNDS = 4


@pytest.fixture
def spent(monkeypatch):
    """Return the costs of the bcrypt computations so far."""
    costs = []

    def counted(compute):
        def count_and_compute(password, salt):
            costs.append(int(salt[4:6]))
            return compute(password, salt)

        return count_and_compute

    monkeypatch.setattr(bcrypt, "checkpw", counted(bcrypt.checkpw))
    monkeypatch.setattr(bcrypt, "hashpw", counted(bcrypt.hashpw))
    return costs


@pytest.fixture
def meanwhile(monkeypatch):
    """Return a function that makes something happen once, while a password is verified."""

    def arrange(action):
        checkpw = bcrypt.checkpw

        def act_and_check(password, hashed_password):
            monkeypatch.setattr(bcrypt, "checkpw", checkpw)
            action()
            return checkpw(password, hashed_password)

        monkeypatch.setattr(bcrypt, "checkpw", act_and_check)

    return arrange


def stored_hash():
    return User.select(User.hashed_password).tuples().get()[0]


def store_hash(database, text):
    database.execute_sql(f"UPDATE wsgiauth_user SET hashed_password = '{text}'")  # noqa: S608


@every_database
def test_the_right_password_is_known_by_its_user(ada):
    for identifier in ["Ada", "aDA", EMAIL, "Ada@Example.ORG"]:
        assert authenticate(identifier, PASSWORD, rounds=ROUNDS) == ada


# Failures


@pytest.mark.promise(9)
def test_a_failure_costs_one_bcrypt(ada, spent):
    for case, (identifier, password) in {
        "unknown username": ("Nobody", PASSWORD),
        "unknown e-mail": ("nobody@example.org", PASSWORD),
        "no username": ("", PASSWORD),
        "impossible username": ("Ada\0", PASSWORD),
        "wrong password": ("Ada", "another password"),
        "no password": ("Ada", ""),
        "73 bytes": ("Ada", "x" * 73),
        "100,000 bytes": ("Ada", "x" * 100_000),
        "NUL": ("Ada", f"{PASSWORD}\0"),
        "surrogate": ("Ada", f"{PASSWORD}\ud800"),
    }.items():
        spent.clear()
        assert authenticate(identifier, password, rounds=ROUNDS) is None, case
        assert spent == [ROUNDS], case


@pytest.mark.promise(9)
def test_an_inactive_user_costs_one_bcrypt(ada, spent):
    for case, password in {
        "right password": PASSWORD,
        "wrong password": "another password",
    }.items():
        ada.is_active = False
        ada.save()
        spent.clear()
        assert authenticate(USERNAME, password, rounds=ROUNDS) is None, case
        assert spent == [ROUNDS], case


@pytest.mark.promise(9)
def test_a_corrupt_hash_costs_one_bcrypt(ada, database, spent):
    for case, corrupt in {
        "empty": "",
        "the password itself": PASSWORD,
        "impossible cost": f"$2b$99${'a' * 21}e{'a' * 31}",
        "impossible salt": f"$2b$04${'a' * 53}",
        "cut short": f"$2b$04${'a' * 20}",
        "unknown version": f"$2x$04${'a' * 21}e{'a' * 31}",
    }.items():
        store_hash(database, corrupt)
        spent.clear()
        assert authenticate(USERNAME, PASSWORD, rounds=ROUNDS) is None, case
        assert spent == [ROUNDS], case


@every_database
@pytest.mark.promise(9)
def test_a_success_costs_one_bcrypt(ada, spent):
    authenticate(USERNAME, PASSWORD, rounds=ROUNDS)
    assert spent == [ROUNDS]


@pytest.mark.promise(9)
def test_a_password_of_72_bytes_is_told_from_a_longer_one(database, settings):
    longest = f"{PASSWORD:x<72}"
    user = create_user(USERNAME, EMAIL, longest, settings=settings)
    assert authenticate(USERNAME, longest, rounds=ROUNDS) == user
    assert authenticate(USERNAME, longest + "x", rounds=ROUNDS) is None


# Passwords whose letters are composed in another way

COMPOSED, DECOMPOSED = (normalize(form, "café à la carte") for form in ("NFC", "NFD"))


@every_database
@pytest.mark.promise(6)
def test_a_hash_of_a_password_as_it_was_typed_is_replaced_at_its_login(ada, database, tokens):
    store_hash(database, bcrypt.hashpw(DECOMPOSED.encode(), bcrypt.gensalt(ROUNDS)).decode())
    token = sessions.start(ada, tokens).token
    assert authenticate(USERNAME, COMPOSED, rounds=ROUNDS) is None
    assert authenticate(USERNAME, DECOMPOSED, rounds=ROUNDS) == ada
    assert authenticate(USERNAME, COMPOSED, rounds=ROUNDS) == ada
    kept = stored_hash()
    assert authenticate(USERNAME, DECOMPOSED, rounds=ROUNDS) == ada
    assert stored_hash() == kept
    assert find_session(token, tokens)[0] == ada


def test_a_hash_of_a_password_whose_normal_form_is_too_long_is_kept(ada, database):
    longest = "\N{DEVANAGARI LETTER QA}" * 24  # 72 bytes, and 144 in NFC
    store_hash(database, bcrypt.hashpw(longest.encode(), bcrypt.gensalt(ROUNDS)).decode())
    kept = stored_hash()
    for rounds in (ROUNDS, 5):
        assert authenticate(USERNAME, longest, rounds=rounds) == ada
        assert stored_hash() == kept


@pytest.mark.promise(9)
def test_a_failure_with_letters_in_parts_costs_two(ada, settings, spent):
    change_password(ada, COMPOSED, settings=settings)
    for case, (identifier, password, is_active) in {
        "unknown username": ("Nobody", DECOMPOSED, True),
        "wrong password": ("Ada", f"{DECOMPOSED}!", True),
        "NUL": ("Ada", f"{DECOMPOSED}\0", True),
        "too long as typed": ("Ada", DECOMPOSED * 5, True),
        "right password, inactive": ("Ada", DECOMPOSED, False),
    }.items():
        User.update(is_active=is_active).execute()
        spent.clear()
        assert authenticate(identifier, password, rounds=ROUNDS) is None, case
        assert spent == [ROUNDS] * 2, case


# Rehashing


@every_database
@pytest.mark.promise(8)
@pytest.mark.promise(9)
@pytest.mark.parametrize("cost", [4, 6], ids=["lower", "higher"])
def test_a_login_replaces_a_hash_of_another_cost(ada, database, spent, cost):
    store_hash(database, hash_password(PASSWORD, rounds=cost))
    assert authenticate(USERNAME, PASSWORD, rounds=5) == ada
    assert stored_hash().startswith("$2b$05$")
    assert verify_password(PASSWORD, stored_hash())
    spent.clear()
    for name in (USERNAME, "Nobody"):
        assert authenticate(name, "another password", rounds=5) is None
    assert spent == [5, 5]  # a known and an unknown name cost the same


@pytest.mark.promise(8)
def test_a_login_keeps_a_hash_of_the_configured_cost(ada):
    kept = stored_hash()
    authenticate(USERNAME, PASSWORD, rounds=ROUNDS)
    assert stored_hash() == kept


@pytest.mark.promise(8)
def test_a_failed_login_replaces_no_hash(ada):
    kept = stored_hash()
    authenticate(USERNAME, "another password", rounds=5)
    assert stored_hash() == kept


@every_database
@pytest.mark.promise(8)
def test_replacing_the_hash_ends_no_session(ada, tokens):
    token = sessions.start(ada, tokens).token
    authenticate(USERNAME, PASSWORD, rounds=5)
    assert find_session(token, tokens)[0] == ada


@every_database
@pytest.mark.promise(8)
def test_a_user_whose_hash_was_replaced_is_logged_in(ada, tokens):
    user = authenticate(USERNAME, PASSWORD, rounds=5)
    assert find_session(sessions.start(user, tokens).token, tokens)[0] == ada


@every_database
@pytest.mark.promise(8)
def test_two_logins_that_replace_the_hash_at_once_both_succeed(ada, tokens, meanwhile):
    meanwhile(lambda: authenticate(USERNAME, PASSWORD, rounds=5))
    user = authenticate(USERNAME, PASSWORD, rounds=5)
    assert sessions.start(user, tokens) is not None


# What changes while the password is verified


@every_database
@pytest.mark.promise(5)
def test_a_password_changed_meanwhile_wins_over_the_replaced_hash(ada, settings, meanwhile):
    meanwhile(lambda: change_password(ada, "four other words", settings=settings))
    authenticate(USERNAME, PASSWORD, rounds=5)
    assert verify_password("four other words", stored_hash())


def deactivate(user, settings):
    user.is_active = False
    user.save()


def activate(user):
    user.is_active = True
    user.save()


@every_database
@pytest.mark.promise(5)
@pytest.mark.parametrize("rounds", [ROUNDS, 5], ids=["hash kept", "hash replaced"])
@pytest.mark.parametrize(
    "change",
    [
        pytest.param(
            lambda user, settings: change_password(user, "four other words", settings=settings),
            id="password changed",
        ),
        pytest.param(deactivate, id="deactivated"),
        pytest.param(
            lambda user, settings: (deactivate(user, settings), activate(user)),
            id="deactivated and activated again",
        ),
        pytest.param(lambda user, settings: user.delete_instance(), id="deleted"),
    ],
)
def test_a_user_changed_meanwhile_is_not_logged_in(
    ada, settings, tokens, meanwhile, change, rounds
):
    meanwhile(lambda: change(ada, settings))
    user = authenticate(USERNAME, PASSWORD, rounds=rounds)
    assert user is None or sessions.start(user, tokens) is None
