"""What each way in takes of a person: pages, fields, presses and touches, in Chromium.

`pytest -s` prints a table. Its seconds are those of the browser and the server, without the time in
which a person reads and types. Only the counts are promised: see `WAYS`.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import NamedTuple

import pytest

from tests.conftest import insert_user
from tests.support.browser import (
    BY_BUTTON,
    Visitor,
    running_first,
    start_browser,
    with_authenticator,
)
from tests.support.gallery import bare_sample
from tests.support.mails import MAIL
from tests.support.sites import EMAIL, PASSWORD, USERNAME, Stage, serving
from wsgiauth import AuthMiddleware, storage
from wsgiauth.accounts import update_user
from wsgiauth.accounts.models import verified_by_operator
from wsgiauth.testing import mailbox

MEMBERS = "/members"  # of the application; anonymous clients are sent to the login page
REGISTRATION = f"/auth/register?next={MEMBERS}"


class Counts(NamedTuple):
    """What a way takes, up to the first page of the application.

    Attributes:
        pages: That the person sees before it.
        fields: That they fill in.
        presses: Of buttons.
        touches: Of an authenticator.
        emails: That they look for.
    """

    pages: int = 0
    fields: int = 0
    presses: int = 0
    touches: int = 0
    emails: int = 0


class Person:
    """A person on the way to the application, of whom each step is counted."""

    def __init__(self, visitor: Visitor, site: AuthMiddleware) -> None:
        self.counts = Counts()
        self._visitor = visitor
        self._site = site

    def open(self, path):
        self._visitor.open(path)
        self._count(pages=1)

    def fill_in(self, **fields):
        for name, value in fields.items():
            self._visitor.find(f"[name={name}]").send_keys(value)
        self._count(fields=len(fields))

    def press(self, text):
        self._visitor.press(text)
        self._count(presses=1, pages=self._visitor.page != MEMBERS)

    def touch(self, text):
        """Press the button that asks for a passkey, and touch the authenticator."""
        self.press(text)
        self._count(touches=1)

    def open_link(self):
        (*_, link) = mailbox(self._site).links
        self._count(emails=1)
        self.open(link.removeprefix(self._visitor.address))

    def fill_in_code(self):
        (*_, code) = mailbox(self._site).codes
        self._count(emails=1)
        with self._visitor.leaving():  # the last digit sends it
            self.fill_in(code=code)
        self._count(pages=self._visitor.page != MEMBERS)

    def _count(self, **steps):
        counted = {name: getattr(self.counts, name) + number for name, number in steps.items()}
        self.counts = self.counts._replace(**counted)


class Way(NamedTuple):
    """A way into the application.

    Attributes:
        walk: What the person does.
        counts: What it takes.
        settings: What the site has turned on.
        prepare: What was there before.
    """

    walk: Callable[[Person], None]
    counts: Counts
    settings: Mapping[str, object] = MappingProxyType({})
    prepare: Callable[[Visitor], None] = lambda _: None


def register(person):
    person.open(REGISTRATION)
    person.fill_in(username=USERNAME, email=EMAIL, password=PASSWORD)
    person.press("Create account")


def register_without_a_username(person):
    person.open(REGISTRATION)
    person.fill_in(email=EMAIL, password=PASSWORD)
    person.press("Create account")


def register_by_a_link(person):
    person.open(REGISTRATION)
    person.fill_in(username=USERNAME, email=EMAIL)
    person.press("Send the link")
    person.open_link()
    person.fill_in(password=PASSWORD)
    person.press("Create account")


def register_by_a_link_without_a_username(person):
    person.open(REGISTRATION)
    person.fill_in(email=EMAIL)
    person.press("Send the link")
    person.open_link()
    person.fill_in(password=PASSWORD)
    person.press("Create account")


def register_by_a_code(person):
    person.open(REGISTRATION)
    person.fill_in(email=EMAIL)
    person.press("Send the email")
    person.fill_in_code()


def register_by_a_passkey(person):
    person.open(REGISTRATION)
    person.fill_in(email=EMAIL)
    person.touch("Use a passkey instead of a password")
    person.press("Continue")


def register_by_a_passkey_alone(person):
    person.open(REGISTRATION)
    person.fill_in(email=EMAIL)
    person.touch("Create account with a passkey")
    person.press("Continue")


def log_in_by_a_password(person):
    person.open(MEMBERS)
    person.fill_in(username=EMAIL, password=PASSWORD)
    person.press("Log in")


def log_in_by_a_code(person):
    person.open(MEMBERS)
    person.fill_in(username=EMAIL)
    person.press("Email me a code")
    person.fill_in_code()


def log_in_by_a_passkey(person):
    person.open(MEMBERS)
    person.touch("Log in with a passkey")


def have_account(visitor):
    ada = insert_user(USERNAME, EMAIL)
    update_user(ada, **verified_by_operator(ada))


def have_passkey(visitor):
    have_account(visitor)
    visitor.log_in()
    visitor.open("/auth/passkeys")
    visitor.press("Add a passkey")
    visitor.browser.execute_cdp_cmd("Network.clearBrowserCookies", {})


WITHOUT_USERNAMES = {"USERNAMES": False}
WITH_LINKS = {"VERIFICATION": True}
WITH_CODES = {"LOGIN_CODES": True}
WITH_PASSKEYS = {"PASSKEYS": True}
WAYS = {
    "registration": Way(register, Counts(pages=1, fields=3, presses=1)),
    "registration, USERNAMES=off": Way(
        register_without_a_username, Counts(pages=1, fields=2, presses=1), WITHOUT_USERNAMES
    ),
    "registration, VERIFICATION": Way(
        register_by_a_link, Counts(pages=3, fields=3, presses=2, emails=1), WITH_LINKS
    ),
    "registration, VERIFICATION, USERNAMES=off": Way(
        register_by_a_link_without_a_username,
        Counts(pages=3, fields=2, presses=2, emails=1),
        WITH_LINKS | WITHOUT_USERNAMES,
    ),
    "registration by code": Way(
        register_by_a_code,
        Counts(pages=2, fields=2, presses=1, emails=1),
        WITH_LINKS | WITHOUT_USERNAMES | WITH_CODES,
    ),
    "registration by passkey": Way(
        register_by_a_passkey,
        Counts(pages=2, fields=1, presses=2, touches=1),
        WITHOUT_USERNAMES | WITH_PASSKEYS,
    ),
    "registration by passkey, PASSWORD_LOGIN=off": Way(
        register_by_a_passkey_alone,
        Counts(pages=2, fields=1, presses=2, touches=1),
        WITHOUT_USERNAMES | WITH_PASSKEYS | WITH_CODES | {"PASSWORD_LOGIN": False},
    ),
    "login by password": Way(
        log_in_by_a_password, Counts(pages=1, fields=2, presses=1), prepare=have_account
    ),
    "login by password, USERNAMES=off": Way(
        log_in_by_a_password,
        Counts(pages=1, fields=2, presses=1),
        WITHOUT_USERNAMES,
        prepare=have_account,
    ),
    "login by code": Way(
        log_in_by_a_code,
        Counts(pages=2, fields=2, presses=1, emails=1),
        WITH_CODES,
        prepare=have_account,
    ),
    "login by passkey": Way(
        log_in_by_a_passkey,
        Counts(pages=1, presses=1, touches=1),
        WITH_PASSKEYS,
        prepare=have_passkey,
    ),
}


@pytest.fixture(scope="module")
def sample(tmp_path_factory):
    return bare_sample(tmp_path_factory.mktemp("sample"))


@pytest.fixture(scope="module")
def stage():
    return Stage()


@pytest.fixture(scope="module")
def address(stage):
    """Serve the stage; browsers have passkeys at localhost, and at no IP address."""
    with serving(stage) as address:
        yield address.replace("127.0.0.1", "localhost")


@pytest.fixture(scope="module")
def browser(chromium, tmp_path_factory, address):
    profile = f"--user-data-dir={tmp_path_factory.mktemp('profile')}"
    with start_browser(*chromium, profile) as started, with_authenticator(started):
        yield started


@pytest.fixture(scope="module")
def table():
    """Return a list for the rows of the table, which is printed at last."""
    rows = []
    yield rows
    headings = ("way", *Counts._fields, "seconds")
    rows = [headings, *sorted(rows, key=lambda row: [*WAYS].index(row[0]))]
    print()
    for title, *numbers in rows:
        print(f"{title:45}", *(f"{each:>8}" for each in numbers))


@pytest.fixture
def settings(settings, address, way):
    mail = {**MAIL, "MAIL_URL": "memory:", "PUBLIC_URL": address}
    return replace(settings, **mail, **WAYS[way].settings)


@pytest.fixture
def site(sample, settings, stage):
    stage.app = AuthMiddleware(sample, settings)
    yield stage.app
    storage.discard_connection(stage.app.database)


@pytest.fixture
def visitor(browser, address, site):
    browser.execute_cdp_cmd("Network.clearBrowserCookies", {})
    browser.remove_all_credentials()
    with running_first(browser, BY_BUTTON):
        yield Visitor(browser, address)


@pytest.mark.parametrize("way", WAYS)
def test_a_way_in_takes_no_more_than_it_promises(way, visitor, site, table):
    walk, counts, _, prepare = WAYS[way]
    prepare(visitor)
    mailbox(site)  # what was sent before
    person = Person(visitor, site)
    begun = time.perf_counter()
    walk(person)
    seconds = time.perf_counter() - begun
    table.append((way, *person.counts, f"{seconds:.2f}"))
    assert (visitor.path, visitor.heading) == (MEMBERS, "Members")
    assert person.counts == counts
