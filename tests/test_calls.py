"""The work of requests that must not reveal who has an account, counted in calls of functions."""

from base64 import b64encode

import pytest
from webtest import TestApp

from tests.conftest import HASH
from tests.features.former_passwords.samples import WERKZEUG
from tests.support.calls import calls_of
from tests.support.mails import with_mail
from tests.support.sites import EMAIL, PASSWORD, SAME_ORIGIN, USERNAME, echo
from wsgiauth import AuthMiddleware, User
from wsgiauth.storage.models import utc_now
from wsgiauth.testing import mailbox, make_user

ABSENT = "Bob"
# A call for each column and attribute of the user, together a few microseconds; an exception of
# Peewee takes 900 calls for its text.
FEW = 20


@pytest.fixture
def site(settings):
    generous = dict.fromkeys(
        ("LOGIN_FAILURES_PER_ACCOUNT", "LOGIN_FAILURES_PER_ADDRESS", "REGISTRATIONS_PER_ADDRESS"), 0
    )
    changes = {"LOGIN_CODES": True, "VERIFICATION": True, "BASIC_AUTH": "keys"}
    mail = {"MAIL_URL": "memory:", "MAILS_PER_ACCOUNT": 100}
    made = AuthMiddleware(echo, with_mail(settings, **generous, **changes, **mail))
    mailbox(made)  # stops the thread that sends emails
    return made


def log_in(site, name):
    fields = {"username": name, "password": "wrong"}
    TestApp(site).post("/auth/login", fields, headers=SAME_ORIGIN, status=401)


def log_in_by_email(site, name):
    log_in(site, f"{name}@example.org")


def log_in_by_json(site, name):
    TestApp(site).post_json("/auth/login", {"username": name, "password": "wrong"}, status=401)


def use_basic(site, name):
    credentials = b64encode(f"{name}:wrong".encode()).decode()
    TestApp(site).get("/auth/me", headers={"Authorization": f"Basic {credentials}"}, status=401)


def forget(site, name):
    TestApp(site).post("/auth/forgot", {"username": name}, headers=SAME_ORIGIN, status=202)


def ask_for_code(site, name):
    TestApp(site).post("/auth/code", {"username": name}, headers=SAME_ORIGIN, status=303)


def register(site, name):
    fields = {"username": name, "email": f"{name}@example.org"}
    TestApp(site).post("/auth/register", fields, headers=SAME_ORIGIN, status=303)


ACTIONS = {
    "login": log_in,
    "login by email address": log_in_by_email,
    "login by JSON": log_in_by_json,
    "Basic": use_basic,
    "forgotten password": forget,
    "code": ask_for_code,
    "registration": register,
}


def difference(first, second):
    """Return by how many calls of functions two actions differ, in a warm process.

    The least of three differences: once an hour, another row counts failures.
    """
    for action in (first, second) * 2:
        action()
    pairs = [(calls_of(first).total(), calls_of(second).total()) for _ in range(3)]
    return min(abs(one - other) for one, other in pairs)


@pytest.mark.promise(9, 32, 38, 83)
@pytest.mark.parametrize("act", ACTIONS.values(), ids=ACTIONS)
def test_an_absent_name_takes_as_many_calls_as_a_present_one(site, act):
    make_user(site, USERNAME, password=PASSWORD)
    found = difference(lambda: act(site, USERNAME), lambda: act(site, ABSENT))
    assert found <= (FEW if act.__name__.startswith("log_in") else 0)


@pytest.mark.promise(9)
@pytest.mark.parametrize(
    "changes",
    [
        {"is_active": False},
        {"hashed_password": ""},
        {"email_verified_at": utc_now(), "last_login_at": utc_now()},
    ],
    ids=["inactive", "without a password", "with times"],
)
def test_any_user_takes_as_many_calls_as_an_absent_name(site, changes):
    fields = {"email": EMAIL, "hashed_password": HASH, **changes}
    User.create(username=USERNAME, **fields)
    assert difference(lambda: log_in(site, USERNAME), lambda: log_in(site, ABSENT)) <= FEW


@pytest.mark.promise(81)
def test_a_former_password_takes_as_many_calls_as_an_absent_name(site):
    make_user(site, USERNAME, former_hash=WERKZEUG)  # the only user, so absent names cost the same
    assert difference(lambda: log_in(site, USERNAME), lambda: log_in(site, ABSENT)) <= FEW


@pytest.mark.promise(83)
def test_a_wrong_code_takes_as_many_calls_for_an_absent_name(site):
    make_user(site, USERNAME, is_verified=True)
    clients = {name: TestApp(site) for name in (USERNAME, ABSENT)}
    for name, client in clients.items():
        client.post("/auth/code", {"username": name}, headers=SAME_ORIGIN, status=303)
    assert len(mailbox(site).codes) == 1

    def enter(name):
        fields = {"code": "12345678"}
        clients[name].post("/auth/code/enter", fields, headers=SAME_ORIGIN, status=401)

    assert difference(lambda: enter(USERNAME), lambda: enter(ABSENT)) <= FEW
