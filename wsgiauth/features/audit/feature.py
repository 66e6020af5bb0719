"""What the feature `audit` declares: see `wsgiauth.feature`."""

from wsgiauth.accounts.personal_data import Records
from wsgiauth.feature import Command, Feature
from wsgiauth.features.audit.own_events import own_events
from wsgiauth.features.audit.questions import QUESTIONS

FEATURE = Feature(
    name="audit",
    commands={
        "events": Command(
            "wsgiauth.features.audit.commands", "print the audit trail, the newest change last"
        )
    },
    personal_data={"wsgiauth_event": Records("events", own_events)},
    questions=QUESTIONS,
)
