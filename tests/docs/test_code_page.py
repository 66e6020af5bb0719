"""docs/users.md: its programs, and its list of public functions."""

import re
from inspect import isfunction

import wsgiauth
from tests.docs.pages import PAGES, section

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


def test_the_functions_are_the_public_ones():
    text = section(PAGES["docs/users.md"], "Functions in code")
    items = re.findall(r"^- (`.*?`): ", text, re.MULTILINE)
    listed = {name for item in items for name in re.findall(r"`(\w+)", item)}
    public = {name for name in wsgiauth.__all__ if isfunction(getattr(wsgiauth, name))}
    assert listed == public | {"login_required", "permission_required"}


def test_users_are_made_in_code(run, ada):
    run("python people.py")  # beside the administrator made before


def test_an_operators_script_keeps_the_last_superuser(run, ada):
    printed = run("python upkeep.py")
    assert printed == "Ada is the last active superuser: make another user a superuser first\n"


def test_a_login_of_ones_own_works(run, ada, folder):
    (folder / "ask.py").write_text(SIGN_IN, encoding="utf-8")
    assert run("python ask.py") == "Hello, stranger!\nWelcome!\nHello, Ada!\n429\n"


def test_groups_are_made_in_code(run, ada):
    run("python people.py")
    run("python editors.py")
