"""docs/migration.md, Django: the program before and after, the import, and the rows."""

import re
import shutil
from pathlib import Path

import pytest

from tests.conftest import require
from tests.docs.accounts import bearer
from tests.docs.old.passwords import PASSWORDS
from tests.docs.pages import PAGES, section, shown
from wsgiauth import Group, User

PAGE = section(PAGES["docs/migration.md"], "From django.contrib.auth")
OLD = Path(__file__).parent / "old"
BEFORE, AFTER = (
    (OLD / f"{name}_site.py").read_text(encoding="utf-8") for name in ("before", "after")
)

# Logs in as a person does, and says what the two views answer.
VISIT = """
import sys

import {site}_site
from django.core.management import call_command
from webtest import TestApp

call_command("migrate", verbosity=0)
{make}
client = TestApp({site}_site.application)
for path in ("/account", "/hire"):
    print(client.get(path, status="*").status_int, end=" ")
page = client.get("/account", headers={{"Accept": "text/html"}}).maybe_follow()
form = page.forms[0]
form["username"], form["password"] = "ada", "four unrelated words"
page = form.submit(headers={{"Sec-Fetch-Site": "same-origin"}}).maybe_follow()
print(page.text, client.get("/hire", status="*").status_int, end=" ")
if "csrftoken" not in client.cookies:  # no page with a form has set it
    client.set_cookie("csrftoken", "x" * 32)
token = client.cookies["csrftoken"].strip('"')
client.post("/logout", headers={{"X-CSRFToken": token}}, status=302)
print(client.get("/account").status_int)
"""
MAKE = {
    "before": """
from django.contrib.auth.models import Permission, User

ada = User.objects.create_user("ada", "ada@example.org", "four unrelated words")
ada.user_permissions.add(Permission.objects.get(codename="add_user"))
""",
    "after": """
from wsgiauth.testing import make_user

make_user(
    after_site.application, "ada", password="four unrelated words", permissions=["auth.add_user"]
)
""",
}
# The form of Django's LoginView is the site's own: the page leaves it out.
LOGIN_FORM = """<form method="post">{% csrf_token %}{{ form }}</form>"""
ENGINE = "django.template.backends.django.DjangoTemplates"
HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]  # fast
WITH_FORM = f"""    USE_TZ=True,
    PASSWORD_HASHERS={HASHERS},
    TEMPLATES=[{{'BACKEND': {ENGINE!r}, 'DIRS': ['.']}}],"""


def test_the_marked_lines_are_those_that_differ():
    before, after = (program.splitlines() for program in (BEFORE, AFTER))
    new = [line for line in after[1:] if line.partition("  # ")[0] not in before]
    assert [line for line in after if line.endswith(("# new", "# changed"))] == new
    assert 0 < len(new) <= 10


def test_the_marked_lines_are_those_of_the_set_up():
    marked = [line for line in AFTER.splitlines() if line.endswith(("# new", "# changed"))]
    names = re.compile(r"wsgiauth\.[.\w]+|[A-Z_]{9,}(?==)|AuthMiddleware\(\w+\(\)")
    named = names.findall("\n".join(marked))
    assert len(named) == 6
    set_up = section(PAGES["docs/django.md"], "Set-up")
    assert [each for each in named if each not in set_up] == []


@pytest.mark.parametrize("site", ["before", "after"])
def test_both_programs_do_the_same(site, run, folder):
    require("django")
    (folder / "registration").mkdir()
    (folder / "registration/login.html").write_text(LOGIN_FORM, encoding="utf-8")
    shutil.copy(OLD / f"{site}_site.py", folder)
    program = folder / f"{site}_site.py"
    text = program.read_text(encoding="utf-8").replace("    USE_TZ=True,", WITH_FORM)
    program.write_text(text, encoding="utf-8")
    (folder / "visit.py").write_text(VISIT.format(site=site, make=MAKE[site]), encoding="utf-8")
    assert run("DATABASE_URL=sqlite:///accounts.db python visit.py") == "302 403 ada 200 302\n"


def test_users_come_with_their_passwords_permissions_and_rows(folder, run, accounts):
    require("django")
    for path in OLD.glob("*.py"):
        shutil.copy(path, folder)
    (folder / "mysite").mkdir()
    (folder / "new_settings.py").rename(folder / "mysite/settings.py")
    run("DJANGO_SETTINGS_MODULE=old_settings python django_users.py")
    (export, _), (command, output) = shown(PAGE, "Import Django's users")
    (settings, _), (migrate, _), (connect, connected) = shown(PAGE, "Connect the rows")
    assert run(f"{export}\n{command}") == output
    site = f"{export}\n{settings}"
    assert run(f"{site}\n{migrate} --run-syncdb\n{connect}") == connected
    profiles = {
        name: accounts.get("/auth/me", headers=bearer(accounts, name, PASSWORDS[name])).json
        for name in ("ada", "grace")
    }
    assert profiles["ada"]["is_staff"]
    assert profiles["ada"]["is_superuser"]
    assert profiles["ada"]["created_at"] == "2020-02-29T12:30:00Z"
    assert profiles["grace"]["permissions"] == [
        "auth.add_user",
        "auth.view_group",
        "auth.view_user",
    ]
    dorothy = User.objects.get(username="dorothy")
    assert not dorothy.is_active
    assert dorothy.permissions == {"auth.add_user", "auth.view_group"}
    (editors,) = Group.objects.all()
    assert editors.permissions == {"auth.add_user", "auth.view_group"}
    assert [user.username for user in editors.members] == ["grace", "dorothy"]
    assert bearer(accounts, "barbara", PASSWORDS["barbara"])
    frances = f"{export}\npython rename_users.py\n{command}\n{settings}\n{connect}"
    assert run(frances) == "Created: 1; already existed: 4.\nConnected: 1.\n"
    assert bearer(accounts, "frances@example.org", PASSWORDS["frances"])
    dorothy.is_active = True
    dorothy.save()
    assert bearer(accounts, "dorothy", PASSWORDS["dorothy"])


def test_users_of_a_model_without_usernames_come_with_their_rows(folder, run, accounts):
    require("django")
    shutil.copytree(OLD, folder, dirs_exist_ok=True)
    ((without, _),) = shown(PAGE, "A user model without usernames")
    (export, _), (command, _) = shown(PAGE, "Import Django's users")
    (settings, _), (migrate, _), (connect, _) = shown(PAGE, "Connect the rows")
    export = f"{export}\n{without}".replace("old_settings", "member_settings")
    run(f"{export}\npython django_members.py")
    for created, existing in ((2, 0), (0, 2)):
        counts = f"Created: {created}; already existed: {existing}.\n"
        assert run(f"{export}\n{command}") == counts
    site = f"{export}\n{settings.replace('mysite.settings', 'new_member_settings')}"
    assert run(f"{site}\n{migrate} --run-syncdb\n{connect}") == "Connected: 2.\n"
    ada, grace = User.objects.all()
    assert (ada.email, ada.is_staff) == ("ada@example.org", True)
    assert [group.name for group in grace.groups] == ["editors"]
    for name in ("ada", "grace"):
        assert bearer(accounts, f"{name}@example.org", PASSWORDS[name])
