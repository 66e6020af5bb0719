"""GET /auth/admin: how the site is."""

import re
import time
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from webtest import TestApp

from tests.conftest import read_user
from tests.support.factors import add_app
from tests.support.sites import echo
from wsgiauth import AuthMiddleware, storage
from wsgiauth.authentication import sessions
from wsgiauth.feature import Finding, Question
from wsgiauth.features.panel.overview import Chart, WaitingMessages
from wsgiauth.figures import Figures, Reading
from wsgiauth.figures.event_counts import add
from wsgiauth.mail.outbox import LIFETIME, Mail
from wsgiauth.storage.connections import TimeLimitError
from wsgiauth.testing import bearer, make_user

OVERVIEW = "/auth/admin"
HOUR = 3600  # seconds


def texts(page, selector):
    """Return the texts of elements, with single spaces."""
    return [" ".join(each.text.split()) for each in page.html.select(selector)]


def lock_out(site, user):
    """Let strangers fail under the name of a user until they must wait."""
    for _ in range(site.site.settings.LOGIN_FAILURES_PER_ACCOUNT):
        attempt = site.site.throttle.login(user.username, ("203.0.113.9",))
        attempt.begin()
        attempt.failed("wrong password", user.id)


@pytest.fixture
def now(site, monkeypatch):
    """Stop the clock of the site, and return its time."""
    now = int(time.time())
    monkeypatch.setattr(site.site.tokens, "now", lambda: now)
    monkeypatch.setattr(site.site.require(Figures), "now", lambda: now)
    return now


@pytest.mark.every_database
def test_the_figures_are_those_of_the_database(program, now, make, tokens, boss):
    for name, age in (("Old", 8), ("Older", 400), ("New", 6)):
        make(name, created_at=datetime.now(UTC) - timedelta(days=age))
    make("Ina", "inactive")
    sessions.start(boss, tokens)
    for name, number, hours in (
        ("login", 5, 0),
        ("login", 7, 23),
        ("login", 100, 24),
        ("login_failed", 2, 3),
        ("second_factor_failed", 1, 3),
        ("logout", 9, 3),
    ):
        add((now - hours * HOUR) // 60, name, number)
    answer = program(OVERVIEW).json
    assert answer["users"] == {"active": 4, "inactive": 1}
    assert answer["new_users"] == 3  # and Ina, and the superuser
    assert answer["sessions"] == 2
    hours = [(each["logins"], each["failures"]) for each in answer["hours"]]
    assert hours == [(7, 0), *[(0, 0)] * 19, (0, 3), (0, 0), (0, 0), (5, 0)]
    last = datetime.fromtimestamp(now - now % HOUR, UTC)
    assert answer["hours"][-1]["start"] == f"{last:%Y-%m-%dT%H:00:00Z}"
    assert answer["waiting"] == [{"queue": "emails", "number": 0, "oldest_seconds": 0}]
    assert answer["locked"] == []


@pytest.mark.every_database
def test_users_who_are_locked_out_are_listed_until_when_and_linked(browser, program, site, make):
    ann, _tim = make("Ann"), make("Tim")
    lock_out(site, ann)
    (locked,) = program(OVERVIEW).json["locked"]
    assert (locked["id"], locked["label"]) == (ann.id, "Ann")
    assert datetime.fromisoformat(locked["until"]) > datetime.now(UTC) - timedelta(minutes=1)
    page = browser.get(OVERVIEW)
    assert page.html.find("a", string="Ann")["href"] == f"/auth/admin/users/{ann.id}"
    page.mustcontain("Locked at new addresses", "until", no="No user is locked at new addresses.")


def test_the_page_says_the_same_in_words(browser, now):
    minute = now // 60
    add(minute, "login", 1200)
    add(minute - 60, "login_failed", 3)
    page = browser.get(OVERVIEW)
    assert texts(page, "h1") == ["Overview"]
    assert texts(page, ".figures div") == [
        "Active users 1",
        "Inactive users 0",
        "New in the last 7 days 1",
        "Sessions 1",
    ]
    assert texts(page, "figcaption p") == [
        "1,200 in the last 24 hours; at most 1,200 in an hour",
        "3 in the last 24 hours; at most 3 in an hour",
    ]
    assert [each["height"] for each in page.html.select("rect")] == ["100", "100"]
    last, before = (row(["th", "td"]) for row in reversed(page.html.select(".numbers tr")[-2:]))
    assert [each.text for each in (*before[1:], *last[1:])] == ["0", "3", "1,200", "0"]
    page.mustcontain("No user is locked at new addresses.", no=["seconds old", "style=", "<img"])
    assert texts(page, "nav [aria-current]") == ["Overview"]


def test_a_day_without_events_has_empty_charts(browser):
    page = browser.get(OVERVIEW)
    assert texts(page, "figcaption p") == ["None in the last 24 hours"] * 2
    assert page.html.select("rect") == []


def test_a_small_number_is_seen_beside_a_large_one():
    hours = [datetime(2026, 11, 2, each, tzinfo=UTC) for each in range(3)]
    chart = Chart.of("Logins", hours, [1, 0, 1000])
    assert [(each.x, each.y, each.height) for each in chart.bars] == [
        (0, 97, 3),
        (10, 100, 0),
        (20, 0, 100),
    ]
    assert (chart.view_box, chart.total, chart.peak) == ("0 0 28 100", 1001, 1000)


def test_what_waits_says_how_much_and_for_how_long(browser, program, now):
    for number in range(2):
        times = {"due_at": now - 150, "expires_at": now - 150 + LIFETIME}
        Mail.create(id=str(number), kind="reset", data="{}", **times)
    (waiting,) = program(OVERVIEW).json["waiting"]
    assert (waiting["queue"], waiting["number"]) == ("emails", 2)
    assert waiting["oldest_seconds"] == 150
    assert "Emails 2, the oldest for 2 minutes" in texts(browser.get(OVERVIEW), ".rows li")


def test_a_queue_has_a_title_and_its_oldest_message_an_age_in_words():
    ages = {"emails": 60, "webhooks": 7199, "further": 7200}
    waiting = [WaitingMessages(queue, 1, seconds) for queue, seconds in ages.items()]
    assert [(str(each.title), str(each.oldest)) for each in waiting] == [
        ("Emails", "the oldest for 1 minute"),
        ("Webhooks", "the oldest for 119 minutes"),
        ("further", "the oldest for 2 hours"),
    ]


def test_a_figure_that_was_not_counted_in_time_is_left_out(browser, program, site, monkeypatch):
    @contextmanager
    def cancelled(_seconds):
        raise TimeLimitError
        yield

    monkeypatch.setattr(storage.current(), "time_limit", cancelled)
    answer = program(OVERVIEW).json
    assert {name: answer[name] for name in ("users", "new_users", "sessions", "waiting")} == {
        "users": None,
        "new_users": None,
        "sessions": None,
        "waiting": None,
    }
    page = browser.get(OVERVIEW)
    assert texts(page, ".figures dd") == ["not counted in time"] * 4


def test_figures_that_are_old_say_so(browser, program, site, monkeypatch):
    old = Reading(site.site.require(Figures).read().values, 40.4)
    monkeypatch.setattr(site.site.require(Figures), "read", lambda: old)
    assert program(OVERVIEW).json["age"] == 40
    browser.get(OVERVIEW).mustcontain("these numbers are 40 seconds old")


def asking(site, *questions):
    """Let a site ask these questions instead of those of its features."""
    object.__setattr__(site.site, "questions", questions)


def test_superusers_alone_see_what_check_would_warn_of(program, client, site, make, browser_of):
    asking(
        site,
        Question(lambda _: [Finding("`x` is wrong.")], is_for_panel=True),
        Question(lambda _: [Finding("A note.", is_risk=False)], False, is_for_panel=True),
        Question(lambda _: [Finding("A long question.")]),
    )
    warnings = program(OVERVIEW).json["warnings"]
    assert warnings[-1] == "`x` is wrong."
    assert not {"A note.", "A long question."} & {*warnings}
    staff = make("Ann", "manager")
    assert client.get(OVERVIEW, headers=bearer(site, staff)).json["warnings"] is None
    browser_of(staff).get(OVERVIEW).mustcontain(no=["Warnings", "x</code> is wrong"])
    boss = browser_of(read_user("Boss")).get(OVERVIEW)
    boss.mustcontain("Warnings", "<code>x</code> is wrong.", no=["A note.", "A long"])


def test_a_setting_with_a_risk_is_a_note_below_the_figures(browser, site):
    asking(site)
    page = browser.get(OVERVIEW)
    assert page.html.find(id="warnings") is None
    (note,) = page.html.select(".figures ~ section .points li")
    assert note.text.startswith("Settings with a risk: BCRYPT_ROUNDS.")
    asking(site, Question(lambda _: [Finding("`x` is wrong.")], False, is_for_panel=True))
    assert texts(browser.get(OVERVIEW), ".notice li") == ["x is wrong."]


def test_a_figure_leads_to_the_users_whom_it_counts(browser, make):
    make("Ina", "inactive")
    page = browser.get(OVERVIEW).click("1", href="active=no")
    assert [each.text for each in page.html.select("tbody th a")] == ["Ina"]


def test_a_warning_about_a_setting_names_it_without_its_value(program, site):
    asking(site)
    (warning,) = program(OVERVIEW).json["warnings"]
    assert warning.startswith("Settings with a risk: BCRYPT_ROUNDS.")
    assert str(site.site.settings.BCRYPT_ROUNDS) not in warning


def test_without_a_risk_there_are_no_warnings(browser, site, settings, monkeypatch):
    asking(site)
    object.__setattr__(site.site, "settings", replace(settings, BCRYPT_ROUNDS=12))
    assert browser.get(OVERVIEW).html.find(id="warnings") is None


def test_a_question_that_fails_is_logged_and_left_out(program, site, caplog):
    def fail(_site):
        raise ZeroDivisionError

    sound = Question(lambda _: [Finding("Sound.")], is_for_panel=True)
    asking(site, Question(fail, is_for_panel=True), sound)
    assert program(OVERVIEW).json["warnings"][-1] == "Sound."
    (record,) = caplog.records
    assert (record.levelname, record.exc_info[0]) == ("ERROR", ZeroDivisionError)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"TRUSTED_BROWSER_DAYS": 17, "FACTOR_KEY": None}, "TRUSTED_BROWSER_DAYS is set, but"),
        ({"LOGIN_CODES": True, "MAILS_PER_ACCOUNT": 0}, "LOGIN_CODES is on, but"),
        (
            {"FACTOR_KEY": None, "PASSKEYS": True, "SECOND_FACTOR": "staff"},
            "FACTOR_KEY is not set, but",
        ),
    ],
    ids=["a trusted browser", "codes in emails", "a lost key"],
)
def test_a_warning_shows_no_value_of_a_setting(site, post, changes, sentence):
    changed = AuthMiddleware(echo, replace(site.site.settings, **changes), send_mail=post)
    boss = make_user(changed, "Root", is_staff=True, is_superuser=True)
    add_app(changed, boss)
    answer = TestApp(changed).get(OVERVIEW, headers=bearer(changed, boss, second_factor=True))
    (warning,) = [each for each in answer.json["warnings"] if each.startswith(sentence)]
    assert not {"17", "0", "SECOND_FACTOR=", "is staff"} & {*re.split("[ ,.]", warning)}
