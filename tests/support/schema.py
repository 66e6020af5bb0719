"""Every table of the account database, and its schema before the first migration."""

import wsgiauth.features.registry  # noqa: F401 - defines the tables of all features
from wsgiauth.storage import schema
from wsgiauth.storage.models import Model

PACKAGE = Model.__module__.partition(".")[0]


def own_subclasses(kind):
    """Return the subclasses of a class that the package has."""
    return [each for each in kind.__subclasses__() if each.__module__.startswith(f"{PACKAGE}.")]


def concrete(kind):
    """Yield the models without subclasses that a class of models has in the package."""
    found = own_subclasses(kind)
    if not found:
        yield kind
    for each in found:
        yield from concrete(each)


def ordered(models):
    """Return models so that tables come after those that they refer to."""
    found = {}

    def add(model):
        for referred in model._meta.refs.values():
            if referred is not model and referred not in found:
                add(referred)
        found.setdefault(model)

    for each in sorted(models, key=lambda each: each._meta.table_name):
        add(each)
    return [*found]


MODELS = ordered({*concrete(Model)})
MIGRATIONS = sorted(path.stem for path in schema.MIGRATIONS.glob("[0-9]*.py"))
LAST_BEFORE_1_0 = "0012_email_domains"


def emptying():
    """Return statements that delete all rows; those of other tables are deleted with them."""
    owning = (model for model in reversed(MODELS) if not any(map(is_owned_by, model._meta.refs)))
    return [f"DELETE FROM {each._meta.table_name}" for each in owning]  # noqa: S608


def is_owned_by(foreign_key):
    """Return whether every row is deleted with the row that its column refers to."""
    return foreign_key.on_delete == "CASCADE" and not foreign_key.null


def take_back_migrations(database):
    """Drop every table."""
    for model in reversed(MODELS):  # Peewee does not order those with deferred foreign keys
        model.drop_table()
    database.execute_sql("DROP TABLE wsgiauth_migration")


def record(database, *migrations):
    """Let these migrations be the applied ones, of the tables as they are."""
    database.execute_sql("DELETE FROM wsgiauth_migration")
    for name in migrations:
        insert = "INSERT INTO wsgiauth_migration (name, applied) VALUES ('{}', '2026-01-01')"
        database.execute_sql(insert.format(name))
