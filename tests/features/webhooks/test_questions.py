"""What `check` says about webhooks, and the figures of what waits."""

from dataclasses import replace

from tests.support.sites import echo
from tests.support.webhook_receiver import SECRET
from wsgiauth import AuthMiddleware, events, storage
from wsgiauth.events import kinds
from wsgiauth.features.webhooks import questions, rows
from wsgiauth.features.webhooks.questions import QUESTIONS
from wsgiauth.features.webhooks.queue import Webhooks
from wsgiauth.features.webhooks.tables import Webhook
from wsgiauth.figures import Figures


def findings(site):
    return [each for question in QUESTIONS for each in question.ask(site.site)]


def test_a_site_is_told_how_commands_cause_webhooks(site):
    (finding,) = findings(site)
    assert not finding.is_risk
    assert "the same WEBHOOKS" in finding.sentence


def test_many_that_wait_are_a_risk(site, receiver, monkeypatch):
    assert questions.MANY == 10_000
    monkeypatch.setattr(questions, "MANY", 2)
    events.emit(kinds.LOGOUT)
    assert len(findings(site)) == 1
    events.emit(kinds.LOGOUT)
    (risk,) = [each.sentence for each in findings(site) if each.is_risk]
    assert risk == f"2 webhooks wait for {receiver.host}: see `webhooks list`."
    assert SECRET not in risk


def test_rows_of_former_urls_are_a_risk(site, settings):
    events.emit(kinds.LOGOUT)
    without = AuthMiddleware(echo, replace(settings, WEBHOOKS=()))
    (risk,) = findings(without)
    assert risk.sentence.startswith("WEBHOOKS no longer has the URLs of 1 webhook:")
    assert without.site.part(Webhooks) is None
    storage.discard_connection(without.database)


def test_the_figures_have_what_waits(site, clock):
    events.emit(kinds.LOGOUT)
    clock.move(7)
    events.emit(kinds.LOGOUT)
    events.emit(kinds.LOGOUT)
    Webhook.update(due_at=None).where(Webhook.created_at < clock.now).execute()
    assert rows.waiting() == (2, clock.now)
    values = site.site.require(Figures).read().values
    assert values["waiting"]["webhooks"] == 2
