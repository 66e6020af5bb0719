"""A backup, changes after it, a restore of it by the databases' own programs, and `restored`."""

import os
import shutil
import subprocess
import sys
from collections import namedtuple
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from webtest import TestApp

from tests.conftest import require_program
from tests.support.dumps import new_database
from tests.support.oauth_apps import as_provider
from tests.support.service_keys import new_key, pem_of, write_key
from tests.support.sites import PASSWORD, echo
from wsgiauth import AuthMiddleware, Group, User, delete_user, storage
from wsgiauth.accounts.tables import revoke_keys
from wsgiauth.authentication import one_time, sessions
from wsgiauth.events.models import RecordedEvent
from wsgiauth.features.oauth_server import app_sessions, grants
from wsgiauth.storage import context
from wsgiauth.testing import api_key, app_client, bearer, make_user
from wsgiauth.testing.apps import AppClient

pytestmark = [pytest.mark.every_database, pytest.mark.promise(104)]

KINDS = {"sqlite": "sqlite", "postgresql": "postgresql", "mysql": "mariadb"}
LATER = 2**40  # seconds since the epoch
NUMBERED = (User, Group, RecordedEvent)

Credentials = namedtuple("Credentials", "session key link invitation refresh_token")


@pytest.fixture
def configured(settings, tmp_path):
    """Return settings of a site with apps."""
    return as_provider(settings, write_key(tmp_path / "key", pem_of(new_key("RS256"))))


@pytest.fixture
def site(configured, monkeypatch):
    """Return the site before the restore; no site sends logout tokens."""
    monkeypatch.setattr("wsgiauth.mail.worker.Worker._start", lambda *_: None)
    made = AuthMiddleware(echo, configured)
    yield made
    storage.discard_connection(made.database)


@contextmanager
def opened_after(site, url, app):
    """Yield the site on a restored database, and the app there."""
    after = AuthMiddleware(echo, replace(site.site.settings, DATABASE_URL=url))
    try:
        with context.using(after.database):
            client = AppClient(after, app.client_id, app.client_secret, app.redirect_uri, "openid")
            yield after, client
    finally:
        storage.discard_connection(after.database)


@pytest.fixture
def back_up(settings, tmp_path):
    """Return a function that makes a backup; it returns a function that restores it elsewhere."""
    url = urlsplit(settings.DATABASE_URL)
    kind, saved = KINDS[url.scheme], tmp_path / "saved"
    (tmp_path / "restored").mkdir()

    def run(*command, **streams):
        subprocess.run([*map(str, command)], check=True, **streams)

    def account(of):
        server = [f"--host={of.hostname}", f"--port={of.port or 3306}"]
        return [*server, f"--user={of.username}", f"--password={of.password or ''}"]

    def save():
        if kind == "sqlite":
            storage.current().execute_sql("VACUUM INTO ?", (str(saved),))
        elif kind == "postgresql":
            require_program("pg_dump")
            run("pg_dump", "--format=custom", f"--file={saved}", url.geturl())
        else:
            require_program("mariadb-dump")
            dump = ["mariadb-dump", "--single-transaction", *account(url), url.path[1:]]
            with saved.open("wb") as file:
                run(*dump, stdout=file)

    def restore(empty):
        if kind == "sqlite":
            shutil.copy(saved, urlsplit(empty).path)
        elif kind == "postgresql":
            run("pg_restore", f"--dbname={empty}", saved)
        else:
            into = urlsplit(empty)
            with saved.open("rb") as file:
                run("mariadb", *account(into), into.path[1:], stdin=file)

    with new_database(kind, tmp_path / "restored", "_restored") as empty:

        def make_backup():
            save()
            return lambda: (restore(empty), empty)[1]

        yield make_backup


def restored(url, *options):
    """Run the command on a database, and return what it prints."""
    command = [sys.executable, "-m", "wsgiauth", "restored", "--yes", *options]
    done = subprocess.run(
        command,
        env={**os.environ, "DATABASE_URL": url},
        cwd=Path(__file__).parents[1],
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def credentials_of(site, app, user):
    """Return all that a user, and a person without an account, can hold."""
    with context.using(site.database):
        return Credentials(
            bearer(site, user),
            api_key(site, user),
            one_time.issue("reset", user, now=0, lifetime=LATER),
            one_time.issue("invitation", None, now=0, lifetime=LATER),
            app.log_in(user)["refresh_token"],
        )


def working(site, app, held):
    """Return the names of the credentials that work at a site."""
    client, works = TestApp(site), set()
    for name in ("session", "key"):
        answer = client.get("/auth/me", headers=getattr(held, name), status="*")
        works |= {name} if answer.status_int == 200 else set()
    with context.using(site.database):
        for name, purpose in (("link", "reset"), ("invitation", "invitation")):
            works |= {name} if one_time.find(getattr(held, name), purpose, now=0) else set()
    fields = {"grant_type": "refresh_token", "refresh_token": held.refresh_token}
    answer = app.program.post("/auth/oauth/token", fields, status="*")
    return works | ({"refresh_token"} if answer.status_int == 200 else set())


def largest_numbers():
    return [each.select(each.id).order_by(each.id.desc()).limit(1).scalar() for each in NUMBERED]


@pytest.mark.slow
def test_nothing_that_was_issued_works_after_a_restore_and_no_number_names_another(site, back_up):
    app = app_client(
        site, scopes=["openid", "offline_access"], logout_uri="https://wiki.example.org/logout"
    )
    ada, grace = make_user(site, "ada", password=PASSWORD), make_user(site, "grace")
    with context.using(site.database):
        Group.objects.create(name="Clerks")
        kept, revoked = (credentials_of(site, app, each) for each in (ada, grace))
        assert working(site, app, kept) == {*Credentials._fields}
        kept = kept._replace(refresh_token=app.log_in(ada)["refresh_token"])
        restore = back_up()
        sessions.revoke_all(grace)
        revoke_keys(grace.id)
        grants.revoke_all(grace)
        one_time.redeem(revoked.link, "reset", now=0)
        one_time.redeem(revoked.invitation, "invitation", now=0)
        assert working(site, app, revoked) == set()
        heidi = make_user(site, "heidi")
        Group.objects.create(name="Editors")
        made = [credentials_of(site, app, each) for each in (ada, heidi)]
        delete_user(make_user(site, "ivan"))
        before = largest_numbers()

    url = restore()
    assert restored(url).startswith("Deleted 2 API keys, ")
    with opened_after(site, url, app) as (after, there):
        for held in (kept, revoked, *made):
            assert working(after, there, held) == set()
        assert app_sessions.mark_deleted(0)  # the server sends the logout tokens
        make_user(after, "judy")
        Group.objects.create(name="Others")
        for number, since in zip(largest_numbers(), before, strict=True):
            assert number > since + 900_000
        assert there.log_in(User.get_by_id(ada.id))[
            "access_token"
        ]  # a new consent, session and grant


def test_without_the_command_what_was_revoked_works_again(site, back_up):
    """So the test above sees what it is about."""
    app = app_client(site, scopes=["openid", "offline_access"])
    with context.using(site.database):
        grace = make_user(site, "grace")
        held = credentials_of(site, app, grace)
        restore = back_up()
        sessions.revoke_all(grace)
        revoke_keys(grace.id)
    with opened_after(site, restore(), app) as (after, there):
        assert working(after, there, held) == {*Credentials._fields}
