"""docs/migration.md: its programs import accounts from databases that the old sites made."""

import importlib.util
import re
from dataclasses import replace
from datetime import timedelta
from functools import partial
from pathlib import Path

import pytest
from webtest import TestApp

from tests.conftest import require
from tests.docs.accounts import ROUNDS, bearer, settings_of
from tests.docs.old.passwords import PASSWORDS
from tests.docs.pages import PAGES, ROOT, section, shown
from tests.support.former import made
from tests.support.sites import PASSWORD, SECRET_KEY
from wsgiauth import AuthMiddleware, User, hash_password, storage
from wsgiauth.accounts.names import is_made
from wsgiauth.exceptions import ConfigurationError
from wsgiauth.features.former_passwords import argon
from wsgiauth.storage.models import utc_now

OLD = Path(__file__).parent / "old"
MIGRATION = PAGES["docs/migration.md"]
PROGRAMS = ROOT / "docs/examples/migration"


def test_the_page_leads_to_every_program():
    linked = re.findall(r"\]\(examples/migration/(.*?\.py)\)", MIGRATION)
    assert sorted(linked) == sorted(path.name for path in PROGRAMS.glob("*.py"))


def test_the_page_has_the_keys_of_an_account():
    keys = re.search("Keys: (.*?)\\.$", section(MIGRATION, "Import by a query"), re.MULTILINE)[1]
    text = (PROGRAMS / "importing.py").read_text("utf-8")
    for key in re.findall("`(.*?)`", keys):
        assert f'"{key}"' in text or hasattr(User, key)


def load(folder, name, monkeypatch, **environ):
    """Import a program of the page, under no name that another test could find."""
    monkeypatch.chdir(folder)
    monkeypatch.setattr("wsgiauth.hash_password", partial(hash_password, rounds=ROUNDS))
    for key, value in {"SECRET_KEY": SECRET_KEY, "BCRYPT_ROUNDS": str(ROUNDS), **environ}.items():
        monkeypatch.setenv(key, value)
    spec = importlib.util.spec_from_file_location(name, folder / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def import_accounts(folder, accounts, monkeypatch):
    """Return the loop, at work on the accounts of the site."""
    return load(folder, "importing", monkeypatch).import_accounts


def account(name, hashed=None, **others):
    """Return an account as the loop is given it."""
    password = PASSWORDS.get(name.lower(), "")
    hashed = hashed or hash_password(password, rounds=ROUNDS)
    email = f"{name}@example.org"
    return {"username": name, "email": email, "hashed_password": hashed, **others}


@pytest.mark.parametrize("prefix", ["2a", "2b", "2y"])
def test_every_bcrypt_is_taken(prefix, import_accounts, accounts):
    ada = account("ada")
    ada["hashed_password"] = ada["hashed_password"].replace("$2b$", f"${prefix}$")
    import_accounts([ada])
    assert bearer(accounts, "ada", PASSWORDS["ada"])


def test_a_lower_cost_is_replaced_at_the_next_login(import_accounts, folder):
    import_accounts([account("ada")])
    settings = replace(settings_of(folder), BCRYPT_ROUNDS=ROUNDS + 1)
    site = AuthMiddleware(lambda environ, start_response: [], settings)
    assert bearer(TestApp(site), "ada", PASSWORDS["ada"])
    assert User.objects.get(username="ada").hashed_password.startswith("$2b$05$")
    storage.discard_connection(site.database)


@pytest.mark.parametrize(
    ("refused", "why"),
    [
        (account("Ada"), "This username is taken."),
        (account("ADA", email="other@example.org"), "This username is taken."),
        (account("grace", email="ADA@example.org"), "This email address is taken."),
        (account("grace", email=""), "Enter an email address."),
        (account("grace", email=None), "Enter an email address."),
        (account("grace hopper"), "cannot contain spaces"),
        (account("grace@example.org"), "cannot contain @"),
        (account("g" * 151), "at most 150 characters"),
        (account("grace", permissions=["polls.add choice"]), "a permission must have the form"),
    ],
)
def test_who_cannot_come_is_named_and_the_others_come(refused, why, import_accounts, capsys):
    import_accounts([account("ada"), refused, account("linus")])
    printed = capsys.readouterr().out
    names = re.escape(f"{refused['username']!r} ({refused['email'] or ''!r})")
    assert re.match(rf"{names} was not imported: .*{why}", printed)
    assert printed.endswith("Created: 2; already existed: 0.\n")
    assert [user.username for user in User.objects.all()] == ["ada", "linus"]


def test_what_an_account_lacks_is_as_for_a_new_one(import_accounts, accounts):
    import_accounts([account("ada", created_at=None, is_active=None, permissions=None)])
    ada = User.objects.get(username="ada")
    assert ada.is_active
    assert ada.created_at is not None


def test_who_is_there_is_left_alone(import_accounts, accounts, capsys):
    import_accounts([account("ada")])
    ada = User.objects.get(username="ada")
    ada.is_staff = True
    ada.save()
    import_accounts([account("ada", permissions=["polls.add_choice"]), account("grace")])
    assert capsys.readouterr().out.endswith("Created: 1; already existed: 1.\n")
    ada = User.objects.get(username="ada")
    assert (ada.is_staff, ada.permissions) == (True, frozenset())


ADDRESSES = """
from importing import import_accounts

import_accounts(
    [{"email": "ada@example.org"}, {"email": "ADA@example.org"}, {"email": "grace"}]
)
"""


def test_accounts_with_an_address_alone_come_without_usernames(folder, accounts, run):
    (folder / "addresses.py").write_text(ADDRESSES, encoding="utf-8")
    refused = [
        "'ADA@example.org' was not imported: This email address is taken.",
        "'grace' was not imported: Enter an email address such as ada@example.org.",
    ]
    import_again = "USERNAMES=off DATABASE_URL=sqlite:///wsgiauth.db python addresses.py"
    needs = "'ada@example.org' needs a new password: no hash that can be used."
    for first, counts in (([needs], "1; already existed: 0"), ([], "0; already existed: 1")):
        assert run(import_again).splitlines() == [*first, *refused, f"Created: {counts}."]
    (ada,) = User.objects.all()
    assert (ada.email, is_made(ada.username)) == ("ada@example.org", True)


@pytest.mark.parametrize(
    "hashed", ["scrypt:32768:8:1$a$b", "bcrypt_sha256$$2b$12$x", "", "!", None]
)
def test_a_hash_that_cannot_be_read_logs_nobody_in(hashed, import_accounts, accounts, capsys):
    import_accounts([account("ada") | {"hashed_password": hashed}])
    assert capsys.readouterr().out.startswith(
        "'ada' ('ada@example.org') needs a new password: no hash that can be used.\n"
    )
    assert bearer(accounts, "ada", PASSWORDS["ada"]) is None


def test_a_missing_package_stops_the_loop(import_accounts, monkeypatch):
    monkeypatch.setattr(argon, "is_installed", lambda: False)
    with pytest.raises(ConfigurationError, match=r"^A hash by Argon2 needs the package argon2"):
        import_accounts([account("ada"), account("grace", made("Django argon2")), account("linus")])
    assert [user.username for user in User.objects.all()] == ["ada"]


def test_old_tokens_and_new_ones_are_taken_side_by_side(
    import_accounts, accounts, folder, monkeypatch
):
    require("flask", "flask_jwt_extended")
    import_accounts([account("ada"), account("grace")])
    old_key = SECRET_KEY[::-1]
    program = load(folder, "both_tokens", monkeypatch, OLD_JWT_SECRET_KEY=old_key)
    from flask_jwt_extended import create_access_token

    with program.app.app_context():
        old_tokens = {name: create_access_token(identity=name) for name in ("ada", "grace", "bob")}
    client = TestApp(program.application)
    new = bearer(client, "ada", PASSWORDS["ada"])
    old = {name: {"Authorization": f"Bearer {token}"} for name, token in old_tokens.items()}
    assert client.get("/account", headers=new).json == {"user": "ada"}
    assert client.get("/account", headers=old["ada"]).json == {"user": "ada"}
    grace = User.objects.get(username="grace")
    grace.is_active = False
    grace.save()
    for headers in (None, old["grace"], old["bob"], {"Authorization": "Bearer garbage"}):
        client.get("/account", headers=headers, status=401)
    client.post("/auth/logout", headers=new)
    client.get("/account", headers=new, status=401)
    import_accounts([account("bob", created_at=utc_now() + timedelta(hours=1))])
    client.get("/account", headers=old["bob"], status=401)  # who has registered the name since


def test_an_administrator_gives_a_new_password(import_accounts, run, accounts):
    import_accounts([account("barbara", "md5$a$b")])
    ((command, _),) = shown(MIGRATION, "Passwords that cannot be imported")
    run(f"echo '{PASSWORD}' | {command} --password-stdin")
    assert bearer(accounts, "barbara", PASSWORD)
