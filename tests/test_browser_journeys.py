"""Journeys through the pages, as a person walks them in Chromium on a site with everything on.

Each counts the screens that the person sees, also the last one, the fields that they fill in or
tick, and their clicks, also that on the link in an email. No journey may need more than it does
today: see `JOURNEYS`. The counts, and the seconds of the browser and the server, without the time
in which a person reads and types, are written to `artefacts/journeys.txt`.
"""

import fcntl
import time
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urljoin

import pytest
from webtest import TestApp

from tests.support.browser import (
    BY_BUTTON,
    CLOCK,
    Visitor,
    on_stage,
    running_first,
    with_authenticator,
)
from tests.support.factors import FACTOR_KEY, App, add_app
from tests.support.gallery import SAFARI, bare_sample, log_in
from tests.support.mails import MAIL, Clock
from tests.support.oauth_apps import App as OAuthApp
from tests.support.oauth_apps import as_provider
from tests.support.outages import database_away
from tests.support.service_keys import write_key
from tests.support.sites import BROWSER, EMAIL, PASSWORD, USERNAME, Stage, serving
from tests.support.wiki import CALLBACK, Wiki
from wsgiauth import AuthMiddleware, User, storage
from wsgiauth.accounts import update_user
from wsgiauth.accounts.models import verified_by_operator
from wsgiauth.testing import mailbox
from wsgiauth.throttling.throttle import Throttle

TABLE = Path(__file__).parents[1] / "artefacts" / "journeys.txt"
NEW_PASSWORD = "another unrelated phrase"
EVERYTHING = {
    **MAIL,
    "MAIL_URL": "memory:",
    "FACTOR_KEY": FACTOR_KEY,
    "LOGIN_CODES": True,
    "PASSKEYS": True,
    "VERIFICATION": True,
    "OIDC_PROVIDERS": (
        "google:https://id:secret@accounts.google.com",
        "work:https://id:secret@login.example.org",
    ),
}
BY_A_LINK = {"LOGIN_CODES": False}  # with which a newcomer would get a code instead


class Counts(NamedTuple):
    """What a journey takes of a person."""

    screens: int = 0
    fields: int = 0
    clicks: int = 0


JOURNEYS = {
    "register by an emailed link": Counts(screens=5, fields=3, clicks=4),
    "log in by password, everything on": Counts(screens=2, fields=3, clicks=1),
    "log in by an emailed code": Counts(screens=3, fields=2, clicks=1),
    "log in with an authenticator app": Counts(screens=3, fields=3, clicks=1),
    "set up an authenticator app": Counts(screens=6, fields=1, clicks=5),
    "add a passkey and log in with it": Counts(screens=9, fields=1, clicks=9),
    "choose a new password": Counts(screens=6, fields=3, clicks=5),
    "revoke a strange session": Counts(screens=3, fields=0, clicks=2),
    "allow an app and revoke it": Counts(screens=6, fields=2, clicks=5),
    "connect a device": Counts(screens=4, fields=3, clicks=3),
    "help a user, and read the trail": Counts(screens=7, fields=2, clicks=7),
    "try again after a wait and an outage": Counts(screens=6, fields=4, clicks=4),
}


class Journey:
    """A person at the browser, of whom each screen, field and click is counted."""

    def __init__(self, visitor):
        self.counts = Counts()
        self._visitor = visitor

    def open(self, url):
        """Open a page by its URL, or by its path on the site."""
        self._visitor.browser.get(urljoin(self._visitor.address, url))
        self._count(screens=1)

    def open_link(self, url):
        """Click on a link in an email."""
        self.open(url)
        self._count(clicks=1)

    def fill_in(self, **fields):
        for name, value in fields.items():
            field = self._visitor.find(f"[name={name}]:not([type=hidden])")
            field.clear()
            field.send_keys(value)
        self._count(fields=len(fields))

    def choose(self, name, text):
        """Choose an option of a list."""
        path = f"select[name={name}] option"
        next(each for each in self._visitor.find_all(path) if each.text == text).click()
        self._count(fields=1)

    def tick(self, name):
        self._visitor.find(f"[name={name}]").click()
        self._count(fields=1)

    def press(self, text):
        """Click on a button or link that leads to another screen."""
        self._visitor.press(text)
        self._count(clicks=1, screens=1)

    def unfold(self, text):
        """Click on what opens a part of the same screen."""
        folds = self._visitor.find_all("summary")
        next(each for each in folds if each.text == text).click()
        self._count(clicks=1)

    def type_code(self, code):
        """Type a code that its last digit sends."""
        with self._visitor.leaving():
            self.fill_in(code=code)
        self._count(screens=1)

    def _count(self, **steps):
        counted = {name: getattr(self.counts, name) + number for name, number in steps.items()}
        self.counts = self.counts._replace(**counted)


@pytest.fixture(scope="session")
def table():
    """Return a dictionary for the lines of the table, which is written at last."""
    lines = {}
    yield lines
    TABLE.parent.mkdir(exist_ok=True)
    with TABLE.open("a+", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)  # processes share the journeys, and keep others' lines
        file.seek(0)
        kept = {line[:40].rstrip(): line.rstrip("\n") for line in file}
        kept["journey"] = line_of("journey", *Counts._fields, "seconds")
        lines = kept | lines
        file.truncate(0)
        file.writelines(f"{lines[name]}\n" for name in ("journey", *JOURNEYS) if name in lines)


def line_of(name, *values):
    return f"{name:40}" + "".join(f"{each:>9}" for each in values)


@pytest.fixture
def begin(visitor, table):
    """Return a context in which a person is on a journey, which may take no more than today."""

    @contextmanager
    def begin(name):
        journey, begun = Journey(visitor), time.perf_counter()
        yield journey
        seconds = time.perf_counter() - begun
        table[name] = line_of(name, *journey.counts, f"{seconds:.2f}")
        allowed = JOURNEYS[name]
        assert all(map(int.__le__, journey.counts, allowed)), (journey.counts, allowed)

    return begin


@pytest.fixture(scope="module")
def sample(tmp_path_factory):
    return bare_sample(tmp_path_factory.mktemp("sample"))


@pytest.fixture(scope="module")
def scene(chromium, tmp_path_factory):
    """Return the stage of the site, its address, and the browser."""
    with on_stage(chromium, tmp_path_factory.mktemp("profile")) as scene:
        yield scene


@pytest.fixture(scope="module")
def app_stage(scene):
    """Serve the pages of an app at 127.0.0.1, which is another site than localhost."""
    stage = Stage()
    with serving(stage) as stage.address:
        yield stage


@pytest.fixture
def options():
    """Return settings that a journey wants otherwise; it parametrizes this."""
    return {}


@pytest.fixture
def settings(settings, scene, options, tmp_path):
    _stage, address, _browser = scene
    everything = {**EVERYTHING, "PUBLIC_URL": address}
    return as_provider(settings, write_key(tmp_path / "key"), **everything | options)


@pytest.fixture
def clock(monkeypatch):
    """Return the clock of the throttle, which stands still until it is moved."""
    clock = Clock(int(time.time()))
    monkeypatch.setattr("wsgiauth.site.Throttle", partial(Throttle, clock=clock))
    return clock


@pytest.fixture
def site(sample, settings, scene, clock):
    stage, *_ = scene
    stage.app = AuthMiddleware(sample, settings)
    mailbox(stage.app)
    yield stage.app
    storage.discard_connection(stage.app.database)


@pytest.fixture
def ada(ada):
    """Return a user whose email address is proven."""
    update_user(ada, **verified_by_operator(ada))
    return ada


@pytest.fixture
def visitor(scene, site):
    _stage, address, browser = scene
    browser.execute_cdp_cmd("Network.clearBrowserCookies", {})
    with running_first(browser, BY_BUTTON):
        yield Visitor(browser, address)


@pytest.fixture
def device(visitor):
    with with_authenticator(visitor.browser):
        yield


@pytest.mark.parametrize("options", [BY_A_LINK], ids=[""])
def test_a_newcomer_registers_by_an_emailed_link(begin, visitor, site):
    with begin("register by an emailed link") as person:
        person.open("/auth/register")
        person.fill_in(username=USERNAME, email=EMAIL)
        person.press("Send the link")
        person.open_link(mailbox(site).links[-1])
        person.fill_in(password=PASSWORD)
        person.press("Create account")
        person.press(USERNAME)
    assert visitor.heading == "Your account"
    assert visitor.shown("[role=status] strong") == ["Your account is ready."]


def test_a_password_logs_in_among_all_other_ways(begin, visitor, ada):
    with begin("log in by password, everything on") as person:
        person.open("/auth/login")
        ways = visitor.shown("main form button")
        person.fill_in(username=USERNAME, password=PASSWORD)
        person.tick("remember")
        person.press("Log in")
    assert visitor.heading == "Welcome"
    assert visitor.browser.get_cookie("wsgiauth")["expiry"]
    assert ways == [
        "Show",
        "Log in",
        "Log in with a passkey",
        "Email me a code",
        "Log in with Google",
        "Log in with Work",
    ]


def test_an_emailed_code_logs_in_with_its_last_digit(begin, visitor, site, ada):
    with begin("log in by an emailed code") as person:
        person.open("/auth/login")
        person.fill_in(username=EMAIL)
        person.press("Email me a code")
        person.type_code(mailbox(site).codes[-1])
    assert visitor.heading == "Welcome"


def test_a_password_and_the_code_of_an_app_log_in(begin, visitor, site, ada):
    app = add_app(site, ada)
    with begin("log in with an authenticator app") as person:
        person.open("/auth/login")
        person.fill_in(username=USERNAME, password=PASSWORD)
        person.press("Log in")
        assert visitor.heading == "Enter a code"
        person.type_code(app.code())
    assert visitor.heading == "Welcome"


def test_an_authenticator_app_is_set_up_by_its_key(begin, visitor, site, ada):
    visitor.log_in()
    with begin("set up an authenticator app") as person:
        person.open("/auth/account")
        person.press("Two-step verification")
        person.press("Add an app")
        app = App(visitor.find("#key").text.replace(" ", ""), site)
        person.fill_in(code=app.code())
        person.press("Confirm")
        person.press("Create recovery codes")
        assert len(visitor.shown(".codes code")) == 10
        person.press("I have saved them")
    assert visitor.heading == "Your account"


@pytest.mark.usefixtures("device")
def test_a_passkey_is_added_renamed_and_used(begin, visitor, ada):
    visitor.log_in()
    with begin("add a passkey and log in with it") as person:
        person.open("/auth/account")
        person.press("Passkeys")
        person.press("Add a passkey")
        person.press("Your account")
        person.press("Passkeys")
        person.unfold("Rename")
        person.fill_in(name="Laptop")
        person.press("Save")
        assert visitor.find("h2").text == "Laptop"
        person.press("Your account")
        person.press("Log out")
        person.press("Log in with a passkey")
    assert visitor.heading == "Welcome"


def test_a_forgotten_password_is_replaced(begin, visitor, site, ada):
    with begin("choose a new password") as person:
        person.open("/auth/login")
        person.press("Forgot it?")
        person.fill_in(username=USERNAME)
        person.press("Send the link")
        person.open_link(mailbox(site).links[-1])
        person.fill_in(password=NEW_PASSWORD)
        person.press("Change password")
        assert visitor.value("username") == USERNAME
        person.fill_in(password=NEW_PASSWORD)
        person.press("Log in")
    assert visitor.heading == "Welcome"


def test_a_strange_session_is_revoked(begin, visitor, site, ada):
    stranger = TestApp(site, extra_environ={"HTTP_USER_AGENT": SAFARI})
    log_in(stranger, USERNAME, PASSWORD)
    visitor.log_in()
    with begin("revoke a strange session") as person:
        person.open("/auth/account")
        person.press("Where you are logged in")
        assert len(visitor.shown(".entries h2")) == 2
        person.press("Revoke")
    assert len(visitor.shown(".entries h2")) == 1
    assert stranger.get("/members", headers=BROWSER).status_code == 302


def test_an_app_is_allowed_and_revoked(begin, visitor, app_stage, site, ada):
    pages = app_stage.app = Wiki()
    pages.site_url = visitor.address
    uri = app_stage.address + CALLBACK
    pages.parameters = OAuthApp(site, uri=uri).parameters()
    with begin("allow an app and revoke it") as person:
        person.open(app_stage.address)
        person.press("Begin by a form")
        person.fill_in(username=USERNAME, password=PASSWORD)
        person.press("Log in")
        assert visitor.heading == "Log in to Wiki"
        person.press("Allow")
        assert visitor.heading == "Wiki"
        person.open("/auth/apps")
        person.unfold("Revoke")
        person.press("Revoke the app")
    assert "No app uses your account." in visitor.shown("main p")


def test_a_device_is_connected_by_its_code(begin, visitor, site, ada):
    television = OAuthApp(site, "TV", "com.example.tv:/unused", is_public=True)
    fields = {"client_id": television.id, "scope": "openid profile"}
    codes = television.program.post("/auth/oauth/device", fields).json
    with begin("connect a device") as person:
        person.open(codes["verification_uri"])
        person.fill_in(username=USERNAME, password=PASSWORD)
        person.press("Log in")
        person.fill_in(user_code=codes["user_code"])
        person.press("Continue")
        person.press("Allow")
    assert visitor.shown("[role=status]")[0].startswith("The device has been allowed.")


def test_staff_help_a_user_and_read_the_trail(begin, visitor, site, ada, grace):
    update_user(ada, is_staff=True, is_superuser=True)
    update_user(grace, **verified_by_operator(grace))
    log_in(TestApp(site), "Grace", "forgotten")
    visitor.log_in()
    with begin("help a user, and read the trail") as person:
        person.open("/auth/admin/users")
        person.fill_in(q="grace")
        person.press("Search")
        person.press("Grace")
        assert visitor.shown("[aria-labelledby=help] h2") == ["Help this person"]
        assert visitor.find("[aria-labelledby=help] button").text == "Send a password reset link"
        person.press("Send a password reset link")
        person.press("All events of this user")
        person.unfold("Filters")
        person.choose("name", "Link sent")
        person.press("Show")
        assert len(visitor.shown(".chips a")) == 2
        person.press("Event: Link sent")
    assert len(visitor.shown(".chips a")) == 1
    assert mailbox(site)[-1]["To"] == grace.email


@pytest.mark.parametrize("options", [{"LOGIN_FAILURES_PER_ACCOUNT": 1}], ids=[""])
def test_a_wait_and_an_outage_end(begin, visitor, site, ada, clock, monkeypatch):
    for seconds in (1, 2, 4, 8, 0):  # each wait is twice as long
        log_in(TestApp(site), USERNAME, "wrong")
        clock.move(seconds)
    with (
        running_first(visitor.browser, CLOCK),
        begin("try again after a wait and an outage") as person,
    ):
        person.open("/auth/login")
        person.fill_in(username=USERNAME, password=PASSWORD)
        person.press("Log in")
        for seconds, said in (
            (0, "Try again in 16 seconds."),
            (6, "Try again in 10 seconds."),
            (10, "You can try again now."),
        ):
            visitor.run("pass(arguments[0])", seconds)
            assert visitor.find("#message").text.endswith(said)
            clock.move(seconds)
        person.fill_in(password=PASSWORD)
        person.press("Log in")
        person.open("/auth/username")
        with database_away(monkeypatch):
            person.fill_in(username="Countess")
            person.press("Change username")
            assert visitor.heading == "Accounts are not available at the moment"
        person.press("Try again")
    assert visitor.heading == "Your account"
    assert User.get(User.id == ada.id).username == "Countess"
