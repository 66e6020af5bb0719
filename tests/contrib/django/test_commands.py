"""`manage.py connect_wsgiauth` and `manage.py sync_wsgiauth`."""

from io import StringIO

import pytest

from wsgiauth import User


@pytest.fixture
def run(site):
    from django.core.management import call_command

    def run_command(name):
        output = StringIO()
        call_command(name, stdout=output)
        return output.getvalue()

    return run_command


@pytest.fixture
def own(rows):
    """Return a function that makes a row of Django's own for a user, and removes all others."""
    rows.objects.all().delete()

    def make_row(user, **others):
        names = {"username": user.username, "email": user.email, **others}
        return rows.objects.create(**names)

    return make_row


def test_rows_of_the_same_name_and_address_are_connected(run, own, make, browser, rows):
    users = [make() for _ in range(4)]
    kept = browser(users[3]).get("/who").json["row"]
    same, named, by_number = (
        own(users[0]),
        own(users[1], email="other@example.org"),
        own(users[2], username="other", password=f"!wsgiauth {users[2].id}"),
    )
    own(users[3], username="double", password=f"!wsgiauth {users[3].id}")
    gone = own(users[3], username="gone", password="!wsgiauth 999999")
    assert run("connect_wsgiauth") == (
        f"{named.username!r} was not connected.\n'double' was not connected.\n"
        f"{gone.username!r} was not connected.\nConnected: 2; not connected: 3.\nThe users of"
        " other rows get new rows, or are anonymous to Django if the username is the same.\n"
    )
    for user, row in ((users[0], same), (users[2], by_number)):
        assert browser(user).get("/who").json["row"] == row.pk
    assert browser(users[1]).get("/who").json == {"user": None}
    assert browser(users[3]).get("/who").json["row"] == kept
    assert "\nConnected: 0; not connected: 3." in run("connect_wsgiauth")
    for row in (named, gone):
        row.delete()
    rows.objects.filter(username="double").delete()
    assert run("connect_wsgiauth") == "Connected: 0.\n"


def test_all_rows_are_brought_up_to_date(run, own, make, browser, rows):
    users = [make(is_staff=True) for _ in range(3)]
    pks = [browser(user).get("/who").json["row"] for user in users]
    # As by the command line of wsgiauth, which knows nothing of Django.
    User.update(is_active=False).where(User.id == users[0].id).execute()
    User.delete().where(User.id == users[1].id).execute()
    User.update(is_staff=False).where(User.id == users[2].id).execute()
    assert run("sync_wsgiauth") == "Checked: 3.\n"
    flags = [rows.objects.values_list("is_active", "is_staff").get(pk=pk) for pk in pks]
    assert flags == [(False, False), (False, False), (True, False)]
