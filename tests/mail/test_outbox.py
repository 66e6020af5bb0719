"""The outbox: what is due is sent once, failures are tried again, and nothing secret is logged."""

import logging
from datetime import UTC, datetime

import pytest

from tests.support.declared import COMPOSERS
from tests.support.mails import Clock, Post, with_mail
from tests.support.sites import EMAIL, PASSWORD, USERNAME, echo
from wsgiauth import AuthMiddleware, events, storage
from wsgiauth.accounts import create_user, delete_user, update_user
from wsgiauth.accounts.tables import OneTimeSecret
from wsgiauth.authentication import one_time
from wsgiauth.events import Event
from wsgiauth.feature import Feature
from wsgiauth.features.links.letters import request_address_link, request_invitation, request_reset
from wsgiauth.features.notices.notices import Notices
from wsgiauth.mail import outbox as outboxes
from wsgiauth.mail.letters import Addressed, Letter
from wsgiauth.mail.outbox import Mail, Outbox, enqueue
from wsgiauth.mail.transports import DeliveryError, MailServerError
from wsgiauth.testing import make_settings, make_user

STRANGER = "finch@example.net"
REFUSED = DeliveryError("550", is_final=True)
LATER = DeliveryError("450")
AWAY = MailServerError("away")


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def post():
    return Post()


@pytest.fixture
def outbox(database, settings, clock, post, unsent):
    """Return an outbox whose thread is not started."""
    return Outbox(with_mail(settings), post, COMPOSERS, clock=clock)


@pytest.fixture
def heard(database):
    told = []
    events.subscribe(database, [told.append])
    return told


def ask(outbox, name=USERNAME):
    request_reset(outbox, name, mount="/auth")


def failures(heard):
    return [(each.user_id, each.reason) for each in heard if each.name == "mail_failed"]


# What is sent


@pytest.mark.every_database
@pytest.mark.promise(34)
def test_a_mail_goes_to_the_stored_address_with_a_link_of_the_public_url(outbox, post, ada):
    for name in (USERNAME, USERNAME.upper(), EMAIL, EMAIL.upper()):
        post.messages.clear()
        ask(outbox, name)
        assert outbox.deliver() is None
        assert post.recipients == [EMAIL], name
        (link,) = post.links
        assert link.startswith("https://example.org/auth/reset?token=")
        assert Mail.select().count() == 0


@pytest.mark.promise(34)
def test_a_look_alike_address_gets_nothing(outbox, post, ada):
    ask(outbox, EMAIL.replace("a", "\u0430", 1))
    outbox.deliver()
    assert post.messages == []


@pytest.mark.every_database
@pytest.mark.promise(32)
def test_no_account_is_looked_up_and_no_secret_made_before_the_mail_is_sent(outbox, ada, queries):
    sent = queries(lambda: ask(outbox))
    assert len(sent) == 1
    assert sent[0].lstrip().upper().startswith("INSERT INTO")
    assert "wsgiauth_mail" in sent[0]
    assert OneTimeSecret.select().count() == 0


@pytest.mark.every_database
def test_who_has_no_account_gets_no_mail(outbox, post, ada):
    malformed = ("four finch words", "nul\0", "\ud800", "x" * 5000, "é" * 254)
    for name in ("", "nobody", STRANGER, *malformed):
        ask(outbox, name)
        assert Mail.select().count() == 1
        outbox.deliver()
        assert post.messages == [], name
        assert Mail.select().count() == OneTimeSecret.select().count() == 0


def test_who_is_inactive_gets_no_mail(outbox, post, ada):
    update_user(ada, is_active=False)
    ask(outbox)
    outbox.deliver()
    assert post.messages == []


def test_what_cannot_be_a_name_is_not_stored(outbox, ada):
    for typed in ("four finch words", "finch\0"):
        ask(outbox, typed)
    assert {each.name for each in Mail.select()} == {""}


def test_mails_of_a_user_go_with_the_account(outbox, post, ada):
    enqueue(outbox, "reset", user=ada, data={"mount": "/auth"})
    delete_user(ada)
    assert outbox.deliver() is None
    assert post.messages == []


@pytest.mark.every_database
@pytest.mark.parametrize("name", ["", USERNAME], ids=["user", "typed"])
def test_a_user_who_is_deleted_while_the_mail_is_composed_stops_no_other(
    name, outbox, post, ada, settings, monkeypatch, heard
):
    create_user("bob", STRANGER, PASSWORD, settings=settings)
    enqueue(outbox, "reset", name=name, user=None if name else ada, data={"mount": "/auth"})
    ask(outbox, "bob")
    issue = one_time.issue

    def issue_late(purpose, user, **options):
        if user == ada:
            delete_user(ada)
        return issue(purpose, user, **options)

    monkeypatch.setattr(one_time, "issue", issue_late)
    assert outbox.deliver() is None
    assert post.recipients == [STRANGER]
    assert failures(heard) == []


def test_a_user_who_is_deleted_before_the_mail_is_composed_gets_none(
    database, settings, post, ada, clock, heard, unsent, caplog
):
    def compose_late(*arguments):
        delete_user(ada)
        return COMPOSERS["reset"](*arguments)

    outbox = Outbox(with_mail(settings), post, {"reset": compose_late}, clock=clock)
    enqueue(outbox, "reset", user=ada, data={"mount": "/auth"})
    assert outbox.deliver() is None
    assert (post.messages, failures(heard), caplog.messages) == ([], [], [])


@pytest.mark.every_database
def test_a_mail_is_sent_only_if_its_transaction_is_committed(outbox, post, ada):
    with storage.current().atomic() as transaction:
        ask(outbox)
        transaction.rollback()
    outbox.deliver()
    assert post.messages == []


@pytest.mark.every_database
def test_many_mails_are_sent(outbox, post, ada):
    for _ in range(2 * outboxes.BATCH + 1):
        ask(outbox)
    outbox.deliver()
    assert len(post.messages) == 2 * outboxes.BATCH + 1


@pytest.mark.every_database
def test_mails_for_which_a_person_waits_are_sent_first(outbox, post, ada, clock, settings):
    changed = Event("password_changed", datetime.now(UTC), ada.id, None, None)
    for _ in range(outboxes.BATCH):
        Notices(with_mail(settings), outbox)(changed, {})
    clock.move(1)
    request_invitation(outbox, "finch", STRANGER, mount="/auth")
    clock.move(1)
    request_address_link(outbox, ada, "ada@example.net", mount="/auth")
    clock.move(1)
    ask(outbox)
    outbox.deliver()
    assert post.recipients[:4] == [EMAIL, "ada@example.net", STRANGER, EMAIL]
    assert "reset?token=" in post.links[0]
    assert len(post.messages) == outboxes.BATCH + 3


def test_what_is_urgent_is_a_kind_of_mail():
    assert set(outboxes.URGENT) < set(COMPOSERS)


# Failures


@pytest.mark.every_database
def test_a_mail_is_tried_again_after_1_5_and_30_minutes_and_then_given_up(
    outbox, post, ada, clock, heard
):
    ask(outbox)
    post.errors += [LATER] * 4
    for minutes in (1, 5, 30):
        assert outbox.deliver() == 60 * minutes
        clock.move(60 * minutes - 1)
        assert outbox.deliver() == 1
        assert failures(heard) == []
        clock.move(1)
    assert outbox.deliver() is None
    assert failures(heard) == [(ada.id, "reset: 450")]
    assert (post.messages, post.errors, Mail.select().count()) == ([], [], 0)


def test_a_mail_that_is_tried_again_arrives_with_a_link_of_its_own(outbox, post, ada, clock):
    ask(outbox)
    post.errors.append(LATER)
    outbox.deliver()
    clock.move(60)
    assert outbox.deliver() is None
    (link,) = post.links
    assert one_time.find(link.partition("=")[2], "reset", now=clock())


@pytest.mark.every_database
@pytest.mark.parametrize("error", [LATER, AWAY])
def test_a_mail_that_is_tried_again_has_one_secret(error, outbox, post, ada, clock):
    ask(outbox)
    ask(outbox, EMAIL)
    for number in (1, 2, 3):
        post.errors += [error, error]
        outbox.deliver()
        assert OneTimeSecret.select().count() <= 2, number
        clock.move(30 * 60)
    post.errors.clear()
    outbox.deliver()
    assert len({*post.links}) == 2
    assert all(one_time.find(link.partition("=")[2], "reset", now=clock()) for link in post.links)
    assert OneTimeSecret.select().count() == 2


def test_an_invitation_that_is_tried_again_has_one_secret(outbox, post, clock):
    request_invitation(outbox, "finch", STRANGER, mount="/auth")
    post.errors += [LATER, LATER]
    for _ in range(3):
        outbox.deliver()
        clock.move(5 * 60)
    assert post.recipients == [STRANGER]
    assert OneTimeSecret.select().count() == 1


def test_a_mail_that_is_refused_is_given_up_at_once(outbox, post, ada, heard):
    ask(outbox)
    post.errors.append(REFUSED)
    assert outbox.deliver() is None
    assert failures(heard) == [(ada.id, "reset: 550")]


def test_a_mail_that_fails_does_not_hold_up_the_others(outbox, post, ada, heard):
    for _ in range(3):
        ask(outbox)
    post.errors += [REFUSED, LATER]
    assert outbox.deliver() == 60
    assert len(post.messages) == 1


def test_a_mail_that_was_not_sent_in_a_day_is_given_up(outbox, post, ada, clock, heard):
    ask(outbox)
    clock.move(outboxes.LIFETIME)
    outbox.deliver()
    assert post.messages == []
    assert failures(heard) == [(None, "reset: too late")]


def test_a_mail_of_an_unknown_kind_is_tried_again(outbox, ada, caplog):
    ask(outbox)
    Mail.update(kind="of a newer version").execute()
    assert outbox.deliver() == 60
    assert caplog.messages == [
        "an email was not sent, next attempt in 1 minute: no feature has it in its `composers` (of"
        " a newer version)"
    ]


def test_code_cannot_ask_for_a_mail_of_an_unknown_kind(outbox, ada):
    with pytest.raises(LookupError, match="no feature has the email 'toy' in its `composers`"):
        enqueue(outbox, "toy", user=ada, data={})
    assert not Mail.select().exists()


class ToyLetter(Letter):
    """A letter without a template."""

    template = "mail/toy.txt"


def fail_to_compose(mail, settings, now):
    raise ValueError(EMAIL)


@pytest.mark.parametrize(
    ("compose", "reason"),
    [
        (fail_to_compose, "ValueError (toy of toys)"),
        (lambda *_: Addressed(ToyLetter(), EMAIL, None), "mail/toy.txt (toy of toys)"),
    ],
    ids=["an exception", "a missing template"],
)
@pytest.mark.usefixtures("unsent")
def test_the_log_names_the_feature_of_a_mail_and_the_line_that_fails(caplog, compose, reason):
    toys = Feature(name="toys", composers=lambda _: {"toy": compose})
    app = AuthMiddleware(echo, make_settings(MAIL_URL="memory:", FEATURES=(toys,)))
    user = make_user(app)
    with storage.context.using(app.database):
        enqueue(app.site.outbox, "toy", user=user, data={})
        app.site.outbox.deliver()
    (message,) = [each for each in caplog.messages if "toy" in each]
    first, *lines = message.splitlines()
    assert first.endswith(reason)
    assert ("in fail_to_compose" in message) is ("ValueError" in reason)
    assert any(line.startswith('  File "') for line in lines)
    assert EMAIL not in caplog.text


def test_a_mail_server_that_is_away_gets_one_mail_a_minute_and_loses_none(
    outbox, post, ada, clock, heard, caplog
):
    for _ in range(3):
        ask(outbox)
    minutes = 6  # more than a mail is tried that is not accepted
    post.errors += [AWAY] * minutes
    for minute in range(minutes):
        assert outbox.deliver() == 60
        clock.move(59)
        assert outbox.deliver() == 1
        assert len(post.errors) == minutes - minute - 1
        clock.move(1)
    assert caplog.messages == ["emails are not sent, next attempt in a minute: away"] * minutes
    assert outbox.deliver() is None
    assert (len(post.messages), failures(heard)) == (3, [])


def test_a_mail_server_is_tried_when_the_clock_is_set_back(outbox, post, ada, clock):
    ask(outbox)
    post.errors.append(AWAY)
    outbox.deliver()
    clock.move(-3600)
    ask(outbox)
    outbox.deliver()
    assert len(post.messages) == 1


def test_many_mails_that_fail_are_one_line_a_minute_in_the_log(outbox, post, ada, clock, caplog):
    for lines in (1, 2):
        for _ in range(5):
            ask(outbox)
        post.errors += [LATER] * 5
        outbox.deliver()
        assert len(caplog.messages) == lines
        clock.move(60)


def test_no_error_of_an_application_shows_an_address_or_a_link(outbox, post, ada, heard, caplog):
    caplog.set_level(logging.INFO)
    for name in (USERNAME, STRANGER):
        ask(outbox, name)
    post.errors += [ValueError(f"{EMAIL} https://example.org/auth/reset?token=canary")]
    outbox.deliver()
    assert "not sent, next attempt in 1 minute: ValueError" in caplog.text
    told = caplog.text + "".join(str(vars(record)) for record in caplog.records) + str(heard)
    for secret in (EMAIL, STRANGER, "canary", "token="):
        assert secret not in told


# Leases


class KilledError(BaseException):
    """Ends a process."""


@pytest.fixture
def claim_and_die(settings, post, clock):
    """Return a function that sends a mail, and is killed before it deletes the row."""

    def send_and_die(message):
        post(message)
        raise KilledError

    doomed = Outbox(with_mail(settings), send_and_die, COMPOSERS, clock=clock)

    def die():
        with pytest.raises(KilledError):
            doomed.deliver()

    return die


@pytest.mark.every_database
def test_a_mail_of_a_killed_process_is_sent_once_more_after_the_lease(
    outbox, post, ada, clock, claim_and_die
):
    ask(outbox)
    claim_and_die()
    assert outbox.deliver() == outboxes.LEASE
    assert len(post.messages) == 1
    clock.move(outboxes.LEASE)
    assert outbox.deliver() is None
    assert len(post.messages) == 2
    clock.move(outboxes.LEASE)
    outbox.deliver()
    assert len(post.messages) == 2


def test_a_mail_that_kills_every_process_is_given_up(
    outbox, post, ada, clock, heard, claim_and_die
):
    ask(outbox)
    for _ in range(4):
        claim_and_die()
        clock.move(outboxes.LEASE)
    assert outbox.deliver() is None
    assert len(post.messages) == 4
    assert failures(heard) == [(None, "reset: too late")]


@pytest.mark.every_database
def test_a_mail_that_another_process_sends_is_left_to_it(outbox, post, ada, settings, clock):
    ask(outbox)
    other = Outbox(with_mail(settings), lambda _: outbox.deliver(), COMPOSERS, clock=clock)
    other.deliver()
    assert post.messages == []


def test_a_mail_that_another_process_claims_first_is_left_to_it(
    outbox, post, ada, settings, clock, queries
):
    ask(outbox)
    other = Post()

    def clock_of_late():
        clock.calls += 1
        if clock.calls == 3:  # it has read the row, and not claimed it yet
            outbox.deliver()
        return clock()

    clock.calls = 0
    late = Outbox(with_mail(settings), other, COMPOSERS, clock=clock_of_late)
    sent = queries(late.deliver)
    assert (len(post.messages), len(other.messages)) == (1, 0)
    claims = [sql for sql in sent if sql.startswith("UPDATE") and "due_at" in sql]
    assert len(claims) == 2, "the other process did not claim it in between"


def test_a_mail_whose_secret_cannot_be_made_is_tried_again(outbox, post, ada, clock, database):
    ask(outbox)
    database.execute_sql("ALTER TABLE wsgiauth_one_time RENAME TO away")
    assert outbox.deliver() == 60
    database.execute_sql("ALTER TABLE away RENAME TO wsgiauth_one_time")
    clock.move(60)
    outbox.deliver()
    assert len(post.messages) == 1


# Overdue


def test_mails_are_overdue_after_a_while(outbox, ada, clock):
    ask(outbox)
    assert outboxes.overdue(clock() + outboxes.OVERDUE - 1) == 0
    assert outboxes.overdue(clock() + outboxes.OVERDUE) == 1
