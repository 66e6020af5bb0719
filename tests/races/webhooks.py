"""Races of webhooks."""

from tests.races.race import NOW, Race, race
from wsgiauth.features.webhooks import rows
from wsgiauth.features.webhooks.tables import Webhook


class _Sending(Race):
    def prepare(self):
        rows.insert(["a" * 32], "logout", "{}", NOW)
        return (Webhook.get(),)

    def one(self, row):
        return rows.claim(row, NOW)


@race(
    "A webhook is sent by two processes",
    "One of them sends it.",
    "compare and set: wsgiauth_webhook.due_at",
)
class SentTwice(_Sending):
    def check(self, outcome, *_):
        assert outcome.is_once(False)
        assert (Webhook.get().due_at, Webhook.get().attempts) == (NOW + rows.LEASE, 0)


@race(
    "A webhook is sent, and an operator sends it again",
    "One of them does.",
    "compare and set: wsgiauth_webhook.due_at",
)
class SentAndResent(_Sending):
    def other(self, row):
        return rows.resend(row, NOW + 1)

    def check(self, outcome, *_):
        assert outcome.is_once(False)
