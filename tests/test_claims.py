"""Claims of the application: every place that issues a token asks for them, or changes nothing."""

import json
import logging

import pytest
from webtest import TestApp

from tests.support.authenticators import Authenticator
from tests.support.factors import App
from tests.support.sites import BROWSER, PASSWORD, SAME_ORIGIN
from wsgiauth import AuthMiddleware, User, claims, log_in, log_out, storage
from wsgiauth.accounts import update_user
from wsgiauth.accounts.models import verified_by_operator
from wsgiauth.accounts.tables import Session
from wsgiauth.app import ROUTES
from wsgiauth.events.models import RecordedEvent
from wsgiauth.exceptions import ClaimsError, ConfigurationError, MiddlewareMissingError
from wsgiauth.features.factors.passkeys.relying_party import RelyingParty
from wsgiauth.storage import context
from wsgiauth.testing import (
    add_authenticator,
    api_key,
    bearer,
    logged_in,
    mailbox,
    make_settings,
    make_user,
)

JSON = {"Accept": "application/json"}
LOGIN = {"username": "ada", "password": PASSWORD}
NEW = {"current_password": PASSWORD, "new_password": "another unrelated phrase"}


class Application:
    """Answers with the claims of the caller; its own claims are the user's groups."""

    def __init__(self):
        self.view = lambda environ: []
        self.claims_of = lambda user: {
            "teams": [each.name for each in user.groups],
            "name": user.username,
        }

    def __call__(self, environ, start_response):
        headers = self.view(environ) if environ["REQUEST_METHOD"] == "POST" else []
        start_response("200 OK", [("Content-Type", "application/json"), *headers])
        return [json.dumps(claims(environ)).encode()]

    def fail(self, error):
        def claims_of(user):
            raise error

        self.claims_of = claims_of


@pytest.fixture
def app():
    return Application()


@pytest.fixture
def site(app):
    return AuthMiddleware(
        app,
        make_settings(PASSKEYS=True, LOGIN_CODES=True, MAIL_URL="memory:"),
        claims=lambda user: app.claims_of(user),
    )


@pytest.fixture
def ada(site):
    return make_user(site, password=PASSWORD, groups=["editors"])


@pytest.fixture
def client(site, ada):
    return TestApp(site)


# Each sends one request for a token, and returns the answer. What is needed before is done first,
# by `then`, which makes the next call of the function fail if the test wants that.


def log_a_program_in(client, user, then):
    then()
    return client.post_json("/auth/login", LOGIN, status="*")


def log_a_browser_in(client, user, then):
    then()
    return client.post("/auth/login", LOGIN, headers=SAME_ORIGIN, status="*")


def enter_a_code(client, user, then):
    app = add_authenticator(client.app, user)
    client.post("/auth/login", LOGIN, headers=SAME_ORIGIN, status=303)
    then()
    return client.post("/auth/second", {"code": app.code()}, headers=SAME_ORIGIN, status="*")


def enter_a_code_from_an_email(client, user, then):
    with context.using(client.app.database):
        update_user(user, **verified_by_operator(user))
    request = client.post_json("/auth/code", {"username": user.username}).json["request"]
    sent = {"request": request, "code": mailbox(client.app).codes[-1]}
    then()
    return client.post_json("/auth/code/enter", sent, status="*")


def refresh(client, user, then):
    token = client.post_json("/auth/login", LOGIN | {"refresh": True}).json["refresh_token"]
    then()
    return client.post_json("/auth/refresh", {"refresh_token": token}, status="*")


def confirm(client, user, then):
    headers = bearer(client.app, user)
    then()
    sent = {"password": PASSWORD}
    return client.post_json("/auth/confirm", sent, headers=headers, status="*")


def change_the_password(client, user, then):
    headers = bearer(client.app, user)
    then()
    return client.post_json("/auth/password", NEW, headers=headers, status="*")


def add_an_app(client, user, then):
    headers = bearer(client.app, user, second_factor=False)
    secret = client.post_json("/auth/totp", {"name": "Phone"}, headers=headers).json["secret"]
    then()
    code = App(secret, client.app).code()
    return client.post_json("/auth/totp", {"code": code}, headers=headers, status="*")


def add_a_passkey(client, user, then):
    headers, party = bearer(client.app, user), client.app.site.part(RelyingParty)
    key = Authenticator()
    key.host, key.origin = "localhost", "http://localhost"
    then()
    with context.using(client.app.database):
        made = key.create(party.creation_options(user, client.app.site.tokens.now()))
    sent = {"name": "Laptop", "credential": made}
    return client.post_json("/auth/passkeys", sent, headers=headers, status="*")


PLACES = {
    "/login": [log_a_program_in, log_a_browser_in],
    "/second": [enter_a_code],
    "/code/enter": [enter_a_code_from_an_email],
    "/refresh": [refresh],
    "/confirm": [confirm],
    "/password": [change_the_password],
    "/totp": [add_an_app],
    "/passkeys": [add_a_passkey],
}
EVERYWHERE = [each for places in PLACES.values() for each in places]


def register(client, then):
    account = {"username": "bob", "email": "bob@example.org", "password": PASSWORD}
    then()
    return client.post("/auth/register", account, headers=SAME_ORIGIN)


def accept_an_invitation(client, then):
    client.app.invite("bob@example.org", username="bob")
    link = mailbox(client.app).links[-1]
    then()
    sent = {"token": link.partition("=")[2], "password": PASSWORD}
    return client.post("/auth/verify", sent, headers=SAME_ORIGIN)


def seen(client, answer=None):
    """Return what the application gets with the new token of an answer, or the client's cookie."""
    tokens = answer.json if answer is not None and answer.content_type == "application/json" else {}
    token = tokens.get("login", tokens).get("access_token")
    return client.get("/", headers=token and {"Authorization": f"Bearer {token}"}).json


def note_calls(app):
    """Return a list: of each call, whether it is in a transaction, and sees a password."""
    calls, claims_of = [], app.claims_of

    def watch(user):
        shown = repr(vars(user)) + repr(user)
        is_seen = PASSWORD in shown or NEW["new_password"] in shown
        calls.append((storage.current().in_transaction(), is_seen))
        return claims_of(user)

    app.claims_of = watch
    return calls


def sessions(site):
    with context.using(site.database):
        return list(Session.select(Session.id, Session.generation, Session.methods).tuples())


@pytest.mark.promise(75)
@pytest.mark.parametrize("ask", EVERYWHERE)
def test_every_new_token_has_the_claims_of_a_function_in_no_transaction(ask, client, app, ada):
    calls = note_calls(app)
    given = seen(client, ask(client, ada, lambda: None))
    assert {each: given[each] for each in ("teams", "name", "sub")} == {
        "teams": ["editors"],
        "name": "ada",
        "sub": str(ada.id),
    }
    assert {*calls} == {(False, False)}


@pytest.mark.promise(75)
@pytest.mark.parametrize("ask", EVERYWHERE)
def test_where_the_function_fails_no_session_begins_or_changes(ask, client, app, ada, caplog):
    before, error = [], LookupError("no tenant")

    def fail():
        before.append(sessions(client.app))
        app.fail(error)

    answer = ask(client, ada, fail)
    assert (answer.status_int, sessions(client.app)) == (500, *before)
    assert "Set-Cookie" not in answer.headers
    (record,) = [each for each in caplog.records if each.levelno == logging.ERROR]
    assert record.exc_info[1] is error
    assert record.message == (
        f"no token for user {ada.id}: the function of `claims`: it raised LookupError"
    )
    with context.using(client.app.database):  # nor has the password changed
        assert User.get_by_id(ada.id).hashed_password == ada.hashed_password


def test_a_refresh_token_is_not_used_by_an_attempt_that_fails(client, app, ada):
    tokens, working = client.post_json("/auth/login", LOGIN | {"refresh": True}).json, app.claims_of
    sent = {"refresh_token": tokens["refresh_token"]}
    app.fail(LookupError())
    client.post_json("/auth/refresh", sent, status=500)
    app.claims_of = working
    assert seen(client, client.post_json("/auth/refresh", sent))["name"] == "ada"


def test_a_refresh_has_the_claims_of_now(client, ada):
    tokens = client.post_json("/auth/login", LOGIN | {"refresh": True}).json
    ada.leave("editors")
    sent = {"refresh_token": tokens["refresh_token"]}
    for _ in range(2):  # the second time, the token is the previous one
        assert seen(client, client.post_json("/auth/refresh", sent))["teams"] == []


@pytest.mark.promise(75)
@pytest.mark.parametrize("create", [register, accept_an_invitation])
def test_a_new_account_is_logged_in_with_claims(create, app, client):
    calls = note_calls(app)
    assert create(client, lambda: None).status_int == 303
    assert seen(client)["name"] == "bob"
    assert {*calls} == {(False, False)}


@pytest.mark.parametrize("create", [register, accept_an_invitation])
def test_an_account_whose_login_fails_exists_and_has_to_log_in(create, client, app):
    working = app.claims_of
    answer = create(client, lambda: app.fail(LookupError()))
    assert answer.headers["Location"].partition("?")[0].endswith("/auth/login")
    assert sessions(client.app) == []
    client.post_json("/auth/login", LOGIN | {"username": "bob"}, status=500)
    app.claims_of = working
    client.post_json("/auth/login", LOGIN | {"username": "bob"})


def test_the_description_has_the_failure_where_functions_of_the_application_are_called():
    described = {
        path
        for path, operations in ROUTES["/openapi.json"].document["paths"].items()
        for operation in operations.values()
        if "500" in operation["responses"]
    }
    at_providers = {"/complete", "/oidc/{provider}/callback"}
    for_apps = {"/oauth/token", "/userinfo"}
    assert described == {
        *PLACES,
        *at_providers,
        *for_apps,
        "/register",
        "/reset",
        "/verify",
        "/data",
    }


@pytest.mark.parametrize(
    ("headers", "words"),
    [
        (JSON, '"code":"application_error"'),
        (BROWSER, "<h1>An error occurred on this site</h1>"),
    ],
    ids=["a program", "a person"],
)
def test_the_failure_is_in_the_form_that_the_client_prefers(headers, words, client, app):
    app.fail(LookupError("tenant 7"))
    refused = client.post("/auth/login", LOGIN, headers=headers | SAME_ORIGIN | headers, status=500)
    assert words in refused
    assert "tenant 7" not in refused


@pytest.mark.parametrize("ask", [log_a_program_in, confirm, change_the_password, register])
def test_the_function_has_no_slot_for_hashing(ask, app, ada):
    def log_another_in(user):
        if user.username != "grace":
            sent = LOGIN | {"username": "grace"}
            nested.append(client.post_json("/auth/login", sent, status="*").status_int)
        return {}

    nested = []
    settings = make_settings(HASHING_THREADS=1)
    client = TestApp(AuthMiddleware(app, settings, claims=log_another_in))
    users = [make_user(client.app, name, password=PASSWORD) for name in ("ada", "grace")]
    ask(client, *([] if ask is register else users[:1]), lambda: None)
    assert {*nested} == {200}


# What a request gets


def test_claims_without_a_session_are_empty(client, site, ada):
    for headers in ({}, api_key(site, ada), {"Authorization": "Bearer x"}):
        assert client.get("/", headers=headers).json == {}
    other = bearer(AuthMiddleware(lambda environ, start_response: [], make_settings()))
    assert client.get("/", headers=other).json == {}


def test_claims_of_a_session_without_the_demanded_factor_are_empty(app):
    site = AuthMiddleware(app, make_settings(SECOND_FACTOR="all"), claims=app.claims_of)
    headers = bearer(site, make_user(site), second_factor=False)
    assert TestApp(site).get("/", headers=headers).json == {}


def test_a_cookie_of_another_sites_form_has_no_claims(site, ada):
    client = logged_in(site, ada)
    assert client.post("/", headers=SAME_ORIGIN).json["name"] == "ada"
    assert client.post("/", headers={"Sec-Fetch-Site": "cross-site"}).json == {}


def test_a_bearer_token_has_its_own_claims_beside_a_cookie(site, ada):
    client, headers = logged_in(site, ada), bearer(site, make_user(site, "bob"))
    assert client.get("/", headers=headers).json["name"] == "bob"


def test_after_log_in_the_claims_are_those_of_the_new_token(site, app, ada):
    bob = make_user(site, "bob")
    app.view = lambda environ: log_in(environ, bob)
    client = logged_in(site, ada)
    assert client.post("/", headers=SAME_ORIGIN).json["name"] == "bob"
    assert client.get("/").json["name"] == "bob"


def test_after_log_out_there_are_none(site, app, ada):
    app.view = log_out
    assert logged_in(site, ada).post("/", headers=SAME_ORIGIN).json == {}


@pytest.mark.parametrize("cookies", ["", "wsgiauth=x"], ids=["removed", "replaced"])
def test_where_the_application_has_changed_the_cookie_there_are_none(site, app, ada, cookies):
    app.view = lambda environ: environ.update(HTTP_COOKIE=cookies) or []
    assert logged_in(site, ada).post("/", headers=SAME_ORIGIN).json == {}


def test_log_in_raises_what_the_function_did_and_changes_nothing(site, app, ada):
    def view(environ):
        app.claims_of = {}.pop
        with pytest.raises(ClaimsError, match="it raised KeyError") as raised:
            log_in(environ, make_user(site, "bob"))
        assert isinstance(raised.value.__cause__, KeyError)
        return []

    app.view, client = view, logged_in(site, ada)
    assert client.post("/", headers=SAME_ORIGIN).json["name"] == "ada"
    assert len(sessions(site)) == 1


def test_what_a_caller_changes_is_changed_for_no_other(site, app, ada):
    def view(environ):
        claims(environ)["teams"].append("admins")
        return []

    app.view = view
    assert logged_in(site, ada).post("/", headers=SAME_ORIGIN).json["teams"] == ["editors"]


def test_what_the_function_does_to_accounts_is_done_by_code(site, app, client, ada):
    def grant(user):
        user.grant("reports.read")
        return {}

    app.claims_of = grant
    client.post_json("/auth/login", LOGIN)
    with context.using(site.database):
        changed = RecordedEvent.select().where(RecordedEvent.name == "rights_changed")
        assert next(each.actor for each in changed.order_by(RecordedEvent.id.desc())) == "code"


def test_without_the_middleware_it_is_an_error():
    with pytest.raises(MiddlewareMissingError, match="claims needs it"):
        claims({})


def test_without_a_function_the_claims_are_those_of_wsgiauth(app):
    site = AuthMiddleware(app, make_settings(JWT_ISSUER="us"))
    assert logged_in(site).get("/").json.keys() == {"sub", "jti", "iat", "exp", "iss"}


def test_what_is_not_callable_is_refused_at_the_start(app):
    with pytest.raises(ConfigurationError, match=r"claims must be a function"):
        AuthMiddleware(app, make_settings(), claims={"tenant": 7})
