"""Refresh tokens of apps: rotation, reuse, lifetimes, and narrower scopes."""

from dataclasses import replace

import jwt
import pytest
from webtest import TestApp

from tests.support.oauth_apps import App, answer_in, code_in, consent_form, follow, walk
from tests.support.service_keys import MAPS, MAPS_TOO, REPORTS
from tests.support.settings import LONG_KEY
from tests.support.sites import SAME_ORIGIN, SECRET_KEY, echo
from wsgiauth import AuthMiddleware, Settings, change_password, storage
from wsgiauth.events.models import RecordedEvent
from wsgiauth.features.oauth_server.apps import list_apps, own_grants
from wsgiauth.features.oauth_server.grants import ENDED, GRACE
from wsgiauth.features.oauth_server.refresh_tokens import GrantTokens
from wsgiauth.features.oauth_server.scopes import MAX_SCOPE, recorded
from wsgiauth.features.oauth_server.tables import Client, Grant

pytestmark = pytest.mark.promise(88)

DAY = 86400
OFFLINE = "openid offline_access"


@pytest.fixture
def token(browser, wiki):
    """Return a refresh token of the app."""
    return wiki.log_in(browser)["refresh_token"]


@pytest.mark.every_database
def test_a_refresh_token_gets_new_tokens_and_the_next_refresh_token(wiki, token, clock):
    clock.move(600)
    answer = wiki.refresh(token)
    assert answer["refresh_token"] != token
    assert answer["scope"] == "openid profile email"
    assert answer.keys() >= {"access_token", "id_token"}
    wiki.refresh(answer["refresh_token"])


@pytest.mark.every_database
def test_the_former_token_gets_the_current_one_for_some_seconds(wiki, token, clock):
    """Because several processes of an app can refresh at once."""
    current = wiki.refresh(token)["refresh_token"]
    clock.move(GRACE)
    assert wiki.refresh(token)["refresh_token"] == current


@pytest.mark.every_database
def test_a_token_that_is_used_again_later_ends_the_grant(wiki, token, clock, ada):
    current = wiki.refresh(token)["refresh_token"]
    clock.move(GRACE + 1)
    assert wiki.refresh(token, 400)["error"] == "invalid_grant"
    assert wiki.refresh(current, 400)["error"] == "invalid_grant"
    event = RecordedEvent.get(RecordedEvent.name == "grant_reused")
    assert (event.user_id, event.reason) == (ada.id, wiki.id)


def test_a_token_from_before_the_former_one_ends_the_grant_at_once(wiki, token):
    current = wiki.refresh(wiki.refresh(token)["refresh_token"])["refresh_token"]
    wiki.refresh(token, 400)
    wiki.refresh(current, 400)


def test_a_clock_that_went_back_a_little_ends_nothing(wiki, token, clock):
    wiki.refresh(token)
    clock.move(-5)
    wiki.refresh(token)


@pytest.mark.parametrize("is_public", [False, True], ids=["confidential", "public"])
def test_a_token_of_another_client_is_refused_and_ends_nothing(site, wiki, token, is_public):
    other = App(site, "Other", is_public=is_public)
    assert other.refresh(token, 400)["error"] == "invalid_grant"
    wiki.refresh(token)


def forged(token, settings):
    return token[:-43] + token[-43:].swapcase()


def of_the_next_number(token, settings):
    return token.replace("_1_", "_2_")


def too_long(token, settings):
    return token + "A" * 200


def empty(token, settings):
    return ""


def of_another_site(token, settings):
    grant_id = token.removeprefix("wsgiauth-app_")[:22]
    return GrantTokens(replace(settings, SECRET_KEY=LONG_KEY)).issue(grant_id, 1)


def of_no_grant(token, settings):
    return GrantTokens(settings).issue("A" * 22, 1)


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (forged, "invalid_grant"),
        (of_the_next_number, "invalid_grant"),
        (too_long, "invalid_grant"),
        (of_another_site, "invalid_grant"),
        (of_no_grant, "invalid_grant"),
        (empty, "invalid_request"),
    ],
)
def test_any_other_token_is_refused_and_ends_nothing(wiki, token, settings, make, error):
    assert wiki.refresh(make(token, settings), 400)["error"] == error
    wiki.refresh(token)


def test_a_token_under_a_former_key_is_accepted(settings, token):
    rotated = GrantTokens(
        replace(settings, SECRET_KEY=LONG_KEY, SECRET_KEY_FALLBACKS=(settings.SECRET_KEY,))
    )
    assert rotated.verify(token) == GrantTokens(settings).verify(token)
    assert rotated.issue("A" * 22, 1) != GrantTokens(settings).issue("A" * 22, 1)


def test_a_token_of_an_earlier_version_is_accepted():
    token = "wsgiauth-app_AbCdEfGhIjKlMnOpQrStUv_7_tX47UzxBN5nK6LGKc-OGyy2FFWnB9sXFYrf6GWYe8Zk"
    tokens = GrantTokens(Settings(SECRET_KEY=SECRET_KEY))
    assert tokens.verify(token) == ("AbCdEfGhIjKlMnOpQrStUv", 7)


# Scopes and resources


def test_a_narrower_scope_is_for_one_refresh_alone(wiki, token):
    answer = wiki.refresh(token, scope="openid")
    assert answer["scope"] == "openid"
    assert wiki.refresh(answer["refresh_token"])["scope"] == "openid profile email"


@pytest.mark.every_database
def test_the_scopes_first_asked_for_can_be_named_again_and_what_was_granted_comes_back(
    site, browser, ada
):
    ada.grant("a.read")
    app = App(site, scopes=["openid", "email", "a.read", "a.write"])
    asked = "openid address email a.read a.write"  # five, of which the user and the app have three
    tokens = app.log_in(browser, scope=asked)
    assert tokens["scope"] == "openid email a.read"
    assert "!" not in str(list_apps(ada, 1)) + str([*own_grants(ada, site.site.settings)])
    for scope, granted in (
        (asked, "openid email a.read"),
        ("a.write openid", "openid"),
        (None, "openid email a.read"),
    ):
        tokens = app.refresh(tokens["refresh_token"], scope=scope)
        assert tokens["scope"] == granted
    ada.grant("a.write")  # too late for this grant
    tokens = app.refresh(tokens["refresh_token"], scope=asked)
    assert tokens["scope"] == "openid email a.read"
    for scope in ("openid profile", "a.write", "!a.write", "openid !a.write"):
        refused = app.refresh(tokens["refresh_token"], 400, scope=scope)
        assert refused["error"] == "invalid_scope", scope


def test_a_scope_that_the_person_took_from_the_form_can_be_named_again(site, browser, wiki):
    form = consent_form(follow(browser, wiki.url(scope="openid email")))
    form["scope"] = "openid"
    answer = form.submit("decision", value="allow", headers=SAME_ORIGIN)
    tokens = wiki.exchange(answer_in(answer.location)["code"])
    assert tokens["scope"] == "openid"
    assert wiki.refresh(tokens["refresh_token"], scope="openid email")["scope"] == "openid"


def test_what_is_no_scope_or_too_much_is_not_recorded():
    assert recorded(["openid"], ["openid", "a.b", 'x"', "ä", "a.b"]) == "openid !a.b"
    record = recorded(["openid"], [f"p{number}.{'x' * 90}" for number in range(100)])
    assert len(record) < 2 * MAX_SCOPE + 2


def test_a_wider_scope_is_refused_and_uses_no_token(settings, wiki, token):
    assert wiki.refresh(token, 400, scope="openid groups")["error"] == "invalid_scope"
    current = wiki.refresh(token)["refresh_token"]
    assert GrantTokens(settings).verify(current)[1] == 2


@pytest.mark.promise(90)
def test_a_permission_that_the_user_lost_is_not_in_new_tokens(site, browser, ada):
    ada.grant("a.read", "a.write")
    app = App(site, scopes=["openid", "a.read", "a.write"])
    tokens = app.log_in(browser, scope="openid a.read a.write")
    assert tokens["scope"] == "openid a.read a.write"
    ada.revoke("a.read")
    assert app.refresh(tokens["refresh_token"])["scope"] == "openid a.write"


@pytest.mark.promise(90)
def test_a_superuser_gets_the_permissions_that_the_client_asks_for(site, browser, ada):
    ada.is_superuser = True
    ada.save()
    app = App(site, scopes=["openid", "a.read"])
    assert app.log_in(browser, scope="openid a.read")["scope"] == "openid a.read"


@pytest.mark.promise(90)
def test_a_scope_that_the_client_lost_is_not_in_new_tokens(wiki, token):
    Client.update(scopes="openid").execute()
    assert wiki.refresh(token)["scope"] == "openid"


def test_a_refresh_token_is_for_the_resource_of_its_code(browser, wiki):
    tokens = wiki.log_in(browser, resource=MAPS)
    refused = wiki.refresh(tokens["refresh_token"], 400, resource=REPORTS)
    assert refused["error"] == "invalid_target"
    wiki.refresh(tokens["refresh_token"], resource=MAPS_TOO)


def test_a_new_access_token_has_the_audience_as_the_site_spells_it_now(site, settings, browser):
    app = App(site)
    token = app.log_in(browser, resource=MAPS)["refresh_token"]
    respelt = MAPS.replace("maps", "Maps")
    later = AuthMiddleware(echo, replace(settings, SERVICES=(respelt,)))
    app.begin(later, app.id, app.secret, app.uri)
    refreshed = app.refresh(token)["access_token"]
    assert jwt.decode(refreshed, options={"verify_signature": False})["aud"] == respelt
    storage.discard_connection(later.database)


# Lifetimes


def test_a_grant_ends_with_its_session(wiki, token, clock):
    ends_at = Grant.get().expires_at
    clock.move(ends_at - clock() - 1)
    Grant.get().session.update(expires_at=ends_at + 1).execute()
    token = wiki.refresh(token)["refresh_token"]
    clock.move(1)
    assert wiki.refresh(token, 400)["error"] == "invalid_grant"


def test_an_idle_session_that_has_ended_ends_its_grants(wiki, token, clock):
    Grant.get().session.update(expires_at=clock() + 60).execute()
    clock.move(60)
    assert wiki.refresh(token, 400)["error"] == "invalid_grant"


@pytest.mark.every_database
def test_offline_access_outlives_the_logout(browser, offline_wiki):
    token = offline_wiki.log_in(browser, scope=OFFLINE)["refresh_token"]
    browser.post("/auth/logout", headers=SAME_ORIGIN)
    assert offline_wiki.refresh(token)["scope"] == "openid offline_access"


@pytest.fixture
def offline_wiki(site):
    """Return an app that can keep its access."""
    return App(site, scopes=["openid", "offline_access"])


def test_offline_access_ends_after_days_without_use(settings, browser, offline_wiki, clock):
    token = offline_wiki.log_in(browser, scope=OFFLINE)["refresh_token"]
    for _ in range(2):
        clock.move(settings.REMEMBER_DAYS * DAY - 1)
        token = offline_wiki.refresh(token)["refresh_token"]
    clock.move(settings.REMEMBER_DAYS * DAY)
    assert offline_wiki.refresh(token, 400)["error"] == "invalid_grant"


def test_offline_access_ends_with_a_new_password(settings, browser, offline_wiki, ada):
    token = offline_wiki.log_in(browser, scope=OFFLINE)["refresh_token"]
    change_password(ada, "four other unrelated words", settings=settings)
    assert offline_wiki.refresh(token, 400)["error"] == "invalid_grant"


@pytest.fixture
def unremembering(settings, clock):
    """Return the site after a change of REMEMBER_DAYS to 0."""
    site = AuthMiddleware(echo, replace(settings, REMEMBER_DAYS=0))
    site.site.tokens.now = clock
    yield site
    storage.discard_connection(site.database)


def at(site, app):
    """Let the program of an app ask another site."""
    app.program = TestApp(site)
    app.program.authorization = ("Basic", (app.id, app.secret))
    return app


def test_without_remember_days_no_former_grant_outlives_the_browser(
    browser, offline_wiki, unremembering
):
    token = offline_wiki.log_in(browser, scope=OFFLINE)["refresh_token"]
    assert at(unremembering, offline_wiki).refresh(token, 400)["error"] == "invalid_grant"
    assert [each.stamp for each in Grant.select()] == [ENDED]


def test_without_remember_days_a_former_code_gives_what_ends_with_the_session(
    browser, offline_wiki, unremembering
):
    code = code_in(walk(browser, offline_wiki.url(scope=OFFLINE)))
    answer = at(unremembering, offline_wiki).exchange(code)
    assert answer["scope"] == "openid"
    assert not Grant.get().is_offline
