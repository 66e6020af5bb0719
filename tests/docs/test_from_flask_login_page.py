"""docs/migration.md, Flask-Login: the app before and after, the import, and the bridge."""

import re
import shutil
from pathlib import Path

from tests.conftest import require
from tests.docs.accounts import bearer
from tests.docs.old.passwords import PASSWORDS
from tests.docs.pages import PAGES, code, section, shown
from wsgiauth import User

OLD = Path(__file__).parent / "old"
PAGE = section(PAGES["docs/migration.md"], "From Flask-Login")

# What people see: an anonymous client, a wrong and a right password, after the logout.
ASK_BEFORE = f"""
from flask_login_before import app

ada = {{"username": "ada", "password": {PASSWORDS["ada"]!r}}}
client = app.test_client()
print(client.get("/account").location)
print("Wrong" in client.post("/login", data={{**ada, "password": "x"}}).text)
print(client.post("/login", data=ada).location, client.get("/account").text)
client.post("/logout")
print(client.get("/account").status_code)
"""
ASK_AFTER = f"""
from flask_login_after import app

ada = {{"username": "ada", "password": {PASSWORDS["ada"]!r}, "next": "/account"}}
browser = {{"Accept": "text/html", "Sec-Fetch-Site": "same-origin"}}
client = app.test_client()
print(client.get("/account", headers=browser).location)
print(client.post("/auth/login", data={{**ada, "password": "x"}}, headers=browser).status_code)
print(client.post("/auth/login", data=ada, headers=browser).location, client.get("/account").text)
client.post("/auth/logout", headers=browser)
print(client.get("/account").status_code)
"""
ASK_THE_BRIDGE = """
from flask_login_bridge import app
from wsgiauth.testing import api_key, bearer

client = app.test_client()
headers = bearer(app.wsgi_app)
print(client.get("/extension").status_code)
print(client.get("/extension", headers={"Accept": "text/html"}).location)
print(client.get("/extension", headers=headers).text)
print(client.get("/extension", headers=api_key(app.wsgi_app, None)).status_code)
client.post("/auth/logout", headers=headers)
print(client.get("/extension", headers=headers).status_code)
"""


def test_every_program_is_run():
    assert [program.partition("\n")[0] for program in code(PAGE, "python")] == [
        "# from_flask_login.py",
        "# flask_login_bridge.py",
    ]


def test_users_come_with_their_passwords_and_the_app_works_as_before(run, accounts, folder):
    require("flask_bcrypt", "flask_login", "sqlalchemy")
    for name in ("flask_login_before.py", "flask_login_after.py", "flask_users.py", "passwords.py"):
        shutil.copy(OLD / name, folder)
    for name, script in {"ask_before": ASK_BEFORE, "ask_after": ASK_AFTER}.items():
        (folder / f"{name}.py").write_text(script, encoding="utf-8")
    (export, _), (command, output) = shown(PAGE, "Users of Flask-Login")
    before = run(f"{export}\npython -c 'import flask_users, ask_before'")
    assert before == "/login?next=%2Faccount\nTrue\n/account Hello, ada!\n302\n"
    assert run(f"{export}\n{command}") == output
    *lines, last = output.splitlines()
    created = re.fullmatch(r"Created: (\d+); already existed: 0\.", last)[1]
    again = f"Created: 0; already existed: {created}."
    assert run(f"{export}\n{command}").splitlines() == [*lines, again]
    assert (
        accounts.get("/auth/me", headers=bearer(accounts, "ada", PASSWORDS["ada"])).json.items()
        >= {"username": "ada", "created_at": "2020-02-29T12:30:00Z"}.items()
    )
    assert bearer(accounts, "barbara", PASSWORDS["barbara"])
    assert bearer(accounts, "grace", PASSWORDS["grace"]) is None  # who is not active
    grace = User.objects.get(username="grace")
    grace.is_active = True
    grace.save()
    assert bearer(accounts, "grace", PASSWORDS["grace"])
    after = run(f"{export}\npython ask_after.py")
    assert after == "/auth/login?next=%2Faccount\n401\n/account Hello, ada!\n401\n"


def test_an_extension_that_asks_flask_login_gets_the_user(run, folder, accounts):
    require("flask_login")
    (folder / "ask.py").write_text(ASK_THE_BRIDGE, encoding="utf-8")
    assert run("python ask.py").splitlines() == [
        "401",
        "/auth/login?next=%2Fextension",
        "as an extension has it",
        "401",
        "401",
    ]
