"""What webhooks say, of which events, and to whom."""

from dataclasses import replace

import pytest

from tests.support.sites import EMAIL, PASSWORD, USERNAME, echo
from wsgiauth import AuthMiddleware, User, accounts, delete_user, events, storage
from wsgiauth.accounts.groups import Group
from wsgiauth.events import actors, kinds
from wsgiauth.exceptions import ConfigurationError
from wsgiauth.features.webhooks.tables import Webhook
from wsgiauth.testing import logged_in


def bodies(queue, receiver):
    """Return the documents that are sent."""
    queue.deliver()
    return [each.document for each in receiver.take()]


def data(queue, receiver):
    """Return the data of the only document."""
    (body,) = bodies(queue, receiver)
    return body["data"]


@pytest.mark.promise(103)
@pytest.mark.every_database
def test_a_registration_is_sent_with_the_id_and_the_username(site, queue, receiver, client):
    fields = {"username": "grace", "email": "grace@example.org", "password": PASSWORD}
    client.post_json("/auth/register", fields)
    queue.deliver()
    (received,) = receiver.take()
    user = User.get(User.username == "grace")
    body = received.verify()
    assert body.pop("timestamp").endswith("Z")
    assert body == {
        "type": "registration",
        "data": {
            "user": {"id": user.id, "username": "grace"},
            "reason": None,
            "actor": f"user {user.id}",
        },
    }
    assert received.headers["Content-Type"] == "application/json"


@pytest.mark.parametrize("further", [{"WEBHOOK_EMAILS": True}])
def test_the_address_is_sent_if_the_operator_wants_it(site, ada, queue, receiver):
    accounts.update_user(ada, is_staff=True)
    assert data(queue, receiver)["user"] == {"id": ada.id, "username": USERNAME, "email": EMAIL}


@pytest.mark.parametrize("further", [{}, {"WEBHOOK_EMAILS": True}], ids=["plain", "addresses"])
@pytest.mark.every_database
def test_a_deleted_user_has_the_last_username(site, ada, queue, receiver, further):
    former = User.get_by_id(ada.id)
    accounts.update_user(ada, username="countess")
    bodies(queue, receiver)
    former.delete_instance()
    expected = {"id": ada.id, "username": "countess", **({"email": EMAIL} if further else {})}
    assert data(queue, receiver)["user"] == expected


def test_an_event_about_no_user_has_none(site, queue, receiver):
    Group.objects.create(name="Editors")
    assert data(queue, receiver) == {"user": None, "reason": "created Editors", "actor": "code"}


def test_an_event_after_the_deletion_of_its_user_has_the_id_alone(site, queue, receiver):
    events.emit(kinds.LOGOUT, user_id=77)
    assert data(queue, receiver)["user"] == {"id": 77, "username": None}


def test_a_command_is_an_actor_without_the_name_of_the_systems_user(site, ada, queue, receiver):
    with actors.acting(actors.user(ada.id, "4fD8sKq2ZxLw")):
        events.emit(kinds.LOGOUT, user_id=ada.id)
    with actors.acting("command line root"):
        events.emit(kinds.LOGOUT, user_id=ada.id)
    found = [each["data"]["actor"] for each in bodies(queue, receiver)]
    assert found == [f"user {ada.id} key 4fD8sKq2ZxLw", "command line"]


def test_a_site_without_usernames_sends_the_made_one(settings, receiver):
    site = AuthMiddleware(echo, replace(settings, USERNAMES=False))
    user = accounts.create_user(None, EMAIL, PASSWORD, settings=site.site.settings)
    (row,) = Webhook.select()
    assert f'"username":"{user.username}"' in row.body
    storage.discard_connection(site.database)


# Which events


@pytest.mark.promise(103)
def test_no_refusal_is_sent(site, ada, client, queue, receiver):
    fields = {"username": USERNAME, "password": "mistyped words"}
    client.post_json("/auth/login", fields, status=401)
    assert (bodies(queue, receiver), Webhook.select().count()) == ([], 0)


@pytest.mark.promise(103)
@pytest.mark.every_database
def test_a_change_that_is_not_committed_is_not_sent(site, ada, queue, receiver):
    with storage.current().atomic() as transaction:
        accounts.update_user(ada, is_staff=True)
        transaction.rollback()
    assert (bodies(queue, receiver), Webhook.select().count()) == ([], 0)


def test_each_url_gets_its_events(settings, receiver, unsent):
    urls = (f"{receiver.url}#logout,user_deleted", f"{receiver.url}&other")
    site = AuthMiddleware(echo, replace(settings, WEBHOOKS=urls))
    user = accounts.create_user("grace", "grace@example.org", PASSWORD, settings=settings)
    logged_in(site, user).get("/auth/me")
    delete_user(user)
    by_url = {}
    for each in Webhook.select().order_by(Webhook.id):
        by_url.setdefault(each.destination, []).append(each.event)
    assert sorted(by_url.values()) == [["registration", "login", "user_deleted"], ["user_deleted"]]
    assert len({each.id for each in Webhook.select()}) == 4
    storage.discard_connection(site.database)


def test_without_a_url_that_gets_it_an_event_costs_no_query(settings, receiver, queries, unsent):
    site = AuthMiddleware(echo, replace(settings, WEBHOOKS=(f"{receiver.url}#user_deleted",)))
    assert not [
        sql for sql in queries(lambda: events.emit(kinds.LOGOUT, user_id=7)) if "webhook" in sql
    ]
    storage.discard_connection(site.database)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("login_failed", "login_failed, which changes nothing and is not sent"),
        ("webhook_failed", "webhook_failed, which changes nothing and is not sent"),
        ("regsitration", "the event regsitration, which does not exist"),
    ],
)
def test_a_wrong_event_is_refused_at_start_by_name(settings, receiver, name, reason):
    urls = (f"{receiver.url}#logout,{name}",)
    with pytest.raises(ConfigurationError) as caught:
        AuthMiddleware(echo, replace(settings, WEBHOOKS=urls))
    assert str(caught.value) == f"WEBHOOKS names {reason}."


def test_a_site_without_webhooks_writes_no_row(settings, database):
    AuthMiddleware(echo, replace(settings, WEBHOOKS=()))
    events.emit(kinds.LOGOUT, user_id=7)
    assert Webhook.select().count() == 0
