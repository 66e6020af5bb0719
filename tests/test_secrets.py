"""Secrets: whatever happens, none is in a log, an answer, an error, a `repr` or the database.

Every secret here has a canary in it, and what is written anywhere is searched for canaries. What
was typed as a name has a finch in it: a name may reach a query, where Peewee's own log shows it at
level DEBUG, and a form shows it to whoever typed it.
"""

import io
import json
import logging
import socket
import sys
import threading
import traceback
from contextlib import contextmanager
from dataclasses import replace
from urllib.parse import urlsplit

import pytest
from webtest import TestApp

from tests.conftest import SERVERS, empty_tables
from tests.support.sites import BROWSER, EMAIL, SAME_ORIGIN, USERNAME, echo
from wsgiauth import AuthMiddleware, Settings, User, login_required, permission_required, storage
from wsgiauth.accounts import change_password, create_user
from wsgiauth.accounts.models import Session
from wsgiauth.cli import main
from wsgiauth.endpoints import Auth
from wsgiauth.exceptions import ConfigurationError, TakenError, ValidationError, WsgiAuthError

pytestmark = pytest.mark.promise(30)

SECRET_KEY = "canaryR3vJ8qWz1mT6yBn4cXf9sLp2dHg7aUe5oViQwMtYrZxN0bCjKlEuPGhSDA"
FALLBACK_KEY = "CanaryW2xN7bKd5vQ9sHj3mT1rYz6pL4cFg8aUe0oViXwMtBqZkJnRlEuPhSDGyA"
PASSWORD = "four canary words"
NEW_PASSWORD = "other canary birds"
WRONG_PASSWORD = "mistyped canary words"
GARBAGE = "eyJcanary.eyJcanary.canary"
NAME_LIKE_PASSWORD = "Four-Finch-Words"
UNLIKELY_NAME = "four finch words"

CREDENTIALS = {"username": USERNAME, "password": PASSWORD}
WRONG = {"username": USERNAME, "password": WRONG_PASSWORD}
ACCOUNT = {"username": "Grace", "email": "grace@example.org", "password": NEW_PASSWORD}


class Watch:
    """Everything that is written anywhere, and the search for secrets in it."""

    def __init__(self, caplog, capsys, folder):
        self._caplog = caplog
        self._capsys = capsys
        self._folder = folder
        self._written = []
        self._tokens = set()

    def note(self, where, *texts):
        self._written += [(where, str(text)) for text in texts]

    def note_error(self, where, error):
        """Note all that an exception shows, and those behind it, suppressed or not."""
        waiting, seen = [error], []
        while waiting:
            each = waiting.pop()
            if each is None or each in seen:
                continue
            seen.append(each)
            waiting += [each.__cause__, each.__context__]
            self.note(where, each, repr(each), repr(each.args))
            self.note(where, *traceback.format_exception(each))
            if isinstance(each, WsgiAuthError):
                self.note(where, vars(each))

    def note_answer(self, request, answer):
        """Note an answer, less the token in the two places where it belongs."""
        headers, body = answer.headerlist, answer.text
        if request.method == "POST" and request.path in ("/auth/login", "/auth/register"):
            if answer.status_int == 200:
                document = answer.json
                self._tokens.add(document.pop("access_token"))
                body = json.dumps(document)
            elif answer.status_int == 303:
                (cookie,) = answer.headers.getall("Set-Cookie")
                self._tokens.add(cookie.partition(";")[0].partition("=")[2])
                headers = [each for each in headers if each[0] != "Set-Cookie"]
        self.note(f"answer to {request.path}", answer.status, headers, body)

    def finds(self, bird="canary"):
        """Return where a secret is: one with the bird in it, or the signature of a token."""
        secrets = {bird, *(token.rpartition(".")[2].lower() for token in self._tokens)}
        self._note_the_rest()
        return sorted(
            {
                f"{where}: {text}"
                for where, text in self._written
                if any(secret in text.lower() for secret in secrets)
            }
        )

    def _note_the_rest(self):
        for record in self._caplog.records:
            where = f"log of {record.name}"
            self.note(where, record.getMessage(), repr(record.args), vars(record))
            if record.exc_info:
                self.note_error(where, record.exc_info[1])
        self.note("command line", *self._capsys.readouterr())
        for path in self._folder.iterdir():
            if path.is_file():
                self.note(path.name, path.read_bytes().decode("latin-1"))


class Client(TestApp):
    """A client whose answers are watched."""

    def __init__(self, app, watch):
        super().__init__(app)
        self._watch = watch

    def do_request(self, request, *arguments, **options):
        answer = super().do_request(request, *arguments, **options)
        self._watch.note_answer(request, answer)
        return answer


@pytest.fixture
def settings(database_url):
    return Settings(
        SECRET_KEY=SECRET_KEY,
        SECRET_KEY_FALLBACKS=(FALLBACK_KEY,),
        BCRYPT_ROUNDS=4,
        DATABASE_URL=database_url,
    )


@pytest.fixture
def watch(caplog, capsys, tmp_path):
    caplog.set_level(logging.DEBUG)
    return Watch(caplog, capsys, tmp_path)


@pytest.fixture
def ada(settings, site):
    return create_user(USERNAME, EMAIL, PASSWORD, settings=settings)


@pytest.fixture
def client(settings, site, ada, watch):
    return Client(site, watch)


def log_in(client):
    token = client.post_json("/auth/login", CREDENTIALS, status=200).json["access_token"]
    return {"Authorization": f"Bearer {token}"}


# Over HTTP.


def register(client):
    client.post_json("/auth/register", ACCOUNT, status=201)
    fields = {"username": "Mary", "email": "mary@example.org", "password": NEW_PASSWORD}
    client.post("/auth/register", fields, headers=SAME_ORIGIN, status=303)


def be_refused_an_account(client):
    for refused in (
        {**ACCOUNT, "username": USERNAME},
        {**ACCOUNT, "username": "a da"},
        {**ACCOUNT, "password": "canary"},
        {**ACCOUNT, "password": PASSWORD + "\0"},
        {**ACCOUNT, "password": PASSWORD * 9},
        {**ACCOUNT, "password": ["canary"]},
        {"canary": PASSWORD},
    ):
        client.post_json("/auth/register", refused, status="4*")
        client.post("/auth/register", refused, headers=SAME_ORIGIN, status="4*")


def log_in_and_out(client):
    headers = log_in(client)
    for path in ("/", "/auth/me", "/auth/logout", "/", "/auth/me"):
        client.get(path, headers=headers, status="*")
        client.get(path, headers={**BROWSER, **headers}, status="*")


def log_in_and_out_by_form(client):
    client.get("/auth/login?next=/", headers=BROWSER)
    client.post("/auth/login", CREDENTIALS, headers=SAME_ORIGIN, status=303)
    client.post("/auth/login", CREDENTIALS, headers=SAME_ORIGIN, status=303)
    for path in ("/", "/auth/me", "/auth/logout", "/auth/me"):
        client.get(path, headers=SAME_ORIGIN, status="*")


def guess_until_throttled(client):
    for _ in range(7):
        client.post_json("/auth/login", WRONG, status="4*")
        client.post("/auth/login", WRONG, headers=SAME_ORIGIN, status="4*")
    client.post_json("/auth/login", CREDENTIALS, status=429)


def log_in_while_inactive(client):
    User.update(is_active=False).execute()
    client.post_json("/auth/login", CREDENTIALS, status=401)
    client.post("/auth/login", CREDENTIALS, headers=SAME_ORIGIN, status=401)


def log_in_with_a_spoilt_hash(client):
    storage.current().execute_sql("UPDATE wsgiauth_user SET hashed_password = 'x'")
    client.post_json("/auth/login", CREDENTIALS, status=401)


def be_refused_as_another_site(client):
    for path, fields in (("login", CREDENTIALS), ("register", ACCOUNT), ("logout", {})):
        headers = {**SAME_ORIGIN, "Sec-Fetch-Site": "cross-site"}
        client.post(f"/auth/{path}", fields, headers=headers, status=403)


def send_what_is_malformed(client):
    whole = json.dumps(CREDENTIALS)
    form = "application/x-www-form-urlencoded"
    for content_type, body in (
        ("application/json", whole[:-1]),
        ("application/json", whole.replace("words", "\\ud800")),
        ("application/json", whole.encode("utf-16")),
        ("application/json", b'{"password": "canary\xff"}'),
        ("application/json", '{"password": "canary", "password": "canary"}'),
        ("application/json", '{"username": "a", "password": {"canary": NaN}}'),
        ("application/json", f"[{whole}]"),
        ("application/json", whole + " " * 17_000),
        ("application/json; charset=canary", whole),
        ("text/canary", whole),
        (form, "password=canary%ff"),
        (form, b"password=canary\xff"),
        (form, "password=canary&password=canary"),
        (form, "canary&" * 30),
    ):
        for path in ("/auth/login", "/auth/register"):
            headers = {"Content-Type": content_type}
            client.post(path, body, headers=headers, status="4*")
            client.post(path, body, headers={**SAME_ORIGIN, **headers}, status="4*")


def send_garbage_for_tokens(client):
    token = log_in(client)["Authorization"].partition(" ")[2]
    for authorization in (
        f"Bearer {GARBAGE}",
        f"Bearer {token}=",
        f"Bearer {token[:-4]}AAAA",
        f"Bearer {token} canary",
        "Bearer " + "canary" * 1000,
        "Bearer canary.\xff.canary",
        "Basic canary",
        "canary",
    ):
        for path in ("/", "/auth/me", "/auth/logout"):
            headers = {"Authorization": authorization}
            client.get(path, headers=headers, status="*")
            client.get(path, headers={**BROWSER, **headers}, status="*")


def send_garbage_for_cookies(client):
    for cookie in (
        f"wsgiauth={GARBAGE}",
        f"wsgiauth={GARBAGE}; wsgiauth={GARBAGE}",
        "theme=canary",
        "canary",
        f"wsgiauth={'canary' * 2000}",
    ):
        for path in ("/", "/auth/me"):
            client.get(path, headers={"Cookie": cookie}, status="*")
            client.get(path, headers={**BROWSER, "Cookie": cookie}, status="*")


def give_a_name_without_a_chance(client):
    for name in (PASSWORD, f"{PASSWORD}@", PASSWORD * 99, "canary\n"):
        client.post_json("/auth/login", {"username": name, "password": PASSWORD}, status=401)


def lose_the_database(client):
    headers = log_in(client)
    storage.current().execute_sql("ALTER TABLE wsgiauth_user RENAME TO gone")
    client.get("/", headers=headers, status=503)
    client.get("/auth/me", headers={**BROWSER, **headers}, status=503)
    for path, fields in (("login", CREDENTIALS), ("register", ACCOUNT)):
        client.post_json(f"/auth/{path}", fields, status=503)
        client.post(f"/auth/{path}", fields, headers=SAME_ORIGIN, status=503)


@pytest.mark.parametrize(
    "scenario",
    [
        pytest.param(register, id="registration"),
        pytest.param(be_refused_an_account, id="refused registration"),
        pytest.param(log_in_and_out, id="token"),
        pytest.param(log_in_and_out_by_form, id="cookie"),
        pytest.param(guess_until_throttled, id="guessing"),
        pytest.param(log_in_while_inactive, id="inactive user"),
        pytest.param(log_in_with_a_spoilt_hash, id="spoilt hash"),
        pytest.param(be_refused_as_another_site, id="another site"),
        pytest.param(send_what_is_malformed, id="malformed bodies"),
        pytest.param(send_garbage_for_tokens, id="garbage tokens"),
        pytest.param(send_garbage_for_cookies, id="garbage cookies"),
        pytest.param(give_a_name_without_a_chance, id="password for a name"),
        pytest.param(lose_the_database, id="database away"),
    ],
)
def test_no_secret_shows_over_http(client, watch, scenario):
    scenario(client)
    assert watch.finds() == []


def test_no_secret_shows_at_a_guard(settings, ada, watch):
    bare = login_required(echo)
    redirecting = login_required(redirect_url="/auth/login")(echo)
    permitting = permission_required("a.b", redirect_url="/auth/login")(echo)
    for app in (bare, redirecting, permitting):
        client = Client(AuthMiddleware(app, settings), watch)
        for headers in ({}, {"Authorization": f"Bearer {GARBAGE}"}, log_in(client)):
            client.get("/", headers=headers, status="*")
            client.get("/", headers={**BROWSER, **headers}, status="*")
    storage.discard_connection(storage.current())
    assert watch.finds() == []


def test_an_exception_of_the_application_shows_no_secret(settings, ada, watch):
    def fail(environ, start_response):
        raise LookupError("the app's own")

    client = Client(AuthMiddleware(fail, settings), watch)
    headers = log_in(client)
    cookie = headers["Authorization"].replace("Bearer ", "wsgiauth=")
    for credentials in (headers, {"Cookie": cookie}):
        with pytest.raises(LookupError) as raised:
            client.get("/", headers=credentials)
        watch.note_error("the app's exception", raised.value)
    assert watch.finds() == []


def test_no_secret_shows_of_a_login_that_a_fallback_signed(settings, ada, watch):
    before = replace(settings, SECRET_KEY=FALLBACK_KEY, SECRET_KEY_FALLBACKS=())
    headers = log_in(Client(AuthMiddleware(echo, before), watch))
    client = Client(AuthMiddleware(echo, settings), watch)
    assert client.get("/", headers=headers).json["user"] == USERNAME
    for path in ("/auth/me", "/auth/logout", "/", "/auth/me"):
        client.get(path, headers=headers, status="*")
        client.get(path, headers={**BROWSER, **headers}, status="*")
    assert watch.finds() == []


def test_an_exception_of_a_subscriber_shows_no_secret(settings, ada, watch):
    def fail(event):
        watch.note("event", event, repr(event))
        raise LookupError(event)

    client = Client(AuthMiddleware(echo, settings, on_event=fail), watch)
    client.post_json("/auth/login", WRONG, status=401)
    register(client)
    log_in_and_out_by_form(client)
    assert watch.finds() == []


@pytest.mark.parametrize("name", [NAME_LIKE_PASSWORD, UNLIKELY_NAME])
def test_a_password_typed_as_a_name_is_told_to_nobody_else(client, watch, name):
    fields = {"username": name, "password": "x"}
    for _ in range(7):
        client.post_json("/auth/login", fields, status="4*")
    client.post("/auth/login", fields, headers={"Sec-Fetch-Site": "cross-site"}, status=403)
    found = watch.finds("finch")
    assert all(each.startswith("log of peewee: ") and "SELECT" in each for each in found)
    assert bool(found) == (name is NAME_LIKE_PASSWORD)


def test_a_form_shows_its_typist_the_name_but_not_the_password(client, watch):
    fields = {"username": UNLIKELY_NAME, "password": WRONG_PASSWORD}
    refused = client.post("/auth/login", fields, headers=SAME_ORIGIN, status=401)
    assert refused.text.count("finch") == refused.text.count(f'value="{UNLIKELY_NAME}"') == 1
    assert watch.finds() == []


# In code.


def test_no_secret_shows_in_what_is_printed_of_an_object(settings, client, site, ada, watch):
    heard = []
    AuthMiddleware(echo, settings, on_event=heard.append)
    log_in(client)
    user = User.objects.get(id=ada.id)
    change_password(user, NEW_PASSWORD, settings=settings)
    log_in_by_new_password = {"username": USERNAME, "password": NEW_PASSWORD}
    client.post_json("/auth/login", log_in_by_new_password, status=200)
    settings = replace(settings, DATABASE_URL="postgresql://ada:canary@127.0.0.1/x")
    auth = Auth.from_settings(settings, "/auth")
    attempt = auth.throttle.login(UNLIKELY_NAME, ("192.0.2.7",))
    for each in (
        *(settings, site, auth, auth.tokens, auth.throttle, auth.hash_slots, auth.identifier),
        *(auth.pages, attempt, ada, user, Session.get(), *heard),
    ):
        watch.note(type(each).__name__, each, repr(each), f"{each}", [each])
    for each in (ada, user, Session.get()):
        watch.note(type(each).__name__, vars(each))
    assert watch.finds() == watch.finds("finch") == []


def test_no_secret_shows_in_the_errors_of_an_account(settings, ada, watch):
    def refused(error, action, *arguments, **options):
        with pytest.raises(error) as raised:
            action(*arguments, **options)
        watch.note_error(action.__name__, raised.value)

    names = {"username": "Grace", "email": "grace@example.org"}
    for password in ("canary", "canary\0words", "canary\ud800words", "canary" * 20):
        refused(ValidationError, create_user, **names, password=password, settings=settings)
        refused(ValidationError, change_password, ada, password, settings=settings)
    for taken in ({**names, "username": "ADA"}, {**names, "email": EMAIL}):
        refused(TakenError, create_user, **taken, password=PASSWORD, settings=settings)
    refused(ValueError, User.objects.create, **names, hashed_password=PASSWORD)
    refused(ValueError, User.objects.get, hashed_password=PASSWORD)
    refused(ValueError, User.update(hashed_password=PASSWORD).execute)
    ada.hashed_password = PASSWORD
    refused(ValueError, ada.save)
    assert watch.finds() == []


# Settings that are refused, by the middleware and on the command line.


def server_url(kind, credentials, path=""):
    """Return the URL of a test server, with other credentials."""
    url = urlsplit(SERVERS[kind])
    host = url.netloc.rpartition("@")[2]
    return url._replace(netloc=f"{credentials}@{host}", path=path or url.path).geturl()


@contextmanager
def strict_postgresql():
    """Serve what PostgreSQL says to a wrong password; yields the port."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def refuse():
            for _ in range(3):
                connection, _ = listener.accept()
                with connection:
                    connection.recv(1024)
                    connection.sendall(b"R\0\0\0\x08\0\0\0\x03")  # AuthenticationCleartextPassword
                    assert b"canary" in connection.recv(1024)
                    message = b"SFATAL\0C28P01\0Mpassword authentication failed\0\0"
                    connection.sendall(b"E" + (len(message) + 4).to_bytes(4, "big") + message)

        thread = threading.Thread(target=refuse)
        thread.start()
        yield listener.getsockname()[1]
        thread.join()


BAD_SETTINGS = [
    pytest.param({"SECRET_KEY": "canary"}, id="short key"),
    pytest.param({"SECRET_KEY": "canary" * 9}, id="repetitive key"),
    pytest.param({"SECRET_KEY": "change-me-" + SECRET_KEY}, id="placeholder"),
    pytest.param({"SECRET_KEY": SECRET_KEY + "\udcff"}, id="key with a surrogate"),
    pytest.param(
        {"SECRET_KEY": f"-----BEGIN PUBLIC KEY-----\n{SECRET_KEY}\n-----END PUBLIC KEY-----"},
        id="public key",
    ),
    pytest.param({"SECRET_KEY": SECRET_KEY[:-8], "JWT_ALGORITHM": "HS512"}, id="key for HS256"),
    pytest.param({"SECRET_KEY_FALLBACKS": "canary"}, id="short fallback"),
    pytest.param({"SECRET_KEY_FALLBACKS": f"{FALLBACK_KEY} canary"}, id="short second fallback"),
    pytest.param({"SECRET_KEY_FALLBACKS": "canary" * 9}, id="repetitive fallback"),
    pytest.param(
        {"SECRET_KEY_FALLBACKS": "change-me-" + FALLBACK_KEY}, id="placeholder for a fallback"
    ),
    pytest.param({"SECRET_KEY_FALLBACKS": FALLBACK_KEY + "\udcff"}, id="fallback with a surrogate"),
    pytest.param(
        {"SECRET_KEY_FALLBACKS": f'{{"kty":"oct","k":"{FALLBACK_KEY}"}}'}, id="fallback, a JWK"
    ),
    pytest.param(
        {
            "SECRET_KEY_FALLBACKS": FALLBACK_KEY[:-8],
            "SECRET_KEY": SECRET_KEY,
            "JWT_ALGORITHM": "HS512",
        },
        id="fallback for HS256",
    ),
    pytest.param({"JWT_ALGORITHM": "none"}, id="algorithm"),
    pytest.param({"BCRYPT_ROUNDS": "canary"}, id="number in letters"),
    pytest.param({"TRUSTED_ORIGINS": "https://ada:canary@example.org"}, id="origin"),
    pytest.param({"REGISTRATION": "canary"}, id="switch"),
    pytest.param({"DATABASE_URL": "canary"}, id="no URL"),
    pytest.param({"DATABASE_URL": "oracle://ada:canary@127.0.0.1/x"}, id="scheme"),
    pytest.param({"DATABASE_URL": "mysql+tea://ada:canary@127.0.0.1/x"}, id="option"),
    pytest.param({"DATABASE_URL": "mysql://ada:canary@[::1/x"}, id="open bracket"),
    pytest.param({"DATABASE_URL": "postgresql://ada:canary@127.0.0.1:port/x"}, id="port"),
    pytest.param({"DATABASE_URL": "postgresql://ada:canary/@127.0.0.1/x"}, id="slash in it"),
    pytest.param({"DATABASE_URL": "postgresql://ada:canary%00@127.0.0.1/x"}, id="NUL in it"),
    pytest.param({"DATABASE_URL": "postgresql://ada:canary\udcff@127.0.0.1/x"}, id="not UTF-8"),
    pytest.param({"DATABASE_URL": "mysql://ada:canary\udcff@127.0.0.1/x"}, id="not UTF-8, MariaDB"),
    pytest.param({"DATABASE_URL": "postgresql://ada:canary@127.0.0.1"}, id="no name"),
    pytest.param({"DATABASE_URL": "postgresql://ada:canary@127.0.0.1/x?tea=1"}, id="parameter"),
    pytest.param({"DATABASE_URL": "mysql://ada:canary@127.0.0.1/x?tea=1"}, id="parameter, MariaDB"),
    pytest.param({"DATABASE_URL": "sqlite://ada:canary@/x.db"}, id="SQLite with a password"),
    pytest.param({"DATABASE_URL": "postgresql://ada:canary@127.0.0.1:1/x"}, id="nobody listens"),
    pytest.param({"DATABASE_URL": "mysql://ada:canary@127.0.0.1:1/x"}, id="nobody there, MariaDB"),
    pytest.param({"DATABASE_URL": "mysql://ada@127.0.0.1:1/x?passwd=canary"}, id="in the query"),
    pytest.param({"DATABASE_URL": server_url("postgresql", "nobody:canary")}, id="no such role"),
    pytest.param(
        {"DATABASE_URL": server_url("postgresql", "postgres:canary", "/x")}, id="no database"
    ),
    pytest.param({"DATABASE_URL": server_url("mariadb", "root:canary")}, id="password, MariaDB"),
    pytest.param(
        {"DATABASE_URL": server_url("mariadb", "root:canary").replace("mysql", "mysql+pool")},
        id="password, MariaDB with a pool",
    ),
]


@pytest.fixture
def run(monkeypatch, watch):
    """Return a function that runs a command with given settings in the process environment."""

    def run_command(*argv, stdin="", **environ):
        for name, value in environ.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setattr(sys, "stdin", io.StringIO(stdin))
        return main(argv)

    return run_command


def start(wrong, run, watch):
    """Start with wrong settings, in each way that there is."""
    settings = {"SECRET_KEY": SECRET_KEY, "BCRYPT_ROUNDS": "4"} | wrong
    with pytest.raises(ConfigurationError) as refused:
        AuthMiddleware(echo, settings)
    watch.note_error("refusal", refused.value)
    assert run("check", **settings) == 1
    if "DATABASE_URL" in wrong:
        assert run("users", "--database", wrong["DATABASE_URL"]) == 1


@pytest.mark.parametrize("wrong", BAD_SETTINGS)
def test_no_secret_shows_when_settings_are_refused(run, watch, monkeypatch, tmp_path, wrong):
    monkeypatch.chdir(tmp_path)
    start(wrong, run, watch)
    assert watch.finds() == []


def test_a_password_that_the_database_refuses_is_not_shown(run, watch):
    with strict_postgresql() as port:
        url = f"postgresql://ada:canary@127.0.0.1:{port}/x?sslmode=disable&gssencmode=disable"
        start({"DATABASE_URL": url}, run, watch)
    assert watch.finds() == []


@pytest.mark.parametrize(
    ("kind", "changed"),
    [
        pytest.param("postgresql", {"password": "canary", "port": 1}, id="gone, PostgreSQL"),
        pytest.param("mariadb", {"password": b"canary", "port": 1}, id="gone, MariaDB"),
        pytest.param("mariadb", {"password": b"canary"}, id="password changed, MariaDB"),
    ],
)
def test_a_server_that_does_not_let_us_in_any_more_shows_no_password(
    server_urls, watch, kind, changed
):
    url = server_urls(kind)
    settings = Settings(SECRET_KEY=SECRET_KEY, BCRYPT_ROUNDS=4, DATABASE_URL=url)
    client = Client(AuthMiddleware(echo, settings), watch)
    opened = storage.current()
    create_user(USERNAME, EMAIL, PASSWORD, settings=settings)
    headers = log_in(client)
    empty_tables()
    storage.discard_connection(opened)
    opened.connect_params |= changed
    for path in ("/", "/auth/me"):
        client.get(path, headers=headers, status=503)
    client.post_json("/auth/login", CREDENTIALS, status=503)
    assert watch.finds() == []


# The command line.


def test_no_secret_shows_on_the_command_line(settings, site, run, watch):
    environ = {"SECRET_KEY": SECRET_KEY, "DATABASE_URL": settings.DATABASE_URL}
    names = ("--username", "Ada", "--email", EMAIL, "--password-stdin")
    for stdin in ("canary\n", "canary\0\n", PASSWORD, NEW_PASSWORD):
        run("createuser", *names, stdin=stdin, BCRYPT_ROUNDS="4", **environ)
    for stdin in ("canary", NEW_PASSWORD):
        run("changepassword", "ada", "--password-stdin", stdin=stdin)
    run("changepassword", "nobody", "--password-stdin", stdin=NEW_PASSWORD)
    client = Client(site, watch)
    client.post_json("/auth/login", {"username": "ada", "password": NEW_PASSWORD}, status=200)
    run("grant", "ada", "a.b")
    run("users")
    run("users", "--json")
    run("sessions", "ada")
    run("logout", "ada")
    run("deactivate", "ada")
    run("purge")
    run("migrate")
    run("check")
    assert watch.finds() == []


@pytest.mark.parametrize(
    "argv",
    [
        pytest.param(["--database", "mysql://ada:canary@127.0.0.1/x", "users"], id="too early"),
        pytest.param(["users", "--databse", "mysql://ada:canary@127.0.0.1/x"], id="misspelt"),
        pytest.param(["purge", "mysql://ada:canary@127.0.0.1/x"], id="bare"),
    ],
)
def test_wrong_usage_shows_no_password_of_the_database(run, watch, argv):
    with pytest.raises(SystemExit):
        run(*argv)
    assert watch.finds() == []


def test_a_database_that_fails_a_command_shows_no_secret(settings, site, run, watch):
    storage.current().execute_sql("DROP TABLE wsgiauth_session")
    create_user(USERNAME, EMAIL, PASSWORD, settings=settings)
    environ = {"SECRET_KEY": SECRET_KEY, "DATABASE_URL": settings.DATABASE_URL}
    argv = ("changepassword", "ada", "--password-stdin")
    assert run(*argv, stdin=NEW_PASSWORD, BCRYPT_ROUNDS="4", **environ) == 1
    assert watch.finds() == []


# The search.


def log_an_exception(watch):
    try:
        try:
            raise KeyError("canary")
        except KeyError:
            raise LookupError from None
    except LookupError:
        logging.getLogger("any").exception("failed")


def answer_with(watch, headers=(), body=b""):
    def app(environ, start_response):
        start_response("200 OK", [("Content-Type", "text/plain"), *headers])
        return [body]

    Client(app, watch).get("/")


def repeat_a_token(watch):
    def app(environ, start_response):
        body = b'{"access_token": "head.claims.Signature", "next": "?Signature"}'
        start_response("200 OK", [("Content-Type", "application/json")])
        return [body]

    Client(app, watch).post("/auth/login")


@pytest.mark.parametrize(
    "plant",
    [
        pytest.param(lambda watch: logging.debug("CANARY"), id="message"),
        pytest.param(lambda watch: logging.getLogger("any").info("%s", [PASSWORD]), id="argument"),
        pytest.param(lambda watch: logging.info("x", extra={"cookie": "canary"}), id="extra"),
        pytest.param(log_an_exception, id="suppressed exception"),
        pytest.param(
            lambda watch: watch.note_error("x", ValidationError({"password": ["canary"]})),
            id="exception",
        ),
        pytest.param(lambda watch: answer_with(watch, [("X-Key", "a canary")]), id="header"),
        pytest.param(lambda watch: answer_with(watch, body=b"a canary"), id="body"),
        pytest.param(repeat_a_token, id="token where it does not belong"),
        pytest.param(lambda watch: print("canary", file=sys.stderr), id="stderr"),
        pytest.param(lambda watch: print("canary"), id="stdout"),
    ],
)
def test_the_search_finds_what_is_planted(watch, plant):
    assert watch.finds() == []
    plant(watch)
    assert watch.finds()


def test_the_search_finds_what_is_stored(client, watch):
    User.update(email_key="canary").execute()
    assert any(each.startswith("accounts.db") for each in watch.finds())
