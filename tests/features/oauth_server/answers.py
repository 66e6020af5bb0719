"""Requests of apps that users log in to, and about these apps, which draw each described answer."""

import json
from urllib.parse import urlencode

from webtest import TestApp

from tests.support.contract import FORM, GARBAGE, JSON, Request, cookie_in, sent
from tests.support.oauth_apps import DEVICE_GRANT, VERIFIER, App, code_in
from wsgiauth import Settings
from wsgiauth.features.oauth_server.limits import DEVICE_CODES
from wsgiauth.features.oauth_server.stored_requests import PREFIX
from wsgiauth.testing import api_key, bearer, make_group, make_user

# No client is registered, a form can have too many fields, and no schema can tell the rules of URIs
# and names. At the last, what is null or empty counts as missing.
_UNKNOWN = ("GET /authorize", "POST /authorize", "GET /consent", "POST /consent")
_UNKNOWN += ("POST /oauth/token", "POST /oauth/revoke", "POST /oauth/device", "POST /oauth/par")
EXPECTED = {
    **{name: ["400"] for name in _UNKNOWN},
    **{name: ["200", "400"] for name in ("GET /oauth/logout", "POST /oauth/logout")},
    "POST /oauth/register": ["201", "400"],
}
PROGRAM_PATHS = ("/oauth/token", "/oauth/revoke", "/oauth/device", "/oauth/par")


def answers(world):
    """Yield requests of apps and about them."""
    yield from (Request(*each) for each in app_requests(world.site))
    for each in _throttled(world.limited):
        yield Request(*each, site=world.limited)


def app_requests(site):
    """Yield requests about an app that needs consent, of a user and of others."""
    app, user = App(site), make_user(site, "niaj")
    login, key = bearer(site, user), api_key(site, user, [])
    asked = {"QUERY_STRING": urlencode(app.parameters())}
    group = make_group(site, "reviewers")
    closed = {"QUERY_STRING": urlencode(App(site, group=group).parameters())}
    for path in ("/authorize", "/consent"):
        for cookies in ({}, cookie_in(login)):
            yield "GET", path, {}, None, asked, cookies
        wrong = {"QUERY_STRING": urlencode(app.parameters(response_type="token"))}
        yield "GET", path, {}, None, wrong, cookie_in(login)
        yield "GET", path, {}, None, {"QUERY_STRING": "client_id=x"}, cookie_in(login)
    yield "GET", "/authorize", {}, None, closed, cookie_in(login)
    offline = {
        "QUERY_STRING": urlencode(
            App(site, scopes=["offline_access"]).parameters(scope="offline_access")
        )
    }
    stale = cookie_in(bearer(site, user, confirmed_minutes_ago=60))
    yield "GET", "/consent", {}, None, offline, stale
    yield "POST", "/authorize", FORM, "client_id=x"
    for changes in ({"state": "x" * 2000}, {"state": "x" * 5000}):
        yield "POST", "/authorize", FORM, urlencode(app.parameters(**changes))
    yield "POST", "/authorize", FORM, f"state={'x' * 50_000}"
    framed = FORM | {"Sec-Fetch-Dest": "iframe"}
    yield "POST", "/authorize", framed, urlencode(app.parameters(state="x" * 2000))
    wrong = app.parameters(state="x" * 2000, response_mode="form_post", response_type="token")
    yield "POST", "/authorize", FORM, urlencode(wrong)
    unknown = {"client_id": app.id, "request_uri": f"{PREFIX}{'x' * 43}"}
    yield "GET", "/authorize", {}, None, {"QUERY_STRING": urlencode(unknown)}
    yield from _decisions(login, key, asked)
    trusted = App(site, is_trusted=True)
    silent = {"QUERY_STRING": urlencode(trusted.parameters(response_mode="form_post"))}
    yield "GET", "/authorize", {}, None, silent, cookie_in(login)
    yield from _list_requests(app, login, key)
    yield from _program_requests(site, trusted, login)
    yield from _device_requests(site, login, key)
    yield from _registrations()
    yield from _logouts(site, user, login, key)


def _logouts(site, user, login, key):
    bye = "https://wiki.example.org/bye"
    app = App(site, is_trusted=True, logout_redirects=[bye])
    for cookies in ({}, cookie_in(login)):
        for asked in ({}, {"client_id": app.id, "post_logout_redirect_uri": bye}):
            yield "GET", "/oauth/logout", {}, None, {"QUERY_STRING": urlencode(asked)}, cookies
    yield "GET", "/oauth/logout", {}, None, {"QUERY_STRING": "client_id=x"}, cookie_in(login)
    yield "POST", "/oauth/logout", FORM, "client_id=x"
    other = bearer(site, user)
    hint = {"QUERY_STRING": urlencode({"id_token_hint": tokens_of(site, app, other)["id_token"]})}
    for headers in ({"Sec-Purpose": "prefetch"}, {}):
        yield "GET", "/oauth/logout", headers, None, hint, cookie_in(other)


def _decisions(login, key, asked):
    allow = json.dumps({"decision": "allow", "scope": "openid"})
    for headers in ({}, GARBAGE, key, login):
        yield "POST", "/consent", JSON | headers, allow, asked
    yield "POST", "/consent", JSON | login, "{}", asked
    wrong = {"QUERY_STRING": asked["QUERY_STRING"].replace("=code&", "=token&", 1)}
    yield "POST", "/consent", JSON | login, allow, wrong
    yield "POST", "/consent", JSON | login, allow, {"QUERY_STRING": "client_id=x"}


def _list_requests(app, login, key):
    for headers in ({}, GARBAGE, key, login):
        yield "GET", "/apps", headers
        yield "POST", "/apps", JSON | headers, json.dumps({"revoke": app.id})
    yield "POST", "/apps", JSON | login, "{}"


def _program_requests(site, app, login):
    for path in PROGRAM_PATHS:
        yield "POST", path, FORM | GARBAGE, "a=b"
        yield "POST", path, FORM, f"client_id={app.id}&client_secret={app.secret}"
    code = _code(site, app, login)
    sent = {"grant_type": "authorization_code", "code": code, "redirect_uri": app.uri}
    yield "POST", "/oauth/token", FORM, _form(app, **sent, code_verifier=VERIFIER)
    for scope in ("openid", "profile"):
        tokens = tokens_of(site, app, login, scope=scope)
        token = {"Authorization": f"Bearer {tokens['access_token']}"}
        yield "GET", "/userinfo", token
        yield "POST", "/userinfo", FORM | token, ""
    yield "GET", "/userinfo", {}
    yield "POST", "/userinfo", FORM, ""
    yield "POST", "/oauth/revoke", FORM, _form(app, token="x")
    yield "POST", "/oauth/par", FORM, _form(app, **app.parameters())
    yield "POST", "/oauth/par", FORM, _form(app, **app.parameters(state="x" * 5000))
    token, secret = tokens["access_token"], {"client_secret": app.secret}
    for further in ({"token": token}, {}, {"token": token, "client_secret": "x"}):
        yield "POST", "/introspect", FORM, _form(app, **further)
    yield "POST", "/introspect", FORM | login, urlencode({"token": token, **secret})


def _device_requests(site, login, key):
    app = App(site, "TV", "com.example.tv:/unused", is_public=True)
    asked = urlencode({"client_id": app.id, "scope": "openid"})
    yield "POST", "/oauth/device", FORM, asked
    for headers in ({}, GARBAGE, key, login):
        yield "POST", "/device", JSON | headers, json.dumps({"user_code": "BBBB-BBBB"})
    for cookies in ({}, cookie_in(login)):
        yield "GET", "/device", {}, None, None, cookies
    yield "POST", "/device", JSON | login, "{}"
    codes = app.program.post("/auth/oauth/device", asked).json
    for decision in ({}, {"decision": "allow", "scope": "openid"}):
        sent = json.dumps({"user_code": codes["user_code"], **decision})
        yield "POST", "/device", JSON | login, sent
    polled = {"grant_type": DEVICE_GRANT, "device_code": codes["device_code"]}
    yield "POST", "/oauth/token", FORM, urlencode({"client_id": app.id, **polled})
    for _ in range(DEVICE_CODES):
        yield "POST", "/device", JSON | login, json.dumps({"user_code": "BBBB-BBBB"})


def _throttled(site):
    """Yield requests that have to wait, at a site that lets an address fail once."""
    app = App(site)
    for _ in range(2):
        yield "POST", "/oauth/device", FORM, _form(app, scope="openid")


def _registrations():
    for uris in (["http://localhost/callback"], []):
        yield sent("POST", "/oauth/register", {"redirect_uris": uris})
    for _ in range(Settings().OAUTH_REGISTRATIONS_PER_ADDRESS):
        yield "POST", "/oauth/register", JSON, json.dumps({"redirect_uris": ["http://localhost/"]})


def tokens_of(site, app, login, **changes):
    """Return the tokens of an app that an operator trusts."""
    return app.exchange(_code(site, app, login, **changes))


def _code(site, app, login, **changes):
    cookie = "; ".join(f"{name}={value}" for name, value in cookie_in(login).items())
    browser = TestApp(site, {"HTTP_COOKIE": cookie})
    return code_in(browser.get(app.url(**changes), status=303).location)


def _form(app, **fields):
    return urlencode({"client_id": app.id, "client_secret": app.secret, **fields})


def without_a_database(world):
    """Return requests of an app, and of a user who has allowed it."""
    app, user = App(world.site, is_trusted=True), make_user(world.site, "olivia")
    login = bearer(world.site, user)
    token = {"Authorization": f"Bearer {tokens_of(world.site, app, login)['access_token']}"}
    query, cookies = urlencode(app.parameters()), cookie_in(login)
    return [
        *(
            Request("GET", path, cookies=cookies, query=query)
            for path in ("/authorize", "/consent")
        ),
        sent("POST", "/consent", {"decision": "refuse"}, login, query=query),
        *(Request("POST", path, FORM, _form(app)) for path in PROGRAM_PATHS),
        sent("POST", "/oauth/register", {"redirect_uris": [app.uri]}),
        Request("GET", "/userinfo", token),
        Request("POST", "/userinfo", FORM | token, ""),
    ]
