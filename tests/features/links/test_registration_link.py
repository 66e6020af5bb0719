"""The link that verifies the address of a new account, without VERIFICATION."""

import pytest
from webtest import TestApp

from tests.support.mails import Post, with_mail
from tests.support.sites import BROWSER, PASSWORD, SAME_ORIGIN, echo
from wsgiauth import AuthMiddleware, storage
from wsgiauth.accounts.models import PROVEN_BY_LINK, User
from wsgiauth.mail.letters import plain_text_of
from wsgiauth.mail.outbox import Mail

EMAIL = "lin@example.org"
NAMES = {"username": "visit-evil.example", "email": EMAIL}


@pytest.fixture
def post():
    return Post()


@pytest.fixture
def make_site(settings, post):
    made = []

    def make(**changes):
        made.append(AuthMiddleware(echo, with_mail(settings, **changes), send_mail=post))
        return made[-1]

    yield make
    storage.discard_connection(storage.current())


def register(client, **fields):
    body = {**NAMES, "password": PASSWORD, **fields}
    return client.post("/auth/register", body, headers=SAME_ORIGIN, status=303)


def test_a_new_user_verifies_the_address_by_the_link_that_comes(make_site, post):
    site = make_site()
    client = TestApp(site)
    register(client)
    site.site.outbox.stop()
    site.site.outbox.deliver()
    assert post.recipients == [EMAIL]
    assert NAMES["username"] not in plain_text_of(post.messages[0])
    path = post.links[-1].removeprefix(post.links[0].rstrip("/"))
    page = client.get(path, headers=BROWSER)
    page.forms[0].submit(headers=SAME_ORIGIN, status=303)
    assert User.get().email_verified_by == PROVEN_BY_LINK


def test_a_program_gets_one_too(make_site, unsent):
    TestApp(make_site()).post_json("/auth/register", {**NAMES, "password": PASSWORD}, status=201)
    assert Mail.get().name == EMAIL


def test_a_site_without_emails_sends_none(client):
    register(client)
    assert Mail.select().count() == 0


def test_too_many_emails_stop_no_registration(make_site, unsent):
    site = make_site(MAILS_PER_ADDRESS=1)
    register(TestApp(site))
    register(TestApp(site), username="Ida", email="ida@example.org")
    assert User.select().count() == 2
    assert [each.name for each in Mail.select()] == [EMAIL]
