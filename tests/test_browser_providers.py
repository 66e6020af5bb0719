"""Logins with another provider in Chromium: oidc-provider, at another site than ours."""

from dataclasses import replace

import pytest

from tests.support.browser import Visitor, start_browser
from tests.support.gallery import bare_sample
from tests.support.logins import make_stale
from tests.support.oidc_provider import oidc_provider
from tests.support.sites import Stage, serving
from wsgiauth import AuthMiddleware, User, storage


@pytest.fixture(scope="module")
def provider():
    """Serve the provider at localhost, which is another site than 127.0.0.1."""
    with oidc_provider() as started:
        yield started


@pytest.fixture(scope="module")
def sample(tmp_path_factory):
    return bare_sample(tmp_path_factory.mktemp("sample"))


@pytest.fixture(scope="module")
def stage():
    return Stage()


@pytest.fixture(scope="module")
def address(stage):
    with serving(stage) as address:
        yield address


@pytest.fixture(scope="module")
def browser(chromium, tmp_path_factory, address, provider):
    profile = f"--user-data-dir={tmp_path_factory.mktemp('profile')}"
    with start_browser(*chromium, profile) as started:
        yield started


@pytest.fixture
def parameters():
    """Return the parameters of the entry."""
    return {}


@pytest.fixture
def further():
    """Return further settings."""
    return {}


@pytest.fixture
def site(sample, settings, stage, address, provider, parameters, further):
    provider.configure(address)
    entry = provider.entry(**parameters)
    settings = replace(settings, OIDC_PROVIDERS=(entry,), PUBLIC_URL=address, **further)
    stage.app = AuthMiddleware(sample, settings)
    yield stage.app
    storage.discard_connection(stage.app.database)


@pytest.fixture
def visitor(browser, address, site):
    browser.execute_cdp_cmd("Network.clearBrowserCookies", {})
    return Visitor(browser, address)


@pytest.fixture
def at_provider(browser, provider, visitor):
    """Return the same person at the pages of the provider."""
    return Visitor(browser, provider.issuer)


@pytest.mark.promise(73)
def test_a_person_comes_by_a_provider_and_returns_and_keeps_a_way_in(visitor, at_provider):
    visitor.open("/members?page=2")
    visitor.press("Log in with Work")
    assert at_provider.heading == "Sign-in"
    at_provider.submit("grace", "any password")
    at_provider.press("Continue")
    assert (visitor.page, visitor.heading) == ("/auth/complete", "Create your account")
    assert visitor.value("username") == "grace"
    visitor.press("Create account")
    assert (visitor.path, visitor.heading) == ("/members?page=2", "Members")

    visitor.open("/auth/account")
    visitor.press("Accounts of other providers")
    assert visitor.shown(".entries .hint bdi") == ["grace@example.org"]

    visitor.open("/auth/account")
    visitor.press("Log out")
    visitor.press("Log in with Work")  # which does not ask again
    assert (visitor.path, visitor.heading) == ("/", "Welcome")

    visitor.open("/auth/identities")
    visitor.find("summary").click()
    visitor.press("Disconnect the account")
    assert "only way to log in" in visitor.shown("[role=alert]")[0]
    assert visitor.shown(".entries .hint bdi") == ["grace@example.org"]


@pytest.mark.promise(101)
@pytest.mark.parametrize("parameters", [{"register": "at_once"}], ids=[""])
def test_with_register_at_once_no_page_comes_between_the_provider_and_the_application(
    visitor, at_provider, browser
):
    visitor.open("/members?page=2")
    visitor.press("Log in with Work")
    at_provider.submit("joan", "any password")
    before = browser.execute_script("return history.length")
    at_provider.press("Continue")
    assert (visitor.path, visitor.heading) == ("/members?page=2", "Members")
    assert browser.execute_script("return history.length") == before + 1
    visitor.open("/auth/account")
    [notice] = visitor.shown("p.notice")
    assert notice == "Account created for joan@example.org. Not you? Close your account"
    visitor.open("/auth/account")
    assert not visitor.shown("p.notice")
    visitor.press("Close your account")
    visitor.press("Close the account permanently")
    assert User.select().where(User.username == "joan").count() == 0


def test_who_is_not_recently_logged_in_confirms_it_at_the_provider(visitor, at_provider):
    visitor.open("/auth/login")
    visitor.press("Log in with Work")
    at_provider.submit("ada", "any password")
    at_provider.press("Continue")
    visitor.press("Create account")
    make_stale()
    visitor.open("/auth/identities")
    assert visitor.heading == "Confirm that it is you"
    visitor.press("Continue with Work")
    assert at_provider.heading == "Sign-in"
    at_provider.submit("ada", "any password")
    assert visitor.path == "/auth/identities"


@pytest.mark.parametrize("parameters", [{"logout": "provider"}], ids=[""])
def test_a_logout_continues_at_the_provider(visitor, at_provider):
    visitor.open("/auth/login")
    visitor.press("Log in with Work")
    at_provider.submit("lin", "any password")
    at_provider.press("Continue")
    visitor.press("Create account")
    visitor.open("/auth/account")
    visitor.press("Log out")
    at_provider.press("Yes, sign me out")
    assert (visitor.path, visitor.heading) == ("/auth/login", "Log in")
    visitor.press("Log in with Work")
    assert at_provider.heading == "Sign-in"


@pytest.mark.parametrize("further", [{"PROVIDER_BUTTONS": "above"}], ids=[""])
def test_with_buttons_above_the_form_enter_still_sends_the_form(visitor, ada):
    visitor.open("/auth/login")
    assert visitor.find("main form button:not(.unseen)").text == "Log in with Work"
    visitor.log_in()
    assert (visitor.path, visitor.heading) == ("/", "Welcome")
    visitor.open("/auth/account")
    visitor.press("Log out")
    visitor.open("/auth/register")
    assert visitor.find("main form button").text == "Continue with Work"
    visitor.register("Eve", "eve@example.org")
    assert (visitor.path, visitor.heading) == ("/", "Welcome")


def test_who_cancels_at_the_provider_can_try_again(visitor, at_provider):
    visitor.open("/auth/login")
    visitor.press("Log in with Work")
    at_provider.press("[ Cancel ]")
    visitor.press("Back to the login page")
    assert visitor.path == "/auth/login"


@pytest.fixture
def tabs(browser):
    """Return the handles of two tabs, of which the first is open; the second one is closed."""
    first = browser.current_window_handle
    browser.switch_to.new_window("tab")
    second = browser.current_window_handle
    browser.switch_to.window(first)
    yield first, second
    browser.switch_to.window(second)
    browser.close()
    browser.switch_to.window(first)


@pytest.mark.promise(69)
def test_two_tabs_that_log_in_at_once_each_end_where_they_began(
    visitor, at_provider, browser, tabs
):
    for number, tab in enumerate(tabs):
        browser.switch_to.window(tab)
        visitor.open(f"/members?page={number}")
        visitor.press("Log in with Work")
        assert at_provider.heading == "Sign-in"
    at_provider.submit("ann", "any password")
    at_provider.press("Continue")
    visitor.press("Create account")
    assert (visitor.path, visitor.heading) == ("/members?page=1", "Members")
    browser.switch_to.window(tabs[0])
    at_provider.submit("ann", "any password")
    assert (visitor.path, visitor.heading) == ("/members?page=0", "Members")
