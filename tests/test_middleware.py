"""The middleware: what reaches the wrapped app, and how; what is answered below the mount."""

import dataclasses
import functools
import json
import logging
import shutil
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from urllib.request import Request, urlopen
from wsgiref.util import shift_path_info
from wsgiref.validate import validator

import pytest
import webob
from playhouse import db_url
from webtest import TestApp

from tests.support.sites import (
    BROWSER,
    EMAIL,
    PASSWORD,
    SAME_ORIGIN,
    SECRET_KEY,
    USERNAME,
    echo,
    serving,
)
from wsgiauth import (
    AuthMiddleware,
    Field,
    Settings,
    User,
    login_required,
    permission_required,
    storage,
)
from wsgiauth.accounts import create_user, known_permissions
from wsgiauth.authentication import sessions
from wsgiauth.exceptions import ConfigurationError
from wsgiauth.web.urls import with_next

THREADS = 50
CHANGE_PASSWORD = "/.well-known/change-password"
CREDENTIALS = {"username": USERNAME, "password": PASSWORD}
FORGED = {
    "REMOTE_USER": "root",
    "AUTH_TYPE": "Basic",
    "wsgiauth.user": "root",
    "wsgiauth.session": "root",
    "wsgiauth.error": "root",
    "wsgiauth.root": "//evil.example",
    "wsgiauth.site": "root",
    "webob.adhoc_attrs": {"user": "root", "theme": "dark"},
}

# A table lock that no transaction may stand beside, taken at once or not at all.
LOCKS = {
    "postgresql": "BEGIN; SET LOCAL lock_timeout = '20s';"  # so long, an autovacuum may have it
    " LOCK TABLE wsgiauth_user, wsgiauth_session, wsgiauth_permission IN ACCESS EXCLUSIVE MODE;"
    " COMMIT",
    "mysql": "LOCK TABLES wsgiauth_user WRITE, wsgiauth_session WRITE, wsgiauth_permission WRITE"
    " NOWAIT",
}


class Stage:
    """An application that does whatever a test puts on it."""

    app = staticmethod(echo)

    def __call__(self, environ, start_response):
        return self.app(environ, start_response)


@pytest.fixture
def stage():
    return Stage()


@pytest.fixture
def mount():
    return "/auth"


@pytest.fixture
def site(settings, stage, mount):
    middleware = AuthMiddleware(stage, settings, mount=mount)
    yield middleware
    storage.discard_connection(storage.current())


@pytest.fixture
def told(client, stage):
    """Return a function that makes a request and returns the environ that the app was given."""

    def environ_of(path="/", **request):
        seen = {}

        def look(environ, start_response):
            seen.update(environ)
            return echo(environ, start_response)

        stage.app = look
        client.get(path, **request)
        return seen

    return environ_of


# What the wrapped app is told.


def test_of_a_stranger_the_app_is_told_nobody(told):
    environ = told()
    assert (environ["wsgiauth.user"], environ["wsgiauth.session"]) == (None, None)
    assert environ["wsgiauth.error"] is None
    assert webob.Request(environ).user is None
    assert environ.keys().isdisjoint({"REMOTE_USER", "AUTH_TYPE"})


def test_of_a_user_the_app_is_told_who_and_by_which_login(told, tokens, ada, bearer):
    headers = bearer(ada)
    environ = told(headers=headers)
    claims = tokens.verify(headers["Authorization"].removeprefix("Bearer "), tokens.now())
    assert (environ["wsgiauth.user"], environ["wsgiauth.session"]) == (ada, claims.session_id)
    assert environ["wsgiauth.error"] is None
    assert webob.Request(environ).user is environ["wsgiauth.user"]
    assert (environ["REMOTE_USER"], environ["AUTH_TYPE"]) == (USERNAME, "Bearer")


CREDENTIALS_OF_A_USER = [
    ({"Cookie": "wsgiauth={}"}, "Cookie"),
    ({"Cookie": "wsgiauth={}", "Authorization": "Basic eA=="}, "Cookie"),
    ({"Authorization": "bearer {}", "Cookie": "wsgiauth=x"}, "Bearer"),
]


def test_of_a_user_the_app_is_told_what_identified_them(told, tokens, ada):
    token = sessions.start(ada, tokens).token
    for credentials, auth_type in CREDENTIALS_OF_A_USER:
        environ = told(headers={name: each.format(token) for name, each in credentials.items()})
        assert (environ["REMOTE_USER"], environ["AUTH_TYPE"]) == (USERNAME, auth_type)


def test_of_a_bad_token_the_app_is_told_the_error(told):
    environ = told(headers={"Authorization": "Bearer x.y.z"})
    assert (environ["wsgiauth.user"], environ["wsgiauth.session"]) == (None, None)
    assert environ["wsgiauth.error"] == "invalid_token"


def test_a_username_in_the_environ_is_bytes_disguised_as_latin_1(told, settings, bearer):
    headers = bearer(create_user("艾达", "ada@example.org", PASSWORD, settings=settings))
    assert told(headers=headers)["REMOTE_USER"].encode("latin-1").decode() == "艾达"


@pytest.mark.promise(22)
def test_what_something_in_front_says_of_a_stranger_is_overwritten(told):
    environ = told(extra_environ=FORGED, headers={"Remote-User": "root"})
    assert (environ["wsgiauth.user"], environ["wsgiauth.session"]) == (None, None)
    assert (environ["wsgiauth.error"], environ["wsgiauth.root"]) == (None, "")
    assert environ["webob.adhoc_attrs"] == {"user": None, "theme": "dark"}
    assert environ.keys().isdisjoint({"REMOTE_USER", "AUTH_TYPE"})


@pytest.mark.promise(22)
def test_what_something_in_front_says_of_a_user_is_overwritten(told, ada, bearer):
    environ = told(extra_environ=FORGED, headers={"Remote-User": "root", **bearer(ada)})
    assert environ["wsgiauth.user"] == webob.Request(environ).user == ada
    assert (environ["REMOTE_USER"], environ["AUTH_TYPE"]) == (USERNAME, "Bearer")
    assert (environ["wsgiauth.error"], environ["wsgiauth.root"]) == (None, "")


@pytest.mark.promise(22)
def test_below_the_mount_forged_keys_identify_nobody(client):
    client.get("/auth/me", extra_environ=FORGED, headers={"Remote-User": "root"}, status=401)


@pytest.mark.promise(22)
def test_fifty_threads_never_see_each_others_users(site, settings, ada, bearer):
    bob = create_user("Bob", "bob@example.org", PASSWORD, settings=settings)
    callers = [(USERNAME, bearer(ada)), ("Bob", bearer(bob)), (None, {})]
    together = threading.Barrier(THREADS, timeout=60)

    def visit(number):
        client = TestApp(site)
        together.wait()
        for turn in range(number, number + 6):
            name, headers = callers[turn % len(callers)]
            assert client.get("/", headers=headers).json["user"] == name
        storage.discard_connection(storage.current())
        return number

    with ThreadPoolExecutor(THREADS) as threads:
        assert [*threads.map(visit, range(THREADS))] == [*range(THREADS)]


# What is left as it was.


@pytest.mark.promise(21)
@pytest.mark.parametrize("caller", ["a stranger", "a stale token", "a user"])
def test_everything_is_handed_through_untouched(site, stage, ada, bearer, caller):
    class Iterable:
        done = []  # noqa: RUF012 - of this test

        def __iter__(self):
            self.done.append("read")
            return iter([b"one", b"two"])

        def close(self):
            self.done.append("closed")

    class Body:
        def __getattr__(self, name):
            pytest.fail("the middleware touched the body")

    def start_response(*arguments):
        pytest.fail("the middleware started the answer")

    seen, iterable, body = [], Iterable(), Body()
    stage.app = lambda *arguments: seen.append(arguments) or iterable
    headers = {
        "a stranger": {},
        "a stale token": {"Authorization": "Bearer x.y.z", "Cookie": "wsgiauth=x.y.z"},
        "a user": bearer(ada),
    }
    environ = webob.Request.blank("/", headers=headers[caller], method="POST").environ
    environ["wsgi.input"] = body
    answer = site(environ, start_response)
    assert iterable.done == []
    assert [*answer] == [b"one", b"two"]
    answer.close()
    assert iterable.done == ["read", "closed"]
    ((seen_environ, seen_start_response),) = seen
    assert seen_environ is environ
    # Only a user's answer is looked at when it starts; see test_caching.py.
    assert (seen_start_response is start_response) is (caller != "a user")
    assert environ["wsgi.input"] is body


@pytest.mark.promise(21)
def test_an_error_after_the_answer_began_reaches_the_server(site, stage):
    calls, written = [], []

    def start_response(status, headers, exc_info=None):
        calls.append((status, exc_info and exc_info[0]))
        return written.append

    def failing(environ, start_response):
        write = start_response("200 OK", [])
        write(b"begun")
        try:
            raise LookupError
        except LookupError:
            start_response("500 Oops", [], sys.exc_info())
        return []

    stage.app = failing
    site(webob.Request.blank("/").environ, start_response)
    assert (calls, written) == ([("200 OK", None), ("500 Oops", LookupError)], [b"begun"])


def test_the_apps_own_exception_is_the_apps_own(client, stage):
    def failing(environ, start_response):
        raise LookupError("the app's own")

    stage.app = failing
    with pytest.raises(LookupError, match="the app's own"):
        client.get("/")


@pytest.mark.promise(21)
def test_both_sides_keep_to_pep_3333(site, stage, ada):
    stage.app = validator(echo)
    client = TestApp(validator(site))
    client.get("/", status=200)
    client.post("/", b"x" * 20_000, status=200)
    client.get("/auth/login", status=200)
    client.head("/auth/login", status=200)
    client.get("/auth/me", status=401)
    client.get("/auth/x", status=404)
    client.put("/auth/me", status=405)
    client.post_json("/auth/login", [], status=400)
    client.post("/auth/login", CREDENTIALS, headers=SAME_ORIGIN, status=303)
    client.get("/", status=200)


# The mount.


BESIDE = [
    "/",
    "/authx",
    "/auth%FF",
    "/auth%C3%BF",
    "/AUTH/me",
    "/aut",
    "/x/auth/me",
    "//auth/me",
]


@pytest.mark.promise(23)
def test_beside_the_mount_the_app_answers(client):
    assert {path: client.get(path).json["user"] for path in BESIDE} == dict.fromkeys(BESIDE)


BELOW = [
    "/auth//",
    "/auth/%FF",
    "/auth/me/",
    "/auth//me",
    "/auth/me%00",
    "/auth/ME",
]


@pytest.mark.promise(23)
def test_below_the_mount_the_app_is_not_asked(client):
    codes = {path: client.get(path, status=404).json["code"] for path in BELOW}
    assert codes == dict.fromkeys(BELOW, "not_found")


@pytest.mark.promise(23)
def test_a_request_to_the_root_of_a_prefix_reaches_the_app(client):
    environ = {"SCRIPT_NAME": "/auth", "PATH_INFO": ""}
    seen = client.get("/", extra_environ=environ).json
    assert (seen["script_name"], seen["path_info"]) == ("/auth", "")


@pytest.mark.promise(23)
def test_a_request_without_a_path_reaches_the_app(site):
    environ = webob.Request.blank("/").environ
    del environ["PATH_INFO"], environ["SCRIPT_NAME"]
    assert site(environ, lambda status, headers: None)


@pytest.mark.promise(23)
def test_the_app_keeps_its_own_prefix_and_path(client):
    seen = client.get("/reports/%C3%AB", extra_environ={"SCRIPT_NAME": "/app"}).json
    assert (seen["script_name"], seen["path_info"]) == ("/app", "/reports/\xc3\xab")


@pytest.mark.promise(23)
@pytest.mark.parametrize(
    ("prefix", "mount", "root"),
    [
        pytest.param("", "/auth", "", id="at the root"),
        pytest.param("/app", "/auth", "/app", id="below a prefix"),
        pytest.param("/app", "/account", "/app", id="below a prefix, mounted elsewhere"),
        pytest.param("", "/a/b.c~d", "", id="mounted deep"),
        pytest.param("/a b\xc3\xab", "/auth", "/a%20b%C3%AB", id="below an odd prefix"),
    ],
)
def test_every_address_that_is_given_has_prefix_and_mount(site, prefix, mount, root):
    client = TestApp(site, extra_environ={"SCRIPT_NAME": prefix})
    fields = {**CREDENTIALS, "email": EMAIL}
    url = root + mount

    def location(path, fields):
        return client.post(mount + path, fields, headers=SAME_ORIGIN).headers["Location"]

    registered = client.post_json(f"{mount}/register", fields)
    login_page = client.get(f"{mount}/login?next=/x")
    register_page = client.get(f"{mount}/register?next=/x")
    error_page = client.get(f"{mount}/me", headers=BROWSER, status=401)

    assert registered.headers["Location"] == f"{url}/me"
    assert location("/login", CREDENTIALS) == f"{root}/"
    assert location("/logout", {}) == f"{url}/login?done=logout"
    assert login_page.form.action == f"{url}/login"
    assert register_page.form.action == f"{url}/register"
    login_page.mustcontain(f'href="{url}/register?next=%2Fx"')
    register_page.mustcontain(f'href="{url}/login?next=%2Fx"')
    login_url = with_next(f"{url}/login", f"{url}/me")
    error_page.mustcontain(f'href="{root}/"', f'href="{login_url}"')


@pytest.mark.promise(18)
def test_a_prefix_that_a_client_chose_leads_to_no_other_site(site, ada):
    for prefix in ("https://evil.example", "//evil.example", "evil.example"):
        # As a server sets it that believes a client's X-Forwarded-Prefix.
        client = TestApp(site, lint=False, extra_environ={"SCRIPT_NAME": prefix})
        root = f"/{prefix.lstrip('/')}"
        login = client.post("/auth/login", CREDENTIALS, headers=SAME_ORIGIN, status=303)
        logout = client.post("/auth/logout", headers=SAME_ORIGIN, status=303)
        assert login.headers["Location"] == f"{root}/"
        assert logout.headers["Location"] == f"{root}/auth/login?done=logout"
        assert client.get("/auth/login").form.action == f"{root}/auth/login"


@pytest.mark.promise(23)
@pytest.mark.parametrize(
    ("prefix", "mount", "url"),
    [("", "/auth", "/auth/password"), ("/app", "/account", "/app/account/password")],
)
def test_password_managers_find_the_page_to_change_the_password(settings, prefix, mount, url):
    def never(environ, start_response):
        pytest.fail("the application was called")

    site = AuthMiddleware(never, settings, mount=mount)
    client = TestApp(site, extra_environ={"SCRIPT_NAME": prefix})
    for ask in (client.get, client.head):
        assert ask(CHANGE_PASSWORD, status=302).headers["Location"] == url
    storage.discard_connection(site.database)


OTHER_QUESTIONS = [
    ("POST", CHANGE_PASSWORD),
    ("OPTIONS", CHANGE_PASSWORD),
    ("GET", f"{CHANGE_PASSWORD}/"),
    ("GET", "/.well-known/security.txt"),
    ("GET", f"/x{CHANGE_PASSWORD}"),
]


def test_the_app_answers_what_is_not_a_password_managers_question(client):
    for method, path in OTHER_QUESTIONS:
        assert client.request(path, method=method).json["path_info"] == path


@pytest.mark.parametrize("mount", ["/account"])
def test_where_it_is_not_mounted_it_does_not_answer(client):
    assert client.get("/auth/me").json["path_info"] == "/auth/me"


def test_a_challenge_that_is_neither_true_nor_false_is_refused(settings):
    for challenge in ("off", "on", None, 1):
        with pytest.raises(ConfigurationError, match="challenge must be True, False or"):
            AuthMiddleware(echo, settings, challenge=challenge)


NO_PERMISSIONS = [
    "refused.read",
    b"refused.read",
    ["refused.read", "write"],
    [None],
    ["refused.read "],
]


def test_permissions_that_are_no_list_of_permissions_are_refused(settings):
    for permissions in NO_PERMISSIONS:
        with pytest.raises(ConfigurationError, match=r"^permissions"):
            AuthMiddleware(echo, settings, permissions=permissions)
    assert "refused.read" not in known_permissions.asked_for()


def test_declared_permissions_are_known_once_the_site_is_made(settings):
    declared = {"declared.read", "declared.write"}
    assert not declared & known_permissions.asked_for()
    AuthMiddleware(echo, settings, permissions=iter(declared))
    assert declared <= known_permissions.asked_for()


NO_MOUNTS = [
    "",
    "/",
    "auth",
    "/auth/",
    "//auth",
    "/a//b",
    "/\xe4",
    "/a b",
    "/%61",
    "/auth\n",
]


async def later(*_):
    """Do nothing, and be no function that wsgiauth can call."""


NOTHING_OF_OURS = [5, b"x", object(), True, 1.5, {"/a/": 5}, [5], [None], [b"/x"]]
FUNCTIONS = ("claims", "on_event", "send_mail", "on_registered", "personal_data")
WRONG_ARGUMENTS = {
    "app": [5, None, later],
    "settings": [each for each in NOTHING_OF_OURS if not isinstance(each, dict)] + ["x"],
    "public": [each for each in NOTHING_OF_OURS if not isinstance(each, dict)] + ["/"],
    "require": [*NOTHING_OF_OURS, {5: None}],
    "permissions": NOTHING_OF_OURS,
    "registration": [*NOTHING_OF_OURS, "phone", Field("phone", "Phone")],
    **{name: [*NOTHING_OF_OURS, "x", later] for name in FUNCTIONS},
}


@pytest.mark.promise(29)
def test_an_argument_of_a_wrong_type_is_refused_by_name(settings):
    for name, values in WRONG_ARGUMENTS.items():
        for value in values:
            with pytest.raises(ConfigurationError, match=rf"^{name}\b.*\.$"):
                AuthMiddleware(**{"app": echo, "settings": settings, name: value})


def test_a_mount_that_is_no_path_is_refused(settings):
    for mount in NO_MOUNTS:
        with pytest.raises(ConfigurationError, match="mount must be a path"):
            AuthMiddleware(echo, settings, mount=mount)


# One middleware inside another.


def decorated(app):
    @functools.wraps(app)
    def view(environ, start_response):
        return app(environ, start_response)

    return view


def opaque(app):
    """Wrap `app` so that it cannot be seen."""
    return lambda environ, start_response: app({**environ}, start_response)


def test_a_middleware_around_another_is_refused(site, settings):
    for wrap in (
        lambda app: app,
        functools.partial,
        login_required,
        permission_required("a.b"),
        decorated,
        lambda app: functools.partial(login_required(app)),
        lambda app: login_required(functools.partial(app)),
    ):
        for challenge in (False, True):
            with pytest.raises(ConfigurationError, match="one with the same mount, /auth:"):
                AuthMiddleware(wrap(site), settings, challenge=challenge)


def test_a_middleware_somewhere_inside_another_is_refused_by_a_request(site, settings, ada, bearer):
    for challenge in (False, True):
        outer = AuthMiddleware(opaque(site), settings, challenge=challenge)
        for root in ("", "/app"):
            client = TestApp(outer, extra_environ={"SCRIPT_NAME": root})
            client.get("/auth/login", status=200)
            for headers in ({}, bearer(ada)):
                with pytest.raises(ConfigurationError, match="another one with the same mount"):
                    client.get("/", headers=headers)


def test_a_middleware_inside_another_with_another_mount_works(site, settings, ada):
    for wrapped in (site, opaque(site)):
        client = TestApp(AuthMiddleware(wrapped, settings, mount="/account"))
        for mount in ("/account", "/auth"):
            token = client.post_json(f"{mount}/login", CREDENTIALS).json["access_token"]
            seen = client.get("/", headers={"Authorization": f"Bearer {token}"})
            assert seen.json["user"] == USERNAME


def test_a_middleware_inside_another_below_a_prefix_works(site, settings, ada):
    def dispatch(environ, start_response):
        shift_path_info(environ)
        return site(environ, start_response)

    client = TestApp(AuthMiddleware(dispatch, settings))
    client.post_json("/shop/auth/login", CREDENTIALS, status=200)
    assert client.get("/shop/").json["script_name"] == "/shop"


@pytest.mark.promise(22)
def test_no_header_of_a_client_looks_like_an_outer_middleware(site):
    with serving(site, threads=1) as address:
        for name in ("wsgiauth.site", "Wsgiauth-Site", "WSGIAUTH_SITE"):
            request = Request(f"{address}/", headers={name: "/auth", "wsgiauth.root": ""})
            with urlopen(request, timeout=60) as answer:
                assert json.load(answer)["user"] is None


# Settings.


def given(settings):
    return {"SECRET_KEY": SECRET_KEY, "BCRYPT_ROUNDS": "4", "DATABASE_URL": settings.DATABASE_URL}


def test_settings_are_given(settings):
    for form in (Settings.from_mapping, dict):
        TestApp(AuthMiddleware(echo, form(given(settings)))).get("/auth/login", status=200)


def test_settings_are_read_from_the_process_environment(settings, monkeypatch):
    for name, value in given(settings).items():
        monkeypatch.setenv(name, value)
    assert TestApp(AuthMiddleware(echo)).get("/auth/login", status=200)


def test_a_middleware_without_a_key_is_refused(settings):
    with pytest.raises(ConfigurationError, match="SECRET_KEY"):
        AuthMiddleware(echo, dataclasses.replace(settings, SECRET_KEY=None))


def test_unwise_settings_are_logged(settings, caplog):
    AuthMiddleware(echo, settings)
    (record,) = caplog.records
    assert (record.name, record.levelno) == ("wsgiauth", logging.WARNING)
    assert record.getMessage().startswith("BCRYPT_ROUNDS is 4")


# The database, while it works and while it does not.


@pytest.fixture(params=["", "+pool"], ids=["unpooled", "pooled"])
def pooled_or_not(settings, request):
    url = settings.DATABASE_URL.replace("://", f"{request.param}://")
    return dataclasses.replace(settings, DATABASE_URL=url)


@pytest.mark.promise(24)
@pytest.mark.every_database
def test_no_transaction_is_open_while_the_app_runs(pooled_or_not, database_url):
    told = []

    def look(environ, start_response):
        told.append((environ["wsgiauth.user"], environ["wsgiauth.error"]))
        lock_everything(database_url)
        assert storage.current().is_closed() or "+pool" not in pooled_or_not.DATABASE_URL
        return echo(environ, start_response)

    def app(environ, start_response):
        view = permission_required("reports.publish")(look) if told else look
        return view(environ, start_response)

    client = TestApp(AuthMiddleware(app, pooled_or_not))
    ada = create_user(USERNAME, EMAIL, PASSWORD, settings=pooled_or_not)
    ada.grant("reports.publish")
    stale, fresh = log_in(client), log_in(client)
    client.post("/auth/logout", headers=stale)
    client.get("/", headers=stale, status=200)
    client.get("/", headers=fresh, status=200)
    close_all(storage.current())
    assert told == [(None, "invalid_token"), (ada, None)]


def log_in(client):
    token = client.post_json("/auth/login", CREDENTIALS).json["access_token"]
    return {"Authorization": f"Bearer {token}"}


def lock_everything(url):
    """Take the whole database; an error if anybody else holds any of it."""
    outsider = db_url.connect(url)
    kind = url.partition(":")[0]
    try:
        if kind == "sqlite":
            # What is written has to leave the log, which any open reader would prevent.
            outsider.pragma("busy_timeout", 0)
            was_in_the_way, *_ = outsider.execute_sql("PRAGMA wal_checkpoint(RESTART)").fetchone()
            assert not was_in_the_way
        else:
            outsider.execute_sql(LOCKS[kind])
    finally:
        outsider.close()


def close_all(database):
    storage.discard_connection(database)
    if hasattr(database, "close_all"):
        database.close_all()


@pytest.fixture(params=["gone", "overwritten", "emptied"])
def lose_database(request, database_folder):
    """Return functions that make the database fail, and that mend it."""
    database, spare = database_folder / "accounts.db", database_folder / "spare.db"

    def lose():
        storage.discard_connection(storage.current())
        shutil.move(database, spare)
        if request.param == "gone":
            database.mkdir()
        else:
            database.write_bytes(
                b"not a database " * 1000 if request.param == "overwritten" else b""
            )

    def mend():
        for remains in database_folder.glob("accounts.db*"):
            remains.rmdir() if remains.is_dir() else remains.unlink()
        shutil.move(spare, database)

    return lose, mend


@pytest.mark.promise(28)
def test_while_the_database_is_away_credentials_are_a_503(client, ada, bearer, lose_database):
    headers = bearer(ada)
    cookie = {"Cookie": headers["Authorization"].replace("Bearer ", "wsgiauth=")}
    lose, mend = lose_database
    lose()
    for path in ("/", "/auth/me", "/auth/logout"):
        for credentials in (headers, cookie):
            refused = client.get(path, headers=credentials, status=503)
            assert refused.json["code"] == "unavailable"
            assert int(refused.headers["Retry-After"]) > 0
    mend()
    assert client.get("/", headers=headers).json["user"] == USERNAME


@pytest.mark.promise(28)
def test_while_the_database_is_away_nobody_logs_in_or_registers(client, ada, lose_database):
    fields = {**CREDENTIALS, "email": EMAIL}
    lose, mend = lose_database
    lose()
    for path in ("/auth/login", "/auth/register"):
        for refused in (
            client.post_json(path, fields, status=503),
            client.post(path, fields, headers=SAME_ORIGIN, status=503),
        ):
            assert int(refused.headers["Retry-After"]) > 0
            assert "Set-Cookie" not in refused.headers
    mend()
    client.post_json("/auth/login", CREDENTIALS, status=200)


@pytest.mark.promise(28)
def test_while_the_database_is_away_strangers_notice_nothing(client, lose_database):
    lose, _ = lose_database
    lose()
    assert client.get("/").json["user"] is None
    assert client.get("/", headers={"Cookie": "theme=dark"}).json["user"] is None
    assert client.get("/", headers={"Authorization": "Bearer x.y.z"}).json["user"] is None
    client.get("/auth/login", status=200)
    client.get("/auth/register", status=200)
    client.get("/auth/me", status=401)


@pytest.mark.promise(28)
def test_a_browser_is_told_of_a_database_that_is_away_by_a_page(client, ada, bearer, lose_database):
    headers = {**BROWSER, **bearer(ada)}
    lose, _ = lose_database
    lose()
    for path in ("/", "/auth/me"):
        client.get(path, headers=headers, status=503).mustcontain("Try again in a moment.")


def test_two_middlewares_keep_their_accounts_apart(settings, tmp_path, ada, bearer, client):
    headers = bearer(ada)
    url = f"sqlite:///{tmp_path}/other.db"
    other = TestApp(AuthMiddleware(echo, dataclasses.replace(settings, DATABASE_URL=url)))
    assert client.get("/", headers=headers).json["user"] == USERNAME
    assert other.get("/", headers=headers).json["user"] is None
    storage.discard_connection(storage.current())
    assert client.get("/", headers=headers).json["user"] == USERNAME


# Two sites in one process


@pytest.fixture
def two_sites(tmp_path):
    """Return two sites, and the user of the same id on each; only the second's holds a.b."""

    def make(name):
        url = f"sqlite:///{tmp_path}/{name}.db"
        settings = Settings(SECRET_KEY=SECRET_KEY, BCRYPT_ROUNDS=4, DATABASE_URL=url)
        stage = Stage()
        site = AuthMiddleware(stage, settings)
        user = create_user(name, f"{name}@example.org", PASSWORD, settings=settings)
        return stage, TestApp(site), user

    first, second = make("first"), make("second")
    second[2].grant("a.b")
    assert first[2].id == second[2].id
    return first, second


def authorization(client, user):
    fields = {"username": user.username, "password": PASSWORD}
    token = client.post_json("/auth/login", fields).json["access_token"]
    return {"Authorization": f"Bearer {token}"}


@pytest.mark.promise(22)
def test_a_user_carried_into_a_thread_speaks_to_their_own_database(two_sites):
    (stage, client, user), (_, other_client, other) = two_sites
    other_headers = authorization(other_client, other)

    def rename_in_a_thread(environ, start_response):
        user = environ["wsgiauth.user"]

        def job():
            user.username = "renamed"
            user.save()
            return user.has_permission("a.b")

        with ThreadPoolExecutor(1) as pool:
            assert pool.submit(job).result() is False
        return echo(environ, start_response)

    headers = authorization(client, user)
    stage.app = rename_in_a_thread
    client.get("/", headers=headers)
    assert client.get("/auth/me", headers=headers).json["username"] == "renamed"
    assert other_client.get("/auth/me", headers=other_headers).json["username"] == "second"


@pytest.mark.promise(22)
def test_a_request_within_a_request_leaves_the_outer_sites_database_behind(two_sites):
    (stage, client, user), (_, other, _) = two_sites
    guarded = permission_required("a.b")(echo)

    def ask_the_other_site(environ, start_response):
        assert other.get("/").json["user"] is None
        assert [each.username for each in User.objects.all()] == ["first"]
        return guarded(environ, start_response)

    headers = authorization(client, user)
    stage.app = ask_the_other_site
    client.get("/", headers=headers, status=403)


@pytest.mark.promise(22)
def test_a_copy_of_a_request_has_a_user_of_its_own(client, stage, ada, bearer):
    headers = bearer(ada)

    def ask_again(environ, start_response):
        request = webob.Request(environ)
        anonymous = request.copy()
        del anonymous.headers["Authorization"]
        stage.app = echo
        anonymous.get_response(client.app)
        assert request.user == environ["wsgiauth.user"] == ada
        return echo(environ, start_response)

    stage.app = ask_again
    client.get("/", headers=headers)


def test_what_is_no_dictionary_of_attributes_is_replaced(site):
    for planted in (None, "text", []):
        request = webob.Request.blank("/", environ={"webob.adhoc_attrs": planted})
        assert request.get_response(site).status_int == 200
        assert request.environ["webob.adhoc_attrs"] == {"user": None}


@pytest.mark.promise(24)
def test_what_the_app_asks_of_a_pool_is_given_back_when_it_returns(tmp_path):
    def count(environ, start_response):
        start_response("200 OK", [("Content-Type", "text/plain")])
        return [str(User.objects.count()).encode()]

    url = f"sqlite+pool:///{tmp_path}/pool.db?max_connections=1"
    site = AuthMiddleware(count, {"SECRET_KEY": SECRET_KEY, "DATABASE_URL": url})
    with ThreadPoolExecutor(4) as threads:
        together = threading.Barrier(4)

        def ask(_):
            together.wait()  # so that each thread answers once
            with lock:
                return TestApp(site).get("/").text

        lock = threading.Lock()
        assert list(threads.map(ask, range(4))) == ["0"] * 4
    storage.current().close_all()


def test_a_transaction_of_the_app_keeps_its_connection_through_a_request_within(tmp_path):
    def outer(environ, start_response):
        stage.app = echo
        with storage.current().atomic():
            TestApp(site).get("/")
            create_user(USERNAME, EMAIL, PASSWORD, settings=settings)
        return echo(environ, start_response)

    url = f"sqlite+pool:///{tmp_path}/pool.db?max_connections=1"
    settings = Settings(SECRET_KEY=SECRET_KEY, BCRYPT_ROUNDS=4, DATABASE_URL=url)
    stage = Stage()
    stage.app = outer
    site = AuthMiddleware(stage, settings)
    TestApp(site).get("/")
    assert User.objects.count() == 1
    storage.current().close_all()


def test_a_mount_that_no_browser_would_ask_for_is_refused(settings):
    for mount in ("/..", "/a/../b", "/."):
        with pytest.raises(ConfigurationError, match="mount"):
            AuthMiddleware(echo, settings, mount=mount)


def test_what_cannot_be_called_is_no_application(settings):
    for app in (None, "app"):
        with pytest.raises(ConfigurationError, match="WSGI application"):
            AuthMiddleware(app, settings)


@pytest.mark.promise(26)
def test_a_database_that_others_can_open_is_warned_of(settings, database_folder, caplog):
    (database_folder / "accounts.db").chmod(0o644)
    AuthMiddleware(echo, settings)
    assert "can be opened by other users (mode 0644)" in caplog.text


@pytest.mark.parametrize("is_mapping", [True, False], ids=["a mapping", "the environment"])
def test_a_misspelt_setting_is_warned_of_at_each_start(
    monkeypatch, database_url, caplog, is_mapping
):
    named = {"SECRET_KEY": SECRET_KEY, "DATABASE_URL": database_url, "REGISTRATON": "off"}
    if is_mapping:
        AuthMiddleware(echo, named)
    else:
        for name, value in named.items():
            monkeypatch.setenv(name, value)
        AuthMiddleware(echo)
    warning = "REGISTRATON is not a setting and is ignored; the similar REGISTRATION is not set."
    assert warning in caplog.messages


def test_a_misspelt_setting_is_warned_of_before_what_it_causes(caplog):
    with pytest.raises(ConfigurationError, match="SECRET_KEY must be set"):
        AuthMiddleware(echo, {"SECRETKEY": SECRET_KEY})
    assert "the similar SECRET_KEY is not set" in caplog.text
    assert SECRET_KEY not in caplog.text


# What a request costs


def test_who_shows_no_valid_token_costs_no_query(client, queries):
    for headers in (
        {},
        {"Authorization": "Bearer x.y.z"},
        {"Authorization": "Basic eDp5"},
        {"Cookie": "theme=dark"},
    ):
        assert queries(lambda headers=headers: client.get("/", headers=headers)) == []


def test_who_shows_one_costs_one_select(client, ada, bearer, queries):
    headers = bearer(ada)
    cookie = {"Cookie": f"wsgiauth={headers['Authorization'].partition(' ')[2]}"}
    for each in (headers, cookie):
        sent = queries(lambda each=each: client.get("/", headers=each))
        assert [sql.partition(" ")[0] for sql in sent] == ["SELECT"]
