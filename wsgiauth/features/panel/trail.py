"""GET /auth/admin/events: the audit trail, the newest event first."""

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import NamedTuple
from urllib.parse import urlencode
from wsgiref.types import WSGIEnvironment

from wsgiauth.accounts import find_user
from wsgiauth.accounts.names import typed
from wsgiauth.events import Event, actors
from wsgiauth.events.kinds import Change
from wsgiauth.exceptions import ValidationError
from wsgiauth.features.audit import trail
from wsgiauth.features.audit.trail import Entry, Filters, Position
from wsgiauth.features.panel.event_words import reason_in_words, title_of
from wsgiauth.forms.endpoint import BackLink
from wsgiauth.messages import _, pgettext
from wsgiauth.openapi.problems import INVALID_QUERY
from wsgiauth.site import Site
from wsgiauth.staff.event_reasons import Named, named_reasons
from wsgiauth.staff.frame import (
    EVENTS,
    Chip,
    PanelEndpoint,
    PanelPage,
    frame_of,
    panel_url,
    require_staff,
)
from wsgiauth.staff.people import ACTORS, Person, actor_in_words, names_of, person
from wsgiauth.storage.models import json_fields
from wsgiauth.web.pages import UrlBelow
from wsgiauth.web.request import prefers_html, query_fields
from wsgiauth.web.responses import Response, json_response
from wsgiauth.web.urls import is_number

PAGE = 50  # events

_FIELDS = ("user", "actor", "name", "since", "until")
_LABELS = {
    "user": _("Account"),
    "actor": _("Done by"),
    "name": _("Event"),
    "since": pgettext("events", "Since"),
    "until": pgettext("events", "Before"),
}
_BEFORE = "before"
_NO_USER = 0  # no user has this number
_POSITION = re.compile("([0-9]{1,12})-([0-9]{1,18})")


class TrailRow(NamedTuple):
    """An event in a table; see `Event`."""

    time: datetime
    title: str
    user: Person | None
    actor: Person | str | None  # in words if it is no user
    address: str
    reason: str  # in words
    reason_url: str = ""  # the page about what the reason names; empty without one
    icon: str = "pencil"  # its name in `macros.html`
    is_warning: bool = False  # it can be an attack


class EventsPage(PanelPage):
    """A page of the trail."""

    template = "admin/events.html"
    events_url = UrlBelow("admin/events")  # where the form is sent
    users_url = UrlBelow("admin/users")
    rows: tuple[TrailRow, ...]
    fields: dict[str, str]  # of the form, as sent
    chips: tuple[Chip, ...] = ()  # the fields that have a value
    titles: Mapping[str, str]  # the events to choose from
    newest_url: str  # the first page; empty if it is this one
    next_url: str  # empty if there is no next page
    is_filtered: bool  # a field has a value


class Events(PanelEndpoint):
    """Lists the events of the trail, a page at a time."""

    back = BackLink("admin/events", _("Back to the audit trail"))
    step = _("The audit trail")
    failures = (INVALID_QUERY,)

    def get(self, environ: WSGIEnvironment, site: Site) -> Response:
        """Answer with a page of the trail, or with the same events as JSON."""
        member = require_staff(environ, site).user
        given = query_fields(environ, (*_FIELDS, _BEFORE))
        fields = {name: typed(given[name]) for name in _FIELDS}
        position = _POSITION.fullmatch(given[_BEFORE])
        after = None if position is None else Position(int(position[1]), int(position[2]))
        entries = trail.page(_filters(fields, site), after=after, size=PAGE + 1)
        events_url = f"{panel_url(environ)}/{EVENTS}"
        chosen = {name: value for name, value in fields.items() if value}
        next_url = ""
        if len(entries) > PAGE:
            time, number = entries[PAGE - 1].position
            next_url = f"{events_url}?{urlencode(chosen | {_BEFORE: f'{time}-{number}'})}"
        if not prefers_html(environ):
            events = [json_fields(each.event._asdict()) for each in entries[:PAGE]]
            return json_response({"events": events, "next": next_url or None})
        page = EventsPage(
            frame=frame_of(environ, member, EVENTS),
            rows=tuple(trail_rows(entries[:PAGE], site, panel_url(environ))),
            fields=fields,
            chips=tuple(_chips(chosen, site, events_url)),
            titles={each.name: each.title for each in site.changes.values()},
            newest_url=f"{events_url}?{urlencode(chosen)}" if after else "",
            next_url=next_url,
            is_filtered=bool(chosen),
        )
        return site.pages.render(environ, page)


def trail_rows(entries: list[Entry], site: Site, panel: str) -> list[TrailRow]:
    """Return events with the names of their users, and of what their reasons identify.

    Args:
        panel: The URL of the panel.
    """
    events = [entry.event for entry in entries]
    named = named_reasons(site.parts, events)
    acting = {actors.user_id_of(each.actor or "") for each in events}
    names = names_of({each.user_id for each in events} | acting)
    return [_row(each, site.changes.get(each.name), names, named, panel) for each in events]


def _row(
    event: Event, kind: Change | None, names: Mapping[int, str], named: Named, panel: str
) -> TrailRow:
    actor = event.actor or ""
    key = actors.key_of(actor)
    reason = named.reasons.get(event)
    row = TrailRow(
        time=event.time,
        title=title_of(event, kind),
        user=person(event.user_id, names),
        actor=person(actors.user_id_of(actor), names, key, named.keys.get(key, ""))
        or (event.actor and actor_in_words(actor)),
        address=event.address or "",
        reason=reason_in_words(event, kind),
    )
    if reason is not None:
        url = f"{panel}/{reason.path}" if reason.path else ""
        row = row._replace(reason=reason.name, reason_url=url)
    return row if kind is None else row._replace(icon=kind.icon, is_warning=kind.is_warning)


def _chips(chosen: Mapping[str, str], site: Site, events_url: str) -> Iterator[Chip]:
    """Yield the filters that have a value; users by their labels, which can cost a query."""
    users = {name: _id_in(value) for name, value in chosen.items()}
    names = names_of(set(users.values()))
    for name, value in chosen.items():
        words = site.changes[value].title if name == "name" else value
        others = urlencode({each: chosen[each] for each in chosen if each != name})
        url = f"{events_url}?{others}" if others else events_url
        yield Chip(_LABELS[name], names.get(users[name] or _NO_USER, words), url)


def _filters(fields: dict[str, str], site: Site) -> Filters:
    errors: dict[str, list[str]] = {}
    for name in ("since", "until"):
        if fields[name] and _time(fields[name]) is None:
            message = _(
                "%(field)s must be a date or a time, such as 2026-11-02 or 2026-11-02T09:30:00Z.",
                field=name,
            )
            errors[name] = [message]
    if fields["name"] not in ("", *site.changes):
        errors["name"] = [_("name must be the name of an event.")]
    if errors:
        raise ValidationError(errors)
    as_shown = {str(words): actor for actor, words in ACTORS.items()}
    actor = as_shown.get(fields["actor"], fields["actor"])
    if actor and not actors.is_actor(actor):
        actor = actors.user(_user_id(actor))
    if not actor.isprintable():
        actor = actors.user(_NO_USER)
    return Filters(
        user_id=_user_id(fields["user"]) if fields["user"] else None,
        actor=actor or None,
        name=fields["name"] or None,
        since=_time(fields["since"]),
        until=_time(fields["until"]),
    )


def _user_id(text: str) -> int:
    """Return the id of the user with this name, or with this id if no user has the name.

    `user 7` is always the id, as in an actor: no name has a space.
    """
    user = find_user(text)
    if user is not None:
        return user.id
    number = text.removeprefix("user ")
    return int(number) if is_number(number) else _NO_USER


def _id_in(actor: str) -> int | None:
    number = actors.user_id_of(actor)
    return number if is_number(str(number)) else None


def _time(text: str) -> datetime | None:
    try:
        time = datetime.fromisoformat(text)
        return time.replace(tzinfo=time.tzinfo or UTC)
    except ValueError:
        return None
