"""Rows of the application that refer to a user: deleted with the user, or they keep the account."""

import re

import peewee
import pytest

from tests.support.sites import BROWSER, SAME_ORIGIN
from wsgiauth import AuthMiddleware, User, delete_user, storage
from wsgiauth.cli import main
from wsgiauth.events.models import RecordedEvent
from wsgiauth.exceptions import InUseError
from wsgiauth.storage.postgres_mysql import Server
from wsgiauth.testing import bearer, logged_in, make_user

pytestmark = pytest.mark.every_database


@pytest.fixture
def heard():
    return []


@pytest.fixture
def site(settings, heard):
    made = AuthMiddleware(lambda environ, start_response: [], settings, on_event=heard.append)
    yield made
    for each in (made.database, storage.current()):  # the command line opens another one
        storage.discard_connection(each)


@pytest.fixture
def profile_of(site):
    """Return a function that makes a table of profiles, and the profile of a user."""
    made = []

    def make(user, on_delete="RESTRICT", deferrable=None):
        class Profile(peewee.Model):
            user = peewee.ForeignKeyField(
                User, primary_key=True, on_delete=on_delete, deferrable=deferrable
            )

            class Meta:
                database = site.database
                table_name = "profile"

        Profile.create_table()
        made.append(Profile)
        Profile.create(user=user)
        return Profile

    yield make
    for each in made:
        each.drop_table()


def is_mariadb(site):
    return isinstance(site.database, Server) and not isinstance(
        site.database, peewee.PostgresqlDatabase
    )


REFUSALS = pytest.mark.parametrize("deferrable", [None, "INITIALLY DEFERRED"])


@REFUSALS
def test_a_foreign_key_without_an_action_refuses_the_deletion(site, profile_of, heard, deferrable):
    if deferrable and is_mariadb(site):
        deferrable = None  # MariaDB has no deferred foreign keys
    ada = make_user(site)
    profiles, before = profile_of(ada, "NO ACTION", deferrable), [*heard]
    for delete in (delete_user, User.delete_instance):
        with pytest.raises(InUseError, match="ada cannot be deleted: data of the application"):
            delete(ada)
    assert (User.get_by_id(ada.id), heard) == (ada, before)
    assert not RecordedEvent.select().where(RecordedEvent.name == "user_deleted").exists()
    profiles.delete().execute()
    delete_user(ada)
    with pytest.raises(User.DoesNotExist):
        delete_user(ada)


@pytest.mark.parametrize("on_delete", ["CASCADE", "RESTRICT"])
def test_rows_are_deleted_or_refuse_it_as_the_table_says(site, profile_of, on_delete):
    ada = make_user(site)
    profiles = profile_of(ada, on_delete)
    if on_delete == "CASCADE":
        delete_user(ada)
    else:
        with pytest.raises(InUseError):
            delete_user(ada)
    is_left = on_delete == "RESTRICT"
    assert (profiles.select().exists(), User.select().exists()) == (is_left, is_left)


def test_a_user_cannot_close_an_account_that_is_in_use(site, profile_of):
    ada = make_user(site)
    profile_of(ada)
    client = logged_in(site, ada)
    refused = client.post_json("/auth/close", {}, headers=bearer(site, ada), status=409)
    assert refused.json["code"] == "in_use"
    form = client.get("/auth/close", headers=BROWSER).form
    alert = form.submit(headers=SAME_ORIGIN, status=409).html.find(role="alert")
    assert "Your account cannot be closed now" in alert.text


@REFUSALS
def test_the_staff_cannot_delete_an_account_that_is_in_use(site, profile_of, deferrable):
    ada, root = make_user(site), make_user(site, "root", is_staff=True, is_superuser=True)
    profile_of(ada, "NO ACTION", None if is_mariadb(site) else deferrable)
    url, client = f"/auth/admin/users/{ada.id}/delete", logged_in(site, root)
    refused = client.post_json(url, {}, headers=bearer(site, root), status=409)
    assert refused.json["code"] == "in_use"
    (form,) = {*client.get(url, headers=BROWSER).forms.values()}
    alert = form.submit(headers=SAME_ORIGIN, status=409).html.find(role="alert")
    assert "Data of the application refers to this account." in alert.text
    client.post_json(
        url.replace("delete", "grant"), {"permission": "a.b"}, headers=bearer(site, root)
    )


def test_the_command_line_does_not_delete_an_account_that_is_in_use(
    site, settings, profile_of, monkeypatch, capsys
):
    profile_of(make_user(site))
    monkeypatch.setenv("DATABASE_URL", settings.DATABASE_URL)
    assert main(["deleteuser", "ada", "--yes"]) == 1
    assert re.search("ada cannot be deleted: data of the application", capsys.readouterr().err)
