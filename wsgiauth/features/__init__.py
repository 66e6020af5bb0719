"""The list of features, with one declaration for each."""

from wsgiauth.events import Recorder
from wsgiauth.feature import at_first_proof_of, composers_of, letter_samples_of, ways_in_of
from wsgiauth.features.factors import feature as factors
from wsgiauth.features.forward_auth import feature as forward_auth
from wsgiauth.features.keys import feature as keys
from wsgiauth.features.links import feature as links
from wsgiauth.features.notices import feature as notices
from wsgiauth.features.panel import feature as panel
from wsgiauth.features.providers import feature as providers
from wsgiauth.features.services import feature as services
from wsgiauth.features.transfer import feature as transfer
from wsgiauth.mail.outbox import Outbox
from wsgiauth.settings import Settings
from wsgiauth.web.pages import Page

FEATURES = (
    factors.FEATURE,
    keys.FEATURE,
    links.FEATURE,
    providers.FEATURE,
    services.FEATURE,
    forward_auth.FEATURE,
    notices.FEATURE,
    panel.FEATURE,
    transfer.FEATURE,
)

COMPOSERS = composers_of(FEATURES)
LETTER_SAMPLES = letter_samples_of(FEATURES)
WAYS_IN = ways_in_of(FEATURES)
AT_FIRST_PROOF = at_first_proof_of(FEATURES)


def recorders(settings: Settings, outbox: Outbox | None, mount: str) -> list[Recorder]:
    """Return what is called in the transaction of each change of an account; see `Feature`."""
    return [each.recorder(settings, outbox, mount) for each in FEATURES if each.recorder]


def page_samples() -> list[Page]:
    """Return an example of each page; of one template, the last is the most usual."""
    from wsgiauth.endpoints.samples import PAGES

    return [*(page for each in FEATURES for page in each.pages()), *PAGES]
