"""What `wsgiauth.testing` and the pytest fixtures give to the tests of other people's sites."""

import os
import subprocess
import sys
from importlib.metadata import entry_points

import bcrypt
import pytest
from webob.dec import wsgify
from webtest import TestApp

from tests.support.sites import BROWSER, PASSWORD, SAME_ORIGIN, USERNAME, echo
from wsgiauth import AuthMiddleware, login_required, permission_required, storage
from wsgiauth.accounts.models import User
from wsgiauth.exceptions import ConfigurationError, TakenError, ValidationError
from wsgiauth.settings import PER_ADDRESS
from wsgiauth.storage import context
from wsgiauth.testing import bearer, logged_in, make_settings, make_user

FIXTURES = [
    "wsgiauth_settings",
    "wsgiauth_app",
    "wsgiauth_user",
    "wsgiauth_bearer",
    "wsgiauth_client",
]


@pytest.fixture
def make_site():
    """Return a function that wraps an application as its tests would."""
    opened = []

    def make(app=echo, **changes):
        site = AuthMiddleware(app, make_settings(**changes))
        opened.append(site.database)
        return site

    yield make
    for database in opened:
        storage.discard_connection(database)


@pytest.fixture
def site(make_site):
    return make_site()


@pytest.fixture
def hashings(monkeypatch):
    """Return the costs of what bcrypt is asked to hash or to check."""
    costs = []

    def note(action):
        def noting(password, salt):
            costs.append(int(salt[4:6]))
            return action(password, salt)

        return noting

    for name in ("hashpw", "checkpw"):
        monkeypatch.setattr(bcrypt, name, note(getattr(bcrypt, name)))
    return costs


def caller(site, headers):
    return TestApp(site).get("/", headers=headers).json["user"]


# Settings.


def test_settings_for_tests_have_a_random_key():
    one, other = make_settings(), make_settings()
    assert one.SECRET_KEY != other.SECRET_KEY
    assert len(one.SECRET_KEY) >= 64


def test_settings_for_tests_can_be_changed():
    settings = make_settings(REGISTRATION=False, SECRET_KEY=None, JWT_ISSUER="x")
    assert (settings.REGISTRATION, settings.SECRET_KEY, settings.JWT_ISSUER) == (False, None, "x")


@pytest.mark.parametrize("algorithm", ["HS256", "HS384", "HS512"])
def test_the_random_key_is_long_enough_for_every_algorithm(make_site, algorithm):
    site = make_site(JWT_ALGORITHM=algorithm)
    assert caller(site, bearer(site)) == "ada"


def test_a_wrong_change_is_refused_by_the_settings_name():
    with pytest.raises(ConfigurationError, match=r"^BCRYPT_ROUNDS must be"):
        make_settings(BCRYPT_ROUNDS=3)
    with pytest.raises(TypeError, match="SECRETKEY"):
        make_settings(SECRETKEY="x")


def test_every_site_has_an_empty_database_of_its_own():
    settings = make_settings()
    sites = [AuthMiddleware(echo, settings) for _ in range(2)]
    for site in sites:
        make_user(site)
        with context.using(site.database):
            assert User.select().count() == 1
        storage.discard_connection(site.database)


def test_a_password_is_hashed_at_bcrypts_least_cost(site, hashings):
    account = {"username": USERNAME, "email": "ada@example.org", "password": PASSWORD}
    TestApp(site).post_json("/auth/register", account, status=201)
    TestApp(site).post_json("/auth/login", account, status=200)
    assert set(hashings) == {4}


def test_settings_for_tests_limit_no_address():
    settings = make_settings()
    assert {getattr(settings, name) for name in PER_ADDRESS} == {0}


def test_all_tests_may_come_from_the_same_address(make_site):
    client = TestApp(make_site(LOGIN_FAILURES_PER_ACCOUNT=0))
    for number in range(25):
        name = f"user{number}"
        account = {"username": name, "email": f"{name}@example.org", "password": PASSWORD}
        client.post_json("/auth/register", account, status=201)
    for _ in range(55):
        client.post_json("/auth/login", {"username": "ada", "password": "x"}, status=401)


# Users.


def test_a_user_is_there_with_a_name_and_an_address(site):
    user = make_user(site)
    assert (user.username, user.email, user.is_active) == ("ada", "ada@example.org", True)
    assert make_user(site, "grace").email == "grace@example.org"
    with context.using(site.database):
        assert User.objects.get(username="ada") == user


def test_a_user_has_the_fields_and_permissions_that_are_asked_for(site):
    user = make_user(
        site, "ada", email="a@example.com", is_staff=True, permissions=["reports.read", "a.b"]
    )
    assert (user.email, user.is_staff, user.is_superuser) == ("a@example.com", True, False)
    assert user.permissions == {"a.b", "reports.read"}


def test_a_user_without_a_password_costs_no_hash(site, hashings):
    user = make_user(site)
    bearer(site, user)
    logged_in(site, user)
    assert hashings == []


@pytest.mark.parametrize(
    "password", ["ada", "password", "secret", "None", "x", PASSWORD, "wsgiauth", "test"]
)
def test_nobody_logs_in_with_the_password_that_nobody_knows(site, hashings, password):
    make_user(site)
    TestApp(site).post_json("/auth/login", {"username": "ada", "password": password}, status=401)
    assert hashings == [4]  # it was compared with a real hash, as cheap as the others


def test_a_user_with_a_password_logs_in_by_it(site, hashings):
    user = make_user(site, password=PASSWORD)
    assert hashings == [4]
    login = {"username": "ada", "password": PASSWORD}
    token = TestApp(site).post_json("/auth/login", login, status=200).json["access_token"]
    assert caller(site, {"Authorization": f"Bearer {token}"}) == user.username


@pytest.mark.parametrize(
    ("error", "fields"),
    [
        pytest.param(TakenError, {"username": "ADA", "email": "x@example.org"}, id="taken name"),
        pytest.param(TakenError, {"username": "x", "email": "ada@example.org"}, id="taken e-mail"),
        pytest.param(ValidationError, {"username": "a da"}, id="malformed name"),
        pytest.param(ValidationError, {"username": "x", "email": "x"}, id="malformed e-mail"),
        pytest.param(ValueError, {"username": "x", "password": "x" * 73}, id="long password"),
        pytest.param(ValueError, {"username": "x", "permissions": ["x"]}, id="no permission"),
    ],
)
def test_a_user_who_cannot_be_is_refused(site, error, fields):
    make_user(site)
    with pytest.raises(error):
        make_user(site, **fields)


# Headers and clients.


def test_a_header_identifies_its_user(site):
    make_user(site)
    grace = make_user(site, "grace")
    assert caller(site, bearer(site, grace)) == "grace"


def test_a_header_is_for_a_new_user_unless_one_is_given(site):
    assert caller(site, bearer(site)) == "ada"


def test_each_header_is_a_login_of_its_own(site):
    ada = make_user(site)
    one, other = bearer(site, ada), bearer(site, ada)
    TestApp(site).post("/auth/logout", headers=one)
    assert (caller(site, one), caller(site, other)) == (None, "ada")


@pytest.mark.parametrize("cookie_secure", ["auto", "on"])
def test_a_client_is_logged_in(make_site, cookie_secure):
    site = make_site(COOKIE_SECURE=cookie_secure)
    client = logged_in(site, make_user(site, "grace"))
    assert isinstance(client, TestApp)
    assert [client.get("/").json["user"] for _ in range(2)] == ["grace", "grace"]


def test_a_client_is_for_a_new_user_unless_one_is_given(site):
    assert logged_in(site).get("/").json["user"] == "ada"


def test_clients_of_two_users_are_kept_apart(site):
    clients = [logged_in(site, make_user(site, name)) for name in ("ada", "grace")]
    assert [client.get("/").json["user"] for client in clients] == ["ada", "grace"]


def forget(user):
    user.delete_instance()


def deactivate(user):
    user.is_active = False
    user.save()


@pytest.mark.parametrize("log_in", [bearer, logged_in])
@pytest.mark.parametrize("lose", [deactivate, forget])
def test_a_user_who_cannot_log_in_is_refused(site, log_in, lose):
    user = make_user(site)
    lose(user)
    with pytest.raises(ValueError, match=r"ada.*cannot log in: inactive or deleted"):
        log_in(site, user)


ACTIONS = pytest.mark.parametrize(
    "action",
    [
        pytest.param(make_user, id="make_user"),
        pytest.param(bearer, id="bearer"),
        pytest.param(lambda wrong: bearer(wrong, User()), id="bearer of a user"),
        pytest.param(logged_in, id="logged_in"),
        pytest.param(lambda wrong: logged_in(wrong, User()), id="logged_in for a user"),
    ],
)


@ACTIONS
@pytest.mark.parametrize(
    "wrong",
    [
        pytest.param(lambda site: echo, id="what it wraps"),
        pytest.param(TestApp, id="what wraps it"),
        pytest.param(lambda site: None, id="None"),
    ],
)
def test_anything_but_the_middleware_is_refused_with_what_to_pass(site, action, wrong):
    with pytest.raises(TypeError, match=r"must be the AuthMiddleware itself.* app\.wsgi_app\."):
        action(wrong(site))


def test_without_webtest_only_the_client_is_missing(site, monkeypatch):
    monkeypatch.setitem(sys.modules, "webtest", None)
    with pytest.raises(ImportError, match="webtest"):
        logged_in(site)
    assert bearer(site)


def test_two_sites_in_one_process_are_kept_apart(make_site):
    key = make_settings().SECRET_KEY
    one, other = make_site(SECRET_KEY=key), make_site(SECRET_KEY=key)
    make_user(other, "grace")
    ada = make_user(one)
    headers = bearer(one, ada)
    client = logged_in(one, ada)
    assert (caller(one, headers), caller(other, headers)) == ("ada", None)
    assert client.get("/").json["user"] == "ada"
    make_user(other, "ada")
    with context.using(other.database):
        assert [user.username for user in User.select().order_by(User.id)] == ["grace", "ada"]


@pytest.mark.parametrize("log_in", [bearer, logged_in])
def test_a_user_of_another_site_is_refused(make_site, log_in):
    one, other = make_site(), make_site()
    ada = make_user(one, "ada")
    make_user(other, "grace")
    with pytest.raises(ValueError, match="ada"):
        log_in(other, ada)


def test_the_database_of_the_context_stays_what_it_was(make_site):
    one, other = make_site(), make_site()
    logged_in(one, make_user(one))
    assert storage.current() is other.database


# A whole test, as a site would have it.


def guest_book():
    """Return a site with a page, a form and something that not everybody may do."""
    entries = []

    @login_required(redirect_url="/auth/login")
    @wsgify
    def book(request):
        if request.method == "POST":
            entries.append(f"{request.user.username}: {request.POST['text']}")
        return f"<form method=post><input name=text></form>{'; '.join(entries)}"

    @permission_required("book.clear")
    @wsgify
    def clear(request):
        entries.clear()
        return "cleared"

    def route(environ, start_response):
        view = clear if environ["PATH_INFO"] == "/clear" else book
        return view(environ, start_response)

    return route


def test_a_walk_through_a_site(make_site):
    site = make_site(guest_book())
    client = logged_in(site, make_user(site, permissions=["book.clear"]))
    form = client.get("/").form
    form["text"] = "I was here"
    form.submit().mustcontain("ada: I was here")
    logged_in(site, make_user(site, "grace")).post("/clear", status=403)
    client.post("/clear").mustcontain("cleared")
    client.post("/auth/logout")
    assert (
        client.get("/", headers=BROWSER, status=302).headers["Location"].startswith("/auth/login")
    )


@pytest.mark.parametrize("cookie_secure", ["auto", "on"])
def test_a_client_that_logs_out_has_no_cookie_left(make_site, cookie_secure):
    site = make_site(COOKIE_SECURE=cookie_secure)
    client = logged_in(site)
    client.post("/auth/logout", headers=SAME_ORIGIN, status=303)
    assert client.get("/").json["error"] is None


def test_a_client_that_has_logged_out_can_log_in_again(site):
    client = logged_in(site, make_user(site, password=PASSWORD))
    client.post("/auth/logout", headers=SAME_ORIGIN, status=303)
    form = client.get("/auth/login", headers=BROWSER).form
    form["username"], form["password"] = "ada", PASSWORD
    form.submit(headers=SAME_ORIGIN, status=303)
    assert client.get("/").json["user"] == "ada"


# The fixtures, in a suite as a user would write it.

PLUGIN = """
pytest_plugins = ["wsgiauth.pytest_plugin"]
"""
CONFTEST = (
    PLUGIN
    + """
import pytest
from webob.dec import wsgify
from wsgiauth import AuthMiddleware, permission_required

@pytest.fixture
def wsgiauth_app(wsgiauth_settings):
    @permission_required("reports.read")
    @wsgify
    def report(request):
        return f"for {request.user.username}"

    return AuthMiddleware(report, wsgiauth_settings)
"""
)

SUITE = """
from webtest import TestApp

def test_a_stranger(wsgiauth_app):
    TestApp(wsgiauth_app).get("/", status=401)

def test_a_program(wsgiauth_app, wsgiauth_user, wsgiauth_bearer):
    ada = wsgiauth_user("ada", permissions=["reports.read"])
    assert TestApp(wsgiauth_app).get("/", headers=wsgiauth_bearer(ada)).text == "for ada"

def test_a_browser(wsgiauth_user, wsgiauth_client):
    ada = wsgiauth_user(permissions=["reports.read"])
    assert wsgiauth_client(ada).get("/").text == "for ada"
    wsgiauth_client(wsgiauth_user("grace")).get("/", status=403)

def test_somebody(wsgiauth_client):
    wsgiauth_client().get("/", status=403)

def test_a_password(wsgiauth_app, wsgiauth_user):
    wsgiauth_user(password="four unrelated words")
    login = {"username": "ada", "password": "four unrelated words"}
    TestApp(wsgiauth_app).post_json("/auth/login", login, status=200)
"""


def test_pytest_loads_the_fixtures_only_for_suites_that_ask_for_them():
    assert not entry_points(group="pytest11", name="wsgiauth")


def test_a_suite_with_the_fixtures_passes(pytester):
    pytester.makeconftest(CONFTEST)
    pytester.makepyfile(SUITE)
    strictly = ["-W", "error", "-W", "ignore:'cgi' is deprecated"]  # which WebOb imports
    pytester.runpytest_subprocess("-p", "no:randomly", *strictly).assert_outcomes(passed=5)


def test_a_suite_may_replace_the_settings(pytester):
    pytester.makeconftest(
        CONFTEST
        + """
@pytest.fixture
def wsgiauth_settings(wsgiauth_settings):
    from dataclasses import replace
    return replace(wsgiauth_settings, REGISTRATION=False)
"""
    )
    pytester.makepyfile(
        """
        from webtest import TestApp

        def test_nobody_registers(wsgiauth_app):
            TestApp(wsgiauth_app).get("/auth/register", status=404)
        """
    )
    pytester.runpytest_inprocess("-p", "no:randomly").assert_outcomes(passed=1)


@pytest.mark.parametrize("name", ["wsgiauth_app", "wsgiauth_user", "wsgiauth_bearer"])
def test_a_suite_that_defines_no_application_is_told_how(pytester, name):
    pytester.makeconftest(PLUGIN)
    pytester.makepyfile(f"def test_it({name}): pass")
    result = pytester.runpytest_inprocess("-p", "no:randomly")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(
        [
            "Define a fixture `wsgiauth_app` in your conftest.py that returns your application,"
            " as in `return AuthMiddleware(app, wsgiauth_settings)`."
        ]
    )


def test_the_fixtures_tell_what_they_are(pytester):
    pytester.makeconftest(PLUGIN)
    result = pytester.runpytest_inprocess("--fixtures", "-p", "no:randomly")
    for name in FIXTURES:
        line = rf"{name} -- .*pytest_plugin\.py:\d+"
        result.stdout.re_match_lines([line, "    (Return|Fail)"], consecutive=True)


# A run of pytest in an empty folder that tells what would be a trace of ours.
IDLE_RUN = """
import sys
import pytest

def note(event, arguments):
    if event == "sqlite3.connect" and "wsgiauth" in str(arguments):
        print("opened", arguments)

sys.addaudithook(note)
status = pytest.main(["-q", "-p", "wsgiauth.pytest_plugin", "-p", "no:cacheprovider"])
sys.exit(status)
"""


def test_a_suite_that_asks_for_nothing_opens_no_database_and_makes_no_file(tmp_path):
    (tmp_path / "test_it.py").write_text("def test_it(): pass")
    run = subprocess.run(
        [sys.executable, "-B", "-c", IDLE_RUN],
        cwd=tmp_path,
        # The key would be refused if it were looked at.
        env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "SECRET_KEY": "x"},
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    assert "opened" not in run.stdout
    assert [path.name for path in tmp_path.iterdir()] == ["test_it.py"]


@pytest.mark.parametrize("log_in", [bearer, logged_in])
def test_a_name_is_no_user(site, log_in):
    with pytest.raises(TypeError, match="make_user"):
        log_in(site, "ada")
