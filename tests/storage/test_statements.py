"""Statements whose SQL is written once."""

from datetime import UTC, datetime

import peewee
import pytest

from tests.conftest import insert_user, read_user
from wsgiauth import storage
from wsgiauth.accounts.groups import Group
from wsgiauth.accounts.models import User
from wsgiauth.accounts.tables import Membership, OneTimeSecret, Permission
from wsgiauth.storage.models import utc_now
from wsgiauth.storage.statements import (
    ModelStatement,
    OrderedSelect,
    Statement,
    given,
    insert_or_ignore,
    insert_row,
    is_given,
)

pytestmark = [pytest.mark.every_database, pytest.mark.usefixtures("database")]

LOGGED_IN = datetime(2026, 11, 29, 12, 30, tzinfo=UTC)
NOTE_LOGIN = Statement(
    lambda: User.update(last_login_at=given(User.last_login_at)).where(
        is_given(User.id), User.last_login_at.is_null(), User.is_active
    )
)
SECRETS = ModelStatement(
    lambda: (
        OneTimeSecret.select(OneTimeSecret, User)
        .join(User, peewee.JOIN.LEFT_OUTER)
        .where(is_given(OneTimeSecret.purpose))
        .order_by(OneTimeSecret.id)
    )
)


def insert_secret(name, **values):
    insert_row(OneTimeSecret, id=name, purpose="badges", expires_at=7, **values)


def test_values_are_given_by_name_and_converted_by_their_columns():
    ada = insert_user("Ada", "ada@example.org")
    assert NOTE_LOGIN.execute(last_login_at=LOGGED_IN, id=ada.id) == 1
    assert NOTE_LOGIN.execute(id=ada.id, last_login_at=utc_now()) == 0
    assert read_user("Ada").last_login_at == LOGGED_IN


def test_a_value_of_several_places_is_given_once():
    either = Statement(
        lambda: User.select(User.id).where(
            is_given(User.username_key, "name") | is_given(User.email_key, "name")
        )
    )
    ada = insert_user("Ada", "ada@example.org")
    assert [either.fetchone(name=each) for each in ("ada", "ada@example.org", "grace")] == [
        (ada.id,),
        (ada.id,),
        None,
    ]
    assert either.fetchall(name="ada") == [(ada.id,)]


@pytest.mark.parametrize(
    ("values", "error"),
    [
        ({"id": 1}, TypeError),
        ({"id": 1, "last_login": LOGGED_IN}, TypeError),
        ({"id": 1, "last_login_at": LOGGED_IN, "username": "Ada"}, TypeError),
    ],
    ids=["one is missing", "one is misspelt", "one is unknown"],
)
def test_an_execution_gives_exactly_the_values_of_the_statement(values, error):
    with pytest.raises(error):
        NOTE_LOGIN.execute(**values)


def test_the_query_is_made_once_for_each_kind_of_database(settings):
    made = []

    def make():
        made.append(type(storage.current()))
        return User.select(User.username).where(User.id == given(User.id))

    select = Statement(make)
    ada = insert_user("Ada", "ada@example.org")
    for _ in range(2):
        assert select.fetchone(id=ada.id) == ("Ada",)
    assert len(made) == 1
    with storage.context.using(storage.open_database("sqlite:///:memory:")):
        assert select.fetchone(id=ada.id) is None
    assert len({*made}) == len(made) == 2


def test_models_are_those_that_peewee_makes_of_the_same_query():
    ada = insert_user("Ada", "ada@example.org")
    insert_secret("1", user=ada.id)
    insert_secret("2")
    query = (
        OneTimeSecret.select(OneTimeSecret, User)
        .join(User, peewee.JOIN.LEFT_OUTER)
        .order_by(OneTimeSecret.id)
    )
    for found, expected in zip(SECRETS.all(purpose="badges"), query, strict=True):
        assert vars(found) == vars(expected)
        assert (found.user is None) == (found.id == "2")
    first = SECRETS.first(purpose="badges")
    assert first.user.last_login_at is None
    assert first.user.created_at.tzinfo is UTC
    assert SECRETS.first(purpose="others") is None


def test_the_values_of_an_ordered_select_replace_those_of_its_query():
    select = OrderedSelect(
        lambda: User.select(User.username).where(User.id >= 0, User.username_key != "")
    )
    ada = insert_user("Ada", "ada@example.org")
    insert_user("Grace", "grace@example.org")
    assert select.fetchall(ada.id, "ada") == [("Grace",)]
    assert select.fetchone(ada.id, "grace") == ("Ada",)
    assert select.fetchone(ada.id + 2, "") is None


def test_a_row_gets_the_defaults_of_its_columns(monkeypatch):
    ada = insert_user("Ada", "ada@example.org")
    insert_secret("1", user=ada)
    row = OneTimeSecret.get()
    assert (row.user_id, row.data, row.stamp, row.subject) == (ada.id, "", 0, None)


def test_a_default_that_is_a_function_is_called_for_each_row():
    names = ["Grace", "Ada"]

    class Named(Permission):
        name = peewee.CharField(max_length=100, default=names.pop)

        class Meta:
            table_name = "wsgiauth_permission"
            primary_key = peewee.CompositeKey("user", "name")

    ada = insert_user("Ada", "ada@example.org")
    for _ in range(2):
        insert_row(Named, user=ada.id)
    assert {row.name for row in Permission.select()} == {"Ada", "Grace"}


def test_an_existing_row_is_an_error_or_ignored():
    insert_secret("1")
    with pytest.raises(peewee.IntegrityError):
        insert_secret("1", data="other")
    row = {"purpose": "badges", "expires_at": 7, "data": "other"}
    assert not insert_or_ignore(OneTimeSecret, id="1", **row)
    assert insert_or_ignore(OneTimeSecret, id="2", **row)
    assert {each.id: each.data for each in OneTimeSecret.select()} == {"1": "", "2": "other"}


@pytest.mark.parametrize("insert", [insert_row, insert_or_ignore])
def test_a_row_without_the_value_of_a_column_is_refused(insert):
    with pytest.raises(TypeError, match=r"needs purpose, expires_at$"):
        insert(OneTimeSecret, id="1")
    assert not OneTimeSecret.select().exists()


def test_a_row_is_found_by_its_id():
    ada = insert_user("Ada", "ada@example.org")
    assert User.get_by_id(ada.id) == User.find_by_id(str(ada.id)) == ada
    assert User.get_by_id(ada.id).created_at == ada.created_at
    assert OneTimeSecret.find_by_id(str(ada.id)) is None
    with pytest.raises(User.DoesNotExist):
        User.get_by_id(ada.id + 1)


def test_a_row_is_found_by_an_id_of_several_columns():
    ada = insert_user("Ada", "ada@example.org")
    insert_row(Membership, user=ada, group=Group.objects.create(name="staff"))
    membership = Membership.get()
    assert Membership.get_by_id(membership.get_id()) == membership
    assert Membership.find_by_id((ada.id, ada.id + 1)) is None


def test_no_insert_asks_for_the_key_as_mysql_cannot(queries):
    class Secret(OneTimeSecret):  # so that no other test has inserted it
        class Meta:
            table_name = "wsgiauth_one_time"

    row = {"id": "1", "purpose": "badges", "expires_at": 7}
    for place in (storage.current(), storage.open_database("sqlite:///:memory:")):
        with storage.context.using(place):
            (insert,) = queries(lambda: insert_or_ignore(Secret, **row))
        assert insert.startswith("INSERT")
        assert "RETURNING" not in insert
