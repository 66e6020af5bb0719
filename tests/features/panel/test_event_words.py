"""What the pages of the audit trail call events."""

from datetime import UTC, datetime

import pytest

from wsgiauth.events import CHANGES, Event
from wsgiauth.features.panel.event_words import (
    TITLES,
    actor_in_words,
    reason_in_words,
    title_of,
)
from wsgiauth.messages import Message


def event(name, reason):
    return Event(name, datetime(2026, 11, 2, tzinfo=UTC), 7, None, reason, None)


def test_every_event_has_a_title():
    assert TITLES.keys() == set(CHANGES)


@pytest.mark.parametrize(
    ("reason", "title"),
    [
        ("is_active off", "Deactivated"),
        ("is_active on", "Activated"),
        ("is_staff on", "Added to the staff"),
        ("is_staff off", "Removed from the staff"),
        ("is_superuser on", "Made superuser"),
        ("is_superuser off", "Superuser status removed"),
    ],
)
def test_a_flag_of_a_user_is_the_title(reason, title):
    changed = event("rights_changed", reason)
    assert (title_of(changed), reason_in_words(changed)) == (title, "")
    assert isinstance(title_of(changed), Message)


def test_other_events_have_the_title_of_their_name():
    assert title_of(event("rights_changed", "granted a.b")) == "Rights changed"
    assert title_of(event("unknown", None)) == "unknown"


@pytest.mark.parametrize(
    ("name", "reason", "words"),
    [
        ("login", "pwd otp", "password, one-time code"),
        ("confirmed", "mail", "link by email"),
        ("registration", "import", "import"),
        ("logout", "all other sessions", "all other sessions"),
        ("names_changed", "email not verified", "email not verified"),
        ("rights_changed", "granted a.b", "granted a.b"),
        ("rights_changed", "revoked a.b", "revoked a.b"),
        ("rights_changed", "joined Ada's 100 %", "joined Ada's 100 %"),
        ("rights_changed", "left Editors", "left Editors"),
        ("group_changed", "created Editors", "created Editors"),
        ("group_changed", "renamed to Editors", "renamed to Editors"),
        ("group_changed", "deleted Editors", "deleted Editors"),
        ("group_changed", "granted a.b to Go to jail", "granted a.b to Go to jail"),
        ("group_changed", "revoked a.b from Editors", "revoked a.b from Editors"),
        ("link_sent", "reset, printed", "reset, printed"),
        ("link_sent", "invitation, is_staff", "invitation, member of the staff"),
        ("link_sent", "invitation, a.b, group Editors", "invitation, a.b, group Editors"),
        ("factor_removed", "otp", "authenticator app"),
        ("key_ended", "all keys", "all keys"),
        ("users_exported", "a search, active=no", "a search, active=no"),
    ],
)
def test_a_reason_is_shown_in_words_that_can_be_translated(name, reason, words):
    shown = reason_in_words(event(name, reason))
    assert shown == words
    assert isinstance(shown, Message)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("identity_connected", "import"),
        ("key_created", "4fD8sKq2ZxLw"),
        ("logout", "some day"),
        ("rights_changed", "7"),
    ],
)
def test_a_reason_without_words_stays(name, reason):
    assert type(reason_in_words(event(name, reason))) is str
    assert reason_in_words(event(name, reason)) == reason


def test_an_event_without_a_reason_has_no_words():
    assert reason_in_words(event("user_deleted", None)) == ""


@pytest.mark.parametrize(
    ("actor", "words"),
    [
        ("code", "application code"),
        ("command line", "command line"),
        ("command line ada", "command line ada"),
    ],
)
def test_an_actor_that_is_no_user_is_shown_in_words_that_can_be_translated(actor, words):
    shown = actor_in_words(actor)
    assert shown == words
    assert isinstance(shown, Message)


def test_an_actor_without_words_stays():
    assert type(actor_in_words("cron")) is str
    assert actor_in_words("cron") == "cron"
