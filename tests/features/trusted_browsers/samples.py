"""What tests of all features ask of trusted browsers."""

import time
from dataclasses import replace

import pytest
from webtest import TestApp

import wsgiauth
from tests.support.factors import add_app
from tests.support.sites import BROWSER, PASSWORD, SAME_ORIGIN, USERNAME
from tests.support.trusted import DAYS, first_step, second_step, trust
from wsgiauth.authentication.second_factors import SecondFactors
from wsgiauth.authentication.trusted_browsers import TrustedBrowsers
from wsgiauth.features.factors import recovery_codes
from wsgiauth.features.factors.factors import KINDS
from wsgiauth.features.trusted_browsers.browsers import Browsers
from wsgiauth.testing import make_user
from wsgiauth.web.clients import Client

AT_HOME = Client("192.0.2.1", "Mozilla/5.0", "")


def settings(folder, provider):
    """Let users trust a browser."""
    return {"TRUSTED_BROWSER_DAYS": str(DAYS)}


def fill(site, user):
    """Trust a browser."""
    browsers, factors = site.site.require(TrustedBrowsers), site.site.factors
    state, now = factors.state(user), site.site.tokens.now()
    browsers.trust("", user, state, factors, client=AT_HOME, now=now)


def drive(site, provider):
    """Let a browser become trusted, skip the second step, and be revoked."""
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


def trust_a_browser(scene):
    browsers = Browsers(replace(scene.settings, TRUSTED_BROWSER_DAYS=30))
    kinds = SecondFactors(KINDS, scene.settings)
    state = kinds.state(scene.ada)
    for _ in range(2):
        browsers.trust("", scene.ada, state, kinds, client=Client(), now=time.time())
    browsers.revoke(scene.ada, browsers.list_browsers(scene.ada, kinds, time.time())[0].handle)
    wsgiauth.end_sessions(scene.ada)


EVENTS = [
    pytest.param(
        trust_a_browser,
        [
            ("trust_given", USERNAME, None, None),
            ("trust_given", USERNAME, None, None),
            ("trust_ended", USERNAME, None, None),
            ("trust_ended", USERNAME, None, "all browsers"),
        ],
        id="trusted browsers",
    ),
]
