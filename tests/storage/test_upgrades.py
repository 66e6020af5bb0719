"""Upgrades from each version of which there are dumps, and under traffic."""

from contextlib import ExitStack

import pytest
from webtest import TestApp

from tests.conftest import SERVERS
from tests.support import dumps
from tests.support.driving import make_site, post
from tests.support.factors import App
from tests.support.later import LATER, later_version, migrate
from tests.support.mails import MAIL
from tests.support.processes import started
from tests.support.schema import MODELS
from tests.support.sites import BROWSER, PASSWORD, USERNAME
from tests.support.traffic import settings_for_traffic, traffic_on
from tests.support.trusted import COOKIE, first_step
from wsgiauth import Settings, User, storage
from wsgiauth.features.providers.identities import rows_of
from wsgiauth.storage import context, schema
from wsgiauth.testing import logged_in, mailbox
from wsgiauth.throttling.failed_logins import FailedLogins

TABLES = [each._meta.table_name for each in MODELS]
CREDENTIALS = {"password": PASSWORD}
LATER_ON = 60  # seconds after the dump
ON_EACH = [pytest.param(kind, marks=[pytest.mark.slow] * (kind in SERVERS)) for kind in dumps.KINDS]


@pytest.fixture(params=dumps.VERSIONS)
def version(request):
    return request.param


@pytest.fixture(params=ON_EACH)
def kind(request):
    return request.param


@pytest.fixture(scope="module")
def upgraded(tmp_path_factory):
    """Return a function that upgrades a dump once; it returns the URL, and what users know."""
    made = {}
    with ExitStack() as stack:

        def upgrade(version, kind):
            if (version, kind) not in made:
                end, folder = f"_dump_{len(made)}", tmp_path_factory.mktemp("dump")
                url = stack.enter_context(dumps.new_database(kind, folder, end))
                known = dumps.load(version, kind, url)
                storage.discard_connection(storage.open_database(url, prepare=schema.migrate))
                made[version, kind] = url, known
            return made[version, kind]

        yield upgrade


@pytest.fixture
def known(upgraded, version, kind):
    return upgraded(version, kind)[1]


@pytest.fixture
def site(upgraded, version, kind, known, tmp_path):
    """Return a site on an upgraded database, a minute after the dump."""
    made = make_site(upgraded(version, kind)[0], tmp_path)
    made.site.tokens.now = made.site.outbox.now = lambda: known["now"] + LATER_ON
    made.site.outbox.keep_messages()
    yield made
    storage.discard_connection(made.database)


def bearing(token):
    return {"Authorization": f"Bearer {token}"}


def tables_of(database):
    """Return what a database knows about the tables, also defaults and the names of indexes."""
    return {
        table: (
            sorted(database.get_columns(table), key=lambda column: column.name),
            sorted(database.get_indexes(table), key=lambda index: index.name),
            database.get_primary_keys(table),
            sorted(database.get_foreign_keys(table)),
        )
        for table in TABLES
    }


def test_the_tables_are_those_of_a_new_database(site, kind, tmp_path):
    with dumps.new_database(kind, tmp_path, "_new") as url:
        new = storage.open_database(url, prepare=schema.migrate)
        tables = tables_of(new)
        storage.discard_connection(new)
    assert tables_of(site.database) == tables


def test_passwords_and_permissions_stay(site):
    token = post(site, "/login", {"username": USERNAME, **CREDENTIALS}, status=200).json
    me = TestApp(site).get("/auth/me", headers=bearing(token["access_token"])).json
    assert (me["username"], me["is_superuser"], me["permissions"]) == (
        USERNAME,
        True,
        ["reports.read"],
    )


def test_former_passwords_stay(site):
    post(site, "/login", {"username": "wanda", **CREDENTIALS}, status=200)


def test_sessions_stay(site, known):
    client = TestApp(site)
    assert client.get("/", headers=bearing(known["access_token"])).json["user"] == USERNAME
    fields = {"refresh_token": known["refresh_token"]}
    renewed = post(site, "/refresh", fields, status=200).json["access_token"]
    assert client.get("/", headers=bearing(renewed)).json["user"] == USERNAME


def test_api_keys_stay(site, known):
    assert TestApp(site).get("/", headers=bearing(known["api_key"])).json["user"] == USERNAME


def test_second_factors_stay(site, known):
    login = {"username": "grace", **CREDENTIALS}
    post(site, "/login", login, status=401)
    for code in (App(known["app"], site).code(), known["recovery_code"]):
        post(site, "/login", {**login, "code": code}, status=200)
    with context.using(site.database):
        page = logged_in(site, User.get(username="grace")).get("/auth/account", headers=BROWSER)
    assert "Laptop" in page


def test_trusted_browsers_stay(site, known):
    client = TestApp(site)
    assert first_step(client, "grace") == "/auth/second"
    client = TestApp(site)
    client.set_cookie(COOKIE, known["trusted_browser"])
    assert first_step(client, "grace") == "/"


def test_groups_and_accounts_of_providers_stay(site):
    with context.using(site.database):
        grace, norma = (User.get(username=each) for each in ("grace", "norma"))
        assert [each.name for each in grace.groups] == ["Editors"]
        assert grace.has_permission("pages.edit")
        assert [each.subject for each in rows_of(norma)] == ["s-1"]


def test_the_audit_trail_and_failed_logins_stay(site):
    with context.using(site.database):
        staff = logged_in(site, User.get(username=USERNAME))
        assert "wrong password" in FailedLogins.get().lines  # the page has those of the last day
    assert "API key created" in staff.get("/auth/admin/events", headers=BROWSER)


def test_emails_that_wait_are_sent_and_their_links_work(site):
    (link,) = (each for each in mailbox(site).links if "/reset?" in each)
    TestApp(site).get(link.removeprefix(MAIL["PUBLIC_URL"]), headers=BROWSER, status=200)


@pytest.mark.slow
@pytest.mark.promise(78)
def test_processes_of_the_former_version_go_on_while_and_after_a_later_one_migrates(
    kind, tmp_path, unmeasured
):
    (letters := tmp_path / "letters").mkdir()
    later = later_version(tmp_path / "later")
    with dumps.new_database(kind, tmp_path, "_rolling") as url:
        storage.discard_connection(storage.open_database(url, prepare=schema.migrate))
        with traffic_on(url, letters) as traffic, traffic:
            traffic.wait(20)
            assert migrate(url, later) == f"Applied {LATER}.\n"
            traffic.wait(20)
            settings = Settings(**settings_for_traffic(url, letters))
            with started(settings) as (_, address):  # again, or for the first time
                traffic.addresses[:] = [address]
                traffic.wait(20)
                traffic.stop()
                assert traffic.compare() == []
        assert set(traffic.statuses()) <= {200, 201, 202, 401, 410, 503}
