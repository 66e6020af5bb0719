"""GET /auth/admin/events."""

from itertools import chain
from pathlib import Path

import pytest

import wsgiauth
from tests.support.declared import CHANGES as KINDS
from tests.support.keys import make_key
from tests.support.sites import SAME_ORIGIN
from wsgiauth import events
from wsgiauth.accounts.groups import Group
from wsgiauth.accounts.models import User
from wsgiauth.events import actors
from wsgiauth.events.models import RecordedEvent
from wsgiauth.features.keys.api_keys import revoke
from wsgiauth.features.links.letters import request_reset
from wsgiauth.features.panel.user_actions import ACTIONS
from wsgiauth.features.registry import FEATURES
from wsgiauth.staff.user_lists import UserList

EVENTS = "/auth/admin/events"


def rows(page):
    """Return the texts of the cells of each row but the time and the address."""
    texts = [[" ".join(each.text.split()) for each in row(["th", "td"])] for row in page.html("tr")]
    return [tuple(row[1:4]) for row in texts[1:]]


def forget(*names):
    """Delete the recorded events, except those of these names."""
    RecordedEvent.delete().where(RecordedEvent.name.not_in(names)).execute()


@pytest.mark.every_database
def test_an_event_says_what_happened_to_whom_and_who_did_it(browser, make):
    tim = make("Tim")
    forget()
    browser.post(
        f"/auth/admin/users/{tim.id}/grant", {"permission": "a.b"}, headers=SAME_ORIGIN, status=303
    )
    page = browser.get(EVENTS)
    assert rows(page) == [("Rights changed granted a.b", "Tim", "Boss")]
    assert page.click("Tim").request.path == f"/auth/admin/users/{tim.id}"


@pytest.mark.promise(51)
@pytest.mark.every_database
def test_each_change_names_its_actor(program, boss, make):
    tim = make("Tim")
    Group.objects.create(name="Editors")
    fields = {"permission": "a.b", "group": "editors"}
    for name in ("grant", "join", "deactivate", "make-staff", "delete"):
        forget()
        program(f"/auth/admin/users/{tim.id}/{name}", fields)
        (event,) = program(EVENTS).json["events"]
        assert (event["user_id"], event["actor"]) == (tim.id, f"user {boss.id}"), name
        assert ACTIONS[name].done


@pytest.mark.promise(51)
def test_without_its_event_no_change_is_made(program, make, monkeypatch):
    tim = make("Tim")

    def fail(*_, **__):
        raise ZeroDivisionError

    monkeypatch.setattr("wsgiauth.events.insert_row", fail)
    with pytest.raises(ZeroDivisionError):
        program(f"/auth/admin/users/{tim.id}/deactivate", {})
    assert User.get_by_id(tim.id).is_active


def test_a_user_who_was_deleted_has_only_a_number_and_an_event_of_a_group_no_user(browser, make):
    tim = make("Tim")
    forget()
    Group.objects.create(name="Editors")
    tim.delete_instance()
    assert rows(browser.get(EVENTS)) == [
        ("Account deleted", f"user {tim.id}, deleted", "application code"),
        ("Group changed created Editors", "\N{EN DASH}", "application code"),
    ]


@pytest.mark.every_database
def test_the_pages_have_each_event_once(browser, program, boss):
    for number in range(120):
        events.emit(KINDS["rights_changed"], user_id=boss.id, reason=str(number))
    page = browser.get(f"{EVENTS}?name=rights_changed&user=Boss")
    reasons = [row[0] for row in rows(page)]
    while page.html.find("a", string="Older events"):
        page = page.click("Older events")
        reasons += [row[0] for row in rows(page)]
    newest = page.click("Newest events")
    assert rows(newest)[0][0] == reasons[0]
    assert newest.html.find("a", string="Newest events") is None
    assert reasons[:120] == [f"Rights changed {number}" for number in reversed(range(120))]
    first = program(f"{EVENTS}?name=rights_changed").json
    assert len(first["events"]) == 50
    assert len(program(first["next"]).json["events"]) == 50


def test_a_filter_leaves_the_events_that_match(program, boss, make):
    tim = make("Tim")
    make(str(boss.id))
    forget("login")
    RecordedEvent.update(actor=f"user {boss.id}").execute()
    for user in (boss, tim):
        events.emit(KINDS["registration"], user_id=user.id)
    with actors.acting(actors.APP):
        events.emit(KINDS["client_created"])
    counts = {
        "user=Tim": 1,
        "user=tim@example.org": 1,
        f"user={tim.id}": 1,
        f"user=user {tim.id}": 1,
        f"user={boss.id}": 0,  # the name of another user
        f"actor={boss.id}": 0,
        "user=nobody": 0,
        "actor=code": 2,
        "actor=Boss": 1,
        f"actor=user {boss.id}": 1,
        "actor=nobody": 0,
        "actor=command line": 0,
        "actor=other app": 1,
        "actor=the app itself": 1,
        "actor=command line%00": 0,
        "name=login": 1,
        "name=&since=&until=": 4,
        "since=2020-01-01": 4,
        "since=2120-01-01T00:00:00Z": 0,
        "until=2020-01-01": 0,
        "before=x": 4,
    }
    found = {query: program(f"{EVENTS}?{query}").json["events"] for query in counts}
    assert {query: len(each) for query, each in found.items()} == counts


def test_the_page_of_a_user_links_to_their_events_by_id(browser, boss, make):
    make(str(boss.id))
    page = browser.get(f"/auth/admin/users/{boss.id}")
    page.mustcontain(f"/auth/admin/events?user=user+{boss.id}")


def test_a_wrong_value_of_a_filter_is_refused(browser, program):
    for query, message in {
        "name=zz": "name must be the name of an event.",
        "since=zz": "since must be a date or a time, such as 2026-11-02",
        "until=soon": "until must be a date or a time, such as 2026-11-02",
    }.items():
        refused = program(f"{EVENTS}?{query}", status=422).json
        (text,) = refused["errors"][query.partition("=")[0]]
        assert (refused["code"], text.startswith(message)) == ("invalid", True)
        browser.get(f"{EVENTS}?{query}", status=422).mustcontain(message)


def test_an_empty_list_says_what_to_do(browser):
    browser.get(f"{EVENTS}?user=nobody").mustcontain("No event matches.", "All events")
    forget()
    browser.get(EVENTS).mustcontain("There are no events.")


@pytest.mark.every_database
def test_the_page_of_a_user_has_the_newest_events(browser, make):
    tim = make("Tim")
    for number in range(12):
        events.emit(KINDS["rights_changed"], user_id=tim.id, reason=str(number))
    page = browser.get(f"/auth/admin/users/{tim.id}")
    assert [row[0] for row in rows(page)] == [f"Rights changed {n}" for n in range(11, 1, -1)]
    assert len(rows(page.click("All events of this user"))) == 12


@pytest.mark.promise(51)
def test_a_user_named_code_can_be_told_from_the_code(browser, program, make):
    code, tim = make("code"), make("Tim")
    forget()
    with actors.acting(actors.user(code.id)):
        tim.grant("a.b")
    tim.revoke("a.b")
    page = browser.get(EVENTS)
    assert [row[2] for row in rows(page)] == ["application code", "code"]
    assert page.click("code").request.path == f"/auth/admin/users/{code.id}"
    for actor in ("code", "application code"):
        (event,) = program(f"{EVENTS}?actor={actor}").json["events"]
        assert event["actor"] == "code"
    (event,) = program(f"{EVENTS}?actor={code.id}").json["events"]
    assert event["actor"] == f"user {code.id}"


@pytest.mark.promise(51)
def test_an_api_key_is_named_beside_its_user(browser, program, make):
    tim = make("Tim")
    forget()
    with actors.acting(f"user {tim.id} key 4fD8sKq2ZxLw"):
        tim.grant("a.b")
    page = browser.get(EVENTS)
    assert rows(page) == [("Rights changed granted a.b", "Tim", "Tim (API key 4fD8sKq2ZxLw)")]
    for actor, count in ((tim.id, 1), (f"user {tim.id} key 4fD8sKq2ZxLw", 1), ("user 7 key x", 0)):
        assert len(program(f"{EVENTS}?actor={actor}").json["events"]) == count


@pytest.mark.promise(58)
def test_how_a_user_logged_in_is_said_in_words_and_a_reason_is_escaped(browser, program, boss):
    events.emit(KINDS["rights_changed"], user_id=boss.id, reason="<script>alert(1)</script>")
    events.emit(KINDS["login"], user_id=boss.id, reason="pwd hwk user")
    page = browser.get(EVENTS)
    page.mustcontain("password, passkey, fingerprint, face or PIN", no="pwd")
    page.mustcontain("&lt;script&gt;", no="<script>alert")
    assert program(EVENTS).json["events"][0]["reason"] == "pwd hwk user"


def test_a_link_that_was_asked_for_is_no_event(site, program, make):
    make("Tim")
    forget()
    request_reset(site.site.outbox, "Tim", mount="/auth")
    assert program(EVENTS).json["events"] == []


def test_a_method_of_two_step_verification_is_named_in_words(browser, program, boss):
    for name in ("factor_added", "factor_removed"):
        events.emit(KINDS[name], user_id=boss.id, reason="otp")
        title = f"Two-step verification method {name.removeprefix('factor_')}"
        assert rows(browser.get(EVENTS))[0][0] == f"{title} authenticator app"
        assert program(EVENTS).json["events"][0]["reason"] == "otp"


@pytest.mark.every_database
def test_an_api_key_has_its_name_and_a_link_as_long_as_it_exists(browser, make, queries):
    tim = make("Tim")
    key, other = (make_key(tim, name) for name in ("Nightly export", "Backup"))
    forget("key_created")
    with actors.acting(actors.user(tim.id, key)):
        tim.grant("a.b")
    revoke(tim, other)
    page = browser.get(EVENTS)
    assert rows(page)[:4] == [
        (f"API key revoked {other}", "Tim", "application code"),
        ("Rights changed granted a.b", "Tim", "Tim (API key Nightly export)"),
        (f"API key created {other}", "Tim", "application code"),
        ("API key created Nightly export", "Tim", "application code"),
    ]
    assert (
        page.html.find("a", string="Nightly export")["href"] == f"/auth/admin/users/{tim.id}#keys"
    )
    with_keys = len(queries(lambda: browser.get(EVENTS)))
    forget()
    tim.grant("c.d")
    assert with_keys <= len(queries(lambda: browser.get(EVENTS))) + 1


def test_an_event_has_an_icon_and_a_possible_attack_looks_like_one(browser, boss):
    forget()
    for name in ("login", "refresh_reused"):
        events.emit(KINDS[name], user_id=boss.id)
    page = browser.get(EVENTS)
    icons = [each["d"] for each in page.html.select("tbody .event path")]
    assert len({*icons}) == 2
    assert [each.text.split() for each in page.html.select(".event.bad")] == [
        ["Refresh", "token", "used", "twice"]
    ]


def test_every_icon_of_an_event_a_section_and_a_list_exists(site):
    lists = site.site.parts.all(UserList)
    sections = [each for of in FEATURES for each in of.staff_sections(site.site.settings)]
    macros = Path(wsgiauth.__file__).with_name("templates") / "macros.html"
    icons = macros.read_text("utf-8")
    for icon in {each.icon for each in chain(KINDS.values(), lists, sections)}:
        assert f'  "{icon}": "M' in icons, icon


def chips(page):
    """Return the filters that are set, and where the links that remove them lead."""
    return {each.text.strip(): each["href"] for each in page.html.select(".chips a")}


def test_a_filter_is_removed_by_its_link_and_names_the_user(browser, boss, make):
    tim = make("Tim")
    query = f"user=user+{tim.id}&actor=Boss&name=login&since=2026-01-01"
    page = browser.get(f"{EVENTS}?{query}&until=2026-02-01")
    assert list(chips(page)) == [
        "Account: Tim",
        "Done by: Boss",
        "Event: Logged in",
        "Since: 2026-01-01",
        "Before: 2026-02-01",
    ]
    assert chips(page)["Before: 2026-02-01"] == f"{EVENTS}?{query}"
    (url,) = chips(browser.get(f"{EVENTS}?actor=user {boss.id + 99}")).values()
    assert url == EVENTS
    assert chips(browser.get(EVENTS)) == {}
    assert list(chips(browser.get(f"{EVENTS}?user=user+{10**30}"))) == [f"Account: user {10**30}"]


def test_a_provider_has_its_title_as_long_as_the_settings_have_it(browser, boss):
    forget()
    for provider in ("example", "gone"):
        events.emit(KINDS["identity_connected"], user_id=boss.id, reason=provider)
    connected = "Account of another provider connected"
    titles = [row[0] for row in rows(browser.get(EVENTS))]
    assert titles == [f"{connected} gone", f"{connected} Example Firm"]
