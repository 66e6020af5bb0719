"""Authorization codes: each works once, for a minute, in the session that it was made in."""

from dataclasses import replace
from urllib.parse import quote_plus

import pytest
from webtest import TestApp

from tests.support.oauth_apps import App, code_in, walk
from tests.support.settings import LONG_KEY
from tests.support.sites import PASSWORD, SAME_ORIGIN, echo
from wsgiauth import AuthMiddleware, User, change_password, storage
from wsgiauth.accounts import create_user
from wsgiauth.accounts.tables import Session
from wsgiauth.authentication import sessions
from wsgiauth.events.models import RecordedEvent
from wsgiauth.features.oauth_server import grants
from wsgiauth.features.oauth_server.codes import Codes
from wsgiauth.features.oauth_server.grants import Code
from wsgiauth.features.oauth_server.tables import Client, Grant
from wsgiauth.testing import make_group

pytestmark = pytest.mark.promise(88)

NEW_PASSWORD = "four other unrelated words"


@pytest.fixture
def code(browser, wiki):
    """Return a code that Ada's browser has brought to the app."""
    return code_in(walk(browser, wiki.url()))


@pytest.fixture
def rotated(settings, clock, code):
    """Return the site after a change of SECRET_KEY."""
    keys = {"SECRET_KEY": LONG_KEY, "SECRET_KEY_FALLBACKS": (settings.SECRET_KEY,)}
    site = AuthMiddleware(echo, replace(settings, **keys))
    site.site.tokens.now = clock
    yield site
    storage.discard_connection(site.database)


def test_a_code_needs_no_encoding_in_a_url(code):
    assert quote_plus(code) == code


@pytest.mark.every_database
def test_a_code_works_once(wiki, code):
    wiki.exchange(code)
    assert wiki.exchange(code, 400)["error"] == "invalid_grant"


@pytest.mark.every_database
def test_a_second_use_of_a_code_ends_what_the_first_one_gave(wiki, code, ada):
    tokens = wiki.exchange(code)
    wiki.exchange(code, 400)
    assert wiki.refresh(tokens["refresh_token"], 400)["error"] == "invalid_grant"
    event = RecordedEvent.get(RecordedEvent.name == "grant_reused")
    assert (event.user_id, event.reason) == (ada.id, wiki.id)


def test_a_third_use_of_a_code_is_no_further_event(wiki, code):
    wiki.exchange(code)
    for _ in range(2):
        wiki.exchange(code, 400)
    assert RecordedEvent.select().where(RecordedEvent.name == "grant_reused").count() == 1


def test_a_wrong_second_use_ends_nothing(wiki, code):
    tokens = wiki.exchange(code)
    wiki.exchange(code, 400, code_verifier="x" * 43)
    wiki.refresh(tokens["refresh_token"])


@pytest.mark.parametrize(("seconds", "status"), [(59, 200), (60, 400)])
def test_a_code_works_for_a_minute(wiki, code, clock, seconds, status):
    clock.move(seconds)
    wiki.exchange(code, status)


def test_a_grant_stays_for_longer_than_its_code_can_be_used(browser, wiki, code, clock):
    """A deleted row would let the code make another one."""
    Session.update(ends_at=clock() + 1).execute()
    wiki.exchange(code)
    clock.move(59)
    wiki.log_in(browser)  # deletes expired grants
    assert wiki.exchange(code, 400)["error"] == "invalid_grant"


def log_out(browser, ada, settings):
    browser.post("/auth/logout", headers=SAME_ORIGIN)


def expire(browser, ada, settings):
    Session.update(expires_at=1).execute()


def copy_a_token_of_the_session(browser, ada, settings):
    sessions.end_copied(Session.get().id, ada.id)


def choose_a_password(browser, ada, settings):
    change_password(ada, NEW_PASSWORD, settings=settings)


def deactivate(browser, ada, settings):
    ada.is_active = False
    ada.save()


def delete(browser, ada, settings):
    ada.delete_instance()


def revoke_the_consent(browser, ada, settings):
    grants.revoke(ada, Client.get().id, 1)


@pytest.mark.parametrize(
    "change",
    [
        log_out,
        expire,
        copy_a_token_of_the_session,
        choose_a_password,
        deactivate,
        delete,
        revoke_the_consent,
    ],
)
def test_a_code_ends_with_what_it_was_made_by(browser, wiki, ada, settings, code, change):
    change(browser, ada, settings)
    assert wiki.exchange(code, 400)["error"] == "invalid_grant"
    assert Grant.select().count() == 0


def log_in_as_another_user(browser, ada, settings):
    create_user("grace", "grace@example.net", PASSWORD, settings=settings)
    fields = {"username": "grace", "password": PASSWORD}
    browser.post("/auth/login", fields, headers=SAME_ORIGIN, status=303)


def confirm(browser):
    """Prove the identity again, which gives the session another id."""
    browser.post("/auth/confirm", {"password": PASSWORD}, headers=SAME_ORIGIN, status=303)


@pytest.mark.every_database
@pytest.mark.promise(92)
def test_a_code_in_flight_outlives_new_proofs_of_identity(browser, wiki, code, clock):
    for _ in range(2):
        confirm(browser)
    clock.move(59)
    wiki.exchange(code)
    assert Grant.get().session_id == Session.get().id
    assert wiki.exchange(code, 400)["error"] == "invalid_grant"


@pytest.mark.promise(92)
@pytest.mark.parametrize(
    "change",
    [log_out, log_in_as_another_user, expire, choose_a_password, deactivate, revoke_the_consent],
)
def test_a_code_ends_after_a_new_proof_as_before(browser, wiki, ada, settings, code, change):
    confirm(browser)
    change(browser, ada, settings)
    assert wiki.exchange(code, 400)["error"] == "invalid_grant"
    assert Grant.select().count() == 0


def test_a_code_from_before_a_new_stamp_is_refused_whatever_its_session(wiki, code):
    User.update(security_stamp=User.security_stamp + 1).execute()
    Session.update(stamp=Session.stamp + 1).execute()
    assert wiki.exchange(code, 400)["error"] == "invalid_grant"


def test_a_code_of_a_session_that_another_user_has_now_is_refused(site, wiki, code, grace):
    Session.update(user=grace.id, stamp=grace.security_stamp).execute()
    assert wiki.exchange(code, 400)["error"] == "invalid_grant"


def test_a_code_ends_when_the_user_leaves_the_group_of_the_client(site, browser, ada):
    group = make_group(site, "Editors")
    app = App(site, group=group)
    ada.join(group)
    code = code_in(walk(browser, app.url()))
    ada.leave(group)
    assert app.exchange(code, 400)["error"] == "invalid_grant"


def test_a_code_for_scopes_that_were_never_allowed_is_refused(browser, wiki, code):
    """As after a consent that was revoked, and given again for less."""
    grants.revoke(Session.get().user, wiki.id, 1)
    walk(browser, wiki.url(scope="openid"))
    assert wiki.exchange(code, 400)["error"] == "invalid_grant"


def test_a_trusted_client_needs_no_consent(site, browser):
    app = App(site, is_trusted=True)
    assert app.log_in(browser)["scope"] == "openid profile email"


# Keys


def test_a_code_under_a_former_key_is_exchanged(rotated, wiki, code):
    wiki.program = TestApp(rotated)
    wiki.program.authorization = ("Basic", (wiki.id, wiki.secret))
    wiki.exchange(code)


def test_a_code_under_another_key_is_refused(settings, clock, code):
    assert Codes(replace(settings, SECRET_KEY=LONG_KEY)).read(code, clock()) is None


def test_a_log_of_a_code_shows_the_client_alone(wiki):
    code = Code("grant", wiki.id, 1, 1, "session", "uri", "challenge", "nonce", "openid", "")
    assert f"{code}" == f"<Code for {wiki.id}>"
