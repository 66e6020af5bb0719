"""Promise 105: a demand that raises an exception admits no session; the answer is 500.

`FAILED` has a function for each consumer of `test_admission`, by its name.
"""

from dataclasses import replace
from http import HTTPStatus
from itertools import count
from urllib.parse import urlsplit

import pytest
from peewee import SQL, OperationalError, fn
from webtest import TestApp

from tests import test_admission as admission
from tests.support.authenticators import Authenticator, add_passkey, options_of
from tests.support.demands import BADGE, Badge, demanding
from tests.support.oauth_apps import USERINFO
from tests.support.sites import BROWSER, PASSWORD, SAME_ORIGIN, echo
from tests.test_admission import FORWARDED, OF_FEATURE, PERMISSION, SCRIPT, Scene
from wsgiauth import AuthMiddleware, User, storage
from wsgiauth.authentication.identity import CredentialKind
from wsgiauth.events.models import RecordedEvent
from wsgiauth.exceptions import ApplicationError, ConfigurationError, UnmetDemandError
from wsgiauth.feature import Feature
from wsgiauth.features.oauth_server.grants import Grants
from wsgiauth.storage import context
from wsgiauth.testing import (
    api_key,
    bearer,
    logged_in,
    mailbox,
    make_settings,
    make_user,
    provider_account,
)

pytestmark = [pytest.mark.promise(96), pytest.mark.promise(105)]

_numbers = count(1)


class FailingBadge(Badge):
    """Fails for everyone who has no badge."""

    def is_met(self, user, values):
        """Raise an exception instead of returning False."""
        return bool(1 / values[0])


class FailingForDerived(FailingBadge):
    """Fails for the grants of apps, too."""

    concerns_derived = True


class AnsweringNo(Badge):
    """Returns a string, which is true, instead of False."""

    def is_met(self, user, values):
        """Answer in words."""
        return bool(values[0]) or "no"


class BrokenScene(Scene):
    """A site with such a demand."""

    def __init__(self, demand):
        super().__init__(
            replace(OF_FEATURE, features=(demanding(demand),), is_derived=demand.concerns_derived)
        )

    def sessions_of(self, user):
        """Return how many sessions a user has."""
        with context.using(self.site.database):
            return user.sessions.count()


def require_failed(answer):
    """Assert that an answer is a 500, as a page or for a program, without a cookie."""
    assert answer.status_int == 500
    assert "Set-Cookie" not in answer.headers
    if answer.content_type == "text/html":
        assert answer.html.h1.text.strip() == "An error occurred on this site"
    else:
        assert answer.json.get("code") == "application_error" or answer.json["error"]


def by_bearer(scene):
    user = scene.user()
    headers, client = scene.headers(user), scene.program()
    for further in ({}, BROWSER, {"HX-Request": "true"}):
        require_failed(client.get("/", headers={**headers, **further}, status="*"))
    scene.arrange(user, is_met=True)
    assert client.get("/", headers=headers).json["user"] == user.username


def by_cookie(scene):
    browser = scene.browser(scene.user())
    for headers in ({}, BROWSER, {"HX-Request": "true"}):
        require_failed(browser.get("/", headers=headers, status="*"))
    require_failed(browser.post("/", headers=SAME_ORIGIN, status="*"))


def fails_to_log_in(scene, user, answer):
    """Assert that no session has begun."""
    require_failed(answer)
    assert scene.sessions_of(user) == 0
    with context.using(scene.site.database):
        of_user = RecordedEvent.user_id == user.id
        assert not RecordedEvent.select().where(of_user, RecordedEvent.name == "login").count()


def login(scene, headers, send):
    user = scene.user()
    sent = {"username": user.username, "password": PASSWORD}
    client = scene.program()
    answer = getattr(client, send)("/auth/login", sent, headers=headers, status="*")
    fails_to_log_in(scene, user, answer)


def login_as_json(scene):
    login(scene, {}, "post_json")


def login_by_form(scene):
    login(scene, SAME_ORIGIN, "post")


def login_by_script(scene):
    login(scene, SCRIPT, "post")


def login_by_code(scene):
    user = scene.user(is_verified=True)
    request = scene.program().post_json("/auth/code", {"username": user.username}).json["request"]
    sent = {"request": request, "code": mailbox(scene.site).codes[-1]}
    answer = scene.program().post_json("/auth/code/enter", sent, status="*")
    fails_to_log_in(scene, user, answer)


def login_by_passkey(scene):
    user, key, client = scene.user(), Authenticator(), scene.program()
    key.host, key.origin = "localhost", "http://localhost"
    with context.using(scene.site.database):
        add_passkey(scene.site, user, "Laptop", key)
    options = options_of(client.get("/auth/login", headers=BROWSER))
    sent = {"credential": key.get(options), "next": "/members"}
    fails_to_log_in(scene, user, client.post("/auth/login", sent, headers=SAME_ORIGIN, status="*"))


def login_by_provider(scene):
    subject = f"broken-{next(_numbers)}"
    user = scene.user(identities=[("google", subject)])
    provider_account(scene.site, "google", subject=subject)
    client = scene.program()
    led = client.post("/auth/oidc/google", {"next": "/m"}, headers=SAME_ORIGIN)
    answer = led.follow(headers=BROWSER, status="*")
    assert (answer.status_int, scene.sessions_of(user)) == (500, 0)


def login_by_link(scene):
    """The account has been created, and its user is asked to log in."""
    name = f"broken{next(_numbers)}"
    scene.site.invite(f"{name}@example.org")
    url = urlsplit([each for each in mailbox(scene.site).links if "/auth/verify?" in each][-1])
    page = scene.program().get(f"{url.path}?{url.query}", headers=BROWSER)
    page.form["username"], page.form["password"] = name, PASSWORD
    answer = page.form.submit(headers=SAME_ORIGIN)
    assert urlsplit(answer.location).path == "/auth/login"
    with context.using(scene.site.database):
        assert admission.make_user_named(name).sessions.count() == 0


def login_by_code_of_the_application(scene):
    user = scene.user()
    with pytest.raises(ApplicationError, match=f"the demand {BADGE} failed"):
        scene.program().get(f"/in?{user.username}")
    assert scene.sessions_of(user) == 0


def logins_by_code_that_end_at_once(scene):
    """The second login fails."""
    first, second = make_user(scene.site, f"broken{next(_numbers)}"), scene.user()
    with pytest.raises(ApplicationError):
        scene.program().get(f"/in-and-out?{first.username}&{second.username}")
    assert scene.sessions_of(second) == 0


def renewed_by_refresh(scene):
    """The former token goes on once the demand is mended."""
    user, client = scene.user(), scene.program()
    scene.arrange(user, is_met=True)
    credentials = {"username": user.username, "password": PASSWORD, "refresh": True}
    pair = client.post_json("/auth/login", credentials).json
    scene.arrange(user, is_met=False)
    sent = {"refresh_token": pair["refresh_token"]}
    require_failed(client.post_json("/auth/refresh", sent, status="*"))
    scene.arrange(user, is_met=True)
    assert client.post_json("/auth/refresh", sent).json["access_token"]


def guards(scene):
    user = scene.user(PERMISSION)
    browser, headers, client = scene.browser(user), scene.headers(user), scene.program()
    for path in ("/login", "/permission", "/fresh", "/gated", "/refuses"):
        require_failed(client.get(path, headers=headers, status="*"))
        require_failed(browser.get(path, headers=BROWSER, status="*"))


def forward_authentication(scene):
    user = scene.user()
    headers, browser, client = scene.headers(user), scene.browser(user), scene.program()
    require_failed(client.get("/auth/check", headers={**headers, **FORWARDED}, status="*"))
    require_failed(browser.get("/auth/check", headers={**BROWSER, **FORWARDED}, status="*"))
    require_failed(browser.get("/auth/check", headers=BROWSER, status="*"))


def profile(scene):
    user = scene.user()
    headers, browser, client = scene.headers(user), scene.browser(user), scene.program()
    for path in ("/auth/me", "/auth/account", "/auth/sessions"):
        require_failed(client.get(path, headers=headers, status="*"))
        require_failed(browser.get(path, headers=BROWSER, status="*"))
    answer = browser.get("/auth/none", headers=BROWSER, status=404)
    assert user.username not in answer.text


def forms(scene):
    user = scene.user()
    sent = {"username": f"{user.username}b"}
    headers, client = scene.headers(user), scene.program()
    require_failed(client.post_json("/auth/username", sent, headers=headers, status="*"))
    scene.browser(user).post("/auth/username", sent, headers=SAME_ORIGIN, status=(403, 500))
    with context.using(scene.site.database):
        assert admission.make_user_named(user.username).id == user.id


def login_page(scene):
    browser = scene.browser(scene.user())
    require_failed(browser.get("/auth/login?next=/m", headers=BROWSER, status="*"))


def introspected(scene, token):
    """Return the answer to another service."""
    return scene.program().post_json(
        "/auth/introspect", {"token": token}, headers=scene.asker, status="*"
    )


def introspection(scene):
    token = scene.headers(scene.user())["Authorization"].removeprefix("Bearer ")
    require_failed(introspected(scene, token))


def service_tokens(scene):
    user, sent = scene.user(), {"audience": "reports"}
    headers, client = scene.headers(user), scene.program()
    require_failed(client.post_json("/auth/token", sent, headers=headers, status="*"))
    scene.arrange(user, is_met=True)
    issued = client.post_json("/auth/token", sent, headers=headers).json["access_token"]
    scene.arrange(user, is_met=False)
    require_by_derived(scene, introspected(scene, issued))


def require_by_derived(scene, answer):
    """Assert that an answer is a 500 if the demand concerns grants."""
    if scene.case.is_derived:
        require_failed(answer)
    else:
        assert answer.status_int == 200


def authorization(scene):
    browser = scene.browser(scene.user())
    for url in (scene.app.url(), scene.app.url(prompt="none"), "/auth/device", "/auth/apps"):
        require_failed(browser.get(url, headers=BROWSER, status="*"))


def new_grants(scene):
    """The code has not been used."""
    user, app = scene.user(), scene.app
    browser = scene.browser(user)
    scene.arrange(user, is_met=True)
    code = app.authorize(browser)["code"]
    scene.arrange(user, is_met=False)
    assert app.exchange(code, status=500)["error"] == "server_error"
    scene.arrange(user, is_met=True)
    assert app.exchange(code)["access_token"]


def former_grants(scene):
    user, app, client = scene.user(), scene.app, scene.program()
    browser = scene.browser(user)
    scene.arrange(user, is_met=True)
    tokens = app.log_in(browser, scope="openid offline_access", prompt="consent")
    scene.arrange(user, is_met=False)
    bearing = {"Authorization": f"Bearer {tokens['access_token']}"}
    require_by_derived(scene, client.get(USERINFO, headers=bearing, status="*"))
    require_by_derived(scene, introspected(scene, tokens["access_token"]))
    refreshed = app.refresh(tokens["refresh_token"], status="*")
    assert ("access_token" in refreshed) is not scene.case.is_derived
    scene.arrange(user, is_met=True)
    assert app.refresh(refreshed.get("refresh_token") or tokens["refresh_token"])["access_token"]


FAILED = (
    by_bearer,
    by_cookie,
    admission.api_keys,
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
    admission.tools_for_tests,
)


@pytest.fixture(scope="module")
def scenes():
    """Return the scenes by the class of the demand, each of which is made once."""
    return {}


@pytest.fixture(
    params=(FailingBadge, FailingForDerived, AnsweringNo), ids=lambda each: each.__name__
)
def scene(request, scenes):
    """Return the scene of each demand."""
    if request.param not in scenes:
        with replace(OF_FEATURE, features=(demanding(request.param()),)).on():
            scenes[request.param] = BrokenScene(request.param())
    return scenes[request.param]


def test_each_consumer_has_a_function():
    assert [each.__name__ for each in FAILED] == [each.__name__ for each in admission.CONSUMERS]


@pytest.mark.parametrize("consumer", FAILED, ids=lambda each: each.__name__)
def test_a_demand_that_fails_admits_no_session(scene, consumer):
    consumer(scene)


def test_the_log_names_the_feature_once_a_minute(caplog):
    with replace(OF_FEATURE, features=(demanding(FailingBadge()),)).on():
        scene = BrokenScene(FailingBadge())
    for _ in range(3):
        by_bearer(scene)
    assert caplog.text.count(f"the demand {BADGE} of demanding failed: 500") == 1
    assert caplog.text.count("ZeroDivisionError") == 1


def test_the_page_asks_the_demand_once_and_is_in_the_language_of_the_user(monkeypatch):
    demand, asked = FailingBadge(), []
    is_met = FailingBadge.is_met
    monkeypatch.setattr(FailingBadge, "is_met", lambda *given: asked.append(1) or is_met(*given))
    case = replace(OF_FEATURE, features=(demanding(demand),), settings={"LANGUAGES": ("en", "de")})
    with case.on():
        scene = Scene(case)
    user = scene.user()
    with context.using(scene.site.database):
        User.update(language="de").where(User.id == user.id).execute()
    browser = scene.browser(user)
    for path in ("/", "/login", "/auth/account"):
        asked.clear()
        page = browser.get(path, headers=BROWSER, status=500)
        assert page.html.html["lang"] == "de"
        assert len(asked) == 1
        (link,) = page.html.select("a[href='/auth/logout']")
        assert link.text.strip() == "Abmelden"
    browser.get("/auth/none", headers=BROWSER, status=404)


def test_a_form_with_mistakes_is_shown_again(scene):
    browser, user = scene.browser(scene.user()), scene.user()
    sent = {"username": user.username, "password": "wrong"}
    page = browser.post("/auth/login", sent, headers={**BROWSER, **SAME_ORIGIN}, status=401)
    assert page.form["username"].value == user.username


def test_a_link_creates_an_account_and_leaves_the_session_of_the_browser(scene):
    name, user = f"broken{next(_numbers)}", scene.user()
    browser = scene.browser(user)
    scene.site.invite(f"{name}@example.org")
    url = urlsplit([each for each in mailbox(scene.site).links if "/auth/verify?" in each][-1])
    page = browser.get(f"{url.path}?{url.query}", headers=BROWSER)
    page.form["username"], page.form["password"] = name, PASSWORD
    assert page.form.submit(headers=SAME_ORIGIN).status_int == 303
    assert scene.sessions_of(user) == 1
    with context.using(scene.site.database):
        assert admission.make_user_named(name).sessions.count() == 0


@pytest.mark.parametrize("send", ["get", "post"])
def test_a_user_can_log_out(scene, send):
    user = scene.user()
    browser = scene.browser(user)
    answer = getattr(browser, send)("/auth/logout", headers=SAME_ORIGIN)
    assert answer.status_int == 303
    assert scene.sessions_of(user) == 0
    browser.get("/auth/login", headers=BROWSER, status=200)


def test_a_program_can_log_out(scene):
    user = scene.user()
    scene.program().post_json("/auth/logout", {}, headers=scene.headers(user), status=200)
    assert scene.sessions_of(user) == 0


def test_a_language_is_stored_in_the_browser_alone(scene):
    user = scene.user()
    answer = scene.browser(user).post("/auth/language", {"language": "en"}, headers=SAME_ORIGIN)
    assert any("-language=en" in each for each in answer.headers.getall("Set-Cookie"))
    with context.using(scene.site.database):
        assert admission.make_user_named(user.username).language == ""


def test_another_user_can_log_in_instead(scene):
    browser = scene.browser(scene.user())
    other = make_user(scene.site, f"other{next(_numbers)}", password=PASSWORD)
    sent = {"username": other.username, "password": PASSWORD, "next": "/m"}
    assert browser.post("/auth/login", sent, headers=SAME_ORIGIN).location == "/m"
    assert browser.get("/").json["user"] == other.username


def test_anonymous_clients_and_keys_are_not_concerned(scene):
    client = TestApp(scene.site)
    assert client.get("/").json["user"] is None
    client.get("/auth/login", headers=BROWSER, status=200)
    user = scene.user()
    assert client.get("/", headers=api_key(scene.site, user)).json["user"] == user.username


def test_sessions_that_meet_it_are_not_concerned(scene):
    user = make_user(scene.site, f"other{next(_numbers)}")
    assert logged_in(scene.site, user).get("/").json["user"] == user.username
    assert TestApp(scene.site).get("/auth/me", headers=bearer(scene.site, user)).json["username"]


def test_a_guard_answers_500_if_the_demand_begins_to_fail(monkeypatch):
    """Between the look-up of the caller and the guard, which asks where to lead them."""
    with OF_FEATURE.on():
        scene = Scene(OF_FEATURE)
    answers = [False]

    def is_met(*given):
        return answers.pop() if answers else 1 / 0

    headers = scene.headers(scene.user())
    monkeypatch.setattr(Badge, "is_met", is_met)
    require_failed(scene.program().get("/login", headers=headers, status="*"))


def badge_site(**attributes):
    """Return a site with a demand that has other attributes than `Badge`."""
    feature = demanding(type("Other", (Badge,), attributes)())
    return AuthMiddleware(echo, make_settings(FEATURES=(feature,)))


async def in_future(self, user, values):
    """Return False, to those who wait."""
    return False


def one_by_one(self, user, values):
    """Yield False."""
    yield False


ANSWERS = {
    "a coroutine": in_future,
    "a generator": one_by_one,
    "a tuple": lambda *given: (False, "no badge"),
    "a number": lambda *given: 1,
    "None": lambda *given: None,
    "another object": lambda *given: object(),
}


@pytest.mark.filterwarnings("ignore:coroutine .* was never awaited")
@pytest.mark.parametrize("is_met", ANSWERS.values(), ids=ANSWERS)
def test_only_true_admits_a_session(is_met, caplog):
    site = badge_site(is_met=is_met)
    TestApp(site).get("/", headers=bearer(site, make_user(site)), status=500)
    assert "TypeError: is_met returned " in caplog.text


def test_a_demand_that_is_false_itself_still_ends_grants():
    attributes = {"concerns_derived": True, "__len__": lambda self: 0}
    demand = type("Empty", (Badge,), attributes)()
    with replace(OF_FEATURE, features=(demanding(demand),)).on():
        scene = Scene(replace(OF_FEATURE, features=(demanding(demand),), is_derived=True))
    user, app = scene.user(), scene.app
    browser = scene.browser(user)
    scene.arrange(user, is_met=True)
    tokens = app.log_in(browser)
    scene.arrange(user, is_met=False)
    bearing = {"Authorization": f"Bearer {tokens['access_token']}"}
    scene.program().get(USERINFO, headers=bearing, status=401)


def test_columns_that_are_more_than_they_seem_shift_no_value_of_another_demand(caplog):
    greedy = type("Greedy", (Badge,), {"error": "greedy", "keyword": "greedy"})()
    greedy.columns = lambda proof: [SQL("1, 1")]
    greedy.is_met = lambda user, values: True
    site = AuthMiddleware(echo, make_settings(FEATURES=(demanding(greedy, Badge()),)))
    headers = bearer(site, make_user(site))
    for path in ("/", "/auth/me"):
        TestApp(site).get(path, headers=headers, status=500)
    assert "the values are not as many as the columns of the demands" in caplog.text


@pytest.mark.parametrize("column", [User, User.alias(), "username", 1, None])
def test_a_column_that_is_none_is_refused_at_start(column):
    with pytest.raises(ConfigurationError, match=f"^The columns of the demand {BADGE} must be "):
        badge_site(columns=lambda self, proof: (column,))


def test_the_class_of_a_demand_is_refused_at_start():
    with pytest.raises(ConfigurationError, match=r"Badge'> is no Demand\.$"):
        AuthMiddleware(echo, make_settings(FEATURES=(demanding(Badge),)))


class Alike(Badge):
    """All such demands are equal."""

    def __init__(self, is_met):
        self._column = SQL("1") if is_met else SQL("0")

    def __eq__(self, other):
        return isinstance(other, Alike)

    def __hash__(self):
        return 7

    def columns(self, proof):
        """Return a constant."""
        return (self._column,)


@pytest.mark.parametrize("order", [(True, False), (False, True)])
def test_demands_that_seem_equal_have_values_of_their_own(order):
    for is_met in order:
        site = AuthMiddleware(echo, make_settings(FEATURES=(demanding(Alike(is_met)),)))
        seen = TestApp(site).get("/", headers=bearer(site, make_user(site))).json["user"]
        assert (seen is not None) is is_met


def test_columns_can_be_a_generator():
    site = badge_site(columns=lambda self, proof: (each for each in Badge.columns(self, proof)))
    TestApp(site).get(
        "/auth/sessions", headers=bearer(site, make_user(site), badge=False), status=403
    )


def test_a_session_that_has_ended_is_none_to_a_demand_that_counts():
    """An aggregate makes a row of no sessions."""
    site = badge_site(
        columns=lambda self, proof: (fn.COUNT(proof.user),),
        is_met=lambda *given: True,
        concerns_derived=True,
    )
    user = make_user(site)
    headers, client = bearer(site, user), TestApp(site)
    assert client.get("/", headers=headers).json["user"] == user.username
    client.post_json("/auth/logout", {}, headers=headers)
    assert client.get("/", headers=headers).json["user"] is None
    client.get("/auth/me", headers=headers, status=401)
    with context.using(site.database):
        assert not site.site.sessions.lacks_nothing("ended", user.id, 0)
        assert [*site.site.sessions.find_proven_at(user.id, 0, 0)] == []
        assert Grants(site.site.settings, site.site.sessions).find("ended", 0) is None


@pytest.mark.parametrize("paths", ["/terms", {"terms"}, {None}, None, {"/terms": True}])
def test_open_paths_are_a_collection_of_paths(paths):
    """The characters of a string would open the path of a single slash."""
    with pytest.raises(ConfigurationError, match="must have a set of paths such as /terms as"):
        badge_site(open_paths=paths)


def leading(status=HTTPStatus.FORBIDDEN, **arguments):
    """Return a method `refusal`."""
    return lambda *given: UnmetDemandError(status, BADGE, "No.", **arguments)


REFUSALS = {
    "a string of paths": leading(page="/badge", reachable="/me"),
    "no page": leading(page=None),
    "a success": leading(page="/badge", status=HTTPStatus.OK),
    "another site": leading(page="https://badges.example"),
}


@pytest.mark.parametrize("refusal", REFUSALS.values(), ids=REFUSALS)
def test_a_refusal_without_a_path_leads_nowhere(refusal, caplog):
    site = badge_site(refusal=refusal)
    browser = logged_in(site, badge=False)
    page = browser.get("/auth/account", headers=BROWSER, status=403)
    assert "An error occurred on this site." in page
    assert "so it leads nowhere" in caplog.text


def test_a_refusal_with_the_status_of_a_success_does_not_let_a_proxy_admit():
    feature = demanding(
        type("Other", (Badge,), {"refusal": leading(page="/badge", status=HTTPStatus.OK)})()
    )
    site = AuthMiddleware(echo, make_settings(FEATURES=(feature,), FORWARD_AUTH=True))
    headers = {**bearer(site, make_user(site), badge=False), **FORWARDED}
    TestApp(site).get("/auth/check", headers=headers, status=403)


@pytest.mark.parametrize("page", ["/account", "/sessions", "/login"])
def test_a_page_that_is_not_reachable_does_not_lead_to_itself(page):
    browser = logged_in(badge_site(refusal=leading(page=page)), badge=False)
    answer = browser.get("/auth/account", headers=BROWSER, status="*")
    if answer.status_int == 302:
        answer = answer.follow(headers=BROWSER, status="*")
    assert answer.status_int == 403
    assert "No." in answer


class Asking(Badge):
    """Sends a statement that is wrong."""

    def is_met(self, user, values):
        """Fail."""
        return storage.current().execute_sql("SELECT missing FROM nowhere")


@pytest.mark.every_database
def test_a_wrong_statement_of_a_demand_is_its_error(database, settings, caplog):
    """After a login, the transaction cannot go on."""
    feature = demanding(Asking())
    site = AuthMiddleware(
        echo, make_settings(DATABASE_URL=settings.DATABASE_URL, FEATURES=(feature,))
    )
    client = TestApp(site)
    user = make_user(site, password=PASSWORD)
    client.get("/", headers=bearer(site, user), status=500)
    assert f"the demand {BADGE} of demanding failed: 500" in caplog.text
    before = user.sessions.count()
    sent = {"username": "ada", "password": PASSWORD}
    client.post_json("/auth/login", sent, status=503)
    assert user.sessions.count() == before
    storage.discard_connection(site.database)


def find_nothing(credentials, now):
    """Fail."""
    raise RuntimeError("broken")


def find_truth(credentials, now):
    """Admit without a user."""
    return True


def find_name(credentials, now):
    """Return the name of a user."""
    return "ada", "k"


def lose_database(credentials, now):
    """Fail without a database."""
    raise OperationalError("away")


@pytest.mark.parametrize("find", [find_nothing, find_truth, find_name, lose_database])
@pytest.mark.parametrize("path", ["/", "/auth/me", "/auth/check", "/auth/sessions"])
def test_credentials_of_a_feature_that_fail_identify_no_caller(find, path, monkeypatch, caplog):
    monkeypatch.setattr("wsgiauth.events.actors.can_go_on", lambda opened: False)
    kinds = [CredentialKind("toy", find)]
    feature = Feature(name="toys", credential_kinds=lambda settings: kinds)
    with replace(OF_FEATURE, features=(feature,)).on():
        site = AuthMiddleware(echo, make_settings(FORWARD_AUTH=True, LANGUAGES=("en", "de")))
    client, status = TestApp(site), 503 if find is lose_database else 500
    for headers in ({}, BROWSER):
        client.get(path, headers={**headers, "Authorization": "Toy 7"}, status=status)
    assert caplog.text.count("the credentials of toys failed: 500") == (status == 500)
