"""Promise 96: each demand, and everything that decides whether the user of a session is there.

A session that lacks something is nobody for all of them, and the same session is somebody for all
of them once it meets the demand. `CONSUMERS` has a function for each; a new one belongs there. The
demands of features are in `DEMANDS` of their samples. `test_failing_demands` has the same consumers
with a demand that fails.
"""

import ast
from dataclasses import replace
from itertools import count
from urllib.parse import urlsplit
from wsgiref.types import WSGIEnvironment

import pytest
from peewee import OperationalError
from webtest import TestApp

from tests.support import features
from tests.support.authenticators import Authenticator, add_passkey, options_of
from tests.support.demands import BADGE, Badge, Case, demanded, demanding
from tests.support.house import PACKAGE, nodes_of
from tests.support.oauth_apps import USERINFO
from tests.support.sites import BROWSER, PASSWORD, SAME_ORIGIN, echo
from wsgiauth import (
    AuthMiddleware,
    Settings,
    current_user,
    log_in,
    log_out,
    login_required,
    permission_required,
)
from wsgiauth.accounts.tables import Session
from wsgiauth.authentication.demands import Admission, Demand
from wsgiauth.exceptions import ConfigurationError
from wsgiauth.features import registry
from wsgiauth.features.oauth_server.tables import Grant
from wsgiauth.features.services.introspection import INTROSPECT
from wsgiauth.storage import context
from wsgiauth.testing import (
    api_key,
    app_client,
    bearer,
    logged_in,
    mailbox,
    make_settings,
    make_user,
    provider_account,
)

pytestmark = pytest.mark.promise(96)

SCRIPT = {"Accept": "application/json", "Sec-Fetch-Site": "same-origin"}
FORWARDED = {"X-Forwarded-Uri": "/x", "X-Forwarded-Method": "GET", "X-Forwarded-Host": "localhost"}
INSUFFICIENT = "insufficient_user_authentication"
PERMISSION = "reports.read"

PROVIDER = "google:https://id:secret@accounts.google.com"

_numbers = count(1)


OF_FEATURE = Case(
    keyword="badge",
    error=BADGE,
    code=BADGE,
    status=403,
    page="/auth/badge",
    members={"badge_url": "/badges"},
    features=(demanding(Badge()),),
)
CASES = {
    "second factor": Case(
        keyword="second_factor",
        error=INSUFFICIENT,
        code="second_factor_setup_required",
        status=401,
        page="/auth/totp",
        settings={"SECOND_FACTOR": "all"},
        is_derived=True,
        is_met_by_passkey=True,
    ),
    "of a feature": OF_FEATURE,
}
OF_FEATURES = features.declared("DEMANDS")
CASES |= {each.error: each for cases in OF_FEATURES.values() for each in cases}


def view(environ: WSGIEnvironment, start_response):
    """Answer as the application, behind the guard in the path."""
    guards = {
        "/login": login_required(redirect_url="/auth/login"),
        "/permission": permission_required(PERMISSION, redirect_url="/auth/login"),
        "/fresh": login_required(redirect_url="/auth/login", fresh=True),
    }
    path = environ["PATH_INFO"]
    if path == "/refuses":  # without a guard of wsgiauth, as frameworks do
        status = "200 OK" if environ["wsgiauth.user"] else "401 Unauthorized"
        start_response(status, [("Content-Type", "text/plain")])
        return [b""]
    if path == "/in-and-out":
        for name in environ["QUERY_STRING"].split("&"):
            headers = log_in(environ, make_user_named(name))
        refusal = login_required(redirect_url="/auth/login")(echo)(environ, lambda *_: None)
        headers += log_out(environ)
        start_response("200 OK", [*headers, ("Content-Type", "text/plain")])
        return refusal
    if path == "/in":
        user = make_user_named(environ["QUERY_STRING"])
        headers = log_in(environ, user)
        seen = current_user(environ)
        start_response("200 OK", [*headers, ("Content-Type", "text/plain")])
        return [f"{seen and seen.username} {environ['wsgiauth.error']}".encode()]
    return guards.get(path, lambda app: app)(echo)(environ, start_response)


def make_user_named(name):
    """Return the user of a name."""
    from wsgiauth import User

    return User.objects.get(username=name)


class Scene:
    """A site with a demand and everything that it could be forgotten by."""

    def __init__(self, case):
        self.case = case
        settings = make_settings(
            MAIL_URL="memory:",
            LOGIN_CODES=True,
            PASSKEYS=True,
            FORWARD_AUTH=True,
            OAUTH_SERVER=True,
            SERVICES=("reports",),
            OIDC_PROVIDERS=(PROVIDER,),
            **case.settings,
        )
        self.site = AuthMiddleware(
            view,
            settings,
            require={"/gated": None},
            challenge=True,
        )
        mailbox(self.site)  # so that no thread sends
        self.app = app_client(self.site, is_trusted=True, scopes=("openid", "offline_access"))
        self.asker = api_key(self.site, self.user(INTROSPECT), [INTROSPECT])

    def user(self, *permissions, **fields):
        """Return a new user, who meets nothing yet."""
        name = f"user{next(_numbers)}"
        lacks = {} if self.case.keyword == "second_factor" else {self.case.keyword: False}
        return make_user(
            self.site, name, password=PASSWORD, permissions=permissions, **lacks, **fields
        )

    def headers(self, user):
        """Return the headers of a program with a session that lacks something."""
        return bearer(self.site, user, **{self.case.keyword: False})

    def browser(self, user):
        """Return a browser with such a session."""
        return logged_in(self.site, user, **{self.case.keyword: False})

    def arrange(self, user, *, is_met):
        """Let all sessions of a user meet the demand, or not, as do the grants of apps."""
        (demand,) = self.site.site.admission.demands
        with context.using(self.site.database):
            if self.case.keyword == "second_factor":
                methods = "pwd otp" if is_met else "pwd"
                Session.update(methods=methods).where(Session.user == user.id).execute()
                Grant.update(methods=methods).where(Grant.user == user.id).execute()
            else:
                demand.arrange(user, None, is_met=is_met)

    def program(self):
        """Return a client without a session."""
        return TestApp(self.site)

    def require_restricted(self, token):
        """Assert that the document of a token names what its session lacks."""
        assert token["restriction"] == self.case.code
        assert self.case.members.items() <= token.items()

    def require_refused(self, answer):
        """Assert that problem details name what a session lacks."""
        assert (answer.status_int, answer.json["code"]) == (self.case.status, self.case.code)
        assert self.case.members.items() <= answer.json.items()

    def require_led(self, answer, wanted=""):
        """Assert that a browser is led to the page of the demand, and from there to `wanted`."""
        assert answer.status_int in (302, 303)
        assert urlsplit(answer.location).path == self.case.page
        assert not wanted or wanted.replace("/", "%2F") in answer.location


@pytest.fixture(scope="module")
def scenes():
    """Return the scenes by case, each of which is made once."""
    return {}


@pytest.fixture(params=CASES)
def scene(request, scenes):
    """Return the scene of each demand."""
    if request.param not in scenes:
        case = CASES[request.param]
        with case.on():
            scenes[request.param] = Scene(case)
    return scenes[request.param]


# Who uses a session


def by_bearer(scene):
    """The application gets a program."""
    user = scene.user()
    headers, client = scene.headers(user), scene.program()
    seen = client.get("/", headers=headers).json
    assert (seen["user"], seen["error"]) == (None, scene.case.error)
    scene.arrange(user, is_met=True)
    assert client.get("/", headers=headers).json["user"] == user.username
    scene.arrange(user, is_met=False)
    assert client.get("/", headers=headers).json["user"] is None


def by_cookie(scene):
    """The application gets a browser."""
    user = scene.user()
    browser = scene.browser(user)
    assert browser.get("/").json == {**scene.program().get("/").json, "error": scene.case.error}
    scene.arrange(user, is_met=True)
    assert browser.get("/").json["user"] == user.username


def api_keys(scene):
    """No demand concerns a key."""
    user = scene.user()
    assert scene.program().get("/", headers=api_key(scene.site, user)).json["user"]


# Logins


def login_as_json(scene):
    """POST /auth/login by a program."""
    credentials = {"username": scene.user().username, "password": PASSWORD}
    scene.require_restricted(scene.program().post_json("/auth/login", credentials).json)


def login_by_form(scene):
    """POST /auth/login by a browser."""
    sent = {"username": scene.user().username, "password": PASSWORD, "next": "/members"}
    answer = scene.program().post("/auth/login", sent, headers=SAME_ORIGIN)
    scene.require_led(answer, "/members")


def login_by_script(scene):
    """POST /auth/login by the script of a page."""
    sent = {"username": scene.user().username, "password": PASSWORD, "next": "/members"}
    answer = scene.program().post("/auth/login", sent, headers=SCRIPT)
    assert answer.json["next"] == f"{scene.case.page}?next=%2Fmembers"


def login_by_code(scene):
    """A code in an email."""
    user = scene.user(is_verified=True)
    request = scene.program().post_json("/auth/code", {"username": user.username}).json["request"]
    sent = {"request": request, "code": mailbox(scene.site).codes[-1]}
    scene.require_restricted(scene.program().post_json("/auth/code/enter", sent).json)


def login_by_passkey(scene):
    """A passkey, which is two factors."""
    user, key, client = scene.user(), Authenticator(), scene.program()
    key.host, key.origin = "localhost", "http://localhost"
    with context.using(scene.site.database):
        add_passkey(scene.site, user, "Laptop", key)
    options = options_of(client.get("/auth/login", headers=BROWSER))
    sent = {"credential": key.get(options), "next": "/members"}
    answer = client.post("/auth/login", sent, headers=SAME_ORIGIN)
    if scene.case.is_met_by_passkey:
        assert answer.location == "/members"
    else:
        scene.require_led(answer, "/members")


def login_by_provider(scene):
    """An account of a provider."""
    user = scene.user(identities=[("google", f"subject-{next(_numbers)}")])
    with context.using(scene.site.database):
        from wsgiauth.features.providers.identities import rows_of

        (row,) = rows_of(user)
    provider_account(scene.site, "google", subject=row.subject)
    answer = (
        scene.program()
        .post("/auth/oidc/google", {"next": "/m"}, headers=SAME_ORIGIN)
        .follow(headers=BROWSER)
    )
    scene.require_led(answer, "/m")


def login_by_link(scene):
    """The link of an invitation, which creates an account and logs in."""
    scene.site.invite(f"guest{next(_numbers)}@example.org")
    links = [each for each in mailbox(scene.site).links if "/auth/verify?" in each]
    url = urlsplit(links[-1])
    page = scene.program().get(f"{url.path}?{url.query}", headers=BROWSER)
    page.form["username"], page.form["password"] = f"guest{next(_numbers)}", PASSWORD
    for name, value in scene.case.registration.items():
        page.form[name] = value
    answer = page.form.submit(headers=SAME_ORIGIN)
    if scene.case.registration:
        assert answer.location == "/"
    else:
        scene.require_led(answer)


def login_by_code_of_the_application(scene):
    """`log_in`."""
    user = scene.user()
    seen = scene.program().get(f"/in?{user.username}").text
    assert seen == f"None {scene.case.error}"


def logins_by_code_that_end_at_once(scene):
    """`log_in`, also of another user, a guard, and `log_out`, in one request."""
    users = scene.user(), scene.user()
    answer = scene.program().get(f"/in-and-out?{'&'.join(each.username for each in users)}")
    assert scene.case.code in answer.text
    assert [each.sessions.count() for each in users] == [0, 0]


def renewed_by_refresh(scene):
    """POST /auth/refresh."""
    credentials = {"username": scene.user().username, "password": PASSWORD, "refresh": True}
    pair = scene.program().post_json("/auth/login", credentials).json
    sent = {"refresh_token": pair["refresh_token"]}
    scene.require_restricted(scene.program().post_json("/auth/refresh", sent).json)


# Guards


def guards(scene):
    """`login_required`, `permission_required`, the gate, and the challenge."""
    user = scene.user(PERMISSION)
    browser, headers, client = scene.browser(user), scene.headers(user), scene.program()
    paths = ("/login", "/permission", "/fresh", "/gated", "/refuses")
    for path in paths:
        scene.require_refused(client.get(path, headers=headers, status="*"))
        scene.require_led(browser.get(path, headers=BROWSER, status="*"), path)
        htmx = browser.get(path, headers={"HX-Request": "true"}, status="*")
        assert htmx.status_int == scene.case.status
        assert htmx.headers["HX-Redirect"].startswith(scene.case.page)
    scene.arrange(user, is_met=True)
    for path in paths:
        assert client.get(path, headers=headers).status_int == 200
        assert browser.get(path, headers=BROWSER).status_int == 200


def forward_authentication(scene):
    """GET /auth/check, which a proxy asks."""
    user = scene.user()
    headers, browser, client = scene.headers(user), scene.browser(user), scene.program()
    scene.require_refused(client.get("/auth/check", headers={**headers, **FORWARDED}, status="*"))
    led = browser.get("/auth/check", headers={**BROWSER, **FORWARDED}, status="*")
    assert urlsplit(led.location).path == scene.case.page
    silent = browser.get("/auth/check", headers=BROWSER, status=401)  # nginx leads on after a 401
    assert silent.json["code"] == scene.case.code
    assert silent.headers["WWW-Authenticate"]
    scene.arrange(user, is_met=True)
    assert client.get("/auth/check", headers=headers, status=204).headers["Remote-User"]


# Below /auth


def profile(scene):
    """GET /auth/me and /auth/account."""
    user = scene.user()
    headers, client = scene.headers(user), scene.program()
    answer = client.get("/auth/me", headers=headers, status="*")
    if scene.case.status == 401:
        scene.require_refused(answer)
    else:
        scene.require_restricted(answer.json)
        assert answer.json["username"] == user.username
    scene.require_refused(client.get("/auth/account", headers=headers, status="*"))
    scene.require_led(scene.browser(user).get("/auth/account", headers=BROWSER))
    scene.arrange(user, is_met=True)
    for path in ("/auth/me", "/auth/account"):
        assert "restriction" not in client.get(path, headers=headers).json


def forms(scene):
    """A form of a member, as JSON and by a browser."""
    user = scene.user()
    sent = {"username": f"{user.username}b"}
    headers, client = scene.headers(user), scene.program()
    scene.require_refused(client.post_json("/auth/username", sent, headers=headers, status="*"))
    answer = scene.browser(user).post("/auth/username", sent, headers=SAME_ORIGIN, status="*")
    assert answer.status_int in (302, 303, 403)  # without the field `account`, it may be refused
    with context.using(scene.site.database):
        assert make_user_named(user.username).id == user.id


def login_page(scene):
    """GET /auth/login, which shows the form only where another login can help."""
    answer = scene.browser(scene.user()).get("/auth/login?next=/m", headers=BROWSER, status="*")
    if scene.case.status == 401:
        assert answer.status_int == 200
    else:
        scene.require_led(answer, "/m")


# Other services and apps


def introspected(scene, token):
    """Return whether another service learns that a token is active."""
    sent = {"token": token}
    return scene.program().post_json("/auth/introspect", sent, headers=scene.asker).json["active"]


def introspection(scene):
    """POST /auth/introspect about an access token."""
    user = scene.user()
    token = scene.headers(user)["Authorization"].removeprefix("Bearer ")
    assert not introspected(scene, token)
    scene.arrange(user, is_met=True)
    assert introspected(scene, token)


def service_tokens(scene):
    """POST /auth/token, and a service token that was issued before."""
    user, sent = scene.user(), {"audience": "reports"}
    headers, client = scene.headers(user), scene.program()
    scene.require_refused(client.post_json("/auth/token", sent, headers=headers, status="*"))
    scene.arrange(user, is_met=True)
    issued = client.post_json("/auth/token", sent, headers=headers).json["access_token"]
    assert introspected(scene, issued)
    scene.arrange(user, is_met=False)
    assert introspected(scene, issued) is not scene.case.is_derived


def authorization(scene):
    """GET /auth/authorize, and what is in between."""
    user, app = scene.user(), scene.app
    browser = scene.browser(user)
    scene.require_led(browser.get(app.url(), headers=BROWSER, status="*"), "/auth/authorize")
    silent = browser.get(app.url(prompt="none"), headers=BROWSER, status="*")
    assert "error=interaction_required" in silent.location
    for path in ("/auth/device", "/auth/apps"):
        scene.require_led(browser.get(path, headers=BROWSER, status="*"))
    scene.arrange(user, is_met=True)
    assert "code" in app.authorize(browser)


def new_grants(scene):
    """A code that was issued before the demand arose."""
    user, app = scene.user(), scene.app
    browser = scene.browser(user)
    scene.arrange(user, is_met=True)
    code = app.authorize(browser)["code"]
    scene.arrange(user, is_met=False)
    assert app.exchange(code, status=400)["error"] == "invalid_grant"


def former_grants(scene):
    """What an app has when the demand arises: userinfo, refresh tokens, introspection."""
    user, app, client = scene.user(), scene.app, scene.program()
    browser = scene.browser(user)
    scene.arrange(user, is_met=True)
    for scope in ("openid", "openid offline_access"):
        tokens = app.log_in(browser, scope=scope, prompt="consent")
        scene.arrange(user, is_met=False)
        bearing = {"Authorization": f"Bearer {tokens['access_token']}"}
        is_open = client.get(USERINFO, headers=bearing, status="*").status_int == 200
        refreshed = app.refresh(tokens["refresh_token"], status="*")
        assert is_open is ("access_token" in refreshed) is not scene.case.is_derived
        assert introspected(scene, tokens["access_token"]) is not scene.case.is_derived
        scene.arrange(user, is_met=True)


# Tests of the application


def tools_for_tests(scene):
    """`wsgiauth.testing`, where a session lacks nothing unless a test says so."""
    user = make_user(scene.site, f"user{next(_numbers)}")
    assert logged_in(scene.site, user).get("/").json["user"] == user.username
    headers = bearer(scene.site, user)
    assert scene.program().get("/", headers=headers).json["user"] == user.username
    with pytest.raises(TypeError, match="does not demand"):
        bearer(scene.site, user, tems=False)


CONSUMERS = (
    by_bearer,
    by_cookie,
    api_keys,
    login_as_json,
    login_by_form,
    login_by_script,
    login_by_code,
    login_by_passkey,
    login_by_provider,
    login_by_link,
    login_by_code_of_the_application,
    logins_by_code_that_end_at_once,
    renewed_by_refresh,
    guards,
    forward_authentication,
    profile,
    forms,
    login_page,
    introspection,
    service_tokens,
    authorization,
    new_grants,
    former_grants,
    tools_for_tests,
)


def test_each_demand_of_a_feature_is_a_case(tmp_path):
    settings = Settings.from_mapping(features.settings(tmp_path, PROVIDER))
    for feature in registry.FEATURES:
        errors = {each.error for each in feature.demands(settings)}
        missing = errors - {each.error for each in OF_FEATURES.get(feature.name, ())}
        assert not missing, f"add a case to `DEMANDS` of {features.place(feature.name)}"


@pytest.mark.parametrize("consumer", CONSUMERS, ids=lambda each: each.__name__)
def test_a_session_that_lacks_something_is_nobody(scene, consumer):
    consumer(scene)


class Lost(Badge):
    """Cannot say where it leads."""

    def refusal(self, user, environ):
        """Raise an exception."""
        return None if user.username.endswith("none") else 1 / 0


def test_a_demand_that_leads_nowhere_admits_nobody(caplog):
    case = replace(OF_FEATURE, features=(demanding(Lost()),))
    with case.on():
        scene = Scene(case)
    for user in (scene.user(), make_user(scene.site, "none", badge=False)):
        refused = scene.program().get("/login", headers=scene.headers(user), status=403)
        assert refused.json["code"] == BADGE
        assert scene.browser(user).get("/auth/account", headers=BROWSER, status=403).html.h1
    line = f"the demand {BADGE} of demanding failed, so it leads nowhere"
    assert caplog.text.count(line) == 1


class OfStaff(Badge):
    """Needs no column."""

    columns = Demand.columns

    def is_met(self, user, values):
        """Return whether the user is a member of the staff."""
        assert values == ()
        return user.is_staff


def test_a_demand_can_decide_by_the_user_alone():
    site = AuthMiddleware(echo, make_settings())
    for is_staff in (True, False):
        user = make_user(site, f"user{next(_numbers)}", is_staff=is_staff)
        with demanded(site, OfStaff()):
            seen = TestApp(site).get("/", headers=bearer(site, user)).json
        assert seen["user"] == (user.username if is_staff else None)


def test_a_language_is_stored_only_where_the_demand_leaves_this_reachable():
    site = AuthMiddleware(echo, make_settings(LANGUAGES=("en", "de")))
    user, sent = make_user(site), {"language": "de"}
    with demanded(site, Badge()):
        browser = logged_in(site, user, badge=False)
        browser.post("/auth/language", sent, headers=SAME_ORIGIN, status=303)
    with context.using(site.database):
        assert make_user_named(user.username).language == ""
    logged_in(site, user).post("/auth/language", sent, headers=SAME_ORIGIN, status=303)
    with context.using(site.database):
        assert make_user_named(user.username).language == "de"


def test_a_session_that_lacks_something_can_end_wherever_the_demand_leads():
    site = AuthMiddleware(echo, make_settings())
    browser = logged_in(site)
    with demanded(site, Badge()):
        browser.post("/auth/logout", headers={**BROWSER, **SAME_ORIGIN}, status=303)
    assert browser.get("/").json["user"] is None


class WithoutDatabase(Badge):
    """Asks a database that is away."""

    def is_met(self, user, values):
        """Raise the error of a database."""
        raise OperationalError("away")


def test_a_demand_without_a_database_answers_503(monkeypatch):
    case = replace(OF_FEATURE, features=(demanding(WithoutDatabase()),))
    with case.on():
        scene = Scene(case)
    headers = scene.headers(scene.user())
    monkeypatch.setattr("wsgiauth.events.actors.can_go_on", lambda opened: False)
    scene.program().get("/", headers=headers, status=503)


def test_two_demands_have_different_names():
    with pytest.raises(ConfigurationError, match=f"Two demands have the error {BADGE}."):
        Admission((Badge(), Badge()))


# Nothing else decides


def called_in(path):
    """Return the names of the functions and methods that a module calls."""
    functions = [each.func for each in nodes_of(path) if isinstance(each, ast.Call)]
    return {getattr(each, "attr", getattr(each, "id", "")) for each in functions}


# The only modules that compare what a session has with what it must have; others ask them.
DECIDING = {
    "is_met": {"authentication/demands.py", "authentication/second_factors.py"},
    "unmet": {"authentication/sessions.py", "features/oauth_server/grants.py"},
    "demands_second_factor_of": {
        "authentication/second_factors.py",
        "features/factors/factor_form.py",  # who may remove the last factor
    },
}


def test_no_other_module_decides():
    found = {name: set() for name in DECIDING}
    for path in PACKAGE.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        if any(name in text for name in DECIDING):  # to parse all modules takes a second
            for name in DECIDING.keys() & called_in(path):
                found[name].add(path.relative_to(PACKAGE).as_posix())
    assert found == DECIDING


# The modules with a SELECT of valid sessions. Only the first admits anyone.
SELECTING = {
    "authentication/sessions.py",
    "accounts/models.py",  # says which sessions are valid, and counts those of a user
    "authentication/refresh.py",  # tokens of a session, whose next use is asked again
    "authentication/session_list.py",  # for their owner
    "features/oauth_server/app_sessions.py",  # that ended
    "features/oauth_server/grants.py",  # for a new grant, which asks `Sessions`, too
    "features/providers/provider_sessions.py",  # that a provider ends
}


def test_no_other_module_looks_for_valid_sessions():
    found = {
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*.py")
        if "IS_VALID_SESSION" in path.read_text(encoding="utf-8")
    }
    assert found == SELECTING
