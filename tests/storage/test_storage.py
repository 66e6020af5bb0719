"""The database behind DATABASE_URL: opened, kept to oneself, lost and found again."""

import os
import sqlite3
import subprocess
import sys
import traceback
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from contextvars import copy_context
from io import BytesIO
from pathlib import Path
from urllib.parse import quote
from wsgiref.util import FileWrapper

import peewee
import pytest
from playhouse.pool import PooledDatabase
from webtest import TestApp

from tests.conftest import NAME, SERVERS, empty_tables, require
from tests.support.sites import EMAIL, PASSWORD, SECRET_KEY, USERNAME, echo
from wsgiauth import AuthMiddleware, Settings, hash_password, permission_required, storage
from wsgiauth.accounts import create_user
from wsgiauth.accounts.models import User
from wsgiauth.authentication import sessions
from wsgiauth.authentication.tokens import Tokens
from wsgiauth.exceptions import ConfigurationError
from wsgiauth.storage import context, databases

HASH = hash_password(PASSWORD, rounds=4)
SQLITE = pytest.mark.parametrize("scheme", ["sqlite", "sqlite+pool"])


@pytest.fixture
def open_database():
    """Return `storage.open_database`, whose connections are closed after the test."""
    opened = []

    def open_one(url, **options):
        opened.append(storage.open_database(url, **options))
        return opened[-1]

    yield open_one
    for each in opened:
        close(each)


@pytest.fixture(params=["", "+pool"], ids=["kept", "pooled"])
def pooling(request):
    """Return what follows the scheme of a URL."""
    return request.param


@pytest.fixture(params=SERVERS)
def server(request, server_urls, pooling, open_database):
    """Return an empty database on a server."""
    opened = open_database(server_urls(request.param).replace(":", f"{pooling}:", 1))
    yield opened
    context.use(opened)
    empty_tables()


def close(database):
    if isinstance(database, PooledDatabase):
        database.close_all()
    storage.discard_connection(database)


def in_another_thread(action):
    """Return what `action` returns in a thread that closes its connection."""

    def act():
        try:
            return action()
        finally:
            storage.discard_connection(storage.current())

    with ThreadPoolExecutor(1) as thread:
        return thread.submit(act).result()


def run_python(program, folder, **environ):
    """Run a program that only knows the package."""
    return subprocess.run(
        [sys.executable, "-c", program],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(Path(storage.__file__).parents[1]), **environ},
        capture_output=True,
        text=True,
        check=True,
    ).stdout


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


@pytest.mark.parametrize(
    "url",
    [
        pytest.param("oracle://ada:canary@127.0.0.1/name", id="unknown scheme"),
        pytest.param("postgresql+tea://ada:canary@127.0.0.1/name", id="unknown option"),
        pytest.param("canary/accounts.db", id="no scheme"),
        pytest.param("postgresql://ada:canary@127.0.0.1:port/name", id="port in letters"),
        pytest.param("mysql://ada:canary@127.0.0.1:65536/name", id="port too high"),
        pytest.param("postgresql://ada:canary@[::1/name", id="open bracket"),
        pytest.param("postgresql://ada:canary@127.0.0.1", id="no name"),
        pytest.param("mysql://ada:canary@127.0.0.1/", id="empty name"),
        pytest.param("sqlite://accounts.db", id="SQLite with two slashes"),
        pytest.param("postgresql://ada:canary@127.0.0.1:1/name", id="nobody listens, PostgreSQL"),
        pytest.param("mysql://ada:canary@127.0.0.1:1/name", id="nobody listens, MariaDB"),
        pytest.param("mysql://ada:canary@127.0.0.1/name", id="refused, MariaDB"),
        pytest.param("sqlite:///no/such/folder/accounts.db", id="missing folder"),
        pytest.param("sqlite:///folder", id="a folder"),
        pytest.param(f"sqlite:///{'long' * 100}", id="a file that cannot be made"),
        pytest.param("sqlite:///garbage", id="not a database"),
        pytest.param("sqlite:///accounts.db?tea=1", id="unknown parameter, SQLite"),
        pytest.param("sqlite+pool:///accounts.db?max_connections=x", id="parameter in letters"),
        pytest.param("postgresql://ada:canary@127.0.0.1/name?tea=1", id="unknown parameter"),
        pytest.param("mysql://ada:canary@127.0.0.1/name?tea=1", id="unknown parameter, MariaDB"),
    ],
)
def test_a_url_that_cannot_be_used_is_refused_by_name(url, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("folder").mkdir()
    Path("garbage").write_text("This is no database. " * 100, encoding="utf-8")
    with pytest.raises(ConfigurationError, match=r"^DATABASE_URL") as refused:
        storage.open_database(url)
    assert "canary" not in "".join(traceback.format_exception(refused.value))


def test_a_mistake_in_a_migration_is_not_taken_for_one_in_the_url(tmp_path):
    def migrate(database):
        raise LookupError("no such column")

    with pytest.raises(LookupError, match="no such column"):
        storage.open_database(f"sqlite:///{tmp_path}/accounts.db", prepare=migrate)


@pytest.mark.parametrize("kind", SERVERS)
def test_a_database_that_is_not_on_its_server_is_refused(kind):
    nowhere = f"{SERVERS[kind].rpartition('/')[0]}/wsgiauth_nowhere"
    with pytest.raises(ConfigurationError, match=r"^DATABASE_URL.*wsgiauth_nowhere"):
        storage.open_database(nowhere)


def test_a_percent_encoded_password_is_decoded(server_urls, open_database, pooling):
    password = "p@ss:w/rd?#%20ü"
    url = server_urls("mariadb")
    root = open_database(url)
    root.execute_sql(f"CREATE OR REPLACE USER {NAME} IDENTIFIED BY %s", (password,))
    root.execute_sql(f"GRANT ALL ON {root.database}.* TO {NAME}")
    try:
        credentials = f"mysql{pooling}://{NAME}:{quote(password, safe='')}@"
        open_database(credentials + url.rpartition("@")[2])
        assert User.objects.count() == 0
    finally:
        root.execute_sql(f"DROP USER {NAME}")


@pytest.mark.parametrize(
    ("scheme", "driver"),
    [("postgresql", "psycopg[binary]"), ("mariadb+pool", "PyMySQL")],
)
def test_a_missing_driver_is_named(scheme, driver, tmp_path):
    program = f"""
import sys
for driver in ("psycopg", "psycopg2", "pymysql", "MySQLdb", "mysql"):
    sys.modules[driver] = None
from wsgiauth import storage
try:
    storage.open_database("{scheme}://ada:canary@127.0.0.1/name")
except ValueError as error:
    print(error)
"""
    message = f"DATABASE_URL needs a driver: pip install '{driver}'.\n"
    assert run_python(program, tmp_path) == message


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
@pytest.mark.parametrize(
    ("pragma", "value"),
    [("journal_mode", "wal"), ("foreign_keys", 1), ("synchronous", 2), ("busy_timeout", 5000)],
)
def test_a_connection_is_made_safe(scheme, pragma, value, tmp_path, open_database):
    opened = open_database(f"{scheme}:///{tmp_path}/accounts.db")
    assert opened.pragma(pragma) == value


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


def test_a_file_of_another_user_is_a_risk(database, monkeypatch):
    owner = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: owner + 1)
    (risk,) = databases.file_risks(database)
    assert risk.startswith(f"{database.database} is owned by another user (number {owner})")


@pytest.mark.parametrize("mode", [0o777, 0o1777], ids=["writable by all", "likewise, sticky"])
def test_a_folder_that_every_user_can_write_to_is_a_risk(database, mode):
    folder = Path(database.database).parent
    folder.chmod(mode)
    (risk,) = databases.file_risks(database)
    assert risk.startswith(f"{folder} can be written to by every user")


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
    if os.geteuid():
        pytest.skip("only root can give a link to another user")
    os.lchown(path, 12345, -1)
    file.touch()
    with pytest.raises(ConfigurationError, match=r"that another user \(number 12345\) made"):
        storage.open_database(f"sqlite:///{path}")
    assert file.stat().st_size == 0
    os.chown(path.parent, 12345, -1)  # the owner of a folder decides what is in it
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
    if os.geteuid():
        pytest.skip("only root can give a link to another user")
    os.lchown(foreign, 12345, -1)
    message = rf"that another user \(number 12345\) made: {foreign};"
    with pytest.raises(ConfigurationError, match=message):
        storage.open_database(f"sqlite:///{path}")
    assert file.stat().st_size == 0
    os.chown(tmp_path, 12345, -1)
    assert databases.missing_file(f"sqlite:///{path}") is None


def test_a_file_is_created_in_a_folder_that_is_a_link(tmp_path, open_database):
    (tmp_path / "real").mkdir()
    (tmp_path / "folder").symlink_to("real")
    open_database(f"sqlite:///{tmp_path}/folder/accounts.db")
    assert (tmp_path / "real" / "accounts.db").stat().st_size > 0


def test_a_folder_that_leads_to_itself_does_not_exist(tmp_path):
    (tmp_path / "loop").symlink_to("loop")
    path = tmp_path / "loop" / "accounts.db"
    assert databases.missing_file(f"sqlite:///{path}") == path
    with pytest.raises(ConfigurationError, match="in a folder that does not exist"):
        storage.open_database(f"sqlite:///{path}")


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


# Connections


@SQLITE
@pytest.mark.promise(24)
def test_opening_leaves_no_connection_open(scheme, tmp_path, open_database):
    opened = open_database(f"{scheme}:///{tmp_path}/accounts.db")
    assert opened.is_closed()
    assert [path.name for path in tmp_path.iterdir()] == ["accounts.db"]  # the last one removes WAL


@pytest.mark.promise(24)
def test_a_thread_has_one_connection_to_itself(tmp_path, open_database):
    opened = open_database(f"sqlite:///{tmp_path}/accounts.db")
    own = opened.connection()
    assert opened.connection() is own
    assert in_another_thread(lambda: opened.connection() is not own)


def test_a_connection_stays_open_between_requests(client, ada, bearer, database):
    client.get("/auth/me", headers=bearer(ada))
    own = database.connection()
    client.get("/", headers=bearer(ada))
    assert database.connection() is own


def test_a_connection_in_a_transaction_is_left_to_it(database):
    with database.atomic():
        storage.discard_connection(database)
        User.objects.create(username=USERNAME, email=EMAIL, hashed_password=HASH)
    assert User.objects.count() == 1


def test_a_relative_file_stays_where_it_was_when_the_process_moves(
    tmp_path, monkeypatch, open_database
):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(tmp_path)
    open_database("sqlite:///accounts.db")
    monkeypatch.chdir(elsewhere)
    assert User.objects.count() == 0


# Forks


BACKEND = {"postgresql": "SELECT pg_backend_pid()", "mariadb": "SELECT connection_id()"}

FORK = """
import os, sys
from wsgiauth import User, storage
opened = storage.open_database(os.environ["DATABASE_URL"])
backend = lambda: opened.execute_sql(os.environ["BACKEND"]).fetchone()
User.objects.create(username="Ada", email="ada@example.org", hashed_password=os.environ["HASH"])
parents = backend()
storage.release_connection(opened)
child = os.fork()
if not child:
    assert opened.is_closed()
    assert backend() != parents
    assert User.objects.count() == 1
    sys.exit()
assert os.waitpid(child, 0) == (child, 0)
assert backend() == parents
assert User.objects.count() == 1
"""


def test_a_forked_worker_leaves_the_connection_to_its_parent(server, server_urls, tmp_path):
    kind = "postgresql" if isinstance(server, peewee.PostgresqlDatabase) else "mariadb"
    pooling = "+pool" if isinstance(server, PooledDatabase) else ""
    url = server_urls(kind).replace(":", f"{pooling}:", 1)
    run_python(FORK, tmp_path, DATABASE_URL=url, BACKEND=BACKEND[kind], HASH=HASH)
    assert User.objects.count() == 1


FORK_WITH_A_FILE = """
import os, sqlite3, sys
from wsgiauth import User, storage
opened = storage.open_database(os.environ["DATABASE_URL"])
User.objects.create(username="Ada", email="ada@example.org", hashed_password=os.environ["HASH"])
storage.release_connection(opened)
is_ready, make_ready = os.pipe()
may_end, let_end = os.pipe()
child = os.fork()
if not child:
    os.close(let_end)
    ada = User.objects.get(username="Ada")
    os.write(make_ready, b".")
    os.read(may_end, 1)
    ada.grant("reports.publish")
    sys.exit()
os.read(is_ready, 1)
(opened.close_all if hasattr(opened, "close_all") else opened.close)()
outsider = sqlite3.connect(opened.database, timeout=0)
try:
    outsider.execute("PRAGMA journal_mode = DELETE")
except sqlite3.OperationalError as error:
    print(error)
outsider.close()
os.close(let_end)
assert os.waitpid(child, 0) == (child, 0)
print(*User.objects.get(username="Ada").permissions)
"""


@SQLITE
@pytest.mark.promise(27)
def test_a_forked_worker_has_locks_of_its_own(scheme, tmp_path):
    url = f"{scheme}:///{tmp_path}/accounts.db"
    told = run_python(FORK_WITH_A_FILE, tmp_path, DATABASE_URL=url, HASH=HASH)
    assert told == "database is locked\nreports.publish\n"


FORK_IN_A_TRANSACTION = """
import os, sys
from wsgiauth import User, storage
opened = storage.open_database(os.environ["DATABASE_URL"])
with opened.atomic():
    User.objects.create(username="Ada", email="ada@example.org", hashed_password=os.environ["HASH"])
    child = os.fork()
    if not child:
        assert User.objects.count() == 0
        os._exit(0)
    assert os.waitpid(child, 0) == (child, 0)
print(User.objects.count())
"""


@SQLITE
@pytest.mark.promise(27)
def test_a_fork_in_a_transaction_leaves_it_to_the_parent(scheme, tmp_path):
    url = f"{scheme}:///{tmp_path}/accounts.db"
    assert run_python(FORK_IN_A_TRANSACTION, tmp_path, DATABASE_URL=url, HASH=HASH) == "1\n"


PATCHED_TOO_LATE = """
import os
from gevent import monkey
from wsgiauth import storage
opened = storage.open_database(os.environ["DATABASE_URL"])
monkey.patch_thread()
try:
    opened.connect()
except storage.DATABASE_ERRORS as error:
    print(error)
"""


@pytest.mark.every_database
@pytest.mark.promise(22)
def test_a_connection_that_greenlets_would_share_is_refused(database_url, tmp_path):
    require("gevent")
    told = run_python(PATCHED_TOO_LATE, tmp_path, DATABASE_URL=database_url)
    assert told.startswith("greenlets would share one connection")


# Pools


def count_elsewhere(environ, start_response):
    """Answer with the number of users, asked for on another connection."""
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [b"%d" % in_another_thread(User.objects.count)]


def count_while_it_is_sent(environ, start_response):
    """Answer with the number of users, asked for when the answer is sent."""
    start_response("200 OK", [("Content-Type", "text/plain")])
    return (b"%d" % User.objects.count() for _ in range(2))


@pytest.fixture(params=["sqlite", *SERVERS])
def pooled_url(request, tmp_path, server_urls):
    """Return the URL of a database whose pool has one connection."""
    if request.param == "sqlite":
        return f"sqlite+pool:///{tmp_path}/accounts.db?max_connections=1&timeout=1"
    url = server_urls(request.param).replace(":", "+pool:", 1)
    return f"{url}{'&' if '?' in url else '?'}max_connections=1"


@pytest.fixture
def ask_as_ada(pooled_url):
    """Return a function that visits a page of a site with that database."""
    settings = Settings(SECRET_KEY=SECRET_KEY, BCRYPT_ROUNDS=4, DATABASE_URL=pooled_url)
    tokens = Tokens(settings)
    guarded = permission_required("reports.publish")(count_elsewhere)
    views = {"/": count_elsewhere, "/reports": guarded, "/stream": count_while_it_is_sent}
    site = AuthMiddleware(
        lambda environ, start_response: views[environ["PATH_INFO"]](environ, start_response),
        settings,
    )
    ada = create_user(USERNAME, EMAIL, PASSWORD, settings=settings)
    ada.grant("reports.publish")

    def ask(path, *, ended):
        token = sessions.start(ada, tokens).token
        if ended:
            sessions.end_all(ada)
        storage.release_connection(storage.current())
        headers = {"Authorization": f"Bearer {token}"}
        return TestApp(site).get(path, headers=headers, status="*")

    yield ask
    empty_tables()
    storage.current().close_all()


@pytest.mark.promise(24)
@pytest.mark.parametrize(
    ("path", "ended"),
    [
        pytest.param("/", False, id="a page"),
        pytest.param("/", True, id="a page, with the token of a login that was ended"),
        pytest.param("/reports", False, id="a page that is guarded"),
    ],
)
def test_no_pooled_connection_is_kept_while_the_application_runs(ask_as_ada, path, ended):
    assert ask_as_ada(path, ended=ended).text == "1"


@pytest.mark.promise(24)
@pytest.mark.parametrize("ended", [False, True], ids=["valid token", "token of an ended login"])
def test_a_pooled_connection_is_given_back_with_the_answer(ask_as_ada, ended):
    ask_as_ada("/auth/me", ended=ended)
    assert in_another_thread(User.objects.count) == 1


@pytest.mark.promise(24)
def test_a_pooled_connection_is_given_back_after_a_stream(ask_as_ada):
    assert ask_as_ada("/stream", ended=False).text == "11"
    assert in_another_thread(User.objects.count) == 1


@pytest.mark.promise(21)
def test_a_stream_over_a_pool_is_the_applications_own(pooled_url):
    closed = []

    class Answer:
        def __iter__(self):
            return iter([b"a", b"b"])

        def close(self):
            closed.append(self)

    answers = [Answer(), iter([b"a", b"b"]), [b"a", b"b"], FileWrapper(BytesIO(b"ab"))]
    remaining = iter(answers)

    def view(environ, start_response):
        start_response("200 OK", [("Content-Type", "text/plain")])
        return next(remaining)

    settings = Settings(SECRET_KEY=SECRET_KEY, DATABASE_URL=pooled_url)
    site = AuthMiddleware(view, settings)
    client = TestApp(site, {"wsgi.file_wrapper": FileWrapper})
    assert [client.get("/").text for _ in answers] == ["ab"] * 4
    assert closed == answers[:1]
    remaining = iter(answers)
    environ = {"wsgi.file_wrapper": FileWrapper}
    returned = [site(dict(environ), lambda *_: None) for _ in answers]
    assert returned[2:] == answers[2:]
    storage.current().close_all()


def test_a_pooled_connection_that_is_in_use_is_waited_for(pooled_url, open_database):
    opened = open_database(pooled_url)
    User.objects.count()
    with ThreadPoolExecutor(1) as thread:
        waiting = thread.submit(in_another_thread, User.objects.count)
        with pytest.raises(TimeoutError):
            waiting.result(timeout=0.05)
        opened.close()
        assert waiting.result() == 0


# Questions that are left unfinished


@pytest.mark.promise(5)
@pytest.mark.parametrize("scheme", ["sqlite", "sqlite+pool"])
def test_a_question_that_is_left_unfinished_does_not_hold_up_the_present(scheme, tmp_path):
    url = f"{scheme}:///{tmp_path}/accounts.db"
    settings = Settings(SECRET_KEY=SECRET_KEY, BCRYPT_ROUNDS=4, DATABASE_URL=url)
    client = TestApp(AuthMiddleware(echo, settings))
    for number in range(3):
        User.create(username=f"u{number}", email=f"{number}@example.org", hashed_password=HASH)
    create_user(USERNAME, EMAIL, PASSWORD, settings=settings)
    account = {"username": USERNAME, "password": PASSWORD}
    token = client.post_json("/auth/login", account).json["access_token"]
    headers = {"Authorization": f"Bearer {token}"}
    rows = User.select().iterator()
    next(rows)
    with closing(sqlite3.connect(tmp_path / "accounts.db")) as elsewhere, elsewhere:
        elsewhere.execute("DELETE FROM wsgiauth_session")
    assert client.get("/", headers=headers).json["user"] is None
    client.post_json("/auth/login", account, status=200)
    assert len(list(rows)) == 3
    storage.discard_connection(storage.current())


# Which database?


@pytest.fixture
def make_site(tmp_path):
    """Return a function that wraps an application, with a database of its own."""
    opened = []

    def make(app=echo):
        url = f"sqlite:///{tmp_path}/{len(opened)}.db"
        site = AuthMiddleware(
            app, Settings(SECRET_KEY=SECRET_KEY, BCRYPT_ROUNDS=4, DATABASE_URL=url)
        )
        opened.append(storage.current())
        return TestApp(site)

    yield make
    for each in opened:
        storage.discard_connection(each)


ACCOUNT = {"username": USERNAME, "email": EMAIL, "password": PASSWORD}


def test_two_sites_in_one_process_are_kept_apart(make_site):
    one, other = make_site(), make_site()
    one.post_json("/auth/register", ACCOUNT, status=201)
    other.post_json("/auth/login", ACCOUNT, status=401)
    one.post_json("/auth/login", ACCOUNT, status=200)
    other.post_json("/auth/register", ACCOUNT, status=201)


def test_a_view_that_asks_another_site_keeps_its_own_database(make_site):
    other = make_site()

    def view(environ, start_response):
        other.get("/auth/me", status=401)
        start_response("200 OK", [("Content-Type", "text/plain")])
        return [b"%d" % User.objects.count()]

    one = make_site(view)
    one.post_json("/auth/register", ACCOUNT)
    assert one.get("/").text == "1"


def test_a_streamed_answer_keeps_the_database_of_its_site(make_site):
    def view(environ, start_response):
        start_response("200 OK", [("Content-Type", "text/plain")])
        return (b"%d" % User.objects.count() for _ in range(2))

    one, other = make_site(view), make_site()
    other.post_json("/auth/register", ACCOUNT)
    assert one.get("/").text == "00"


def test_a_user_speaks_to_the_database_they_were_read_from(tmp_path, open_database):
    first = open_database(f"sqlite:///{tmp_path}/first.db")
    ada = User.objects.create(username=USERNAME, email=EMAIL, hashed_password=HASH)
    open_database(f"sqlite:///{tmp_path}/last.db")
    ada.grant("reports.publish", "reports.read")
    ada.revoke("reports.read")
    ada.is_staff = True
    ada.save()
    assert User.objects.count() == 0
    assert ada.has_permission("reports.publish")
    context.use(first)
    assert User.objects.get(is_staff=True).permissions == {"reports.publish"}


def test_outside_a_request_the_database_opened_last_is_meant(tmp_path, open_database):
    open_database(f"sqlite:///{tmp_path}/first.db")
    last = open_database(f"sqlite:///{tmp_path}/last.db")
    assert storage.current() is last
    assert in_another_thread(storage.current) is last


def test_a_thread_keeps_the_database_of_its_site_in_the_context_of_a_request(make_site):
    def view(environ, start_response):
        with ThreadPoolExecutor(1) as thread:
            found.append(thread.submit(copy_context().run, storage.current).result())
        return echo(environ, start_response)

    found = []
    sites = make_site(view), make_site(view)
    for site in sites:
        site.get("/")
    assert found == [site.app.database for site in sites]


@pytest.mark.parametrize(
    ("environ", "file"),
    [
        pytest.param({"DATABASE_URL": "sqlite:///chosen.db"}, "chosen.db", id="DATABASE_URL"),
        pytest.param({"DATABASE_URL": ""}, "wsgiauth.db", id="none"),
    ],
)
def test_a_script_that_opens_nothing_uses_the_environment(environ, file, tmp_path):
    program = f"""
from wsgiauth import User
User.objects.create(username="Ada", email="ada@example.org", hashed_password={HASH!r})
print(User.objects.count())
"""
    assert run_python(program, tmp_path, **environ) == "1\n"
    assert [path.name for path in tmp_path.iterdir()] == [file]


# Lost connections


@pytest.fixture
def lose_connection(server, server_urls):
    """Return a function that makes the server end this thread's connection."""
    is_postgresql = isinstance(server, peewee.PostgresqlDatabase)

    def lose():
        connection = "pg_backend_pid" if is_postgresql else "connection_id"
        (number,) = server.execute_sql(f"SELECT {connection}()").fetchone()
        in_another_thread(lambda: end(number))

    def end(number):
        context.use(server)
        if is_postgresql:
            server.execute_sql("SELECT pg_terminate_backend(%s, 5000)", (number,))
            return
        server.execute_sql("KILL %s", (number,))
        alive = "SELECT 1 FROM information_schema.processlist WHERE id = %s"
        while server.execute_sql(alive, (number,)).fetchone():
            pass

    return lose


def test_a_query_survives_the_loss_of_the_connection(server, lose_connection):
    lose_connection()
    assert User.objects.count() == 0


def test_a_transaction_survives_the_loss_of_the_connection_before_it(server, lose_connection):
    lose_connection()
    User.objects.create(username=USERNAME, email=EMAIL, hashed_password=HASH)
    assert User.objects.count() == 1


def test_a_transaction_does_not_go_on_without_its_beginning(server, lose_connection):
    def register_and_count():
        with server.atomic():
            User.objects.create(username=USERNAME, email=EMAIL, hashed_password=HASH)
            lose_connection()
            User.objects.count()

    with pytest.raises(storage.DATABASE_ERRORS):
        register_and_count()
    assert User.objects.count() == 0


def test_a_lone_write_is_not_repeated(server, lose_connection):
    lose_connection()
    with pytest.raises(storage.DATABASE_ERRORS):
        User.update(is_active=False).execute()
    assert User.objects.count() == 0
