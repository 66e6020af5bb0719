"""Chromium, and a person at it or at another browser."""

from contextlib import contextmanager
from tempfile import TemporaryDirectory

from selenium import webdriver
from selenium.common.exceptions import WebDriverException
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.common.virtual_authenticator import VirtualAuthenticatorOptions
from selenium.webdriver.support.expected_conditions import staleness_of
from selenium.webdriver.support.wait import WebDriverWait

from tests.support.leftovers import script_ending_with_parent
from tests.support.sites import EMAIL, PASSWORD, USERNAME, Stage, free_port, serving

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
SCHEMES = ("light", "dark")
# A clock of the page that only `pass` moves.
CLOCK = """
    let now = 1_800_000_000_000;
    const ticks = [];
    Date.now = () => now;
    window.setInterval = (tick) => ticks.push(tick);
    window.clearInterval = (number) => delete ticks[number - 1];
    window.pass = (seconds) => { now += 1000 * seconds; ticks.forEach((tick) => tick()); };
    window.count = () => Object.keys(ticks).length;
"""
# A passkey is then used by a button only: the device would answer a question among the names at
# once.
BY_BUTTON = "PublicKeyCredential.isConditionalMediationAvailable = async () => false"


def start_browser(binary, driver, *flags):
    """Return a running Chromium, which quits at the end of its `with` block."""
    options = webdriver.ChromeOptions()
    for flag in (*FLAGS, *flags):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    with TemporaryDirectory() as folder:  # of what is needed until the browser runs
        options.binary_location = script_ending_with_parent(binary, folder)
        driver = script_ending_with_parent(driver, folder)
        service = webdriver.ChromeService(executable_path=driver, port=free_port())
        browser = webdriver.Chrome(options, service)
    browser.set_script_timeout(300)  # seconds
    return browser


@contextmanager
def on_stage(chromium, folder):
    """Serve a stage, and start Chromium for it; yields the stage, its address and the browser.

    The browser quits before the server closes, which waits for its connections. The address is of
    localhost, because browsers have passkeys there, and at no IP address.
    """
    stage = Stage()
    with (
        serving(stage) as address,
        start_browser(*chromium, f"--user-data-dir={folder}") as browser,
    ):
        yield stage, address.replace("127.0.0.1", "localhost"), browser


@contextmanager
def running_first(browser, source):
    """Run a script in each page before its own."""
    command = "Page.addScriptToEvaluateOnNewDocument"
    added = browser.execute_cdp_cmd(command, {"source": source})
    yield
    browser.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", added)


@contextmanager
def with_authenticator(browser):
    """Put an authenticator into the browser, whose user is verified by a finger.

    It answers at once, also the question of the login page among the names.
    """
    options = VirtualAuthenticatorOptions(
        protocol="ctap2",
        transport="internal",
        has_resident_key=True,
        has_user_verification=True,
        is_user_verified=True,
    )
    browser.add_virtual_authenticator(options)
    yield browser
    browser.remove_virtual_authenticator()


def set_screen(browser, width, height=900, scale=1):
    """Set the size of the screen in CSS pixels, and the device pixels in each of them."""
    size = {"width": width, "height": height, "deviceScaleFactor": scale, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)


def set_scheme(browser, scheme):
    """Let pages be light or dark, without a transition between the two."""
    features = [
        {"name": "prefers-color-scheme", "value": scheme},
        {"name": "prefers-reduced-motion", "value": "reduce"},
    ]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})


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

    def shown(self, selector):
        """Return the texts of the elements that a person sees."""
        return [each.text for each in self.find_all(selector) if each.is_displayed()]

    def value(self, name):
        return self.find(f"[name={name}]").get_attribute("value")

    def message_beside(self, name):
        field = self.find(f"[name={name}][aria-invalid=true]")
        return self.find(f"#{field.get_attribute('aria-describedby').split()[0]}").text

    def submit(self, *values):
        """Type into the focused field and those that follow it, and press Enter.

        A complete code needs no Enter where a script sends it.
        """
        self.wait_until(lambda _: self._focused.tag_name == "input")
        *others, last = values
        for value in others:
            self._focused.send_keys(value, Keys.TAB)
            while self._focused.tag_name == "button":  # shows what was typed before it
                self._focused.send_keys(Keys.TAB)
        with self.leaving():
            enter = () if self._sends_itself(last) else (Keys.ENTER,)
            self._focused.send_keys(last, *enter)

    def _sends_itself(self, code):
        field = self._focused
        text = field.get_attribute("data-sends")
        is_running = text is not None and self.shown(f"#{field.get_attribute('id')}-hint") == [text]
        digits = code.replace(" ", "")
        return (
            is_running
            and digits.isdigit()
            and len(digits) == int(field.get_attribute("data-digits"))
        )

    def press(self, text):
        """Click the button or link called `text`, and wait for the page behind it."""
        with self.leaving():
            own = f"normalize-space()='{text}'"
            path = f"//button[{own}] | //a[{own} or strong='{text}']"
            self.browser.find_element(By.XPATH, path).click()

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
        # Not every driver waits for a page to which the Enter key leads.
        self.wait_until(lambda _: self.run("return document.readyState") == "complete")

    def wait_until(self, condition):
        # Between two pages the driver may answer with any error.
        wait = WebDriverWait(self.browser, 60, 0.02, ignored_exceptions=[WebDriverException])
        wait.until(condition)

    @property
    def path(self):
        return self.browser.current_url.removeprefix(self.address)

    @property
    def page(self):
        """The path without its query."""
        return self.path.partition("?")[0]

    @property
    def heading(self):
        return self.find("h1").text

    @property
    def focus(self):
        """The name of the focused field, or the text of the focused button or link."""
        return self._focused.get_attribute("name") or self._focused.text

    @property
    def _focused(self):
        return self.browser.switch_to.active_element
