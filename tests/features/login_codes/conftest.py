"""A site with codes, the people in it, and what each sends."""

from dataclasses import replace

import pytest
from webtest import TestApp

from tests.support.factors import FACTOR_KEY
from tests.support.mails import MAIL, Post
from tests.support.sites import BROWSER, SAME_ORIGIN, USERNAME, echo
from wsgiauth import AuthMiddleware, storage
from wsgiauth.accounts.models import PROVEN_BY_LINK, User
from wsgiauth.storage.models import utc_now
from wsgiauth.testing import mailbox

WRONG = "00000000"  # never a code here: see `never_wrong`


@pytest.fixture
def options():
    """Return settings that a test wants otherwise; it parametrizes this."""
    return {}


@pytest.fixture
def settings(settings, options):
    on = {"LOGIN_CODES": True, "FACTOR_KEY": FACTOR_KEY, **MAIL}
    return replace(settings, **(on | options))


@pytest.fixture
def heard():
    return []


@pytest.fixture
def site(settings, heard):
    made = AuthMiddleware(echo, settings, send_mail=Post(), on_event=heard.append)
    mailbox(made)  # so that no thread sends
    yield made
    made.site.outbox.stop()
    for each in (made.database, storage.current()):
        storage.discard_connection(each)


@pytest.fixture
def ada(ada):
    """Return a user whose address a link has proven."""
    return proven(ada)


def proven(user):
    """Let a link have proven the address of a user; return them."""
    User.update(email_verified_at=utc_now(), email_verified_by=PROVEN_BY_LINK).where(
        User.id == user.id
    ).execute()
    return User.get_by_id(user.id)


class Program:
    """A program that logs in by codes."""

    def __init__(self, site, address="192.0.2.1"):
        self.site = site
        self.client = TestApp(site, extra_environ={"REMOTE_ADDR": address})

    def ask(self, name=USERNAME, status=202, **headers):
        """Ask for a code; return the request, or None if it was refused."""
        answer = self.client.post_json(
            "/auth/code", {"username": name}, headers=headers, status=status
        )
        return answer.json.get("request")

    def code(self):
        """Return the code of the last email."""
        return mailbox(self.site).codes[-1]

    def enter(self, request, code, status="*", **further):
        sent = {"request": request, "code": code, **further}
        return self.client.post_json("/auth/code/enter", sent, status=status)


class Tab:
    """A browser with a tab at the page for the code."""

    def __init__(self, site):
        self.site = site
        self.client = TestApp(site)

    def ask(self, name=USERNAME, **fields):
        return self.send(name, **fields).follow(headers=BROWSER)

    def send(self, name=USERNAME, **fields):
        """Send the form that asks for a code; return the redirect to the field."""
        sent = {"username": name, **fields}
        return self.client.post("/auth/code", sent, headers=SAME_ORIGIN, status=303)

    def enter(self, code, status="*", **fields):
        sent = {"code": code, **fields}
        return self.client.post("/auth/code/enter", sent, headers=SAME_ORIGIN, status=status)

    def name(self):
        """Return the user whom the application sees."""
        return self.client.get("/").json["user"]


@pytest.fixture
def program(site):
    return Program(site)


@pytest.fixture
def tab(site):
    return Tab(site)


@pytest.fixture(autouse=True)
def never_wrong(monkeypatch):
    """Let no code be the one that tests send as a wrong one."""
    from wsgiauth.features.login_codes import codes

    real = codes._codes_of

    def other_codes(*arguments):
        return ["1" * 8 if each == WRONG else each for each in real(*arguments)]

    monkeypatch.setattr(codes, "_codes_of", other_codes)
