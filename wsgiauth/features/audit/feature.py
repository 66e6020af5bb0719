"""What the feature `audit` declares: see `wsgiauth.feature`."""

from wsgiauth.accounts.personal_data import Records
from wsgiauth.feature import Feature
from wsgiauth.features.audit.own_events import own_events
from wsgiauth.features.audit.questions import QUESTIONS

FEATURE = Feature(
    name="audit",
    personal_data={"wsgiauth_event": Records("events", own_events)},
    questions=QUESTIONS,
)
