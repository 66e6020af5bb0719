"""A drive through all that sends statements: pages, programs, providers, commands, upkeep."""

import json
import time
from dataclasses import replace
from unittest.mock import patch

from webtest import TestApp

from tests.endpoints.callback_requests import callbacks_of, completions
from tests.endpoints.provider_requests import provider_requests
from tests.support.authenticators import Authenticator, add_passkey, options_of
from tests.support.commands import run_commands
from tests.support.driving import make_site, moved_clock, post, send
from tests.support.factors import add_app
from tests.support.federated import connected, logged_in_at_provider, remove_password
from tests.support.former import WERKZEUG
from tests.support.gallery import Gallery, let_a_refresh_token_be_reused
from tests.support.identities import account
from tests.support.mails import MAIL, Clock, Post
from tests.support.oauth_apps import DEVICE_GRANT, USERINFO, App, RegisteredApp, code_in, walk
from tests.support.provider_logins import log_in
from tests.support.service_keys import REPORTS
from tests.support.sites import BROWSER, EMAIL, PASSWORD, SAME_ORIGIN, USERNAME, echo
from tests.support.staff_and_upkeep import library, mails, panel, upkeep
from tests.support.tabs import SECOND, named
from tests.support.terms import TERMS
from tests.support.trusted import first_step, second_step, trust
from wsgiauth import AuthMiddleware, Group, User, storage
from wsgiauth.authentication import pending
from wsgiauth.authentication.password import make_reset_link
from wsgiauth.authentication.restoring import FormerAddress, make_restore_link, mark_change
from wsgiauth.features.factors import passkeys, recovery_codes, totp
from wsgiauth.features.links.address_links import make_address_link
from wsgiauth.features.links.invitations import Invitation
from wsgiauth.features.links.letters import issue_invitation
from wsgiauth.features.oauth_server import app_sessions, grants
from wsgiauth.features.oauth_server.logouts import Logouts
from wsgiauth.features.oauth_server.tables import AppSession
from wsgiauth.features.providers import identities, provider_sessions
from wsgiauth.features.services.signed_tokens import SignedTokens
from wsgiauth.storage import context
from wsgiauth.testing import api_key, bearer, logged_in, mailbox, make_group, make_user

JSON = {"Content-Type": "application/json"}
ADA = {"username": USERNAME, "email": EMAIL, "password": PASSWORD}
NEW = "another unrelated phrase"
HOUR = 3600  # seconds


def drive(url, folder, provider):
    """Use everything of a site on an empty database; what is refused is none of its business."""
    Gallery(folder, database_url=url)
    site = make_site(url, folder, provider)
    with context.using(site.database):
        User.delete().execute()
        Group.delete().execute()
        for each in (
            programs,
            factors,
            trusted_browsers,
            links,
            codes,
            invitations,
            providers,
            other_apps,
            panel,
            library,
            mails,
            restored,
            own_data,
            terms,
        ):
            each(site, provider)
        run_commands(url, folder, site)
        upkeep(site)


def other_apps(site, _):
    """Logins to other apps with the site, until they end."""
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
    televisions(site, app, ida)
    logouts(site, ida)
    RegisteredApp(site).log_in(browser)
    browser.get("/auth/apps", headers=BROWSER)
    browser.get("/auth/data", headers=BROWSER, status="*")
    post(site, "/apps", {"revoke": app.id}, bearer(site, ida))
    hint = app.log_in(browser, scope="openid")["id_token"]
    browser.get("/auth/oauth/logout", {"id_token_hint": hint}, headers=BROWSER, status=303)


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


def televisions(site, app, user):
    """Devices that a user refuses and allows, and that ask for their tokens."""
    for decision in ("refuse", "allow"):
        codes = app.program.post("/auth/oauth/device", {"scope": "openid"}).json
        asked = {"grant_type": DEVICE_GRANT, "device_code": codes["device_code"]}
        app.ask(400, asked)
        sent = {"user_code": codes["user_code"], "decision": decision, "scope": "openid"}
        post(site, "/device", sent, bearer(site, user))
        app.ask("*", asked)


def programs(site, _):
    """A day of a program, and of a browser."""
    post(site, "/register", ADA, status=201)
    post(site, "/register", ADA, status=409)
    ada = User.get()
    visitor = TestApp(site)
    visitor.post("/auth/language", {"language": "de"}, headers=SAME_ORIGIN, status=303)
    login = {"username": USERNAME, "password": PASSWORD}
    visitor.post("/auth/login", login, headers=SAME_ORIGIN, status=303)
    let_a_refresh_token_be_reused(TestApp(site), USERNAME)
    listed = TestApp(site).get("/auth/sessions", headers=bearer(site, ada)).json["sessions"]
    for each in listed:
        post(site, "/sessions", {"end": each["handle"]}, bearer(site, ada))
    post(site, "/sessions", {"end": "others"}, bearer(site, ada))
    browser = logged_in(site, ada)
    with moved_clock(site, HOUR // 2):
        browser.get("/")
        browser.get("/auth/sessions", headers=BROWSER)
    ada.grant("wsgiauth.introspect", "a.read")
    key = api_key(site, ada, ["wsgiauth.introspect"])
    TestApp(site).get("/", headers=key)
    login = bearer(site, ada)
    token = login["Authorization"].removeprefix("Bearer ")
    service = post(site, "/token", {"audience": REPORTS.partition("=")[0]}, login)
    for each in (token, key["Authorization"].removeprefix("Bearer "), "x"):
        post(site, "/introspect", {"token": each}, key)
    if service.status_int == 200:
        post(site, "/introspect", {"token": service.json["access_token"]}, key)
    for path in ("/account", "/sessions", "/keys", "/password", "/identities", "/me"):
        for accept in ({}, BROWSER):
            TestApp(site).get(f"/auth{path}", headers=login | accept, status="*")
    made = post(site, "/keys", {"name": "x", "permissions": []}, login).json
    post(site, "/keys", {"end": made["id"]}, login)
    post(site, "/password", {"current_password": PASSWORD, "new_password": NEW}, login)
    post(site, "/language", {"language": "de"}, bearer(site, ada))
    post(site, "/username", {"username": "countess"}, bearer(site, ada))
    post(site, "/confirm", {"password": NEW}, bearer(site, ada))
    post(site, "/email", {"email": "ada@example.net", "current_password": NEW}, bearer(site, ada))
    post(site, "/logout", {}, bearer(site, ada))
    post(site, "/close", {"current_password": NEW}, bearer(site, make_user(site, "eve")))


def factors(site, _):
    """Second factors and passkeys: added, used and removed."""
    grace = make_user(site, "grace", password=PASSWORD)
    app = add_app(site, grace)
    codes = recovery_codes.replace(grace, rounds=4)
    login = {"username": "grace", "password": PASSWORD, "code": codes[0]}
    post(site, "/login", login)
    start, other = (
        pending.start(grace, destination="", remember=False, now=time.time()) for _ in range(2)
    )
    send(site, "POST", "/second", JSON, json.dumps({"cancel": True}), None, named(SECOND, other))
    for code in ("x", app.code()):
        send(site, "POST", "/second", JSON, json.dumps({"code": code}), None, named(SECOND, start))
    post(site, "/totp", {"name": "Tablet"}, bearer(site, grace))
    for page in ("/totp", "/passkeys", "/recovery-codes", "/second"):
        send(site, "GET", page, bearer(site, grace))
    key = Authenticator()
    key.host, key.origin = "example.org", MAIL["PUBLIC_URL"]
    add_passkey(site, grace, "Laptop", key)
    client = TestApp(site)
    options = options_of(client.get("/auth/login", headers=BROWSER))
    script = {**SAME_ORIGIN, "Accept": "application/json"}
    client.post("/auth/login", {"credential": key.get(options)}, headers=script, status=200)
    recovery_codes.replace(grace, rounds=4)
    for device in (*totp.devices(grace), *passkeys.list_passkeys(grace)):
        path = "/totp" if isinstance(device, totp.Totp) else "/passkeys"
        post(site, path, {"remove": device.id}, bearer(site, grace))
    add_app(site, grace)


def trusted_browsers(site, _):
    """A browser becomes trusted, skips the second step, and is revoked."""
    mary = make_user(site, "maryam", password=PASSWORD)
    app, client = add_app(site, mary), TestApp(site)
    codes = recovery_codes.replace(mary, rounds=4)
    first_step(client, "maryam")  # in another tab, which makes the browser trusted again
    trust(client, app.code(), "maryam")
    second_step(client, codes[0])
    client.post("/auth/logout", headers=SAME_ORIGIN)
    first_step(client, "maryam")
    client.get("/auth/sessions", headers=BROWSER)
    script = {"Accept": "application/json", "Sec-Fetch-Site": "same-origin"}
    (listed,) = client.get("/auth/sessions", headers=script).json["trusted_browsers"]
    client.post("/auth/sessions", {"end": listed["handle"]}, headers=script)


def links(site, _):
    """Passwords forgotten and chosen anew; addresses proved."""
    ada = User.get(User.username == "countess")
    post(site, "/forgot", {"username": "countess"})
    link = make_reset_link(ada, site.site.settings, mount="/auth", now=time.time())
    send(site, "GET", "/reset", {}, None, {"QUERY_STRING": f"token={link.partition('=')[2]}"})
    post(site, "/reset", {"token": link.partition("=")[2], "password": PASSWORD})
    link = make_address_link(
        ada, "new@example.net", site.site.settings, mount="/auth", now=time.time()
    )
    post(site, "/verify", {"token": link.partition("=")[2]}, bearer(site, User.get_by_id(ada.id)))
    make_user(site, "wanda", former_hash=WERKZEUG)
    for name in ("nobody", "wanda"):
        post(site, "/login", {"username": name, "password": "x" * 73})
        post(site, "/login", {"username": name, "password": PASSWORD})
    post(site, "/login", {"username": "countess", "password": "wrong"})
    post(site, "/login", {"username": "countess", "password": PASSWORD})


def codes(site, _):
    """Logins by codes in emails, right and wrong, and an address that was never proven."""
    ways = AuthMiddleware(echo, site.site.settings, send_mail=Post())
    make_user(site, "zoe", is_verified=True)
    for name in ("zoe", "wanda"):
        for code in ("00000000", ""):
            request = TestApp(ways).post_json("/auth/code", {"username": name}).json["request"]
            code = code or (mailbox(ways).codes or ["x"])[-1]
            post(ways, "/code/enter", {"request": request, "code": code})
    browser = TestApp(ways)
    for _again in range(2):
        browser.post("/auth/code", {"username": "zoe"}, headers=SAME_ORIGIN)
    storage.discard_connection(ways.database)


def restored(site, _):
    """A change of an address is undone."""
    rosa, now = make_user(site, "rosa"), time.time()
    former = FormerAddress("former@example.org", "2026-01-01T00:00:00+00:00", "link")
    mark = mark_change(rosa.id, int(now) + 3600)
    made = {"mount": "/auth", "now": now}
    link = make_restore_link(rosa.id, former, mark, site.site.settings, **made)
    token = link.partition("=")[2]
    TestApp(site).get(f"/auth/restore?token={token}", headers=BROWSER)
    post(site, "/restore", {"token": token})


def own_data(site, _):
    """The files of users with rows in every table."""
    for name in ("countess", "maryam", "frida"):
        logged_in(site, User.get(User.username == name)).get("/auth/data")


def terms(site, _):
    """Users accept the terms of a site that also demands a second factor."""
    settings = replace(site.site.settings, SECOND_FACTOR="all", **TERMS)
    demanding = AuthMiddleware(echo, settings, send_mail=Post())
    tess = make_user(demanding, "tess")
    lacking = bearer(demanding, tess, terms=False)
    post(demanding, "/terms", {"version": settings.TERMS_VERSION}, lacking)
    send(demanding, "GET", "/terms", lacking)
    logged_in(demanding, tess).get("/auth/data")
    storage.discard_connection(demanding.database)


def invitations(site, _):
    invited = Invitation(email="mary@example.org")
    link = issue_invitation(invited, None, site.site.settings, mount="/auth", now=time.time())
    token = link.partition("=")[2]
    send(site, "GET", "/verify", {}, None, {"QUERY_STRING": f"token={token}"})
    post(site, "/verify", {"token": token, "username": "Mary", "password": PASSWORD})


def providers(site, provider):
    """Logins at a provider, their ends, and accounts that are connected."""
    editors = Group.objects.create(name="Readers")
    for request in (*provider_requests(site, provider), *completions(site)):
        send(site, *request)
    for where, (accept, method, path, headers, *rest) in callbacks_of(site, site, provider):
        send(where, method, path, headers | accept, *rest)
    user = make_user(site, "norma")
    row = connected(site, user, provider="google", issuer=provider.issuer, subject="norma")
    for groups in (("Readers",), ()):
        identities.record_login(
            row, account("norma", issuer=provider.issuer, groups=groups), time.time()
        )
    for sid in ("", "s"):
        browser = logged_in_at_provider(site, user, row, sid=sid)
        for path in ("/auth/sessions", "/auth/close", "/auth/account", "/auth/confirm"):
            browser.get(path, headers=BROWSER, status="*")
    provider_sessions.provider_of("x")
    frida = remove_password(make_user(site, "frida"))
    row = connected(site, frida, provider="google", issuer=provider.issuer, subject="frida")
    browser = logged_in_at_provider(site, frida, row)
    browser.get("/auth/password", headers=BROWSER)
    browser.post("/auth/password", {"new_password": NEW}, headers=SAME_ORIGIN, status="*")
    for claims in ({"sub": "norma"}, {"sub": None, "sid": "s"}):
        token = provider.logout_token(**claims)
        form = {"Content-Type": "application/x-www-form-urlencoded"}
        send(site, "POST", "/oidc/google/logout", form, f"logout_token={token}")
    log_in(TestApp(site), provider, "norma")
    editors.delete_instance()
