"""The pages and the cookie, in a real browser: the sample's site in Chromium."""

import importlib
import itertools
import struct
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from urllib.parse import urlencode

import pytest
from selenium import webdriver
from selenium.common.exceptions import WebDriverException
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.expected_conditions import staleness_of
from selenium.webdriver.support.wait import WebDriverWait

from tests.docs.pages import PAGES, code
from tests.support.sites import EMAIL, PASSWORD, SECRET_KEY, USERNAME, serving
from wsgiauth import AuthMiddleware, storage
from wsgiauth.accounts import create_user

ARTEFACTS = Path(__file__).parents[1] / "artefacts"
FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
)
FORBIDDEN = "You do not have permission to open this page"
REFUSED = "The username and password do not match an active account."

# What only the server refuses, so that the form is sent.
ALL_WRONG = {"username": "Ada Lovelace", "email": "ada@", "password": "password"}


class Visitor:
    """A person at the browser, on the site at `address`."""

    def __init__(self, browser, address):
        self.browser = browser
        self.address = address

    def open(self, path):
        self.browser.get(self.address + path)

    def find(self, selector):
        return self.browser.find_element(By.CSS_SELECTOR, selector)

    def find_all(self, selector):
        return self.browser.find_elements(By.CSS_SELECTOR, selector)

    def value(self, name):
        return self.find(f"[name={name}]").get_attribute("value")

    def message_beside(self, name):
        field = self.find(f"[name={name}][aria-invalid=true]")
        return self.find(f"#{field.get_attribute('aria-describedby').split()[0]}").text

    def submit(self, *values):
        """Type into the focused field and those that follow it, and press Enter."""
        with self.leaving():
            self.browser.switch_to.active_element.send_keys(Keys.TAB.join(values), Keys.ENTER)

    def press(self, text):
        """Click the button or link called `text`, and wait for the page behind it."""
        with self.leaving():
            self.browser.find_element(By.XPATH, f"//button[.='{text}'] | //a[.='{text}']").click()

    def log_in(self, username=USERNAME, password=PASSWORD):
        self.open("/auth/login")
        self.submit(username, password)

    def register(self, username=USERNAME, email=EMAIL, password=PASSWORD):
        self.open("/auth/register")
        self.submit(username, email, password)

    def run(self, script, *arguments):
        return self.browser.execute_script(script, *arguments)

    def show(self, origin, html):
        """Open a page of `origin` that shows `html`."""
        self.browser.get(origin)
        self.run("document.body.innerHTML = arguments[0]", html)

    @contextmanager
    def leaving(self):
        page = self.find("html")
        yield
        self.wait_until(staleness_of(page))

    def wait_until(self, condition):
        # Between two pages the driver may answer with any error.
        wait = WebDriverWait(self.browser, 10, 0.02, ignored_exceptions=[WebDriverException])
        wait.until(condition)

    @property
    def path(self):
        return self.browser.current_url.removeprefix(self.address)

    @property
    def heading(self):
        return self.find("h1").text

    @property
    def focus(self):
        """The name of the focused field, or the text of the focused button or link."""
        element = self.browser.switch_to.active_element
        return element.get_attribute("name") or element.text


class Stage:
    """The app of a server that outlives the test: a browser is slow to let go of connections."""

    def __init__(self):
        self.app = None

    def __call__(self, environ, start_response):
        return self.app(environ, start_response)


def blank(environ, start_response):
    start_response("200 OK", [("Content-Type", "text/html")])
    return [b"<!doctype html><link rel=icon href=data:><title>Elsewhere</title>"]


@pytest.fixture(scope="module")
def sample(tmp_path_factory):
    """Return the sample's site, bare; importing it also opens a database."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SECRET_KEY", SECRET_KEY)
        patch.setenv("DATABASE_URL", f"sqlite:///{tmp_path_factory.mktemp('sample')}/accounts.db")
        return importlib.import_module("sample_wsgi").site


@pytest.fixture(scope="module")
def stage():
    return Stage()


@pytest.fixture(scope="module")
def address(stage):
    with serving(stage) as address:
        yield address


@pytest.fixture(scope="module")
def neighbour():
    """Serve another origin on the same host."""
    with serving(blank) as address:
        yield address


@pytest.fixture(scope="module")
def stranger(neighbour):
    """Return an origin that is another site."""
    return neighbour.replace("127.0.0.1", "localhost")


@pytest.fixture(scope="module")
def browser(chromium, tmp_path_factory, address, neighbour):
    """Start Chromium; it quits before the servers close, which wait for its connections."""
    options = webdriver.ChromeOptions()
    options.binary_location, driver = chromium
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    with webdriver.Chrome(options, webdriver.ChromeService(executable_path=driver)) as started:
        yield started


@pytest.fixture
def options():
    """Return settings that a test wants otherwise; it parametrizes this."""
    return {}


@pytest.fixture
def settings(settings, options):
    return replace(settings, **options)


@pytest.fixture
def site(sample, settings):
    yield AuthMiddleware(sample, settings)
    storage.discard_connection(storage.current())


@pytest.fixture
def visitor(browser, stage, address, site):
    stage.app = site
    browser.execute_cdp_cmd("Network.clearBrowserCookies", {})
    return Visitor(browser, address)


@pytest.fixture
def without_javascript(browser):
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    yield
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})


@pytest.fixture
def screen(browser):
    """Return a function that sets the screen's width and its colour scheme."""

    def be(width, scheme):
        browser.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False},
        )
        features = [
            {"name": "prefers-color-scheme", "value": scheme},
            {"name": "prefers-reduced-motion", "value": "reduce"},  # no picture between colours
        ]
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})

    yield be
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def test_who_opens_a_guarded_page_returns_to_it_after_logging_in(visitor, ada):
    visitor.open("/members?page=2")
    assert visitor.heading == "Log in"
    visitor.find("[name=username]").send_keys(USERNAME)
    visitor.find("[name=password]").send_keys(PASSWORD)
    visitor.press("Log in")
    assert (visitor.path, visitor.heading) == ("/members?page=2", "Members")


def test_the_page_asked_for_survives_a_wrong_password(visitor, ada):
    visitor.open("/members")
    visitor.submit(USERNAME, "wrong")
    visitor.submit(PASSWORD)
    assert visitor.path == "/members"


def test_a_wrong_password_is_told_beside_the_form(visitor, ada):
    visitor.log_in(password="wrong")
    message = visitor.find("main [role=alert]")
    assert (message.text, message.is_displayed()) == (REFUSED, True)
    assert visitor.find("[name=password]").get_attribute("aria-describedby") == "message"


def test_a_wrong_password_leaves_only_itself_to_be_typed_again(visitor, ada):
    visitor.log_in(password="wrong")
    assert visitor.value("username") == USERNAME
    assert visitor.value("password") == ""
    assert visitor.focus == "password"


def test_an_email_logs_in_too(visitor, ada):
    visitor.log_in(EMAIL)
    assert USERNAME in visitor.find("main").text


def test_who_registers_is_logged_in_and_returns_to_the_page_asked_for(visitor):
    visitor.open("/members")
    visitor.press("Create an account")
    visitor.submit(USERNAME, EMAIL, PASSWORD)
    assert (visitor.path, visitor.heading) == ("/members", "Members")


def test_what_is_wrong_with_a_registration_is_told_beside_each_field(visitor):
    visitor.register(**ALL_WRONG)
    assert "cannot contain spaces" in visitor.message_beside("username")
    assert "such as ada@example.org" in visitor.message_beside("email")
    assert "most common" in visitor.message_beside("password")


def test_a_name_that_is_taken_is_told_beside_its_field_alone(visitor, ada):
    visitor.register(username=USERNAME.upper(), email="grace@example.org")
    assert "taken" in visitor.message_beside("username")
    assert len(visitor.find_all("[aria-invalid=true]")) == 1


def test_a_refused_registration_keeps_all_but_the_password(visitor):
    visitor.register("Ada", "ada@", PASSWORD)
    assert visitor.value("username") == "Ada"
    assert visitor.value("email") == "ada@"
    assert visitor.value("password") == ""
    assert visitor.focus == "email"


def test_logging_out_ends_the_session(visitor, ada):
    visitor.log_in()
    cookie = visitor.browser.get_cookie("wsgiauth")
    visitor.press("Log out")
    assert "not logged in" in visitor.find("main").text
    visitor.browser.add_cookie(cookie)
    visitor.open("/members")
    assert visitor.heading == "Log in"


def test_who_is_logged_in_is_told_so_on_the_login_page(visitor, ada):
    visitor.log_in()
    visitor.open("/auth/login?next=/members")
    assert visitor.heading == "You are logged in"
    assert f"Your account is {USERNAME}." in visitor.find("main").text
    visitor.press("Continue")
    assert (visitor.path, visitor.heading) == ("/members", "Members")


def test_who_lacks_a_permission_switches_to_another_account(visitor, ada, settings):
    grace = create_user("Grace", "grace@example.org", PASSWORD, settings=settings)
    grace.grant("reports.publish")
    visitor.log_in()
    visitor.open("/reports")
    assert visitor.heading == FORBIDDEN
    visitor.press("Use another account")
    visitor.submit("Grace", PASSWORD)
    assert (visitor.path, visitor.heading) == ("/reports", "Reports")


def test_who_logs_out_on_the_login_page_can_log_in_to_the_page_asked_for(visitor, ada):
    visitor.log_in()
    visitor.open("/auth/login?next=/members")
    visitor.press("Log out")
    assert visitor.heading == "Log in"
    visitor.submit(USERNAME, PASSWORD)
    assert visitor.path == "/members"


def test_a_page_that_needs_a_permission_opens_with_its_grant(visitor, ada):
    visitor.log_in()
    visitor.open("/reports")
    assert (visitor.path, visitor.heading) == ("/reports", FORBIDDEN)
    ada.grant("reports.publish")
    visitor.open("/reports")
    assert visitor.heading == "Reports"


@pytest.mark.promise(16)
def test_the_cookie_is_hidden_from_scripts_and_other_sites(visitor, ada):
    visitor.log_in()
    cookie = visitor.browser.get_cookie("wsgiauth")
    assert (cookie["httpOnly"], cookie["sameSite"], cookie["secure"]) == (True, "Lax", False)
    assert (cookie["domain"], cookie["path"]) == ("127.0.0.1", "/")
    assert visitor.run("return document.cookie") == ""


@pytest.mark.promise(16)
@pytest.mark.parametrize("options", [pytest.param({"COOKIE_SECURE": "on"}, id="secure")])
def test_the_browser_takes_and_drops_the_secure_cookie(visitor, ada):
    visitor.log_in()
    (cookie,) = visitor.browser.get_cookies()
    assert (cookie["name"], cookie["secure"]) == ("__Host-wsgiauth", True)
    visitor.press("Log out")
    assert visitor.browser.get_cookies() == []


@pytest.mark.promise(16)
def test_a_second_cookie_of_our_name_makes_anonymous(visitor, ada):
    visitor.log_in()
    visitor.run("document.cookie = 'wsgiauth=planted; path=/members'")
    visitor.open("/members")
    assert visitor.path == "/auth/login?next=%2Fmembers"


(FETCH,) = code(PAGES["docs/endpoints.md"], "js")
LOG_IN_BY_FETCH = f"""
const [username, password, done] = arguments;
{FETCH.rstrip()}.then(
  async (answer) => done([answer.status, await answer.json(), document.cookie]));
"""


def test_a_script_of_the_site_logs_in_without_seeing_the_token(visitor, ada):
    visitor.open("/")
    log_in = partial(visitor.browser.execute_async_script, LOG_IN_BY_FETCH, USERNAME)
    status, refused, _ = log_in("wrong")
    assert (status, refused["code"]) == (401, "invalid_credentials")
    assert log_in(PASSWORD) == [200, {"detail": "Logged in.", "next": "/"}, ""]
    visitor.open("/members")
    assert visitor.heading == "Members"


LINK = "<a href='{}'>Go</a>"
FORM = "<form action='{}' method=post><button>Go</button></form>"


@pytest.mark.promise(17)
@pytest.mark.parametrize(
    ("origin", "bait"),
    [
        pytest.param("stranger", LINK, id="another site's link"),
        pytest.param("neighbour", LINK, id="another port's link"),
        pytest.param("neighbour", FORM, id="another port's form"),
    ],
)
def test_another_origin_logs_nobody_out(request, visitor, ada, origin, bait):
    visitor.log_in()
    logout = f"{visitor.address}/auth/logout"
    visitor.show(request.getfixturevalue(origin), bait.format(logout))
    visitor.press("Go")
    assert (visitor.path, visitor.heading) == ("/auth/logout", "This request was refused")
    visitor.open("/members")
    assert visitor.heading == "Members"


@pytest.mark.promise(17)
@pytest.mark.parametrize("origin", ["stranger", "neighbour"])
@pytest.mark.parametrize("path", ["/auth/login", "/auth/register"])
def test_another_origin_logs_nobody_in(request, visitor, origin, path):
    visitor.show(
        request.getfixturevalue(origin),
        f"<form action='{visitor.address}{path}' method=post>"
        f"<input name=username value='{USERNAME}'><input name=email value='{EMAIL}'>"
        f"<input name=password value='{PASSWORD}'><button>Go</button></form>",
    )
    visitor.press("Go")
    assert (visitor.path, visitor.heading) == (path, "This request was refused")
    assert visitor.browser.get_cookies() == []


@pytest.mark.promise(17)
@pytest.mark.parametrize(
    ("origin", "heading"),
    [
        pytest.param("address", "Members", id="own"),
        pytest.param("neighbour", "You are logged in", id="another port"),  # on the login page
    ],
)
def test_only_the_sites_own_form_posts_as_the_member(request, visitor, ada, origin, heading):
    visitor.log_in()
    members = f"{visitor.address}/members"
    visitor.show(request.getfixturevalue(origin), FORM.format(members))
    visitor.press("Go")
    assert visitor.heading == heading


@pytest.mark.promise(18)
@pytest.mark.parametrize(
    "wanted",
    [
        pytest.param("//{}/", id="without scheme"),
        pytest.param("/\\{}/", id="backslash"),
        pytest.param("/\t/{}/", id="tab"),
    ],
)
def test_a_link_to_the_login_page_leads_to_no_other_site(visitor, ada, stranger, wanted):
    wanted = wanted.format(stranger.removeprefix("http://"))
    visitor.open(f"/auth/login?{urlencode({'next': wanted})}")
    visitor.submit(USERNAME, PASSWORD)
    assert visitor.path == "/"


@pytest.mark.promise(18)
def test_a_form_that_was_tampered_with_leads_to_no_other_site(visitor, ada, stranger):
    visitor.open("/auth/login")
    visitor.run("document.forms[0].elements.next.value = arguments[0]", f"{stranger}/")
    visitor.submit(USERNAME, PASSWORD)
    assert visitor.path == "/"


def guess(visitor):
    """Log in wrongly until one has to wait; the first waits may be over before a page is open."""
    message = ""
    while "Try again" not in message:
        visitor.log_in(password="wrong")
        message = visitor.find("[role=alert]").text


def register_too_often(visitor):
    visitor.register()
    visitor.register("Grace", "grace@example.org")


def open_the_login_page_again(visitor):
    visitor.register()
    visitor.open("/auth/login?next=/reports")


PAGES = {
    "login": lambda visitor: visitor.open("/auth/login"),
    "login-refused": lambda visitor: visitor.log_in(password="wrong"),
    "login-throttled": guess,
    "logged-in": open_the_login_page_again,
    "register": lambda visitor: visitor.open("/auth/register"),
    "register-refused": lambda visitor: visitor.register(**ALL_WRONG),
    "register-throttled": register_too_often,
    "error": lambda visitor: visitor.open("/auth/nowhere"),
}
IMPATIENT = {
    "SITE_NAME": "Analytical Engines",
    "LOGIN_FAILURES_PER_ACCOUNT": 1,
    "REGISTRATIONS_PER_ADDRESS": 1,
}
impatient = pytest.mark.parametrize("options", [IMPATIENT], ids=["impatient"])
pages = pytest.mark.parametrize("page", PAGES)


@pytest.mark.promise(12)
@impatient
def test_who_guesses_too_often_is_told_to_wait_beside_the_form(visitor):
    guess(visitor)
    assert "Try again in" in visitor.find("main [role=alert]").text
    assert (visitor.value("username"), visitor.focus) == (USERNAME, "password")


@pytest.mark.promise(12)
@impatient
def test_who_registers_too_often_is_told_to_wait_beside_the_form(visitor):
    register_too_often(visitor)
    assert visitor.find("main [role=alert]").text.endswith("Try again in 60 minutes.")
    assert visitor.value("username") == "Grace"


@pytest.mark.promise(20)
@impatient
@pages
def test_the_browser_has_nothing_to_complain_about(visitor, page):
    visitor.browser.get_log("browser")
    PAGES[page](visitor)
    expected = (
        f"{visitor.browser.current_url} - Failed to load resource"  # its status is an error's
    )
    complaints = [entry["message"] for entry in visitor.browser.get_log("browser")]
    assert [each for each in complaints if not each.startswith(expected)] == []


@pytest.mark.promise(20)
def test_a_script_that_got_into_a_page_would_not_run(visitor):
    visitor.open("/auth/login")
    visitor.run(
        "const script = document.createElement('script');"
        "script.textContent = 'document.title = `run`';"
        "document.body.append(script)"
    )
    assert visitor.browser.title == "Log in"


@pytest.mark.promise(20)
def test_what_was_typed_stays_text(visitor):
    typed = '"><img src=x onerror="document.title=\'run\'">'
    visitor.log_in(username=typed)
    assert visitor.value("username") == typed
    assert visitor.find_all("img") == []


@pytest.mark.promise(20)
def test_no_page_can_be_framed(visitor, stranger):
    visitor.show(stranger, f"<iframe src='{visitor.address}/auth/login'></iframe>")
    visitor.wait_until(lambda browser: "frame-ancestors" in str(browser.get_log("browser")))


def test_everything_works_without_javascript(visitor, ada, without_javascript):
    visitor.open("/members")
    visitor.submit(USERNAME, "wrong")
    assert visitor.focus == "password"
    visitor.press("Create an account")
    visitor.submit("Grace", "grace@example.org", PASSWORD)
    assert visitor.path == "/members"
    visitor.press("Log out")
    assert "not logged in" in visitor.find("main").text


def test_the_tab_key_goes_from_field_to_field_to_button(visitor):
    visitor.open("/auth/login")
    order = [visitor.focus]
    for _ in range(3):
        visitor.browser.switch_to.active_element.send_keys(Keys.TAB)
        order.append(visitor.focus)
    assert order == ["username", "password", "Log in", "Create an account"]


def test_the_enter_key_works_on_the_button_too(visitor, ada):
    visitor.open("/members")
    visitor.submit(USERNAME, PASSWORD, "")
    assert visitor.path == "/members"


@impatient
@pages
def test_a_page_fits_its_screen_as_its_pictures_show(visitor, screen, page):
    ARTEFACTS.mkdir(exist_ok=True)
    PAGES[page](visitor)
    for width, scheme in itertools.product((320, 1200), ("light", "dark")):
        screen(width, scheme)
        assert visitor.run("return document.documentElement.scrollWidth") == width
        picture = visitor.browser.get_screenshot_as_png()
        (ARTEFACTS / f"{page}-{width}-{scheme}.png").write_bytes(picture)
        assert struct.unpack(">II", picture[16:24]) == (width, 900)
        assert len(picture) > 8_000
