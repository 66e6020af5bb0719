"""The commands for groups, and those for permissions of groups."""

import json
import os
import subprocess
import sys

import pytest

from tests.cli.conftest import Terminal
from tests.conftest import insert_users
from tests.support.sites import SECRET_KEY
from wsgiauth import Group
from wsgiauth.cli import main

GUARDED = """
from wsgiauth import permission_required

@permission_required("pages.edit")
def application(environ, start_response): ...
"""
WRAPPED = """
from guarded import application
from wsgiauth import AuthMiddleware

site = AuthMiddleware(application)
"""
DECLARED = """
from guarded import application
from wsgiauth import AuthMiddleware

site = AuthMiddleware(application, permissions=["pages.read"])
"""


@pytest.fixture
def editors(database):
    return Group.objects.create(name="Blog editors")


def test_creategroup_can_be_repeated(wsgiauth):
    assert wsgiauth("creategroup", "Blog editors") == (
        0,
        "Created the group Blog editors.\n",
        "",
    )
    assert wsgiauth("creategroup", "blog EDITORS") == (
        0,
        "The group Blog editors exists already.\n",
        "",
    )
    assert [group.name for group in Group.objects.all()] == ["Blog editors"]


def test_creategroup_refuses_a_malformed_name(wsgiauth):
    reason = "A group name cannot begin or end with a space, or have two in a row."
    assert wsgiauth("creategroup", " x") == (1, "", f"wsgiauth: {reason}\n")


def test_join_and_leave_print_the_groups_and_can_be_repeated(wsgiauth, person, editors):
    Group.objects.create(name="admins")
    wsgiauth("join", "ada", "admins")
    for expected in ("", "Nothing changed: "):
        printed = f"{expected}Ada is in: admins, Blog editors\n"
        assert wsgiauth("join", "ada", "BLOG editors") == (0, printed, "")
    wsgiauth("leave", "ada", "admins")
    for expected in ("", "Nothing changed: "):
        printed = f"{expected}Ada is in: no group\n"
        assert wsgiauth("leave", "ada", "blog editors") == (0, printed, "")


def test_an_unknown_group_is_refused(wsgiauth, person):
    reason = "wsgiauth: there is no group 'writers'; `groups` lists them\n"
    for command in (
        "join ada writers",
        "leave ada writers",
        "deletegroup writers --yes",
        "grant --group writers a.a",
        "revoke --group writers a.a",
        "users --group writers",
    ):
        assert wsgiauth(*command.split()) == (1, "", reason), command


@pytest.mark.promise(47)
def test_grant_and_revoke_change_a_group(wsgiauth, person, editors):
    person.join(editors)
    assert wsgiauth("grant", "--group", "blog editors", "b.b", "a.a") == (
        0,
        "Blog editors has: a.a, b.b\n",
        "",
    )
    assert person.permissions == {"a.a", "b.b"}
    assert wsgiauth("revoke", "--group", "blog editors", "b.b")[1] == "Blog editors has: a.a\n"
    assert person.permissions == {"a.a"}


def test_revoke_says_which_group_still_gives_a_permission(wsgiauth, person, editors):
    person.join(editors)
    editors.grant("a.a")
    person.grant("a.a", "b.b")
    assert wsgiauth("revoke", "ada", "a.a", "b.b")[1] == (
        "Ada has: a.a\na.a comes from the group Blog editors.\n"
    )


def test_permissions_are_needed_in_their_form(capsys):
    for command, reason in {
        "grant ada": "at least one PERMISSION",
        "grant ada publish": "<app>.<action>",
        "revoke --group g ada a.a": "'ada'",
    }.items():
        with pytest.raises(SystemExit) as exit_:
            main(command.split())
        assert exit_.value.code == 2
        errors = capsys.readouterr().err
        assert reason in errors
        assert "(USER | --group NAME) PERMISSION ..." in errors


def test_deletegroup_by_a_script_deletes(wsgiauth, editors):
    options = "wsgiauth: standard input is not a terminal: give --yes\n"
    assert wsgiauth("deletegroup", "blog editors") == (1, "", options)
    assert wsgiauth("deletegroup", "blog editors", "--yes") == (
        0,
        "Deleted the group Blog editors.\n",
        "",
    )
    assert Group.objects.count() == 0


@pytest.mark.parametrize(("answer", "left"), [("y\n", 0), ("n\n", 1)])
def test_deletegroup_asks_a_person(wsgiauth, monkeypatch, capsys, person, editors, answer, left):
    person.join(editors)
    monkeypatch.setattr(sys, "stdin", Terminal(answer))
    assert main(["deletegroup", "blog editors"]) == left
    question = "Delete the group Blog editors with 1 member? The users stay. [y/N] "
    assert question in capsys.readouterr().out
    assert Group.objects.count() == left


def test_a_group_that_is_deleted_meanwhile_is_refused(wsgiauth, monkeypatch, capsys, editors):
    monkeypatch.setattr(sys, "stdin", Terminal("y\n", before=editors.delete_instance))
    assert main(["deletegroup", "blog editors"]) == 1
    assert capsys.readouterr().err == "wsgiauth: the group was deleted meanwhile\n"


def test_groups_is_a_table_or_json(wsgiauth, person, editors):
    person.join(editors)
    editors.grant("b.b", "a.a")
    Group.objects.create(name="admins")
    heading, admins, row = wsgiauth("groups")[1].splitlines()
    assert heading.split() == ["name", "members", "permissions"]
    assert (admins.split(), row.split()) == (
        ["admins", "0"],
        ["Blog", "editors", "1", "a.a", "b.b"],
    )
    assert json.loads(wsgiauth("groups", "--json")[1]) == [
        {"name": "admins", "members": 0, "permissions": []},
        {"name": "Blog editors", "members": 1, "permissions": ["a.a", "b.b"]},
    ]


def test_users_can_be_those_of_a_group(wsgiauth, person, editors):
    insert_users(2)
    person.join(editors)
    editors.grant("a.a")
    listed = json.loads(wsgiauth("users", "--group", "blog editors", "--json")[1])
    assert [(user["username"], user["permissions"]) for user in listed] == [("Ada", ["a.a"])]


# Permissions


def test_permissions_lists_those_that_are_granted(wsgiauth, person, editors):
    editors.grant("a.a", "b.b")
    person.grant("b.b", "c.c")
    _, output, _ = wsgiauth("permissions")
    heading, *rows = output.splitlines()
    assert heading.split() == ["permission", "asked", "for", "users", "groups"]
    assert [row.split() for row in rows if row[:3] in ("a.a", "b.b", "c.c")] == [
        ["a.a", "unknown", "0", "Blog", "editors"],
        ["b.b", "unknown", "1", "Blog", "editors"],
        ["c.c", "unknown", "1"],
    ]
    listed = json.loads(wsgiauth("permissions", "--json")[1])
    granted = {"name": "a.a", "asked_for": None, "users": 0, "groups": ["Blog editors"]}
    assert granted in listed


@pytest.mark.parametrize(
    ("app", "panel", "asked_for"),
    [
        ("guarded", "on", ["pages.edit"]),
        ("guarded:application", "on", ["pages.edit"]),
        ("wrapped:site", "on", ["pages.edit", "wsgiauth.manage_users"]),
        ("wrapped:site", "off", ["pages.edit"]),
        ("declared:site", "off", ["pages.edit", "pages.read"]),
    ],
)
@pytest.mark.slow
def test_permissions_lists_those_that_guards_and_the_panel_ask_for(
    tmp_path, person, settings, app, panel, asked_for
):
    person.grant("a.a")
    (tmp_path / "guarded.py").write_text(GUARDED)
    (tmp_path / "wrapped.py").write_text(WRAPPED)
    (tmp_path / "declared.py").write_text(DECLARED)
    script = "from wsgiauth.cli import main; main()"  # as the script `wsgiauth`, without the folder
    argv = [sys.executable, "-P", "-c", script, "permissions", "--app", app]
    environ = {
        **os.environ,
        "DATABASE_URL": settings.DATABASE_URL,
        "SECRET_KEY": SECRET_KEY,
        "ADMIN_PANEL": panel,
    }
    done = subprocess.run(argv, cwd=tmp_path, env=environ, capture_output=True, text=True)
    assert done.stderr == ""
    _, *rows = done.stdout.splitlines()
    assert [row.split() for row in rows] == [
        ["a.a", "no", "1"],
        *([name, "yes", "0"] for name in asked_for),
    ]


def test_an_application_that_cannot_be_imported_is_refused(wsgiauth, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    line = "from wsgiauth import AuthMiddleware; app = AuthMiddleware(print)"
    (tmp_path / "unconfigured.py").write_text(line)
    path = list(sys.path)
    for app, reason in {
        "nowhere:app": "there is no module 'nowhere'",
        "wsgiauth:nothing": "'wsgiauth' has no 'nothing'",
        ":app": "'' cannot be imported: ValueError",
        "unconfigured:app": "SECRET_KEY must be set",
    }.items():
        status, output, errors = wsgiauth("permissions", "--app", app)
        assert (status, output) == (1, "")
        assert errors.startswith(f"wsgiauth: {reason}")
        assert sys.path == path
