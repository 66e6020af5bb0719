"""An email is committed with its cause: a crash between two statements leaves both or neither."""

from contextlib import suppress
from itertools import count

import peewee
import pytest
from webtest import TestApp

from tests.support.declared import CHANGES as KINDS
from tests.support.mails import with_mail
from tests.support.sites import PASSWORD, SAME_ORIGIN, echo
from wsgiauth import AuthMiddleware, User, change_password, events, storage
from wsgiauth.accounts.tables import CODE, INVITATION, RESET, OneTimeSecret
from wsgiauth.events.models import RecordedEvent
from wsgiauth.features.links.letters import send_reset
from wsgiauth.mail.outbox import Mail
from wsgiauth.storage import context
from wsgiauth.testing import mailbox, make_user


class Crash:
    """Ends a process at a statement that changes something: none is executed from then on."""

    def __init__(self, execute_sql, left):
        self._execute_sql = execute_sql
        self.left = left

    def __call__(self, sql, *parameters):
        if not sql.startswith("SELECT"):
            self.left -= 1
        if self.left < 0:
            raise peewee.OperationalError("the process has ended")
        return self._execute_sql(sql, *parameters)


@pytest.fixture
def site(settings):
    limits = dict.fromkeys(("REGISTRATIONS_PER_ADDRESS", "MAILS_PER_ADDRESS"), 0)
    changes = {"MAIL_URL": "memory:", "LOGIN_CODES": True, **limits}
    made = AuthMiddleware(echo, with_mail(settings, **changes))
    mailbox(made)  # stops the thread that sends emails
    yield made
    storage.discard_connection(made.database)


def register(site, user):
    fields = {"username": f"new-{user}", "email": f"new-{user}@example.org", "password": PASSWORD}
    TestApp(site).post("/auth/register", fields, headers=SAME_ORIGIN, status="*")


def ask_for_code(site, user):
    TestApp(site).post("/auth/code", {"username": str(user)}, headers=SAME_ORIGIN, status="*")


def guess(site, user):
    events.emit(KINDS["factor_guessed"], user_id=user.id)


def choose_password(site, user):
    change_password(user, "another phrase of words", settings=site.site.settings)


def invite_someone(site, user):
    site.invite(f"new-{user}@example.org")


def reset(site, user):
    send_reset(site.site.outbox, user, mount="/auth")


def number_of(name):
    return lambda: RecordedEvent.select().where(RecordedEvent.name == name).count()


def new_users():
    return User.select().where(User.username.startswith("new-")).count()


def requests_for_codes():
    return OneTimeSecret.select().where(OneTimeSecret.purpose == CODE).count()


# By cause: the action, how often the cause happened, and the kind of the email.
CAUSES = {
    "registration": (register, new_users, "address"),
    "code": (ask_for_code, requests_for_codes, CODE),
    "guessed factor": (guess, number_of("factor_guessed"), "notice factor_guessed"),
    "password": (choose_password, number_of("password_changed"), "notice password_changed"),
    "invitation": (invite_someone, number_of("link_sent"), INVITATION),
    "link by the staff": (reset, number_of("link_sent"), RESET),
}


@pytest.mark.slow
@pytest.mark.every_database
@pytest.mark.promise(27)
@pytest.mark.parametrize(("act", "happened", "kind"), CAUSES.values(), ids=CAUSES)
def test_a_crash_leaves_an_email_and_its_cause_or_neither(site, monkeypatch, act, happened, kind):
    for number in count():
        user = make_user(site, f"user{number}", password=PASSWORD)
        with monkeypatch.context() as patched, context.using(site.database):
            crash = Crash(site.database.execute_sql, number)
            patched.setattr(site.database, "execute_sql", crash)
            with suppress(peewee.OperationalError):
                act(site, user)
        storage.discard_connection(site.database)
        emails = Mail.select().where(Mail.kind == kind).count()
        assert happened() == emails, number
        if crash.left >= 0:
            break
    assert emails >= 1
    assert number > 1
