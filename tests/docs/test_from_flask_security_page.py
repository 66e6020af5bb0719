"""docs/migration.md, Flask-Security: the app before and after, and the import."""

import shutil
from pathlib import Path

import pytest

from tests.conftest import require
from tests.docs.accounts import bearer
from tests.docs.old.passwords import PASSWORDS
from tests.docs.pages import PAGES, section, shown
from wsgiauth import Group, User
from wsgiauth.accounts.names import is_made

OLD = Path(__file__).parent / "old"
PAGE = section(PAGES["docs/migration.md"], "From Flask-Security")

LOG_IN_BEFORE = f"""
import re
from flask_security_before import app, db, security

client = app.test_client()
form = client.get("/login?next=/account").text
token = re.search('name="csrf_token".*?value="(.*?)"', form)[1]
ada = {{"email": "ada@example.org", "password": {PASSWORDS["ada"]!r}, "csrf_token": token}}
"""
ASK_BEFORE = f"""{LOG_IN_BEFORE}
print(client.get("/account", headers={{"Accept": "text/html"}}).location)
print(client.post("/login?next=/account", data=ada).location)
print(client.get("/account").text, client.get("/drafts").text)
client.post("/logout")
print(client.get("/account").status_code)
"""
ASK_AFTER = f"""
from flask_security_after import app

browser = {{"Accept": "text/html", "Sec-Fetch-Site": "same-origin"}}
ada = {{"username": "ada@example.org", "password": {PASSWORDS["ada"]!r}, "next": "/account"}}
client = app.test_client()
print(client.get("/account", headers=browser).location)
print(client.post("/auth/login", data=ada, headers=browser).location)
print(client.get("/account").text, client.get("/drafts").text)
client.post("/auth/logout", headers=browser)
print(client.get("/account").status_code)
"""


@pytest.fixture
def export(folder):
    """Return the commands that set the environment, with the old database in the folder."""
    require("flask_security", "flask_sqlalchemy", "argon2")
    for path in (*OLD.glob("flask_security_*.py"), OLD / "passwords.py"):
        shutil.copy(path, folder)
    *commands, _ = (command for command, _ in shown(PAGE, "Users of Flask-Security"))
    command = "\n".join(commands).replace("/srv/site", str(folder))
    return f"{command}\nexport SECURITY_PASSWORD_SALT=146585145368132386173505678016728509634"


def test_users_come_and_bring_their_passwords(export, run, accounts, folder):
    scripts = {"ask_before": ASK_BEFORE, "ask_after": ASK_AFTER}
    for name, script in scripts.items():
        (folder / f"{name}.py").write_text(script, encoding="utf-8")
    seen = "Hello, ada@example.org! Drafts\n"
    before = run(f"{export}\npython -c 'import flask_security_users, ask_before'")
    assert before == f"/login?next=/account\n/account\n{seen}302\n"

    *_, (command, output) = shown(PAGE, "Users of Flask-Security")
    assert run(f"{export}\n{command}") == output
    ada, grace = (User.objects.get(email=f"{name}@example.org") for name in ("ada", "grace"))
    assert is_made(ada.username)
    assert (ada.email_verified_at.year, grace.email_verified_at) == (2020, None)
    assert (ada.is_active, grace.is_active) == (True, False)
    assert ada.has_permission("reports.publish")
    assert [group.name for group in Group.objects.all()] == ["editors"]
    assert bearer(accounts, ada.email, "wrong") is None
    program = (folder / "from_flask_security.py").read_text(encoding="utf-8")
    lacking = program.replace('{"reports-publish": "reports.publish"}', "{}")
    (folder / "lacking.py").write_text(lacking, encoding="utf-8")
    refusal = run(f"{export}\n! python lacking.py 2>&1")
    assert refusal == "PERMISSIONS lacks reports-publish of the role editors\n"
    after = run(f"{export}\npython ask_after.py")
    assert after == f"/auth/login?next=%2Faccount\n/account\n{seen}401\n"
