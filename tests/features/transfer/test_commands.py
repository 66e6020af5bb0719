"""The commands `import` and `export`."""

import csv
import io
import itertools
import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from urllib.parse import quote

import peewee
import pytest

from tests.support.identities import account
from tests.support.mails import MAIL
from tests.support.permissions import OTHER, give_away
from tests.support.sites import EMAIL, PASSWORD, SECRET_KEY, USERNAME
from wsgiauth import User, hash_password, storage, verify_password
from wsgiauth.accounts import create_user, names
from wsgiauth.accounts.tables import Permission
from wsgiauth.cli import main
from wsgiauth.events.models import RecordedEvent
from wsgiauth.features.providers import identities
from wsgiauth.features.providers.identities import Identity
from wsgiauth.features.transfer import commands, importing
from wsgiauth.features.transfer.importing import BATCH
from wsgiauth.features.transfer.rows import COLUMNS
from wsgiauth.mail.outbox import Mail
from wsgiauth.storage import context

HASH = hash_password(PASSWORD, rounds=4)
ADA = f"{USERNAME},{EMAIL},{HASH}"
SMALL = 8  # rows of a batch


@pytest.fixture
def run(monkeypatch, capsys, database, settings):
    """Return a function that runs a command: its exit status, output and errors."""
    monkeypatch.setenv("DATABASE_URL", settings.DATABASE_URL)
    monkeypatch.setenv("BCRYPT_ROUNDS", "4")
    monkeypatch.setenv("REGISTRATION", "off")

    def run_command(*argv, stdin=""):
        monkeypatch.setattr(sys, "stdin", io.StringIO(stdin))
        status = main(argv)
        storage.discard_connection(storage.current())
        context.use(database)  # the command opened it once more
        captured = capsys.readouterr()
        return status, captured.out, captured.err

    return run_command


@pytest.fixture
def small_batches(monkeypatch):
    """Let a batch have few rows."""
    for module in (commands, importing):
        monkeypatch.setattr(module, "BATCH", SMALL)


NAMED = "username,email"


def lines(*rows, columns="username,email,hashed_password"):
    return "\n".join((columns, *rows)) + "\n"


@pytest.mark.every_database
def test_the_users_of_a_file_are_created(run, tmp_path):
    file = tmp_path / "users.csv"
    full = f"{ADA},no,yes,on,2020-02-03T04:05:06Z,2021-02-03 04:05:06.7+01:00,link,b.c a.b a.b,"
    file.write_text(lines(full, columns=",".join(COLUMNS)), encoding="utf-8-sig")
    assert run("import", str(file)) == (0, "Created 1 user; 0 existed already.\n", "")
    (ada,) = User.select()
    assert (ada.username, ada.email, ada.is_active) == (USERNAME, EMAIL, False)
    assert (ada.is_staff, ada.is_superuser) == (True, True)
    assert ada.created_at == datetime(2020, 2, 3, 4, 5, 6, tzinfo=UTC)
    assert ada.email_verified_at == datetime(2021, 2, 3, 3, 5, 6, tzinfo=UTC)
    assert ada.email_verified_by == "link"
    assert ada.permissions == {"a.b", "b.c"}
    assert verify_password(PASSWORD, ada.hashed_password)


def test_two_columns_are_enough_and_then_no_password_fits(run):
    assert run("import", "-", stdin=lines(f"{USERNAME},{EMAIL}", columns="Username, email"))[0] == 0
    (ada,) = User.select()
    assert (ada.is_active, ada.is_staff, ada.email_verified_at) == (True, False, None)
    assert not ada.has_password
    assert not verify_password("", ada.hashed_password, rounds=4)


def test_what_django_stores_for_no_password_is_none(run):
    rows = [f"{USERNAME},{EMAIL},!", f"grace,g@example.org,!{'qB7' * 13}w"]
    assert run("import", "-", stdin=lines(*rows))[::2] == (0, "")
    assert {each.hashed_password for each in User.select()} == {""}


@pytest.mark.every_database
def test_importing_again_changes_nothing(run):
    rows = [f"user{number},{number}@example.org,{HASH}" for number in range(BATCH + 2)]
    half = run("import", "-", stdin=lines(*rows[: BATCH + 1]))
    assert half[1] == f"Created {BATCH + 1} users; 0 existed already.\n"
    again = run("import", "-", stdin=lines(*rows, rows[-1].upper().replace(HASH.upper(), HASH)))
    assert again[:2] == (0, f"Created 1 user; {BATCH + 2} existed already.\n")


def test_an_import_warns_while_anyone_can_register(run, monkeypatch):
    monkeypatch.setenv("REGISTRATION", "on")
    status, _, errors = run("import", "-", stdin=lines(ADA))
    assert status == 0
    assert errors == (
        "warning: REGISTRATION is on, so anyone can register the name of a user who is not"
        " imported; set REGISTRATION=off until all have an account\n"
    )


EMPTY = "; leave it empty to import the user without a password."
TIME = "must be a time such as 2026-11-02T09:05:00Z."
REFUSED = {
    "name": ("a b,b@example.org,", "A username cannot contain spaces or invisible characters."),
    "address": ("grace,grace@,", "Enter an email address such as ada@example.org."),
    "hash": ("grace,g@example.org,secret", f"hashed_password is of an unknown form{EMPTY}"),
    "cost": (
        f"grace,g@example.org,{HASH.replace('$04$', '$31$')}",
        f"hashed_password has a cost above 16{EMPTY}",
    ),
    "taken name": (f"{USERNAME},g@example.org,", "This username is taken."),
    "taken address": (f"grace,{EMAIL},", "This email address is taken."),
    "both of others": (
        "ADA,Lin@example.org,",
        "This username is taken. This email address is taken.",
    ),
    "too short": ("grace,g@example.org", "2 values for 3 columns."),
    "too long": ("grace,g@example.org,,,", "5 values for 3 columns."),
}


def test_a_line_that_is_refused_is_named_and_the_others_are_imported(run):
    rows = [row for row, _ in REFUSED.values()]
    stdin = lines(ADA, "Lin,lin@example.org,", "", *rows, "Zoe,zoe@example.org,")
    status, output, errors = run("import", "-", stdin=stdin)
    assert (status, output) == (1, "Created 3 users; 0 existed already.\n")
    assert errors.splitlines() == [
        *(f"line {number}: {reason}" for number, (_, reason) in enumerate(REFUSED.values(), 5)),
        f"wsgiauth: {len(REFUSED)} lines refused",
    ]


def test_a_hash_of_the_sites_own_cost_is_imported_however_high(run, monkeypatch):
    monkeypatch.setenv("BCRYPT_ROUNDS", "18")
    rows = [f"{cost},{cost}@example.org,{HASH.replace('$04$', f'${cost}$')}" for cost in (18, 19)]
    _, output, errors = run("import", "-", stdin=lines(*rows))
    assert output == "Created 1 user; 0 existed already.\n"
    assert errors.startswith(f"line 3: hashed_password has a cost above 18{EMPTY}\n")


def test_a_wrong_value_is_refused(run):
    verified_by = "email_verified_by must be link, operator, the issuer of a provider, or empty."
    for column, value, reason in (
        ("is_staff", "maybe", "is_staff must be yes or no."),
        ("created_at", "yesterday", f"created_at {TIME}"),
        ("email_verified_at", "0001-01-01T00:00:00+14:00", f"email_verified_at {TIME}"),
        ("email_verified_by", "google", verified_by),
        ("permissions", "a.b nonsense", "permissions: a permission must have the form"),
    ):
        stdin = lines(f"grace,g@example.org,{value}", columns=f"username,email,{column}")
        status, _, errors = run("import", "-", stdin=stdin)
        assert (status, errors.startswith(f"line 2: {reason}")) == (1, True), column
    assert User.objects.count() == 0


HEADINGS = {
    "no address": ("username", "there is no column email"),
    "nothing": ("", "there is no column username"),
    "unknown": ("username,email,passwd", "there is an unknown column 'passwd'"),
    "twice": ("username,email,email", "a column is given twice"),
}


def test_wrong_headings_are_refused(run):
    for columns, reason in HEADINGS.values():
        status, _, errors = run("import", "-", stdin=lines("a,b,c", columns=columns))
        expected = f"{reason}; the first line must name some of {', '.join(COLUMNS)}"
        if "unknown" in reason:
            expected += "; for fields of your registration, give --app MODULE:NAME"
        assert (status, errors) == (1, f"wsgiauth: {expected}\n")


def test_a_record_that_is_not_csv_stops_the_import(run):
    rows = ['"Li', 'n",lin@example.org,', ADA, '"open,b@example.org,', "Zoe,zoe@example.org,"]
    status, output, errors = run("import", "-", stdin=lines(*rows))
    assert (status, output) == (1, "Created 1 user; 0 existed already; stopped after line 4.\n")
    refused, reason = errors.splitlines()
    assert refused.startswith("line 3: ")
    assert reason.startswith("wsgiauth: line 5 is not CSV: ")


NOT_UTF_8 = {
    "headings": (b"username,e\xebmail\n", 1, ""),
    "row": (
        b"username,email\nada,ada@example.org\n\nZo\xeb,zoe@example.org\nlin,lin@example.org\n",
        4,
        "Created 1 user; 0 existed already; stopped after line 2.\n",
    ),
}


def test_a_byte_that_is_not_utf_8_stops_the_import(run, tmp_path):
    file = tmp_path / "users.csv"
    for content, line, summary in NOT_UTF_8.values():
        file.write_bytes(content)
        refusal = f"wsgiauth: line {line} is not in UTF-8\n"
        assert run("import", str(file)) == (1, summary, refusal)


def fail():
    raise peewee.OperationalError("disk I/O error")


def interrupt():
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("stop", "status", "error"),
    [
        pytest.param(fail, 1, "wsgiauth: the database failed: disk I/O error", id="database"),
        pytest.param(interrupt, 130, "", id="Ctrl+C"),
    ],
)
def test_an_import_that_stops_says_what_it_did(
    run, small_batches, monkeypatch, stop, status, error
):
    def insert_twice(rows):
        return insert_many(rows) if next(calls) < 2 else stop()

    calls, insert_many = itertools.count(), User.insert_many
    monkeypatch.setattr(User, "insert_many", insert_twice)
    rows = [f"user{number},{number}@example.org,{HASH}" for number in range(2 * SMALL + 1)]
    summary = f"Created {2 * SMALL} users; 0 existed already; stopped after line {2 * SMALL + 1}.\n"
    errors = (
        f"Created {SMALL} users up to line {SMALL + 1}\n"
        f"Created {2 * SMALL} users up to line {2 * SMALL + 1}\n"
        f"{error}\n"
    )
    assert run("import", "-", stdin=lines(*rows)) == (status, summary, errors)
    assert User.objects.count() == 2 * SMALL


def test_a_missing_file_is_refused(run, tmp_path):
    status, _, errors = run("import", f"{tmp_path}/nothing.csv")
    reason = f"{tmp_path}/nothing.csv cannot be read: No such file or directory"
    assert (status, errors) == (1, f"wsgiauth: {reason}\n")


def test_a_dry_run_changes_nothing(run):
    stdin = lines(ADA, "a b,b@example.org,")
    status, output, errors = run("import", "-", "--dry-run", stdin=stdin)
    assert (status, output) == (1, "Would create 1 user; 0 existed already.\n")
    assert errors.startswith("line 3: ")
    assert User.objects.count() == 0


def test_a_dry_run_says_of_the_whole_file_what_an_import_would(run, small_batches):
    between = [f"user{number},{number}@example.org,{HASH}" for number in range(2 * SMALL)]
    both = f"{USERNAME.lower()},{EMAIL.upper()},{HASH}"
    rows = [f"ADA,b@example.org,{HASH}", f"ad,{EMAIL.upper()},{HASH}", both, *between[:1]]
    stdin = lines(ADA, *between, *rows)
    status, output, errors = run("import", "-", "--dry-run", stdin=stdin)
    assert (status, output) == (1, f"Would create {2 * SMALL + 1} users; 2 existed already.\n")
    assert errors == (
        f"Would create {SMALL} users up to line {SMALL + 1}\n"
        f"Would create {2 * SMALL} users up to line {2 * SMALL + 1}\n"
        f"line {2 * SMALL + 3}: This username is taken.\n"
        f"line {2 * SMALL + 4}: This email address is taken.\n"
        "wsgiauth: 2 lines refused\n"
    )
    done = (text.replace("Would create", "Created") for text in (output, errors))
    assert run("import", "-", stdin=stdin) == (1, *done)


def test_a_permission_that_is_given_twice_is_granted_once(run):
    full = f"{ADA},a.b b.c a.b"
    run("import", "-", stdin=lines(full, columns="username,email,hashed_password,permissions"))
    rights = RecordedEvent.select().where(RecordedEvent.name == "rights_changed")
    assert sorted(each.reason for each in rights) == ["granted a.b", "granted b.c"]


@pytest.mark.every_database
def test_a_name_that_is_registered_meanwhile_is_refused(run, monkeypatch, database, settings):
    def register():
        storage.open_database(settings.DATABASE_URL)
        create_user(USERNAME, "other@example.org", PASSWORD, settings=settings)
        storage.discard_connection(storage.current())

    def register_first(rows):
        monkeypatch.setattr(User, "insert_many", insert_many)
        with ThreadPoolExecutor(1) as thread:
            thread.submit(register).result()
        return insert_many(rows)

    insert_many = User.insert_many
    if isinstance(database, peewee.SqliteDatabase):  # one transaction writes at a time
        register()
    else:
        monkeypatch.setattr(User, "insert_many", register_first)
    status, output, errors = run("import", "-", stdin=lines(ADA, "Lin,lin@example.org,"))
    assert (status, output) == (1, "Created 1 user; 0 existed already.\n")
    assert errors.startswith("line 2: This username is taken.")


def test_an_import_that_never_fits_fails(run, monkeypatch):
    def collide(rows):
        raise peewee.IntegrityError

    monkeypatch.setattr(User, "insert_many", collide)
    status, _, errors = run("import", "-", stdin=lines(ADA))
    assert (status, errors.startswith("wsgiauth: the database failed")) == (1, True)


@pytest.mark.every_database
def test_an_export_can_be_imported(run, settings):
    ada = create_user(USERNAME, EMAIL, PASSWORD, settings=settings, is_staff=True, is_verified=True)
    ada.grant("b.c", "a.b")
    fields = {"username": 'Zoë,"Z"', "email": "zoe@example.org", "hashed_password": HASH}
    zoe = User.objects.create(**fields, is_active=False)
    zoe.email_verified_at, zoe.email_verified_by = zoe.created_at, "https://a.example"
    zoe.save()
    _, exported, _ = run("export", "--with-hashes")
    rows = list(csv.DictReader(io.StringIO(exported)))
    assert [row["email_verified_by"] for row in rows] == ["operator", "https://a.example"]
    assert [row["permissions"] for row in rows] == ["a.b b.c", ""]
    assert rows[1]["hashed_password"] == HASH
    User.delete().execute()
    status, output, _ = run("import", "-", stdin=exported)
    assert (status, output) == (0, "Created 2 users; 0 existed already.\n")
    _, again, _ = run("export", "--with-hashes")
    assert sorted(again.splitlines()) == sorted(exported.splitlines())


@pytest.fixture
def without_usernames(monkeypatch):
    """Let the commands be those of a site without usernames."""
    monkeypatch.setenv("USERNAMES", "off")


MADE = "uabcdefgh2345672"
MIXED = lines(f"{USERNAME},{EMAIL}", ",grace@example.org", f"{MADE},lin@example.org", columns=NAMED)


@pytest.mark.every_database
@pytest.mark.usefixtures("without_usernames")
def test_without_usernames_those_of_a_file_are_kept_and_missing_ones_are_made(run):
    planned = run("import", "-", "--dry-run", stdin=MIXED)
    assert planned == (0, "Would create 3 users; 0 existed already.\n", "")
    assert run("import", "-", stdin=MIXED) == (0, "Created 3 users; 0 existed already.\n", "")
    kept, made, other = [user.username for user in User.select().order_by(User.id)]
    assert (kept, other) == (USERNAME, MADE)
    assert names.is_made(made)
    for dry_run in ([], ["--dry-run"]):
        status, output, _ = run("import", "-", *dry_run, stdin=MIXED)
        assert (status, output.partition(" users; ")[2]) == (0, "3 existed already.\n")
    assert [user.username for user in User.select().order_by(User.id)] == [kept, made, other]


@pytest.mark.usefixtures("without_usernames")
def test_without_usernames_a_file_needs_no_column_of_them(run):
    stdin = lines(f"{EMAIL},{HASH}", f"{EMAIL.upper()},", columns="email,hashed_password")
    assert run("import", "-", stdin=stdin) == (0, "Created 1 user; 1 existed already.\n", "")
    (ada,) = User.select()
    assert names.is_made(ada.username)
    assert verify_password(PASSWORD, ada.hashed_password)
    assert "there is no column email" in run("import", "-", stdin=lines("a", columns="username"))[2]


@pytest.mark.usefixtures("without_usernames")
def test_without_usernames_a_username_has_one_user(run):
    assert run("import", "-", stdin=MIXED)[0] == 0
    rows = [f"{MADE.upper()},x@example.org", f"x,{EMAIL}", "a b,y@example.org"]
    _, output, errors = run("import", "-", stdin=lines(*rows, columns=NAMED))
    assert output == "Created 0 users; 0 existed already.\n"
    assert errors.splitlines()[:3] == [
        "line 2: This username is taken.",
        "line 3: This email address is taken.",
        "line 4: A username cannot contain spaces or invisible characters.",
    ]


@pytest.mark.every_database
def test_an_export_without_usernames_can_be_imported_also_with_usernames(run, monkeypatch):
    monkeypatch.setenv("USERNAMES", "off")
    assert run("import", "-", stdin=MIXED)[0] == 0
    exported = run("export")[1]
    for usernames, label in (("off", "email"), ("on", "username")):
        User.delete().execute()
        monkeypatch.setenv("USERNAMES", usernames)
        assert run("import", "-", stdin=exported)[:2] == (
            0,
            "Created 3 users; 0 existed already.\n",
        )
        assert run("export")[1] == exported
        for each in json.loads(run("users", "--json")[1]):
            assert each["label"] == each[label]


def test_with_usernames_an_empty_one_is_refused(run):
    _, _, errors = run("import", "-", stdin=lines(f",{EMAIL},"))
    assert errors.startswith("line 2: Enter a username.")


FORMULAS = {
    "=1+1": "'=1+1",
    "'=1": "''=1",
    "+x;=1": "'+x;'=1",
    "x;'=1": "x;''=1",
    "\\u{202e}": "\\u{5c}u{202e}",
    "\uff1dx": "'\uff1dx",
}


@pytest.mark.every_database
def test_an_export_has_no_formula_and_is_imported_as_the_same_data(run):
    for number, name in enumerate(FORMULAS):
        fields = {"username": name, "email": f"={number}@example.org", "hashed_password": HASH}
        User.objects.create(**fields).grant("-a.b")
    _, exported, _ = run("export", "--with-hashes")
    rows = list(csv.DictReader(io.StringIO(exported)))
    assert [row["username"] for row in rows] == list(FORMULAS.values())
    assert (rows[0]["email"], rows[0]["permissions"]) == ("'=0@example.org", "'-a.b")
    before = stored()
    User.delete().execute()
    assert run("import", "-", stdin=exported)[0] == 0
    assert stored() == before
    assert run("export", "--with-hashes")[1] == exported


def stored():
    columns = (User.username, User.email, User.username_key, User.hashed_password, User.created_at)
    return [*User.select(*columns, Permission.name).join(Permission).order_by(User.id).tuples()]


def test_a_name_that_no_terminal_should_get_is_exported_escaped_and_not_imported(run, database):
    User.objects.create(username=USERNAME, email=EMAIL, hashed_password=HASH)
    User.update(username="a\u202e\x9b\nforged").execute()
    _, exported, _ = run("export")
    assert exported.splitlines()[1].startswith(r"a\u{202e}\u{9b}\u{a}forged,")
    User.delete().execute()
    status, _, errors = run("import", "-", stdin=exported)
    assert (status, errors.partition(":")[0]) == (1, "line 2")
    assert User.objects.count() == 0


def test_an_export_has_no_hashes_unless_asked(run, settings):
    create_user(USERNAME, EMAIL, PASSWORD, settings=settings)
    assert "$2b$" not in run("export")[1]
    assert "$2b$" in run("export", "--with-hashes")[1]


@pytest.mark.slow
def test_a_pipe_is_utf_8_in_every_locale(database, settings, tmp_path):
    environ = {"DATABASE_URL": settings.DATABASE_URL, "LC_ALL": "C", "PYTHONUTF8": "0"}
    environ |= {"PATH": os.environ["PATH"], "PYTHONIOENCODING": "latin-1"}

    def run_process(*argv, stdin=b""):
        command = [sys.executable, "-m", "wsgiauth", *argv]
        return subprocess.run(command, input=stdin, capture_output=True, env=environ, check=True)

    run_process("import", "-", stdin="username,email\r\nZoë,zoe@example.org\r\n".encode())
    assert "Zoë".encode() in run_process("export").stdout


# Accounts of other providers

GOOGLE = "https://accounts.google.com"
REALM = "http://localhost:8080/realms/main/"
WITH_IDENTITIES = "username,email,identities"
SUBJECT = "a subject #1, 100 %"


@pytest.fixture
def providers(monkeypatch):
    """Let commands know a provider."""
    entry = "google:https://id:secret@accounts.google.com?title=Google"
    settings = {**MAIL, "OIDC_PROVIDERS": entry}
    for name, value in settings.items():
        monkeypatch.setenv(name, value)


@pytest.mark.every_database
@pytest.mark.promise(68)
@pytest.mark.usefixtures("providers")
def test_accounts_of_other_providers_are_imported_with_their_user(run):
    cell = f"{GOOGLE}#108 {REALM}#{quote(SUBJECT, safe='')} {GOOGLE}#%3108"
    row = f'{USERNAME},{EMAIL},"{cell}"'
    assert run("import", "-", stdin=lines(row, columns=WITH_IDENTITIES))[0] == 0
    (ada,) = User.select()
    listed = identities.list_identities(ada)
    assert {each[1:5] for each in listed} == {
        ("google", GOOGLE, "108", "108"),
        ("localhost:8080", REALM, SUBJECT, SUBJECT),
    }
    assert identities.find(REALM, SUBJECT).user == ada
    assert not ada.has_password
    written = [(each.name, each.reason) for each in RecordedEvent.select()]
    assert written == [
        ("registration", "import"),
        ("identity_connected", "google"),
        ("identity_connected", "localhost:8080"),
    ]
    assert not Mail.select().exists()
    again = run("import", "-", stdin=lines(row, columns=WITH_IDENTITIES))
    assert again == (0, "Created 0 users; 1 existed already.\n", "")


@pytest.mark.every_database
def test_an_export_of_accounts_of_other_providers_can_be_imported(run, settings):
    ada = create_user(USERNAME, EMAIL, PASSWORD, settings=settings)
    lin = create_user("Lin", "lin@example.org", PASSWORD, settings=settings)
    for number, subject in enumerate(("=1+1", "x;y z", "%41", "s" * 255)):
        identities.connect(ada, account(subject, issuer=REALM), number)
    identities.connect(lin, account("s-1", issuer=GOOGLE), 0)
    before = set(Identity.select(Identity.id, Identity.issuer, Identity.subject).tuples())
    _, exported, _ = run("export", "--with-hashes")
    cells = [each["identities"] for each in csv.DictReader(io.StringIO(exported))]
    assert cells[0].startswith(f"{REALM}#%2541 {REALM}#%3D1%2B1 {REALM}#sss")
    assert cells[0].endswith(f" {REALM}#x%3By%20z")
    assert cells[1] == f"{GOOGLE}#s-1"
    User.delete().execute()
    assert run("import", "-", stdin=exported)[0] == 0
    stored = set(Identity.select(Identity.id, Identity.issuer, Identity.subject).tuples())
    assert stored == before
    assert sorted(run("export", "--with-hashes")[1].split()) == sorted(exported.split())


MALFORMED = "identities must have the form issuer#subject, such as"
SUBJECTS = "identities: a subject must have 1 to 255 printable ASCII characters."


def test_wrong_accounts_of_other_providers_are_refused(run):
    cells = {
        "no issuer": ("108", MALFORMED),
        "query": (f"{GOOGLE}?x=1#108", MALFORMED),
        "client": ("https://id:secret@accounts.google.com#108", MALFORMED),
        "http": ("http://accounts.google.com#108", MALFORMED),
        "long issuer": (f"{GOOGLE}/{'x' * 255}#108", MALFORMED),
        "percent": (f"{GOOGLE}#100%", MALFORMED),
        "comma": (f"{GOOGLE}#1,{GOOGLE}#2", MALFORMED),
        "semicolon": (f"{GOOGLE}#1;2", MALFORMED),
        "issuer not ASCII": (f"{GOOGLE}\u00e9#1", MALFORMED),
        "no subject": (f"{GOOGLE}#", SUBJECTS),
        "not ASCII": (f"{GOOGLE}#%C3%A9", SUBJECTS),
        "control": (f"{GOOGLE}#a%0A", SUBJECTS),
        "space first": (f"{GOOGLE}#%20a", SUBJECTS),
        "long subject": (f"{GOOGLE}#{'s' * 256}", SUBJECTS),
        "too many": (
            " ".join(f"{GOOGLE}#{number}" for number in range(11)),
            "identities has more than 10 values.",
        ),
    }
    rows = (f'user{n},{n}@example.org,"{cell}"' for n, (cell, _) in enumerate(cells.values()))
    status, _, errors = run("import", "-", stdin=lines(*rows, columns=WITH_IDENTITIES))
    refused = errors.splitlines()
    assert (status, refused.pop()) == (1, f"wsgiauth: {len(cells)} lines refused")
    for number, (error, (_, reason)) in enumerate(zip(refused, cells.values(), strict=True), 2):
        assert error.startswith(f"line {number}: {reason}")
    assert User.objects.count() == 0


@pytest.mark.every_database
@pytest.mark.promise(68)
def test_an_account_of_a_provider_has_one_user_in_the_file_and_in_the_database(run, settings):
    ada = create_user(USERNAME, EMAIL, PASSWORD, settings=settings)
    identities.connect(ada, account("taken", issuer=GOOGLE), 0)
    rows = [
        f"Lin,lin@example.org,{GOOGLE}#lin {GOOGLE}#taken",
        f"Zoe,zoe@example.org,{GOOGLE}#zoe",
        f"Tim,tim@example.org,{GOOGLE}#tim {GOOGLE}#zoe",
    ]
    stdin = lines(*rows, columns=WITH_IDENTITIES)
    refused = (
        f"line 2: identities: connected to another user: {GOOGLE}#taken.\n"
        f"line 4: identities: connected to another user: {GOOGLE}#zoe.\n"
        "wsgiauth: 2 lines refused\n"
    )
    planned = run("import", "-", "--dry-run", stdin=stdin)
    assert planned == (1, "Would create 1 user; 0 existed already.\n", refused)
    done = run("import", "-", stdin=stdin)
    assert done == (1, "Created 1 user; 0 existed already.\n", refused)
    assert sorted(each.subject for each in Identity.select()) == ["taken", "zoe"]


def test_an_account_that_is_connected_meanwhile_is_refused(run, monkeypatch, settings):
    ada = create_user(USERNAME, EMAIL, PASSWORD, settings=settings)
    begin = importing._identity_holders

    def connect_first(rows):
        found = begin(rows)
        identities.add(ada, account("108", issuer=GOOGLE), 0)
        return found

    monkeypatch.setattr(importing, "_identity_holders", connect_first)
    stdin = lines(f"Lin,lin@example.org,{GOOGLE}#108", columns=WITH_IDENTITIES)
    status, _, errors = run("import", "-", stdin=stdin)
    assert (status, errors.startswith("wsgiauth: the database failed")) == (1, True)
    assert [each.username for each in User.select()] == [USERNAME]


# With an application

MEMBERS = """
import peewee
from functools import partial
from wsgiauth import AuthMiddleware, Field
from wsgiauth.exceptions import ValidationError

calls = []

def check_phone(value):
    if value == "broken":
        raise LookupError("no such country")
    return None if value.startswith("+") else "Begin with +."

def on_registered(user, values):
    calls.append((user.username, values))
    Member.create(user_id=user.id, phone=values["phone"])
    user.grant("library.borrow")
    if values["note"] == "refuse":
        raise ValidationError({"note": ["Not this one."]})
    if values["note"] == "fail":
        raise LookupError("no such shelf")

FIELDS = [
    Field("phone", "Phone", required=True, check=check_phone),
    Field("note", "Note", kind="textarea"),
    Field("branch", "Branch", kind="select", options=["north", "south"]),
    Field("rules", "I accept the rules.", kind="checkbox"),
]
application = AuthMiddleware(print, registration=FIELDS, on_registered=on_registered)
wrapped = partial(application)

class Flask:
    wsgi_app = application

flask = Flask()

class Member(peewee.Model):
    user_id = peewee.BigIntegerField(primary_key=True)
    phone = peewee.CharField(max_length=40)

    class Meta:
        database = application.database
        table_name = "member_of_a_test"

with application.database.connection_context():
    application.database.drop_tables([Member])
    application.database.create_tables([Member])
"""


@pytest.fixture
def members(run, tmp_path, monkeypatch):
    """Return a function that imports with an application, and the module of that."""
    (tmp_path / "members.py").write_text(MEMBERS)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SECRET_KEY", SECRET_KEY)
    monkeypatch.delitem(sys.modules, "members", raising=False)

    def import_members(*rows, columns="username,email,phone,note", app="application", options=()):
        argv = ("import", "-", "--app", f"members:{app}", *options)
        return run(*argv, stdin=lines(*rows, columns=columns))

    yield import_members, lambda: sys.modules["members"]
    module = sys.modules.pop("members", None)
    if module is not None:
        module.Member.drop_table()
        storage.discard_connection(module.application.database)


@pytest.mark.every_database
@pytest.mark.parametrize("app", ["application", "wrapped", "flask"])
def test_an_application_gets_the_further_columns_of_each_user(members, app):
    import_members, module = members
    rows = ("ada,a@example.org, +1 ,", "eve,e@example.org,+2,'+x")
    done = import_members(*rows, app=app)
    assert done == (0, "Created 2 users; 0 existed already.\n", "")
    others = {"branch": "", "rules": ""}
    first, second = {"phone": "+1", "note": "", **others}, {"phone": "+2", "note": "+x", **others}
    assert module().calls == [("ada", first), ("eve", second)]
    ada, _ = User.select().order_by(User.id)
    assert ada.permissions == {"library.borrow"}
    assert module().Member.select().count() == 2
    trail = [(each.name, each.actor) for each in RecordedEvent.select() if each.user_id == ada.id]
    assert trail == [("registration", "command line"), ("rights_changed", "code")]
    again = import_members(*rows, app=app)
    assert again == (0, "Created 0 users; 2 existed already.\n", "")
    assert len(module().calls) == 2


def test_the_columns_of_an_application_take_the_strings_of_a_form(members):
    import_members, module = members
    columns = "username,email,phone,note,branch,rules"
    rows = ('ada,a@example.org,+1,"a\r\nb",south,on', "bob,b@example.org,+2,,west,yes")
    status, _, errors = import_members(*rows, columns=columns)
    assert (status, errors.splitlines()[0]) == (
        1,
        "line 4: branch: Choose one of the options. rules: This field must be on or off.",
    )
    ((_, values),) = module().calls
    assert (values["note"], values["branch"]) == ("a\nb", "south")
    assert values["rules"].endswith("Z")


def test_the_application_must_not_use_a_file_of_another_user(members, database):
    import_members, _ = members
    give_away(database.database)
    status, output, errors = import_members("ada,a@example.org,+1,")
    reason = f"wsgiauth: DATABASE_URL names a file of another user (uid {OTHER}): "
    assert (status, output, errors[: len(reason)]) == (1, "", reason)


@pytest.mark.every_database
@pytest.mark.promise(75)
def test_a_row_that_the_application_refuses_is_named_and_leaves_nothing(members, caplog):
    import_members, module = members
    rows = (
        "ada,a@example.org,030,",
        "bob,b@example.org,,",
        "cyd,c@example.org,broken,",
        "dan,d@example.org,+1,refuse",
        "eve,e@example.org,+1,fail",
        "fay,f@example.org,+1,",
        "fay,other@example.org,+1,",
    )
    status, output, errors = import_members(*rows)
    assert (status, output) == (1, "Created 1 user; 0 existed already.\n")
    assert errors.splitlines() == [
        "line 2: phone: Begin with +.",
        "line 3: phone: This field is required.",
        "line 4: the check of the field phone failed: LookupError: no such country",
        "line 5: note: Not this one.",
        "line 6: on_registered failed: LookupError: no such shelf",
        "line 8: This username is taken.",
        "wsgiauth: 6 lines refused",
    ]
    assert [each.username for each in User.select()] == ["fay"]
    assert module().Member.select().count() == 1
    assert {each.user_id for each in RecordedEvent.select()} == {User.get().id}
    failures = [each.getMessage() for each in caplog.records if each.exc_info]
    assert failures == ["the check of the field phone failed", "on_registered failed"]


def test_a_dry_run_checks_the_values_and_passes_none_on(members):
    import_members, module = members
    done = import_members("ada,a@x,+1,", "eve,e@x,1,", options=["--dry-run"])
    assert done[:2] == (1, "Would create 1 user; 0 existed already.\n")
    assert "line 3: phone: Begin with +." in done[2]
    assert (module().calls, User.select().count()) == ([], 0)


def test_a_file_that_does_not_fit_the_application_is_refused(members, capsys):
    import_members, _ = members
    for columns, app, reason in (
        ("username,email", "application", "there is no column phone"),
        ("username,email,phone,age", "application", "unknown column 'age'"),
        ("username,email,phone", "Member", "members:Member is not an AuthMiddleware"),
    ):
        status, _, errors = import_members(columns=columns, app=app)
        assert (status, reason in errors, "give --app" in errors) == (1, True, False), columns
    with pytest.raises(SystemExit, match="2"):
        import_members(options=["--database", "sqlite:///x.db"])
    assert "--app" in capsys.readouterr().err


def test_without_the_application_its_columns_are_unknown(run):
    done = run("import", "-", stdin=lines("ada,a@x,+1", columns="username,email,phone"))
    assert done[0] == 1
    assert "unknown column 'phone'" in done[2]
