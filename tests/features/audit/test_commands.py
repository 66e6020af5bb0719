"""The command line: what `events` prints of the audit trail."""

import json
import signal
import subprocess
import sys
from datetime import UTC, datetime

import pytest

from tests.support.sites import EMAIL, PASSWORD, USERNAME
from wsgiauth import accounts
from wsgiauth.cli import main
from wsgiauth.events import actors
from wsgiauth.events.models import RecordedEvent
from wsgiauth.features.audit import commands as events

NOW = 2_000_000_000  # seconds since the epoch: 2033-05-18T03:33:20Z


@pytest.fixture
def run(monkeypatch, capsys, database, settings):
    """Return a function that runs the command: its exit status, output and errors."""
    monkeypatch.setenv("DATABASE_URL", settings.DATABASE_URL)

    def run_events(*argv):
        status = main(("events", *argv))
        captured = capsys.readouterr()
        return status, captured.out, captured.err

    return run_events


@pytest.fixture
def ada(database, settings):
    """Return a user with a trail: created by an operator, changed by herself."""
    with actors.acting("command line operator"):
        user = accounts.create_user(USERNAME, EMAIL, PASSWORD, settings=settings)
    with actors.acting(f"user {user.id}"):
        user.grant("a.b")
    RecordedEvent.update(time=NOW).execute()
    return user


def lines(output):
    return [json.loads(line) for line in output.splitlines()]


def test_the_table_has_the_newest_change_last_and_names_the_users(run, ada):
    status, output, errors = run()
    assert (status, errors) == (0, "")
    heading, first, last = output.splitlines()
    assert heading.split() == ["time", "event", "user", "actor", "address", "reason"]
    time, who = "2033-05-18T03:33:20Z", f"user {ada.id} (Ada)"
    assert first.split("  ") == [time, *f"registration    {who}  command line operator".split("  ")]
    assert last.split() == f"{time} rights_changed {who} {who} granted a.b".split()


def test_of_a_deleted_user_the_number_is_printed_and_can_be_given(run, ada):
    accounts.delete_user(ada)
    _, output, _ = run(f"user {ada.id}", "--json")
    assert {each["name"] for each in lines(output)} == {
        *("registration", "rights_changed", "user_deleted")
    }
    _, output, _ = run()
    assert output.splitlines()[-2].split()[2:5] == ["user", str(ada.id), "command"]


def test_an_api_key_is_printed_beside_its_user(run, ada):
    actor = {"actor": f"user {ada.id}", "system_user": "key 4fD8sKq2ZxLw"}
    RecordedEvent.create(time=NOW, name="rights_changed", user_id=ada.id, reason="tea", **actor)
    for argv in (["ada"], ["--actor", f"user {ada.id} key 4fD8sKq2ZxLw"]):
        assert f"user {ada.id} (Ada) key 4fD8sKq2ZxLw" in run(*argv)[1].splitlines()[-1]


def test_an_event_of_all_users_is_printed_without_a_user(run, database):
    RecordedEvent.create(time=NOW, name="logout", actor="code", reason="all sessions of all users")
    _, output, _ = run()
    assert output.splitlines()[1].split(maxsplit=3)[1:3] == ["logout", "code"]


def test_json_is_one_object_a_line(run, ada):
    first, _ = lines(run("--json")[1])
    assert first == {
        "id": first["id"],
        "time": "2033-05-18T03:33:20Z",
        "name": "registration",
        "user_id": ada.id,
        "actor": "command line operator",
        "address": None,
        "reason": None,
    }


def test_an_empty_trail_is_a_heading_or_nothing(run):
    assert run("--json") == (0, "", "")
    assert run()[1] == "time  event  user  actor  address  reason\n"


def test_events_can_be_chosen(run, ada):
    for argv, expected in (
        (["ada"], ["registration", "rights_changed"]),
        (["--name", "registration"], ["registration"]),
        (["--actor", "ada"], ["rights_changed"]),
        (["--actor", EMAIL], ["rights_changed"]),
        (["--actor", "command line"], ["registration"]),
        (["--actor", "command line operator"], ["registration"]),
        (["--actor", "command line other"], []),
        (["--actor", "code"], []),
        (["--limit", "1"], ["rights_changed"]),
        (["--since", "2033-05-18"], ["registration", "rights_changed"]),
        (["--since", "2033-05-18T03:33:21"], []),
        (["--since", "2033-05-18T05:33:20+02:00"], ["registration", "rights_changed"]),
        (["--until", "2033-05-18T03:33:20"], []),
        (["--until", "2033-05-19"], ["registration", "rights_changed"]),
    ):
        status, output, _ = run("--json", *argv)
        assert (status, [each["name"] for each in lines(output)]) == (0, expected), argv


def test_an_unknown_user_is_refused(run, ada):
    for name in ("nobody", "7", "user seven"):
        assert run(name) == (1, "", f"wsgiauth: there is no user {name!r}\n")
    assert run("--actor", "nobody") == (1, "", "wsgiauth: there is no user 'nobody'\n")


def test_a_malformed_time_is_wrong_usage(run, capsys):
    with pytest.raises(SystemExit, match="2"):
        run("--since", "yesterday")
    assert "'yesterday' is not a time such as 2026-11-01" in capsys.readouterr().err


def test_all_pages_are_one_table(run, database, monkeypatch):
    monkeypatch.setattr("wsgiauth.features.audit.trail.PAGE", 4)
    row = {"time": NOW, "name": "login", "user_id": 7, "actor": "user 7"}
    RecordedEvent.insert_many([row] * 10).execute()
    heading, *rows = run()[1].splitlines()
    assert (heading.split()[0], len(rows)) == ("time", 10)


def test_follow_prints_the_newest_and_then_what_happens(run, ada, monkeypatch):
    waits = iter([lambda: ada.grant("c.d"), lambda: None, lambda: ada.revoke("c.d")])

    def sleep(seconds):
        assert seconds == events.INTERVAL
        try:
            next(waits)()
        except StopIteration:
            raise KeyboardInterrupt from None

    monkeypatch.setattr(events.time, "sleep", sleep)
    status, output, errors = run("--follow", "--limit", "1", "--json")
    assert (status, errors) == (130, "\n")
    assert [each["reason"] for each in lines(output)] == [
        "granted a.b",
        "granted c.d",
        "revoked c.d",
    ]


def test_follow_begins_with_a_few(run, database, monkeypatch):
    def sleep(_):
        raise KeyboardInterrupt

    monkeypatch.setattr(events.time, "sleep", sleep)
    row = {"time": NOW, "name": "login", "user_id": 7, "actor": "user 7"}
    RecordedEvent.insert_many([row] * (events.FOLLOWED + 1)).execute()
    assert len(lines(run("--follow", "--json")[1])) == events.FOLLOWED


@pytest.mark.slow
def test_follow_ends_with_ctrl_c(ada, settings):
    now = int(datetime.now(UTC).timestamp())
    RecordedEvent.update(time=now).execute()
    process = subprocess.Popen(
        [sys.executable, "-m", "wsgiauth", "events", "--follow", "--json"],
        env={"DATABASE_URL": settings.DATABASE_URL},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert json.loads(process.stdout.readline())["name"] == "registration"
    assert json.loads(process.stdout.readline())["name"] == "rights_changed"
    ada.grant("c.d")
    assert json.loads(process.stdout.readline())["reason"] == "granted c.d"
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=200)
    assert (process.returncode, errors) == (130, "\n")
