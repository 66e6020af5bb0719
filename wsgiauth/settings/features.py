"""The setting FEATURES: further features, each imported by its name, and the settings of them."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields, make_dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from wsgiauth.exceptions import ConfigurationError
from wsgiauth.parts import conflict
from wsgiauth.settings.kinds import FeatureSettings, declarations, wrong_setting

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

EXPECTED = "names of features such as organisations.feature:FEATURE, between spaces"
PACKAGE = "wsgiauth"  # a prefix of its own tables
MAX_NAME = 30  # characters
_OF_SQLITE = "sqlite_"  # names that begin with it are SQLite's own

_ENTRY = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")
_NAME = re.compile(rf"[a-z][a-z0-9_]{{0,{MAX_NAME - 1}}}")

_WIDENED = "_has_settings_of_features"  # an attribute of such a class

_Settings = TypeVar("_Settings", bound="DataclassInstance")


@dataclass(frozen=True, kw_only=True, eq=False)
class Declaration:
    """What needs no other room of a `feature.Feature`.

    Attributes:
        name: Its name, of lower-case letters, digits and underscores. The names of its tables
            begin with it and an underscore.
        settings: The class of its settings.
        folder: The folder of its package, for a feature that is not one of wsgiauth's own. It can
            have templates in `templates`, migrations in `migrations`, and catalogues in `locale`,
            such as `locale/de/LC_MESSAGES/NAME.mo` with the name of the feature.
    """

    name: str
    settings: type[FeatureSettings] | None = None
    folder: Path | None = None

    @property
    def templates(self) -> Path | None:
        """The folder of its templates, if it has one."""
        return self._own_folder("templates")

    @property
    def migrations(self) -> Path | None:
        """The folder of its migrations, if it has one.

        Each is a file such as `0001_tables.py` with a function `up(migrator, db)`, as in
        playhouse.migrations; the folder has no other modules but an `__init__.py`, with which
        packaging tools put it into a wheel. `db` is the database. `migrator.add_column` alone does
        nothing: call `playhouse.migrate.migrate(migrator.add_column(...))`. Models in a migration
        are copies with `database = db`, which stay as they are. wsgiauth's own migrations are
        applied first, then those of each feature in the order of their names.

        Each migration runs in a transaction with its record. MariaDB commits every CREATE and
        ALTER by itself, so a process that is killed there leaves the first statements of a
        migration, which the next run repeats. Therefore, a migration must work again after any of
        its statements: `db.create_tables` does; ask `db.get_columns` before you add a column, and
        `db.get_indexes` before you add an index.

        Processes of the version before work with the new tables while they are replaced. So a new
        column is `null=True`, if need be with `constraints=[SQL("DEFAULT 1")]`: of another one,
        Peewee's `add_column` leaves MariaDB no default. A column is dropped a version after its
        last use. A foreign key to `wsgiauth_user` has `ON DELETE CASCADE` or `SET NULL`, because
        users are deleted, too, while FEATURES lacks the feature.
        """
        return self._own_folder("migrations")

    @property
    def catalogues(self) -> Path | None:
        """The folder of its catalogues, if it has one."""
        return self._own_folder("locale")

    def _own_folder(self, name: str) -> Path | None:
        folder = None if self.folder is None else self.folder / name
        return folder if folder is not None and folder.is_dir() else None


Entry = str | Declaration  # of FEATURES; in code, it can be the feature itself


def is_entry(entry: object) -> bool:
    """Return whether FEATURES can have an entry: the name of a feature, or in code a feature."""
    is_name = isinstance(entry, str) and _ENTRY.fullmatch(entry) is not None
    return is_name or isinstance(entry, Declaration)


def check_entry(entry: object) -> bool:
    """Return True for an entry, or raise the ConfigurationError that shows the wrong one."""
    if is_entry(entry):
        return True
    reason = "is none" if isinstance(entry, str) else "is neither a name nor a Feature"
    raise wrong_setting("FEATURES", f"{EXPECTED}; {entry!r} {reason}")


def valid(entries: object) -> tuple[Entry, ...]:
    """Return the value of FEATURES; an invalid one, which has an error of its own, is empty."""
    if isinstance(entries, tuple | list) and all(map(is_entry, entries)):
        return tuple(entries)
    return ()


def load(entries: Iterable[Entry]) -> tuple[Declaration, ...]:
    """Return the features that FEATURES names.

    Raises:
        ConfigurationError: One of them cannot be imported, or is no feature.
    """
    return tuple(_load(each) if isinstance(each, str) else each for each in entries)


def template_folders(entries: Iterable[Entry]) -> dict[str, Path]:
    """Return the folders of the templates of features, by the name of the feature."""
    return {each.name: each.templates for each in load(entries) if each.templates is not None}


def catalogue_folders(entries: Iterable[Entry]) -> dict[str, Path]:
    """Return the folders of the catalogues of features, by the name of the feature."""
    return {each.name: each.catalogues for each in load(entries) if each.catalogues is not None}


@cache
def _load(entry: str) -> Declaration:
    module_name, _, name = entry.partition(":")
    try:
        found = getattr(import_module(module_name), name)
    except ConfigurationError:
        raise
    except (Exception, SystemExit) as error:  # the module is a program, which can raise anything
        reason = f"{type(error).__name__}: {error}"
        raise wrong_setting("FEATURES", f"{EXPECTED}; {entry} fails ({reason})") from error
    if not isinstance(found, Declaration):
        kind = type(found).__name__
        raise wrong_setting("FEATURES", f"{EXPECTED}; {entry} is of the type {kind}, not Feature")
    return found


def with_settings_of(kind: type[_Settings], entries: object) -> type[_Settings]:
    """Return the class of settings that also has those of features.

    Args:
        entries: The value of FEATURES.

    Raises:
        ConfigurationError: A feature cannot be imported; or a name of a feature or of a setting is
            invalid, or given twice; or a folder does not exist.
    """
    if _WIDENED in vars(kind):  # dataclasses.replace copies settings
        return kind
    features = load(valid(entries))
    known: set[str] = set()
    for each in features:
        if not _NAME.fullmatch(each.name):
            raise wrong_setting(
                "FEATURES",
                f"features with names such as organisations, in lower case; {each.name!r} is none",
            )
        if each.name.startswith(PACKAGE):
            expected = f"features whose names do not begin with {PACKAGE}; {each.name} does"
            raise wrong_setting("FEATURES", expected)
        if f"{each.name}_".startswith(_OF_SQLITE):
            expected = f"features whose tables SQLite allows; {each.name} is its own name"
            raise wrong_setting("FEATURES", expected)
        if each.folder is not None and not each.folder.is_dir():
            expected = f"features whose folders exist; {each.folder} of {each.name} does not"
            raise wrong_setting("FEATURES", expected)
        if each.name in known:
            raise wrong_setting("FEATURES", f"different features; {each.name} is in it twice")
        known.add(each.name)
    kinds = {each.name: each.settings for each in features if each.settings is not None}
    return _widened(kind, tuple(kinds.items())) if kinds else kind


@dataclass(frozen=True, kw_only=True)
class _Usual(FeatureSettings):
    """Has the attributes that Python and `dataclass` give to every class of settings."""

    FIELD: int = 0


_USUAL = frozenset({*vars(FeatureSettings), *vars(_Usual)})


def _own_attributes(kind: type[FeatureSettings]) -> Iterator[str]:
    """Yield the attributes beside the fields. They take precedence over those of `Settings`."""
    of_fields = {each.name for each in fields(kind)}
    for base in set(kind.__mro__) - {FeatureSettings, object}:
        yield from (name for name in vars(base) if name not in of_fields | _USUAL)


@cache
def _widened(kind: type[Any], kinds: tuple[tuple[str, type[FeatureSettings]], ...]) -> type[Any]:
    owners = dict.fromkeys(declarations(kind), PACKAGE)
    for name, each in kinds:
        for field in fields(each):
            if field.name in owners:
                raise conflict(f"the setting {field.name}", owners[field.name], name)
            owners[field.name] = name
            prefix = f"{name.upper()}_"
            setting = f"The setting {field.name} of the feature {name}"
            if not field.name.startswith(prefix):
                raise ConfigurationError(f"{setting} must begin with {prefix}.")
            if "setting" not in field.metadata:
                raise ConfigurationError(
                    f"{setting} must be declared by a function of wsgiauth.extend, such as"
                    " whole_number."
                )
    for name, each in kinds:
        for attribute in _own_attributes(each):
            is_ours = hasattr(kind, attribute) or attribute.startswith("__")
            owner = owners.setdefault(attribute, PACKAGE if is_ours else name)
            if owner != name:
                raise conflict(f"{attribute} among the attributes of settings", owner, name)
    return make_dataclass(
        kind.__name__,
        (),
        # A dataclass has the fields of its last base first.
        bases=(*(each for _, each in reversed(kinds)), kind),
        namespace={_WIDENED: True, "__module__": kind.__module__},
        frozen=True,
        kw_only=True,
    )
