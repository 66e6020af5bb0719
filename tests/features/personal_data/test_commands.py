"""`python -m wsgiauth personal-data`: the same file, for an operator."""

import json
import sys

import pytest

from tests.support.sites import SECRET_KEY
from wsgiauth import User
from wsgiauth.events.models import RecordedEvent

APPLICATION = """
from wsgiauth import AuthMiddleware

def app(environ, start_response):
    raise AssertionError

def personal_data(user):
    if user.username == "Eve":
        raise LookupError
    return {"orders": [user.username]}

application = AuthMiddleware(app, personal_data=personal_data)
"""


@pytest.fixture
def run(wsgiauth, monkeypatch):
    """Return a function that runs the command with the settings of a server."""
    monkeypatch.setenv("SECRET_KEY", SECRET_KEY)
    return lambda *argv: wsgiauth("personal-data", *argv)


@pytest.fixture
def application(monkeypatch, tmp_path):
    """Write an application that adds its own, and return its name."""
    (tmp_path / "orders.py").write_text(APPLICATION)
    monkeypatch.chdir(tmp_path)
    yield "orders:application"
    sys.modules.pop("orders", None)


def test_the_file_of_a_user_is_printed(run, person):
    status, printed, errors = run("ADA@example.org")
    assert (status, errors) == (0, "note: without --app, the application's data is missing\n")
    found = json.loads(printed)
    assert found["preferred_username"] == "Ada"
    assert "application" not in found


def test_the_operator_is_the_actor_of_the_event(run, person):
    run("ada")
    event = RecordedEvent.get(RecordedEvent.name == "data_exported")
    assert (event.actor, event.user_id) == ("command line", person.id)


def test_a_terminal_gets_no_character_that_it_would_obey(run, person):
    User.update(username="Łu\x9b\u202e").where(User.id == person.id).execute()
    status, printed, _ = run("ada@example.org")
    assert (status, printed.isascii()) == (0, True)
    assert json.loads(printed)["preferred_username"] == "Łu\x9b\u202e"


def test_an_unknown_user_is_refused(run, person):
    assert run("grace") == (1, "", "wsgiauth: there is no user 'grace'\n")


def test_the_key_that_finds_failed_logins_is_needed(wsgiauth, person):
    status, printed, errors = wsgiauth("personal-data", "ada")
    assert (status, printed) == (1, "")
    assert "SECRET_KEY must be set" in errors


def test_an_application_adds_its_own(run, person, application):
    status, printed, errors = run("ada", "--app", application)
    assert (status, errors) == (0, "")
    assert (status, json.loads(printed)["application"]) == (0, {"orders": ["Ada"]})


def test_an_error_of_the_application_is_a_line(run, person, application):
    User.update(username="Eve", username_key="eve").execute()
    status, printed, errors = run("eve", "--app", application)
    assert (status, printed) == (1, "")
    assert errors.splitlines()[-1] == "wsgiauth: personal_data failed: LookupError:"
    assert RecordedEvent.select().where(RecordedEvent.name == "data_exported").count() == 0
