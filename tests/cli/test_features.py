"""Commands of a site with a feature of FEATURES."""

import json
import os
import re
import shutil
import subprocess
import sys

import pytest

from tests.support.badges.feature import BADGE_GIVEN, FEATURE, Badge, give
from tests.support.later import ROOT
from tests.support.mails import MAIL
from tests.support.sites import SECRET_KEY, echo
from wsgiauth import AuthMiddleware, events
from wsgiauth.exceptions import ConfigurationError
from wsgiauth.feature import Command, Feature
from wsgiauth.mail.outbox import Mail
from wsgiauth.testing import make_settings

BADGES = "tests.support.badges.feature:FEATURE"
CLASHING = Feature(name="clashing", commands={"check": Command("x", "x")})
SECOND = Feature(name="second", commands=FEATURE.commands)
TOYS = Feature(
    name="toys",
    commands={name: Command("toy_commands", "list toys") for name in ("toys", "toyshop")},
)
APP = """\
from tests.support.sites import SECRET_KEY, echo
from wsgiauth import AuthMiddleware, Settings

site = AuthMiddleware(
    echo,
    Settings(SECRET_KEY=SECRET_KEY, FEATURES=("tests.support.badges.feature:FEATURE",)),
)
"""


@pytest.fixture
def named(monkeypatch):
    """Name the feature in FEATURES."""
    monkeypatch.setenv("FEATURES", BADGES)
    monkeypatch.delenv("BADGES_COLOURS", raising=False)


@pytest.fixture
def table(database):
    Badge.create_table()


# A wrong FEATURES.

WRONG = {
    "missing:FEATURE": "missing:FEATURE fails (ModuleNotFoundError: No module named 'missing')",
    "json:dumps": "json:dumps is of the type function, not Feature",
    "json:missing": "json:missing fails (AttributeError: ",
    "nonsense": "FEATURES must be names of features such as ",
    f"{BADGES} {BADGES}": "badges",
}


@pytest.mark.parametrize("value", WRONG)
def test_a_wrong_feature_is_one_line_of_each_command_that_reads_the_settings(
    wsgiauth, monkeypatch, value
):
    monkeypatch.setenv("FEATURES", value)
    monkeypatch.setenv("SECRET_KEY", SECRET_KEY)
    for command in ("users", "check", "migrate", "mail", "events", "terms", "preview", "badges"):
        status, output, errors = wsgiauth(command)
        assert (status, output) == (1, ""), command
        assert errors.startswith("wsgiauth: "), command
        assert WRONG[value] in errors, command
        assert len(errors.splitlines()) == 1, command


def test_help_version_and_secret_work_with_a_wrong_feature(wsgiauth, monkeypatch):
    monkeypatch.setenv("FEATURES", "missing:FEATURE")
    assert len(wsgiauth("secret")[1]) == 65
    for typed in ((), ("--version",)):
        status, output, errors = wsgiauth(*typed)
        assert (status, output.startswith(("usage: ", "wsgiauth "))) == (0, True)
        assert errors.startswith("wsgiauth: FEATURES must be")
    with pytest.raises(SystemExit, match="0"):
        wsgiauth("--help")


# Commands of a feature.


def test_a_command_of_a_feature_is_listed_and_works(wsgiauth, named, monkeypatch, capsys):
    assert re.search(r"^ +badges +count the colours of badges$", wsgiauth()[1], re.MULTILINE)
    assert wsgiauth("badges") == (0, "3 colours\n", "")
    monkeypatch.setenv("BADGES_COLOURS", "7")
    assert wsgiauth("badges") == (0, "7 colours\n", "")
    with pytest.raises(SystemExit, match="0"):
        wsgiauth("badges", "--help")
    shown = capsys.readouterr().out
    assert shown.startswith("usage: wsgiauth badges ")
    assert "  wsgiauth badges --database sqlite:///wsgiauth.db" in shown


def test_without_the_feature_there_is_no_such_command(wsgiauth, capsys):
    with pytest.raises(SystemExit, match="2"):
        wsgiauth("badges")
    assert "there is no command 'badges'" in capsys.readouterr().err


def test_two_commands_of_the_same_name_are_refused(wsgiauth, monkeypatch):
    monkeypatch.setenv("SECRET_KEY", SECRET_KEY)
    monkeypatch.setenv("FEATURES", f"{__name__}:CLASHING")
    status, _, errors = wsgiauth("check")
    assert (status, errors) == (
        1,
        "wsgiauth: Two features have the command check: the kernel and clashing.\n",
    )
    with pytest.raises(ConfigurationError, match=r"the command badges: badges and second\."):
        AuthMiddleware(echo, make_settings(FEATURES=[FEATURE, SECOND]))


UNUSABLE = {
    "no Python": ("1 +\n", "fails (SyntaxError: invalid syntax ("),
    "an exception": ("1 / 0\n", "fails (ZeroDivisionError: division by zero)\n"),
    "no function": ("", "has no attribute 'add_commands')\n"),
    "another name": (
        "def add_commands(parser): parser.command('toy', print)\n",
        "fails (LookupError: no command 'toy' is declared, only: toys, toyshop)\n",
    ),
    "one of two": (
        "def add_commands(parser): parser.command('toys', print)\n",
        "does not add toyshop\n",
    ),
    "a mistake in the settings": (
        "from wsgiauth.exceptions import ConfigurationError\n"
        "raise ConfigurationError('pip install toys[shop]')\n",
        "wsgiauth: pip install toys[shop]\n",
    ),
}


@pytest.mark.parametrize(("source", "problem"), UNUSABLE.values(), ids=UNUSABLE)
def test_commands_that_cannot_be_used_are_named_with_their_feature(
    wsgiauth, monkeypatch, tmp_path, source, problem
):
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "toy_commands", raising=False)
    (tmp_path / "toy_commands.py").write_text(source)
    monkeypatch.setenv("FEATURES", f"{__name__}:TOYS")
    status, output, errors = wsgiauth("toys")
    assert (status, output) == (1, "")
    assert problem in errors
    *traceback, last = errors.splitlines()
    if "pip" not in problem:
        assert last.startswith("wsgiauth: the commands of toys cannot be used: toy_commands ")
    assert (traceback[:1] == ["Traceback (most recent call last):"]) is ("fails (" in last)
    assert wsgiauth("secret")[0] == 0
    with pytest.raises(SystemExit, match="0"):
        wsgiauth("--help")


# The other commands.


def test_check_asks_the_feature_and_knows_its_settings(wsgiauth, named, monkeypatch):
    for name, value in {"BADGES_COLOR": "3", "BADGES_KEY": "x", "BADGES_SHOP": ""}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("SECRET_KEY", SECRET_KEY)
    status, output, errors = wsgiauth("check")
    assert (status, errors) == (0, "")
    lines = output.splitlines()
    assert lines[0] == (
        "warning: BADGES_COLOR is not a setting and is ignored; the similar BADGES_COLOURS is not"
        " set."
    )
    assert "note: There are 3 colours of badges." in lines
    assert "note: Empty settings, which count as not set: BADGES_SHOP." in lines
    assert not [line for line in lines if "BADGES_KEY" in line]


def test_a_wrong_setting_of_the_feature_is_named(wsgiauth, named, monkeypatch):
    monkeypatch.setenv("BADGES_COLOURS", "10")
    assert wsgiauth("users") == (
        1,
        "",
        "wsgiauth: BADGES_COLOURS must be a whole number from 1 to 9.\n",
    )


@pytest.mark.slow
def test_preview_shows_its_emails_and_pages(wsgiauth, named, tmp_path):
    status, output, _ = wsgiauth("preview", "badge")
    assert (status, output.startswith("Subject: Your new badge\n")) == (0, True)
    assert wsgiauth("preview", "--pages", str(tmp_path))[0] == 0
    assert "Get a badge" in (tmp_path / "badges.html").read_text("utf-8")
    assert "You have the badge gold." in (tmp_path / "mail/badge.html").read_text("utf-8")


def test_mail_sends_its_emails(wsgiauth, named, monkeypatch, settings, database):
    for name, value in {**MAIL, "MAIL_URL": "console:"}.items():
        monkeypatch.setenv(name, value)
    Mail.create(id="1", kind="badge", data="{}", due_at=0, expires_at=2**40)
    status, _, errors = wsgiauth("mail")
    assert (status, "Subject: Your new badge" in errors) == (0, True)


def test_events_are_chosen_by_its_name(wsgiauth, named, database, person):
    events.emit(BADGE_GIVEN, user_id=person.id)
    status, output, _ = wsgiauth("events", "--name", "badge_given", "--json")
    assert (status, [json.loads(each)["name"] for each in output.splitlines()]) == (
        0,
        ["badge_given"],
    )


def test_permissions_lists_what_it_asks_for(wsgiauth, named, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "site_with_badges.py").write_text(APP)
    status, output, _ = wsgiauth("permissions", "--app", "site_with_badges", "--json")
    asked = {each["name"]: each["asked_for"] for each in json.loads(output)}
    assert (status, asked["badges.give"]) == (0, True)


def test_purge_deletes_its_expired_rows(wsgiauth, named, table, person):
    give(person)
    status, output, _ = wsgiauth("purge")
    assert (status, "1 expired badge," in output) == (0, True)
    assert Badge.select().count() == 0


def test_personal_data_has_its_rows(wsgiauth, named, table, person, monkeypatch):
    monkeypatch.setenv("SECRET_KEY", SECRET_KEY)
    badge = give(person)
    status, output, _ = wsgiauth("personal-data", person.username)
    assert (status, json.loads(output)["badges"]) == (0, [{"id": badge.id}])


# Modules in the current folder.

SCRIPT = "from wsgiauth.cli import main; raise SystemExit(main())"
PROGRAMS = {"script": ["bin/wsgiauth"], "module": ["-m", "wsgiauth"]}


@pytest.fixture
def folder(tmp_path):
    """Return the current folder of a program, with a feature."""
    shutil.copytree(FEATURE.folder, tmp_path / "badges")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/wsgiauth").write_text(f"{SCRIPT}\n")
    return tmp_path


def run_in(folder, **further):
    """Return the arguments of `subprocess` for a program in that folder."""
    environ = {**os.environ, "PYTHONPATH": str(ROOT), "FEATURES": "badges.feature:FEATURE"}
    return {"cwd": folder, "env": {**environ, "BADGES_COLOURS": "5", **further}, "text": True}


@pytest.mark.slow
@pytest.mark.parametrize("name", PROGRAMS)
def test_both_programs_find_a_feature_in_the_current_folder(name, folder):
    program, run = [sys.executable, *PROGRAMS[name]], run_in(folder)
    assert subprocess.check_output([*program, "badges"], **run) == "5 colours\n"
    assert "BADGES_COLOURS=5" in subprocess.check_output([*program, "settings"], **run)
    (folder / "badges/feature.py").write_text("raise RuntimeError('broken')\n")
    done = subprocess.run([*program, "badges"], **run, capture_output=True, check=False)
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (1, "", 1)
    assert "badges.feature:FEATURE fails (RuntimeError: broken)" in done.stderr


@pytest.mark.slow
@pytest.mark.promise(105)
def test_the_script_imports_nothing_else_from_the_current_folder(folder):
    for name in ("argparse", "peewee", "bcrypt", "sqlite3"):
        (folder / f"{name}.py").write_text("raise RuntimeError('planted')\n")
    program = [sys.executable, *PROGRAMS["script"]]
    assert subprocess.check_output([*program, "badges"], **run_in(folder)) == "5 colours\n"


@pytest.mark.slow
def test_the_script_heeds_that_python_keeps_the_current_folder_out(folder):
    run = run_in(folder, PYTHONSAFEPATH="1")
    program = [sys.executable, *PROGRAMS["script"], "badges"]
    done = subprocess.run(program, **run, capture_output=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert "No module named 'badges'" in done.stderr


def test_the_current_folder_is_in_the_path_for_features_alone(wsgiauth, named):
    before = [*sys.path]
    wsgiauth("badges")
    assert sys.path == before
