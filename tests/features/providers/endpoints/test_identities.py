"""GET and POST /auth/identities."""

from urllib.parse import parse_qs, urlsplit

import pytest

from tests.support.federated import (
    connected,
    logged_in_at_provider,
    remove_password,
    with_providers,
)
from tests.support.logins import make_stale
from tests.support.sites import BROWSER, SAME_ORIGIN, echo
from tests.support.tabs import OIDC, tab_cookies
from wsgiauth import AuthMiddleware, storage
from wsgiauth.features.providers.identities import Identity
from wsgiauth.testing import bearer, logged_in

SCRIPT = {"Accept": "application/json", "Sec-Fetch-Site": "same-origin"}
GONE = "https://gone.example/realm"


@pytest.fixture
def site(settings, provider):
    made = AuthMiddleware(
        echo, with_providers(settings, provider.entry("google"), provider_of_work(provider))
    )
    yield made
    storage.discard_connection(made.database)


def provider_of_work(provider):
    """Return the entry of another client of the same provider."""
    return provider.entry("work", title="the staff account").replace("wsgiauth:", "other:")


@pytest.fixture
def browser(site, ada):
    return logged_in(site, ada)


@pytest.fixture
def identity(site, ada, provider):
    return connected(site, ada, provider="google", issuer=provider.issuer)


def shown(browser):
    page = browser.get("/auth/identities", headers=BROWSER)
    return [item.h2.text for item in page.html.select(".entries li")]


@pytest.mark.every_database
def test_a_program_gets_the_accounts_and_the_providers(client, identity, ada):
    document = client.get("/auth/identities", headers=bearer(client.app, ada)).json
    (listed,) = document["identities"]
    at = listed["connected_at"]
    assert listed == {
        "id": identity.handle,
        "provider": "google",
        "issuer": identity.issuer,
        "subject": "s-1",
        "name": "ada@example.com",
        "connected_at": at,
        "last_used_at": at,
    }
    assert document["providers"] == [
        {"name": "google", "title": "Google"},
        {"name": "work", "title": "the staff account"},
    ]


def test_the_page_names_the_providers_and_leads_to_them(browser, identity):
    account = browser.get("/auth/account", headers=BROWSER)
    page = account.click("Accounts of other providers", extra_environ={"HTTP_ACCEPT": "text/html"})
    assert [item.h2.text for item in page.html.select(".entries li")] == ["Google"]
    page.mustcontain("ada@example.com", identity.handle)
    assert "form-action 'self' https:" in page.headers["Content-Security-Policy"]
    buttons = page.html.find_all("button", {"name": "connect"})
    assert [(each["value"], each.text) for each in buttons] == [
        ("google", "Connect another account of Google"),
        ("work", "Connect the staff account"),
    ]


def test_the_account_page_says_how_many_there_are(site, ada, browser, provider):
    def state():
        page = browser.get("/auth/account", headers=BROWSER)
        return page.html.select_one(".links [href='/auth/identities'] .state").text

    assert state() == "None yet"
    for name, count in (("google", "1 account"), ("work", "2 accounts")):
        connected(site, ada, provider=name, issuer=provider.issuer, subject=name)
        assert state() == count


def test_without_accounts_the_page_says_so(browser):
    browser.get("/auth/identities", headers=BROWSER).mustcontain("No account is connected.")


def test_a_browser_is_sent_to_the_provider_to_connect_an_account(browser, provider):
    fields = {"connect": "google", "next": "/reports"}
    sent = browser.post("/auth/identities", fields, headers=SAME_ORIGIN, status=303)
    assert sent.headers["Location"].startswith(f"{provider.origin}/authorize?")
    query = parse_qs(urlsplit(sent.headers["Location"]).query)
    assert query["redirect_uri"] == ["http://localhost/auth/oidc/google/callback"]
    assert tab_cookies(browser, OIDC)


def test_a_script_gets_the_url_of_the_provider(browser, provider):
    answer = browser.post("/auth/identities", {"connect": "google"}, headers=SCRIPT)
    assert answer.json["next"].startswith(f"{provider.origin}/authorize?")


def test_no_other_provider_can_be_connected(browser):
    for name in ("", "elsewhere", "../x"):
        fields = {"connect": name}
        refused = browser.post_json("/auth/identities", fields, headers=SCRIPT, status=422)
        assert refused.json["errors"] == {"connect": ["Choose one of the providers."]}
    page = browser.post("/auth/identities", fields, headers=SAME_ORIGIN, status=422)
    assert page.html.find(role="alert").text == "Choose one of the providers."


def test_a_provider_that_is_down_is_named_on_the_page(browser, provider):
    with provider.down():
        fields = {"connect": "google"}
        page = browser.post("/auth/identities", fields, headers=SAME_ORIGIN, status=503)
    assert "Google" in page.html.find(role="alert").text


@pytest.mark.every_database
def test_a_user_disconnects_an_account_and_stays_logged_in_here(site, ada, identity):
    here, there = (logged_in_at_provider(site, ada, identity) for _ in range(2))
    page = here.get("/auth/identities", headers=BROWSER)
    form = next(each for each in page.forms.values() if "disconnect" in each.fields)
    done = form.submit(headers=SAME_ORIGIN, status=303).follow(headers=BROWSER)
    text = "The account “ada@example.com” has been disconnected."
    assert done.html.find(role="status").text == text
    assert shown(here) == []
    there.get("/auth/me", status=401)


def test_a_script_gets_what_is_left(browser, identity):
    fields = {"disconnect": identity.handle}
    assert browser.post("/auth/identities", fields, headers=SCRIPT).json["identities"] == []
    again = browser.post("/auth/identities", fields, headers=SCRIPT, status=422)
    assert again.json["errors"] == {"disconnect": ["This account is no longer connected."]}


@pytest.mark.promise(73)
def test_the_last_way_in_stays(site, ada, identity):
    remove_password(ada)
    browser = logged_in_at_provider(site, ada, identity)
    fields = {"disconnect": identity.handle}
    page = browser.post("/auth/identities", fields, headers=SAME_ORIGIN, status=409)
    assert "the only way to log in" in page.html.find(role="alert").text
    page.mustcontain("Your account here has no password.")
    refused = browser.post_json("/auth/identities", fields, headers=SCRIPT, status=409)
    assert refused.json["code"] == "last_way_in"
    assert Identity.select().count() == 1


@pytest.mark.promise(73)
def test_the_account_of_a_provider_that_is_gone_is_no_way_in(site, ada, identity):
    gone = connected(site, ada, issuer=GONE)
    browser = logged_in_at_provider(site, remove_password(ada), identity)
    assert sorted(shown(browser)) == ["Google", "gone.example"]
    page = browser.get("/auth/identities", headers=BROWSER)
    page.mustcontain("Logins with this provider are not possible here any more.")
    fields = {"disconnect": identity.handle}
    browser.post_json("/auth/identities", fields, headers=SCRIPT, status=409)
    fields = {"disconnect": gone.handle}
    browser.post_json("/auth/identities", fields, headers=SCRIPT, status=200)


def test_the_account_of_another_user_cannot_be_disconnected(site, browser, grace, provider):
    hers = connected(site, grace, issuer=provider.issuer)
    fields = {"disconnect": hers.handle}
    browser.post_json("/auth/identities", fields, headers=SCRIPT, status=422)
    assert Identity.select().count() == 1


@pytest.mark.promise(46)
def test_a_change_needs_a_recent_proof_and_the_list_does_not(browser, identity):
    make_stale()
    assert len(browser.get("/auth/identities").json["identities"]) == 1
    asked = browser.get("/auth/identities", headers=BROWSER, status=302)
    page = asked.follow(headers=BROWSER)
    page.mustcontain("Next: <strong>Connect or disconnect an account</strong>")
    for fields in ({"disconnect": identity.handle}, {"connect": "google"}):
        refused = browser.post_json("/auth/identities", fields, headers=SCRIPT, status=401)
        assert refused.json["code"] == "insufficient_user_authentication"


@pytest.mark.promise(17)
def test_a_form_of_another_site_is_refused(browser, identity):
    headers = {**BROWSER, "Sec-Fetch-Site": "cross-site"}
    fields = {"disconnect": identity.handle}
    browser.post("/auth/identities", fields, headers=headers, status=403)
