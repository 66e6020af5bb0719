"""GET /auth/admin/events: the audit trail, the newest event first."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from urllib.parse import urlencode
from wsgiref.types import WSGIEnvironment

from wsgiauth.accounts import find_user
from wsgiauth.admin import (
    EVENTS,
    USERS,
    Frame,
    PanelEndpoint,
    PanelPage,
    frame_of,
    panel_url,
    require_staff,
)
from wsgiauth.admin.trail_rows import TITLES, TrailRow, trail_rows
from wsgiauth.events import CHANGES, actors, trail
from wsgiauth.events.trail import Filters, Position
from wsgiauth.exceptions import ValidationError
from wsgiauth.site import Site
from wsgiauth.storage.models import json_fields
from wsgiauth.web.request import prefers_html, query_fields
from wsgiauth.web.responses import Response, json_response

PAGE = 50  # events

_FIELDS = ("user", "actor", "name", "since", "until")
_BEFORE = "before"
_NOBODY = 0  # the number of no user
_NUMBER = re.compile("[1-9][0-9]{0,17}")
_POSITION = re.compile("([0-9]{1,12})-([0-9]{1,18})")


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
    titles: Mapping[str, str] = TITLES
    events_url: str
    users_url: str
    next_url: str
    is_filtered: bool


class Events(PanelEndpoint):
    """Lists the events of the trail, a page at a time."""

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
            events = [json_fields(each.event._asdict()) for each in entries[:PAGE]]
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
