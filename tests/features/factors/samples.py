"""What tests of all features ask of second factors."""

import json
import time
from dataclasses import replace

import pytest
from webtest import TestApp

from tests.support.authenticators import (
    PASSKEYS,
    Authenticator,
    add_passkey,
    options_of,
    register_with_passkey,
)
from tests.support.driving import changed, post, send
from tests.support.event_scene import ADDRESS, CREDENTIALS
from tests.support.factors import FACTOR_KEY, add_app
from tests.support.mails import MAIL
from tests.support.sites import BROWSER, PASSWORD, SAME_ORIGIN, USERNAME
from tests.support.tabs import SECOND, named
from wsgiauth.accounts import update_user
from wsgiauth.accounts.models import PROVEN_BY_LINK
from wsgiauth.authentication import pending
from wsgiauth.authentication.browser_keys import LOG_IN as PASSKEY_ALONE
from wsgiauth.features.factors import factors, passkeys, recovery_codes, totp
from wsgiauth.features.factors.passkeys import PasskeyAccount
from wsgiauth.features.factors.passkeys.relying_party import RelyingParty
from wsgiauth.storage.models import utc_now
from wsgiauth.testing import bearer, mailbox, make_user

CODES = {"LOGIN_CODES": True, "MAIL_URL": "memory:", "MAIL_FROM": "site@example.org"}
JSON = {"Content-Type": "application/json"}


def settings(folder, provider):
    """Offer apps and passkeys."""
    return {"FACTOR_KEY": FACTOR_KEY, "PASSKEYS": "on"}


def fill(site, user):
    """Add a factor of each kind."""
    add_app(site, user, name=f"app of {user.username}")
    give_passkey(site, user, f"passkey of {user.username}")
    recovery_codes.replace(user, rounds=4)
    PasskeyAccount.insert(user=user.id, registered_at=1).execute()


def authenticator():
    """Return an authenticator that is used at the host of PUBLIC_URL."""
    made = Authenticator()
    made.host, made.origin = "example.org", MAIL["PUBLIC_URL"]
    return made


def give_passkey(site, user, name):
    """Add a passkey of the host of PUBLIC_URL, and return its authenticator."""
    return add_passkey(site, user, name, authenticator())


def drive(site, provider):
    """Add second factors and passkeys, use and remove them."""
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
    key = give_passkey(site, grace, "Laptop")
    client = TestApp(site)
    options = options_of(client.get("/auth/login", headers=BROWSER))
    script = {**SAME_ORIGIN, "Accept": "application/json"}
    client.post("/auth/login", {"credential": key.get(options)}, headers=script, status=200)
    recovery_codes.replace(grace, rounds=4)
    post(site, "/recovery-codes", {"saved": True}, bearer(site, grace))
    (laptop,) = passkeys.list_passkeys(grace)
    post(site, "/passkeys", {"rename": laptop.id, "name": "Key"}, bearer(site, grace))
    for device in (*totp.devices(grace), *passkeys.list_passkeys(grace)):
        path = "/totp" if isinstance(device, totp.Totp) else "/passkeys"
        post(site, path, {"remove": device.id}, bearer(site, grace))
    add_app(site, grace)
    lin = make_user(site, "lin", is_verified=True)
    register_with_passkey(site, lin, authenticator())
    send(site, "GET", "/data", bearer(site, lin))
    site.site.factors.first_of(lin)
    with changed(site, SECOND_FACTOR="all") as demanding:
        bearer(demanding, make_user(demanding, "sven"))
    with changed(site, FACTOR_KEY=None, PASSKEYS=False) as without_factors:
        without_factors.site.factors.risks()


def commands(folder):
    """Return the command that removes factors, those of `drive`."""
    return ("removefactor grace",)


WHOLE_READS = {
    **{
        ("factors.py", "count_users", f"wsgiauth_{table}"): "a figure, which metrics keep a while"
        for table in ("totp", "passkey", "user")
    },
    ("passkeys/__init__.py", "is_used", "wsgiauth_passkey"): "`check` asks whether there is one",
    ("totp.py", "count_by_key", "wsgiauth_totp"): "`check` counts",
    ("totp.py", "is_used", "wsgiauth_totp"): "a start stops at the first app",
}
PUBLIC_COLUMNS = (
    *("wsgiauth_passkey.credential_id", "wsgiauth_passkey.public_key"),
    "wsgiauth_passkey.user_handle",
)


def use_passkey(scene):
    now = time.time()
    party = RelyingParty(replace(scene.settings, **PASSKEYS))
    key = Authenticator()
    key.count = 7
    answer = key.create(party.creation_options(scene.ada, now))
    party.register(scene.ada, "Laptop", answer, now)
    key.count = 3
    answer = key.get(party.request_options(PASSKEY_ALONE, now=now))
    presented = party.read(answer, PASSKEY_ALONE, now=now)
    assert party.accept(presented, now)
    factors.remove(scene.ada)


def register(scene):
    scene.client = scene.client_of(scene.made_anew(**PASSKEYS))
    key, page = Authenticator(), scene.client.get("/auth/register", headers=BROWSER)
    sent = {
        "username": "lin",
        "email": "lin@example.org",
        "credential": key.create(options_of(page)),
    }
    scene.client.post("/auth/register", sent, headers=SAME_ORIGIN)


def skip_the_passkey(scene):
    made = scene.made_anew(**PASSKEYS, **CODES)
    register_with_passkey(made, scene.ada)
    update_user(scene.ada, email_verified_at=utc_now(), email_verified_by=PROVEN_BY_LINK)
    scene.client = scene.client_of(made)
    scene.client.post("/auth/code", {"username": USERNAME}, headers=SAME_ORIGIN)
    sent = {"code": mailbox(made).codes[-1]}
    scene.client.post("/auth/code/enter", sent, headers=SAME_ORIGIN)


def use_factors(scene):
    add_app(scene.site, scene.ada)
    assert recovery_codes.use(scene.ada, recovery_codes.replace(scene.ada, rounds=4)[0])
    factors.remove(scene.ada)


def guess_codes(scene):
    scene.client = scene.client_of(scene.made_anew(FACTOR_KEY=FACTOR_KEY))
    add_app(scene.site, scene.ada)
    for _ in range(5):
        scene.log_in({**CREDENTIALS, "code": "x"}, status=401)


EVENTS = [
    pytest.param(
        use_passkey,
        [
            ("factor_added", USERNAME, None, "passkey"),
            ("passkey_cloned", USERNAME, None, None),
            ("factor_removed", USERNAME, None, "passkey"),
        ],
        id="passkey",
    ),
    pytest.param(
        register,
        [
            ("registration", "lin", ADDRESS, "passkey"),
            ("login", "lin", ADDRESS, "hwk user"),
        ],
        id="registration by passkey",
    ),
    pytest.param(
        skip_the_passkey,
        [
            ("names_changed", USERNAME, None, "email verified"),
            ("passkey_skipped", USERNAME, ADDRESS, "email"),
            ("login", USERNAME, ADDRESS, "email"),
        ],
        id="a code instead of the passkey",
    ),
    pytest.param(
        use_factors,
        [
            ("factor_added", USERNAME, None, "otp"),
            ("factor_added", USERNAME, None, "recovery codes"),
            ("recovery_code_used", USERNAME, None, None),
            ("factor_removed", USERNAME, None, "otp"),
        ],
        id="second factor",
    ),
    pytest.param(
        guess_codes,
        [
            ("factor_added", USERNAME, None, "otp"),
            *[("second_factor_failed", USERNAME, ADDRESS, None)] * 5,
            ("factor_guessed", USERNAME, ADDRESS, None),
        ],
        id="wrong codes",
    ),
]
