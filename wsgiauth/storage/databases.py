"""From DATABASE_URL to a Peewee database, set up as accounts need it."""

import os
import stat
from pathlib import Path
from typing import Any

import peewee
from playhouse import db_url, pool

from wsgiauth.exceptions import ConfigurationError
from wsgiauth.storage import postgres_mysql, sqlite
from wsgiauth.storage.connections import BUSY_TIMEOUT, AccountDatabase

DRIVERS: dict[str, Any] = {
    "sqlite": sqlite.File,
    "sqlite+pool": sqlite.PooledFile,
    "postgres": postgres_mysql.PostgreSQL,
    "postgres+pool": postgres_mysql.PooledPostgreSQL,
    "mysql": postgres_mysql.MariaDB,
    "mysql+pool": postgres_mysql.PooledMariaDB,
}
CONNECT_TIMEOUT = 5  # seconds to wait for a database server
_ALIASES = {"postgresql": "postgres", "mariadb": "mysql"}  # schemes, in Peewee's words
_DRIVERS_NAMED = {"postgres+psycopg": "postgres", "mysql+pymysql": "mysql"}  # as SQLAlchemy does


def database_of(url: str) -> AccountDatabase:
    """Return the Peewee database that `url` names; nothing is connected yet.

    It keeps one connection for each thread that uses it, or with `+pool` a pool of them. SQLite's
    file is made on the way.

    Args:
        url: See `Settings.DATABASE_URL`.

    Raises:
        ConfigurationError: The URL is not understood, or the file cannot be had. Never shows the
            password.
        TypeError, ValueError: A parameter is not accepted.
    """
    driver, parameters = _understood(url)
    if issubclass(driver, peewee.SqliteDatabase):
        return _sqlite(driver, parameters)
    if not parameters["database"]:
        raise ConfigurationError("DATABASE_URL lacks the database's name, as in ://host/name.")
    return _server(driver, parameters)


def missing_file(url: str) -> Path | None:
    """Return which file `database_of` would make.

    Raises:
        ConfigurationError: The URL is not understood.
    """
    driver, parameters = _understood(url)
    if not issubclass(driver, peewee.SqliteDatabase) or parameters["database"] == ":memory:":
        return None
    path = Path(parameters["database"]).absolute()
    return None if path.exists() else path


def file_risks(database: peewee.Database) -> list[str]:
    """Return what is unwise about the database's file, if it has one, as sentences."""
    if not isinstance(database, peewee.SqliteDatabase) or not Path(database.database).is_file():
        return []
    file = Path(database.database)
    status, folder = file.stat(), file.parent
    mode = stat.S_IMODE(status.st_mode)
    risks = []
    if hasattr(os, "geteuid") and status.st_uid != os.geteuid():  # Windows has none
        risks.append(
            f"{file} is owned by another user (number {status.st_uid}), who can read and change"
            " every account: chown it, or run this as that user."
        )
    if mode & (stat.S_IRWXG | stat.S_IRWXO):
        risks.append(f"{file} can be opened by other users (mode {mode:04o}): chmod 600.")
    if folder.stat().st_mode & stat.S_IWOTH:
        risks.append(
            f"{folder} can be written to by every user, who could put files of their own beside"
            " the database or in its place: chmod o-w, or use another folder."
        )
    return risks


def _understood(url: str) -> tuple[Any, dict[str, Any]]:
    """Return the driver that `url` asks for, and what it is told."""
    scheme, _, rest = url.partition("://")
    kind, plus, option = scheme.lower().partition("+")
    driver = _ALIASES.get(kind, kind) + plus + option
    driver = _DRIVERS_NAMED.get(driver, driver)
    if driver not in DRIVERS:
        raise ConfigurationError(
            "DATABASE_URL must begin with sqlite://, postgresql:// or mysql://, each with or"
            " without +pool, as in postgresql+pool://."
        )
    parameters = _parsed(f"{driver}://{rest}")
    if parameters is None:
        raise ConfigurationError("DATABASE_URL is not a well-formed URL.")
    return DRIVERS[driver], parameters


def _parsed(url: str) -> dict[str, Any] | None:
    try:
        parameters: dict[str, Any] = db_url.parse(url, unquote_password=True, unquote_user=True)
    except ValueError:  # a port that is none; never the context of ours, for it shows the password
        return None
    return parameters


def _server(driver: Any, parameters: dict[str, Any]) -> postgres_mysql.Server:
    # Drivers raise errors that hold the password which they cannot encode; libpq stops at NUL.
    if not all(_is_encodable(each) for each in parameters.values() if isinstance(each, str)):
        raise ConfigurationError("DATABASE_URL must be text that UTF-8 can encode, without NUL.")
    read_timeout = parameters.pop("read_timeout", postgres_mysql.READ_TIMEOUT)
    if read_timeout is not None and not (
        isinstance(read_timeout, int | float) and read_timeout > 0
    ):
        raise ValueError("read_timeout")
    parameters.setdefault("connect_timeout", CONNECT_TIMEOUT)
    if issubclass(driver, pool.PooledDatabase):
        parameters.setdefault("timeout", BUSY_TIMEOUT)  # for a connection that is in use
    if issubclass(driver, postgres_mysql.PostgreSQL):
        parameters |= {"prefer_psycopg3": True, "client_encoding": "UTF8"}
    else:
        if parameters.setdefault("charset", "utf8mb4") != "utf8mb4":
            raise ConfigurationError("DATABASE_URL must leave the charset utf8mb4.")
        # Peewee's name for it is one that PyMySQL gives up; and PyMySQL takes a text for Latin-1.
        password = parameters.pop("passwd", None) or parameters.pop("password", "")
        parameters |= {"password": password.encode(), "write_timeout": read_timeout}
    opened: postgres_mysql.Server = driver(**parameters)
    opened.read_timeout = read_timeout
    return opened


def _is_encodable(text: str) -> bool:
    try:
        return b"\0" not in text.encode()
    except UnicodeEncodeError:
        return False


def _sqlite(driver: Any, parameters: dict[str, Any]) -> sqlite.SQLite:
    if "host" in parameters:  # what stands between the second slash and the third
        raise ConfigurationError(
            "DATABASE_URL takes three slashes before a file, as in sqlite:///file.db."
        )
    if parameters["database"] == ":memory:":
        return sqlite.Memory()
    path = Path(parameters["database"]).absolute()  # servers may change their folder later
    _make_private_file(path)
    parameters |= {"database": str(path), "factory": sqlite.FileConnection}
    parameters.setdefault("timeout", BUSY_TIMEOUT)
    opened: sqlite.SQLite = driver(**sqlite.OPTIONS, **parameters)
    return opened


def _make_private_file(path: Path) -> None:
    """Make the file, so that it is never for a moment readable by others: it will hold hashes."""
    if not path.parent.is_dir():
        raise ConfigurationError(
            f"DATABASE_URL names a file in a folder that does not exist: {path.parent}"
        )
    try:
        # To open and close one that exists would drop all locks that this process holds on it.
        if not path.exists():
            # SQLite gives its -wal and -shm files the same mode.
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600))
    except OSError as error:
        raise ConfigurationError(
            f"DATABASE_URL names a file that cannot be written: {error.strerror}: {path}"
        ) from None
