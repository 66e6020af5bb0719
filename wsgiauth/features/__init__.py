"""The list of features, with one declaration for each."""

from wsgiauth.events import Recorder
from wsgiauth.feature import composers_of, letter_samples_of
from wsgiauth.features import factors, links, notices, providers, services
from wsgiauth.mail.outbox import Outbox
from wsgiauth.settings import Settings

FEATURES = (
    factors.FEATURE,
    links.FEATURE,
    providers.FEATURE,
    services.FEATURE,
    notices.FEATURE,
)

COMPOSERS = composers_of(FEATURES)
LETTER_SAMPLES = letter_samples_of(FEATURES)


def recorders(settings: Settings, outbox: Outbox | None, mount: str) -> list[Recorder]:
    """Return what is called in the transaction of each change of an account; see `Feature`."""
    return [each.recorder(settings, outbox, mount) for each in FEATURES if each.recorder]
