"""/auth/apps: users see which apps use their account, and revoke one."""

import pytest
from webtest import TestApp

from tests.support.oauth_apps import App, walk
from tests.support.service_keys import MAPS
from tests.support.sites import BROWSER, SAME_ORIGIN
from wsgiauth.accounts.tables import Session
from wsgiauth.authentication import sessions
from wsgiauth.features.oauth_server import apps, grants
from wsgiauth.features.oauth_server.apps import own_consents, own_grants
from wsgiauth.features.oauth_server.endpoints.apps import AppsPage
from wsgiauth.features.oauth_server.tables import Client, Grant
from wsgiauth.storage.models import from_timestamp, utc_text
from wsgiauth.testing import api_key, logged_in, make_group

APPS, SESSIONS = "/auth/apps", "/auth/sessions"
JSON = {"Accept": "application/json"}


def listed(browser):
    return browser.get(APPS).json["apps"]


def revoke(browser, client_id, status=303):
    """Send the form of the page."""
    page = browser.get(APPS, headers=BROWSER)
    account = page.forms[0]["account"].value if page.forms else ""
    fields = {"account": account, "revoke": client_id}
    return browser.post(APPS, fields, headers=SAME_ORIGIN, status=status)


def test_without_apps_the_page_says_so(browser):
    browser.get(APPS, headers=BROWSER).mustcontain("No app uses your account.")
    assert listed(browser) == []


@pytest.mark.every_database
def test_an_app_is_listed_with_what_it_can_do(browser, wiki, clock):
    start = clock()
    wiki.log_in(browser)
    clock.move(60)
    wiki.log_in(browser)
    assert listed(browser) == [
        {
            "id": wiki.id,
            "name": "Wiki",
            "hosts": ["wiki.example.org"],
            "scopes": ["email", "openid", "profile"],
            "allowed_at": utc_text(from_timestamp(start)),
            "last_used_at": utc_text(from_timestamp(start + 60)),
        }
    ]


@pytest.mark.parametrize("further", [{"USERNAMES": False}])
def test_without_usernames_an_app_sees_no_more_of_a_profile_than_the_language(browser, wiki):
    wiki.log_in(browser)
    page = browser.get(APPS, headers=BROWSER)
    page.mustcontain("See your language", no="your username")


def test_the_page_says_it_in_words(browser, wiki):
    wiki.log_in(browser)
    page = browser.get(APPS, headers=BROWSER)
    page.mustcontain("Wiki", "wiki.example.org", "See your email address")


def test_an_app_that_was_allowed_and_never_used_is_listed(browser, wiki):
    walk(browser, wiki.url())
    assert [each["last_used_at"] for each in listed(browser)] == [None]
    browser.get(APPS, headers=BROWSER).mustcontain("Allowed", no="Last used")


@pytest.mark.every_database
def test_the_newest_apps_are_listed_and_each_can_be_revoked(site, browser, clock, monkeypatch):
    """Any number of apps can register themselves, and one user can allow them all."""
    monkeypatch.setattr(apps, "MOST_LISTED", 2)
    monkeypatch.setattr(AppsPage, "most", 2)
    old, new = App(site, "Old"), App(site, "New")
    old.log_in(browser)
    assert "Only the apps that were allowed last" not in browser.get(APPS, headers=BROWSER)
    for app in (new, App(site, "Newer")):
        clock.move(10)
        app.log_in(browser)
    assert [each["name"] for each in listed(browser)] == ["Newer", "New"]
    page = browser.get(APPS, headers=BROWSER)
    assert "Only the apps that were allowed last are listed." in page
    revoke(browser, old.id)
    revoke(browser, new.id)
    assert [each["name"] for each in listed(browser)] == ["Newer"]


def test_a_trusted_app_is_listed_while_it_has_tokens(site, browser, clock):
    app = App(site, is_trusted=True)
    app.log_in(browser)
    assert [each["id"] for each in listed(browser)] == [app.id]
    Grant.update(expires_at=clock()).execute()
    assert listed(browser) == []


def test_the_app_that_was_used_last_is_the_first(site, browser, clock):
    made = [App(site, name) for name in ("First", "Second", "Third")]
    for app in (made[1], made[2], made[0]):
        clock.move(10)
        app.log_in(browser)
    assert [each["name"] for each in listed(browser)] == ["First", "Third", "Second"]


def test_an_app_on_a_device_is_listed_by_its_scheme(site, browser):
    App(site, uri="com.example.wiki:/callback", is_public=True).log_in(browser)
    assert listed(browser)[0]["hosts"] == ["com.example.wiki:"]
    page = browser.get(APPS, headers=BROWSER)
    page.mustcontain("An app on a computer, a phone or another device", no="com.example.wiki")


def test_an_app_is_listed_with_every_host_once(site, browser, wiki):
    others = ["https://wiki.example.org/other", "http://localhost:8080/callback"]
    Client.update(redirect_uris="\n".join([wiki.uri, *others])).execute()
    wiki.log_in(browser)
    assert listed(browser)[0]["hosts"] == ["wiki.example.org", "localhost:8080"]
    browser.get(APPS, headers=BROWSER).mustcontain("wiki.example.org", no="localhost")
    Client.update(redirect_uris=others[1]).execute()
    browser.get(APPS, headers=BROWSER).mustcontain("localhost:8080")
    Client.update(is_public=True).execute()
    browser.get(APPS, headers=BROWSER).mustcontain("An app on a computer", no="localhost:8080")


def test_a_grant_whose_session_has_ended_is_no_use(browser, wiki, site, ada):
    wiki.log_in(browser)
    browser.post("/auth/logout", headers=SAME_ORIGIN)
    assert [each["last_used_at"] for each in listed(logged_in(site, ada))] == [None]


def test_a_grant_whose_session_was_copied_is_no_use(browser, wiki, site, ada):
    """The row of the session stays."""
    wiki.log_in(browser)
    sessions.end_copied(Session.get().id, ada.id)
    assert [each["last_used_at"] for each in listed(logged_in(site, ada))] == [None]


def test_each_user_sees_their_own_apps(site, browser, wiki, grace):
    wiki.log_in(browser)
    assert listed(logged_in(site, grace)) == []


@pytest.mark.promise(92)
def test_a_revoked_app_has_nothing_more(browser, wiki):
    tokens = wiki.log_in(browser)
    answer = revoke(browser, wiki.id)
    page = answer.follow(headers=BROWSER)
    page.mustcontain("The app “Wiki” can no longer use your account.", "No app uses your account.")
    assert wiki.refresh(tokens["refresh_token"], 400)["error"] == "invalid_grant"


@pytest.mark.promise(90)
def test_a_revoked_app_has_to_be_allowed_again(browser, wiki):
    wiki.log_in(browser)
    revoke(browser, wiki.id)
    answer = browser.get(wiki.url(), headers=BROWSER)
    assert "/auth/consent" in answer.location


def test_a_trusted_app_can_be_revoked(site, browser):
    app = App(site, is_trusted=True)
    tokens = app.log_in(browser)
    revoke(browser, app.id)
    app.refresh(tokens["refresh_token"], 400)


def test_a_program_gets_the_new_list(site, ada, browser, wiki):
    wiki.log_in(browser)
    token = sessions.start(ada, site.site.tokens).token
    headers = {"Authorization": f"Bearer {token}"}
    answer = TestApp(site).post_json(APPS, {"revoke": wiki.id}, headers=headers)
    assert answer.json == {"apps": [], "launch": []}


@pytest.mark.parametrize("name", ["unknown", ""], ids=["unknown", "not named"])
def test_another_app_cannot_be_revoked(browser, wiki, name):
    wiki.log_in(browser)
    revoke(browser, name, status=422 if name == "" else 404)
    assert len(listed(browser)) == 1


def test_an_app_of_another_user_cannot_be_revoked(site, browser, wiki, grace):
    tokens = wiki.log_in(browser)
    her_browser = logged_in(site, grace)
    App(site, "Other").log_in(her_browser)
    revoke(her_browser, wiki.id, status=404)
    wiki.refresh(tokens["refresh_token"])


def test_an_app_can_be_revoked_once(browser, wiki, site):
    other = App(site, "Other")
    wiki.log_in(browser)
    other.log_in(browser)
    revoke(browser, wiki.id)
    revoke(browser, wiki.id, status=404).mustcontain("That app has been revoked already.")


def test_an_api_key_does_not_see_the_apps(site, ada):
    TestApp(site).get(APPS, headers=api_key(site, ada), status=403)


def test_a_removed_client_is_listed_no_more(browser, wiki):
    wiki.log_in(browser)
    Client.delete().execute()
    assert listed(browser) == []


# The file of a person's own data


@pytest.mark.promise(86)
def test_a_consent_is_in_the_file_of_a_user(browser, wiki, ada, grace, settings, clock):
    walk(browser, wiki.url())
    assert list(own_consents(grace, settings)) == []
    assert list(own_consents(ada, settings)) == [
        {
            "app": "Wiki",
            "scopes": ["email", "openid", "profile"],
            "allowed_at": utc_text(from_timestamp(clock())),
        }
    ]


@pytest.mark.promise(86)
def test_a_grant_is_in_the_file_of_a_user_also_after_its_end(
    browser, wiki, ada, grace, settings, clock
):
    wiki.log_in(browser)
    wiki.log_in(browser, resource=MAPS)
    grants.revoke(ada, wiki.id, 1)
    assert list(own_grants(grace, settings)) == []
    both = list(own_grants(ada, settings))
    assert {each.pop("service") for each in both} == {None, MAPS}
    began = utc_text(from_timestamp(clock()))
    ends = utc_text(from_timestamp(Grant.get().expires_at))
    described = {
        "app": "Wiki",
        "scopes": ["openid", "profile", "email"],
        "began_at": began,
        "last_used_at": began,
        "expires_at": ends,
    }
    assert both == [described] * 2


# The apps that a user can open


def offered(site, name="Wiki", **columns):
    """Return an app with a link."""
    app = App(site, name)
    columns = {"launch_url": f"https://{name.lower()}.example.org/", **columns}
    Client.update(columns).where(Client.id == app.id).execute()
    return app


@pytest.mark.every_database
def test_the_apps_that_a_user_can_open_are_links(site, browser, ada):
    editors, readers = make_group(site, "Editors"), make_group(site, "Readers")
    ada.join(editors)
    offered(site, "Wiki")
    offered(site, "Blog", group_id=editors.id)
    offered(site, "Notes", group_id=readers.id)
    offered(site, "Gone", group_id=readers.id + 1)
    for name, url in (("Old", None), ("Former", "")):
        offered(site, name, launch_url=url)
    assert browser.get(APPS).json["launch"] == [
        {"name": "Blog", "url": "https://blog.example.org/"},
        {"name": "Wiki", "url": "https://wiki.example.org/"},
    ]
    links = browser.get(APPS, headers=BROWSER).html.main.select("a[rel=noreferrer]")
    assert [(each.select_one("[dir=auto]").text, each["href"]) for each in links] == [
        ("Blog", "https://blog.example.org/"),
        ("Wiki", "https://wiki.example.org/"),
    ]


@pytest.mark.promise(93)
@pytest.mark.parametrize(
    "columns",
    [
        {"expires_at": 4_000_000_000},
        {"document_url": "https://wiki.example.org/app.json"},
        {"is_service": True},
    ],
    ids=["registered itself", "has a document", "service"],
)
def test_another_app_is_never_a_link(site, browser, columns):
    offered(site, **columns)
    assert browser.get(APPS).json["launch"] == []
    assert "Your apps" not in browser.get(APPS, headers=BROWSER)


# What outlasts sessions


@pytest.mark.every_database
def test_the_list_of_sessions_names_the_apps_that_outlast_them(site, browser, wiki, ada):
    wiki.log_in(browser)
    assert browser.get(SESSIONS).json["apps"] == []
    assert "Apps that keep their access" not in browser.get(SESSIONS, headers=BROWSER)
    scopes = ["openid", "offline_access"]
    lasting = App(site, "Lasting", scopes=scopes)
    for _ in range(2):
        lasting.log_in(browser, scope=" ".join(scopes))
    itself = App(site, "Editor", scopes=scopes)
    itself.log_in(browser, scope=" ".join(scopes))
    Client.update(expires_at=4_000_000_000).where(Client.id == itself.id).execute()
    program = browser.post_json(SESSIONS, {"end": "others"}, headers=SAME_ORIGIN | JSON)
    assert program.json["apps"] == ["wiki.example.org", "Lasting"]
    page = browser.get(SESSIONS, headers=BROWSER)
    page.mustcontain("Apps that keep their access", "Lasting")
    assert page.click("^Revoke the apps$").request.path == APPS
    sessions.revoke_all(ada)
    again = logged_in(site, ada)
    assert again.get(SESSIONS).json["apps"] == ["wiki.example.org", "Lasting"]
    revoke(again, lasting.id)
    assert again.get(SESSIONS).json["apps"] == ["wiki.example.org"]


@pytest.mark.parametrize("further", [{"OAUTH_SERVER": False}], ids=["no provider"])
def test_without_apps_the_list_of_sessions_has_none(browser, queries):
    assert "apps" not in browser.get(SESSIONS).json
    sent = queries(lambda: browser.get(SESSIONS, headers=BROWSER))
    assert not [each for each in sent if "wsgiauth_oauth" in each]


def test_the_apps_that_outlast_sessions_cost_one_select(browser, queries):
    sent = queries(lambda: browser.get(SESSIONS, headers=BROWSER))
    assert len([each for each in sent if "wsgiauth_oauth" in each]) == 1
