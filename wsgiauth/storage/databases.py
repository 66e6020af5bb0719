"""Make a Peewee database from DATABASE_URL, configured for accounts."""

import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

import peewee
from playhouse import pool

from wsgiauth.exceptions import ConfigurationError
from wsgiauth.settings.checks import other_owner
from wsgiauth.storage import mariadb, postgresql, sqlite
from wsgiauth.storage.connections import BUSY_TIMEOUT, AccountDatabase
from wsgiauth.storage.postgres_mysql import READ_TIMEOUT, Server

DRIVERS: dict[str, Any] = {
    "sqlite": sqlite.File,
    "sqlite+pool": sqlite.PooledFile,
    "postgres": postgresql.PostgreSQL,
    "postgres+pool": postgresql.PooledPostgreSQL,
    "mysql": mariadb.MariaDB,
    "mysql+pool": mariadb.PooledMariaDB,
}
_MAX_LINKS = 40  # Linux follows no more; a loop of links has no end
CONNECT_TIMEOUT = 5  # seconds to wait for a database server, or for each of several hosts
POSTGRESQL_PORT = "5432"
_WORDS = {"true": True, "false": False, "none": None, "null": None}  # in a URL's query
_ALIASES = {"postgresql": "postgres", "mariadb": "mysql"}  # other names of Peewee's schemes
_SQLALCHEMY_SCHEMES = {"postgres+psycopg": "postgres", "mysql+pymysql": "mysql"}


def make_database(url: str) -> AccountDatabase:
    """Return the Peewee database that `url` names, without connecting to it.

    It keeps one connection for each thread, or with `+pool` a pool of connections. A missing SQLite
    file is created.

    Raises:
        ConfigurationError: The URL or the file is unusable. The message never shows the password.
        TypeError, ValueError: The driver does not accept a parameter.
    """
    driver, parameters = _driver_and_parameters(url)
    if issubclass(driver, peewee.SqliteDatabase):
        return _make_sqlite(driver, parameters)
    if not parameters["database"]:
        raise ConfigurationError("DATABASE_URL lacks the database's name, as in ://host/name.")
    return _make_server(driver, parameters)


def missing_file(url: str) -> Path | None:
    """Return the file that `make_database` would create, or None; raise its ConfigurationError."""
    path = _file_of(url)
    if path is None:
        return None
    _refuse_unusable(path)
    return None if path.exists() else path


def refuse_file_of_other_user(url: str) -> None:
    """Refuse the file of `url` if it belongs to neither this user nor root.

    The owner could have put it in a shared folder, to get the hashes that are written to it. And
    the owner's server could not write to the files that SQLite creates beside it for this user.
    """
    path = _file_of(url)
    owner = other_owner(path.stat()) if path is not None and path.exists() else None
    if owner is not None:
        raise ConfigurationError(
            f"DATABASE_URL names a file of another user (uid {owner}): {path}; run this command"
            f" as that user, as with `sudo -u '#{owner}'`, or change the owner (chown)."
        )


def file_risks(database: peewee.Database) -> list[str]:
    """Return the security risks of an SQLite file as sentences."""
    if not isinstance(database, peewee.SqliteDatabase) or not Path(database.database).is_file():
        return []
    file = Path(database.database)
    status = file.stat()
    mode = stat.S_IMODE(status.st_mode)
    risks = []
    owner = other_owner(status)
    if owner is not None:
        risks.append(
            f"{file} is owned by another user (uid {owner}), who can read and change"
            " every account: change its owner (chown), or run this as that user."
        )
    if mode & (stat.S_IRWXG | stat.S_IRWXO):
        risks.append(f"{file} can be opened by other users (mode {mode:04o}): run chmod 600.")
    risks += [
        f"{folder} can be written to by every user, who can replace the database or put"
        " other files beside it: run chmod o-w, or use another folder."
        for folder in dict.fromkeys((file.parent.resolve(), file.resolve().parent))  # of a link
        if folder.stat().st_mode & stat.S_IWOTH
    ]
    return risks


def _driver_and_parameters(url: str) -> tuple[Any, dict[str, Any]]:
    scheme, _, rest = url.partition("://")
    kind, plus, option = scheme.lower().partition("+")
    driver = _ALIASES.get(kind, kind) + plus + option
    driver = _SQLALCHEMY_SCHEMES.get(driver, driver)
    if driver not in DRIVERS:
        raise ConfigurationError(
            "DATABASE_URL must begin with sqlite://, postgresql:// or mysql://, each with or"
            " without +pool, as in postgresql+pool://."
        )
    parameters = _parse_url(f"{driver}://{rest}")
    if parameters is None:
        raise ConfigurationError("DATABASE_URL is not a well-formed URL.")
    return DRIVERS[driver], parameters


def _file_of(url: str) -> Path | None:
    driver, parameters = _driver_and_parameters(url)
    if not issubclass(driver, peewee.SqliteDatabase) or parameters["database"] == ":memory:":
        return None
    return Path(parameters["database"]).absolute()  # servers may change their directory later


def _parse_url(url: str) -> dict[str, Any] | None:
    """Parse a URL like `playhouse.db_url`, which would load every kind of driver."""
    scheme, _, rest = url.partition("://")
    authority = re.split("[/?#]", rest, maxsplit=1)[0]
    user, at, places = authority.rpartition("@")
    first, *others = places.split(",")
    try:
        # Since Python 3.14, `urlsplit` refuses an IPv6 address after another host.
        parts = urlsplit(f"{scheme}://{user}{at}{first}{rest.removeprefix(authority)}")
        named = {
            "database": parts.path[1:] or (":memory:" if parts.scheme.startswith("sqlite") else ""),
            "user": unquote(parts.username or "") or None,
            "password": unquote(parts.password or "") or None,
            **(_several(places.split(",")) if others else _one(parts)),
        }
        options = parse_qsl(parts.query, keep_blank_values=True)
        parameters = {name: value for name, value in named.items() if value is not None}
        return parameters | {name: _parse_option(value) for name, value in options}
    except ValueError:  # about an invalid port, with the password in its message: do not chain it
        return None


def _one(parts: SplitResult) -> dict[str, Any]:
    return {"host": parts.hostname, "port": parts.port or None}


def _several(places: list[str]) -> dict[str, Any]:
    """Return libpq's lists of hosts and ports."""
    hosts = [urlsplit(f"//{each}") for each in places]
    if any(" " in each for each in places) or not all(each.hostname for each in hosts):
        raise ValueError("a host is missing, or has a space")
    return {
        "host": ",".join(str(each.hostname) for each in hosts),
        "port": ",".join(str(each.port or POSTGRESQL_PORT) for each in hosts),
    }


def _parse_option(value: str) -> object:
    if value.lower() in _WORDS:
        return _WORDS[value.lower()]
    if value.isdecimal():
        return int(value)
    return float(value) if re.fullmatch(r"[0-9]+\.[0-9]+", value) else value


def _make_server(driver: Any, parameters: dict[str, Any]) -> Server:
    # A driver's error shows the password that it cannot encode; libpq truncates at NUL.
    if not all(_is_encodable(each) for each in parameters.values() if isinstance(each, str)):
        raise ConfigurationError("DATABASE_URL must be encodable as UTF-8 and not contain NUL.")
    read_timeout = parameters.pop("read_timeout", READ_TIMEOUT)
    if read_timeout is not None and not (
        isinstance(read_timeout, int | float) and read_timeout > 0
    ):
        raise ValueError("read_timeout")
    parameters.setdefault("connect_timeout", CONNECT_TIMEOUT)
    if issubclass(driver, pool.PooledDatabase):
        parameters.setdefault("timeout", BUSY_TIMEOUT)  # to wait for a free connection
    hosts = str(parameters.get("host", "")).split(",")
    if issubclass(driver, postgresql.PostgreSQL):
        if len(hosts) > 1:
            parameters.setdefault("target_session_attrs", "read-write")
            parameters.setdefault("port", ",".join([POSTGRESQL_PORT] * len(hosts)))
        parameters |= {"prefer_psycopg3": True, "client_encoding": "UTF8"}
    else:
        if len(hosts) > 1:
            raise ConfigurationError("DATABASE_URL can name several hosts only of postgresql://.")
        if parameters.setdefault("charset", "utf8mb4") != "utf8mb4":
            raise ConfigurationError("DATABASE_URL must not set a charset other than utf8mb4.")
        # PyMySQL deprecates Peewee's name for the password, and encodes a str as Latin-1.
        password = parameters.pop("passwd", None) or parameters.pop("password", "")
        parameters |= {"password": password.encode(), "write_timeout": read_timeout}
    opened: Server = driver(**parameters)
    opened.read_timeout = read_timeout
    return opened


def _is_encodable(text: str) -> bool:
    try:
        return b"\0" not in text.encode()
    except UnicodeEncodeError:
        return False


def _make_sqlite(driver: Any, parameters: dict[str, Any]) -> sqlite.SQLite:
    if "host" in parameters:  # the part between the second slash and the third
        raise ConfigurationError(
            "DATABASE_URL must have three slashes before a file name, as in sqlite:///file.db."
        )
    if parameters["database"] == ":memory:":
        return sqlite.Memory()
    path = Path(parameters["database"]).absolute()
    _make_private_file(path)
    parameters |= {"database": str(path), "factory": sqlite.FileConnection}
    parameters.setdefault("timeout", BUSY_TIMEOUT)
    opened: sqlite.SQLite = driver(**sqlite.OPTIONS, **parameters)
    return opened


def _make_private_file(path: Path) -> None:
    """Create a file whose password hashes other users cannot read."""
    _refuse_unusable(path)
    # Opening and closing an existing file would drop all locks that this process holds on it.
    if not path.exists():
        # SQLite gives its -wal and -shm files the same mode, and like O_EXCL follows no link to
        # them. Another process can create the file meanwhile.
        with _file_errors(path), suppress(FileExistsError):
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))


def _refuse_unusable(path: Path) -> None:
    """Say why a file cannot be written or created, which SQLite does not."""
    with _file_errors(path):
        with suppress(FileNotFoundError, NotADirectoryError):
            path.lstat()  # raises PermissionError, which since Python 3.14 `is_dir` does not
        if not path.parent.is_dir():
            raise ConfigurationError(
                f"DATABASE_URL names a file in a folder that does not exist: {path.parent}"
            )
        _refuse_unsafe_link(path)
        file = path.resolve()
        if not _is_permitted(file.parent, os.W_OK | os.X_OK):
            raise ConfigurationError(
                f"DATABASE_URL names a file in a folder that cannot be written: {file.parent};"
                " SQLite makes other files beside the database."
            )
        if file.exists() and not _is_permitted(file, os.R_OK | os.W_OK):
            status = file.stat()
            raise ConfigurationError(
                f"DATABASE_URL names a file that this user cannot read and write: {file}"
                f" (mode {stat.S_IMODE(status.st_mode):04o}, owner uid {status.st_uid}): run"
                " chmod 600, or chown, or run this as its owner."
            )
        _refuse_planted(file)


def _refuse_planted(file: Path) -> None:
    """Refuse a file that another user has put beside a private database.

    SQLite would read it as the last changes of the database, with any account that the user put
    there. Users who can write to the database itself also create such files.
    """
    status = file.stat() if file.exists() else None
    if status is not None and status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return
    for suffix in ("-wal", "-shm", "-journal"):
        beside = file.with_name(file.name + suffix)
        with suppress(FileNotFoundError):
            owner = other_owner(beside.lstat())
            if owner is not None and (status is None or owner != status.st_uid):
                raise ConfigurationError(
                    f"DATABASE_URL: another user (uid {owner}) has put {beside} beside the"
                    " database: SQLite would read accounts from it. Remove it, and allow no other"
                    " user to write to the folder."
                )


@contextmanager
def _file_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise ConfigurationError(
            f"DATABASE_URL names a file that cannot be written: {error.strerror}: {path}"
        ) from None


def _is_permitted(path: Path, mode: int) -> bool:
    """Return whether this process has a permission; on a read-only disk, even root has none."""
    return os.access(path, mode, effective_ids=os.access in os.supports_effective_ids)


def _refuse_unsafe_link(path: Path) -> None:
    """Refuse a symbolic link with which another user could choose the file.

    The link can be the file or a folder above it. It is safe if this user, root or the owner of the
    link's folder made it, and if the file exists.
    """
    if path.is_symlink() and not path.exists():
        raise ConfigurationError(
            f"DATABASE_URL names a symbolic link to a file that does not exist: {path}; name the"
            " file itself."
        )
    for link in _links(path):
        owner = link.lstat().st_uid  # always 0 on Windows, which has no geteuid
        if owner not in (0, link.parent.stat().st_uid) and owner != os.geteuid():
            raise ConfigurationError(
                f"DATABASE_URL names a path with a symbolic link of another user (uid {owner}):"
                f" {link}; name the file itself."
            )


def _links(path: Path) -> Iterator[Path]:
    """Yield the symbolic links on the way to `path`, each in its real folder."""
    place = Path()
    remaining = [*reversed(path.parts)]
    followed = 0
    while remaining and followed < _MAX_LINKS:
        part = remaining.pop()
        step = place.parent if part == ".." else place / part  # an absolute part replaces `place`
        if step.is_symlink():
            yield step
            followed += 1
            remaining += reversed(step.readlink().parts)
        else:
            place = step
