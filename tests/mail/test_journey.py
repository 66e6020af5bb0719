"""The life of an account in Chromium, with the mails that a real mail server received."""

from dataclasses import replace

import pytest
from selenium.webdriver.support.wait import WebDriverWait

from tests.support.browser import Visitor, start_browser
from tests.support.gallery import bare_sample
from tests.support.mail_servers import mail_server
from tests.support.sites import EMAIL, PASSWORD, USERNAME, serving
from wsgiauth import AuthMiddleware, User, storage
from wsgiauth.mail.letters import plain_text_of

NEW_EMAIL = "lovelace@example.net"
NEW_PASSWORD = "other unrelated birds"


class Inbox:
    """The mails that the mail server received, read in their order."""

    def __init__(self, received):
        self._received = received
        self._read = 0

    def next(self):
        """Wait for the next mail, and return its recipient, its subject and its text."""
        WebDriverWait(self._received, 60, 0.02).until(lambda it: len(it.envelopes) > self._read)
        message = self._received.messages[self._read]
        self._read += 1
        return message["To"], message["Subject"], plain_text_of(message)


@pytest.fixture
def journey(chromium, tmp_path, settings):
    """Return a person at a site that sends mails, and what their mailbox has."""
    sample = bare_sample(tmp_path)
    current = []
    with (
        mail_server() as (port, received),
        serving(lambda *request: current[0](*request)) as address,
        start_browser(*chromium, f"--user-data-dir={tmp_path}/profile") as browser,
    ):
        mail = {"MAIL_URL": f"smtp://127.0.0.1:{port}", "MAIL_FROM": "site@example.org"}
        site = AuthMiddleware(
            sample, replace(settings, **mail, PUBLIC_URL=address, VERIFICATION=True)
        )
        current.append(site)
        yield Visitor(browser, address), Inbox(received)
        site.site.outbox.stop()
    storage.discard_connection(storage.current())


def link_in(text, address):
    """Return the path of the one link of a mail."""
    (link,) = [word for word in text.split() if word.startswith(f"{address}/auth/")]
    return link.removeprefix(address)


@pytest.mark.promise(37)
@pytest.mark.promise(39)
def test_a_person_registers_forgets_moves_and_closes(journey):
    visitor, inbox = journey

    visitor.open("/auth/register")
    visitor.submit(USERNAME, EMAIL)
    assert visitor.heading == "Check your email"
    recipient, subject, text = inbox.next()
    assert (recipient, subject.startswith("Create your account")) == (EMAIL, True)
    assert User.objects.count() == 0
    visitor.open(link_in(text, visitor.address))
    visitor.submit(PASSWORD)
    assert User.objects.get(username=USERNAME).email_verified_at is not None
    visitor.open("/auth/account")
    assert visitor.heading == "Your account"
    visitor.press("Log out")

    visitor.open("/auth/login")
    visitor.press("Forgot it?")
    visitor.submit(USERNAME)
    assert visitor.heading == "Check your email"
    _, subject, text = inbox.next()
    assert subject.startswith("Choose a new password")
    visitor.open(link_in(text, visitor.address))
    visitor.submit(NEW_PASSWORD)
    assert visitor.heading == "Log in"
    recipient, subject, _ = inbox.next()
    assert (recipient, "password" in subject) == (EMAIL, True)

    visitor.log_in(USERNAME, NEW_PASSWORD)
    visitor.open("/auth/email")
    visitor.submit(NEW_EMAIL)
    recipient, _, text = inbox.next()
    assert recipient == NEW_EMAIL
    assert User.objects.get(username=USERNAME).email == EMAIL
    visitor.open(link_in(text, visitor.address))
    visitor.press("Use this address")
    assert User.objects.get(username=USERNAME).email == NEW_EMAIL
    assert {inbox.next()[0], inbox.next()[0]} == {EMAIL, NEW_EMAIL}

    visitor.open("/auth/account")
    visitor.press("Close your account")
    visitor.press("Close the account permanently")
    assert visitor.path == "/auth/login?done=closed"
    recipient, _, text = inbox.next()
    assert (recipient, "closed" in text or "deleted" in text) == (NEW_EMAIL, True)
    assert User.objects.count() == 0
    visitor.open("/auth/account")
    assert visitor.path.startswith("/auth/login")
