"""Former passwords on the command line: created, counted, imported and exported."""

import json

import pytest

from tests.features.former_passwords.samples import WERKZEUG
from tests.support.former import LONG, PEPPER, made, of_sha256
from tests.support.sites import EMAIL, PASSWORD, SECRET_KEY, USERNAME
from wsgiauth import User, hash_password, storage, verify_password
from wsgiauth.accounts.tables import FormerPassword
from wsgiauth.authentication import authenticate
from wsgiauth.features.former_passwords import argon
from wsgiauth.features.former_passwords.site_passwords import SiteFormerPasswords
from wsgiauth.features.transfer import rows
from wsgiauth.storage import context

COLUMNS = "username,email,hashed_password"
ROOT = ("--username", USERNAME, "--email", EMAIL, "--former-hash-stdin")


def lines(**hashes):
    rows = [f'{name},{name}@example.org,"{hashed}"' for name, hashed in hashes.items()]
    return "\n".join([COLUMNS, *rows, ""])


@pytest.fixture
def run(wsgiauth, database, monkeypatch):
    """Return a function that runs a command: its exit status, output and errors."""
    monkeypatch.setenv("REGISTRATION", "off")

    def run_command(*argv, stdin=""):
        result = wsgiauth(*argv, stdin=stdin)
        storage.discard_connection(storage.current())
        context.use(database)  # the command opened it once more
        return result

    return run_command


@pytest.fixture
def can_log_in(settings):
    """Return whether a password is that of a user."""

    def can_log_in(name, password=PASSWORD):
        former = SiteFormerPasswords(settings)
        return authenticate(name, password, rounds=4, former=former) is not None

    return can_log_in


def test_a_user_is_created_with_a_hash(run, can_log_in):
    for command in ("createuser", "createsuperuser"):
        status, output, _ = run(command, *ROOT, stdin=f"{WERKZEUG}\n")
        assert (status, output.split()[0]) == (0, "Created")
        assert can_log_in(USERNAME)
        User.delete().execute()


def test_a_wrong_or_missing_hash_creates_no_user_and_is_not_shown(run):
    status, output, errors = run("createuser", *ROOT, stdin="secret\n")
    assert (status, output) == (1, "")
    assert errors == "wsgiauth: The hash is of an unknown form.\n"
    assert run("createuser", *ROOT)[0] == 1
    assert not User.objects.count()


@pytest.mark.every_database
def test_the_hashes_are_counted(run):
    hashes = {"wera": WERKZEUG, "bob": made("bcrypt"), "nina": "", "dora": made("Django scrypt")}
    run("import", "-", stdin=lines(**hashes))
    assert run("hashes") == (0, "hash    users\nbcrypt  1\nscrypt  2\nnone    1\n", "")
    assert json.loads(run("hashes", "--json")[1]) == [
        {"hash": "bcrypt", "users": 1},
        {"hash": "scrypt", "users": 2},
        {"hash": "none", "users": 1},
    ]


def test_a_hash_that_was_replaced_by_an_update_is_one_by_bcrypt(run, database):
    assert run("hashes")[1] == "hash  users\n"
    run("import", "-", stdin=lines(wera=WERKZEUG))
    User.update(hashed_password=hash_password(PASSWORD, rounds=4)).execute()
    assert run("hashes")[1] == "hash    users\nbcrypt  1\n"
    assert "former$" not in run("export", "--with-hashes")[1]


@pytest.mark.every_database
def test_an_import_keeps_passwords(run, can_log_in):
    run("import", "-", "--dry-run", stdin=lines(wera=WERKZEUG))
    assert not FormerPassword.select().exists()
    assert run("import", "-", stdin=lines(wera=WERKZEUG, ari=made("Django argon2")))[0] == 0
    assert can_log_in("wera")
    assert can_log_in("ari")
    assert not can_log_in("ari", "wrong")
    assert not FormerPassword.select().exists()


def test_a_line_with_a_hash_that_costs_too_much_is_named(run, can_log_in):
    stdin = lines(wera=WERKZEUG, eve=WERKZEUG.replace(":16:", ":524288:"), ari=WERKZEUG)
    assert run("import", "-", stdin=stdin) == (
        1,
        "Created 2 users; 0 existed already.\n",
        "line 3: hashed_password needs more than 256 MiB of memory; leave it empty to import the"
        " user without a password.\nwsgiauth: 1 line refused\n",
    )
    assert can_log_in("ari")


def test_without_the_package_no_user_is_created_and_the_error_says_what_is_missing(
    run, monkeypatch
):
    monkeypatch.setattr(argon, "is_installed", lambda: False)
    missing = "wsgiauth: A hash by Argon2 needs the package argon2-cffi, which is not"
    stdin = lines(wera=WERKZEUG, ari=made("Django argon2"), bob=made("bcrypt"))
    status, output, errors = run("import", "-", stdin=stdin)
    assert status == 1
    assert output == "Created 0 users; 0 existed already; stopped after line 1.\n"
    assert errors.startswith(missing)
    status, _, errors = run("createuser", *ROOT, stdin=f"{made('Django argon2')}\n")
    assert status == 1
    assert errors.startswith(missing)
    assert not User.objects.count()


def test_peppered_hashes_need_the_pepper_and_are_named_so(run, monkeypatch):
    status, _, errors = run("import", "-", "--pepper", stdin=lines(wera=WERKZEUG))
    assert (status, User.objects.count()) == (1, 0)
    assert "--pepper needs FORMER_PEPPER" in errors
    monkeypatch.setenv("FORMER_PEPPER", PEPPER)
    run("import", "-", "--pepper", stdin=lines(wera=WERKZEUG, bob=made("bcrypt")))
    assert run("hashes")[1].split()[2::2] == ["bcrypt-peppered", "scrypt-peppered"]


def test_an_option_says_that_bcrypt_hashes_are_of_a_digest(run, can_log_in):
    hashes = lines(lena=of_sha256(LONG), wera=WERKZEUG)
    assert run("import", "-", "--digest", "sha256", stdin=hashes)[0] == 0
    assert can_log_in("lena", LONG)
    assert can_log_in("wera")


def test_an_export_can_be_imported_again(run, can_log_in):
    run("import", "-", stdin=lines(wera=WERKZEUG, bob=made("bcrypt")))
    status, exported, _ = run("export", "--with-hashes")
    assert (status, exported.count("former$scrypt$n=16,")) == (0, 1)
    assert WERKZEUG.rpartition("$")[2] not in exported
    assert "scrypt" not in run("export")[1]
    User.delete().execute()
    assert run("import", "-", stdin=exported)[0] == 0
    assert run("export", "--with-hashes")[1] == exported
    assert can_log_in("wera")


@pytest.fixture
def exported_hash(run, monkeypatch):
    """Return a function that does something in the middle of an export, and returns its hash."""
    run("import", "-", stdin=lines(wera=WERKZEUG))
    pages = rows.user_pages

    def exported(action):
        def pages_then_action():
            for page in pages():
                action()
                yield page

        monkeypatch.setattr(rows, "user_pages", pages_then_action)
        return next(rows.exported_rows(with_hashes=True))[rows.COLUMNS.index("hashed_password")]

    return exported


@pytest.mark.every_database
def test_a_login_during_an_export_leaves_a_hash_of_the_password(exported_hash, can_log_in):
    assert verify_password(PASSWORD, exported_hash(lambda: can_log_in("wera")))


def test_a_deletion_during_an_export_leaves_no_hash(exported_hash):
    assert exported_hash(User.delete().execute) == ""


@pytest.fixture
def check(run, monkeypatch):
    """Return a function that returns the lines of `check` about former passwords."""

    def check():
        monkeypatch.setenv("SECRET_KEY", SECRET_KEY)
        return [line for line in run("check")[1].splitlines() if "ormer passwords" in line]

    return check


def test_check_counts_the_former_passwords(run, check):
    assert check() == []
    run("import", "-", stdin=lines(wera=WERKZEUG))
    assert check() == [
        "note: 1 user has not logged in since the import, and has former passwords: 1 scrypt."
    ]
    run("import", "-", stdin=lines(ari=made("Django argon2")))
    assert check() == [
        "note: 2 users have not logged in since the import, and have former passwords:"
        " 1 argon2, 1 scrypt."
    ]


def test_check_warns_of_former_passwords_that_cannot_be_verified(run, check, monkeypatch):
    monkeypatch.setenv("FORMER_PEPPER", PEPPER)
    run("import", "-", "--pepper", stdin=lines(wera=WERKZEUG, ari=made("Django argon2")))
    assert len(check()) == 1
    monkeypatch.delenv("FORMER_PEPPER")
    monkeypatch.setattr(argon, "is_installed", lambda: False)
    assert check()[:1] == [
        "warning: Former passwords of some users cannot be verified without FORMER_PEPPER."
    ]
