"""What the pages of the audit trail call events."""

from datetime import UTC, datetime

from tests.support.declared import CHANGES
from wsgiauth.events import Event
from wsgiauth.features.panel import event_words
from wsgiauth.messages import Message
from wsgiauth.staff.people import actor_in_words


def event(name, reason):
    return Event(name, datetime(2026, 11, 2, tzinfo=UTC), 7, None, reason, None)


def title_of(event):
    return event_words.title_of(event, CHANGES.get(event.name))


def reason_in_words(event):
    return event_words.reason_in_words(event, CHANGES.get(event.name))


def test_every_title_can_be_translated():
    titles = [title for each in CHANGES.values() for title in (each.title, *each.titles.values())]
    assert {type(each) for each in titles} == {Message}


def test_a_flag_of_a_user_is_the_title():
    titles = {
        "is_active off": "Deactivated",
        "is_active on": "Activated",
        "is_staff on": "Added to the staff",
        "is_staff off": "Removed from the staff",
        "is_superuser on": "Made superuser",
        "is_superuser off": "Superuser status removed",
    }
    changes = {reason: event("rights_changed", reason) for reason in titles}
    assert {reason: title_of(each) for reason, each in changes.items()} == titles
    assert {type(title_of(each)) for each in changes.values()} == {Message}
    assert {reason_in_words(each) for each in changes.values()} == {""}


def test_other_events_have_the_title_of_their_name():
    assert title_of(event("rights_changed", "granted a.b")) == "Rights changed"
    assert title_of(event("unknown", None)) == "unknown"


def test_a_reason_is_shown_in_words_that_can_be_translated():
    words = {
        ("login", "pwd otp"): "password, one-time code",
        ("confirmed", "mail"): "link by email",
        ("registration", "import"): "import",
        ("logout", "all other sessions"): "all other sessions",
        ("names_changed", "email not verified"): "email not verified",
        ("rights_changed", "granted a.b"): "granted a.b",
        ("rights_changed", "revoked a.b"): "revoked a.b",
        ("rights_changed", "joined Ada's 100 %"): "joined Ada's 100 %",
        ("rights_changed", "left Editors"): "left Editors",
        ("group_changed", "created Editors"): "created Editors",
        ("group_changed", "renamed to Editors"): "renamed to Editors",
        ("group_changed", "deleted Editors"): "deleted Editors",
        ("group_changed", "granted a.b to Go to jail"): "granted a.b to Go to jail",
        ("group_changed", "revoked a.b from Editors"): "revoked a.b from Editors",
        ("link_sent", "reset, printed"): "reset, printed",
        ("link_sent", "invitation, is_staff"): "invitation, member of the staff",
        ("link_sent", "invitation, a.b, group Editors"): "invitation, a.b, group Editors",
        ("factor_removed", "otp"): "authenticator app",
        ("key_ended", "all keys"): "all keys",
        ("users_exported", "a search, active=no"): "a search, active=no",
    }
    shown = {each: reason_in_words(event(*each)) for each in words}
    assert shown == words
    assert [each for each, text in shown.items() if not isinstance(text, Message)] == []


def test_a_reason_without_words_stays():
    for name, reason in {
        "identity_connected": "import",
        "key_created": "4fD8sKq2ZxLw",
        "logout": "some day",
        "rights_changed": "7",
        "unknown": "a reason",
    }.items():
        shown = reason_in_words(event(name, reason))
        assert (type(shown), shown) == (str, reason)


def test_an_event_without_a_reason_has_no_words():
    assert reason_in_words(event("user_deleted", None)) == ""


def test_an_actor_that_is_no_user_is_shown_in_words_that_can_be_translated():
    for actor, words in {
        "code": "application code",
        "command line": "command line",
        "command line ada": "command line ada",
        "other app": "the app itself",
    }.items():
        shown = actor_in_words(actor)
        assert shown == words
        assert isinstance(shown, Message)
    assert (type(actor_in_words("cron")), actor_in_words("cron")) == (str, "cron")
