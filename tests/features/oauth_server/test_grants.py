"""What ends a grant: its refresh token, and its access tokens where they are asked about."""

import pytest
from webtest import TestApp

from tests.support.endings import ENDINGS, NEW_PASSWORD, OF_SESSIONS, choose_a_password
from tests.support.oauth_apps import USERINFO, App, RegisteredApp, code_in, walk
from wsgiauth import change_password
from wsgiauth.events.models import RecordedEvent
from wsgiauth.features.oauth_server import clients, grants
from wsgiauth.features.oauth_server.scopes import MOST_COMBINATIONS
from wsgiauth.features.oauth_server.server import OAuthServer
from wsgiauth.features.oauth_server.tables import Client, Consent, Grant
from wsgiauth.testing import api_key, logged_in, make_group

pytestmark = pytest.mark.promise(92)

INACTIVE = {"active": False}
FIVE_MINUTES = 300


def grants_of(made):
    """Return the grants of an application."""
    return made.site.require(OAuthServer).grants


@pytest.fixture
def group(site, ada):
    """Return a group with Ada."""
    group = make_group(site, "Editors")
    ada.join(group)
    return group


@pytest.fixture
def wiki(site, group):
    """Return an app for the members of a group."""
    return App(site, group=group, scopes=["openid", "offline_access"])


@pytest.fixture
def ask(site, grace):
    """Return a function that returns what a service learns about a token."""
    grace.grant("wsgiauth.introspect")
    headers = api_key(site, grace, ["wsgiauth.introspect"])
    client = TestApp(site)
    return lambda token: client.post("/auth/introspect", {"token": token}, headers=headers).json


def are_valid(site, app, tokens, ask):
    """Return whether the tokens are valid, in each place that takes them."""
    bearer = {"Authorization": f"Bearer {tokens['access_token']}"}
    return [
        TestApp(site).get(USERINFO, headers=bearer, status="*").status_int == 200,
        ask(tokens["access_token"])["active"],
        ask(tokens["refresh_token"])["active"],
        "access_token" in app.refresh(tokens["refresh_token"], "*"),
    ]


@pytest.mark.every_database
@pytest.mark.parametrize("end", [*OF_SESSIONS, *ENDINGS])
def test_what_ends_a_grant_ends_its_tokens_at_once(site, browser, ada, settings, wiki, ask, end):
    """The end of a session is none of offline access."""
    tokens = wiki.log_in(browser, scope="openid")
    other_tokens = wiki.log_in(browser, scope="openid")
    offline_tokens = wiki.log_in(browser, scope="openid offline_access")
    assert are_valid(site, wiki, other_tokens, ask) == [True] * 4
    end(browser, ada, settings)
    assert are_valid(site, wiki, tokens, ask) == [False] * 4
    assert are_valid(site, wiki, offline_tokens, ask) == [end in OF_SESSIONS] * 4


@pytest.mark.every_database
@pytest.mark.parametrize("further", [{"OAUTH_REGISTRATION": True}], ids=["with registration"])
def test_a_client_that_registered_itself_ends_its_grants_when_it_expires(
    site, browser, ask, settings, clock
):
    app = RegisteredApp(site)
    tokens = app.log_in(browser, scope="openid offline_access")
    Client.update(expires_at=int(clock()) + 1).execute()
    assert ask(tokens["access_token"])["active"]
    clock.move(1)
    assert grants_of(site).find(Grant.get().id, clock()) is None
    assert are_valid(site, app, tokens, ask) == [False] * 4


def test_an_access_token_lasts_five_minutes(site, browser, wiki, ask, clock):
    token = wiki.log_in(browser)["access_token"]
    bearer = {"Authorization": f"Bearer {token}"}
    clock.move(FIVE_MINUTES - 1)
    TestApp(site).get(USERINFO, headers=bearer)
    assert ask(token)["active"]
    clock.move(1)
    TestApp(site).get(USERINFO, headers=bearer, status=401)
    assert ask(token) == INACTIVE


def test_a_grant_of_a_trusted_client_ends_when_the_user_revokes_it(site, browser, ada, ask):
    app = App(site, is_trusted=True)
    tokens = app.log_in(browser)
    assert grants.revoke(ada, app.id, 1)
    assert are_valid(site, app, tokens, ask) == [False] * 4


def test_a_client_that_is_trusted_no_more_needs_the_consent(site, browser, ask):
    app = App(site, is_trusted=True)
    tokens = app.log_in(browser)
    Client.update(is_trusted=False).execute()
    assert are_valid(site, app, tokens, ask) == [False] * 4


def test_a_new_password_in_one_browser_leaves_other_users_alone(
    site, browser, wiki, ask, ada, grace, settings
):
    grace.join("Editors")
    tokens = wiki.log_in(logged_in(site, grace))
    choose_a_password(browser, ada, settings)
    assert are_valid(site, wiki, tokens, ask) == [True] * 4


def test_a_grant_that_ends_while_it_is_refreshed_has_no_next_token(browser, wiki, clock, settings):
    wiki.log_in(browser)
    grant = grants_of(wiki.site).find(Grant.get().id, clock())
    grants.end(grant.id, grant.client)
    assert not grants.refresh(grant, 1, settings, clock())
    assert not RecordedEvent.select().where(RecordedEvent.name == "grant_reused").exists()


# Consents


def test_a_consent_adds_to_former_ones(browser, wiki, ada):
    walk(browser, wiki.url(scope="openid"))
    walk(browser, wiki.url(scope="offline_access"))
    assert Consent.get().scopes == "offline_access openid"


def covers(app, user, scopes, resource=""):
    return grants.allowance(Client.get_by_id(app.id), user).covers(scopes.split(), resource)


@pytest.mark.every_database
def test_scopes_are_allowed_together_only_if_they_were_asked_for_together(site, ada):
    app = App(site, scopes=["openid", "email", "groups", "offline_access"])
    client = Client.get_by_id(app.id)
    for each in ("openid email", "openid offline_access", "groups"):
        assert grants.allow(client, ada, each.split(), 1)
    for each in ("openid email", "email", "offline_access openid", "groups", ""):
        assert covers(app, ada, each), each
    for each in ("openid email offline_access", "email groups", "openid groups"):
        assert not covers(app, ada, each), each
    assert not covers(app, ada, "openid email", "https://reports.example.org")
    assert Consent.get().scopes == "email groups offline_access openid"


def test_a_combination_within_an_allowed_one_is_no_news(site, ada, browser):
    client = Client.get_by_id(App(site, scopes=["openid", "email"]).id)
    assert grants.allow(client, ada, ["openid"], 1)
    assert grants.allow(client, ada, ["openid", "email"], 2)
    before = Consent.get().combinations
    assert before == "email openid"  # the smaller one is within it
    assert grants.allow(client, ada, ["openid"], 3)
    assert Consent.get().combinations == before
    assert RecordedEvent.select().where(RecordedEvent.name == "consent_given").count() == 2


def test_of_many_combinations_the_oldest_falls_out(site, ada):
    permissions = [f"reports.a{number}" for number in range(MOST_COMBINATIONS + 1)]
    app = App(site, scopes=permissions)
    client = Client.get_by_id(app.id)
    for each in permissions:
        assert grants.allow(client, ada, [each], 1)
    assert [covers(app, ada, each) for each in permissions] == [False] + [True] * MOST_COMBINATIONS
    assert Consent.get().scopes.split() == sorted(permissions[1:])


@pytest.mark.every_database
def test_a_consent_of_the_version_before_counts_as_allowed_together(site, ada):
    app = App(site, scopes=["openid", "email", "groups"])
    Consent.insert(user=ada.id, client=app.id, scopes="email openid", created_at=1).execute()
    assert covers(app, ada, "openid email")
    assert not covers(app, ada, "openid groups")
    assert grants.allow(Client.get_by_id(app.id), ada, ["groups"], 2)
    assert covers(app, ada, "openid email")
    assert covers(app, ada, "groups")
    assert not covers(app, ada, "openid groups")


def test_a_consent_is_an_event(browser, wiki, ada):
    walk(browser, wiki.url(scope="openid"))
    event = RecordedEvent.get(RecordedEvent.name == "consent_given")
    assert (event.user_id, event.reason) == (ada.id, wiki.id)


@pytest.mark.promise(90)
def test_each_lasting_access_is_an_event_also_of_an_app_that_had_it(browser, wiki, ada):
    for scope in ("openid offline_access", "openid", "openid offline_access"):
        wiki.log_in(browser, scope=scope)
    found = RecordedEvent.select().where(RecordedEvent.name == "offline_access_given")
    assert [(each.user_id, each.reason) for each in found] == [(ada.id, wiki.id)] * 2


def test_a_revocation_is_an_event_if_there_was_something(browser, wiki, ada):
    walk(browser, wiki.url(scope="openid"))
    assert [grants.revoke(ada, wiki.id, 1) for _ in range(2)] == [True, False]
    event = RecordedEvent.get(RecordedEvent.name == "consent_revoked")
    assert (event.user_id, event.reason) == (ada.id, wiki.id)


def test_no_consent_is_recorded_for_who_has_changed_meanwhile(wiki, ada, settings):
    client = Client.get_by_id(wiki.id)
    assert grants.allow(client, ada, ["openid"], 1)
    change_password(type(ada).get_by_id(ada.id), NEW_PASSWORD, settings=settings)
    assert not grants.allow(client, ada, ["openid"], 1)
    ada.delete_instance()
    assert not grants.allow(client, ada, ["openid"], 1)


def test_no_consent_is_recorded_for_a_removed_client(wiki, ada):
    client = Client.get_by_id(wiki.id)
    clients.remove(client)
    assert not grants.allow(client, ada, ["openid"], 1)
    assert grants.allowance(client, ada) == ((), False)


# Rows


def test_a_use_of_a_code_deletes_expired_grants(browser, wiki, clock):
    wiki.log_in(browser)
    Grant.update(expires_at=1).execute()
    wiki.log_in(browser)
    assert Grant.select().count() == 1


@pytest.mark.every_database
def test_a_question_about_a_grant_costs_one_select(browser, wiki, clock, queries):
    grant_id = wiki.log_in(browser) and Grant.get().id
    for named, is_valid in ((grant_id, True), ("A" * 22, False)):
        found = []
        sent = queries(lambda: found.append(grants_of(wiki.site).find(named, clock())))  # noqa: B023
        assert (len(sent), found != [None]) == (1, is_valid)


def test_a_found_grant_has_its_user_and_its_client(browser, wiki, clock, ada, queries):
    wiki.log_in(browser)
    grant = grants_of(wiki.site).find(Grant.get().id, clock())
    seen = []
    sent = queries(lambda: seen.append((grant.user.username, grant.client.name)))
    assert (sent, seen) == ([], [(ada.username, "Wiki")])
    assert grant.client.is_trusted is False


def test_a_further_login_ends_the_grant_that_was_used_longest_ago(
    browser, wiki, clock, monkeypatch
):
    monkeypatch.setattr(grants, "MOST", 3)
    logins = [wiki.log_in(browser)["refresh_token"] for _ in range(3)]
    clock.now += 10 * FIVE_MINUTES
    logins[0] = wiki.refresh(logins[0])["refresh_token"]
    logins.append(wiki.log_in(browser)["refresh_token"])
    assert Grant.select().count() == 3
    assert "access_token" in wiki.refresh(logins[0])
    assert "access_token" in wiki.refresh(logins[3])
    gone = [each for each in logins[1:3] if wiki.refresh(each, "*").get("error")]
    assert len(gone) == 1


def test_no_login_follows_another_without_end(browser, wiki, monkeypatch):
    """As long as the codes of the grants could be used again, the rows stay."""
    monkeypatch.setattr(grants, "MOST", 3)
    for _ in range(3):
        wiki.log_in(browser)
    url = walk(browser, wiki.url())
    assert wiki.exchange(code_in(url), 400)["error"] == "invalid_grant"
    assert Grant.select().count() == 3
