"""Promise 105: functions of features that decide or change something, and fail, change nothing.

What only shows something is in `test_broken_features`, demands are in `test_failing_demands`.
"""

from types import SimpleNamespace
from urllib.parse import urlsplit

import peewee
import pytest
from webtest import TestApp

from tests.support.declared import COMPOSERS
from tests.support.logins import make_stale
from tests.support.mails import Post, with_mail
from tests.support.sites import BROWSER, PASSWORD, SAME_ORIGIN, echo
from wsgiauth import AuthMiddleware, User, storage
from wsgiauth.accounts.registration import FeatureField
from wsgiauth.authentication.freshness import proof_of
from wsgiauth.authentication.ways_in import WaysIn
from wsgiauth.exceptions import RequestError
from wsgiauth.feature import ConfirmationWay, Feature, WellKnown
from wsgiauth.forms.endpoint import Endpoint
from wsgiauth.logins import login_cookies, start_browser_session
from wsgiauth.mail.outbox import MINUTE, Mail, Outbox, enqueue
from wsgiauth.testing import logged_in, mailbox, make_settings, make_user
from wsgiauth.web.responses import json_response

pytestmark = pytest.mark.promise(105)

NEW = "another unrelated phrase"
fail = SimpleNamespace(is_on=True)


def broken(*arguments):
    """Raise an exception of Python, if the test wants that."""
    if fail.is_on:
        raise RuntimeError("broken")


def broken_statement(*arguments):
    """Send a statement that is wrong."""
    storage.current().execute_sql("SELECT missing FROM nowhere")


@pytest.fixture(autouse=True)
def failing(monkeypatch):
    """Let the functions fail again."""
    monkeypatch.setattr(fail, "is_on", True)


@pytest.fixture
def make_site(settings):
    """Return a function that makes a site with a feature."""
    made = []

    def make(app=echo, /, *, changes=None, **declared):
        feature = Feature(name="toys", **declared)
        changed = make_settings(
            DATABASE_URL=settings.DATABASE_URL, FEATURES=(feature,), **(changes or {})
        )
        made.append(AuthMiddleware(app, changed))
        return made[-1]

    yield make
    for each in made:
        storage.discard_connection(each.database)


def fails(send, *arguments, **options):
    """Assert that a request raises the exception, which the server answers with 500."""
    with pytest.raises((RuntimeError, peewee.DatabaseError), match=r"broken|nowhere"):
        send(*arguments, **options)


# In the transaction of a change


def test_what_fails_at_the_first_proof_undoes_it(make_site):
    site = make_site(changes={"MAIL_URL": "memory:"}, at_first_proof=broken)
    user, client = make_user(site, password=PASSWORD), TestApp(site)
    client.post("/auth/forgot", {"username": "ada"}, headers=SAME_ORIGIN)
    url = urlsplit(mailbox(site).links[-1])
    form = client.get(f"{url.path}?{url.query}", headers=BROWSER).form
    form["password"] = NEW
    fails(form.submit, headers=SAME_ORIGIN)
    stored = User.get_by_id(user.id)
    assert (stored.email_verified_at, stored.hashed_password) == (None, user.hashed_password)
    fail.is_on = False
    form.submit(headers=SAME_ORIGIN)
    assert User.get_by_id(user.id).email_verified_at


def test_a_recorder_that_fails_undoes_the_change(make_site):
    site = make_site(recorder=lambda settings, site: broken)
    fail.is_on = False
    user = make_user(site)
    browser = logged_in(site, user)
    form = browser.get("/auth/username", headers=BROWSER).form
    form["username"] = "grace"
    fail.is_on = True
    fails(form.submit, headers=SAME_ORIGIN)
    assert User.get_by_id(user.id).username == "ada"


class Toy(FeatureField):
    """A field whose value cannot be stored."""

    def record(self, user, value):
        """Fail."""
        broken()

    def schema(self):
        """Return any string."""
        return {"type": "string"}


def test_a_field_that_fails_creates_no_account(make_site):
    site = make_site(registration_fields=lambda settings: [Toy("toy", "Toy")])
    client = TestApp(site)
    sent = {"username": "ada", "email": "ada@example.org", "password": PASSWORD, "toy": "ball"}
    fails(client.post_json, "/auth/register", sent)
    assert User.select().count() == 0
    fail.is_on = False
    client.post_json("/auth/register", sent, status=201)


# What decides


def test_a_way_to_confirm_that_fails_proves_nothing(make_site):
    site = make_site(confirmations={"toy": ConfirmationWay(broken)})
    user = make_user(site, password=PASSWORD)
    browser = logged_in(site, user)
    session = user.sessions.get()
    make_stale()
    before = proof_of(session.id)
    page = browser.get("/auth/confirm", headers=BROWSER)
    sent = {"account": page.form["account"].value, "toy": "1"}
    fails(browser.post, "/auth/confirm", sent, headers=SAME_ORIGIN)
    assert proof_of(session.id) == before
    assert [each.id for each in user.sessions] == [session.id]
    with_password = {"account": sent["account"], "password": PASSWORD}
    browser.post("/auth/confirm", with_password, headers=SAME_ORIGIN, status=303)


def test_an_answer_above_the_mount_that_fails_is_not_the_application_s(make_site):
    called = []
    paths = {"/.well-known/toys": WellKnown(broken)}
    site = make_site(lambda *_: called.append(1), well_known=lambda site: paths)
    fails(TestApp(site).get, "/.well-known/toys")
    assert called == []


def test_a_declaration_that_fails_ends_the_start(make_site):
    for what in ("permissions", "staff_sections", "demands"):
        fails(make_site, **{what: broken})


@pytest.mark.every_database
@pytest.mark.parametrize("way", [broken, broken_statement])
def test_a_way_in_that_fails_counts_as_none(database, settings, ada, way, caplog):
    User.update(hashed_password="").where(User.id == ada.id).execute()
    user = User.get_by_id(ada.id)
    ways = WaysIn([("toys", way)], settings)
    assert not ways.has_one(user)
    with pytest.raises(RequestError) as refused:
        ways.require_one(user)
    assert refused.value.code == "last_way_in"
    assert f"a function of toys failed, so that a way in of user {ada.id} is missing" in caplog.text
    assert ways.has_one(ada)  # the password
    assert WaysIn([("toys", way), ("keys", lambda *_: True)], settings).has_one(user)
    fails(ways.can_log_in, user)


@pytest.mark.every_database
def test_a_statement_of_a_way_in_that_fails_undoes_the_removal(database, settings, ada):
    User.update(hashed_password="").where(User.id == ada.id).execute()
    ways = WaysIn([("toys", broken_statement)], settings)

    def remove():
        with storage.current().atomic():
            User.update(username="removed").where(User.id == ada.id).execute()
            ways.require_one(User.get_by_id(ada.id))

    fails(remove)
    assert User.get_by_id(ada.id).username == "Ada"


# Emails


@pytest.mark.every_database
@pytest.mark.parametrize("composer", [broken, broken_statement])
def test_an_email_that_cannot_be_written_keeps_no_other_one_waiting(
    database, settings, ada, unsent, composer, caplog
):
    post = Post()
    outbox = Outbox(with_mail(settings), post, {**COMPOSERS, "toy": composer})
    for kind in ("toy", "reset", "toy", "reset"):
        enqueue(outbox, kind, name=ada.username, data={"mount": "/auth"})
    assert 50 < outbox.deliver() <= 60
    assert len(post.messages) == 2
    assert [each.kind for each in Mail.select()] == ["toy", "toy"]
    assert "an email was not sent, next attempt in 1 minute: " in caplog.text
    assert "(toy)" in caplog.text


def test_without_a_database_an_email_stays_as_it_was(database, settings, ada, unsent, monkeypatch):
    def away(*arguments):
        raise peewee.OperationalError("away")

    def lose(*arguments):
        monkeypatch.setattr(storage.current(), "fetchall", away)
        away()

    outbox = Outbox(with_mail(settings), Post(), {"toy": lose})
    enqueue(outbox, "toy", name="ada", data={})
    with pytest.raises(peewee.OperationalError, match="away"):
        outbox.deliver()
    assert Mail.get().due_at > outbox.now() + MINUTE  # the lease


# Its own endpoint


class Changing(Endpoint):
    """Changes the user in a transaction, and fails."""

    def get(self, environ, site):
        """Fail in the transaction."""
        with storage.current().atomic():
            User.update(username="changed").execute()
            broken()

    def post(self, environ, site):
        """Fail in a transaction that only the server knows."""
        storage.current().execute_sql("BEGIN")
        User.update(username="changed").execute()
        broken()


class LoggingIn(Endpoint):
    """Starts a session, and fails."""

    def get(self, environ, site):
        """Make the cookie, and fail."""
        issued = start_browser_session(environ, site, User.get(), remember=True)
        cookies = login_cookies(environ, site, issued)
        broken()
        return json_response({}, headers=cookies)


@pytest.mark.every_database
@pytest.mark.parametrize("send", ["get", "post"])
def test_an_endpoint_that_fails_leaves_nothing_half_written(make_site, send):
    site = make_site(urls={"/toys": Changing()})
    make_user(site)
    fails(getattr(TestApp(site), send), "/auth/toys")
    assert User.get().username == "ada"
    assert not site.database.has_open_transaction()


def test_an_endpoint_that_fails_sends_no_cookie(make_site):
    site = make_site(urls={"/toys": LoggingIn()})
    make_user(site)
    client, started = TestApp(site), []
    with pytest.raises(RuntimeError):
        site(client.RequestClass.blank("/auth/toys").environ, lambda *_: started.append(1))
    assert started == []
    fail.is_on = False
    assert client.get("/auth/toys").headers["Set-Cookie"]
