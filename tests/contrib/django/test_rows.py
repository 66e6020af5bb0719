"""Django's row of a user: made once, kept up to date, and never taken from another one."""

import threading

import pytest

from tests.contrib.django.conftest import change
from wsgiauth import User


def test_the_row_is_made_by_the_first_request_and_only_once(browser, make, rows):
    user = make()
    assert not rows.objects.filter(username=user.username).exists()
    answers = [browser(user).get("/who").json for _ in range(2)]
    row = rows.objects.get(username=user.username)
    assert (
        answers
        == [
            {
                "user": user.username,
                "email": user.email,
                "row": row.pk,
                "rights": [True, False, False],
            }
        ]
        * 2
    )
    assert not row.has_usable_password()


def test_an_asynchronous_view_has_the_same_user(browser, make):
    user = make()
    assert browser(user).get("/who-later").json == {"user": user.username}


def test_an_up_to_date_row_costs_one_select(browser, make, django_queries):
    client = browser(make())
    client.get("/who")
    with django_queries as queries:
        client.get("/who")
    assert len(queries) == 1


@pytest.fixture
def django_queries(site):
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    return CaptureQueriesContext(connection)


def test_names_and_flags_are_those_of_the_account_on_every_request(browser, make, rows):
    make("boss", is_superuser=True)
    user = make()
    client = browser(user)
    changes = [
        {"is_staff": True},
        {"is_superuser": True},
        {"is_staff": False, "is_superuser": False},
        {"username": f"{user.username}-lovelace"},
        {"email": f"{user.username}@example.com"},
    ]
    row = client.get("/who").json["row"]
    for each in changes:
        now = change(user, **each)
        rights = [True, now.is_staff, now.is_superuser]
        seen = {"user": now.username, "email": now.email, "row": row, "rights": rights}
        # Another request of another client, before the user's own, finds the row changed as well.
        stored = rows.objects.get(pk=row)
        assert [stored.username, stored.email] == [now.username, now.email]
        assert client.get("/who").json == seen


def test_a_change_in_a_transaction_of_django_reaches_the_row(browser, make, rows):
    from django.db import transaction

    user = make()
    row = browser(user).get("/who").json["row"]
    with transaction.atomic():
        change(user, is_staff=True)
        assert rows.objects.get(pk=row).is_staff
        transaction.set_rollback(True)
    assert not rows.objects.get(pk=row).is_staff


def test_a_deactivated_user_is_anonymous_and_so_is_their_row(browser, make, rows):
    make("boss", is_superuser=True)
    user = make(is_staff=True)
    client = browser(user)
    row = rows.objects.get(pk=client.get("/who").json["row"])
    change(user, is_active=False)
    assert client.get("/who").json == {"user": None}
    row.refresh_from_db()
    assert [row.is_active, row.is_staff] == [False, False]
    change(user, is_active=True)
    row.refresh_from_db()
    assert [row.is_active, row.is_staff] == [True, True]
    assert browser(user).get("/who").json["row"] == row.pk


def test_a_request_that_began_before_a_change_does_not_undo_it(browser, make, rows, site):
    from wsgiauth.contrib.django import row_of

    make("boss", is_superuser=True)
    user = make(is_superuser=True)
    browser(user).get("/who")  # from the first request on, the process follows changes
    before = User.objects.get(id=user.id)
    row = row_of(before)
    change(user, is_superuser=False)
    assert not row_of(before).is_superuser
    change(user, is_active=False)
    assert row_of(before) is None
    row.refresh_from_db()
    assert [row.is_active, row.is_superuser] == [False, False]


def test_a_deleted_user_is_anonymous_and_their_row_inactive(browser, make, rows):
    user = make()
    client = browser(user)
    row = rows.objects.get(pk=client.get("/who").json["row"])
    User.objects.get(id=user.id).delete_instance()
    assert client.get("/who").json == {"user": None}
    row.refresh_from_db()
    assert not row.is_active


def test_a_row_that_django_has_deactivated_identifies_nobody(browser, make, rows):
    user = make(is_superuser=True)
    client = browser(user)
    row = client.get("/who").json["row"]
    rows.objects.filter(pk=row).update(is_active=False)
    assert client.get("/who").json == {"user": None}
    client.get("/member", status=302)
    rows.objects.filter(pk=row).update(is_active=True)
    assert client.get("/who").json["row"] == row


def test_a_row_that_django_has_deleted_is_made_anew(browser, make, rows):
    client = browser(make())
    row = rows.objects.get(pk=client.get("/who").json["row"])
    row.delete()
    assert client.get("/who").json["user"] == row.username


@pytest.mark.parametrize("spell", [str, str.upper])
def test_a_row_of_djangos_own_is_never_taken_over(browser, make, rows, site, caplog, spell):
    user = make("george")
    row = rows.objects.create_user(spell(user.username), user.email)
    client = browser(user)
    assert client.get("/who").json == {"user": None}
    assert f"User {user.id} is anonymous to Django" in caplog.text
    client.get("/member", status=302)
    from wsgiauth.contrib.django import connect

    connect(row, user)
    assert client.get("/who").json == {
        "user": user.username,
        "email": user.email,
        "row": row.pk,
        "rights": [True, False, False],
    }


def test_the_same_address_in_another_row_does_not_matter(browser, make, rows):
    user = make()
    rows.objects.create_user(f"other-{user.username}", user.email)
    assert browser(user).get("/who").json["user"] == user.username


def test_a_row_stays_with_its_user_when_names_change_hands(browser, make, rows, site):
    from wsgiauth import events
    from wsgiauth.contrib.django.rows import _follow

    emmy, mallory = make("emmy"), make("mallory")
    name = emmy.username
    clients = {user: browser(user) for user in (emmy, mallory)}
    pk = {user: clients[user].get("/who").json["row"] for user in clients}
    # As by another process without Django, such as the command line.
    listeners = events._subscribers.pop(site.application.database)
    change(emmy, username=f"countess-{name}")
    change(mallory, username=name.upper())
    events._subscribers[site.application.database] = listeners
    assert _follow in listeners
    seen = clients[mallory].get("/who").json
    assert (seen["user"], seen["row"]) == (name.upper(), pk[mallory])
    assert rows.objects.get(pk=pk[emmy]).username == f"@{emmy.id}"
    seen = clients[emmy].get("/who").json
    assert (seen["user"], seen["row"]) == (f"countess-{name}", pk[emmy])


def test_the_name_of_a_deleted_user_brings_no_row_with_it(browser, make, rows):
    lise = make("lise")
    row = browser(lise).get("/who").json["row"]
    User.objects.get(id=lise.id).delete_instance()
    other = make("other")
    change(other, username=lise.username)
    seen = browser(other).get("/who").json
    assert seen["user"] == lise.username
    assert seen["row"] != row
    assert rows.objects.get(pk=row).username == f"@{lise.id}"


def test_two_first_requests_at_the_same_moment_make_one_row(make, rows, monkeypatch, site, bearer):
    user = make("sophie")
    save = rows.save
    answers = []

    def save_second(row, **options):
        monkeypatch.setattr(rows, "save", save)
        other = threading.Thread(target=ask)
        other.start()
        other.join()
        save(row, **options)

    def ask():
        from webtest import TestApp

        answers.append(TestApp(site.application).get("/who", headers=bearer(user)).json)

    from django.db import connections, transaction

    # The first transaction has not written yet, so the second request is not blocked by it.
    monkeypatch.setattr(rows, "save", save_second)
    ask()
    assert len(answers) == 2
    assert answers[0] == answers[1]
    assert rows.objects.filter(username=user.username).count() == 1
    assert transaction.get_connection() in connections.all()


def test_a_conflict_that_stays_is_an_error(make, rows, monkeypatch, browser):
    from django.db import IntegrityError

    def save(row, **options):
        raise IntegrityError("NOT NULL constraint failed: born")

    monkeypatch.setattr(rows, "save", save)
    browser(make()).get("/who", status=500)
