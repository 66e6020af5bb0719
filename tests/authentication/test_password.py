"""A new password, in each of its ways: all of it happens or nothing."""

import os
import random
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from functools import partial
from http.client import HTTPException
from signal import SIGKILL

import pytest
from webtest import TestApp

from tests.support.keys import make_key
from tests.support.logins import find_session, valid_session_ids
from tests.support.processes import PROCESSES, THREADS, Client, meet, started
from tests.support.sites import EMAIL, PASSWORD, SECRET_KEY, USERNAME, echo
from wsgiauth import AuthMiddleware, Settings, change_password, hash_password, verify_password
from wsgiauth.accounts import create_user, delete_user
from wsgiauth.accounts.models import User
from wsgiauth.accounts.tables import Key
from wsgiauth.authentication import one_time, sessions
from wsgiauth.authentication.password import change, make_reset_link, reset_password
from wsgiauth.authentication.tokens import Tokens
from wsgiauth.events.models import RecordedEvent
from wsgiauth.exceptions import ValidationError
from wsgiauth.feature import at_first_proof_of
from wsgiauth.features.registry import FEATURES

pytestmark = [pytest.mark.every_database, pytest.mark.promise(31)]

NEW_PASSWORD = "another unrelated phrase"
NEW_HASH = hash_password(NEW_PASSWORD, rounds=4)
KILLS = int(os.environ.get("KILLS", "2"))  # for each database


@pytest.fixture
def login(ada, tokens):
    return sessions.start(ada, tokens)


def has_password(password):
    return verify_password(password, User.get().hashed_password, rounds=4)


def test_the_login_that_changed_it_is_the_only_one_left(ada, tokens, login):
    other = sessions.start(ada, tokens)
    renewed = change(login.session_id, ada, NEW_HASH, tokens)
    assert has_password(NEW_PASSWORD)
    assert find_session(renewed.token, tokens) == (ada, renewed.session_id, None)
    assert find_session(login.token, tokens) is find_session(other.token, tokens) is None
    assert valid_session_ids() == {renewed.session_id}


def test_of_two_changes_by_one_password_the_first_counts(ada, tokens, login):
    other = sessions.start(ada, tokens)
    renewed = change(login.session_id, ada, NEW_HASH, tokens)
    assert change(other.session_id, ada, ada.hashed_password, tokens) is None
    assert change(renewed.session_id, ada, ada.hashed_password, tokens) is None
    assert has_password(NEW_PASSWORD)
    assert valid_session_ids() == {renewed.session_id}


@pytest.mark.parametrize(
    "happen",
    [
        pytest.param(
            lambda user, login, settings: sessions.revoke(login.session_id, user), id="end"
        ),
        pytest.param(
            lambda user, login, settings: change_password(
                User.get_by_id(user.id), "the operator's own choice", settings=settings
            ),
            id="new password",
        ),
        pytest.param(
            lambda user, login, settings: User.update(is_active=False).execute(), id="deactivation"
        ),
    ],
)
def test_a_login_that_ended_meanwhile_changes_nothing(
    database, ada, tokens, login, settings, happen
):
    other = sessions.start(ada, tokens)
    happen(ada, login, settings)
    before, valid = User.get(), valid_session_ids()
    assert change(login.session_id, ada, NEW_HASH, tokens) is None
    after = User.get()
    assert after.hashed_password == before.hashed_password
    assert after.security_stamp == before.security_stamp
    assert valid_session_ids() == valid <= {other.session_id}
    assert not database.in_transaction()


def test_a_user_who_was_deleted_meanwhile_gets_no_password(ada, tokens, login):
    user = User.get()
    delete_user(ada)
    assert change(login.session_id, user, NEW_HASH, tokens) is None


def test_a_new_password_by_code_replaces_the_old_one_and_ends_all_logins(
    ada, tokens, login, settings
):
    change_password(ada, NEW_PASSWORD, settings=settings)
    assert has_password(NEW_PASSWORD)
    assert not has_password(PASSWORD)
    assert valid_session_ids() == set()


def test_the_object_of_a_user_with_a_new_password_can_log_in_and_be_saved(ada, tokens, settings):
    change_password(ada, NEW_PASSWORD, settings=settings)
    login = sessions.start(ada, tokens)
    ada.username = "Countess"
    ada.save()
    assert valid_session_ids() == {login.session_id}


def test_a_password_that_breaks_a_rule_changes_nothing(ada, login, settings):
    with pytest.raises(ValidationError):
        change_password(ada, "short", settings=settings)
    assert has_password(PASSWORD)
    assert valid_session_ids() == {login.session_id}


def test_code_cannot_give_a_deleted_user_a_password(ada, settings):
    user = User.get()
    delete_user(ada)
    with pytest.raises(User.DoesNotExist):
        change_password(user, NEW_PASSWORD, settings=settings)


def test_code_says_how_many_keys_it_has_revoked_or_keeps_them(ada, settings):
    for _ in range(2):
        make_key(ada)
    assert change_password(ada, NEW_PASSWORD, settings=settings, end_keys=False) == 0
    assert Key.select().count() == 2
    assert change_password(ada, PASSWORD, settings=settings) == 2
    assert change_password(ada, NEW_PASSWORD, settings=settings) == 0


def by_link(user, session_id, tokens, settings):
    # Not the link of a mail, which also proves the address.
    link = make_reset_link(user, settings, mount="/auth", now=tokens.now(), is_mailed=False)
    secret = link.partition("=")[2]
    assert reset_password(
        user,
        secret,
        NEW_PASSWORD,
        settings=settings,
        now=tokens.now(),
        at_first_proof=at_first_proof_of(FEATURES),
    )


@pytest.mark.promise(57)
@pytest.mark.parametrize(
    "renew",
    [
        pytest.param(
            lambda user, session_id, tokens, settings: change(
                session_id, user, NEW_HASH, tokens, end_keys=True
            ),
            id="owner",
        ),
        pytest.param(
            lambda user, session_id, tokens, settings: change_password(
                user, NEW_PASSWORD, settings=settings
            ),
            id="code",
        ),
        pytest.param(by_link, id="link"),
    ],
)
def test_each_way_ends_the_same_and_reports_it_once(ada, tokens, login, settings, renew):
    make_key(ada)
    other = sessions.start(ada, tokens)
    link = one_time.issue("email", ada, now=tokens.now(), lifetime=60)
    before = RecordedEvent.select().count()
    renew(ada, login.session_id, tokens, replace(settings, PUBLIC_URL="https://example.org"))
    rows = RecordedEvent.select().order_by(RecordedEvent.id).offset(before)
    assert [(row.name, row.user_id, row.reason) for row in rows] == [
        ("password_changed", ada.id, None),
        ("key_ended", ada.id, "all keys"),
    ]
    assert has_password(NEW_PASSWORD)
    assert User.get().security_stamp == 1
    assert find_session(other.token, tokens) is None
    assert one_time.find(link, "email", now=tokens.now()) is None
    assert not Key.select().exists()


# Many at once


def change_at_once(token, url):
    """Change the password when every process does, to one of its own; return the answer."""
    settings = Settings(
        SECRET_KEY=SECRET_KEY,
        DATABASE_URL=url,
        BCRYPT_ROUNDS=9,  # so that all of them have compared before one has changed it
        LOGIN_FAILURES_PER_ACCOUNT=0,
        LOGIN_FAILURES_PER_ADDRESS=0,
    )
    client = TestApp(AuthMiddleware(echo, settings))
    if token is None:
        token = sessions.start(User.get(), Tokens(settings)).token
    change = {"current_password": PASSWORD, "new_password": f"unrelated words of {os.getpid()}"}
    meet()
    headers = {"Authorization": f"Bearer {token}"}
    answer = client.post_json("/auth/password", change, headers=headers, status="*")
    return answer.status_int, answer.json, change["new_password"]


@pytest.mark.parametrize("is_shared", [False, True], ids=["a login each", "one login"])
def test_of_eight_processes_with_one_password_one_changes_it(
    in_processes, settings, database, tokens, is_shared
):
    create_user(USERNAME, EMAIL, PASSWORD, settings=replace(settings, BCRYPT_ROUNDS=9))
    token = sessions.start(User.get(), tokens).token if is_shared else None
    answers = in_processes(partial(change_at_once, token), settings.DATABASE_URL)
    assert sorted(status for status, *_ in answers) == [200] + [401] * (PROCESSES - 1)
    ((changed, new_password),) = (rest for status, *rest in answers if status == 200)
    assert {each["code"] for status, each, _ in answers if status == 401} <= {
        "invalid_token",
        "invalid_credentials",
    }
    assert has_password(new_password)
    assert User.get().security_stamp == 1
    user, session_id, _ = find_session(changed["access_token"], tokens)
    assert (user.username, valid_session_ids()) == (USERNAME, {session_id})


# Processes that are killed


class Owner:
    """A person who changes the password, again and again, and remembers what was answered."""

    def __init__(self, user, tokens):
        self.name = user.username
        self.passwords = [PASSWORD, PASSWORD]  # the acknowledged one, and the one sent last
        self.tokens = [sessions.start(user, tokens).token]
        self.sent = self.changed = 0

    def keep_changing(self, address):
        """Change the password until the server is gone."""
        client = Client(address)
        with suppress(OSError, HTTPException):
            while True:
                self.sent += 1
                self.passwords[1] = f"unrelated words {self.name} {self.sent}"
                fields = {"current_password": self.passwords[0], "new_password": self.passwords[1]}
                status, answer = client.ask("POST", "/auth/password", fields, self.tokens[-1])
                assert status == 200, answer
                self.passwords[0] = self.passwords[1]
                self.tokens.append(answer["access_token"])
                self.changed += 1
        client.connection.close()

    def check(self, tokens):
        """Check that the last change happened, or that nothing of it did, and log in again."""
        user = User.get(username=self.name)
        works = [verify_password(each, user.hashed_password, rounds=4) for each in self.passwords]
        is_unanswered = self.passwords[0] != self.passwords[1] and works == [False, True]
        assert is_unanswered or works[0]
        *ended, last = (find_session(each, tokens) is not None for each in self.tokens)
        assert not any(ended)
        assert last is not is_unanswered
        assert user.sessions.count() == 1
        self.passwords = [self.passwords[is_unanswered]] * 2
        if is_unanswered:  # whose token has been lost
            sessions.revoke_all(user)
            self.tokens = [sessions.start(user, tokens).token]


@pytest.mark.slow
@pytest.mark.promise(27)
def test_a_kill_during_changes_leaves_nothing_half_done(database, settings, tokens):
    # A kill leaves the attempts counted that were under way.
    limits = "LOGIN_FAILURES_PER_ACCOUNT", "LOGIN_FAILURES_PER_ADDRESS", "LOGINS_PER_ACCOUNT"
    settings = replace(settings, **dict.fromkeys(("HASHING_PER_ADDRESS", *limits), 0))
    owners = [
        Owner(create_user(f"owner{number}", f"{number}@x", PASSWORD, settings=settings), tokens)
        for number in range(THREADS)
    ]
    for _ in range(KILLS):
        enough = sum(each.changed for each in owners) + random.randrange(4, 80)  # noqa: S311
        with started(settings) as (process, address), ThreadPoolExecutor(THREADS) as threads:
            busy = [threads.submit(each.keep_changing, address) for each in owners]
            while sum(each.changed for each in owners) < enough and not any(
                each.done() for each in busy
            ):
                time.sleep(random.random() / 500)  # noqa: S311 - no secret
            os.kill(process.pid, SIGKILL)
            for each in busy:
                each.result()
        for each in owners:
            each.check(tokens)
