"""GET /auth/admin: how the site is, on the first page of the panel."""

from collections.abc import Collection, Iterator, Sequence
from datetime import datetime
from typing import Any, NamedTuple
from wsgiref.types import WSGIEnvironment

from wsgiauth.accounts.models import User
from wsgiauth.events.actors import feature_code
from wsgiauth.events.kinds import LOGIN, LOGIN_FAILED, SECOND_FACTOR_FAILED
from wsgiauth.feature import Finding, Question
from wsgiauth.figures import KEPT, Figures, Reading
from wsgiauth.figures.event_counts import HOUR, by_hour
from wsgiauth.messages import _, ngettext
from wsgiauth.questions import findings_of, questions_of
from wsgiauth.site import Site
from wsgiauth.staff.frame import OVERVIEW, PanelEndpoint, PanelPage, frame_of, require_staff
from wsgiauth.storage import database
from wsgiauth.storage.connections import TimeLimitError
from wsgiauth.storage.models import from_timestamp, utc_text
from wsgiauth.web.pages import UrlBelow
from wsgiauth.web.request import prefers_html
from wsgiauth.web.responses import Response, json_response

NEW = 7 * 24 * HOUR  # seconds for which a user counts as new
LISTED = 10  # users who are locked out
LIMIT = 0.25  # seconds for a statement; `Figures` has a limit of its own

FAILURES = LOGIN_FAILED.name, SECOND_FACTOR_FAILED.name
HEIGHT, STEP, GAP = 100, 10, 2  # of the chart, and of a bar, in units of its own

_QUEUES = {
    "emails": _("Emails"),
    "logout_tokens": _("Logout tokens"),
    "webhooks": _("Webhooks"),
}
_MINUTE = 60


class Bar(NamedTuple):
    """One hour of a chart."""

    start: datetime
    number: int
    x: int
    height: int

    @property
    def y(self) -> int:
        """The upper edge."""
        return HEIGHT - self.height


class Chart(NamedTuple):
    """Numbers of events by hour."""

    title: str
    bars: tuple[Bar, ...]  # the present hour last

    @classmethod
    def of(cls, title: str, starts: Sequence[datetime], numbers: Sequence[int]) -> "Chart":
        """Return a chart whose highest bar has its full height, and whose small ones are seen."""
        most = max(numbers) or 1
        heights = [each and max(HEIGHT * each // most, 3) for each in numbers]
        bars = zip(starts, numbers, range(0, STEP * len(starts), STEP), heights, strict=True)
        return cls(title, tuple(Bar(*each) for each in bars))

    @property
    def total(self) -> int:
        """The number of all events."""
        return sum(each.number for each in self.bars)

    @property
    def peak(self) -> int:
        """The number of the hour with most events."""
        return max(each.number for each in self.bars)

    @property
    def view_box(self) -> str:
        """The size in units of the chart."""
        return f"0 0 {STEP * len(self.bars) - GAP} {HEIGHT}"

    @property
    def bar_width(self) -> int:
        """The width of a bar."""
        return STEP - GAP


class LockedUser(NamedTuple):
    """A user with whose names strangers must wait to log in."""

    id: int
    label: str
    until: datetime


class WaitingMessages(NamedTuple):
    """What waits to be sent."""

    queue: str
    number: int
    oldest_seconds: int

    @property
    def title(self) -> str:
        """What it is, in words."""
        return _QUEUES.get(self.queue, self.queue)

    @property
    def oldest(self) -> str:
        """For how long the oldest message waits, in words."""
        minutes, hours = self.oldest_seconds // _MINUTE, self.oldest_seconds // HOUR
        if hours > 1:
            return ngettext("the oldest for %(num)s hour", "the oldest for %(num)s hours", hours)
        return ngettext("the oldest for %(num)s minute", "the oldest for %(num)s minutes", minutes)


class OverviewPage(PanelPage):
    """The first page of the panel; a figure is None if it could not be counted in time."""

    template = "admin/overview.html"
    users_url = UrlBelow("admin/users")
    active: int | None
    inactive: int | None
    new_users: int | None  # of the last seven days
    sessions: int | None
    age: int | None  # of the figures, in seconds; None: they are new
    charts: tuple[Chart, ...]
    locked: tuple[LockedUser, ...]
    waiting: tuple[WaitingMessages, ...] | None
    warnings: tuple[str, ...] | None  # of `check`, in English; None: not for this reader
    notes: tuple[str, ...] = ()  # those of `warnings` that only an operator's settings cause


class Overview(PanelEndpoint):
    """Says how the site is."""

    def get(self, environ: WSGIEnvironment, site: Site) -> Response:
        """Answer with the page, or with the same figures as JSON."""
        member = require_staff(environ, site).user
        now = int(site.tokens.now())
        figures = site.require(Figures).read()
        users: Any = figures.values.get("users", {})
        sessions: Any = figures.values.get("sessions")
        starts, logins, failures = _by_hour(now)
        locked = tuple(
            LockedUser(each.user.id, each.user.label, each.until)
            for each in site.throttle.locked_users(most=LISTED)
        )
        waiting = _waiting(figures)
        notes = tuple(_risks(site)) if member.is_superuser else ()
        warnings = (*notes, *_warnings(site)) if member.is_superuser else None
        new_users, age = _new_users(now), int(figures.age)
        if not prefers_html(environ):
            hours = zip(map(utc_text, starts), logins, failures, strict=True)
            return json_response(
                {
                    "users": users or None,
                    "new_users": new_users,
                    "sessions": sessions,
                    "age": age,
                    "hours": [
                        dict(zip(("start", "logins", "failures"), each, strict=True))
                        for each in hours
                    ],
                    "locked": [each._asdict() | {"until": utc_text(each.until)} for each in locked],
                    "waiting": None if waiting is None else [each._asdict() for each in waiting],
                    "warnings": warnings,
                }
            )
        page = OverviewPage(
            frame=frame_of(environ, member, OVERVIEW),
            active=users.get("active"),
            inactive=users.get("inactive"),
            new_users=new_users,
            sessions=sessions,
            age=age if age > KEPT else None,
            charts=(
                Chart.of(_("Logins"), starts, logins),
                Chart.of(_("Failed logins"), starts, failures),
            ),
            locked=locked,
            waiting=waiting,
            warnings=warnings,
            notes=notes,
        )
        return site.pages.render(environ, page)


def _new_users(now: int) -> int | None:
    since = User.created_at >= from_timestamp(now - NEW)
    try:
        with database.time_limit(LIMIT):
            return int(User.select().where(since).count())
    except TimeLimitError:
        return None


def _by_hour(now: int) -> tuple[list[datetime], list[int], list[int]]:
    """Return the hours of the last day, and the numbers of logins and of failures in them."""
    found = by_hour((LOGIN.name, *FAILURES), now)
    first = now // HOUR - len(found) + 1
    starts = [from_timestamp((first + hour) * HOUR) for hour in range(len(found))]
    failures = [sum(each[name] for name in FAILURES) for each in found]
    return starts, [each[LOGIN.name] for each in found], failures


def _waiting(figures: Reading) -> tuple[WaitingMessages, ...] | None:
    numbers: Any = figures.values.get("waiting")
    ages: Any = figures.values.get("oldest_waiting_seconds")
    if numbers is None or ages is None:
        return None
    return tuple(
        WaitingMessages(queue, int(number), int(ages.get(queue, 0)))
        for queue, number in numbers.items()
    )


def _risks(site: Site) -> Iterator[str]:
    """Yield the names of settings of which `check` would warn, without their values."""
    names = [each.partition(" ")[0] for each in site.settings.risks()]
    if names:
        yield (
            f"Settings with a risk: {', '.join(names)}. With the settings of the server,"
            " `python -m wsgiauth check` says more."
        )


def _warnings(site: Site) -> Iterator[str]:
    """Yield what other questions of `check` would warn of, if they show no value of a setting."""
    for question in questions_of(site):
        if question.is_for_panel:
            yield from (each.sentence for each in _findings(question, site) if each.is_risk)


def _findings(question: Question, site: Site) -> Collection[Finding]:
    """Return the findings of a question, or none if it fails: the other figures remain."""
    with feature_code(question.feature, "an answer of `check` on the overview of the staff panel"):
        if not question.needs_database:
            return findings_of(question, site)
        with database.time_limit(LIMIT):
            return findings_of(question, site)
    return []
