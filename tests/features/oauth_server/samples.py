"""What tests of all features ask of logins to other apps."""

import json
import time
from secrets import token_urlsafe
from unittest.mock import ANY, patch

import pytest
from webtest import TestApp

from tests.support.driving import changed, moved_clock, post
from tests.support.event_scene import LOGIN
from tests.support.mails import Clock
from tests.support.oauth_apps import (
    AUTHORIZE,
    DEVICE_GRANT,
    USERINFO,
    App,
    DocumentApp,
    RegisteredApp,
    code_in,
    walk,
)
from tests.support.sites import BROWSER, SAME_ORIGIN, USERNAME
from wsgiauth.accounts.tables import Session
from wsgiauth.authentication import sessions
from wsgiauth.authentication.identity import UserSession
from wsgiauth.features.oauth_server import (
    app_sessions,
    clients,
    devices,
    documents,
    grants,
    stored_requests,
    tables,
)
from wsgiauth.features.oauth_server.document_urls import id_of
from wsgiauth.features.oauth_server.grants import Code, Grants
from wsgiauth.features.oauth_server.logouts import Logouts
from wsgiauth.features.oauth_server.questions import QUESTIONS
from wsgiauth.features.oauth_server.tables import AppSession, Document
from wsgiauth.features.services.signed_tokens import SignedTokens
from wsgiauth.testing import bearer, client_documents, logged_in, make_group, make_user
from wsgiauth.web.clients import Client

HOUR = 3600  # seconds
APP = {
    "id": "wiki",
    "name": "Wiki",
    "kind": "confidential",
    "is_trusted": False,
    "redirect_uris": ["https://wiki.example.org/"],
    "scopes": ["openid"],
    "group": None,
    "algorithm": None,
    "logout_uri": None,
    "logout_redirects": [],
    "launch_url": None,
    "is_without_pkce": False,
    "audiences": [],
    "created_at": "2026-11-02T09:05:00Z",
    "digests": ["0" * 64],
}


def settings(folder, provider):
    """Be a provider at which apps can register."""
    return {"OAUTH_SERVER": "on", "OAUTH_REGISTRATION": "on"}


def fill(site, user):
    """Log in to another app, also on a device."""
    now = site.site.tokens.now()
    uri, name = "https://wiki.example.org/", f"app for {user.username}"
    client = clients.create(name, [uri], logout_uri=uri, now=now).row
    clients.create(f"page for {user.username}", [uri], is_public=True, now=now)
    grants.allow(client, user, ["openid"], now)
    session_id = sessions.start(user, site.site.tokens).session_id
    code = Code(token_urlsafe(16), client.id, user.id, 0, session_id, "", "", "", "openid", "")
    assert Grants(site.site.settings, site.site.sessions).redeem(code, client, now)
    query = f"client_id={client.id}"
    stored_requests.keep(stored_requests.new_uri(), query, client.id, user.username, now)
    url = f"https://{user.id}.example.com/app"
    columns = {"url": url, "problem": "", "user": user, "fetched_at": now, "fresh_until": now}
    Document.create(id=id_of(url), expires_at=now + HOUR, **columns)
    made = devices.begin(client, "openid", "", Client("192.0.2.1", "Mozilla/5.0", ""), now)
    row = devices.find(made.user_code, now)
    assert devices.allow(row, UserSession(user, session_id), ["openid"], now)


def pages(site, user):
    """Return the pages to which an app and a device lead."""
    return (App(site).url("/auth/consent"), "/auth/device")


def drive(site, provider):
    """Log in to other apps with the site, until the logins end."""
    ida = make_user(site, "ida", groups=["Readers"])
    browser = logged_in(site, ida)
    app = App(site, scopes=["openid", "groups", "offline_access"], group=ida.groups[0])
    first = app.log_in(browser, scope="openid")
    bearing = {"Authorization": f"Bearer {first['access_token']}"}
    TestApp(site).get(USERINFO, headers=bearing)
    code = code_in(walk(browser, app.url(scope="openid groups offline_access")))
    refreshed = app.exchange(code)
    app.exchange(code, status=400)
    for _ in range(2):
        refreshed = app.refresh(app.log_in(browser)["refresh_token"])
    app.refresh(first["refresh_token"])
    app.refresh(app.refresh(first["refresh_token"])["refresh_token"])
    app.refresh(first["refresh_token"], status=400)
    app.program.post("/auth/oauth/revoke", {"token": refreshed["refresh_token"]})
    app.log_in(browser)
    with patch.object(grants, "MOST", 1), moved_clock(site, HOUR // 2):
        app.log_in(browser)  # instead of the login that was used longest ago
    long_requests(site, app, browser)
    televisions(site, app, ida)
    logouts(site, ida)
    RegisteredApp(site).log_in(browser)
    documents_of_apps(site, browser)
    pages_of_an_app(site)
    browser.get("/auth/apps", headers=BROWSER)
    browser.get("/auth/data", headers=BROWSER, status="*")
    post(site, "/apps", {"revoke": app.id}, bearer(site, ida))
    with changed(site, SERVICES=()) as without_services:
        for each in QUESTIONS:
            list(each.ask(without_services.site))
    hint = app.log_in(browser, scope="openid")["id_token"]
    code = code_in(walk(browser, app.url(scope="openid")))
    browser.get("/auth/oauth/logout", {"id_token_hint": hint}, headers=BROWSER, status=303)
    app.exchange(code, status=400)


def logouts(site, user):
    """Logout tokens that are sent, refused and sent again."""
    app = App(site, "Blog", group=user.groups[0], logout_uri="https://blog.example.org/logout")
    clock = Clock(int(time.time()) + 60)
    queue = Logouts(site.site.require(SignedTokens), clock)
    for answers in ([200], [400], [503, 200], [503]):
        browser = logged_in(site, user)
        app.log_in(browser)
        app.log_in(browser)
        browser.post("/auth/logout", headers=SAME_ORIGIN)
        with patch("wsgiauth.features.oauth_server.logout_sending.send", side_effect=answers):
            for _ in answers:
                queue.deliver()
                clock.move(HOUR)
    app.log_in(logged_in(site, user))
    AppSession.update(session=None).execute()
    with patch("wsgiauth.features.oauth_server.logout_sending.send", return_value=200):
        queue.deliver()
    list(app_sessions.own_app_sessions(user, site.site.settings))
    app_sessions.count_overdue(time.time())
    make_group(site, "Passing").delete_instance()


def long_requests(site, app, browser):
    """Requests that the database keeps, until others take their place."""
    with patch.object(stored_requests, "MOST", 1):
        for state in ("a" * 2000, "b" * 2000):
            TestApp(site).get(app.url(state=state), headers=BROWSER)
    with patch.object(stored_requests, "MOST_OF_CLIENT", 1):
        for _ in range(2):
            asked = {"client_id": app.id, "request_uri": app.push()["request_uri"]}
    browser.get(AUTHORIZE, asked, headers=BROWSER)


def documents_of_apps(site, browser):
    """An app with a document, which a user allows twice, and others that take its place."""
    app, other = DocumentApp(site), "https://other.example/app.json"
    served = {**app.documents, other: 404}
    with client_documents(site, served), patch.object(documents, "MOST_OF_USER", 1):
        app.log_in(browser)
        served[app.id] = {**app.document, "client_name": "Other"}
        with moved_clock(site, HOUR // 4):
            app.log_in(browser)
        app.client_id = other
        browser.get(app.url(), headers=BROWSER, status=400)


def pages_of_an_app(site):
    """Another redirect URI of an app in browsers, whose page asks what it can send."""
    app = App(site, "Page", "https://page.example.org/", is_public=True)
    row = tables.Client.get_by_id(app.id)
    uris = ("https://board.example.org/",)
    clients.change(row, clients.ClientFields.of(row)._replace(redirect_uris=uris))
    headers = {"Origin": "https://board.example.org"}
    TestApp(site).options("/auth/oauth/token", headers=headers, status=204)


def televisions(site, app, user):
    """Devices that a user refuses and allows, and that ask for their tokens."""
    for decision in ("refuse", "allow"):
        codes = app.program.post("/auth/oauth/device", {"scope": "openid"}).json
        asked = {"grant_type": DEVICE_GRANT, "device_code": codes["device_code"]}
        app.ask(400, asked)
        sent = {"user_code": codes["user_code"], "decision": decision, "scope": "openid"}
        post(site, "/device", sent, bearer(site, user))
        app.ask("*", asked)


def commands(folder):
    """Return the commands; the second import finds the app there."""
    apps = folder / "apps.json"
    apps.write_text(json.dumps([APP]))
    return (
        "client add Blog --redirect https://blog.example.org/",
        *(f"client import {apps}", f"client import {apps}"),
        "client remove --self-registered --matching *.example --yes",
        *(
            "client list",
            "client list --self-registered",
            "client show wiki",
            "client change wiki --name Notes",
        ),
        *("client secret wiki", "client secret wiki --end-former"),
        *("client export", "client remove wiki --yes"),
    )


WHOLE_READS = {
    ("app_sessions.py", "count_overdue", "part of wsgiauth_oauth_session"): "`check` counts",
    ("app_sessions.py", "next_due", "part of wsgiauth_oauth_session"): (
        "rows of an app that fails are passed over"
    ),
    ("app_sessions.py", "mark_ended", "wsgiauth_oauth_client"): (
        "the deletion of a group, which is rare, looks for its apps"
    ),
    ("client_pages.py", "find_clients", "wsgiauth_oauth_client"): (
        "a search of the panel can examine the names of all apps, which are at most some thousands"
    ),
    ("clients.py", "rows_of_clients", "wsgiauth_oauth_client"): (
        "the commands `client list` and `client export` list all clients"
    ),
    ("stored_requests.py", "_make_room", "wsgiauth_oauth_request"): (
        "the index of networks, in a table of at most some 10,000 rows of browsers"
    ),
    ("registration.py", "_are_too_many", "part of wsgiauth_oauth_client"): (
        "it passes over apps with documents"
    ),
    ("self_registered.py", "count_all_users", "wsgiauth_oauth_client"): (
        "`client list --self-registered` lists all of them"
    ),
    ("self_registered.py", "count_all_users", "wsgiauth_oauth_consent"): (
        "`client list --self-registered` counts their users"
    ),
    ("self_registered.py", "find_matching", "wsgiauth_oauth_client"): (
        "`client remove --self-registered` compares all of them with a pattern"
    ),
    ("questions.py", "_without_pkce", "wsgiauth_oauth_client"): "`check` lists rare clients",
    ("questions.py", "_lacks_algorithms", "wsgiauth_oauth_client"): "`check` lists rare clients",
    ("questions.py", "_lacks_clients", "wsgiauth_oauth_client"): "`check` stops at the first one",
    ("questions.py", "_lacks_services", "wsgiauth_oauth_client"): "`check` looks for programs",
}
# The same, or along an index, as the planner chooses by what it knows of the values.
READS_BY_STATISTICS = {
    ("app_sessions.py", "waiting", "wsgiauth_oauth_session"): "a figure, of the rows that wait",
    ("app_sessions.py", "clients_due", "wsgiauth_oauth_client"): (
        "the clients of operators, which are some, and in many sites all"
    ),
    ("app_sessions.py", "clients_due", "part of wsgiauth_oauth_session"): (
        "the rows that are due, where the planner expects fewer of them than apps"
    ),
}
ABOUT_NO_USER = {
    "wsgiauth_oauth_client": "it says what an app is, whoever created or uses it",
    "wsgiauth_oauth_request": "it has for an hour what an app asked for, of whoever logs in",
    "wsgiauth_oauth_origin": "it says where the pages of an app are",
}
PUBLIC_COLUMNS = ("wsgiauth_oauth_client.id",)  # every login to an app has it in a URL
# In the words of RFC 6749 to programs of apps; or they begin what a page of an app asks for.
_FOR_PROGRAMS = ("/oauth/token", "/oauth/revoke", "/oauth/device", "/oauth/register", "/userinfo")
_FOR_PROGRAMS += ("/oauth/par",)
WITHOUT_JSON = dict.fromkeys((*_FOR_PROGRAMS, "/authorize", "/oauth/logout"))


def path_values(site, user):
    """Return an app."""
    return {"client": App(site).id}


def use_an_app(scene):
    now = time.time()
    client = clients.create("Wiki", ["https://wiki.example.org/login"], now=now).row
    clients.renew_secret(client)
    scene.log_in()
    for scopes in (
        ["openid", "offline_access"],
        ["openid"],
    ):  # the second time, it allows nothing new
        assert grants.allow(client, scene.ada, scopes, now)
    stamp, session = scene.ada.security_stamp, Session.get().id
    code = Code(
        "a", client.id, scene.ada.id, stamp, session, "", "", "", "openid offline_access", ""
    )
    made = Grants(scene.settings, scene.site.site.sessions)
    assert made.redeem(code, client, now)
    assert made.redeem(code, client, now) is None
    grants.revoke(scene.ada, client.id, 1)
    made = devices.begin(client, "openid", "", Client("192.0.2.7"), now)
    assert devices.refuse(devices.find(made.user_code, now), scene.ada, now)
    made = devices.begin(client, "openid", "", Client("192.0.2.7"), now)
    session = UserSession(scene.ada, Session.get().id)
    assert devices.allow(devices.find(made.user_code, now), session, ["openid"], now)
    clients.remove(client)


def fail_to_log_out_of_an_app(scene):
    made = clients.create("Wiki", ["https://wiki.example.org/"], logout_uri="https://a.org", now=1)
    row = {"id": "a", "client": made.row, "user_id": scene.ada.id, "sid": "b", "due_at": 1}
    AppSession.insert(row, expires_at=1).execute()
    Logouts(None, time.time).deliver()


EVENTS = [
    pytest.param(
        use_an_app,
        [
            ("client_created", None, None, ANY),
            ("client_changed", None, None, ANY),
            LOGIN,
            ("consent_given", USERNAME, None, ANY),
            ("offline_access_given", USERNAME, None, ANY),
            ("grant_reused", USERNAME, None, ANY),
            ("consent_revoked", USERNAME, None, ANY),
            ("device_refused", USERNAME, None, ANY),
            ("device_allowed", USERNAME, None, ANY),
            ("client_removed", None, None, ANY),
        ],
        id="app that users log in to",
    ),
    pytest.param(
        fail_to_log_out_of_an_app,
        [("client_created", None, None, ANY), ("logout_failed", USERNAME, None, ANY)],
        id="logout token that is too late",
    ),
]
