"""The kernel's own figures, on every database."""

import pytest

from tests.conftest import insert_users
from tests.support.mails import with_mail
from wsgiauth.accounts.tables import Session
from wsgiauth.figures import event_counts
from wsgiauth.figures.accounts import figures_of_kernel, waiting_of_kernel
from wsgiauth.mail.outbox import LIFETIME, Mail
from wsgiauth.storage.schema import MIGRATIONS
from wsgiauth.throttling.counts import NAME, AttemptCount

pytestmark = [pytest.mark.every_database, pytest.mark.usefixtures("database")]

NOW = 2_000_000_000


@pytest.fixture
def measure(settings):
    """Return a function that measures a figure at a time."""

    def value(name, now=NOW, events=()):
        return figures_of_kernel(events)[name].measure(now)

    return value


def test_users_count_by_their_state(measure):
    assert measure("users") == {"active": 0, "inactive": 0}
    insert_users(5, changes={1: {"is_active": False}, 2: {"is_active": False}})
    assert measure("users") == {"active": 3, "inactive": 2}


def test_sessions_count_until_they_expire(measure, ada):
    for number, expires_at in enumerate((NOW - 1, NOW, NOW + 1, NOW + 100)):
        Session.insert(id=f"s{number}", user=ada.id, stamp=0, expires_at=expires_at).execute()
    assert measure("sessions") == 2


def test_names_count_while_strangers_must_wait(measure):
    rows = [(NAME, NOW), (NAME, NOW + 1), (NAME, NOW + 100), (None, NOW + 100)]
    for number, (kind, retry_at) in enumerate(rows):
        AttemptCount.insert(
            id=f"{number:064}", kind=kind, retry_at=retry_at, count=1, expires_at=NOW + 200
        ).execute()
    assert measure("locked_names") == 2


def test_recent_events_have_zeros(measure):
    event_counts.add(NOW // 60, "login", 3)
    event_counts.add(NOW // 60 - 6, "logout", 3)
    event_counts.add(NOW // 60, "of_a_feature_that_is_gone", 3)
    assert measure("events_5m", events=("login", "logout")) == {"login": 3, "logout": 0}


def test_the_version_is_the_newest_migration(measure):
    newest = max(path.stem for path in MIGRATIONS.glob("[0-9]*.py"))
    assert measure("schema_info") == {newest: 1}


def test_an_email_waits_since_it_was_made(settings):
    count = waiting_of_kernel(with_mail(settings))["emails"]
    assert count() == (0, None)
    for number, made_at in enumerate((NOW - 500, NOW - 10)):
        columns = {"kind": "notice", "data": "{}", "attempts": 3, "due_at": NOW + 1000}
        expires_at = made_at + LIFETIME
        Mail.insert(id=f"m{number}", expires_at=expires_at, **columns).execute()
    assert count() == (2, NOW - 500)


def test_a_site_without_emails_has_no_queue(settings):
    assert waiting_of_kernel(settings) == {}
