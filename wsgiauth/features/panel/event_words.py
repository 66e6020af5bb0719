"""The words for events and reasons on the pages of the audit trail.

JSON, the log and the trail itself keep the words of `events`.
"""

import re

from wsgiauth.authentication.methods import methods_in_words
from wsgiauth.events import Event
from wsgiauth.events.kinds import Change, Reasons
from wsgiauth.messages import list_of


def title_of(event: Event, kind: Change | None) -> str:
    """Return the title of an event, which can say its reason; its name if the kind is unknown."""
    if kind is None:
        return event.name
    return kind.titles.get(event.reason or "", kind.title)


def reason_in_words(event: Event, kind: Change | None) -> str:
    """Return the words for the reason of an event that its title does not say.

    An unknown reason stays.
    """
    reason = event.reason or ""
    if kind is None:
        return reason
    if reason in kind.titles:
        return ""
    if kind.is_methods:
        return methods_in_words(reason.split())
    if kind.is_list:
        return list_of(_in_words(each, kind.reasons) for each in reason.split(", "))
    return _in_words(reason, kind.reasons)


def _in_words(reason: str, reasons: Reasons) -> str:
    for pattern, words in reasons.items():
        if match := re.fullmatch(pattern, reason):
            return words if isinstance(words, str) else words(*match.groups())
    return reason
