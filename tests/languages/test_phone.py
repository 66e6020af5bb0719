"""Each page in each language on a phone: it fits, and axe-core finds nothing."""

import pytest
from selenium.webdriver.common.by import By

from tests.conftest import skip_or_fail
from tests.support.browser import set_screen, start_browser
from tests.support.sites import serving
from tests.test_accessibility import axe_core
from tests.web.pages import PAGES, REQUEST
from wsgiauth.languages import Languages
from wsgiauth.web.pages import Pages

WIDTH = 320  # CSS pixels
LANGUAGES = [each for each in Languages() if each.name != "en"]
# Colours do not depend on the language, and take most of the time.
FIND_FLAWS = """
    const rules = {"color-contrast": {enabled: false}};
    const found = await axe.run({resultTypes: ["violations"], preload: false, rules});
    return found.violations.flatMap((rule) =>
        rule.nodes.map((node) => `${rule.id}: ${node.target}: ${node.failureSummary}`));
"""


@pytest.fixture(scope="module")
def axe():
    """Return the source of axe-core."""
    return axe_core() or skip_or_fail("AXE_CORE does not name a file of axe-core: see .ci/run")


@pytest.fixture(scope="module")
def address():
    """Serve the examples of pages at /LANGUAGE/TEMPLATE."""
    pages = Pages("/auth", site_name="Riverside Library")

    def app(environ, start_response):
        _, language, template = environ["PATH_INFO"].split("/", 2)
        request = {**REQUEST, "HTTP_ACCEPT_LANGUAGE": language}
        return pages.render(request, PAGES[template])(environ, start_response)

    with serving(app) as address:
        yield address


@pytest.fixture(scope="module")
def browser(chromium, tmp_path_factory, address):
    """Start Chromium; it quits before the server closes, which waits for its connections."""
    profile = f"--user-data-dir={tmp_path_factory.mktemp('profile')}"
    with start_browser(*chromium, profile) as started:
        set_screen(started, WIDTH)
        yield started


def inspect(browser, axe):
    """Return how wide the page is, its direction, and its flaws."""
    browser.execute_script(axe)
    html = browser.find_element(By.TAG_NAME, "html")
    width = browser.execute_script("return document.documentElement.scrollWidth")
    direction = html.value_of_css_property("direction")
    return width, html.get_attribute("lang"), direction, browser.execute_script(FIND_FLAWS)


@pytest.mark.parametrize("template", PAGES)
def test_a_page_fits_in_every_language_and_axe_finds_nothing(browser, address, axe, template):
    for each in LANGUAGES:
        browser.get(f"{address}/{each.name}/{template}")
        assert inspect(browser, axe) == (WIDTH, each.name, each.direction, [])


def test_a_page_that_does_not_fit_and_a_flaw_are_found(browser, address, axe):
    browser.get(f"{address}/de/login.html")
    browser.execute_script("document.body.style.width = '500px'; document.title = ''")
    width, _, _, flaws = inspect(browser, axe)
    assert width >= 500
    assert [each for each in flaws if each.startswith("document-title: ")]
