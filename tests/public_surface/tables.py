"""The tables that applications refer to and read, and the events."""

import re

from tests.docs.pages import PAGES, section
from tests.public_surface.names import documented_attributes
from tests.support.declared import CHANGES
from wsgiauth import User
from wsgiauth.cli import all_commands
from wsgiauth.events import Event
from wsgiauth.events.models import RecordedEvent
from wsgiauth.feature import event_kinds_of
from wsgiauth.features.registry import FEATURES
from wsgiauth.mail.outbox import Mail

EVENTS = {each.name for each in event_kinds_of(FEATURES)}
# Whose other columns are internal.
COLUMNS = {
    User: {"id", *documented_attributes(User)},
    RecordedEvent: {"id", *Event._fields},
    Mail: {"attempts", "due_at"},
}


def lines():
    """Yield the lines of the columns, and of the events with their reasons."""
    for model, public in COLUMNS.items():
        for column in model._meta.sorted_fields:
            if column.column_name in public:
                table = f"table {model._meta.table_name}"
                yield f"{table} | {column.column_name}: {type(column).field_type}"
    for name in EVENTS:
        yield f"event {name}: {'log and audit trail' if name in CHANGES else 'log'}"
    for name in Event._fields:
        yield f"log {'event' if name == 'name' else name}"
    lists = section(PAGES["docs/events.md"], "Events in your code")
    for names, text in re.findall(r"^- (`\w.*?`): (.*)$", lists, re.MULTILINE):
        for reason in filter(is_reason, re.findall("`(.*?)`", text)):
            for name in re.findall(r"`(\w+)`", names):
                yield f"event {name} | {reason}"


def is_reason(quoted):
    """Return whether code in the lists is a reason, and not a name of something else."""
    is_other = quoted.isupper() or "/" in quoted or quoted.startswith("python ")
    return not is_other and quoted not in {"reason", *EVENTS, *all_commands()}
