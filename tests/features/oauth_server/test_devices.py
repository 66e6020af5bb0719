"""Devices: what they ask for, what a person sees and decides, and what they get (RFC 8628)."""

from urllib.parse import urlsplit

import jwt
import pytest
from webtest import TestApp

from tests.support.factors import FACTOR_KEY
from tests.support.logins import make_stale
from tests.support.oauth_apps import DEVICE_GRANT, USERINFO, App
from tests.support.service_keys import MAPS, MAPS_TOO, REPORTS
from tests.support.sites import BROWSER, PASSWORD, SAME_ORIGIN
from tests.support.tables import row_by_row
from wsgiauth import Group, User
from wsgiauth.accounts import update_user
from wsgiauth.accounts.tables import Session
from wsgiauth.events import record
from wsgiauth.exceptions import INSUFFICIENT_AUTHENTICATION as STALE
from wsgiauth.features.oauth_server import devices, grants
from wsgiauth.features.oauth_server.devices import ALPHABET, LENGTH, LIFETIME
from wsgiauth.features.oauth_server.limits import DEVICE_CODES
from wsgiauth.features.oauth_server.tables import Client, Consent, DeviceRequest, Grant
from wsgiauth.testing import api_key, logged_in
from wsgiauth.web.clients import Client as Sender

DEVICE, PAGE = "/auth/oauth/device", "/auth/device"
TELEVISION = {"REMOTE_ADDR": "192.0.2.7", "HTTP_USER_AGENT": "Mozilla/5.0 (X11; Linux) TV"}


@pytest.fixture
def tv(site):
    """Return the app of a television, which has no secret."""
    return App(site, "TV", "com.example.tv:/unused", is_public=True)


def begin(app, scope="openid profile", status=200, device=TELEVISION, **fields):
    """Let a device ask for its codes."""
    sent = {"client_id": app.id, "scope": scope, **fields}
    return app.program.post(DEVICE, sent, extra_environ=device, status=status).json


def poll(app, codes, status=200):
    """Let the device ask for its tokens."""
    fields = {"grant_type": DEVICE_GRANT, "device_code": codes["device_code"]}
    return app.ask(status, fields)


def ask_person(browser, codes):
    """Let a person type the code; return the page with the question."""
    page = browser.get(PAGE, headers=BROWSER)
    form = next(each for each in page.forms.values() if "user_code" in each.fields)
    form["user_code"] = codes["user_code"]
    return form.submit(headers=BROWSER)


def decide(browser, codes, decision):
    """Let a person type the code and decide; return the page that they see in the end."""
    question = ask_person(browser, codes)
    form = next(each for each in question.forms.values() if "scope" in each.fields)
    return form.submit("decision", value=decision, headers=BROWSER).follow(headers=BROWSER)


def confirm(browser):
    """Prove the identity again, which gives the session another id."""
    browser.post("/auth/confirm", {"password": PASSWORD}, headers=SAME_ORIGIN, status=303)


def log_out(browser):
    browser.post("/auth/logout", headers=SAME_ORIGIN, status=303)


def test_a_device_gets_its_codes(tv):
    codes = begin(tv)
    assert codes["verification_uri"] == "http://localhost/auth/device"
    assert codes["verification_uri_complete"].endswith(f"?user_code={codes['user_code']}")
    assert (codes["expires_in"], codes["interval"]) == (600, 5)
    plain = codes["user_code"].replace("-", "")
    assert len(plain) == LENGTH
    assert set(plain) <= set(ALPHABET)
    stored = DeviceRequest.get()
    assert codes["device_code"] not in str(stored.__data__)


def test_a_device_gets_tokens_after_a_person_has_allowed_it(tv, browser, clock):
    codes = begin(tv)
    assert poll(tv, codes, 400)["error"] == "authorization_pending"
    assert "The device has been allowed." in decide(browser, codes, "allow")
    clock.now += 5
    tokens = poll(tv, codes)
    header = {"Authorization": f"Bearer {tokens['access_token']}"}
    assert TestApp(tv.site).get(USERINFO, headers=header).json["preferred_username"] == "Ada"
    assert tokens["scope"] == "openid profile"
    assert tv.refresh(tokens["refresh_token"])["scope"] == "openid profile"


def test_the_question_names_the_permissions_that_the_user_cannot_give(site, browser):
    radio = App(site, "Radio", "x.y:/z", is_public=True, scopes=["openid", "a.read", "a.write"])
    page = ask_person(browser, begin(radio, "openid a.write a.read"))
    assert "and does not get them: a.write, a.read" in page.html.main.text


def test_a_device_that_a_person_has_refused_gets_nothing(tv, browser):
    codes = begin(tv)
    answer = decide(browser, codes, "refuse")
    assert "The device has been refused." in answer
    assert 'name="user_code"' not in answer, "what is done asks for nothing more"
    assert poll(tv, codes, 400)["error"] == "access_denied"
    assert Grant.select().count() == 0


@pytest.mark.promise(88)
def test_a_device_code_works_once_and_a_second_use_ends_what_it_gave(tv, browser, clock):
    codes = begin(tv)
    decide(browser, codes, "allow")
    tokens = poll(tv, codes)
    clock.now += 5
    assert poll(tv, codes, 400)["error"] == "invalid_grant"
    assert tv.refresh(tokens["refresh_token"], 400)["error"] == "invalid_grant"


def test_a_device_code_is_of_its_client(site, tv, browser):
    codes = begin(tv)
    decide(browser, codes, "allow")
    other = App(site, "Radio", "com.example.radio:/unused", is_public=True)
    assert poll(other, codes, 400)["error"] == "invalid_grant"


def test_a_device_code_expires(tv, browser, clock):
    codes = begin(tv)
    clock.now += LIFETIME
    assert poll(tv, codes, 400)["error"] == "expired_token"
    sent = {"user_code": codes["user_code"]}
    assert browser.post_json(PAGE, sent, status=404).json["code"] == "no_such_device"


def test_an_early_question_costs_a_device_nothing_but_that_answer(tv, browser, clock):
    codes = begin(tv)
    expected = {0: "authorization_pending", 4: "slow_down", 5: "authorization_pending"}
    expected |= {9: "slow_down", 10: "authorization_pending", 14: "slow_down"}
    begun_at = clock.now
    for seconds, error in expected.items():
        clock.now = begun_at + seconds
        answer = poll(tv, codes, 400)
        assert answer["error"] == error, seconds
        is_early = error == "slow_down"
        assert answer["error_description"] == (
            "the interval stays 5 seconds" if is_early else "ask again in 5 seconds"
        )
    decide(browser, codes, "allow")
    poll(tv, codes)


def test_a_device_without_patience_writes_once_an_interval_and_can_still_get_its_tokens(
    tv, clock, queries
):
    codes = begin(tv)
    poll(tv, codes, 400)
    sent = queries(lambda: poll(tv, codes, 400))
    assert not [each for each in sent if each.startswith("UPDATE")]
    for _ in range(30):
        clock.now += 1
        poll(tv, codes, 400)
    clock.now += 5
    assert poll(tv, codes, 400)["error"] == "authorization_pending"


REFUSED = {
    "a scope that the client does not have": ({"scope": "openid groups"}, "invalid_scope"),
    "a scope that is too long": ({"scope": "openid " * 300}, "invalid_scope"),
    "an unknown service": ({"resource": "other"}, "invalid_target"),
}


@row_by_row(("fields", "error"), REFUSED.values(), ids=REFUSED)
def test_a_request_of_a_device_is_refused(tv, fields, error):
    assert begin(tv, status=400, **fields)["error"] == error


def test_a_device_needs_a_client(site):
    answer = TestApp(site).post(DEVICE, {"client_id": "0" * 20}, status=401)
    assert answer.json["error"] == "invalid_client"


def test_a_question_without_a_device_code_is_refused(tv):
    assert tv.ask(400, {"grant_type": DEVICE_GRANT})["error"] == "invalid_request"


SPELLINGS = {
    "as shown": lambda code: code,
    "without the hyphen": lambda code: code.replace("-", ""),
    "in lower case, with spaces": lambda code: f" {code.lower().replace('-', ' ')} ",
    "in full-width letters": lambda code: "".join(
        chr(ord(each) + 0xFEE0) if each != "-" else "ー" for each in code
    ),
}


@row_by_row("spelling", SPELLINGS.values(), ids=SPELLINGS)
def test_the_code_is_read_as_people_type_it(tv, browser, spelling):
    codes = begin(tv)
    codes["user_code"] = spelling(codes["user_code"])
    assert "The device has been allowed." in decide(browser, codes, "allow")


@pytest.mark.promise(94)
def test_the_page_says_which_device_asks_and_from_where_and_warns(tv, browser):
    codes = begin(tv)
    shown = ask_person(browser, codes).html.find("main").get_text(" ", strip=True)
    for each in ("TV", "192.0.2.7", codes["user_code"], "deceiving you", "Ada"):
        assert each in shown
    assert "See your username" in shown
    assert "Its system" not in shown  # its name is that of no browser


@pytest.mark.promise(94)
def test_the_page_names_the_browser_of_a_device_that_has_one(tv, browser):
    codes = begin(tv, device={**TELEVISION, "HTTP_USER_AGENT": "Firefox/140.0 (X11; Linux)"})
    shown = ask_person(browser, codes).html.find("main").get_text(" ", strip=True)
    assert "Its system Firefox on Linux" in shown


@pytest.mark.promise(94)
def test_a_link_fills_in_the_code_and_does_not_say_whether_a_device_waits(tv, browser):
    codes = begin(tv)
    page = browser.get(codes["verification_uri_complete"], headers=BROWSER)
    assert (
        page.html.find("input", {"name": "user_code", "type": "text"})["value"]
        in (codes["user_code"])
    )
    assert "TV" not in page.html.get_text()
    assert poll(tv, codes, 400)["error"] == "authorization_pending"


@pytest.mark.promise(94)
def test_guesses_of_a_user_have_to_wait(tv, browser):
    begin(tv)
    statuses = [
        browser.post_json(PAGE, {"user_code": "BBBB-BBBB"}, status="*").status_int
        for _ in range(DEVICE_CODES + 1)
    ]
    assert statuses == [404] * DEVICE_CODES + [429]


def test_a_right_code_is_no_guess(tv, browser):
    sent = {"user_code": begin(tv)["user_code"]}
    for _ in range(DEVICE_CODES + 1):
        browser.post_json(PAGE, sent)


@pytest.mark.promise(94)
def test_the_guesses_that_the_limits_admit_find_a_code_hardly_ever():
    """A thousand accounts guess at a thousand devices that wait, for as long as these do."""
    admitted = DEVICE_CODES + LIFETIME / 60 * 2  # the waits double from one second
    chance = 1000 * 1000 * admitted / len(ALPHABET) ** LENGTH
    assert chance < 0.002


def test_a_program_can_decide_for_its_user(tv, browser):
    codes = begin(tv)
    sent = {"user_code": codes["user_code"]}
    question = browser.post_json(PAGE, sent).json
    assert (question["app"], question["scopes"]) == ("TV", ["openid", "profile"])
    decision = {"decision": "allow", "scope": "openid"}
    browser.post_json(PAGE, {**sent, **decision})
    assert poll(tv, codes)["scope"] == "openid"


def test_a_form_without_a_code_is_refused(browser):
    answer = browser.post_json(PAGE, {}, status=422).json
    assert answer["errors"] == {"user_code": ["Enter the code that the device shows."]}


def test_an_unknown_decision_is_refused(tv, browser):
    sent = {"user_code": begin(tv)["user_code"], "decision": "perhaps"}
    assert "decision" in browser.post_json(PAGE, sent, status=422).json["errors"]


def test_a_device_is_decided_once(tv, browser):
    codes = begin(tv)
    decide(browser, codes, "refuse")
    sent = {"user_code": codes["user_code"], "decision": "allow", "scope": "openid"}
    assert browser.post_json(PAGE, sent, status=404).json["code"] == "no_such_device"


@pytest.mark.promise(90)
@pytest.mark.parametrize("decision", ["allow", "refuse"])
def test_a_decision_that_comes_too_late_changes_nothing(tv, browser, monkeypatch, caplog, decision):
    """Another one was taken after this one had found the device."""
    caplog.set_level("INFO")
    codes = begin(tv)
    find = devices.find

    def find_and_refuse(*args):
        row = find(*args)
        DeviceRequest.update(is_refused=True).execute()
        return row

    monkeypatch.setattr(devices, "find", find_and_refuse)
    sent = {"user_code": codes["user_code"], "decision": decision, "scope": "openid"}
    assert browser.post_json(PAGE, sent, status=404).json["code"] == "no_such_device"
    assert Consent.select().count() == 0
    assert "event=device_" not in caplog.text


@pytest.mark.promise(90)
@pytest.mark.parametrize("decision", ["", "allow"])
def test_a_device_of_a_group_asks_only_its_members(site, browser, decision):
    staff = Group.objects.create(name="Staff")
    codes = begin(App(site, "TV", "com.example.tv:/unused", is_public=True, group=staff))
    sent = {"user_code": codes["user_code"], "decision": decision, "scope": "openid"}
    answer = browser.post_json(PAGE, sent, status=403).json
    assert (answer["code"], answer["detail"]) == ("forbidden", "You cannot use this app")
    assert Consent.select().count() == 0


@pytest.mark.promise(90)
def test_a_device_of_a_trusted_client_needs_the_consent_of_a_person(site, browser):
    trusted = App(site, is_trusted=True)
    codes = begin(trusted)
    assert poll(trusted, codes, 400)["error"] == "authorization_pending"
    assert "The device has been allowed." in decide(browser, codes, "allow")
    assert "access_token" in poll(trusted, codes)


ENDINGS = {
    "a logout": lambda browser, _: browser.post_json("/auth/logout", {}),
    "a revoked app": lambda browser, app: browser.post_json("/auth/apps", {"revoke": app.id}),
    "a new password": lambda *_: User.update(security_stamp=User.security_stamp + 1).execute(),
    "a deactivation": lambda *_: update_user(User.get(), is_active=False),
}


@pytest.mark.promise(92)
@pytest.mark.parametrize("end", ENDINGS.values(), ids=ENDINGS)
def test_a_device_that_was_allowed_gets_nothing_after(tv, browser, end):
    codes = begin(tv)
    decide(browser, codes, "allow")
    end(browser, tv)
    assert poll(tv, codes, 400)["error"] == "invalid_grant"
    assert Grant.select().count() == 0


@pytest.mark.every_database
@pytest.mark.promise(92)
@pytest.mark.parametrize("is_logged_out", [False, True], ids=["logged in", "logged out"])
def test_a_device_that_was_allowed_outlives_a_new_proof_of_identity(tv, browser, is_logged_out):
    codes = begin(tv)
    decide(browser, codes, "allow")
    for _ in range(2):
        confirm(browser)
    if is_logged_out:
        log_out(browser)
        assert poll(tv, codes, 400)["error"] == "invalid_grant"
        return
    poll(tv, codes)
    assert Grant.get().session_id == Session.get().id


@pytest.mark.promise(88)
def test_a_device_code_is_used_up_for_as_long_as_it_lasts(tv, browser, clock):
    """The row that says so is kept, whenever the session ends."""
    codes = begin(tv)
    decide(browser, codes, "allow")
    Session.update(ends_at=int(clock.now) + 1).execute()
    poll(tv, codes)
    assert Grant.get().expires_at >= clock.now + LIFETIME


def test_the_codes_are_not_in_the_logs(tv, clock):
    made = devices.begin(Client.get(), "openid", "", Sender("192.0.2.7"), clock.now)
    assert repr(made) == "<MadeDevice>"


@pytest.mark.promise(86)
def test_the_data_of_a_user_have_the_devices_that_the_user_has_allowed(site, tv, browser, ada):
    decide(browser, begin(tv), "allow")
    begin(tv)
    (device,) = devices.own_devices(ada, site.site.settings)
    assert (device["app"], device["scopes"]) == ("TV", ["openid", "profile"])
    assert (device["address"], device["user_agent"]) == (
        TELEVISION["REMOTE_ADDR"],
        TELEVISION["HTTP_USER_AGENT"],
    )


@pytest.mark.promise(88)
def test_a_confidential_client_asks_with_its_secret(site):
    app = App(site)
    for secret in ({}, {"client_secret": "x"}):
        sent = {"client_id": app.id, "scope": "openid", **secret}
        assert TestApp(site).post(DEVICE, sent, status=401).json["error"] == "invalid_client"


def test_requests_of_an_address_have_to_wait(tv, settings):
    for _ in range(settings.LOGIN_FAILURES_PER_ADDRESS):
        begin(tv)
    assert begin(tv, status=429)["code"] == "throttled"


LONG = {
    "a code": {"user_code": "B" * 5000},
    "a code that grows when it is normalised": {
        "user_code": "\N{ARABIC LIGATURE SALLALLAHOU ALAYHE WASALLAM}" * 100
    },
    "no letters of a code": {"user_code": "AEIO-UY12"},
    "letters of which upper case has two": {"user_code": "ßßßß"},
}


@row_by_row("sent", LONG.values(), ids=LONG)
def test_what_is_no_code_finds_no_device(tv, browser, sent):
    begin(tv)
    assert browser.post_json(PAGE, sent, status=404).json["code"] == "no_such_device"


def test_a_long_device_code_is_wrong(tv):
    codes = begin(tv)
    codes["device_code"] += "x" * 5000
    assert poll(tv, codes, 400)["error"] == "invalid_grant"


@pytest.mark.promise(90)
@pytest.mark.parametrize("further", [{"SECOND_FACTOR": "all", "FACTOR_KEY": FACTOR_KEY}], ids=[""])
def test_a_session_without_its_second_factor_decides_nothing(site, ada, tv):
    codes = begin(tv)
    browser = logged_in(site, ada, second_factor=False)
    for decision in ("", "allow", "refuse"):
        sent = {"user_code": codes["user_code"], "decision": decision, "scope": "openid"}
        browser.post_json(PAGE, sent, status=401)
    assert poll(tv, codes, 400)["error"] == "authorization_pending"


@pytest.mark.promise(90)
def test_an_api_key_decides_nothing(site, ada, tv):
    sent = {"user_code": begin(tv)["user_code"], "decision": "allow", "scope": "openid"}
    answer = TestApp(site).post_json(PAGE, sent, headers=api_key(site, ada, []), status=403)
    assert answer.json["code"] == "insufficient_scope"


@pytest.mark.promise(90)
def test_a_form_of_another_site_decides_nothing(tv, browser):
    sent = {"user_code": begin(tv)["user_code"], "decision": "allow", "scope": "openid"}
    headers = {"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"}
    answer = browser.post(PAGE, sent, headers=headers, status=403)
    assert answer.json["code"] == "cross_origin"
    assert Consent.select().count() == 0


@pytest.mark.promise(90)
def test_scopes_that_the_page_did_not_show_are_not_allowed(tv, browser):
    codes = begin(tv, scope="openid profile")
    sent = {"user_code": codes["user_code"], "decision": "allow", "scope": "openid email groups"}
    browser.post_json(PAGE, sent)
    assert poll(tv, codes)["scope"] == "openid"


def test_the_page_needs_a_login(client):
    for headers in (BROWSER, {}, {"Accept": "application/json"}):
        answer = client.get(PAGE, headers=headers, status=302)
        assert answer.location.endswith("next=%2Fauth%2Fdevice")


@pytest.mark.promise(90)
@pytest.mark.parametrize(("asked", "audience"), [(REPORTS, REPORTS), (MAPS_TOO, MAPS)])
def test_a_device_gets_a_token_for_a_service_that_the_page_names(tv, browser, asked, audience):
    codes = begin(tv, resource=asked)
    sent = {"user_code": codes["user_code"]}
    shown = " ".join(browser.post_json(PAGE, sent).json["scopes"])
    without = {**sent, "decision": "allow", "scope": "openid profile"}
    assert "decision" in browser.post_json(PAGE, without, status=422).json["errors"]
    browser.post_json(PAGE, {**without, "scope": shown})
    claims = jwt.decode(poll(tv, codes)["access_token"], options={"verify_signature": False})
    assert claims["aud"] == audience


@pytest.mark.promise(90)
def test_lasting_access_of_a_device_needs_a_recent_proof(site, browser):
    app = App(site, "TV", is_public=True, scopes=["openid", "offline_access"])
    sent = {"user_code": begin(app, scope="openid offline_access")["user_code"]}
    make_stale()
    form = {**sent, "decision": "allow", "scope": "openid offline_access"}
    assert browser.post_json(PAGE, form, status=401).json["code"] == STALE
    question = browser.get(f"{PAGE}?user_code={sent['user_code']}", headers=BROWSER)
    first = next(each for each in question.forms.values() if "user_code" in each.fields)
    page = first.submit(headers=BROWSER)
    second = next(each for each in page.forms.values() if "scope" in each.fields)
    answer = second.submit("decision", value="allow", headers=BROWSER)
    assert urlsplit(answer.location).path == "/auth/confirm"
    assert sent["user_code"] in answer.location


@pytest.mark.promise(92)
@pytest.mark.promise(94)
def test_the_first_device_of_an_app_is_also_its_consent_in_one_event(site, tv, browser):
    seen = []
    record(site.database, [lambda event, details: seen.append((event.name, dict(details)))])
    for scope in ("openid", "openid", "openid email"):
        decide(browser, begin(tv, scope), "allow")
    device = {"client": "TV", "client_host": ""}
    assert seen == [
        ("device_allowed", {**device, "scopes": scopes})
        for scopes in ("openid", "openid", "openid email")
    ]


def test_a_device_that_was_revoked_before_it_asked_gets_nothing(tv, browser, ada):
    codes = begin(tv)
    decide(browser, codes, "allow")
    grants.revoke(ada, tv.id, 1)
    decide(browser, begin(tv), "allow")
    assert poll(tv, codes, 400)["error"] == "invalid_grant"
