"""The staff panel in a real browser: the sample's site in Chromium."""

import re
import time

import pytest
from selenium.webdriver.common.keys import Keys

from tests.support.browser import Visitor, set_screen, start_browser
from tests.support.gallery import bare_sample
from tests.support.sites import EMAIL, PASSWORD, USERNAME, Stage, serving
from wsgiauth import AuthMiddleware, Group, storage
from wsgiauth.accounts import create_user, update_user
from wsgiauth.accounts.models import User
from wsgiauth.figures.event_counts import add

GROUPS = "/auth/admin/groups"


@pytest.fixture(scope="module")
def sample(tmp_path_factory):
    """Return the sample's site, bare."""
    return bare_sample(tmp_path_factory.mktemp("sample"))


@pytest.fixture(scope="module")
def stage():
    return Stage()


@pytest.fixture(scope="module")
def address(stage):
    with serving(stage) as address:
        yield address


@pytest.fixture(scope="module")
def browser(chromium, tmp_path_factory, address):
    profile = f"--user-data-dir={tmp_path_factory.mktemp('profile')}"
    with start_browser(*chromium, profile) as started:
        yield started


@pytest.fixture
def site(sample, settings, stage):
    stage.app = AuthMiddleware(sample, settings)
    yield stage.app
    storage.discard_connection(storage.current())


@pytest.fixture
def visitor(browser, address, site, settings):
    """Return a superuser of the staff who is logged in, on a site with another user."""
    create_user(USERNAME, EMAIL, PASSWORD, settings=settings, is_staff=True, is_superuser=True)
    create_user("Grace", "grace@example.org", PASSWORD, settings=settings)
    browser.execute_cdp_cmd("Network.clearBrowserCookies", {})
    visitor = Visitor(browser, address)
    visitor.log_in()
    return visitor


def enter(visitor, name, text):
    """Type into a field, and press Enter."""
    with visitor.leaving():
        visitor.find(f"input[name={name}]:not([type=hidden])").send_keys(text, Keys.ENTER)


def test_a_group_is_created_and_its_members_change_on_its_page(visitor):
    visitor.open(GROUPS)
    enter(visitor, "name", "Editors")
    enter(visitor, "user", "nobody")
    assert visitor.message_beside("user").startswith("No user matches")
    visitor.press("Back to the group")
    enter(visitor, "user", "grace@example.org")
    assert (visitor.heading, visitor.shown(".rows a")) == ("Editors", ["Grace"])
    visitor.press("Remove")
    assert (visitor.heading, visitor.shown(".rows a")) == ("Editors", [])


def test_a_row_of_the_groups_leads_to_its_group_wherever_it_is_clicked(visitor):
    Group.objects.create(name="Editors")
    visitor.open(GROUPS)
    with visitor.leaving():
        visitor.find(".links li").click()  # in its middle, where there is no text
    assert visitor.heading == "Editors"


@pytest.mark.parametrize(
    ("button", "granted"),
    [
        ("Grant reports.publish", "reports.publish"),
        ("Grant reports.publsh anyway", "reports.publsh"),
    ],
)
def test_a_mistyped_permission_is_questioned(visitor, button, granted):
    editors = Group.objects.create(name="Editors")
    Group.objects.create(name="Publishers").grant("reports.publish")
    visitor.open(f"{GROUPS}/{editors.id}")
    enter(visitor, "permission", "reports.publsh")
    assert "Did you mean reports.publish?" in visitor.shown("main p")
    visitor.press(button)
    assert visitor.shown(".rows div") == [granted]


def test_times_are_exact_to_whoever_compares_them(visitor):
    visitor.open("/auth/admin/events")
    times = visitor.find_all("time")
    assert times
    assert all(re.fullmatch(r"\d+ \w{3,4} 20\d\d, \d\d:\d\d \S+", each.text) for each in times)
    full = [each.get_attribute("title") for each in times]
    assert all(re.fullmatch(r"\d+ \w+ 20\d\d at \d\d:\d\d \S+", each) for each in full)
    assert {each.size["height"] for each in times} == {times[0].size["height"]}


def test_a_long_name_is_cut_in_the_header_and_whole_elsewhere(visitor, settings):
    update_user(User.get(User.username == USERNAME), username="W" * 150)
    lin = create_user("L" * 150, "lin@example.org", PASSWORD, settings=settings)
    visitor.open(f"/auth/admin/users/several?action=deactivate&users={lin.id}")
    own, label = visitor.find("header .person"), visitor.find("header .person > [dir]")
    assert own.size["height"] == visitor.find("header nav a").size["height"]
    assert own.get_attribute("title") == "W" * 150
    assert visitor.run("return arguments[0].scrollWidth", label) > label.size["width"]
    (name,) = visitor.find_all(".names a")
    script = "return new Set([...arguments[0].getClientRects()].map((each) => each.left)).size"
    assert (name.text, visitor.run(script, name)) == ("L" * 150, 1)


def test_the_charts_of_the_overview_fit_a_phone(visitor):
    set_screen(visitor.browser, 360)
    add(int(time.time()) // 60 - 120, "login", 2)
    visitor.open("/auth/admin")
    svg, bar = visitor.find("figure svg"), visitor.find("figure rect")
    assert svg.size["width"] > 300
    assert bar.size["height"] == pytest.approx(svg.size["height"], abs=2)
    visitor.find("summary").click()
    hour, logins, _failures = visitor.find_all(".numbers tr:nth-last-child(3) > *")
    assert (logins.text, logins.location["y"]) == ("2", hour.location["y"])
    width = "return document.documentElement.scrollWidth"
    assert visitor.run(width) == 360
    visitor.browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


HAS_BY_NAME = """
    const { has } = URLSearchParams.prototype;
    URLSearchParams.prototype.has = function (name) { return has.call(this, name); };
"""


def test_a_reload_keeps_all_chosen_users_in_browsers_that_look_up_names_alone(visitor, settings):
    # As Chrome before 117 and Safari before 17.
    command = visitor.browser.execute_cdp_cmd
    added = command("Page.addScriptToEvaluateOnNewDocument", {"source": HAS_BY_NAME})
    lin = create_user("Lin", "lin@example.org", PASSWORD, settings=settings)
    visitor.open(f"/auth/admin/users/several?action=join&users={lin.id - 1}&users={lin.id}")
    enter(visitor, "group", "nowhere")
    assert visitor.message_beside("group")
    visitor.browser.refresh()
    command("Page.removeScriptToEvaluateOnNewDocument", added)
    assert sorted(visitor.shown(".names a")) == ["Grace", "Lin"]
