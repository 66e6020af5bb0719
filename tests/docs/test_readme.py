"""README.md is true: its programs run, its commands do what they show, its tables are complete."""

import os
import re
import shutil
import subprocess
import sys
from dataclasses import MISSING, fields
from pathlib import Path

import pytest

from tests.conftest import skip_or_fail
from tests.docs.pages import PAGES, ROOT, code, commands, save_programs, section
from tests.support.sites import running
from wsgiauth import Settings
from wsgiauth.app import ROUTES
from wsgiauth.events import LEVELS

README = PAGES["README.md"]


@pytest.fixture
def shell(tmp_path):
    """Return a function that runs a script as a reader would, beside the README's files."""
    save_programs(README, tmp_path)
    environ = {
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "PYTHONPATH": str(tmp_path),
        "PYTHONUNBUFFERED": "1",
    }

    def run(script, **options):
        return subprocess.run(
            ["bash", "-euo", "pipefail", "-c", script],
            cwd=options.pop("cwd", tmp_path),
            env=environ | options.pop("env", {}),
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
        ).stdout

    run.environ = environ
    run.folder = tmp_path
    return run


@pytest.fixture
def secret_key(shell):
    (export, _), *_ = commands(code(section(README, "A whole program"), "console")[0])
    return shell(f"{export}; printf %s $SECRET_KEY")


def test_the_set_up_commands_are_targets_of_the_makefile():
    block = code(section(README, "Try it"), "console")[0]
    for command, _ in commands(block):
        subprocess.run([*command.split(), "--dry-run"], cwd=ROOT, check=True, capture_output=True)


def test_the_whole_program_serves_people_and_programs(shell, secret_key):
    if shutil.which("curl") is None:
        skip_or_fail("curl is not installed")
    setup, use = (commands(block) for block in code(section(README, "A whole program"), "console"))
    environ = {"SECRET_KEY": secret_key}
    (_, _), (create, created), (serve, _) = setup
    assert shell(create, env=environ) == created
    with running(serve, cwd=shell.folder, env=shell.environ | environ) as port:
        script = "\n".join(command for command, _ in use).replace("8080", str(port))
        assert shell(script).strip() == use[-1][1].strip()


def test_the_guards_let_in_whom_they_should(shell):
    (shell.folder / "test_guards.py").write_text(
        """
from guards import report
from wsgiauth import AuthMiddleware
from wsgiauth.testing import bearer, make_settings
from webtest import TestApp


def test_report():
    site = AuthMiddleware(report, make_settings())
    TestApp(site).get("/", status=401)
    assert TestApp(site).get("/", headers=bearer(site)).text == "for ada only"
""",
        encoding="utf-8",
    )
    assert "3 passed" in shell("python -m pytest -p no:randomly -p no:cacheprovider test_*.py")


def test_events_are_logged_and_heard(shell, secret_key):
    guess = (
        "from audited import application\n"
        "from webtest import TestApp\n"
        "credentials = {'username': 'ada', 'password': 'a guess'}\n"
        "for _ in range(10):\n"
        "    answer = TestApp(application, {'REMOTE_ADDR': '192.0.2.1'}).post_json(\n"
        "        '/auth/login', credentials, expect_errors=True)\n"
        "print(answer.status_int)\n"
    )
    heard = shell(
        f'python -c "{guess}" 2> log', env={"SECRET_KEY": secret_key, "BCRYPT_ROUNDS": "10"}
    )
    assert heard.startswith("somebody at 192.0.2.1 is guessing\n")
    assert heard.endswith("\n429\n")
    logged = shell("grep -o 'event=[a-z_]*' log").split()
    assert logged[:5] == ["event=login_failed"] * 5
    assert logged.count("event=throttled") == heard.count("guessing")


def test_users_are_made_in_code(shell):
    (_, _), (create, _), _ = commands(code(section(README, "A whole program"), "console")[0])
    shell(f"{create}; python people.py")  # beside the administrator made before


def test_the_commands_print_what_is_shown(shell, secret_key):
    for name in ("ada", "grace"):
        shell(f"echo 'four unrelated words' | wsgiauth createuser --username {name}"
              f" --email {name}@example.org --password-stdin")  # fmt: skip
    for command, shown in commands(code(section(README, "The command line"), "console")[0]):
        printed = shell(command, env={"SECRET_KEY": secret_key})
        assert not shown or printed == shown


def test_every_command_is_listed():
    listed = re.findall(r"`(\w+)`", section(README, "The command line").partition("Each has")[0])
    usage = subprocess.run(
        [sys.executable, "-m", "wsgiauth", "--help"], capture_output=True, text=True, check=True
    ).stdout
    assert set(re.findall(r"^    (\w+)", usage, re.MULTILINE)) == set(listed) - {"wsgiauth"}


def test_the_ini_file_serves_a_guarded_application(shell, secret_key):
    shell(
        "python - <<'E'\n"
        "from paste_site import application as app\n"
        "from webtest import TestApp\n"
        "TestApp(app).get('/', status=401)\n"
        "TestApp(app).get('/auth/login', status=200)\n"
        "E",
        env={"SECRET_KEY": secret_key},
    )
    assert (shell.folder / "site.db").exists()


def test_the_sample_is_an_application_of_pastedeploy(shell):
    shell(
        "printf '[app:main]\\nuse = egg:wsgi-accounts\\n' > sample.ini; python - <<'E'\n"
        "from paste.deploy import loadapp\n"
        "from webtest import TestApp\n"
        f"TestApp(loadapp('config:{shell.folder}/sample.ini')).get('/', status=200)\n"
        "E"
    )


def test_the_settings_table_is_that_of_settings():
    rows = re.findall(r"^\| `(\w+)` \| (.*?) \|", section(README, "Settings"), re.MULTILINE)
    words = {"None": "none", "()": "none", "True": "`on`", repr(MISSING): "the processors"}
    expected = [
        (each.name, words.get(repr(each.default), f"`{each.default}`")) for each in fields(Settings)
    ]
    expected[0] = ("SECRET_KEY", "–")  # noqa: RUF001 - a dash: there is no default
    assert rows == expected


def test_the_endpoint_table_is_that_of_the_routes():
    rows = re.findall(r"^\| (`.*?) \|", section(README, "Endpoints"), re.MULTILINE)
    listed = {
        (method, path)
        for row in rows
        for path in [re.search(r"/auth(/[\w.]+)", row)[1]]
        for method in re.findall(r"GET|POST", row)
    }
    assert listed == {(method, path) for path, methods in ROUTES.items() for method in methods}


def test_the_event_table_is_that_of_the_events():
    rows = re.findall(r"^\| (`.*?) \|", section(README, "Events"), re.MULTILINE)
    assert {name for row in rows for name in re.findall(r"`(\w+)`", row)} == LEVELS.keys()


def test_every_block_is_of_a_kind_that_is_executed():
    kinds = re.findall(r"^```(\w+)\n", README, re.MULTILINE)
    assert set(kinds) == {"console", "python", "ini"}
