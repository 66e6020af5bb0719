"""What tests of all features ask of logins with other providers."""

import time

import pytest
from webtest import TestApp

from tests.features.providers.answers import provider_requests
from tests.features.providers.callbacks import callbacks_of, completions
from tests.support.declared import WAYS_IN
from tests.support.driving import send
from tests.support.event_scene import ADDRESS
from tests.support.federated import connected, logged_in_at_provider, remove_password
from tests.support.identities import ISSUER, account
from tests.support.provider_logins import log_in
from tests.support.sites import BROWSER, SAME_ORIGIN, USERNAME
from wsgiauth import Group
from wsgiauth.authentication.ways_in import WaysIn
from wsgiauth.features.providers import identities, provider_sessions
from wsgiauth.features.providers.provider_logins import disconnect as disconnect_identity
from wsgiauth.testing import make_user

DISCONNECTED = "disconnected by a command"
NEW_PASSWORD = "another unrelated phrase"


def settings(folder, provider):
    """Offer a provider."""
    return {"OIDC_PROVIDERS": provider}


def fill(site, user):
    """Connect an account, and log in with it."""
    name = user.username
    identity = connected(site, user, subject=f"{name} elsewhere", name=f"{name} there")
    logged_in_at_provider(site, user, identity, sid=f"session of {name} elsewhere")


def drive(site, provider):
    """Log in at a provider, end that, and connect accounts."""
    connected(site, make_user(site, "ursula"), subject=DISCONNECTED)
    editors = Group.objects.create(name="Readers")
    for request in (*provider_requests(site, provider), *completions(site)):
        send(site, *request[:6])
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
    began = provider_sessions.ProviderSession.get()
    again = provider_sessions.ProviderLogin(began.identity_id, began.sid, authenticated_at=None)
    again.record(began.session_id, is_first=False)
    frida = remove_password(make_user(site, "frida"))
    row = connected(site, frida, provider="google", issuer=provider.issuer, subject="frida")
    browser = logged_in_at_provider(site, frida, row)
    browser.get("/auth/password", headers=BROWSER)
    browser.post("/auth/password", {"new_password": NEW_PASSWORD}, headers=SAME_ORIGIN, status="*")
    for claims in ({"sub": "norma"}, {"sub": None, "sid": "s"}):
        token = provider.logout_token(**claims)
        form = {"Content-Type": "application/x-www-form-urlencoded"}
        send(site, "POST", "/oidc/google/logout", form, f"logout_token={token}")
    log_in(TestApp(site), provider, "norma")
    editors.delete_instance()


def commands(folder):
    """Return the commands, about a user of `drive`."""
    handle = identities.identity_id(ISSUER, DISCONNECTED)[: identities.HANDLE_LENGTH]
    return ("identities ursula", f"unlink ursula {handle}")


WHOLE_READS = {
    ("questions.py", "count_stranded", "wsgiauth_identity"): "`check` counts",
    ("questions.py", "count_stranded", "wsgiauth_passkey"): "`check` counts",
}
WITHOUT_JSON = {"/oidc/{provider}/logout": 400}  # answers everything that is no token alike


def path_values(site, user):
    """Return the provider."""
    return {"provider": "google"}


def connect_provider(scene):
    identities.connect(scene.ada, account(name="told by the provider"), time.time())
    [row] = identities.rows_of(scene.ada)
    disconnect_identity(scene.ada, row.handle, WaysIn(WAYS_IN, scene.settings))


def log_in_with_a_provider_that_is_down(scene):
    entry = "google:http://client:secret@127.0.0.1:1"
    scene.limit(OIDC_PROVIDERS=(entry,), PUBLIC_URL="https://example.org")
    scene.client.post_json("/auth/oidc/google", {}, status=503)


EVENTS = [
    pytest.param(
        connect_provider,
        [
            ("identity_connected", USERNAME, None, "example"),
            ("identity_disconnected", USERNAME, None, "example"),
        ],
        id="account of a provider",
    ),
    pytest.param(
        log_in_with_a_provider_that_is_down,
        [("provider_failed", None, ADDRESS, "google: discovery: connection")],
        id="provider that is down",
    ),
]
