"""The queue of logout tokens: what it sends, when it tries again, and what it leaves to others."""

import gc
import weakref
from contextlib import contextmanager, suppress
from dataclasses import replace
from secrets import token_hex
from threading import Barrier, Event

import jwt
import pytest
from webtest import TestApp

from tests.support import endings
from tests.support.logout_receiver import verified
from tests.support.oauth_apps import App
from tests.support.service_keys import new_key, pem_of, write_key
from tests.support.sites import echo
from wsgiauth import AuthMiddleware, events, storage
from wsgiauth.features.oauth_server import app_sessions, clients, logout_sending
from wsgiauth.features.oauth_server.app_sessions import LEASE, LIFETIME
from wsgiauth.features.oauth_server.clients import ClientFields
from wsgiauth.features.oauth_server.logouts import Logouts
from wsgiauth.features.oauth_server.tables import AppSession, Client
from wsgiauth.features.services.signed_tokens import SignedTokens
from wsgiauth.mail.outbox import RETRIES, Mail
from wsgiauth.mail.posting import PARALLEL, SLOW
from wsgiauth.outgoing import OutgoingError
from wsgiauth.storage import context
from wsgiauth.testing import logged_in

MINUTE = 60
BATCHES = 25  # more rows than one batch has


@pytest.fixture
def settings(settings, tmp_path):
    """Return settings with two keys, of which the last signs for most apps."""
    folder = tmp_path / "keys"
    folder.mkdir()
    for algorithm in ("ES256", "EdDSA"):
        write_key(folder / algorithm, pem_of(new_key(algorithm)))
    return replace(settings, SERVICE_KEYS=str(folder))


@pytest.fixture
def wiki(site, receiver):
    """Return an app that receives logout tokens."""
    return App(site, logout_uri=receiver.uri)


@pytest.fixture
def ended(browser, ada, settings, wiki):
    """Let a user log in to the app and log out."""
    wiki.log_in(browser)
    endings.log_out(browser, ada, settings)


@pytest.fixture
def heard(site):
    """Return the events of the site."""
    heard = []
    events.subscribe(site.database, [heard.append])
    return heard


def failures(heard):
    return [(each.user_id, each.reason) for each in heard if each.name == "logout_failed"]


# A logout token


def test_a_logout_token_lasts_two_minutes_and_is_sent_as_a_form(
    site, ada, wiki, ended, logouts, receiver, clock
):
    logouts.deliver()
    ((headers, fields),) = receiver.requests
    assert headers["Content-Type"] == "application/x-www-form-urlencoded"
    assert [*fields] == ["logout_token"]
    claims = verified(site, fields["logout_token"], wiki)
    assert (claims["iat"], claims["exp"]) == (clock.now, clock.now + 120)
    assert {*claims} == {"iss", "sub", "aud", "iat", "exp", "jti", "sid", "events"}


def test_the_algorithm_is_the_one_of_the_id_tokens(site, ada, browser, settings, receiver, logouts):
    for algorithm in ("", "ES256"):
        App(site, logout_uri=receiver.uri, algorithm=algorithm).log_in(browser)
    endings.log_out(browser, ada, settings)
    logouts.deliver()
    headers = map(jwt.get_unverified_header, receiver.take())
    assert sorted(each["alg"] for each in headers) == ["ES256", "EdDSA"]


def test_each_attempt_has_a_token_of_its_own(wiki, ended, logouts, receiver, site, clock):
    receiver.statuses += [503]
    logouts.deliver()
    clock.move(MINUTE)
    logouts.deliver()
    first, second = [verified(site, each, wiki) for each in receiver.take()]
    assert first["jti"] != second["jti"]
    assert second["iat"] == first["iat"] + MINUTE


def test_the_site_announces_logout_tokens(wiki):
    document = wiki.program.get("/.well-known/openid-configuration").json
    assert document["backchannel_logout_supported"] is True
    assert document["backchannel_logout_session_supported"] is True


# Answers


@pytest.mark.parametrize("status", [200, 204, 299])
def test_a_success_is_the_end(ended, logouts, receiver, heard, status):
    receiver.statuses.append(status)
    assert logouts.deliver() is None
    assert (AppSession.select().count(), failures(heard)) == (0, [])


@pytest.mark.parametrize("status", [400, 501])
def test_a_refusal_is_final(ada, wiki, ended, logouts, receiver, heard, status):
    receiver.statuses.append(status)
    assert logouts.deliver() is None
    assert AppSession.select().count() == 0
    assert failures(heard) == [(ada.id, f"{wiki.id}: status {status}")]


@pytest.mark.every_database
def test_a_failure_is_tried_again_after_1_5_and_30_minutes(
    ada, wiki, ended, logouts, receiver, heard, clock, caplog
):
    receiver.statuses += [302, 404, 500, 503]
    for wait in RETRIES:
        logouts.deliver()
        assert AppSession.get().due_at == clock.now + wait
        clock.move(wait - 1)
        logouts.deliver()
        clock.move(1)
    logouts.deliver()
    tokens = receiver.take()
    assert len(tokens) == 4
    assert failures(heard) == [(ada.id, f"{wiki.id}: status 503")]
    assert AppSession.select().count() == 0
    failed = f"a logout token was not delivered to the app {wiki.id}, next attempt in"
    assert f"{failed} 1 minute: status 302" in caplog.text
    assert f"{failed} 5 minutes: status 404" in caplog.text
    assert not any(each in caplog.text for each in tokens)


def test_a_token_that_is_too_late_is_not_sent(ada, wiki, ended, logouts, receiver, heard, clock):
    clock.move(LIFETIME)
    logouts.deliver()
    assert receiver.take() == []
    assert failures(heard) == [(ada.id, f"{wiki.id}: too late")]


def test_an_app_whose_logout_uri_was_removed_gets_nothing(wiki, ended, logouts, receiver, heard):
    client = clients.find(wiki.id, logouts.now())
    clients.change(client, ClientFields.of(client)._replace(logout_uri=""))
    logouts.deliver()
    assert (receiver.take(), failures(heard)) == ([], [])
    assert AppSession.select().count() == 0


# Many apps and processes


def test_every_row_is_sent(ada, site, wiki, logouts, receiver, settings, browser):
    wiki.log_in(browser)
    row = AppSession.get()
    for number in range(BATCHES):
        columns = {**row.__data__, "id": f"grant{number}", "sid": f"session{number}"}
        AppSession.insert(columns).execute()
    endings.log_out(browser, ada, settings)
    AppSession.update(due_at=1).execute()
    assert logouts.deliver() is None
    assert len(receiver.take()) == BATCHES + 1


@pytest.mark.every_database
def test_an_app_that_fails_is_left_alone_for_a_minute_and_delays_no_other(
    ada, site, wiki, browser, logouts, receiver, settings, clock, closed_port
):
    other = App(site, "Blog", logout_uri=receiver.uri)
    for each in (browser, logged_in(site, ada)):
        wiki.log_in(each)
        other.log_in(each)
    endings.deactivate(browser, ada, settings)
    broken = f"http://127.0.0.1:{closed_port}/"
    Client.update(logout_uri=broken).where(Client.id == wiki.id).execute()
    assert logouts.deliver() is None
    assert {verified(site, each, other)["aud"] for each in receiver.take()} == {other.id}
    assert sorted(each.attempts for each in AppSession.select()) == [0, 1]
    clock.move(MINUTE)
    logouts.deliver()
    assert sorted(each.attempts for each in AppSession.select()) in ([0, 2], [1, 1])
    clock.move(-10 * MINUTE)  # the clock is set back
    AppSession.update(due_at=1).execute()
    logouts.deliver()
    assert sum(each.attempts for each in AppSession.select()) == 3


@pytest.fixture
def apps(site, logouts, monkeypatch):
    """Return a function that makes apps with rows that are due, and lets a function send them."""

    def make(send, *counts):
        made = []
        for number, count in enumerate(counts):
            uri = f"https://{number}.example.org/"
            made.append(clients.create("App", [uri], logout_uri=uri, now=1).row.id)
            due(made[-1], count, number)
        monkeypatch.setattr(logout_sending, "send", lambda url, _: send(int(url[8:-13])))
        return made

    return make


def due(client, count, due_at=1):
    """Let an app get further logout tokens."""
    for _ in range(count):
        names = {"id": token_hex(8), "sid": token_hex(8), "client": client, "user_id": 1}
        AppSession.insert(names, due_at=due_at, expires_at=2**40).execute()


@pytest.fixture
def claimed(monkeypatch):
    """Return the ids of the clients for which a process claims rows, in order."""
    claimed, claim = [], app_sessions.claim

    def claim_and_note(row, now):
        claimed.append(row.client_id)
        return claim(row, now)

    monkeypatch.setattr(app_sessions, "claim", claim_and_note)
    return claimed


@pytest.mark.promise(92)
def test_an_app_that_does_not_answer_delays_no_other(apps, logouts, claimed):
    got_all, waits, sent = Event(), [], []

    def send(number):
        if number < PARALLEL - 1:
            waits.append(got_all.wait(30))  # until the last app has got all of its tokens
        else:
            sent.append(number)
            if len(sent) == 3:
                got_all.set()
        return 200

    made = apps(send, *[2] * (PARALLEL - 1), 3)
    logouts.deliver()
    assert waits == [True] * 2 * (PARALLEL - 1)
    first = claimed[: PARALLEL + 2]  # each app that does not answer has one request
    assert sorted(first) == sorted([*made, *[made[-1]] * 2])
    assert AppSession.select().count() == 0


def test_a_number_of_requests_is_under_way(apps, logouts):
    together, under_way, most = Barrier(PARALLEL), [], []

    def send(number):
        under_way.append(number)
        together.wait(30)
        most.append(len(under_way))
        together.wait(30)
        under_way.remove(number)
        return 200

    apps(send, *[1] * 2 * PARALLEL)
    logouts.deliver()
    assert most == [PARALLEL] * 2 * PARALLEL


@pytest.mark.promise(92)
@pytest.mark.parametrize("seconds", [SLOW, 0])
def test_an_app_that_answers_quickly_goes_first(apps, logouts, claimed, clock, seconds):
    """However many others, with older tokens, did not answer or were slow."""
    answers = {0: "slow", 1: "failing"}

    def send(number):
        answer = answers.get(number)
        if answer == "failing":
            raise OutgoingError("timeout")
        clock.move(seconds if answer == "slow" else 0)
        return 200

    slow, failing, quick = apps(send, 1, 1, 0)
    logouts.deliver()
    clock.move(10 * MINUTE)
    due(quick, 1, due_at=100)
    due(slow, 1)
    claimed.clear()
    answers.clear()
    logouts.deliver()
    expected = [quick, slow, failing] if seconds else [slow, quick, failing]
    assert claimed[:3] == expected
    due(quick, 1, due_at=100)
    due(failing, 1)
    claimed.clear()
    logouts.deliver()
    assert claimed == [failing, quick]  # it has answered


def test_new_tokens_are_found_while_apps_do_not_answer(apps, logouts, site, monkeypatch):
    monkeypatch.setattr("wsgiauth.mail.posting.POLL", 0.01)
    arrived, waits = Event(), []

    def send(number):
        if number == 0:
            with context.using(site.database):
                due(made[1], 1, due_at=None)  # of a session that was deleted
                storage.discard_connection(site.database)
            waits.append(arrived.wait(30))
        else:
            arrived.set()
        return 200

    made = apps(send, 1, 0)
    logouts.deliver()
    assert waits == [True]


def test_without_threads_a_token_is_sent_later(ended, logouts, clock, monkeypatch):
    def refuse(_):
        raise RuntimeError

    monkeypatch.setattr("threading.Thread.start", refuse)
    logouts.deliver()
    assert AppSession.get().due_at == clock.now + RETRIES[0]


def test_a_thread_that_is_stopped_sends_no_further_token(apps, logouts, monkeypatch):
    sent = []
    apps(lambda number: sent.append(number) or 200, 3)
    monkeypatch.setattr(logouts, "is_stopped", lambda: bool(sent))
    assert logouts.deliver() == 0
    assert sent == [0]


def test_no_pooled_connection_is_kept_while_an_app_answers(settings, receiver, while_sending):
    url, released = settings.DATABASE_URL.replace(":", "+pool:", 1), Event()
    site = AuthMiddleware(echo, replace(settings, DATABASE_URL=url))

    def wait_for_release():
        for _ in range(1000):
            if not site.database._in_use:
                released.set()
            if released.wait(0.01):
                break

    row = {"id": "a", "client": App(site, logout_uri=receiver.uri).id, "user_id": 1, "sid": "b"}
    with context.using(site.database):
        AppSession.insert(row, due_at=1, expires_at=2**40).execute()
        while_sending(wait_for_release)
        site.site.require(Logouts).deliver()
    storage.discard_connection(site.database)
    assert released.is_set()


class KilledError(BaseException):
    """Ends a process."""


@pytest.fixture
def killed(monkeypatch):
    """Return a context in which the process ends when it has sent a logout token."""

    @contextmanager
    def killed():
        def die(_):
            raise KilledError

        with monkeypatch.context() as patch, suppress(KilledError):
            patch.setattr(app_sessions, "delete", die)
            yield

    return killed


@pytest.mark.every_database
def test_a_token_of_a_killed_process_is_sent_once_more_after_the_lease(
    ended, logouts, receiver, clock, killed
):
    with killed():
        logouts.deliver()
    assert logouts.deliver() == LEASE
    assert len(receiver.take()) == 1
    clock.move(LEASE)
    assert logouts.deliver() is None
    assert len(receiver.take()) == 1


def test_a_token_that_kills_every_process_is_given_up(
    ada, wiki, ended, logouts, receiver, heard, clock, killed
):
    for _ in range(4):
        with killed():
            logouts.deliver()
        clock.move(LEASE)
    assert logouts.deliver() is None
    assert len(receiver.take()) == 4
    assert failures(heard) == [(ada.id, f"{wiki.id}: too late")]


@pytest.mark.every_database
def test_a_token_that_another_process_sends_is_left_to_it(
    ended, logouts, receiver, site, clock, while_sending
):
    other = Logouts(site.site.require(SignedTokens), clock)
    while_sending(other.deliver)
    logouts.deliver()
    assert len(receiver.take()) == 1


def test_a_token_that_another_process_claims_first_is_left_to_it(
    ended, logouts, receiver, site, clock, monkeypatch
):
    other = Logouts(site.site.require(SignedTokens), clock)
    oldest_due = app_sessions.oldest_due

    def due_too_late(*arguments):
        monkeypatch.undo()
        row = oldest_due(*arguments)
        other.deliver()
        return row

    monkeypatch.setattr(app_sessions, "oldest_due", due_too_late)
    logouts.deliver()
    assert len(receiver.take()) == 1


# The thread


def test_a_logout_wakes_the_thread_of_its_process(server_of_app, site, ada, settings, monkeypatch):
    monkeypatch.undo()  # of `unsent`
    server_of_app.reset()
    arrived = Event()
    server_of_app.action = arrived.set
    wiki, browser = App(site, logout_uri=server_of_app.uri), logged_in(site, ada)
    wiki.log_in(browser)
    endings.log_out(browser, ada, settings)
    assert arrived.wait(30)


def test_the_first_request_sends_what_other_processes_left(server_of_app, site, ada, monkeypatch):
    monkeypatch.undo()  # of `unsent`
    server_of_app.reset()
    arrived = Event()
    server_of_app.action = arrived.set
    row = {"id": "a", "client": App(site, logout_uri=server_of_app.uri).id, "user_id": ada.id}
    AppSession.insert(row, sid="b", due_at=1, expires_at=2**40).execute()
    TestApp(site).get("/")
    assert arrived.wait(30)


@pytest.mark.slow
def test_the_queue_ends_with_its_site(settings):
    site = AuthMiddleware(echo, settings)
    queue = weakref.ref(site.site.require(Logouts))
    del site
    gc.collect()
    assert queue() is None


def test_a_site_without_mail_sends_logout_tokens_and_no_notices(
    browser, ada, wiki, settings, logouts, receiver
):
    wiki.log_in(browser)
    endings.choose_a_password(browser, ada, settings)
    logouts.deliver()
    assert (len(receiver.take()), Mail.select().count()) == (1, 0)


def test_the_check_counts_overdue_tokens(ended, site, clock):
    assert app_sessions.count_overdue(clock.now + app_sessions.OVERDUE - 1) == 0
    assert app_sessions.count_overdue(clock.now + app_sessions.OVERDUE) == 1
