"""What a session without the terms has passed on, and what it cannot get: tokens, keys, apps."""

from urllib.parse import urlencode, urlsplit

import jwt
import pytest
from webtest import TestApp

from tests.features.terms.sites import LATER, PAGE, VERSION, known_to
from tests.support.mails import Clock
from tests.support.oauth_apps import DEVICE_GRANT, USERINFO, App, answer_in, as_provider, walk
from tests.support.service_keys import REPORTS, write_key
from tests.support.sites import BROWSER, PASSWORD, SAME_ORIGIN, USERNAME
from wsgiauth.accounts.tables import Session
from wsgiauth.features.oauth_server.tables import Grant
from wsgiauth.features.terms import acceptances
from wsgiauth.storage import context
from wsgiauth.testing import api_key, bearer, logged_in

INTROSPECT, TOKEN = "/auth/introspect", "/auth/token"
OFFLINE = "openid profile offline_access"


@pytest.fixture
def settings(settings, tmp_path):
    """Return settings of a provider, which also issues service tokens."""
    return as_provider(settings, write_key(tmp_path / "key"), SERVICES=(REPORTS,))


@pytest.fixture
def ada(site, ada):
    """Return Ada, who has accepted the terms."""
    ada = known_to(site, ada)
    acceptances.accept(ada, VERSION)
    return ada


@pytest.fixture
def newer(make_site, site, ada):
    """Return the same site after a restart with a later version."""
    return make_site(version=LATER)


@pytest.fixture
def wiki(site):
    """Return an app that can have lasting access."""
    return App(site, scopes=["openid", "profile", "email", "offline_access"])


@pytest.fixture
def browser(newer, ada):
    """Return Ada's browser, in which she has not accepted the later version."""
    return logged_in(newer, known_to(newer, ada), terms=False)


def accept(browser):
    """Accept on the page to which a browser was led; return where it leads on."""
    browser.forms[0]["accept"] = True
    return browser.forms[0].submit(headers=SAME_ORIGIN, status=303)


# Service tokens and introspection


@pytest.fixture
def service(site, grace):
    """Return the credentials of a service that asks about tokens."""
    grace = known_to(site, grace)
    grace.grant("wsgiauth.introspect")
    return api_key(site, grace, ["wsgiauth.introspect"])


def is_active(site, service, token):
    return TestApp(site).post_json(INTROSPECT, {"token": token}, headers=service).json["active"]


@pytest.mark.every_database
@pytest.mark.promise(96)
def test_a_session_is_inactive_and_its_service_token_is_not_concerned(site, newer, ada, service):
    headers = bearer(site, ada)
    session = headers["Authorization"].removeprefix("Bearer ")
    asked = TestApp(site).post_json(TOKEN, {"audience": REPORTS}, headers=headers, status=200)
    derived = asked.json["access_token"]
    assert [is_active(site, service, each) for each in (session, derived)] == [True, True]
    assert [is_active(newer, service, each) for each in (session, derived)] == [False, True]
    refused = TestApp(newer).post_json(TOKEN, {"audience": REPORTS}, headers=headers, status=403)
    assert refused.json["code"] == "terms_required"
    TestApp(newer).post_json(PAGE, {"version": LATER}, headers=headers)
    assert is_active(newer, service, session)
    TestApp(newer).post_json(TOKEN, {"audience": REPORTS}, headers=headers, status=200)


def test_an_api_key_is_not_concerned(newer, service, grace):
    assert TestApp(newer).get("/", headers=service).json["user"] == "Grace"
    TestApp(newer).get("/auth/me", headers=service, status=200)


# Apps


@pytest.mark.every_database
@pytest.mark.promise(96)
@pytest.mark.parametrize("scope", [OFFLINE, "openid profile"], ids=["offline", "with the session"])
def test_the_grants_that_apps_have_go_on(site, newer, ada, wiki, service, scope):
    tokens = wiki.log_in(logged_in(site, ada), scope=scope)
    wiki.program.app = newer
    answer = wiki.refresh(tokens["refresh_token"])
    headers = {"Authorization": f"Bearer {answer['access_token']}"}
    profile = TestApp(newer).get(USERINFO, headers=headers, status=200).json
    assert profile["preferred_username"] == USERNAME
    assert is_active(newer, service, answer["access_token"])


@pytest.mark.promise(96)
def test_a_code_from_before_makes_no_grant_until_the_terms_are_accepted(site, newer, ada, wiki):
    code = answer_in(walk(logged_in(site, ada), wiki.url()))["code"]
    wiki.program.app = newer
    assert wiki.exchange(code, 400)["error"] == "invalid_grant"
    with context.using(newer.database):
        acceptances.accept(known_to(newer, ada), LATER)
    assert wiki.exchange(code)["access_token"]


@pytest.mark.promise(96)
def test_an_app_that_must_not_ask_gets_an_error(browser, wiki):
    answer = browser.get(wiki.url(prompt="none"), headers=BROWSER, status=303)
    assert answer_in(answer.location)["error"] == "interaction_required"
    assert not Grant.select().exists()


@pytest.mark.promise(96)
def test_an_app_gets_its_code_after_the_terms(browser, wiki, newer):
    wiki.program.app = newer
    answer = browser.get(wiki.url(), headers=BROWSER, status=303)
    assert urlsplit(answer.location).path == PAGE
    page = answer.follow(headers=BROWSER)
    policy = page.headers["Content-Security-Policy"].split("; ")
    assert "form-action 'self' https://wiki.example.org" in policy
    back = accept(page)
    assert back.location == wiki.url()
    code = answer_in(walk(browser, back.location))["code"]
    claims = jwt.decode(wiki.exchange(code)["id_token"], options={"verify_signature": False})
    assert claims["aud"] == wiki.id


@pytest.mark.promise(96)
@pytest.mark.parametrize("changes", [{"prompt": "login"}, {"max_age": "0"}], ids=["prompt", "age"])
def test_the_terms_are_no_proof_of_identity(browser, wiki, newer, changes):
    clock = Clock()
    clock.now = newer.site.tokens.now() + 10
    newer.site.tokens.now = clock
    answer = browser.get(wiki.url(**changes), headers=BROWSER, status=303)
    assert urlsplit(answer.location).path == PAGE
    clock.move(10)
    back = accept(answer.follow(headers=BROWSER))
    answer = browser.get(back.location, headers=BROWSER, status=303)
    assert urlsplit(answer.location).path == "/auth/confirm"


@pytest.mark.promise(96)
def test_the_pages_of_apps_lead_through_the_terms(browser, wiki):
    for path in (
        wiki.url(),
        "/auth/device",
        "/auth/device?user_code=BCDF-GHJK",
        "/auth/apps",
    ):
        answer = browser.get(path, headers=BROWSER, status="3*")
        assert urlsplit(answer.location).path == PAGE
        page = answer.follow(headers=BROWSER)
        assert page.forms[0]["next"].value == path
    query = urlencode(wiki.parameters())
    answer = browser.get(f"/auth/consent?{query}", headers=BROWSER, status=303)
    assert answer.follow(headers=BROWSER).forms[0]["next"].value == wiki.url()
    sent = {**wiki.parameters(), "decision": "allow"}
    answer = browser.post("/auth/consent", sent, headers=SAME_ORIGIN, status="*")
    assert "code=" not in answer.headers.get("Location", "")
    assert not Grant.select().exists()


@pytest.mark.promise(96)
def test_a_device_gets_its_grant_after_the_terms(browser, site, newer):
    tv = App(site, "TV", "com.example.tv:/unused", is_public=True)
    tv.program.app = newer
    asked = {"client_id": tv.id, "scope": "openid"}
    codes = tv.program.post("/auth/oauth/device", asked).json
    typed = {"user_code": codes["user_code"], "decision": "allow", "scope": "openid"}
    browser.post("/auth/device", typed, headers=SAME_ORIGIN, status="*")
    poll = {"grant_type": DEVICE_GRANT, "device_code": codes["device_code"]}
    assert tv.ask(400, poll)["error"] == "authorization_pending"


def test_a_logout_that_an_app_asks_for_is_possible(browser, wiki):
    page = browser.get("/auth/oauth/logout", headers=BROWSER, status=200)
    form = next(each for each in page.forms.values() if "logout" in each.action)
    form.submit(headers=SAME_ORIGIN, status=303)
    assert not Session.select().exists()


def test_an_app_cannot_be_revoked_without_the_terms_but_everything_can_be_logged_out(
    site, newer, ada, wiki, browser
):
    tokens = wiki.log_in(logged_in(site, ada))
    wiki.program.app = newer
    browser.post("/auth/apps", {"revoke": wiki.id}, headers=SAME_ORIGIN, status=303)
    wiki.refresh(tokens["refresh_token"])
    page = browser.get(PAGE, headers=BROWSER)
    sent = {"account": page.forms[0]["account"].value, "end": "all"}
    browser.post(PAGE, sent, headers=SAME_ORIGIN, status=303)
    wiki.refresh(tokens["refresh_token"], 400)


def test_security_settings_are_closed(browser):
    for path in ("/auth/password", "/auth/sessions", "/auth/keys", "/auth/apps"):
        sent = {"end": "others", "current_password": PASSWORD, "new_password": PASSWORD * 2}
        answer = browser.post(path, sent, headers=SAME_ORIGIN, status=303)
        assert urlsplit(answer.location).path == PAGE
    with context.using(browser.app.database):
        assert Session.select().exists()
