"""`--log json`: each line on standard error is a JSON object, whatever prints there."""

import json
import logging
import os
import subprocess
import sys
import threading
import warnings
from io import StringIO
from pathlib import Path

import pytest

from tests.cli.test_output import OBEYED
from tests.docs.pages import PAGES, code, section
from tests.support.sites import EMAIL, PASSWORD
from wsgiauth.console import json_log
from wsgiauth.events import emit, kinds

CREATE = ("createuser", "--username", "grace", "--email", EMAIL, "--password-stdin")
APPLICATION = """
import logging, logging.config, sys
logging.config.dictConfig({
    "version": 1,
    "handlers": {
        "text": {"class": "logging.StreamHandler"},
        "out": {"class": "logging.StreamHandler", "stream": "ext://sys.stdout"},
        "file": {"class": "logging.FileHandler", "filename": "site.log"},
    },
    "root": {"handlers": ["text"], "level": "INFO"},
    "loggers": {"site": {"handlers": ["out", "file"]}},
})
logging.getLogger("site").info("imported")
print("printed", file=sys.stderr)
"""


@pytest.fixture(autouse=True)
def _as_before():
    """Restore what the option changes until the process ends."""
    stderr, hooks = sys.stderr, (sys.excepthook, threading.excepthook)
    handlers, level = [*logging.root.handlers], logging.root.level
    yield
    sys.stderr, (sys.excepthook, threading.excepthook) = stderr, hooks
    logging.captureWarnings(False)
    logging.root.handlers[:] = handlers
    logging.root.setLevel(level)


@pytest.fixture
def start(capsys):
    """Return a function that starts the log, and returns a function that returns its objects."""

    def started():
        json_log.start()
        return lambda: objects(capsys.readouterr().err)

    return started


def objects(errors):
    assert errors.isascii()
    found = [json.loads(line) for line in errors.splitlines()]
    assert all(each.pop("time").endswith("Z") for each in found)
    return found


def test_a_command_logs_its_events_and_prints_its_output_as_ever(wsgiauth):
    status, output, errors = wsgiauth(*CREATE, "--log", "json", stdin=f"{PASSWORD}\n")
    assert (status, output) == (0, "Created user grace.\n")
    (event,) = objects(errors)
    assert event.pop("actor").startswith("command line")
    empty = {"address": None, "reason": None}
    assert event == {"level": "INFO", "event": "registration", "user_id": 1, **empty}


def test_a_refusal_of_a_command_is_an_object(wsgiauth):
    status, output, errors = wsgiauth("sessions", f"x{OBEYED}", "--log", "json")
    (refusal,) = objects(errors)
    assert (status, output, refusal["level"]) == (1, "", "ERROR")
    assert refusal["message"].startswith("wsgiauth: there is no user 'x")


def test_wrong_usage_that_a_command_finds_is_in_objects(wsgiauth, capsys):
    with pytest.raises(SystemExit):
        wsgiauth("serve", "--require", "/x", "--log", "json")
    assert "need an application" in objects(capsys.readouterr().err)[-1]["message"]


def test_the_log_is_text_unless_the_option_says_json(wsgiauth):
    assert wsgiauth(*CREATE, "--log", "text", stdin=f"{PASSWORD}\n")[2] == ""
    assert wsgiauth("sessions", "nobody")[2] == "wsgiauth: there is no user 'nobody'\n"


def test_no_value_can_begin_another_line_or_forge_a_field(start, database):
    logged = start()
    forged = f'x{OBEYED}", "actor": "user 1'
    emit(kinds.THROTTLED, reason=forged)
    logging.getLogger("site").warning("%s", forged)
    event, other = logged()
    assert (event["reason"], event["actor"]) == (forged, "code")
    assert other == {"level": "WARNING", "logger": "site", "message": forged}


def test_what_an_operator_can_do_is_a_field(start, database):
    logged = start()
    emit(kinds.THROTTLED, reason="x", remedy="Wait.")
    (event,) = logged()
    assert event.pop("remedy") == "Wait."
    assert [*event] == ["level", "event", "user_id", "address", "reason", "actor"]


def test_an_exception_is_one_object_with_its_traceback(start):
    logged = start()
    try:
        raise ValueError("wrong")
    except ValueError as error:
        logging.getLogger("site").exception("it failed")
        sys.excepthook(ValueError, error, error.__traceback__)
    caught, uncaught = logged()
    assert caught["exception"].startswith("Traceback (most recent call last):\n")
    assert uncaught["exception"].endswith("\nValueError: wrong")
    assert (uncaught["level"], uncaught["message"]) == ("CRITICAL", "uncaught exception")


def test_an_exception_that_ends_a_thread_is_one_object(start):
    logged = start()

    def fail():
        raise ValueError("wrong")

    thread = threading.Thread(target=fail, name="worker")
    thread.start()
    thread.join()
    threading.excepthook(threading.ExceptHookArgs((ValueError, None, None, None)))
    first, second = logged()
    assert first["message"] == "uncaught exception in the thread worker"
    assert first["exception"].endswith("\nValueError: wrong")
    assert second["exception"] == "ValueError"


def test_warnings_of_python_are_objects(start):
    logged = start()
    with warnings.catch_warnings(action="always"):
        warnings.showwarning(UserWarning("old"), UserWarning, "site.py", 1)
    (warning,) = logged()
    assert (warning["logger"], warning["level"]) == ("py.warnings", "WARNING")
    assert warning["message"].startswith("site.py:1: UserWarning: old")


def test_what_is_printed_is_an_object_a_line(start):
    logged = start()
    print("warning: one", "note: two\n", "three", sep="\n", file=sys.stderr)
    sys.stderr.write("half a line, ")
    thread = threading.Thread(target=print, args=("of a thread",), kwargs={"file": sys.stderr})
    thread.start()
    thread.join()
    sys.stderr.write("and the other")
    assert [(each["level"], each["message"]) for each in logged()] == [
        ("WARNING", "warning: one"),
        ("INFO", "note: two"),
        ("ERROR", "three"),
        ("ERROR", "of a thread"),
    ]
    sys.stderr.flush()
    sys.stderr.flush()
    (last,) = logged()
    assert last == {"level": "ERROR", "logger": "stderr", "message": "half a line, and the other"}


def test_processes_can_inherit_standard_error(monkeypatch):
    with Path("/dev/null").open("w") as null:
        monkeypatch.setattr(sys, "stderr", null)
        json_log.start()
        assert sys.stderr.fileno() == null.fileno()


def test_a_handler_that_an_application_adds_later_cannot_log_in_a_circle(start):
    logged = start()
    late = logging.StreamHandler(sys.stderr)
    logging.root.addHandler(late)
    logging.getLogger("site").warning("twice")
    logging.root.removeHandler(late)
    assert [each["logger"] for each in logged()] == ["site", "stderr"]


def test_a_log_that_cannot_be_written_stops_nothing(database, monkeypatch):
    class FullDisk(StringIO):
        def write(self, _text):
            raise OSError("No space left on device")

    monkeypatch.setattr(sys, "stderr", FullDisk())
    json_log.start()
    emit(kinds.LOGIN_FAILED, reason="wrong password")
    print("a line", file=sys.stderr, flush=True)


@pytest.mark.slow  # the process is the subject, also its end
def test_a_command_whose_log_cannot_be_written_does_its_work(tmp_path):
    command = [sys.executable, "-m", "wsgiauth", *CREATE, "--log", "json"]
    environ = {**os.environ, "DATABASE_URL": f"sqlite:///{tmp_path}/new.db", "BCRYPT_ROUNDS": "4"}
    with Path("/dev/full").open("wb", buffering=0) as full:
        done = subprocess.run(
            command,
            input=f"{PASSWORD}\n",
            stdout=subprocess.PIPE,
            stderr=full,
            text=True,
            env=environ,
        )
    assert (done.returncode, done.stdout) == (0, "Created user grace.\n")


def test_a_record_that_cannot_be_formatted_is_reported_in_objects(start):
    read = start()
    wrong = logging.LogRecord("site", logging.INFO, "", 0, "a number: %d", ("none",), None)
    logging.root.handlers[-1].handle(wrong)
    found = [each["message"] for each in read()]
    assert found[0] == "--- Logging error ---"
    assert "TypeError: %d format: a real number is required, not str" in found


def test_bytes_can_be_printed(start):
    read = start()
    sys.stderr.buffer.write(b"caf\xc3\xa9 \xff\n")
    sys.stderr.reconfigure(line_buffering=True)
    assert (sys.stderr.encoding, [each["message"] for each in read()]) == ("utf-8", ["café \\xff"])


def test_an_application_that_configures_logging_logs_each_line_once_as_json(
    wsgiauth, monkeypatch, tmp_path
):
    (tmp_path / "chatty.py").write_text(APPLICATION)
    monkeypatch.chdir(tmp_path)
    status, output, errors = wsgiauth("permissions", "--app", "chatty", "--log", "json")
    assert (status, output.splitlines()[0]) == (0, "imported")  # before the import has ended
    first, printed = objects(errors)
    assert (first["message"], printed["message"]) == ("imported", "printed")
    stream = StringIO()  # neither standard output nor standard error
    logging.getLogger("site").addHandler(other := logging.StreamHandler(stream))
    json_log.keep()
    logging.getLogger("site").info("later")
    assert (tmp_path / "site.log").read_text() == "imported\nlater\n"
    assert stream.getvalue() == "later\n"
    logging.getLogger("site").removeHandler(other)


def test_the_documentation_shows_the_line_of_an_event(start, database, capsys):
    shown = json.loads(code(section(PAGES["docs/deployment.md"], "JSON logs"), "json")[0])
    start()
    emit(kinds.LOGIN_FAILED, user_id=shown["user_id"], reason=shown["reason"])
    logged = json.loads(capsys.readouterr().err)
    assert [*logged] == [*shown]
    assert len(logged["time"]) == len(shown["time"])
    own = {"time": shown["time"], "address": shown["address"], "actor": None}
    assert logged | own == shown
