"""Apps that register themselves (RFC 7591)."""

from dataclasses import replace

import pytest
from webtest import TestApp

from tests.support.oauth_apps import (
    EDITOR,
    REGISTER,
    App,
    RegisteredApp,
    code_in,
    consent_form,
    follow,
    register,
    walk,
)
from tests.support.service_keys import REPORTS
from tests.support.sites import BROWSER, echo
from tests.support.tables import row_by_row
from wsgiauth import AuthMiddleware
from wsgiauth.events.models import RecordedEvent
from wsgiauth.exceptions import ConfigurationError
from wsgiauth.features.oauth_server import client_files, grants, registration
from wsgiauth.features.oauth_server.tables import Client, Grant
from wsgiauth.testing import logged_in

DAY = 24 * 60 * 60


@pytest.fixture
def settings(settings):
    """Return settings of a provider at which apps can register themselves."""
    return replace(settings, OAUTH_REGISTRATION=True)


def test_an_app_registers_itself_as_a_public_client(site, clock):
    document = register(site, logo_uri="https://editor.example/logo.png", unknown=1)
    client = Client.get()
    assert document == {
        "client_id": client.id,
        "client_id_issued_at": int(clock.now),
        "client_name": "Editor",
        "redirect_uris": [EDITOR],
        "scope": "openid profile email groups offline_access",
        "token_endpoint_auth_method": "none",
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
    }
    assert (client.is_public, client.is_trusted, client.digest) == (True, False, "")


def test_the_trail_says_that_an_app_registered_itself(site):
    client_id = register(site)["client_id"]
    (event,) = RecordedEvent.select()
    assert (event.name, event.actor, event.reason) == ("client_created", "other app", client_id)


def test_an_app_without_a_name_has_that_of_its_host(site):
    assert register(site, client_name=None)["client_name"] == "localhost:33418"


PLAIN = ["Claude Code (notes)", "Łódź Straße", "VS Code", "Zed's editor", "日本語エディタ", "محرر"]


@pytest.mark.promise(93)
@row_by_row("name", PLAIN)
def test_an_app_keeps_a_name_of_a_few_plain_words(site, name):
    assert register(site, client_name=name)["client_name"] == name


def test_a_consent_names_no_sentence_as_a_permission_that_the_user_lacks(site, browser):
    app = RegisteredApp(site)
    asked = "openid notes.read security.your_account_is_locked_call_0800_123456"
    page = follow(browser, app.url(scope=asked, resource=REPORTS))
    lacking = [each.text for each in page.html.find_all("p") if "does not get them" in each.text]
    start = "It also asks for permissions that you do not have, and does not get them"
    assert lacking == [f"{start}: notes.read"]
    assert "0800" not in page.html.main.text


def test_an_app_with_a_web_server_is_known_by_its_host(site):
    """The code goes there, and not only to the computer of the user."""
    uris = ["com.example.official:/cb", "http://localhost/cb", "https://evil.example/cb"]
    register(site, client_name="Your account is closed.", redirect_uris=uris)
    client = Client.get()
    assert (client.name, grants.named(client)["client_host"]) == ("evil.example",) * 2


def test_a_consent_shows_no_name_that_the_app_has_not_chosen(site, browser):
    page = follow(browser, RegisteredApp(site, client_name="bank.example").url())
    assert "It calls itself" not in page


REPLACED = {
    "a sentence": "Your account is closed. Call us",
    "a long sentence": "your account is closed so call us now",
    "a telephone number": "Call 0800 12345",
    "an address": "bank.example",
    "the site's name": "The Library (verified)",
    "the site's name in other letters": "th\u0435 libr\u0430ry",  # Cyrillic
    "the site's name with digits": "The 1ibrary",
    "the site's name with a letter without its dot": "The L\u0131brary",
    "letters of phonetics": "Th\u1d07 \u029fibrary",
}


@pytest.mark.promise(93)
@pytest.mark.parametrize("further", [{"SITE_NAME": "The Library"}], ids=[""])
@row_by_row("name", REPLACED)
def test_a_name_that_could_deceive_a_reader_is_that_of_the_host(site, name):
    assert register(site, client_name=REPLACED[name])["client_name"] == "localhost:33418"


REFUSED = {
    "no redirect URI": ({"redirect_uris": []}, "invalid_redirect_uri"),
    "a redirect URI that is no string": ({"redirect_uris": [1]}, "invalid_redirect_uri"),
    "a redirect URI without https": (
        {"redirect_uris": ["http://editor.example/cb"]},
        "invalid_redirect_uri",
    ),
    "a script as redirect URI": (
        {"redirect_uris": ["javascript:alert(1)"]},
        "invalid_redirect_uri",
    ),
    "web servers of two hosts": (
        {"redirect_uris": ["https://wiki.example/cb", "https://evil.example/cb"]},
        "invalid_redirect_uri",
    ),
    "a host that ends like another": (
        {"redirect_uris": ["https://wiki.example/cb", "https://evilwiki.example/cb"]},
        "invalid_redirect_uri",
    ),
    "two hosts below a third one": (
        {"redirect_uris": [f"https://{each}co.example/" for each in ("", "wiki.", "evil.")]},
        "invalid_redirect_uri",
    ),
    "too many redirect URIs": ({"redirect_uris": [EDITOR] * 21}, "invalid_redirect_uri"),
    "a method that is no string": ({"token_endpoint_auth_method": 1}, "invalid_client_metadata"),
    "scopes that are no string": ({"scope": ["openid"]}, "invalid_client_metadata"),
    "a browser that opens an address": (
        {"redirect_uris": ["microsoft-edge:https://evil.example/"]},
        "invalid_redirect_uri",
    ),
    "a scheme without a dot": ({"redirect_uris": ["wiki:/cb"]}, "invalid_redirect_uri"),
    "an address in a scheme with a dot": (
        {"redirect_uris": ["org.example.open:https://evil.example/"]},
        "invalid_redirect_uri",
    ),
    "a name with a line feed": ({"client_name": "Editor\nWiki"}, "invalid_client_metadata"),
    "a name that is no string": ({"client_name": ["Editor"]}, "invalid_client_metadata"),
    "scopes that are too long": (
        {"scope": " ".join(f"a{number}.read" for number in range(200))},
        "invalid_client_metadata",
    ),
    "a name that is too long": ({"client_name": "x" * 101}, "invalid_client_metadata"),
    "a name that turns the text around": ({"client_name": "\u202eikiW"}, "invalid_client_metadata"),
    "a name with half of a character": ({"client_name": "\ud800"}, "invalid_client_metadata"),
    "a redirect URI that is too long": (
        {"redirect_uris": [f"https://editor.example/{'x' * 1000}"]},
        "invalid_redirect_uri",
    ),
}


@pytest.mark.promise(93)
@row_by_row(("metadata", "error"), REFUSED.values(), ids=REFUSED)
def test_a_registration_is_refused(site, metadata, error):
    assert register(site, 400, **metadata)["error"] == error
    assert Client.select().count() == 0


@row_by_row("method", ["client_secret_post", "client_secret_basic", "private_key_jwt", "x", None])
def test_another_way_to_prove_itself_becomes_none(site, method):
    answer = register(site, token_endpoint_auth_method=method)
    assert answer["token_endpoint_auth_method"] == "none"
    assert "client_secret" not in answer


@row_by_row(
    ("asked", "got"),
    [
        ("openid user everything", "openid"),
        ("openid openid notes.read", "openid notes.read"),
        ("user", "openid profile email groups offline_access"),
        ("", "openid profile email groups offline_access"),
    ],
)
def test_unknown_scopes_are_left_out(site, asked, got):
    assert register(site, scope=asked)["scope"] == got


def test_some_apps_have_a_scheme_without_a_dot(site, settings):
    uris = ["cursor://anysphere.cursor-mcp/oauth/callback", "vscode://x/cb", "org.example.wiki:/cb"]
    assert register(site, redirect_uris=uris)["redirect_uris"] == uris
    other = AuthMiddleware(echo, replace(settings, OAUTH_SCHEMES=("wiki",)))
    assert register(other, redirect_uris=["wiki:/cb"])["client_id"]
    assert register(other, 400, redirect_uris=uris)["error"] == "invalid_redirect_uri"


# What an app without scopes can ask for


def granted(site, browser, **changes):
    """Return the scopes that an app gets which has named none at its registration."""
    app = RegisteredApp(site)
    return app.log_in(browser, **changes)["scope"].split()


@pytest.mark.parametrize("name", ["scope", "resource"])
def test_it_gets_permissions_for_a_service_alone(site, ada, name):
    ada.grant("notes.read")
    ada.grant("wsgiauth.introspect")
    browser = logged_in(site, ada)
    asked = "openid notes.read notes.write wsgiauth.introspect"
    changes = {"scope": asked, **({"resource": REPORTS} if name == "resource" else {})}
    expected = ["openid", "notes.read"] if name == "resource" else ["openid"]
    assert granted(site, browser, **changes) == expected


@row_by_row("scope", [None, "user"])
def test_without_a_known_scope_it_asks_who_the_user_is(site, browser, scope):
    assert granted(site, browser, scope=scope) == ["openid", "profile", "email"]


def test_without_a_scope_it_asks_for_those_of_its_registration(site, ada):
    ada.grant("notes.read")
    app = RegisteredApp(site, scope="notes.read offline_access")
    tokens = app.log_in(logged_in(site, ada), scope=None, resource=REPORTS)
    assert tokens["scope"] == "notes.read offline_access"


def test_scopes_that_only_it_knows_bring_no_others_for_a_service(site, ada):
    """mcp 1.12.4 refuses tokens with other scopes than it asked for."""
    ada.grant("notes.read")
    app = RegisteredApp(site, scope="user")
    assert app.log_in(logged_in(site, ada), scope="user", resource=REPORTS)["scope"] == ""


def test_an_app_that_named_its_scopes_gets_no_others(site, ada):
    ada.grant("notes.read")
    app = RegisteredApp(site, scope="openid")
    tokens = app.log_in(logged_in(site, ada), scope="openid email notes.read", resource=REPORTS)
    assert tokens["scope"] == "openid"


def test_hosts_below_each_other_are_one_app(site):
    hosts = ("https://insiders.editor.example", "https://editor.example", "http://127.0.0.1:33418")
    uris = [f"{host}{path}" for host in hosts for path in ("/", "/redirect")]
    assert register(site, redirect_uris=uris)["redirect_uris"] == uris


def test_a_form_is_no_registration(site):
    answer = TestApp(site).post(REGISTER, {"client_name": "Editor"}, status=415)
    assert answer.json["error"] == "invalid_client_metadata"


@pytest.mark.promise(93)
def test_registrations_of_an_address_are_limited(settings):
    site = AuthMiddleware(echo, replace(settings, OAUTH_REGISTRATIONS_PER_ADDRESS=2))
    for _ in range(3):
        register(site, 400, redirect_uris=[])  # does not count
    for _ in range(2):
        register(site)
    assert register(site, 429)["code"] == "throttled"
    assert register(site, 429, redirect_uris=[])["code"] == "throttled"


def test_the_limit_of_an_address_can_be_switched_off(settings):
    site = AuthMiddleware(echo, replace(settings, OAUTH_REGISTRATIONS_PER_ADDRESS=0))
    for _ in range(21):
        register(site)


@pytest.mark.promise(93)
def test_the_number_of_apps_that_register_themselves_is_limited(site, monkeypatch):
    monkeypatch.setattr(registration, "MOST_CLIENTS", 1)
    App(site)  # of an operator, which does not count
    register(site)
    assert register(site, 400)["error"] == "invalid_client_metadata"


@pytest.mark.promise(90)
def test_every_login_to_such_an_app_asks_for_consent(site, browser):
    app = RegisteredApp(site)
    app.log_in(browser)
    again = browser.get(app.url(), headers=BROWSER).follow(headers=BROWSER)
    shown = again.html.find("main").get_text(" ", strip=True)
    assert consent_form(again)
    assert "This site has not checked this app" in shown
    silent = browser.get(app.url(prompt="none"), headers=BROWSER, status=400)
    assert "sent a request that this site cannot answer" in silent


@pytest.mark.promise(89)
def test_a_mistake_of_such_an_app_leads_no_browser_away(site):
    app = RegisteredApp(site)
    page = TestApp(site).get(app.url(response_type="token"), headers=BROWSER, status=400)
    (link,) = [each["href"] for each in page.html.main.find_all("a")]
    assert link.startswith(f"{EDITOR}?error=unsupported_response_type")


@pytest.mark.promise(93)
def test_trust_spares_such_an_app_no_consent(site, browser):
    app = RegisteredApp(site, redirect_uris=["https://editor.example/callback"])
    app.redirect_uri = "https://editor.example/callback"
    Client.update(is_trusted=True).execute()
    app.log_in(browser)
    assert consent_form(follow(browser, app.url()))


@pytest.mark.promise(93)
def test_such_an_app_is_not_in_the_file_of_clients(site, wiki):
    """An import would create it as an app of an operator, without an end."""
    register(site)
    assert [each["id"] for each in client_files.exported_clients()] == [wiki.id]


@pytest.mark.promise(90)
@pytest.mark.parametrize("name", ["expires_at", "is_trusted", "group_id", "id", "digest"])
def test_an_app_chooses_no_column_of_its_client(site, name):
    register(site, **{name: 1, "is_public": False})
    client = Client.get()
    assert (client.is_public, client.is_trusted, client.group_id) == (True, False, None)
    assert (client.digest, len(client.id)) == ("", 20)
    assert client.expires_at > client.created_at


@pytest.mark.promise(93)
def test_such_an_app_is_no_device(site):
    sent = {"client_id": register(site)["client_id"], "scope": "openid"}
    answer = TestApp(site).post("/auth/oauth/device", sent, status=400)
    assert answer.json["error"] == "unauthorized_client"


@pytest.mark.promise(93)
def test_a_name_and_a_host_of_another_app_bring_nothing(site, browser, wiki):
    """The page says that this site has not checked it, and the code goes to the other app."""
    false = RegisteredApp(site, client_name="Wiki", redirect_uris=[wiki.uri])
    false.redirect_uri = wiki.uri
    wiki.log_in(browser)
    page = follow(browser, false.url())
    assert "This site has not checked this app" in page
    words = " ".join(page.html.main.text.split())
    assert "wiki.example.org asks to use your account Ada. It calls itself Wiki" in words
    location = walk(browser, false.url())
    assert location.startswith(f"{wiki.uri}?")
    assert wiki.exchange(code_in(location), 400)["error"] == "invalid_grant"


@pytest.mark.promise(93)
def test_an_app_that_never_got_tokens_is_gone_after_a_day(site, browser, clock):
    app = RegisteredApp(site)
    walk(browser, app.url())  # allows it, but the app does not use the code
    clock.now += DAY
    other = register(site)
    assert [each.id for each in Client.select()] == [other["client_id"]]


@pytest.mark.promise(93)
def test_an_app_ends_thirty_days_after_it_got_tokens(site, browser, clock):
    app = RegisteredApp(site)
    tokens = app.log_in(browser, scope="openid offline_access")
    assert Client.get().expires_at == clock.now + 30 * DAY
    clock.now += 20 * DAY
    app.refresh(tokens["refresh_token"])
    assert Client.get().expires_at == clock.now + 30 * DAY


def end_of(app):
    """Return when an app ends."""
    return Client.get_by_id(app.id).expires_at


@pytest.mark.every_database
@pytest.mark.promise(93)
def test_a_user_keeps_few_apps_beyond_their_first_day(
    site, browser, ada, grace, clock, monkeypatch
):
    """Otherwise, one account could use up the number of all."""
    monkeypatch.setattr(registration, "MOST_KEPT", 1)
    start = clock.now
    first, second = RegisteredApp(site), RegisteredApp(site)
    first.log_in(browser)
    tokens = second.log_in(browser)
    tokens = second.refresh(tokens["refresh_token"])
    assert [end_of(first), end_of(second)] == [start + 30 * DAY, start + DAY]
    second.log_in(logged_in(site, grace))
    assert end_of(second) == start + 30 * DAY
    grants.revoke(ada, second.id, 1)
    clock.now += 20 * DAY
    first.log_in(logged_in(site, ada))
    assert end_of(first) == clock.now + 30 * DAY


@pytest.mark.every_database
@pytest.mark.promise(93)
def test_an_app_that_no_user_allows_any_more_ends_in_a_day(site, browser, ada, grace, clock):
    app, new = RegisteredApp(site), RegisteredApp(site)
    for each in (browser, logged_in(site, grace)):
        app.log_in(each)
    walk(browser, new.url())
    start, clock.now = clock.now, clock.now + 60
    grants.revoke(ada, app.id, clock.now)
    grants.revoke(ada, new.id, clock.now)
    assert [end_of(app), end_of(new)] == [start + 30 * DAY, start + DAY]
    grants.revoke(grace, app.id, clock.now)
    assert end_of(app) == clock.now + DAY
    walk(browser, app.url())  # and allow it again, and revoke it once more
    grants.revoke(ada, app.id, clock.now + 60)
    assert end_of(app) == clock.now + DAY


def test_an_app_of_an_operator_has_no_end_when_it_gets_tokens(wiki, browser, queries):
    code = code_in(walk(browser, wiki.url()))
    sent = queries(lambda: wiki.exchange(code))
    updates = [sql for sql in sent if sql.startswith('UPDATE "wsgiauth_oauth_client"')]
    assert not [sql for sql in updates if "expires_at" in sql]
    assert Client.get().expires_at is None


@pytest.mark.promise(93)
def test_an_app_that_has_expired_is_unknown_before_its_row_is_deleted(site, browser, clock):
    app = RegisteredApp(site)
    tokens = app.log_in(browser, scope="openid offline_access")
    Client.update(expires_at=int(clock.now)).execute()
    assert app.refresh(tokens["refresh_token"], 401)["error"] == "invalid_client"
    page = browser.get(app.url(), headers=BROWSER, status=400)
    assert "The app that sent you here is not known to this site." in page
    assert Client.select().count() == 1


def test_an_app_that_is_gone_has_no_grants(site, browser, clock):
    app = RegisteredApp(site)
    app.exchange(code_in(walk(browser, app.url())))
    clock.now += 31 * DAY
    register(site)
    assert Grant.select().count() == 0


def test_the_metadata_name_the_endpoint(site):
    document = TestApp(site).get("/.well-known/openid-configuration").json
    assert document["registration_endpoint"] == f"http://localhost{REGISTER}"


def test_without_the_setting_no_app_registers_itself(settings):
    site = AuthMiddleware(echo, replace(settings, OAUTH_REGISTRATION=False))
    assert TestApp(site).post_json(REGISTER, {}, status=404).json["code"] == "not_found"
    document = TestApp(site).get("/.well-known/openid-configuration").json
    assert "registration_endpoint" not in document


def test_the_setting_needs_a_provider(settings):
    with pytest.raises(ConfigurationError, match=r"OAUTH_SERVER must be set"):
        replace(settings, OAUTH_SERVER=False)
