"""What tests of all features ask of webhooks."""

import time
from unittest.mock import patch

import pytest

from tests.support.mails import Clock
from tests.support.webhook_receiver import KEY
from wsgiauth import events
from wsgiauth.events import kinds
from wsgiauth.features.webhooks import rows
from wsgiauth.features.webhooks.failures import Failures
from wsgiauth.features.webhooks.questions import QUESTIONS
from wsgiauth.features.webhooks.queue import RETRIES, Webhooks
from wsgiauth.features.webhooks.receivers import receivers_of
from wsgiauth.features.webhooks.tables import Webhook

HOUR = 3600  # seconds
URL = "http://127.0.0.1:9/hook"  # the port `discard`, at which nothing listens


def settings(folder, provider):
    """Send every change."""
    return {"WEBHOOKS": URL, "WEBHOOK_KEY": KEY}


def fill(site, user):
    """Let an event wait."""
    events.emit(kinds.LOGOUT, user_id=user.id)


def drive(site, provider):
    """Send webhooks, of which some fail, and drop others."""
    settings, clock = site.site.settings, Clock(int(time.time()) + HOUR)
    queue = Webhooks(settings, receivers_of(settings), clock)
    with patch("wsgiauth.features.webhooks.sending.send", return_value=410):
        queue.deliver()
    for answers in ([204], [503, 204], [503] * (len(RETRIES) + 1)):
        events.emit(kinds.LOGOUT)
        with patch("wsgiauth.features.webhooks.sending.send", side_effect=answers):
            for _ in answers:
                queue.deliver()
                clock.move(10 * HOUR)
    for page in rows.pages():
        rows.resend(rows.find(page[0].id), int(clock.now))
    with patch.object(rows, "MOST_ENDED", 0):
        queue.find_further()
    clock.move(HOUR)
    Webhook.update(destination="0" * 32).execute()
    for question in QUESTIONS:
        list(question.ask(site.site))
    queue.deliver()
    rows.waiting()


def commands(folder):
    """Return the command lines."""
    return ("webhooks list", "webhooks list --json")


WHOLE_READS = {("rows.py", "waiting", "wsgiauth_webhook"): "a figure counts what waits"}
ABOUT_NO_USER = {
    "wsgiauth_webhook": (
        "it has for the receivers of the operator what the trail says of users, until it is sent"
    )
}


def fail_to_send(scene):
    """Tries of webhooks end."""
    Failures().add("billing.example", "status 410", 1.0, number=3)


EVENTS = [
    pytest.param(
        fail_to_send,
        [("webhook_failed", None, None, "billing.example: 3 webhooks: status 410")],
        id="webhooks that a receiver does not want",
    ),
]
