"""docs/events.md: its program runs, and its lists of events are complete."""

import re

from tests.docs.pages import PAGES, section
from wsgiauth.events.kinds import RefusedAttempt
from wsgiauth.feature import event_kinds_of
from wsgiauth.features.registry import FEATURES

PAGE = PAGES["docs/events.md"]

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


def names_in(text):
    """Return the names of the events that the items of lists describe."""
    items = re.findall(r"^- (`.*?`): ", text, re.MULTILINE)
    return {name for item in items for name in re.findall(r"`(\w+)`", item)}


def test_the_lists_have_each_event():
    listed = names_in(section(PAGE, "Events in your code"))
    found = {each.name for each in event_kinds_of(FEATURES)}
    advice = 'the lists of "Events in your code" in docs/events.md'
    assert not found ^ listed, f"{sorted(found ^ listed)}: {advice}"


def test_the_last_list_has_each_event_that_is_only_in_the_log():
    listed = names_in(section(PAGE, "Failed and refused attempts"))
    assert listed == {
        each.name for each in event_kinds_of(FEATURES) if isinstance(each, RefusedAttempt)
    }
