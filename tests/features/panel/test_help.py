"""What keeps a user from logging in, and the action that helps."""

import dataclasses
from datetime import UTC, datetime

import pytest

from tests.support.factors import add_app
from wsgiauth.accounts import update_user
from wsgiauth.accounts.models import verified_by_operator
from wsgiauth.features.factors import recovery_codes
from wsgiauth.features.factors.factors import UserFactors
from wsgiauth.features.panel.help import find_obstacles
from wsgiauth.storage.models import NO_PASSWORD
from wsgiauth.throttling.failed_logins import Wait

EARLY, LATE = (datetime(2026, 11, day, tzinfo=UTC) for day in (1, 2))


@pytest.fixture
def obstacles_of(site):
    """Return a function that returns the texts and actions for a user."""

    def obstacles_of(user, waits=(), **settings):
        found = find_obstacles(
            user,
            dataclasses.replace(site.site.settings, **settings),
            site.site.ways_in,
            waits=waits,
            second_factors=UserFactors.read(user),
            has_first_key=False,
        )
        return [(str(each.text), each.action, each.until) for each in found]

    return obstacles_of


def without_password(user):
    user.hashed_password = NO_PASSWORD
    user.save()
    return user


def test_an_inactive_account_is_activated_and_nothing_is_an_answer_too(make, obstacles_of):
    ((text, action, until),) = obstacles_of(make("Tim"))
    assert text.startswith("Nothing keeps the user from logging in.")
    assert (action, until) == ("reset-link", None)
    ((text, action, _),) = obstacles_of(make("Una", "inactive"))
    assert (text, action) == ("The account is inactive: every login is refused.", "activate")


def test_a_wait_ends_by_itself(make, obstacles_of):
    waits = tuple(Wait("account", each, "username", None) for each in (EARLY, LATE, EARLY))
    ((text, action, until),) = obstacles_of(make("Tim"), waits)
    assert text.startswith("After too many attempts, some logins must wait:")
    assert (action, until) == ("", LATE)


def test_a_user_without_a_password_gets_a_link_unless_the_site_has_none(
    make, obstacles_of, monkeypatch, site
):
    tim = without_password(make("Tim"))
    no_way = ("The user has no password, and no other way to log in.", "reset-link", None)
    assert obstacles_of(tim) == [no_way]
    assert obstacles_of(tim, PASSWORD_LOGIN=False) == [("The user has no way to log in.", "", None)]
    monkeypatch.setattr(type(site.site.ways_in), "has_one", lambda self, user: True)
    another = ("The user has no password, and can only log in another way.", "reset-link", None)
    assert obstacles_of(tim) == [another]


def test_an_address_that_was_never_proven_matters_where_the_site_asks(make, obstacles_of):
    unproven = ("The user has never proven the email address here.", "verify-email", None)
    for setting in ("VERIFICATION", "LOGIN_CODES"):
        tim = make(setting)
        assert obstacles_of(tim, **{setting: True}) == [unproven], setting
        update_user(tim, **verified_by_operator(tim))
        assert obstacles_of(tim, **{setting: True}) == obstacles_of(tim), setting


def test_a_lost_second_factor_is_removed(site, make, obstacles_of):
    tim = make("Tim")
    add_app(site, tim)
    codes = recovery_codes.replace(tim, rounds=4)
    for left, said in (
        (8, "one of the 8 recovery codes that are left"),
        (1, "the recovery code that is left"),
        (0, "no recovery code is left"),
    ):
        while len(codes) > left:
            recovery_codes.use(tim, codes.pop())
        ((text, action, _),) = obstacles_of(tim)
        assert said in text
        assert action == "remove-factors"


def test_the_page_has_the_button_for_whoever_has_the_right(browser_of, make):
    tim = make("Tim", "inactive")
    for kind, buttons in (("staff", 0), ("manager", 1), ("superuser", 1)):
        page = browser_of(make(f"A {kind}".replace(" ", ""), kind)).get(
            f"/auth/admin/users/{tim.id}"
        )
        card = page.html.find(id="help").find_parent("section")
        assert "every login is refused" in card.text
        assert len(card.find_all("button", string="Activate")) == buttons


def test_the_page_asks_before_what_cannot_be_undone(site, browser, make):
    tim = make("Tim")
    add_app(site, tim)
    page = browser.get(f"/auth/admin/users/{tim.id}")
    link = page.html.find(id="help").find_parent("section").find("a")
    assert link["href"].endswith("/remove-factors")


def test_nobody_is_helped_to_their_own_account(browser, boss):
    assert browser.get(f"/auth/admin/users/{boss.id}").html.find(id="help") is None
