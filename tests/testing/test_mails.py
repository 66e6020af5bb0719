"""The mails of a site that is tested."""

import threading
from email.message import EmailMessage

import pytest
from webtest import TestApp

from tests.support.mails import Post
from tests.support.sites import BROWSER, PASSWORD, SAME_ORIGIN, echo
from wsgiauth import AuthMiddleware, storage
from wsgiauth.testing import (
    Mails,
    mailbox,
    make_settings,
    make_user,
)


def ask_for_link(site, name="ada"):
    TestApp(site).post_json("/auth/forgot", {"username": name}, status=202)


@pytest.fixture
def mail_site(make_site):
    return make_site(MAIL_URL="memory:")


def test_a_mailbox_has_the_mails_that_the_site_has_sent_the_newest_last(mail_site):
    assert mailbox(mail_site) == []
    for name in ("ada", "grace"):
        make_user(mail_site, name)
        ask_for_link(mail_site, name)
        assert mailbox(mail_site)[-1]["To"] == f"{name}@example.org"
    assert [each["From"] for each in mailbox(mail_site)] == ["site@example.org"] * 2


def test_the_links_of_a_mailbox_work_for_a_client_of_the_site(mail_site):
    make_user(mail_site)
    for _ in range(2):
        ask_for_link(mail_site)
    links = mailbox(mail_site).links
    assert len(links) == 2
    form = TestApp(mail_site).get(links[-1], headers=BROWSER).form
    form["password"] = PASSWORD
    form.submit(headers=SAME_ORIGIN, status=303)
    login = {"username": "ada", "password": PASSWORD}
    TestApp(mail_site).post_json("/auth/login", login, status=200)


def test_a_mailbox_is_a_copy(mail_site):
    make_user(mail_site)
    ask_for_link(mail_site)
    mailbox(mail_site).clear()
    assert len(mailbox(mail_site)) == 1


def test_a_mailbox_has_the_codes_of_every_mail_in_order():
    mails = Mails()
    for text in ("1234 5678", "Call 0123 4567.\n0000 0001\n", "12345678"):
        mail = EmailMessage()
        mail.set_content(text)
        mails.append(mail)
    assert mails.codes == ["1234 5678", "0000 0001"]


def test_a_mailbox_has_the_links_of_every_mail_in_order(mail_site):
    mails = mailbox(mail_site)
    for text in (
        "See <https://example.org/a?b=c>\nor http://localhost/d",
        "No link.",
        "https://e/",
    ):
        message = EmailMessage()
        message.set_content(text)
        mails.append(message)
    assert mails.links == ["https://example.org/a?b=c", "http://localhost/d", "https://e/"]


@pytest.fixture
def new_threads():
    """Return a function that returns the threads for emails that a test has started."""
    others = set(threading.enumerate())  # sites of other tests can have theirs
    return lambda: {
        each for each in set(threading.enumerate()) - others if each.name == "wsgiauth-mail"
    }


def test_mails_for_a_mailbox_need_no_thread(mail_site, new_threads):
    make_user(mail_site)
    ask_for_link(mail_site)
    assert new_threads() == set()
    assert len(mailbox(mail_site)) == 1


def test_a_mailbox_takes_the_place_of_what_sends_mails(make_site, new_threads):
    post = Post()
    site = AuthMiddleware(echo, make_settings(), send_mail=post)
    mailbox(site)
    make_user(site)
    ask_for_link(site)
    assert (len(mailbox(site)), post.messages, new_threads()) == (1, [], set())
    storage.discard_connection(site.database)


def test_the_mailboxes_of_two_sites_are_kept_apart(make_site):
    one, other = make_site(MAIL_URL="memory:"), make_site(MAIL_URL="memory:")
    for site in (one, other):
        make_user(site)
    ask_for_link(one)
    assert (len(mailbox(one)), mailbox(other)) == (1, [])


def test_a_site_without_mail_has_no_mailbox(site):
    with pytest.raises(ValueError, match=r"make_settings\(MAIL_URL='memory:'\)"):
        mailbox(site)
