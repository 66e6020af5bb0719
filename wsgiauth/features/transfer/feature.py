"""The declaration of the feature `transfer`: see `wsgiauth.feature`."""

from wsgiauth.events.kinds import REGISTRATION
from wsgiauth.feature import Command, Feature
from wsgiauth.messages import pgettext

_COMMANDS = "wsgiauth.features.transfer.commands"

FEATURE = Feature(
    name="transfer",
    commands={
        "import": Command(_COMMANDS, "create the users of a CSV file; run it again to resume"),
        "export": Command(_COMMANDS, "print all users as CSV, as `import` reads it"),
    },
    event_reasons={REGISTRATION: {"import": pgettext("reason of an event", "import")}},
)
