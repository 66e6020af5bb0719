"""GET /auth/admin/events: the audit trail, the newest event first."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from urllib.parse import urlencode
from wsgiref.types import WSGIEnvironment

from wsgiauth.accounts import find_user
from wsgiauth.admin import (
    EVENTS,
    EXAMPLE_FRAME,
    USERS,
    Frame,
    PanelEndpoint,
    PanelPage,
    frame_of,
    panel_url,
    require_staff,
)
from wsgiauth.admin.trail_rows import EXAMPLE_ROW, TITLES, Person, TrailRow, trail_rows
from wsgiauth.events import CHANGES, actors, trail
from wsgiauth.events.trail import Entry, Filters, Position
from wsgiauth.exceptions import ValidationError
from wsgiauth.site import Site
from wsgiauth.storage.models import utc_text
from wsgiauth.web.openapi import LOGGED_IN, TO_LOGIN, operation, success, with_page
from wsgiauth.web.request import prefers_html, query_fields
from wsgiauth.web.responses import Response, json_response

PAGE = 50  # events

_FIELDS = ("user", "actor", "name", "since", "until")
_BEFORE = "before"
_NOBODY = 0  # the number of no user
_NUMBER = re.compile("[1-9][0-9]{0,17}")
_POSITION = re.compile("([0-9]{1,12})-([0-9]{1,18})")


@dataclass(frozen=True, kw_only=True)
class EventsPage(PanelPage):
    """A page of the trail.

    Attributes:
        frame: See `PanelPage`.
        rows: The events.
        fields: What was asked for, by field.
        titles: The events to choose from: what people read, by name.
        events_url: Where the form is sent.
        users_url: Below which each user is.
        next_url: The next page, or nothing.
        is_filtered: Whether a field has a value.
    """

    template = "admin/events.html"

    frame: Frame
    rows: tuple[TrailRow, ...]
    fields: dict[str, str]
    titles: Mapping[str, str] = field(default_factory=lambda: TITLES)
    events_url: str
    users_url: str
    next_url: str
    is_filtered: bool


class Events(PanelEndpoint):
    """Lists the events of the trail, a page at a time."""

    samples = (
        EventsPage(
            frame=EXAMPLE_FRAME,
            rows=(EXAMPLE_ROW, EXAMPLE_ROW._replace(user=Person(8, ""), actor="command line ada")),
            fields=dict.fromkeys(_FIELDS, "") | {"user": "grace", "since": "2026-11-02"},
            events_url="/auth/admin/events",
            users_url="/auth/admin/users",
            next_url="/auth/admin/events?before=1793610300-7",
            is_filtered=True,
        ),
    )
    operations = {
        "get": operation(
            "readTrail",
            tag="administration",
            summary="The audit trail",
            description=f"At most {PAGE} events, the newest first.",
            security=LOGGED_IN,
            parameters=[
                {
                    "name": name,
                    "in": "query",
                    "description": description,
                    "schema": {"type": "string"},
                }
                for name, description in (
                    ("user", "The number or a name of the account."),
                    (
                        "actor",
                        "Who did it: the same of a user, `command line` or `code`, which is never a"
                        " user: give one of that name by number. `user 7 key 4fD8…` is an API key.",
                    ),
                    ("name", "The name of the event."),
                    ("since", "At this date or time (ISO 8601, UTC) or later."),
                    ("until", "Before this date or time."),
                    (_BEFORE, "Where the page begins, as in a `next`."),
                )
            ],
            answers={200: with_page(success("The events.", "Events")), 302: TO_LOGIN},
            failures=["Unauthenticated", "NotFound", "InvalidQuery", "Unavailable"],
        )
    }
    schemas = {
        "Events": {
            "type": "object",
            "required": ["events", "next"],
            "properties": {
                "events": {
                    "type": "array",
                    "items": {"$ref": "#/components/schemas/Event"},
                    "maxItems": PAGE,
                },
                "next": {
                    "type": ["string", "null"],
                    "description": "The path and query of the next page. Null: this is the last.",
                },
            },
        },
        "Event": {
            "type": "object",
            "required": ["time", "name", "user_id", "actor", "address", "reason"],
            "properties": {
                "time": {"type": "string", "format": "date-time"},
                "name": {"type": "string", "examples": ["rights_changed"]},
                "user_id": {"type": ["integer", "null"], "description": "The account."},
                "actor": {
                    "type": ["string", "null"],
                    "description": "`user 7`, `user 7 key 4fD8…`, `command line ada` or `code`.",
                },
                "address": {"type": ["string", "null"]},
                "reason": {"type": ["string", "null"]},
            },
        },
    }

    def get(self, environ: WSGIEnvironment, site: Site) -> Response:
        """Answer with a page of the trail, or with the same as JSON."""
        member = require_staff(environ, site).user
        given = query_fields(environ, (*_FIELDS, _BEFORE))
        fields = {name: given[name].strip() for name in _FIELDS}
        position = _POSITION.fullmatch(given[_BEFORE])
        after = None if position is None else Position(int(position[1]), int(position[2]))
        entries = trail.page(_filters(fields), after=after, size=PAGE + 1)
        events_url = f"{panel_url(environ)}/{EVENTS}"
        next_url = ""
        if len(entries) > PAGE:
            time, number = entries[PAGE - 1].position
            chosen = {name: value for name, value in fields.items() if value}
            next_url = f"{events_url}?{urlencode(chosen | {_BEFORE: f'{time}-{number}'})}"
        if not prefers_html(environ):
            events = [_document(each) for each in entries[:PAGE]]
            return json_response({"events": events, "next": next_url or None})
        page = EventsPage(
            frame=frame_of(environ, member, EVENTS),
            rows=tuple(trail_rows(entries[:PAGE])),
            fields=fields,
            events_url=events_url,
            users_url=f"{panel_url(environ)}/{USERS}",
            next_url=next_url,
            is_filtered=any(fields.values()),
        )
        return site.pages.render(page)


def _filters(fields: dict[str, str]) -> Filters:
    errors = {
        name: [f"{name} must be a date or a time, such as 2026-11-02 or 2026-11-02T09:30:00Z."]
        for name in ("since", "until")
        if fields[name] and _time(fields[name]) is None
    }
    if fields["name"] not in ("", *CHANGES):
        errors["name"] = ["name must be the name of an event."]
    if errors:
        raise ValidationError(errors)
    actor = fields["actor"]
    if actor == "application code":  # as the page shows it
        actor = actors.CODE
    elif actor and not actors.is_actor(actor):
        actor = actors.user(_user_id(actor))
    return Filters(
        user_id=_user_id(fields["user"]) if fields["user"] else None,
        actor=_printable(actor) or None,
        name=fields["name"] or None,
        since=_time(fields["since"]),
        until=_time(fields["until"]),
    )


def _printable(actor: str) -> str:
    return actor if actor.isprintable() else actors.user(_NOBODY)


def _user_id(text: str) -> int:
    """Return the number of the user of this number or name."""
    if _NUMBER.fullmatch(text):
        return int(text)
    user = find_user(text)
    return _NOBODY if user is None else user.id


def _time(text: str) -> datetime | None:
    try:
        time = datetime.fromisoformat(text)
        return time.replace(tzinfo=time.tzinfo or UTC)
    except ValueError:
        return None


def _document(entry: Entry) -> dict[str, object]:
    event = entry.event
    return {
        "time": utc_text(event.time),
        "name": event.name,
        "user_id": event.user_id,
        "actor": event.actor,
        "address": event.address,
        "reason": event.reason,
    }
