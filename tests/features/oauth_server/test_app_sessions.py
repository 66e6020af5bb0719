"""Which changes let an app get a logout token: one for each session that ends, and no other."""

import pytest

from tests.support import endings
from tests.support.endings import ENDINGS, OF_SESSIONS
from tests.support.factors import FACTOR_KEY, add_app
from tests.support.logout_receiver import verified
from tests.support.oauth_apps import App, code_in, walk
from tests.support.sites import BROWSER, PASSWORD, SAME_ORIGIN
from wsgiauth import end_sessions
from wsgiauth.accounts import update_user
from wsgiauth.accounts.tables import Session
from wsgiauth.authentication import sessions
from wsgiauth.authentication.session_list import handle_of, revoke_by_handle
from wsgiauth.features.factors import factors
from wsgiauth.features.oauth_server import app_sessions, clients, grants
from wsgiauth.features.oauth_server.tables import AppSession, Client, Grant
from wsgiauth.storage.models import from_timestamp, json_fields
from wsgiauth.storage.upkeep import purge_expired
from wsgiauth.testing import logged_in, make_group

pytestmark = pytest.mark.promise(92)

LASTING = app_sessions.LIFETIME + app_sessions.KEPT  # of a row, from the end of its session


@pytest.fixture
def further():
    """Return settings with authenticator apps."""
    return {"FACTOR_KEY": FACTOR_KEY}


@pytest.fixture
def group(site, ada):
    """Return a group with Ada."""
    group = make_group(site, "Editors")
    ada.join(group)
    return group


@pytest.fixture
def wiki(site, group, receiver):
    """Return an app for the members of a group, which receives logout tokens."""
    scopes = ["openid", "offline_access"]
    return App(site, group=group, scopes=scopes, logout_uri=receiver.uri)


@pytest.fixture
def sent(logouts, receiver, site, wiki):
    """Return a function that sends what is due, and returns the claims of the logout tokens."""

    def deliver():
        assert logouts.deliver() is None
        return [verified(site, each, wiki) for each in receiver.take()]

    return deliver


def end_all(browser, ada, settings):
    end_sessions(ada)


def end_by_the_list(browser, ada, settings):
    row = Session.get()
    revoke_by_handle(ada, handle_of(row.id), row.expires_at - 1)


def end_all_of_the_site(browser, ada, settings):
    sessions.revoke_every_session()


def remove_the_factors(browser, ada, settings):
    add_app(browser.app, ada)
    factors.remove_all(ada)


def expire_and_purge(browser, ada, settings):
    endings.expire(browser, ada, settings)
    purge_expired(Session, 2)


def delete_without_an_event(browser, ada, settings):
    Session.delete().execute()


SENT = [*OF_SESSIONS, *ENDINGS, end_all, end_by_the_list, end_all_of_the_site, expire_and_purge]
SENT += [delete_without_an_event, remove_the_factors]
SENT = [each for each in SENT if each not in (endings.expire, endings.remove_the_client)]


@pytest.mark.slow
@pytest.mark.every_database
@pytest.mark.parametrize("end", SENT)
def test_an_app_gets_one_logout_token_for_a_session_that_ends(
    browser, ada, grace, settings, wiki, sent, end
):
    wiki.log_in(browser, scope="openid offline_access")
    wiki.log_in(browser, scope="openid")
    sid, user_id = Grant.get().sid, str(ada.id)
    assert sent() == []
    end(browser, ada, settings)
    (claims,) = sent()
    assert (claims["sub"], claims["sid"]) == (user_id, sid)
    grants.revoke(ada, wiki.id, 1)
    assert (sent(), AppSession.select().count()) == ([], 0)


def test_a_logout_of_all_other_sessions_spares_the_one_that_asks(browser, ada, site, wiki, sent):
    elsewhere = logged_in(site, ada)
    for each in (browser, elsewhere):
        wiki.log_in(each, scope="openid")
    elsewhere.post("/auth/sessions", {"end": "others"}, headers=SAME_ORIGIN)
    (claims,) = sent()
    assert claims["sid"] == Grant.get(Grant.session.is_null()).sid
    assert AppSession.get().sid != claims["sid"]


def refuse_a_code_that_comes_twice(browser, wiki, tokens):
    code = code_in(walk(browser, wiki.url(scope="openid")))
    wiki.exchange(code)
    wiki.exchange(code, 400)


def refuse_a_refresh_token_that_comes_twice(browser, wiki, tokens):
    wiki.refresh(wiki.refresh(tokens["refresh_token"])["refresh_token"])
    wiki.refresh(tokens["refresh_token"], 400)


@pytest.mark.every_database
@pytest.mark.parametrize(
    "reuse", [refuse_a_code_that_comes_twice, refuse_a_refresh_token_that_comes_twice]
)
def test_a_copied_token_ends_the_session_at_the_app(browser, ada, wiki, site, sent, reuse):
    wiki.log_in(logged_in(site, ada), scope="openid")  # which goes on
    tokens = wiki.log_in(browser, scope="openid")
    reuse(browser, wiki, tokens)
    (claims,) = sent()
    assert claims["sid"] == Grant.get(Grant.stamp == grants.ENDED).sid
    assert AppSession.select().count() == 1


# What ends no session


def do_nothing(browser, ada, wiki, tokens):
    pass


def log_in_elsewhere(browser, ada, wiki, tokens):
    elsewhere = logged_in(browser.app, ada)
    elsewhere.post("/auth/logout", headers=SAME_ORIGIN)


def log_out_grace(browser, ada, wiki, tokens):
    grace = type(ada).get(type(ada).username == "Grace")
    logged_in(browser.app, grace).post("/auth/logout", headers=SAME_ORIGIN)


def refresh(browser, ada, wiki, tokens):
    wiki.refresh(tokens["refresh_token"])


def confirm(browser, ada, wiki, tokens):
    browser.post("/auth/confirm", {"password": PASSWORD}, headers=SAME_ORIGIN)


def log_in_with_a_new_proof(browser, ada, wiki, tokens):
    wiki.site.site.tokens.now.move(10)
    page = browser.get(wiki.url(scope="openid", prompt="login"), headers=BROWSER).follow(
        headers=BROWSER
    )
    form = next(each for each in page.forms.values() if "password" in each.fields)
    form["password"] = PASSWORD
    answer = form.submit(headers=SAME_ORIGIN, status=303)
    wiki.exchange(code_in(walk(browser, answer.location)))


def rename(browser, ada, wiki, tokens):
    update_user(ada, username="Augusta")


def create_and_delete_a_group(browser, ada, wiki, tokens):
    make_group(browser.app, "Others").delete_instance()


def revoke_its_own_token(browser, ada, wiki, tokens):
    wiki.program.post("/auth/oauth/revoke", {"token": tokens["refresh_token"]})


def revoke_another_app(browser, ada, wiki, tokens):
    other = App(browser.app, "Blog")
    other.log_in(browser)
    grants.revoke(ada, other.id, 1)


@pytest.mark.slow
@pytest.mark.parametrize(
    "act",
    [
        do_nothing,
        log_in_elsewhere,
        log_out_grace,
        refresh,
        confirm,
        log_in_with_a_new_proof,
        rename,
        create_and_delete_a_group,
        revoke_its_own_token,
        revoke_another_app,
    ],
)
def test_a_session_that_goes_on_sends_nothing(browser, ada, grace, settings, wiki, sent, act):
    tokens = wiki.log_in(browser, scope="openid")
    sid = Grant.get().sid
    act(browser, ada, wiki, tokens)
    assert sent() == []
    endings.log_out(browser, ada, settings)
    assert [each["sid"] for each in sent()] == [sid]


@pytest.mark.parametrize("end", [endings.expire, endings.remove_the_client])
def test_no_token_is_sent(browser, ada, settings, wiki, sent, end):
    wiki.log_in(browser, scope="openid")
    end(browser, ada, settings)
    rename(browser, ada, wiki, None)
    assert sent() == []


def test_the_end_of_a_session_is_found_after_any_time(browser, ada, settings, wiki, sent, clock):
    wiki.log_in(browser, scope="openid")
    expire_and_purge(browser, ada, settings)
    clock.move(1000 * app_sessions.LIFETIME)
    assert len(sent()) == 1


# Rows


def test_the_own_data_of_a_user_has_a_row(browser, ada, grace, settings, wiki):
    wiki.log_in(browser, scope="openid")
    ends_at = from_timestamp(Session.get().ends_at + LASTING)
    (listed,) = app_sessions.own_app_sessions(ada, settings)
    assert listed == json_fields({"app": "Wiki", "expires_at": ends_at})
    assert list(app_sessions.own_app_sessions(grace, settings)) == []


def test_purge_deletes_what_has_expired(browser, wiki, wsgiauth):
    wiki.log_in(browser, scope="openid")
    AppSession.update(expires_at=1).execute()
    assert ", 1 expired app session," in wsgiauth("purge")[1]
    assert AppSession.select().count() == 0


def test_a_purge_long_after_the_end_of_a_session_loses_no_token(
    browser, ada, settings, wiki, sent, wsgiauth
):
    wiki.log_in(browser, scope="openid")
    month = 31 * 24 * 3600
    ended = {"expires_at": Session.expires_at - month, "ends_at": Session.ends_at - 2 * month}
    AppSession.update(expires_at=AppSession.expires_at - 2 * month).execute()
    Session.update(ended).execute()
    assert "Deleted 1 expired session, " in wsgiauth("purge")[1]
    assert len(sent()) == 1


def test_a_token_that_is_due_is_given_up_by_the_sender_and_not_by_purge(
    browser, ada, settings, wiki, wsgiauth, clock
):
    wiki.log_in(browser, scope="openid")
    endings.log_out(browser, ada, settings)
    AppSession.update(expires_at=AppSession.expires_at - 2 * app_sessions.LIFETIME).execute()
    wsgiauth("purge")
    assert app_sessions.is_too_late(AppSession.get(), clock.now)


def test_a_login_while_a_process_sends_is_not_ended_by_it(
    browser, ada, settings, wiki, sent, while_sending, logouts, clock
):
    wiki.log_in(browser, scope="openid")
    grants.revoke(ada, wiki.id, 1)

    def log_in_and_out_again():
        wiki.log_in(browser, scope="openid")
        endings.log_out(browser, ada, settings)
        assert app_sessions.claim(app_sessions.oldest_due(wiki.id, clock.now), clock.now)

    while_sending(log_in_and_out_again)  # another process claims the new row, and is killed
    logouts.deliver()
    clock.move(app_sessions.LEASE)
    assert len(sent()) == 2


def test_an_app_without_a_logout_uri_has_no_row(browser, site, unsent):
    App(site).log_in(browser)
    assert AppSession.select().count() == 0


@pytest.mark.promise(93)
def test_an_app_that_registered_itself_has_no_row(browser, wiki, clock):
    Client.update(expires_at=int(clock()) + 100).execute()
    wiki.log_in(browser, scope="openid")
    assert AppSession.select().count() == 0


@pytest.mark.every_database
def test_a_session_that_goes_on_with_a_new_password_is_another_one_for_apps(
    browser, ada, site, settings, wiki, sent
):
    """An app can remember the `sid` of a logout token, and refuse it from then on."""
    wiki.log_in(browser, scope="openid")
    elsewhere = App(site, "Blog", scopes=["openid"])
    elsewhere.log_in(browser)
    grants.end(Grant.get(Grant.client == elsewhere.id).id, Client.get(Client.id == elsewhere.id))
    endings.choose_a_password(browser, ada, settings)
    wiki.log_in(browser, scope="openid")
    elsewhere.log_in(browser)
    stamp = type(ada).get_by_id(ada.id).security_stamp
    current = {each.sid for each in Grant.select().where(Grant.stamp == stamp)}
    assert len(current) == 1
    (claims,) = sent()
    assert claims["sid"] not in current
    endings.log_out(browser, ada, settings)
    assert {each["sid"] for each in sent()} == current


def test_a_session_that_may_last_longer_than_a_day_keeps_its_row(browser, wiki):
    wiki.log_in(browser, scope="openid offline_access")
    assert AppSession.get().expires_at == Session.get().ends_at + LASTING


@pytest.mark.every_database
def test_an_app_that_is_allowed_again_in_the_session_is_not_logged_out(
    browser, ada, settings, wiki, sent, receiver, clock
):
    wiki.log_in(browser, scope="openid")
    grants.revoke(ada, wiki.id, 1)
    receiver.statuses.append(503)
    assert len(sent()) == 1
    wiki.log_in(browser, scope="openid")
    clock.move(app_sessions.OVERDUE)
    assert sent() == []
    endings.log_out(browser, ada, settings)
    assert len(sent()) == 1


def test_an_app_that_is_allowed_again_while_it_is_logged_out_keeps_its_row(
    browser, ada, settings, wiki, sent, while_sending
):
    wiki.log_in(browser, scope="openid")
    grants.revoke(ada, wiki.id, 1)
    while_sending(lambda: wiki.log_in(browser, scope="openid"))
    assert len(sent()) == 1
    endings.log_out(browser, ada, settings)
    assert len(sent()) == 1


def test_the_login_of_a_user_without_apps_costs_no_statement_more(site, ada, unsent, queries):
    sent = queries(lambda: logged_in(site, ada))
    assert [each for each in sent if "wsgiauth_oauth_session" in each] == []


def test_a_change_of_no_user_costs_none(wiki, queries, clock):
    client = clients.find(wiki.id, clock())
    sent = queries(lambda: clients.renew_secret(client))
    assert [each for each in sent if "wsgiauth_oauth_session" in each] == []


def test_a_token_that_is_being_sent_is_not_due_again(
    browser, ada, wiki, sent, while_sending, logouts
):
    wiki.log_in(browser, scope="openid")
    grants.revoke(ada, wiki.id, 1)
    while_sending(lambda: update_user(ada, is_active=False) and logouts.deliver())
    assert len(sent()) == 1
    assert AppSession.select().count() == 0


@pytest.mark.every_database
def test_a_change_of_a_user_costs_one_statement(browser, ada, wiki, queries):
    wiki.log_in(browser, scope="openid")
    sent = queries(lambda: rename(browser, ada, wiki, None))
    (statement,) = [each for each in sent if "wsgiauth_oauth_session" in each]
    assert statement.startswith("UPDATE")


def test_a_command_leaves_the_logout_token_to_a_server(
    browser, ada, wiki, sent, wsgiauth, settings, monkeypatch, clock
):
    wiki.log_in(browser, scope="openid")
    for name, value in {
        "OAUTH_SERVER": "on",
        "PUBLIC_URL": settings.PUBLIC_URL,
        "SERVICE_KEYS": str(settings.SERVICE_KEYS),
    }.items():
        monkeypatch.setenv(name, value)
    assert wsgiauth("deactivate", ada.username)[0] == 0
    clock.now = AppSession.get().due_at
    assert len(sent()) == 1


def test_a_logout_token_waits_since_the_end_of_its_session(site, group, wiki, ada):
    assert app_sessions.waiting() == (0, None)
    wiki.exchange(code_in(walk(logged_in(site, ada), wiki.url(scope="openid"))))
    assert app_sessions.waiting() == (0, None)
    end_sessions(ada)
    ended_at = AppSession.get().due_at
    AppSession.update(due_at=ended_at + 1000, attempts=2).execute()  # after two attempts
    assert app_sessions.waiting() == (1, ended_at)
