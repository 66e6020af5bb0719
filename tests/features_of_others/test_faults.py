"""Migrations of a feature that fail, and those that a feature cannot have."""

import os
import signal
from dataclasses import replace

import peewee
import pytest

from tests.features_of_others.badges_1.feature import FEATURE as BADGES
from wsgiauth import storage
from wsgiauth.accounts.personal_data import Records
from wsgiauth.exceptions import ConfigurationError
from wsgiauth.feature import Feature
from wsgiauth.settings.features import Declaration

TABLE = "    db.execute_sql('CREATE TABLE IF NOT EXISTS badges_{} (id INTEGER)')\n"
UP = "def up(migrator, db):\n"
FAILING = {
    "an exception": (f"{UP}    raise ValueError('no badges')\n", "ValueError: no badges"),
    "an exit": (f"{UP}    raise SystemExit(0)\n", "SystemExit: 0"),
    "no SQL": (f"{UP}    db.execute_sql('no SQL')\n", "Error: "),
    "no function": ("down = None\n", r"MigrationError: 0002_more does not define up\(\)\."),
    "no Python": ("no Python\n", "SyntaxError: "),
    "a missing module": ("import no_such_module\n", "No module named 'no_such_module'"),
}
WRONG_FOLDERS = {
    "no files": ([], "there is none"),
    "no modules": (["README.md"], "there is none"),
    "a name without a number": (["tables.py"], "tables.py is another file"),
    "a short number": (["0001_tables.py", "2_more.py"], "2_more.py is another file"),
    "a hyphen": (["0001-tables.py"], "0001-tables.py is another file"),
}


@pytest.fixture
def feature(tmp_path):
    """Return a feature whose migrations a test writes; see `write`."""
    (tmp_path / "migrations").mkdir()
    return Feature(name="badges", folder=tmp_path)


def write(feature, name, source=""):
    (feature.migrations / name).write_text(source, encoding="utf-8")


def tables_of(database):
    return {each for each in database.get_tables() if each.startswith("badges_")}


def keeps_statements(database):
    """Return whether a CREATE is committed by itself."""
    return isinstance(database, peewee.MySQLDatabase)


@pytest.mark.parametrize(("files", "problem"), WRONG_FOLDERS.values(), ids=WRONG_FOLDERS)
def test_a_folder_of_migrations_has_nothing_else(files, problem, feature, migrate, open_with):
    for each in files:
        write(feature, each)
    for use in (open_with, migrate):
        with pytest.raises(ConfigurationError) as caught:
            use(feature)
        assert str(caught.value) == (
            "The feature badges must have migrations such as 0001_tables.py in"
            f" {feature.migrations}; {problem}."
        )


def test_a_folder_of_migrations_can_be_a_package(feature, migrate):
    for each in ("__init__.py", "README.md"):
        write(feature, each)
    write(feature, "0001_tables.py", UP + TABLE.format("badge"))
    assert migrate(feature) == ["badges: 0001_tables"]


@pytest.mark.every_database
@pytest.mark.parametrize(("source", "problem"), FAILING.values(), ids=FAILING)
def test_a_migration_that_fails_is_named_and_the_next_run_repeats_it(
    source, problem, feature, migrate, database
):
    write(feature, "0001_tables.py", UP + TABLE.format("badge"))
    write(feature, "0002_more.py", source.replace(UP, UP + TABLE.format("more")))
    with pytest.raises(
        ConfigurationError,
        match=rf"The migration 0002_more of the feature badges failed \(.*{problem}.*\)\.",
    ):
        migrate(feature)
    kept = {"badges_more"} if UP in source and keeps_statements(database) else set()
    assert tables_of(database) == {"badges_badge", "badges_migration"} | kept
    write(feature, "0002_more.py", UP + TABLE.format("more"))
    assert migrate(feature) == ["badges: 0002_more"]
    assert migrate(feature) == []


@pytest.mark.every_database
def test_after_a_kill_between_two_statements_the_next_run_applies_the_migration(
    feature, migrate, database, tmp_path
):
    (alive := tmp_path / "alive").touch()
    kill = (
        f"    import os; os.path.exists({str(alive)!r}) and os.kill(os.getpid(), {signal.SIGKILL})"
    )
    write(feature, "0001_tables.py", f"{UP}{TABLE.format('badge')}{kill}\n{TABLE.format('more')}")
    storage.discard_connection(database)
    process = os.fork()
    if process == 0:
        try:
            migrate(feature)
        finally:
            os._exit(0)
    assert os.waitpid(process, 0)[1] == signal.SIGKILL
    assert ("badges_badge" in tables_of(database)) is keeps_statements(database)
    assert "badges_more" not in tables_of(database)
    alive.unlink()
    assert migrate(feature) == ["badges: 0001_tables"]
    assert tables_of(database) == {"badges_badge", "badges_migration", "badges_more"}


COLUMN = "migrator.add_column('badges_badge', 'colour', peewee.IntegerField(null=True))"
EXECUTED = {
    "by migrate": f"    migrator.migrate({COLUMN})\n",
    "by itself": f"    {COLUMN}.run()\n",
    "with others": f"    made = [{COLUMN}]\n    migrator.migrate(*made)\n",
}


@pytest.mark.every_database
@pytest.mark.parametrize("lines", EXECUTED.values(), ids=EXECUTED)
def test_an_operation_that_a_migration_does_not_execute_is_an_error(
    lines, feature, migrate, database
):
    write(feature, "0001_tables.py", UP + TABLE.format("badge"))
    source = f"import peewee\n{UP}    assert migrator.database is db\n"
    write(feature, "0002_colour.py", f"{source}    {COLUMN}\n")
    for _ in range(2):
        with pytest.raises(ConfigurationError) as caught:
            migrate(feature)
        assert str(caught.value) == (
            "The migration 0002_colour of the feature badges does not execute its add_column: write"
            " `migrator.migrate(migrator.add_column(...))`."
        )
    write(feature, "0002_colour.py", source + lines)
    assert migrate(feature) == ["badges: 0002_colour"]
    assert "colour" in {each.name for each in database.get_columns("badges_badge")}


@pytest.mark.every_database
@pytest.mark.parametrize("table", ["medals", "badges", "badgesmedals", "wsgiauth_more"])
def test_a_table_must_begin_with_the_name_of_its_feature(table, feature, migrate, database):
    write(feature, "0001_tables.py", (UP + TABLE).replace("badges_{}", table))
    with pytest.raises(
        ConfigurationError,
        match=f"0001_tables of the feature badges makes the table {table}; the names of its tables"
        " must begin with badges_",
    ):
        migrate(feature)
    assert database.table_exists(table) is keeps_statements(database)


def test_a_migration_can_let_sqlite_make_tables_of_its_own(feature, migrate, database):
    write(feature, "0001_tables.py", f"{UP}    db.execute_sql('ANALYZE')\n")
    assert migrate(feature) == ["badges: 0001_tables"]
    assert database.table_exists("sqlite_stat1")


def test_a_migration_uses_the_database_that_is_migrated(feature, migrate, database, tmp_path):
    """Another site of the process can have another one."""
    source = "from wsgiauth import storage\n" + UP + "    assert storage.current() is db\n"
    write(feature, "0001_tables.py", source)
    storage.open_database(f"sqlite:///{tmp_path}/other.db")
    assert migrate(feature) == ["badges: 0001_tables"]


@pytest.mark.parametrize("name", ["wsgiauth", "wsgiauth_more"])
def test_a_feature_cannot_have_the_prefix_of_our_tables(name, make_site):
    with pytest.raises(
        ConfigurationError,
        match=f"FEATURES must be features whose names do not begin with wsgiauth; {name} does",
    ):
        make_site(Feature(name=name))


def test_a_feature_cannot_have_the_name_of_one_of_ours(make_site):
    with pytest.raises(
        ConfigurationError, match="FEATURES must be further features; wsgiauth itself has terms"
    ):
        make_site(Feature(name="terms"))


def test_a_declaration_alone_is_no_feature(make_site):
    with pytest.raises(ConfigurationError, match=r"FEATURES must be names of features; .* no Feat"):
        make_site(Declaration(name="badges"))


def test_two_features_cannot_have_one_name(make_site):
    with pytest.raises(ConfigurationError, match="badges is in it twice"):
        make_site(BADGES, Feature(name="badges"))


def test_a_feature_with_tables_must_have_migrations(make_site, tmp_path):
    advice = ": check that its declaration has `folder`, and its package the migrations."
    for folder in (None, tmp_path):
        with pytest.raises(ConfigurationError) as caught:
            make_site(replace(BADGES, folder=folder))
        assert str(caught.value) == (
            f"The feature badges has the table badges_badge, but no folder `migrations`{advice}"
        )


def test_data_in_tables_of_wsgiauth_needs_no_migrations(make_site):
    more = Records("more_about_badges", lambda user, settings: [])
    assert make_site(Feature(name="badges", personal_data={"more": more}))
