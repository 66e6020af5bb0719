"""Unregistered apps: their `client_id` is the URL of a document."""

import json
import socket
from contextlib import contextmanager
from email.message import Message
from threading import Event

import pytest
from webtest import TestApp

from tests.support.oauth_apps import (
    App,
    DocumentApp,
    code_in,
    consent_form,
    follow,
    walk,
)
from tests.support.service_keys import REPORTS
from tests.support.sites import BROWSER, PASSWORD
from tests.support.tables import row_by_row
from wsgiauth.events.models import RecordedEvent
from wsgiauth.features.oauth_server import documents, limits, registration
from wsgiauth.features.oauth_server.document_urls import id_of
from wsgiauth.features.oauth_server.documents import Documents, freshness
from wsgiauth.features.oauth_server.tables import Client, Consent, Document, Grant
from wsgiauth.features.services.introspection import Introspector
from wsgiauth.features.services.signed_tokens import SignedTokens
from wsgiauth.outgoing import Reply
from wsgiauth.testing import client_documents, logged_in, make_user

MINUTE, HOUR, DAY = 60, 60 * 60, 24 * 60 * 60
DEMANDS = {"TERMS_VERSION": "2026-11-01", "TERMS_URL": "https://example.org/terms"}
DATE = "Sat, 28 Nov 2026"
URL = DocumentApp.URL
OTHER = "https://other.example/app.json"


@pytest.fixture
def further():
    """Return the setting with which apps describe themselves."""
    return {"OAUTH_REGISTRATION": True}


@pytest.fixture
def app(site):
    return DocumentApp(site)


@pytest.fixture
def served(site, app):
    """Return what the hosts of documents answer, by URL."""
    answers = dict(app.documents)
    with client_documents(site, answers):
        yield answers


@pytest.fixture
def fetched(site, served, monkeypatch):
    """Return the URLs that were fetched."""
    part, urls = site.site.part(Documents), []
    fetch = part.fetch

    def count(url):
        urls.append(url)
        return fetch(url)

    monkeypatch.setattr(part, "fetch", count)
    return urls


def detail_of(page):
    """Return what an error page says."""
    assert page.status_int == 400
    return page.html.main.text


def refusal(browser, app, **parameters):
    """Return what the page says that refuses a request of an app."""
    return detail_of(browser.get(app.url(**parameters), headers=BROWSER, status=400))


def test_the_metadata_say_that_documents_are_read(site):
    document = TestApp(site).get("/.well-known/oauth-authorization-server").json
    assert document["client_id_metadata_document_supported"] is True


@pytest.mark.parametrize("further", [{}])
def test_without_the_setting_a_url_is_no_client(site, browser, app):
    document = TestApp(site).get("/.well-known/oauth-authorization-server").json
    assert "client_id_metadata_document_supported" not in document
    assert "not known to this site" in refusal(browser, app)
    assert "not known to this site" in detail_of(
        TestApp(site).get(app.url(), headers=BROWSER, status=400)
    )
    with pytest.raises(ValueError, match="OAUTH_REGISTRATION"), client_documents(site, {}):
        pass


@pytest.mark.every_database
def test_a_user_logs_in_to_an_unregistered_app(site, served, app, ada):
    tokens = app.log_in(ada, scope="openid profile offline_access")
    signed = site.site.require(SignedTokens)
    assert signed.verify(tokens["access_token"], 0)["client_id"] == URL
    id_token = signed.id_token_claims(tokens["id_token"])
    assert (id_token["aud"], id_token["sub"]) == (URL, str(ada.id))
    assert app.refresh(tokens["refresh_token"])["access_token"]
    (client,) = Client.select()
    assert (client.client_id, client.name, client.is_public) == (URL, "Editor", True)
    assert len(client.id) == 32


def test_the_row_begins_when_a_user_allows_the_app(site, browser, app, served):
    page = follow(browser, app.url())
    assert Client.select().count() == 0
    consent_form(page).submit("decision", value="refuse", headers=BROWSER)
    assert Client.select().count() == 0
    consent_form(follow(browser, app.url())).submit("decision", value="allow", headers=BROWSER)
    (client,) = Client.select()
    created = RecordedEvent.get(RecordedEvent.name == "client_created")
    assert (created.actor, created.reason) == ("other app", client.id)


@pytest.mark.promise(98)
def test_the_consent_shows_the_host_of_the_document_before_its_name(site, browser, app, served):
    page = follow(browser, app.url())
    assert page.html.h1.text.strip() == "Log in to editor.example"
    facts = {each.dt.text: each.dd.text for each in page.html.main.dl.find_all("div")}
    assert facts["It calls itself"] == "Editor"
    assert facts["Registered by"] == "Itself"
    assert "another app could use its name" in page.html.main.text


@pytest.mark.promise(98)
@row_by_row("name", ["editor (localhost)", "bank.example", "Call 0800 123456 now", "", "x" * 90])
def test_a_document_cannot_name_another_site(site, browser, served, name):
    served[URL] = {**served[URL], "client_name": name, "logo_uri": "https://bank.example/a.png"}
    Document.delete().execute()
    page = follow(browser, DocumentApp(site).url())
    assert page.html.h1.text.strip() == "Log in to editor.example"
    assert "bank.example" not in page.text
    assert "0800" not in page.html.main.text


def test_consent_is_asked_for_each_time(browser, app, served):
    for _ in range(2):
        assert consent_form(follow(browser, app.url())) is not None
        code_in(walk(browser, app.url()))


def test_a_request_through_the_login_leads_to_the_consent(site, app, served, fetched, ada):
    stranger = TestApp(site)
    login = stranger.get(app.url(), headers=BROWSER, status=303).follow(headers=BROWSER)
    assert fetched == []
    form = next(each for each in login.forms.values() if "password" in each.fields)
    form["username"], form["password"] = ada.username, PASSWORD
    page = follow(stranger, form.submit(headers=BROWSER).location)
    assert consent_form(page) is not None
    assert fetched == [URL]


def test_a_long_request_goes_through_the_login_too(site, app, served, browser):
    stranger = TestApp(site)
    url = app.url(state="s" * 3000)
    location = stranger.get(url, headers=BROWSER, status=303).location
    assert len(location) < 2048
    parameters = app.parameters(state="s" * 3000)
    stored = stranger.post("/auth/authorize", parameters, headers=BROWSER, status=303).location
    assert consent_form(follow(browser, stored)) is not None
    assert f"state={'s' * 3000}" in walk(browser, url)


@pytest.mark.promise(93)
def test_nothing_is_fetched_before_somebody_is_logged_in(site, app, served, fetched):
    stranger = TestApp(site)
    for prompt in (None, "login", "create"):
        stranger.get(app.url(prompt=prompt), headers=BROWSER, status=303)
    stranger.post("/auth/authorize", app.parameters(), headers=BROWSER, status=303)
    assert "not known" in detail_of(
        stranger.get(app.url(prompt="none"), headers=BROWSER, status=400)
    )
    app.request_tokens(401, grant_type="authorization_code", code="x")
    assert fetched == []


@pytest.mark.promise(93)
@pytest.mark.parametrize("further", [{"OAUTH_REGISTRATION": True, **DEMANDS}], ids=["terms"])
def test_nothing_is_fetched_for_a_session_that_lacks_something(site, app, served, fetched, ada):
    browser = logged_in(site, ada, terms=False)
    page = browser.get(app.url(), headers=BROWSER, status=303)
    assert page.location.startswith("/auth/terms?next=")
    assert "not known" in refusal(browser, app, prompt="none")
    assert fetched == []


@pytest.mark.promise(93)
def test_nothing_is_fetched_for_a_part_of_a_page_or_in_advance(app, served, fetched, browser):
    for headers in (
        {"Sec-Fetch-Dest": "image"},
        {"Sec-Fetch-Dest": "iframe"},
        {"Sec-Purpose": "prefetch"},
    ):
        browser.get(app.url(), headers={**BROWSER, **headers}, status=403)
    browser.get(app.url("/auth/consent"), headers=BROWSER, status=303)
    browser.head(app.url(), headers=BROWSER, status=400)
    assert fetched == []
    browser.get(app.url(), headers=BROWSER, status=303)
    browser.head(app.url(), headers=BROWSER, status=303)
    assert fetched == [URL]


@pytest.mark.promise(93)
@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"response_type": "token"}, "response_type must be code"),
        ({"id_token_hint": "x"}, "id_token_hint"),
        ({"redirect_uri": "https://evil.example/\n"}, "an address"),
    ],
)
def test_a_wrong_request_of_a_stranger_leads_nowhere(site, app, served, changes, reason):
    page = TestApp(site).get(app.url(**changes), headers=BROWSER, status=400)
    assert reason in page.text
    assert "evil.example" not in str(page.headers)


@pytest.mark.promise(98)
def test_a_redirect_uri_must_be_in_the_document(browser, app, served):
    said = refusal(browser, app, redirect_uri="https://evil.example/callback")
    assert "has not registered here" in said
    assert "evil.example" not in said


NO_URLS = [
    *("http://editor.example/app", "https://editor.example", "HTTPS://editor.example/app"),
    *("https://editor.example:443/app", "https://editor.example:8443/app"),
    *("https://ada@editor.example/app", "https://@editor.example/app"),
    *("https://editor.example/app?", "https://editor.example/app?a=b", "https://editor.example/#"),
    *(
        "https://editor.example/a/../app",
        "https://editor.example/./app",
        "https://editor.example/..",
    ),
    *(
        "https://editor.example/%2e%2E/app",
        "https://editor.example/%zz",
        "https://Editor.example/a",
    ),
    *("https://editor.example\\app", "https://editor.example/a\\b", "https://editor.example/a\tb"),
    *("https://localhost/app", "https://intranet/app", "https://127.0.0.1/app", "https://[::1]/a"),
    *("https://2130706433/app", "https://127.1/app", "https://0x7f.1/app", "https://a.0x7f000001/"),
    *("https://editor.example./app", "https://printer.local/app", "https://db.internal/app"),
    *("https://a.localhost/app", "https://x.onion/app", "https://x.home.arpa/app"),
    *("https://-a.example/app", "https://.example/a", "https:///app", "https://localhost:80/"),
    *("https://edi\u0442or.example/app", "https://editor.example/\u00fc"),
    *("https://users.shop.example.org/app", "https://files.example.net/app"),
    f"https://editor.example/{'a' * 500}",
]


@pytest.mark.promise(93)
@pytest.mark.parametrize(
    "further",
    [{"OAUTH_REGISTRATION": True, "NEXT_HOSTS": ("*.shop.example.org", "files.example.net:8443")}],
)
@row_by_row("url", NO_URLS)
def test_a_url_in_another_form_is_no_client(site, browser, served, fetched, url):
    app = DocumentApp(site)
    app.client_id = url
    is_https = url.startswith("https://")
    reason = "its URL has another form" if is_https else "not known to this site"
    for each in (browser, TestApp(site)):
        assert reason in refusal(each, app)
    assert fetched == []


@row_by_row(
    "url", ["https://editor.example/", "https://a.b.example/%41;b=c/d", "https://x.io/a@b:c"]
)
def test_a_url_with_a_path_is_a_client(site, browser, served, url):
    served[url] = {"client_id": url, "redirect_uris": ["http://localhost:33418/callback"]}
    app = DocumentApp(site)
    app.client_id = url
    assert consent_form(follow(browser, app.url())) is not None


def changed(**changes):
    """Return the document with changes, as JSON."""
    usual = {"client_id": URL, "redirect_uris": ["http://localhost:33418/callback"]}
    return json.dumps({**usual, **changes})


WRONG = {
    "status": (500, "status is 500"),
    "redirect": (302, "status is 302"),
    "not modified": (304, "status is 304"),
    "missing": (404, "status is 404"),
    "silent": (TimeoutError(), "does not answer"),
    "html": ("<html>", "not JSON"),
    "empty": ("", "not JSON"),
    "a list": ("[]", "not a JSON object"),
    "a mark of byte order": ("\ufeff" + changed(), "not JSON"),
    "utf-16": (changed().encode("utf-16"), "not JSON"),
    "deep": ("[" * 5000 + "]" * 5000, "not JSON"),
    "a long number": (f'{{"a": {"9" * 5000}}}', "not JSON"),
    "not a number": ('{"a": NaN}', "not JSON"),
    "twice": (f'{{"client_id": "{OTHER}", {changed()[1:]}', "not JSON"),
    "a surrogate": (changed(client_name="\ud800"), "not JSON"),
    "too large": (changed(client_name="x" * 11_000), "more than 10240 bytes"),
    "another client": (changed(client_id=OTHER), "client_id is not its URL"),
    "another spelling": (changed(client_id=URL.upper()), "client_id is not its URL"),
    "no client": (changed(client_id=None), "client_id is not its URL"),
    "a secret": (changed(client_secret="x"), "has a client_secret"),
    "a method": (changed(token_endpoint_auth_method="client_secret_basic"), "is not none"),
    "a key": (changed(token_endpoint_auth_method="private_key_jwt"), "is not none"),
    "a wrong method": (changed(token_endpoint_auth_method=[]), "is not none"),
    "no URIs": (changed(redirect_uris=[]), "redirect_uris must list"),
    "wrong URIs": (changed(redirect_uris="https://editor.example/"), "redirect_uris must list"),
    "a script": (changed(redirect_uris=["javascript:alert(1)"]), "a redirect URI must be"),
    "another host": (changed(redirect_uris=["https://bank.example/"]), "the host of the document"),
    "a host below": (changed(redirect_uris=["https://a.editor.example/"]), "host of the document"),
    "a wrong name": (changed(client_name=5), "client_name must be a string"),
    "a long name": (changed(client_name="a" * 101), "client_name must be a name"),
    "wrong scopes": (changed(scope=["openid"]), "scope must be a string"),
}


@pytest.mark.slow
@pytest.mark.promise(93)
@pytest.mark.parametrize(("answer", "reason"), WRONG.values(), ids=WRONG)
def test_a_document_that_cannot_be_used_is_a_page(browser, app, served, answer, reason):
    served[URL] = answer
    said = refusal(browser, app)
    assert reason in said
    assert "bank.example" not in said


def test_a_document_can_have_values_that_this_site_ignores(browser, app, served):
    served[URL] = {
        **served[URL],
        "token_endpoint_auth_method": None,
        "grant_types": ["implicit"],
        "redirect_uris": ["https://editor.example:8443/callback", *served[URL]["redirect_uris"]],
        "jwks_uri": "https://editor.example/jwks.json",
        "scope": None,
    }
    assert consent_form(follow(browser, app.url())) is not None


@pytest.fixture
def reply(site, monkeypatch):
    """Return a function that sets the reply of each host."""

    def let(body, status=200, **headers):
        message = Message()
        for name, value in {"Content_Type": "application/json", **headers}.items():
            message[name.replace("_", "-")] = value
        answer = Reply(status, message, body.encode())
        monkeypatch.setattr(site.site.part(Documents), "fetch", lambda _: answer)

    return let


@pytest.mark.promise(93)
@pytest.mark.parametrize(
    ("headers", "reason"),
    [
        ({"Content_Type": "text/plain"}, "Content-Type"),
        ({"Content_Type": "text/html; charset=utf-8"}, "Content-Type"),
        ({"Content_Encoding": "gzip"}, "compressed"),
    ],
)
def test_the_type_of_a_document_is_json(browser, app, reply, headers, reason):
    reply(changed(), **headers)
    assert reason in refusal(browser, app)


@row_by_row(
    "kind", ["application/json; charset=utf-8", "application/cimd+json", "Application/JSON"]
)
def test_each_type_of_json_is_accepted(browser, app, reply, kind):
    reply(changed(), Content_Type=kind, Content_Encoding="identity")
    assert consent_form(follow(browser, app.url())) is not None


@row_by_row(
    "headers, seconds",
    [
        ({}, 5 * MINUTE),
        ({"Cache-Control": "max-age=3600"}, HOUR),
        ({"Cache-Control": 'public, MAX-AGE="3600"', "Age": "600"}, HOUR - 600),
        ({"Cache-Control": "max-age=3600", "Age": "x"}, HOUR),
        ({"Cache-Control": "max-age=999999999"}, DAY),
        ({"Cache-Control": "max-age=1"}, 5 * MINUTE),
        ({"Cache-Control": "no-cache, max-age=3600"}, 5 * MINUTE),
        ({"Cache-Control": "no-store"}, 5 * MINUTE),
        ({"Expires": "Sat, 28 Nov 2026 11:00:00 GMT"}, HOUR),
        (
            {"Expires": "Sat, 28 Nov 2026 11:00:00 GMT", "Date": "Sat, 28 Nov 2026 09:00:00 GMT"},
            2 * HOUR,
        ),
        ({"Expires": "0"}, 5 * MINUTE),
        ({"Expires": "Sat, 28 Nov 99999 11:00:00 GMT"}, 5 * MINUTE),
    ],
)
def test_the_headers_say_how_long_a_document_is_fresh(headers, seconds):
    message = Message()
    for name, value in headers.items():
        message[name] = value
    assert freshness(message, 1795860000) == seconds  # 10:00 of that day


def test_a_document_is_kept_as_long_as_it_is_fresh(clock, browser, app, fetched):
    for minutes, times in ((0, 1), (4, 1), (6, 2)):
        now, clock.now = clock.now, clock.now + minutes * MINUTE
        follow(browser, app.url())
        assert len(fetched) == times
        clock.now = now


def test_a_failure_is_kept_for_a_minute(clock, browser, app, served, fetched):
    served[URL] = 500
    refusal(browser, app)
    served.update(app.documents)
    assert "status is 500" in refusal(browser, app)
    clock.now += MINUTE
    assert consent_form(follow(browser, app.url())) is not None
    assert len(fetched) == 2


@pytest.mark.promise(98)
def test_a_redirect_goes_to_what_the_document_names_today(clock, browser, app, served):
    code_in(walk(browser, app.url()))
    served[URL] = {**app.document, "redirect_uris": ["http://localhost:1/other"]}
    clock.now += 5 * MINUTE
    assert "has not registered here" in refusal(browser, app)


@pytest.mark.promise(98)
def test_a_change_after_the_consent_is_shown_asks_again(clock, browser, app, served):
    form = consent_form(follow(browser, app.url()))
    served[URL] = {**app.document, "client_name": "Other"}
    clock.now += documents.DECIDING + 5 * MINUTE
    page = form.submit("decision", value="allow", headers=BROWSER)
    assert page.status_int == 303
    assert "/auth/authorize?" in page.location
    assert Client.select().count() == 0


@pytest.mark.promise(98)
def test_a_code_and_a_grant_outlive_their_document(clock, browser, app, served):
    code = code_in(walk(browser, app.url(scope="openid offline_access")))
    served[URL] = 404
    clock.now += 59
    tokens = app.exchange(code)
    clock.now += 5 * MINUTE
    assert app.refresh(tokens["refresh_token"])["access_token"]
    assert "status is 404" in refusal(browser, app)


@pytest.mark.every_database
def test_the_row_follows_the_document_when_a_user_allows_it_again(clock, browser, app, served):
    code_in(walk(browser, app.url()))
    served[URL] = {**app.document, "client_name": "Editor Two"}
    clock.now += 5 * MINUTE
    code_in(walk(browser, app.url()))
    (client,) = Client.select()
    assert client.name == "Editor Two"
    code_in(walk(browser, app.url()))
    names = [each.name for each in RecordedEvent.select() if each.name.startswith("client_")]
    assert sorted(names) == ["client_changed", "client_created"]


@pytest.mark.every_database
def test_an_app_that_has_ended_begins_again_without_what_was_allowed(
    clock, site, browser, app, served
):
    grace = make_user(site, "grace")
    app.log_in(grace, scope="openid offline_access")
    clock.now += (registration.UNUSED_DAYS + 1) * DAY
    later = logged_in(site, make_user(site, "barbara"))
    code_in(walk(later, app.url()))
    assert [each.user.username for each in Consent.select()] == ["barbara"]
    assert Grant.select().count() == 0


@pytest.mark.promise(93)
def test_the_fetches_of_a_user_are_counted(clock, browser, site, served, fetched):
    for number in range(21):
        url = f"https://host{number}.example/app"
        served[url] = {"client_id": url, "redirect_uris": ["http://localhost:33418/callback"]}
        app = DocumentApp(site)
        app.client_id = url
        status = 303 if number < 20 else 429
        browser.get(app.url(), headers=BROWSER, status=status)
    assert len(fetched) == 20
    assert Document.select().count() == documents.MOST_OF_USER
    clock.now += HOUR
    assert browser.get(app.url(), headers=BROWSER).status_int == 303
    assert Document.select().count() == documents.MOST_OF_USER  # the oldest gave way


@pytest.mark.promise(93)
def test_a_document_that_cannot_be_fetched_again_because_of_a_limit_is_used_for_a_day(
    clock, browser, site, app, served, ada
):
    follow(browser, app.url())
    clock.now += 5 * MINUTE
    spend(browser, site, served)
    assert consent_form(follow(browser, app.url())) is not None
    clock.now += DAY
    browser = logged_in(site, ada)
    spend(browser, site, served)
    assert browser.get(app.url(), headers=BROWSER, status=429).headers["Retry-After"]


def spend(browser, site, served):
    """Use up all fetches of a user."""
    for number in range(20):
        url = f"https://host{number}.example/app"
        served[url] = 404
        app = DocumentApp(site)
        app.client_id = url
        Document.delete().where(Document.url == url).execute()
        browser.get(app.url(), headers=BROWSER, status=(400, 429))


@pytest.mark.promise(93)
def test_failures_and_new_urls_of_a_host_are_counted_for_all_users(
    site, served, fetched, monkeypatch
):
    monkeypatch.setattr(limits, "DOCUMENTS_OF_HOST", 5)
    for number in range(7):
        browser = logged_in(site, make_user(site, f"user{number}"))
        app = DocumentApp(site)
        app.client_id = f"https://editor.example/{number}"
        status = 400 if number < 5 else 429
        browser.get(app.url(), headers=BROWSER, status=status)
    assert len(fetched) == 5


@pytest.mark.promise(93)
def test_the_fetches_of_a_network_are_counted_for_all_users(site, served, fetched, monkeypatch):
    monkeypatch.setattr(limits, "DOCUMENTS_OF_NETWORK", 2)
    statuses = []
    for number, address in enumerate(("192.0.2.1", "192.0.2.1", "192.0.2.1", "192.0.2.2")):
        browser = logged_in(site, make_user(site, f"user{number}"))
        app = DocumentApp(site)
        app.client_id = f"https://host{number}.example/"
        environ = {"REMOTE_ADDR": address}
        page = browser.get(app.url(), headers=BROWSER, extra_environ=environ, status="*")
        statuses.append(page.status_int)
    assert statuses == [400, 400, 429, 400]


@pytest.mark.promise(93)
def test_an_app_that_many_use_does_not_use_up_the_fetches_of_its_host(
    clock, site, app, served, fetched, monkeypatch
):
    monkeypatch.setattr(limits, "DOCUMENTS_OF_HOST", 2)
    browser = logged_in(site, make_user(site, "grace"))
    for _ in range(5):
        follow(browser, app.url())
        clock.now += 5 * MINUTE
    assert len(fetched) == 5


@pytest.mark.every_database
@pytest.mark.promise(93)
def test_no_more_documents_are_kept_than_fit(site, served, monkeypatch):
    monkeypatch.setattr(documents, "MOST_DOCUMENTS", 3)
    for user in range(2):
        browser = logged_in(site, make_user(site, f"user{user}"))
        for number in range(3):
            app = DocumentApp(site)
            app.client_id = f"https://host{user}{number}.example/"
            browser.get(app.url(), headers=BROWSER, status=400)
    assert Document.select().count() == 3


@pytest.mark.promise(93)
def test_a_busy_site_asks_to_try_again_and_counts_nothing(site, browser, app, served, monkeypatch):
    monkeypatch.setattr(limits, "DOCUMENTS_OF_USER", 1)
    part, pages = site.site.part(Documents), []
    fetch = part.fetch

    def fetch_while_others_ask(url):
        if url == URL:
            for name in ("b", "c"):  # the second one while two others are being fetched
                other = DocumentApp(site)
                other.client_id = f"https://{name}.example/app"
                asker = logged_in(site, make_user(site, name))
                pages.append((asker, other, asker.get(other.url(), headers=BROWSER, status="*")))
        elif url.startswith("https://b."):
            third = logged_in(site, make_user(site, "third"))
            pages.append((third, app, third.get(app.url(), headers=BROWSER, status="*")))
        return fetch(url)

    monkeypatch.setattr(part, "fetch", fetch_while_others_ask)
    follow(browser, app.url())
    statuses = [page.status_int for _, _, page in pages]
    assert statuses == [503, 400, 400]
    asker, app, page = pages[0]
    assert page.headers["Retry-After"] == "1"
    assert consent_form(follow(asker, app.url())) is not None


def test_a_look_up_that_hangs_keeps_nobody_waiting(site, browser, app, monkeypatch):
    monkeypatch.setattr(documents, "DEADLINE", 0.1)
    released = Event()

    def hang(*_arguments, **_options):
        released.wait(30)
        raise socket.gaierror

    monkeypatch.setattr(socket, "getaddrinfo", hang)
    try:
        for number in range(documents.AT_ONCE + 1):
            app.client_id = f"https://host{number}.example/app"
            assert "does not answer in time" in refusal(browser, app)
    finally:
        released.set()


@contextmanager
def looked_up(monkeypatch, *addresses):
    """Let every host have these addresses, and record whether anything connects."""
    connected = []

    class Watched(socket.socket):
        def connect(self, address):
            connected.append(address)
            raise ConnectionRefusedError

    found = [(socket.AF_INET, socket.SOCK_STREAM, 0, "", (each, 443)) for each in addresses]
    with monkeypatch.context() as patch:
        patch.setattr(socket, "getaddrinfo", lambda *_arguments, **_options: found)
        patch.setattr(socket, "socket", Watched)
        yield connected


@pytest.mark.promise(93)
@row_by_row("address", ["127.0.0.1", "10.1.2.3", "169.254.169.254", "192.168.0.1", "100.64.0.1"])
def test_a_host_in_the_own_network_is_refused_without_a_connection(
    browser, app, monkeypatch, address
):
    Document.delete().execute()
    with looked_up(monkeypatch, "93.184.216.34", address) as connected:
        assert "its host has no public address" in refusal(browser, app)
    assert connected == []


@pytest.mark.promise(93)
def test_the_connection_goes_to_port_443_of_the_address_that_was_looked_up(
    browser, app, monkeypatch
):
    with looked_up(monkeypatch, "93.184.216.34") as connected:
        assert "its host does not answer" in refusal(browser, app)
    assert connected == [("93.184.216.34", 443)]


def test_an_operator_cannot_use_a_url_as_an_id(site, app, served, ada):
    app.log_in(ada)
    (client,) = Client.select()
    assert App(site).client_id != client.id
    app.client_id = client.id  # the key of the row is no client_id
    app.request_tokens(401, grant_type="refresh_token", refresh_token="x")


@pytest.mark.promise(98)
def test_a_consent_is_for_the_description_that_was_shown(site, browser, app, served, clock):
    form = consent_form(follow(browser, app.url()))
    served[URL] = {**app.document, "client_name": "Other"}
    clock.now += 5 * MINUTE
    follow(logged_in(site, make_user(site, "grace")), app.url())  # fetches it again
    page = form.submit("decision", value="allow", headers=BROWSER)
    assert page.location.startswith("/auth/authorize?")
    assert Client.select().count() == 0


@pytest.mark.promise(98)
def test_the_client_of_an_operator_is_never_that_of_a_document(site, browser, app, served):
    row = App(site, is_trusted=True)
    columns = {**Client.get_by_id(row.id).__data__, "id": id_of(URL)}
    Client.delete().execute()
    Client.insert(columns).execute()
    form = consent_form(follow(browser, app.url()))
    page = form.submit("decision", value="allow", headers=BROWSER)
    assert page.location.startswith("/auth/login")
    (client,) = Client.select()
    assert (client.name, client.is_trusted, client.is_public) == ("Wiki", True, False)


def test_users_see_and_revoke_an_app_with_a_document_by_its_url(site, browser, app, served):
    code_in(walk(browser, app.url()))
    (listed,) = browser.get("/auth/apps").json["apps"]
    assert (listed["id"], listed["hosts"][0]) == (URL, "editor.example")
    page = browser.get("/auth/apps", headers=BROWSER)
    assert "editor.example" in page.html.main.dl.text
    assert page.forms[0]["revoke"].value == URL
    browser.post_json("/auth/apps", {"revoke": URL})
    assert browser.get("/auth/apps").json["apps"] == []


def test_a_service_learns_the_url_of_the_app(site, app, served, ada):
    tokens = app.log_in(ada, scope="openid offline_access")
    describe = site.site.require(Introspector).describe
    for name in ("access_token", "refresh_token"):
        assert describe(tokens[name])["client_id"] == URL


def test_an_app_asks_for_permissions_of_a_service_alone(site, browser, served, app):
    page = follow(browser, app.url(scope="openid notes.read wsgiauth.introspect", resource=REPORTS))
    assert "notes.read" in page.html.main.text  # the user does not have it
    assert "introspect" not in page.html.main.text
