"""What the feature `webhooks` declares: see `wsgiauth.feature`."""

from collections.abc import Callable, Mapping

from wsgiauth.authentication.tokens import Tokens
from wsgiauth.events import Recorder
from wsgiauth.events.kinds import DeclaredKinds
from wsgiauth.feature import Command, Feature
from wsgiauth.features.webhooks import rows
from wsgiauth.features.webhooks.failures import WEBHOOK_FAILED
from wsgiauth.features.webhooks.questions import QUESTIONS
from wsgiauth.features.webhooks.queue import Webhooks
from wsgiauth.features.webhooks.receivers import check_events, receivers_of
from wsgiauth.features.webhooks.recorder import WebhookRecorder
from wsgiauth.features.webhooks.tables import Webhook
from wsgiauth.figures import Waiting
from wsgiauth.parts import PartFactories, Parts
from wsgiauth.settings import Settings
from wsgiauth.site import Site


def _parts(settings: Settings) -> PartFactories:
    if not settings.WEBHOOKS:
        return {}

    def make(parts: Parts) -> Webhooks:
        receivers = receivers_of(settings)
        check_events(receivers.values(), parts.need(DeclaredKinds))
        return Webhooks(settings, receivers, parts.need(Tokens).now)

    return {Webhooks: make}


def _recorder(settings: Settings, site: Site | None) -> Recorder | None:
    if not settings.WEBHOOKS:
        return None
    return WebhookRecorder(settings, None if site is None else site.part(Webhooks))


def _waiting(settings: Settings) -> Mapping[str, Callable[[], Waiting]]:
    return {"webhooks": rows.waiting} if settings.WEBHOOKS else {}


FEATURE = Feature(
    name="webhooks",
    commands={
        "webhooks": Command(
            "wsgiauth.features.webhooks.commands",
            "list, test and send again the webhooks of WEBHOOKS",
        )
    },
    parts=_parts,
    events=(WEBHOOK_FAILED,),
    recorder=_recorder,
    waiting=_waiting,
    expiring={"webhook": Webhook},
    questions=QUESTIONS,
)
