"""Upgrades of a feature, of wsgiauth and of both, with two versions of a feature."""

import shutil
from itertools import chain
from types import SimpleNamespace

import pytest
from webtest import TestApp

from tests.conftest import SERVERS
from tests.features_of_others.badges_1 import feature as first
from tests.features_of_others.badges_2 import feature as second
from tests.support import dumps
from tests.support.later import LATER
from tests.support.schema import MIGRATIONS, take_back_migrations
from wsgiauth import Settings, User, storage
from wsgiauth.accounts import delete_user
from wsgiauth.exceptions import ConfigurationError
from wsgiauth.feature import Feature
from wsgiauth.figures.accounts import figures_of_kernel
from wsgiauth.storage import context, schema
from wsgiauth.storage.readiness import SHARED, Readiness
from wsgiauth.testing import bearer

FIRST, SECOND = "badges: 0001_badges", "badges: 0002_levels"
UPGRADES = {
    "of the feature": [(second, False, [SECOND])],
    "of wsgiauth": [(first, True, [LATER])],
    "of the feature, then of wsgiauth": [(second, False, [SECOND]), (second, True, [LATER])],
    "of wsgiauth, then of the feature": [(first, True, [LATER]), (second, True, [SECOND])],
    "of both": [(second, True, [LATER, SECOND])],
}


def award(site, version, user, name):
    with context.using(site.database):
        version.award(user, name)


def known_to(site, user):
    """Return a user as a site on the same database knows them."""
    with context.using(site.database):
        return User.get_by_id(user.id)


def badges_of(site, user):
    headers = bearer(site, known_to(site, user))
    return TestApp(site).get("/auth/badges", headers=headers, status=200).json["badges"]


def names_of(site, user):
    return [each["name"] for each in badges_of(site, user)]


@pytest.mark.every_database
@pytest.mark.parametrize("steps", UPGRADES.values(), ids=UPGRADES)
def test_an_upgrade_keeps_what_is_there(steps, ada, migrate, make_site, install_later_version):
    assert migrate(first.FEATURE) == [FIRST]
    names = ["diver"]
    award(make_site(first.FEATURE), first, ada, "diver")
    for version, is_later, applied in steps:
        if is_later:
            install_later_version()
        assert migrate(version.FEATURE) == applied
        assert migrate(version.FEATURE) == []
        site = make_site(version.FEATURE)
        assert names_of(site, ada) == names
        names.append(f"sailor {len(names)}")
        award(site, version, ada, names[-1])
        assert names_of(site, ada) == names


@pytest.mark.every_database
def test_processes_of_the_former_version_of_a_feature_work_with_the_new_tables(
    ada, migrate, make_site
):
    migrate(first.FEATURE)
    former = make_site(first.FEATURE)
    migrate(second.FEATURE)
    latter = make_site(second.FEATURE)
    award(former, first, ada, "diver")
    award(latter, second, ada, "sailor")
    for site in (former, make_site(first.FEATURE)):  # which starts only now
        assert badges_of(site, ada) == [{"name": "diver"}, {"name": "sailor"}]
    assert badges_of(latter, ada) == [
        {"name": "diver", "level": 1, "reasons": 0},
        {"name": "sailor", "level": 2, "reasons": 1},
    ]


@pytest.mark.every_database
def test_a_feature_that_was_removed_for_a_time_finds_its_rows(ada, grace, migrate, make_site):
    migrate(second.FEATURE)
    site = make_site(second.FEATURE)
    for user in (ada, grace):
        award(site, second, user, "diver")
    assert migrate() == []
    without = make_site()
    TestApp(without).get("/auth/badges", status=404)
    with context.using(without.database):
        delete_user(known_to(without, grace))
    assert migrate(second.FEATURE) == []
    again = make_site(second.FEATURE)
    assert names_of(again, ada) == ["diver"]
    with context.using(again.database):
        assert second.Badge.select().count() == 1


@pytest.mark.every_database
def test_a_new_database_gets_the_tables_of_wsgiauth_first(migrate, database):
    """Those of the feature refer to them."""
    take_back_migrations(database)
    assert migrate(second.FEATURE) == [*MIGRATIONS, FIRST, SECOND]


@pytest.fixture(params=dumps.VERSIONS)
def former_version(request, database, tmp_path, monkeypatch):
    """Let wsgiauth be a former version, on its database.

    Return a function that lets it be the present one, and returns which migrations are missing.
    """
    take_back_migrations(database)
    kind = request.node.callspec.params["database_url"]
    dumps.load(request.param, kind, request.getfixturevalue("settings").DATABASE_URL)
    recorded = schema.applied(database, schema.sequences_of(()))
    for name in recorded:
        shutil.copy(schema.MIGRATIONS / f"{name}.py", tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(schema, "MIGRATIONS", tmp_path)

        def upgrade():
            patch.undo()
            return [each for each in MIGRATIONS if each not in recorded]

        yield upgrade
    schema.migrate(database)


@pytest.mark.every_database
def test_tables_of_a_former_version_of_wsgiauth_can_be_referred_to(
    migrate, open_with, make_site, former_version
):
    assert migrate(first.FEATURE) == [FIRST]
    open_with(first.FEATURE)
    first.award(SimpleNamespace(id=1), "diver")
    missing = former_version()
    assert migrate(second.FEATURE) == [*missing, SECOND]
    site = make_site(second.FEATURE)
    assert names_of(site, SimpleNamespace(id=1)) == ["diver"]


def test_features_migrate_in_the_order_of_the_setting(migrate, tmp_path):
    (tmp_path / "migrations").mkdir()
    source = "def up(migrator, db): pass"
    (tmp_path / "migrations/0001_tables.py").write_text(source, encoding="utf-8")
    medals, without = Feature(name="medals", folder=tmp_path), Feature(name="plain")
    assert migrate(medals, without, first.FEATURE) == ["medals: 0001_tables", FIRST]


def test_a_database_in_memory_has_the_tables_of_its_own_features(settings):
    def open_it(*features):
        return storage.open_database("sqlite:///:memory:", features=features)

    opened = [open_it(), open_it(first.FEATURE), open_it(second.FEATURE), open_it(first.FEATURE)]
    tables = [{each for each in it.get_tables() if each.startswith("badges")} for it in opened]
    assert tables[0] == set()
    assert tables[1] == tables[3] == {"badges_badge", "badges_migration"}
    assert tables[2] == {"badges_badge", "badges_migration", "badges_reason"}


def migrate_here(url):
    feature = "tests.features_of_others.badges_2.feature:FEATURE"
    settings = Settings.from_mapping({"DATABASE_URL": url, "FEATURES": feature})
    return schema.migrate(storage.open_for(settings, prepare=lambda _: None))


@pytest.mark.every_database
@pytest.mark.promise(26)
def test_of_eight_processes_that_migrate_each_migration_of_a_feature_is_applied_by_one(
    in_processes, settings, ada, make_site
):
    applied = in_processes(migrate_here, settings.DATABASE_URL)
    assert sorted(chain.from_iterable(applied)) == [FIRST, SECOND]
    assert badges_of(make_site(second.FEATURE), ada) == []


# What the schema lacks


@pytest.mark.parametrize("kind", SERVERS)
def test_a_server_without_the_tables_of_a_feature_is_refused(kind, server_urls):
    expected = rf"\(missing: {FIRST}, {SECOND}\): run `python -m wsgiauth migrate`"
    with pytest.raises(ConfigurationError, match=expected):
        storage.open_database(server_urls(kind), features=(second.FEATURE,))


@pytest.mark.every_database
def test_one_select_reads_the_applied_migrations_of_all(migrate, open_with):
    migrate(second.FEATURE)
    sequences = schema.sequences_of((first.FEATURE,))
    found = schema.applied(open_with(first.FEATURE), sequences)
    assert found == {*MIGRATIONS, FIRST, SECOND}
    assert found - schema.known(sequences) == {SECOND}


def test_a_process_is_ready_if_its_database_has_the_migrations_of_its_features(
    migrate, make_site, caplog
):
    migrate(first.FEATURE)
    site = make_site(first.FEATURE)
    readiness, client = site.site.require(Readiness), TestApp(site)

    def ask(status):
        readiness.now = lambda before=readiness.now: before() + SHARED
        client.get("/auth/health/ready", status=status)

    ask(200)
    migrate(second.FEATURE)
    ask(200)
    site.database.execute_sql("DELETE FROM badges_migration WHERE name = '0001_badges'")
    ask(503)
    assert f"the schema lacks {FIRST}" in caplog.text


@pytest.mark.every_database
def test_the_version_of_the_schema_has_the_newest_migration_of_each_feature(migrate, open_with):
    migrate(second.FEATURE)
    open_with(second.FEATURE)
    assert figures_of_kernel(())["schema_info"].measure(0) == {MIGRATIONS[-1]: 1, SECOND: 1}
