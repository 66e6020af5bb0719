"""The declaration of the feature `transfer`: see `wsgiauth.feature`."""

from wsgiauth.events.kinds import REGISTRATION
from wsgiauth.feature import Feature
from wsgiauth.messages import pgettext

FEATURE = Feature(
    name="transfer",
    event_reasons={REGISTRATION: {"import": pgettext("reason of an event", "import")}},
)
