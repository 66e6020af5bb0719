"""The proof of a login: how old it is, and a new one."""

import pytest

from tests.support.logins import find_session
from tests.support.sites import PASSWORD
from wsgiauth import change_password
from wsgiauth.accounts import create_user
from wsgiauth.accounts.models import User
from wsgiauth.accounts.tables import Session
from wsgiauth.authentication import sessions
from wsgiauth.authentication.freshness import Freshness, renew
from wsgiauth.authentication.lifetimes import of_browser, of_refreshable
from wsgiauth.authentication.refresh import refresh
from wsgiauth.authentication.second_factors import SecondFactors
from wsgiauth.authentication.tokens import Tokens
from wsgiauth.features.factors.factors import KINDS

pytestmark = [pytest.mark.every_database, pytest.mark.promise(46)]

START = 2_000_000_000  # seconds since the epoch, when these tests happen
FRESH = 15 * 60


class Clock:
    now = START


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def tokens(settings, clock):
    return Tokens(settings, clock=lambda: clock.now)


@pytest.fixture
def freshness(settings, tokens):
    return Freshness(settings, tokens, SecondFactors(KINDS, settings))


@pytest.fixture
def login(ada, tokens, settings):
    """Begin the login of a browser."""
    return sessions.start(ada, tokens, of_browser(settings, remember=False))


def test_a_proof_is_fresh_for_a_quarter_of_an_hour(freshness, login, clock):
    begun = clock.now
    ages = {0: True, FRESH: True, FRESH + 1: False, -60: True, -61: False}  # a clock set back
    for age, is_fresh in ages.items():
        clock.now = begun + age
        assert freshness.is_fresh(login.session_id) is is_fresh, age


def test_without_a_session_nothing_is_fresh(freshness, login):
    for session_id in [None, "unknown"]:
        assert not freshness.is_fresh(session_id)


def test_whether_a_login_is_fresh_costs_one_select(freshness, login, queries):
    (sql,) = queries(lambda: freshness.is_fresh(login.session_id))
    assert sql.startswith("SELECT")


def test_a_renewed_login_is_fresh_under_a_new_id_alone(ada, tokens, freshness, login, clock):
    clock.now += FRESH + 1
    renewed = renew(login.session_id, ada, tokens, {})
    assert freshness.is_fresh(renewed.session_id)
    assert find_session(renewed.token, tokens) == (ada, renewed.session_id, None)
    assert find_session(login.token, tokens) is None
    assert Session.select().count() == 1


def test_a_renewed_login_ends_when_it_would_have_ended(ada, tokens, login, clock):
    ends = Session.expires_at, Session.ends_at, Session.idle, Session.created_at
    before = Session.select(*ends).tuples().get()
    clock.now += 600
    renewed = renew(login.session_id, ada, tokens, {})
    assert Session.select(*ends).tuples().get() == before
    assert renewed.ends_at == login.ends_at
    assert renewed.expires_in == login.expires_in - 600


def test_a_renewed_login_has_the_methods_of_its_proof(ada, tokens, login):
    renew(login.session_id, ada, tokens, {}, methods="pwd otp")
    assert Session.get().methods == "pwd otp"


def test_a_renewed_login_without_a_refresh_token_gets_none(ada, tokens, login):
    assert renew(login.session_id, ada, tokens, {}).generation == 0


def test_a_renewed_login_gets_another_refresh_token(ada, tokens, settings):
    begun = sessions.start(ada, tokens, of_refreshable(settings, remember=False))
    refresh(begun.session_id, 1, tokens)
    renewed = renew(begun.session_id, ada, tokens, {})
    assert refresh(begun.session_id, 2, tokens) is None
    assert refresh(renewed.session_id, renewed.generation, tokens).generation == 2


def log_out(user, login, clock, settings):
    sessions.revoke(login.session_id, user)


def change_the_password(user, login, clock, settings):
    change_password(user, "another unrelated phrase", settings=settings)


def find_a_refresh_token_copied(user, login, clock, settings):
    Session.update(stamp=-1).execute()


def wait(user, login, clock, settings):
    clock.now += 3600


def renew_elsewhere(user, login, clock, settings):
    renew(login.session_id, user, Tokens(settings, clock=lambda: clock.now), {})


ENDS = [log_out, change_the_password, find_a_refresh_token_copied, wait, renew_elsewhere]


@pytest.mark.parametrize("end", ENDS)
def test_a_login_that_has_ended_is_not_renewed(ada, tokens, login, clock, settings, end):
    proven = User.get_by_id(ada.id)
    end(ada, login, clock, settings)
    for user in (proven, User.get_by_id(ada.id)):
        assert renew(login.session_id, user, tokens, {}) is None
        assert find_session(login.token, tokens) is None


def test_a_login_is_renewed_for_its_user_alone(ada, tokens, login, settings):
    grace = create_user("Grace", "grace@example.org", PASSWORD, settings=settings)
    assert renew(login.session_id, grace, tokens, {}) is None
    assert find_session(login.token, tokens) == (ada, login.session_id, None)
