"""docs/guide.md: its programs run and do what it says, and its table of events is complete."""

import re
import shutil
from inspect import isfunction

import wsgiauth
from tests.conftest import skip_or_fail
from tests.docs.pages import PAGES, code, section, shown
from wsgiauth.events import LEVELS

GUIDE = PAGES["docs/guide.md"]

GUESSES = """
from audited import application
from webtest import TestApp

client = TestApp(application, {"REMOTE_ADDR": "192.0.2.1"})
guess = {"username": "ada", "password": "a guess"}
answers = [client.post_json("/auth/login", guess, expect_errors=True) for _ in range(10)]
print(max(answer.status_int for answer in answers))  # a second can end before the last one
"""


ASK_THE_REPORT = """
from guards import application
from webtest import TestApp
from wsgiauth.testing import bearer

TestApp(application).get("/", status=401)
print(TestApp(application).get("/", headers=bearer(application)).text)
"""


SIGN_IN = """
from signin import application
from webtest import TestApp

client = TestApp(application, {"REMOTE_ADDR": "192.0.2.1"})
form = {"username": "ada", "password": "four unrelated words"}
client.post("/", form, headers={"Sec-Fetch-Site": "cross-site"}, status=403)
print(client.get("/").text)
print(client.post("/", form).text)
print(client.get("/").text)
wrong = {**form, "username": "grace", "password": "a guess"}
answers = [client.post("/", wrong, expect_errors=True) for _ in range(10)]
print(max(answer.status_int for answer in answers))  # a second can end before the last one
"""


ASK_EVERYWHERE = """
from closed import application
from webtest import TestApp
from wsgiauth.testing import bearer

client = TestApp(application)
print(client.get("/").text, client.get("/static/logo.svg").text)
for path in ("/minutes", "/static/../minutes", "/static/100%25.png", "/static", "/robots.txt/"):
    client.get(path, status=401)
print(client.get("/minutes", headers=bearer(application)).text)
"""


def test_every_program_is_run():
    assert set(re.findall(r"^```(\w+)\n", GUIDE, re.MULTILINE)) == {"console", "python"}
    names = [program.partition("\n")[0] for program in code(GUIDE, "python")]
    assert names == [
        "# guards.py",
        "# closed.py",
        "# people.py",
        "# upkeep.py",
        "# signin.py",
        "# editors.py",
        "# audited.py",
    ]


def test_the_functions_are_the_public_ones():
    rows = re.findall(r"^\| (`.*?) \|", section(GUIDE, "Functions in code"), re.MULTILINE)
    listed = {name for row in rows for name in re.findall(r"`(\w+)", row)} - {"wsgiauth"}
    public = {name for name in wsgiauth.__all__ if isfunction(getattr(wsgiauth, name))}
    assert listed == public | {"login_required", "permission_required"}


def test_a_program_logs_in_with_json(run, serve, administrator, first_program):
    if shutil.which("curl") is None:
        skip_or_fail("curl is not installed")
    *_, (command, _) = first_program
    commands = shown(GUIDE, "Log in from a program")
    with serve(command) as port:
        script = "\n".join(each for each, _ in commands).replace("8080", str(port))
        assert run(script).strip() == commands[-1][1].strip()


def test_the_report_is_for_logged_in_users(run, folder):
    (folder / "ask.py").write_text(ASK_THE_REPORT, encoding="utf-8")
    assert run("python ask.py") == "for ada only\n"


def test_everything_that_is_not_public_needs_a_login(run, folder):
    (folder / "ask.py").write_text(ASK_EVERYWHERE, encoding="utf-8")
    assert run("python ask.py") == "Welcome For members\nFor members\n"


def test_users_are_made_in_code(run, administrator):
    run("python people.py")  # beside the administrator made before


def test_an_operators_script_keeps_the_last_superuser(run, administrator):
    printed = run("python upkeep.py")
    assert printed == "ada is the last active superuser: make another user a superuser first\n"


def test_a_login_of_ones_own_works(run, administrator, folder):
    (folder / "ask.py").write_text(SIGN_IN, encoding="utf-8")
    assert run("python ask.py") == "Hello, stranger!\nWelcome!\nHello, ada!\n429\n"


def test_groups_are_made_in_code(run, administrator):
    run("python people.py")
    run("python editors.py")


def test_events_are_logged_and_given_to_functions(run, folder):
    (folder / "guesses.py").write_text(GUESSES, encoding="utf-8")
    *alarms, status = run("python guesses.py 2> log").splitlines()
    assert set(alarms) == {"192.0.2.1 must wait: account"}
    assert status == "429"
    logged = re.findall("event=([a-z_]*)", (folder / "log").read_text("utf-8"))
    assert logged[:5] == ["login_failed"] * 5
    assert logged.count("throttled") == len(alarms)


def test_the_event_table_is_that_of_the_events():
    rows = re.findall(r"^\| (`.*?) \|", section(GUIDE, "Events"), re.MULTILINE)
    assert {name for row in rows for name in re.findall(r"`(\w+)`", row)} == LEVELS.keys()
