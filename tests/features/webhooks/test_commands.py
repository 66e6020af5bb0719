"""The command `webhooks`."""

import json
import re

import pytest

from tests.support.sites import PASSWORD
from tests.support.webhook_receiver import KEY, SECRET
from wsgiauth import events, storage
from wsgiauth.events import kinds
from wsgiauth.features.webhooks import rows
from wsgiauth.features.webhooks.recorder import WebhookRecorder
from wsgiauth.features.webhooks.rows import LEASE
from wsgiauth.features.webhooks.tables import Webhook

FAR = 4_102_444_800  # 2100-01-01

pytestmark = pytest.mark.promise(103)


@pytest.fixture(autouse=True)
def environ(monkeypatch, receiver):
    """Let the environment of the commands be that of the server."""
    monkeypatch.setenv("WEBHOOKS", f"{receiver.url}#logout,registration")
    monkeypatch.setenv("WEBHOOK_KEY", KEY)


@pytest.fixture
def row(database, settings):
    """Return a row that waits, and is not due soon."""
    with storage.current().atomic():
        write = WebhookRecorder(settings, None)
        write(events.Event("logout", events.utc_now(), None, None, None), {})
    Webhook.update(due_at=FAR, attempts=2, failure="status 500").execute()
    return Webhook.get()


def test_a_command_leaves_a_webhook_to_the_server(wsgiauth):
    new = ("--username", "grace", "--email", "grace@example.org", "--password-stdin")
    assert wsgiauth("createuser", *new, stdin=f"{PASSWORD}\n")[0] == 0
    (row,) = Webhook.select()
    body = json.loads(row.body)
    assert (body["data"]["actor"], body["data"]["user"]["username"]) == ("command line", "grace")


def test_list_prints_the_rows_without_their_content(wsgiauth, row, receiver):
    Webhook.insert({**row.__data__, "id": "msg_z", "destination": "0" * 32}).execute()
    Webhook.update(due_at=None).where(Webhook.id == "msg_z").execute()
    status, printed, _ = wsgiauth("webhooks", "list", "--json")
    first, second = json.loads(printed)
    assert first.pop("created_at").endswith("Z")
    assert first == {
        "id": row.id,
        "event": "logout",
        "url": receiver.url,
        "next_try_at": "2100-01-01T00:00:00Z",
        "failed_tries": 2,
        "failure": "status 500",
    }
    assert (status, second["url"], second["next_try_at"]) == (0, None, None)
    table = wsgiauth("webhooks", "list")[1]
    assert re.match(r"id +event +created +URL +next try +failed tries +last failure\n", table)


def test_a_test_is_signed_and_has_a_type_of_its_own(wsgiauth, receiver):
    status, printed, _ = wsgiauth("webhooks", "test", receiver.url)
    assert (status, printed) == (0, "The receiver answered with the status 204.\n")
    (received,) = receiver.take()
    assert received.verify()["type"] == "webhook_test"
    assert received.document["data"] == {"user": None, "reason": None, "actor": "command line"}


def test_a_test_that_is_not_accepted_fails(wsgiauth, receiver):
    receiver.statuses = [302]
    assert wsgiauth("webhooks", "test", receiver.url) == (
        1,
        "",
        "wsgiauth: the receiver answered with the status 302\n",
    )


def test_a_test_without_an_answer_fails(wsgiauth, monkeypatch, closed_port):
    url = f"http://127.0.0.1:{closed_port}/{SECRET}"
    monkeypatch.setenv("WEBHOOKS", url)
    assert wsgiauth("webhooks", "test", url) == (
        1,
        "",
        "wsgiauth: the receiver did not answer: connection\n",
    )


@pytest.mark.parametrize("end", ["#logout", "/other"])
def test_a_test_of_another_url_is_refused_and_not_signed(wsgiauth, receiver, end):
    status, _, errors = wsgiauth("webhooks", "test", f"{receiver.url}{end}")
    assert (status, receiver.take()) == (1, [])
    assert SECRET not in errors


def test_a_test_without_webhooks_says_so(wsgiauth, monkeypatch):
    monkeypatch.delenv("WEBHOOKS")
    refused = (1, "", "wsgiauth: WEBHOOKS is not set\n")
    assert wsgiauth("webhooks", "test", "https://billing.example/hook") == refused


def test_resend_begins_anew(wsgiauth, row, receiver):
    for due_at in (FAR, None):
        Webhook.update(due_at=due_at, attempts=8).execute()
        assert wsgiauth("webhooks", "resend", row.id)[:2] == (
            0,
            "The server sends it within a minute.\n",
        )
        again = Webhook.get()
        assert (again.attempts, again.failure, again.body) == (0, "", row.body)
        assert again.due_at < FAR


def test_what_is_being_sent_is_not_sent_again(wsgiauth, row, monkeypatch):
    Webhook.update(due_at=int(events.utc_now().timestamp()) + LEASE).execute()
    assert wsgiauth("webhooks", "resend", row.id)[0] == 1
    Webhook.update(due_at=None).execute()
    resend = rows.resend

    def resend_too_late(found, now):
        Webhook.update(due_at=now + 1).execute()
        return resend(found, now)

    monkeypatch.setattr(rows, "resend", resend_too_late)
    assert "is being sent" in wsgiauth("webhooks", "resend", row.id)[2]


def test_an_unknown_id_is_refused(wsgiauth, row):
    assert "there is no webhook" in wsgiauth("webhooks", "resend", "msg_1")[2]


def test_a_webhook_of_a_former_url_is_not_sent(wsgiauth, row, monkeypatch):
    monkeypatch.setenv("WEBHOOKS", "https://billing.example/")
    assert "no longer has the URL" in wsgiauth("webhooks", "resend", row.id)[2]


def test_purge_deletes_what_was_kept_for_long_enough(wsgiauth, row):
    Webhook.update(expires_at=1).execute()
    assert wsgiauth("purge")[0] == 0
    assert Webhook.select().count() == 0


def test_events_that_webhooks_do_not_get_leave_nothing(wsgiauth, database):
    events.emit(kinds.LANGUAGE_CHANGED, user_id=1)
    assert Webhook.select().count() == 0
