"""Creating, changing and finding accounts."""

from datetime import UTC, datetime

import pytest

from tests.conftest import HASH
from tests.support.logins import insert_session
from tests.support.sites import EMAIL, PASSWORD, USERNAME
from wsgiauth import Field, Settings, verify_password
from wsgiauth.accounts import (
    NewAccount,
    create_user,
    delete_user,
    find_user,
    hash_new_password,
    update_user,
)
from wsgiauth.accounts.models import User
from wsgiauth.accounts.registration import Registration
from wsgiauth.accounts.tables import Session
from wsgiauth.exceptions import TakenError, ValidationError

NEW_PASSWORD = "four other words"
SETTINGS = Settings(BCRYPT_ROUNDS=4)  # for what never reaches a database

BAD_PASSWORDS = (
    *("seven..", "password1", "Password123!", "aaaaaaaaaaaa", "LoveLace", EMAIL.upper()),
    *("x" * 73, "é" * 37, "four\0words", "four\ud800words"),
)


def read(user):
    """Return another copy of a user."""
    return User.objects.get(id=user.id)


@pytest.mark.every_database
def test_an_account_is_created_as_it_is_described(ada):
    assert (read(ada).username, read(ada).email) == (USERNAME, EMAIL)
    assert verify_password(PASSWORD, read(ada).hashed_password)


def test_an_account_is_created_with_its_answers(database, settings):
    seen = []
    asked = Registration([Field("phone", "Phone")], lambda user, values: seen.append(values))
    answers = asked.read({"phone": " 1 "})
    account = NewAccount("Ada", "a@example.org", PASSWORD, settings=settings, answers=answers)
    user = account.register(HASH, seen.append)
    assert (seen, user.username) == ([{"phone": "1"}, user], "Ada")


def test_a_stranger_has_no_rights(ada):
    assert (ada.is_active, ada.is_staff, ada.is_superuser) == (True, False, False)


def test_a_right_is_given_with_the_account(database, settings):
    for right in ("is_staff", "is_superuser"):
        address = f"{right}@example.org"
        user = read(create_user(right, address, PASSWORD, settings=settings, **{right: True}))
        given = {name: getattr(user, name) for name in ("is_staff", "is_superuser")}
        assert given == {"is_staff": False, "is_superuser": False} | {right: True}


@pytest.mark.promise(8)
def test_the_cost_of_the_hash_is_the_configured_one(ada):
    assert ada.hashed_password.startswith("$2b$04$")


@pytest.mark.promise(10)
def test_all_broken_rules_are_told_at_once():
    with pytest.raises(ValidationError) as refused:
        create_user("", "nowhere", "short", settings=SETTINGS)
    assert set(refused.value.errors) == {"username", "email", "password"}


@pytest.mark.promise(7)
def test_a_password_against_the_rules_makes_no_account(database, settings):
    for password in BAD_PASSWORDS:
        with pytest.raises(ValidationError) as refused:
            create_user("lovelace", EMAIL, password, settings=settings)
        assert list(refused.value.errors) == ["password"], password
    assert User.objects.count() == 0


@pytest.mark.every_database
@pytest.mark.promise(10)
def test_a_name_that_is_taken_makes_no_account(ada, settings):
    for username, email, taken in (
        ("aDA", "other@example.org", ["username"]),
        ("other", "ADA@Example.org", ["email"]),
        ("aDA", "ADA@Example.org", ["username", "email"]),
    ):
        with pytest.raises(TakenError) as refused:
            create_user(username, email, PASSWORD, settings=settings)
        assert list(refused.value.errors) == taken
        assert User.objects.count() == 1


@pytest.mark.every_database
@pytest.mark.promise(10)
def test_an_iota_subscript_does_not_make_a_second_name(database, settings):
    for number, letters in enumerate(("\u1fbc\u0342", "\u1fcc\u0342", "\u1ffc\u0342")):
        create_user(f"zoe{letters}", f"{number}@example.org", PASSWORD, settings=settings)
        with pytest.raises(TakenError, match="username"):
            create_user(f"zoe{letters.lower()}", EMAIL, PASSWORD, settings=settings)


@pytest.mark.promise(10)
def test_broken_rules_do_not_hide_that_a_name_is_taken(ada, settings):
    with pytest.raises(ValidationError) as refused:
        create_user("aDA", "nowhere", "short", settings=settings)
    assert refused.value.errors.keys() == {"username", "email", "password"}
    assert type(refused.value) is ValidationError
    with pytest.raises(ValidationError) as refused:
        create_user("aDA", EMAIL, "short", settings=settings)
    assert refused.value.errors.keys() == {"username", "email", "password"}


@pytest.mark.promise(7)
def test_a_new_password_against_the_rules_is_refused():
    for password in BAD_PASSWORDS:
        with pytest.raises(ValidationError) as refused:
            hash_new_password(User(username="lovelace", email=EMAIL), password, settings=SETTINGS)
        assert list(refused.value.errors) == ["password"], password


@pytest.mark.every_database
@pytest.mark.promise(10)
def test_a_user_is_found_by_either_name_in_any_spelling(ada):
    for identifier in ["Ada", "aDA", "\uff21da", EMAIL, "ADA@EXAMPLE.ORG"]:
        assert find_user(identifier) == ada


@pytest.mark.every_database
@pytest.mark.promise(10)
def test_a_name_that_nobody_has_finds_nobody(ada):
    for case, identifier in {
        "unknown username": "Nobody",
        "unknown e-mail": "nobody@example.org",
        "accent": "Adá",
        "wildcard": "Ad_",
        "SQL": "'OR/**/1=1--",
    }.items():
        assert find_user(identifier) is None, case


@pytest.mark.promise(10)
def test_a_name_that_nobody_can_have_finds_nobody():
    for case, identifier in {
        "empty": "",
        "space": "Ada ",
        "NUL": "Ada\0",
        "surrogate": "Ada\ud800",
        "username of 151": "x" * 151,
        "e-mail of 100,000": f"{'x' * 100_000}@example.org",
    }.items():
        assert find_user(identifier) is None, case


@pytest.mark.promise(11)
def test_what_is_no_text_is_nobodys_name(ada):
    for identifier in [["Ada", "Grace"], 1, {"Ada": 1}]:
        assert find_user(identifier) is None


@pytest.mark.every_database
@pytest.mark.promise(10)
def test_an_older_username_with_a_leading_dash_is_found(ada, database):
    database.execute_sql("UPDATE wsgiauth_user SET username = '-h', username_key = '-h'")
    assert find_user("-H") == ada


# Changing and deleting


@pytest.mark.every_database
def test_only_the_given_fields_are_changed(ada):
    ada.is_staff = True
    ada.save()
    update_user(ada, username="Augusta", is_superuser=True)
    assert read(ada).username == "Augusta"
    assert (read(ada).is_active, read(ada).is_staff, read(ada).is_superuser) == (True, True, True)
    update_user(ada, email="augusta@example.org", is_staff=False)
    assert (read(ada).email, read(ada).is_staff) == ("augusta@example.org", False)


@pytest.mark.every_database
def test_a_change_with_a_name_that_is_taken_changes_nothing(ada, grace):
    with pytest.raises(TakenError):
        update_user(ada, username="grace", is_staff=True)
    assert (read(ada).username, read(ada).is_staff) == (USERNAME, False)


def save(user, **changes):
    for name, value in changes.items():
        setattr(user, name, value)
    return user.save()


@pytest.mark.every_database
def test_an_address_and_its_proof_are_stored_together(ada):
    proven_at = datetime(2026, 11, 2, 9, 5, tzinfo=UTC)
    update_user(ada, email="b@example.org", email_verified_at=proven_at)
    assert (read(ada).email, read(ada).email_verified_at) == ("b@example.org", proven_at)
    update_user(ada, email="c@example.org")
    assert read(ada).email_verified_at is None


@pytest.mark.every_database
def test_a_deleted_user_takes_sessions_along(ada, grace):
    insert_session(ada, "hers")
    delete_user(ada)
    assert (Session.select().count(), list(User.objects.all())) == (0, [grace])


@pytest.mark.every_database
def test_a_user_who_is_gone_is_not_changed(ada):
    objects = [read(ada) for _ in range(3)]
    delete_user(read(ada))
    assert not objects[0].delete_instance()
    assert not save(objects[1], is_active=False)
    assert not save(objects[2], is_staff=True)
    with pytest.raises(User.DoesNotExist):
        delete_user(ada)
    with pytest.raises(User.DoesNotExist):
        update_user(ada, is_staff=True)
