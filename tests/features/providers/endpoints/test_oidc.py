"""POST /auth/oidc/{provider}, and the buttons that lead there."""

from urllib.parse import parse_qs, urlsplit

import pytest
from webtest import TestApp

from tests.support.mails import MAIL
from tests.support.provider_logins import PUBLIC_URL, begin, with_provider
from tests.support.sites import BROWSER, SAME_ORIGIN, echo
from tests.support.tabs import OIDC, tab_cookies
from wsgiauth import AuthMiddleware, storage
from wsgiauth.features.providers.oidc.remedies import remedy_of
from wsgiauth.testing import logged_in, make_user

SCRIPT = {"Accept": "application/json", "Sec-Fetch-Site": "same-origin"}
FORM = {"next": ""}


@pytest.fixture
def site(make_provider_site):
    return make_provider_site({"title": "Our <school>"})


def policy_of(answer):
    policy = answer.headers["Content-Security-Policy"]
    return dict(each.split(" ", 1) for each in policy.split("; "))


@pytest.mark.parametrize(
    ("path", "changes"),
    [
        pytest.param("login", {"REGISTRATION": False}, id="login of a closed site"),
        pytest.param("register", {**MAIL, "VERIFICATION": True}, id="verified registration"),
        pytest.param("register", {}, id="registration"),
    ],
)
def test_a_page_has_a_button_that_leads_to_the_provider_and_keeps_next(
    path, changes, make_provider_site, provider
):
    client = TestApp(make_provider_site({"title": "Our <school>"}, **changes))
    page = client.get(f"/auth/{path}?next=/reports", headers=BROWSER)
    [button] = page.html.select("button[formaction]")
    assert button.text == f"{'Log in' if path == 'login' else 'Continue'} with Our <school>"
    assert button["formaction"] == "/auth/oidc/google"
    assert button.find_parent("form").select_one("[name=next]")["value"] == "/reports"
    assert policy_of(page)["form-action"] == f"'self' https: {provider.origin}"


@pytest.mark.promise(20)
def test_without_providers_there_is_no_such_url_and_pages_keep_their_policy(settings):
    client = TestApp(AuthMiddleware(echo, settings))
    for path in ("login", "register"):
        page = client.get(f"/auth/{path}", headers=BROWSER)
        assert page.html.select("[formaction]") == []
        assert policy_of(page)["form-action"] == "'self'"
    for path in ("oidc/google", "oidc/google/logout", "identities"):
        client.post(f"/auth/{path}", FORM, headers=SAME_ORIGIN, status=404)


@pytest.mark.promise(69)
def test_the_browser_goes_to_the_provider_with_a_cookie_that_tells_it_apart(client, provider):
    answer = client.post("/auth/oidc/google", {"next": "/a"}, headers=SAME_ORIGIN, status=303)
    url = urlsplit(answer.location)
    asked = {name: value for name, [value] in parse_qs(url.query).items()}
    assert f"{url.scheme}://{url.netloc}{url.path}" == provider.url("/authorize")
    assert asked["redirect_uri"] == f"{PUBLIC_URL}/auth/oidc/google/callback"
    assert asked["response_type"] == "code"
    assert asked["code_challenge_method"] == "S256"
    cookie = answer.headers["Set-Cookie"]
    assert cookie.startswith(OIDC)
    assert cookie.endswith("; Max-Age=3600; Path=/; HttpOnly; SameSite=Lax")
    assert not any(asked[name] in cookie for name in ("state", "nonce", "code_challenge"))


@pytest.mark.promise(69)
def test_the_callback_is_that_of_public_url_whatever_the_request_says(make_provider_site):
    client = TestApp(make_provider_site(), extra_environ={"HTTP_HOST": "evil.example"})
    asked = parse_qs(urlsplit(begin(client)).query)
    assert asked["redirect_uri"] == [f"{PUBLIC_URL}/auth/oidc/google/callback"]


def test_the_callback_is_below_the_mount(settings, provider):
    app = AuthMiddleware(echo, with_provider(settings, provider), mount="/konto/a")
    client = TestApp(app)
    path = "/konto/a/oidc/google"
    answer = client.post(path, FORM, headers=SAME_ORIGIN, status=303)
    asked = parse_qs(urlsplit(answer.location).query)
    assert asked["redirect_uri"] == [f"{PUBLIC_URL}{path}/callback"]
    storage.discard_connection(app.database)


def test_a_script_gets_the_url_and_the_cookie(client, provider):
    for send, fields in ((client.post_json, {}), (client.post, FORM)):
        client.reset()
        answer = send("/auth/oidc/google", fields, headers=SCRIPT)
        assert answer.json["next"].startswith(f"{provider.url('/authorize')}?")
        assert tab_cookies(client, OIDC)


def test_a_user_who_is_logged_in_can_do_it_too(site, provider):
    assert begin(logged_in(site, make_user(site))).startswith(provider.origin)


def test_an_unknown_provider_does_not_exist(client):
    for name in ("gitlab", "googl", "google2"):
        client.post(f"/auth/oidc/{name}", FORM, headers=SAME_ORIGIN, status=404)


def test_there_is_no_page(client):
    client.get("/auth/oidc/google", headers=BROWSER, status=405)


@pytest.mark.promise(17)
@pytest.mark.promise(69)
def test_another_site_cannot_begin_a_login(client, provider):
    headers = {**BROWSER, "Sec-Fetch-Site": "cross-site"}
    client.post("/auth/oidc/google", FORM, headers=headers, status=403)
    assert not tab_cookies(client, OIDC)
    assert provider.requests == {}


@pytest.mark.promise(71)
def test_a_provider_that_is_down_is_a_page_and_an_event_and_other_logins_go_on(
    client, provider, heard
):
    form = {"next": "/reports", "remember": "on"}
    with provider.down():
        page = client.post("/auth/oidc/google", form, headers=SAME_ORIGIN, status=503)
    assert "does not answer" in page.html.main.text
    assert int(page.headers["Retry-After"]) > 0
    link = page.html.find("a", string="Back to the login page")
    assert link["href"] == "/auth/login?next=%2Freports"
    assert page.click("Back to the login page").form["username"]
    again = page.forms["again"]
    assert again.action == "/auth/oidc/google"
    assert dict(again.submit_fields()) == form
    [event] = heard
    assert (event.name, event.user_id) == ("provider_failed", None)
    assert event.reason.startswith("google: ")


@pytest.mark.promise(71)
def test_a_script_gets_the_failure_of_a_provider_as_a_problem(client, provider, caplog):
    provider.discovery["issuer"] = "https://evil.example"
    problem = client.post("/auth/oidc/google", FORM, headers=SCRIPT, status=502).json
    assert problem["code"] == "provider_failed"
    assert "evil" not in str(problem)
    (record,) = (each for each in caplog.records if hasattr(each, "event"))
    assert (record.reason, record.remedy) == (
        "google: discovery: issuer",
        remedy_of("discovery: issuer"),
    )
    assert record.remedy not in str(problem)  # it is for operators
