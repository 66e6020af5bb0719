"""docs/events.md: its program runs, and its table of events is complete."""

import re

from tests.docs.pages import PAGES, section
from wsgiauth.feature import event_kinds_of
from wsgiauth.features.registry import FEATURES

GUESSES = """
from audited import application
from webtest import TestApp

client = TestApp(application, {"REMOTE_ADDR": "192.0.2.1"})
guess = {"username": "ada", "password": "a guess"}
answers = [client.post_json("/auth/login", guess, expect_errors=True) for _ in range(10)]
print(max(answer.status_int for answer in answers))  # a second can end before the last one
"""


def test_events_are_logged_and_given_to_functions(run, folder):
    (folder / "guesses.py").write_text(GUESSES, encoding="utf-8")
    *alarms, status = run("python guesses.py 2> log").splitlines()
    assert set(alarms) == {"192.0.2.1 must wait: account"}
    assert status == "429"
    logged = re.findall("event=([a-z_]*)", (folder / "log").read_text("utf-8"))
    assert logged[:5] == ["login_failed"] * 5
    assert logged.count("throttled") == len(alarms)


def test_the_event_table_is_that_of_the_events():
    rows = re.findall(
        r"^\| (`.*?) \|", section(PAGES["docs/events.md"], "Events in your code"), re.MULTILINE
    )
    listed = {name for row in rows for name in re.findall(r"`(\w+)`", row)}
    found = {each.name for each in event_kinds_of(FEATURES)}
    advice = 'the rows of "Events in your code" in docs/events.md'
    assert not found ^ listed, f"{sorted(found ^ listed)}: {advice}"
