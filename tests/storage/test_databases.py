"""The database behind DATABASE_URL: its drivers, its files, and the links to them."""

import os
import traceback
from pathlib import Path
from urllib.parse import quote, urlsplit

import peewee
import pytest
from playhouse import db_url

from tests.conftest import SERVERS, require
from tests.storage.conftest import HASH, SQLITE, in_another_thread, run_python
from tests.support.leftovers import own_name
from tests.support.permissions import OTHER, give_away, ordinary_user, public_folder
from tests.support.sites import EMAIL, USERNAME
from tests.support.tables import row_by_row
from wsgiauth import storage
from wsgiauth.accounts.models import User
from wsgiauth.exceptions import ConfigurationError
from wsgiauth.storage import databases

# URLs


@pytest.mark.promise(26)
@pytest.mark.parametrize(
    ("scheme", "kind"),
    [
        ("sqlite", "sqlite"),
        ("sqlite+pool", "sqlite"),
        ("SQLite", "sqlite"),
        ("postgresql", "postgresql"),
        ("postgres", "postgresql"),
        ("postgresql+pool", "postgresql"),
        ("postgresql+psycopg", "postgresql"),
        ("mysql", "mariadb"),
        ("mysql+pymysql", "mariadb"),
        ("mariadb", "mariadb"),
        ("mariadb+pool", "mariadb"),
    ],
)
def test_every_scheme_opens_a_database(scheme, kind, tmp_path, server_urls, open_database):
    url = f"sqlite:///{tmp_path}/accounts.db" if kind == "sqlite" else server_urls(kind)
    open_database(scheme + url[url.index(":") :])
    assert User.objects.count() == 0


def refusal(url):
    """Return all that a person sees of the refusal of a URL."""
    with pytest.raises(ConfigurationError) as refused:
        storage.open_database(url)
    return "".join(traceback.format_exception(refused.value))


def test_a_url_that_cannot_be_used_is_refused_by_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("folder").mkdir()
    Path("garbage").write_text("This is no database. " * 100, encoding="utf-8")
    for case, url in {
        "unknown scheme": "oracle://ada:canary@127.0.0.1/name",
        "unknown option": "postgresql+tea://ada:canary@127.0.0.1/name",
        "no scheme": "canary/accounts.db",
        "port in letters": "postgresql://ada:canary@127.0.0.1:port/name",
        "port too high": "mysql://ada:canary@127.0.0.1:65536/name",
        "open bracket": "postgresql://ada:canary@[::1/name",
        "no second host": "postgresql://ada:canary@127.0.0.1,:5433/name",
        "comma at the end": "postgresql://ada:canary@127.0.0.1,/name",
        "space in hosts": "postgresql://ada:canary@127.0.0.1, 127.0.0.1/name",
        "a second port": "postgresql://ada:canary@127.0.0.1,127.0.0.1:port/name",
        "nobody of two": "postgresql://ada:canary@127.0.0.1:1,127.0.0.1:2/name",
        "two hosts, MariaDB": "mysql://ada:canary@127.0.0.1,127.0.0.2/name",
        "no name": "postgresql://ada:canary@127.0.0.1",
        "empty name": "mysql://ada:canary@127.0.0.1/",
        "SQLite with two slashes": "sqlite://accounts.db",
        "nobody listens, PostgreSQL": "postgresql://ada:canary@127.0.0.1:1/name",
        "nobody listens, MariaDB": "mysql://ada:canary@127.0.0.1:1/name",
        "refused, MariaDB": "mysql://ada:canary@127.0.0.1/name",
        "missing folder": "sqlite:///no/such/folder/accounts.db",
        "a folder": "sqlite:///folder",
        "a file that cannot be made": f"sqlite:///{'long' * 100}",
        "not a database": "sqlite:///garbage",
        "unknown parameter, SQLite": "sqlite:///accounts.db?tea=1",
        "parameter in letters": "sqlite+pool:///accounts.db?max_connections=x",
        "unknown parameter": "postgresql://ada:canary@127.0.0.1/name?tea=1",
        "unknown parameter, MariaDB": "mysql://ada:canary@127.0.0.1/name?tea=1",
    }.items():
        refused = refusal(url)
        assert "\nwsgiauth.exceptions.ConfigurationError: DATABASE_URL" in refused, case
        assert "canary" not in refused, case


def test_a_mistake_in_a_migration_is_not_taken_for_one_in_the_url(tmp_path):
    def migrate(database):
        raise LookupError("no such column")

    with pytest.raises(LookupError, match="no such column"):
        storage.open_database(f"sqlite:///{tmp_path}/accounts.db", prepare=migrate)


@row_by_row("kind", SERVERS)
def test_a_database_that_is_not_on_its_server_is_refused(kind):
    nowhere = f"{SERVERS[kind].rpartition('/')[0]}/wsgiauth_nowhere"
    with pytest.raises(ConfigurationError, match=r"^DATABASE_URL.*wsgiauth_nowhere"):
        storage.open_database(nowhere)


def test_a_percent_encoded_password_is_decoded(server_urls, open_database, pooling):
    password = "p@ss:w/rd?#%20ü"
    url = server_urls("mariadb")
    root = open_database(url)
    root.execute_sql(f"CREATE OR REPLACE USER {own_name()} IDENTIFIED BY %s", (password,))
    root.execute_sql(f"GRANT ALL ON {root.database}.* TO {own_name()}")
    try:
        credentials = f"mysql{pooling}://{own_name()}:{quote(password, safe='')}@"
        open_database(credentials + url.rpartition("@")[2])
        assert User.objects.count() == 0
    finally:
        root.execute_sql(f"DROP USER {own_name()}")


def test_the_parts_and_the_options_of_a_url_reach_the_driver():
    options = "a=true&b=FALSE&c=None&d=null&e=7&f=2.5&g=2.x&h="
    url = f"postgresql://ada:p%40ss@db.example.org:5433/accounts?{options}"
    made = databases.make_database(url)
    expected = db_url.parse(url, unquote_user=True, unquote_password=True)
    assert made.database == expected.pop("database") == "accounts"
    assert expected["password"] == "p@ss"
    assert made.connect_params.items() >= expected.items()


def test_a_url_can_name_several_hosts_of_which_one_can_be_written():
    for case, (place, hosts, ports) in {
        "ports": (
            "a.example.org:5433,b.example.org:5434/",
            "a.example.org,b.example.org",
            "5433,5434",
        ),
        "one port": (
            "a.example.org,b.example.org:5434/",
            "a.example.org,b.example.org",
            "5432,5434",
        ),
        "IPv6": ("[::1],[::1]:5434/", "::1,::1", "5432,5434"),
        "IPv6 last": ("a.example.org:5433,[::1]/", "a.example.org,::1", "5433,5432"),
        "sockets": ("/accounts?host=/run/a,/run/b&name=", "/run/a,/run/b", "5432,5432"),
        "options": ("/accounts?host=a,b&port=1,2&name=", "a,b", "1,2"),
        "one port for all": ("/accounts?host=a,b&port=1&name=", "a,b", "1"),
    }.items():
        made = databases.make_database(f"postgresql://ada:pass@{place}accounts")
        assert made.connect_params["host"] == hosts, case
        assert str(made.connect_params["port"]) == ports, case
        assert made.connect_params["target_session_attrs"] == "read-write", case


@pytest.mark.parametrize("options", ["port={port}", "port={port}&hostaddr=127.0.0.1,127.0.0.1"])
def test_hosts_can_share_a_port_and_have_addresses(options, server_urls, open_database):
    url = urlsplit(server_urls("postgresql"))
    options = options.format(port=url.port or 5432)
    place = f"postgresql://{url.username}@{url.path}?host=127.0.0.1,localhost&{options}"
    opened = open_database(place)
    assert opened.connect_params["host"] == "127.0.0.1,localhost"
    assert opened.execute_sql("SELECT 1").fetchone() == (1,)


def test_the_kind_of_host_can_be_chosen():
    url = "postgresql://a,b/accounts?target_session_attrs=primary"
    assert databases.make_database(url).connect_params["target_session_attrs"] == "primary"


def test_a_missing_driver_is_named(tmp_path):
    program = """
import sys
for driver in ("psycopg", "psycopg2", "pymysql", "MySQLdb", "mysql"):
    sys.modules[driver] = None
from wsgiauth import storage
for scheme in ("postgresql", "mariadb+pool"):
    try:
        storage.open_database(f"{scheme}://ada:canary@127.0.0.1/name")
    except ValueError as error:
        print(error)
"""
    assert run_python(program, tmp_path).splitlines() == [
        f"DATABASE_URL needs a driver: pip install '{driver}'."
        for driver in ("psycopg[binary]", "PyMySQL")
    ]


@pytest.mark.promise(28)
def test_a_tls_file_that_cannot_be_read_is_named():
    require("pymysql")
    with pytest.raises(ConfigurationError, match=r"cannot be opened: .*No such file"):
        storage.open_database("mysql://root@127.0.0.1/name?ssl_ca=/no/such/file")


# SQLite


@SQLITE
@pytest.mark.promise(26)
def test_only_the_owner_may_open_the_files(scheme, tmp_path, open_database):
    umask = os.umask(0)
    try:
        open_database(f"{scheme}:///{tmp_path}/accounts.db")
        User.objects.create(username=USERNAME, email=EMAIL, hashed_password=HASH)
    finally:
        os.umask(umask)
    modes = {path.name: oct(path.stat().st_mode & 0o777) for path in tmp_path.iterdir()}
    assert modes == dict.fromkeys(["accounts.db", "accounts.db-wal", "accounts.db-shm"], oct(0o600))


@SQLITE
@pytest.mark.promise(26)
def test_a_connection_is_made_safe(scheme, tmp_path, open_database):
    opened = open_database(f"{scheme}:///{tmp_path}/accounts.db")
    safe = {"journal_mode": "wal", "foreign_keys": 1, "synchronous": 2, "busy_timeout": 5000}
    assert {pragma: opened.pragma(pragma) for pragma in safe} == safe


@pytest.mark.promise(26)
def test_a_transaction_has_the_write_lock_from_its_beginning(tmp_path, open_database):
    url = f"sqlite:///{tmp_path}/accounts.db?timeout=0"
    opened, other = open_database(url), open_database(url)
    with opened.atomic(), pytest.raises(peewee.OperationalError, match="locked"):
        other.begin()


@pytest.mark.promise(26)
def test_readers_do_not_wait_for_a_writer(tmp_path, open_database):
    url = f"sqlite:///{tmp_path}/accounts.db?timeout=0"
    opened, other = open_database(url), open_database(url)
    with opened.atomic():
        assert other.execute_sql("SELECT count(*) FROM wsgiauth_user").fetchone() == (0,)


def test_a_database_in_memory_is_shared_by_threads(open_database):
    open_database("sqlite:///:memory:")
    User.objects.create(username=USERNAME, email=EMAIL, hashed_password=HASH)
    assert in_another_thread(User.objects.count) == 1


def test_two_databases_in_memory_are_kept_apart(open_database):
    open_database("sqlite:///:memory:")
    User.objects.create(username=USERNAME, email=EMAIL, hashed_password=HASH)
    open_database("sqlite:///:memory:")
    assert User.objects.count() == 0


def test_a_file_that_others_can_open_is_a_risk(database):
    assert databases.file_risks(database) == []
    Path(database.database).chmod(0o640)
    (risk,) = databases.file_risks(database)
    assert "mode 0640" in risk


def test_a_file_of_another_user_is_a_risk(database):
    give_away(database.database)
    (risk,) = databases.file_risks(database)
    assert risk.startswith(f"{database.database} is owned by another user (uid {OTHER})")


@pytest.mark.promise(26)
@pytest.mark.parametrize("is_there", [True, False], ids=["before", "meanwhile"])
def test_a_command_opens_no_file_that_another_user_has_put_there(tmp_path, monkeypatch, is_there):
    def plant(*arguments):
        file.write_bytes(b"")
        give_away(file)
        return arguments and create(*arguments)

    file = tmp_path / "accounts.db"
    create = os.open
    plant() if is_there else monkeypatch.setattr(os, "open", plant)
    message = rf"of another user \(uid {OTHER}\): {file}; run .* `sudo -u '#{OTHER}'`, or"
    with pytest.raises(ConfigurationError, match=message):
        storage.open_database(f"sqlite:///{file}", is_command=True)
    assert {path.name: path.stat().st_size for path in tmp_path.iterdir()} == {"accounts.db": 0}


@pytest.mark.promise(26)
@pytest.mark.parametrize("suffix", ["-wal", "-shm", "-journal"])
@pytest.mark.parametrize("is_there", [True, False], ids=["a database", "none yet"])
def test_no_changes_are_read_that_another_user_has_put_beside_the_file(tmp_path, is_there, suffix):
    file = tmp_path / "accounts.db"
    if is_there:
        file.touch(mode=0o600)
    planted = tmp_path / f"accounts.db{suffix}"
    planted.write_bytes(b"accounts")
    give_away(planted)
    message = rf"another user \(uid {OTHER}\) has put {planted} beside the database: SQLite"
    with pytest.raises(ConfigurationError, match=message):
        storage.open_database(f"sqlite:///{file}")
    assert planted.read_bytes() == b"accounts"


@pytest.mark.parametrize("mode", [0o600, 0o660], ids=oct)
def test_changes_of_a_user_who_writes_the_database_are_read(tmp_path, mode):
    file, wal = tmp_path / "accounts.db", tmp_path / "accounts.db-wal"
    file.touch()
    file.chmod(mode)
    if mode == 0o600:
        give_away(file)
    wal.touch()
    give_away(wal)
    assert databases.missing_file(f"sqlite:///{file}") is None


def test_root_can_own_a_file_that_this_user_can_write(open_database):
    with public_folder() as folder:
        file = folder / "accounts.db"
        file.touch(mode=0o666)
        file.chmod(0o666)
        folder.chmod(0o777)
        with ordinary_user():
            opened = open_database(f"sqlite:///{file}", is_command=True)
            assert not any("owned by" in each for each in databases.file_risks(opened))
            storage.discard_connection(opened)


def read_only_folder(file):
    file.parent.chmod(0o555)
    return f"in a folder that cannot be written: {file.parent}; SQLite makes"


def read_only_folder_with_a_file(file):
    file.touch(mode=0o666)
    file.chmod(0o666)
    return read_only_folder(file)


def read_only_file(file):
    file.touch()
    file.chmod(0o444)
    file.parent.chmod(0o777)
    return rf"that this user cannot read and write: {file} \(mode 0444, owner uid"


def unreadable_file(file):
    read_only_file(file)
    file.chmod(0o200)
    return r"\(mode 0200, owner uid \d+\): run chmod 600, or chown, or run this as its owner"


def unreachable_folder(file):
    file.parent.chmod(0o600)
    return f"that cannot be written: Permission denied: {file}"


@row_by_row(
    "make",
    [
        read_only_folder,
        read_only_folder_with_a_file,
        read_only_file,
        unreadable_file,
        unreachable_folder,
    ],
)
def test_a_file_that_sqlite_could_not_write_is_refused_with_the_reason(make):
    with public_folder() as outer:
        file = outer / "folder" / "accounts.db"
        file.parent.mkdir()
        url, message = f"sqlite:///{file}", make(file)
        with ordinary_user():
            for opening in (databases.missing_file, storage.open_database):
                with pytest.raises(ConfigurationError, match=message):
                    opening(url)
        file.parent.chmod(0o700)


def test_a_folder_that_every_user_can_write_to_is_a_risk(database):
    for case, mode in {"writable by all": 0o777, "likewise, sticky": 0o1777}.items():
        folder = Path(database.database).parent
        folder.chmod(mode)
        (risk,) = databases.file_risks(database)
        assert risk.startswith(f"{folder} can be written to by every user"), case


# Links


@pytest.fixture
def link(tmp_path):
    """Return a symbolic link, and the file to which it leads, which does not exist."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    file = elsewhere / "other.db"
    link = tmp_path / "accounts.db"
    link.symlink_to(file)
    return link, file


@SQLITE
@pytest.mark.promise(26)
def test_a_link_does_not_decide_where_the_file_is_created(scheme, link):
    path, file = link
    message = f"names a symbolic link to a file that does not exist: {path}; name the file itself"
    with pytest.raises(ConfigurationError, match=message):
        storage.open_database(f"{scheme}:///{path}")
    with pytest.raises(ConfigurationError, match=message):
        databases.missing_file(f"{scheme}:///{path}")
    assert not file.exists()


@pytest.mark.promise(26)
def test_a_link_of_another_user_is_not_followed(link):
    path, file = link
    give_away(path)
    file.touch()
    with pytest.raises(ConfigurationError, match=rf"symbolic link of another user \(uid {OTHER}\)"):
        storage.open_database(f"sqlite:///{path}")
    assert file.stat().st_size == 0
    give_away(path.parent)  # the owner of a folder decides what is in it
    assert databases.missing_file(f"sqlite:///{path}") is None


def of_a_folder(foreign, there):
    foreign.symlink_to(there)
    return foreign / "other.db"


def after_an_own_one(foreign, there):
    foreign.symlink_to(there / "other.db")
    own = there / "own.db"
    own.symlink_to("../foreign")
    return own


def within_an_own_one(foreign, there):
    foreign.symlink_to("elsewhere")
    own = there / "own.db"
    own.symlink_to(foreign / "other.db")
    return own


@pytest.mark.promise(26)
@pytest.mark.parametrize("make", [of_a_folder, after_an_own_one, within_an_own_one])
def test_each_link_on_the_way_is_looked_at(make, link, tmp_path):
    _, file = link
    file.touch()
    foreign = tmp_path / "foreign"
    path = make(foreign, file.parent)
    assert databases.missing_file(f"sqlite:///{path}") is None
    give_away(foreign)
    message = rf"symbolic link of another user \(uid {OTHER}\): {foreign};"
    with pytest.raises(ConfigurationError, match=message):
        storage.open_database(f"sqlite:///{path}")
    assert file.stat().st_size == 0
    give_away(tmp_path)
    assert databases.missing_file(f"sqlite:///{path}") is None


def test_a_file_is_created_in_a_folder_that_is_a_link(tmp_path, open_database):
    (tmp_path / "real").mkdir()
    (tmp_path / "folder").symlink_to("real")
    open_database(f"sqlite:///{tmp_path}/folder/accounts.db")
    assert (tmp_path / "real" / "accounts.db").stat().st_size > 0


def test_a_folder_that_leads_to_itself_is_refused(tmp_path):
    (tmp_path / "loop").symlink_to("loop")
    for opening in (databases.missing_file, storage.open_database):
        with pytest.raises(ConfigurationError, match="Too many levels of symbolic links"):
            opening(f"sqlite:///{tmp_path}/loop/accounts.db")


def test_a_link_to_a_file_is_followed_and_its_folder_is_looked_at(link, open_database):
    path, file = link
    file.touch(mode=0o600)
    opened = open_database(f"sqlite:///{path}")
    assert file.stat().st_size > 0
    assert databases.file_risks(opened) == []
    file.parent.chmod(0o777)
    (risk,) = databases.file_risks(opened)
    assert risk.startswith(f"{file.parent} can be written to by every user")


@pytest.mark.promise(26)
@pytest.mark.parametrize("is_link", [False, True], ids=["file", "link"])
def test_what_appears_while_the_file_is_created_is_not_followed(link, monkeypatch, is_link):
    def appear(*arguments):
        path.symlink_to(file) if is_link else path.write_bytes(b"")
        return create(*arguments)

    path, file = link
    path.unlink()
    create = os.open
    monkeypatch.setattr(os, "open", appear)
    if is_link:
        with pytest.raises(ConfigurationError, match="does not exist"):
            storage.open_database(f"sqlite:///{path}")
    else:
        storage.open_database(f"sqlite:///{path}")
        assert path.stat().st_size > 0
    assert not file.exists()


@pytest.mark.promise(26)
@pytest.mark.parametrize("suffix", ["-wal", "-shm"])
def test_sqlite_follows_no_link_to_the_files_beside_the_database(link, suffix):
    path, file = link
    path.rename(f"{path}{suffix}")
    with pytest.raises(ConfigurationError, match="unable to open database file"):
        storage.open_database(f"sqlite:///{path}")
    assert not file.exists()
