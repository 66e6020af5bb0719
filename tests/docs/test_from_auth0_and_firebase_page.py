"""docs/migration.md, Auth0 and Firebase: the files in their documented forms are imported."""

import re
import shutil
from pathlib import Path

import pytest

from tests.docs.accounts import bearer
from tests.docs.old.passwords import PASSWORDS
from tests.docs.pages import PAGES, section, shown
from wsgiauth import User
from wsgiauth.accounts.names import is_made
from wsgiauth.features.providers.identities import Identity

OLD = Path(__file__).parent / "old"
TITLE = "From Auth0 or Firebase"
PAGE = section(PAGES["docs/migration.md"], TITLE)
(EXPORT, _), (AUTH0, LEFT_OUT), (IMPORT, IMPORTED) = shown(PAGES["docs/migration.md"], TITLE)
(FIREBASE,) = re.findall(r"`(python from_firebase.py .*?)`", PAGE)
GOOGLE = "https://accounts.google.com"


@pytest.fixture
def export(folder, run):
    """Return a function that runs commands in the page's environment, beside the old files."""
    for path in OLD.glob("*.json"):
        shutil.copy(path, folder)
    shutil.move(folder / "firebase_users.json", folder / "users.json")
    return lambda *commands: run("\n".join((EXPORT, *commands)))


def proof(user):
    return user.email_verified_by, user.email_verified_at and user.email_verified_at.year


def identities():
    """Return the accounts of providers, by the address of their user."""
    return {each.user.email: (each.issuer, each.subject) for each in Identity.select()}


def test_users_of_auth0_come_with_their_passwords_and_google_accounts(export, accounts):
    assert export(f"{{ {AUTH0}; }} 2>&1", IMPORT) == LEFT_OUT + IMPORTED
    users = {each.email: each for each in User.objects.all()}
    ada, grace = users["ada@example.org"], users["Grace@example.org"]
    assert all(is_made(each.username) for each in users.values())
    for name in ("ada", "margaret"):  # her password is of a linked account
        assert bearer(accounts, f"{name}@example.org", PASSWORDS[name])
    assert (ada.created_at.year, proof(ada)) == (2020, (GOOGLE, 2020))
    assert (proof(grace), grace.is_active, grace.has_password) == (("", None), False, True)
    assert identities() == {
        "ada@example.org": (GOOGLE, "108204268033311374519"),
        "barbara@example.org": (GOOGLE, "113290837466251890034"),
        "margaret@example.org": (GOOGLE, "104477012233445566778"),
    }


def test_a_password_of_an_address_that_another_user_verified_does_not_come(export, accounts):
    export(AUTH0, IMPORT)
    barbara = User.objects.get(email="barbara@example.org")
    assert (barbara.has_password, proof(barbara)) == (False, (GOOGLE, 2021))
    assert bearer(accounts, barbara.email, PASSWORDS["barbara"]) is None


def test_users_of_firebase_come_without_passwords(export, accounts):
    imported = export(f"{{ {FIREBASE}; }} 2>&1", IMPORT)
    assert imported == (
        "'' [('phone', '+15555550100')] was left out.\nCreated 2 users; 0 existed already.\n"
    )
    ada, grace = User.objects.all()
    assert not ada.has_password
    assert not grace.has_password
    assert (ada.created_at.isoformat(), proof(ada)) == ("2020-02-29T12:30:00+00:00", ("link", 2020))
    assert (grace.is_active, proof(grace)) == (False, (GOOGLE, 2020))
    assert identities() == {"grace@example.org": (GOOGLE, "108204268033311374519")}


def test_a_second_import_changes_nothing(export, accounts):
    export(AUTH0, IMPORT)
    assert export(IMPORT) == "Created 0 users; 4 existed already.\n"
