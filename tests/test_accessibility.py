"""Every page in Chromium: axe-core finds nothing, the page fits, the browser has no complaints."""

import os
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from tests.conftest import skip_or_fail
from tests.support.browser import set_scheme, set_screen, start_browser
from tests.support.gallery import NAMES, Gallery
from tests.support.sites import serving
from wsgiauth import storage

WIDTHS = (320, 768, 1280)  # CSS pixels: a small phone, a tablet, a laptop
CONTRAST = ["color-contrast"]
# Another colour scheme changes colours alone, and those depend on the layout only below 480 px.
LOOKS = [*((width, "light", None) for width in WIDTHS), (320, "dark", CONTRAST)]
LOOKS.append((1280, "dark", CONTRAST))
FIND_FLAWS = """
    const options = {resultTypes: ["violations", "incomplete"], preload: false};
    const found = await axe.run(arguments[0] ? {...options, runOnly: arguments[0]} : options);
    return [...found.violations, ...found.incomplete].flatMap((rule) =>
        rule.nodes.map((node) => `${rule.id}: ${node.target}: ${node.failureSummary}`));
"""
SAME_COLOUR = """
    const of = (selector) => getComputedStyle(document.querySelector(selector));
    return of(".choice input").accentColor === of("[type=submit]").backgroundColor;
"""

LOOK = """
    const selectors = ["[type=submit]", "main a", "input", ".choice input", "h1", "main"];
    return Object.fromEntries(selectors.map((selector) => {
        const {color, backgroundColor, borderColor, outlineColor, accentColor} =
            getComputedStyle(document.querySelector(selector));
        return [selector, {color, backgroundColor, borderColor, outlineColor, accentColor}];
    }));
"""

every_page = pytest.mark.parametrize("page", NAMES)


@pytest.fixture(scope="module")
def axe():
    """Return the source of axe-core."""
    return axe_core() or skip_or_fail("AXE_CORE does not name a file of axe-core: see .ci/run")


def axe_core():
    path = os.environ.get("AXE_CORE")
    return Path(path).read_text(encoding="utf-8") if path else ""


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """Serve the gallery."""
    with serving(Gallery(tmp_path_factory.mktemp("gallery"))) as address:
        yield address
    storage.discard_connection(storage.current())


@pytest.fixture(scope="module")
def browser(chromium, tmp_path_factory, address):
    """Start Chromium; it quits before the server closes, which waits for its connections."""
    with start_browser(
        *chromium, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"
    ) as started:
        yield started


@pytest.fixture
def opened(browser, address):
    """Return a function that opens a page and returns the browser."""

    def open_page(page):
        browser.get(f"{address}/{page}")
        return browser

    return open_page


class Findings(NamedTuple):
    """What the browser and axe-core say of a page."""

    complaints: list[str]
    widths: dict[int, int]
    flaws: dict[tuple[int, str], list[str]]


@pytest.fixture(scope="module")
def inspected(browser, address):
    """Return a function that returns the findings of a page, which is opened only once."""
    axe = axe_core()

    @cache
    def inspect(page):
        browser.get_log("browser")  # of the pages before
        browser.get(f"{address}/{page}")
        complaints = complaints_of(browser)
        return Findings(complaints, widths(browser), flaws(browser, axe) if axe else {})

    return inspect


def complaints_of(browser):
    status = f"{browser.current_url} - Failed to load resource"  # the status of an error page
    complaints = [entry["message"] for entry in browser.get_log("browser")]
    # An example of a page that sends its form at once; the policy keeps it here.
    sent = "Sending form data to 'https://wiki.example.org/login'"
    return [each for each in complaints if not each.startswith(status) and sent not in each]


def flaws(browser, axe):
    """Return what axe-core finds or wants a person to review, by width and colour scheme.

    WebDriver's scripts run in spite of the pages' Content-Security-Policy.
    """
    browser.execute_script(axe)
    found = {}
    for width, scheme, rules in LOOKS:
        set_screen(browser, width)
        set_scheme(browser, scheme)
        found[width, scheme] = browser.execute_script(FIND_FLAWS, rules)
    return {screen: each for screen, each in found.items() if each}


def widths(browser):
    """Return how wide the page is, by the width of the screen."""
    found = {}
    for width in WIDTHS:
        set_screen(browser, width)
        found[width] = browser.execute_script("return document.documentElement.scrollWidth")
    return found


@every_page
def test_axe_finds_nothing(inspected, axe, page):
    assert inspected(page).flaws == {}


@pytest.mark.parametrize(
    ("flaw", "rule"),
    [
        pytest.param("document.querySelector('label').remove()", "label", id="no label"),
        pytest.param("document.body.style.color = '#777'", "color-contrast", id="pale text"),
        pytest.param(
            "document.styleSheets[0].insertRule("
            "'@media (prefers-color-scheme: dark) {* {color: #555 !important}}')",
            "color-contrast",
            id="pale text in the dark",
        ),
        pytest.param("document.querySelector('h1').remove()", "page-has-heading-one", id="no h1"),
        pytest.param(
            "document.body.append(document.querySelector('h1').cloneNode(true))",
            "region",
            id="no landmark",
        ),
    ],
)
def test_axe_finds_a_flaw(opened, axe, flaw, rule):
    browser = opened("login")
    browser.execute_script(flaw)
    found = flaws(browser, axe)
    assert [each for texts in found.values() for each in texts if each.startswith(f"{rule}: ")]


@every_page
def test_no_page_scrolls_sideways(inspected, page):
    assert inspected(page).widths == {width: width for width in WIDTHS}


def test_a_page_that_is_too_wide_is_found(opened):
    browser = opened("login")
    browser.execute_script("document.querySelector('h1').style.width = '500px'")
    assert widths(browser)[320] >= 500


@pytest.mark.parametrize("width", WIDTHS)
def test_a_checkbox_is_small_and_beside_its_label(opened, width):
    browser = opened("login")
    set_screen(browser, width)
    label = browser.find_element(By.CSS_SELECTOR, ".choice")
    box = label.find_element(By.TAG_NAME, "input")
    assert label.text == "Keep me logged in for up to 30 days"
    assert (box.size["width"], box.size["height"]) == (20, 20)
    assert box.location["x"] == label.location["x"]
    assert label.size["height"] < 50  # one row, or two lines of text
    assert browser.execute_script(SAME_COLOUR)


@pytest.mark.parametrize("width", [800, 1000, 1280])
def test_a_name_of_nine_letters_stays_on_one_line(opened, width):
    browser = opened("admin-users-staff")
    set_screen(browser, width)
    links = browser.find_elements(By.CSS_SELECTOR, "tbody th a")
    heights = {each.text: each.size["height"] for each in links}
    assert heights["Katherine"] == heights["Ada"]


@pytest.mark.parametrize(
    ("page", "first"), [("totp-set-up", ".qr"), ("admin-several-group", ".names")]
)
def test_a_page_opens_with_what_is_to_be_looked_at_first(opened, browser, page, first):
    set_screen(browser, 1280, 720)
    top = opened(page).find_element(By.CSS_SELECTOR, first).location["y"]
    scrolled, height = browser.execute_script("return [scrollY, innerHeight]")
    assert scrolled < top < scrolled + height


@pytest.mark.parametrize("page", ["login", "example-login"])  # with passkeys alone, and with more
def test_the_word_or_is_as_far_from_the_ways_below_it(opened, page):
    browser = opened(page)
    gap = browser.execute_script(
        "const word = document.querySelector('.or');"
        "const below = document.querySelector('.or ~ * button.quiet, .or ~ button.quiet');"
        "return below.getBoundingClientRect().top - word.getBoundingClientRect().bottom"
    )
    assert gap == pytest.approx(12, abs=1)


def test_a_phone_shows_users_early_and_in_two_lines(opened):
    browser = opened("admin-users")
    set_screen(browser, 390, 844)
    rows, seen, height = browser.execute_script(
        "const rows = [...document.querySelectorAll('tbody tr')];"
        "const seen = rows.filter((row) => row.getBoundingClientRect().bottom <= innerHeight);"
        "return [rows.length, seen.length, document.documentElement.scrollHeight]"
    )
    assert rows == 50
    assert seen >= 6
    assert height < 4000


def test_in_forced_colours_a_page_looks_as_without_a_colour_of_its_site(opened):
    looks = {}
    for page, colours in (("brand", "none"), ("brand", "active"), ("logo", "active")):
        browser = opened(page)
        forced = [{"name": "forced-colors", "value": colours}]
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": forced})
        looks[page, colours] = browser.execute_script(LOOK)
    set_scheme(browser, "light")
    assert looks["brand", "active"] == looks["logo", "active"]
    own, forced = (looks["brand", each]["[type=submit]"] for each in ("none", "active"))
    assert (own["backgroundColor"], own["borderColor"]) == ("rgb(132, 110, 0)", "rgba(0, 0, 0, 0)")
    assert forced["borderColor"] == forced["color"]  # the edge of the button is drawn
    assert forced["backgroundColor"] != own["backgroundColor"]


def test_in_forced_colours_no_button_has_its_edge_at_its_text(opened):
    browser = opened("second")
    script = """
        return [...document.querySelectorAll("button")]
            .filter((each) => each.checkVisibility())
            .map(getComputedStyle)
            .filter((each) => parseFloat(each.borderLeftWidth) && !parseFloat(each.paddingLeft))
            .length
    """
    assert browser.execute_script(script) == 0


def test_the_first_tab_in_the_panel_offers_to_skip_the_header(opened):
    browser = opened("admin-groups")
    link = browser.find_element(By.CLASS_NAME, "skip")
    assert link.size["height"] == 1
    ActionChains(browser).send_keys(Keys.TAB).perform()
    assert browser.switch_to.active_element == link
    assert link.size["height"] > 20
    ActionChains(browser).send_keys(Keys.ENTER).perform()
    ActionChains(browser).send_keys(Keys.TAB).perform()
    assert browser.execute_script("return document.activeElement.matches('main *')")


@pytest.mark.promise(20)
@every_page
def test_the_browser_has_no_complaints(inspected, page):
    assert inspected(page).complaints == []


def test_a_complaint_is_found(opened):
    browser = opened("login")
    browser.execute_script("console.error('a complaint')")
    assert ["a complaint" in each for each in complaints_of(browser)] == [True]
