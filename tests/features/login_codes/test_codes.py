"""Codes: who gets which email, and what it says."""

import json
import re

import pytest

from tests.support.sites import EMAIL, PASSWORD, USERNAME
from wsgiauth import delete_user
from wsgiauth.accounts import create_user, update_user
from wsgiauth.accounts.models import PROVEN_BY_OPERATOR, User
from wsgiauth.accounts.tables import CODE, OneTimeSecret
from wsgiauth.features.factors import totp
from wsgiauth.mail.letters import plain_text_of
from wsgiauth.mail.outbox import URGENT, Mail
from wsgiauth.storage.models import utc_now
from wsgiauth.testing import mailbox

FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:147.0) Gecko/20100101 Firefox/147.0"
WAYS = {
    "an inactive user": lambda ada: update_user(ada, is_active=False),
    "nobody": lambda ada: delete_user(ada),
}
UNPROVEN = {
    "never": {"email_verified_at": None, "email_verified_by": ""},
    "by a provider": {"email_verified_at": utc_now(), "email_verified_by": "https://id.example"},
}


@pytest.mark.promise(83)
def test_the_email_has_the_code_the_browser_and_no_link(program, ada, site):
    update_user(ada, language="en")
    program.ask(**{"User-Agent": FIREFOX})
    row = OneTimeSecret.get()  # which says nothing before the email is sent
    assert (row.user_id, row.stamp, row.subject) == (None, 0, None)
    asked = json.loads(row.data)
    assert asked.keys() == {"is_known", "networks", "log_id", "remember"}
    assert (asked["is_known"], asked["networks"]) == (False, [])  # of a stranger
    (message,) = mailbox(site)
    assert message["To"] == EMAIL
    assert message["Subject"] == "Your code for example.org"
    assert message["Content-Language"] == "en"
    assert re.search(r"^\d{4} \d{4}$", plain_text_of(message), re.MULTILINE)
    assert "The code was asked for with: Firefox on Linux" in plain_text_of(message)
    assert "10 minutes" in plain_text_of(message)
    assert "://" not in message.as_string()
    assert mailbox(site).links == []


def test_nothing_that_the_client_sent_is_in_the_email(program, ada, site):
    program.ask("four finch words")
    assert Mail.get().name == ""
    program.ask(**{"User-Agent": "evil.example/1.0", "Accept-Language": "evil"})
    assert "evil" not in mailbox(site)[-1].as_string()


def test_an_email_that_is_late_is_not_sent(program, ada, site, monkeypatch):
    program.ask()
    now = site.site.outbox.now()
    monkeypatch.setattr(site.site.outbox, "now", lambda: now + 601)
    assert mailbox(site) == []


def test_an_active_user_alone_gets_the_code_also_if_an_operator_has_proven_the_address(
    program, ada, site
):
    User.update(email_verified_by=PROVEN_BY_OPERATOR).execute()
    program.ask()
    assert len(mailbox(site).codes) == 1
    for change in WAYS.values():
        change(User.get_by_id(ada.id))
        mailbox(site)  # a notice of the change
        program.ask()
        assert len(mailbox(site).codes) == 1
        assert not [each for each in mailbox(site).links if "token" in each]
        assert not Mail.select().exists()


@pytest.mark.every_database
@pytest.mark.promise(82)
@pytest.mark.parametrize("unproven", UNPROVEN.values(), ids=UNPROVEN)
def test_an_address_that_was_never_proven_gets_the_link_for_a_new_password(
    unproven, program, ada, site
):
    User.update(unproven).execute()
    app = totp.begin(ada, "Of the stranger", site.site.tokens.now())
    totp.Totp.update(confirmed_at=1).where(totp.Totp.id == app.id).execute()
    program.ask()
    mails = mailbox(site)
    assert mails.codes == []
    assert "A code to log in was requested for your account." in plain_text_of(mails[-1])
    assert "password was requested" not in plain_text_of(mails[-1])
    assert USERNAME not in mails[-1].as_string()
    (link,) = mails.links
    token = link.partition("?token=")[2]
    sent = {"token": token, "password": "other unrelated birds"}
    program.client.post_json("/auth/reset", sent, status=200)
    assert User.get_by_id(ada.id).email_verified_at is not None
    assert totp.devices(ada) == []


@pytest.mark.promise(82)
def test_a_second_attempt_to_send_has_the_same_code(program, ada, site):
    request = program.ask()
    (row,) = Mail.select().dicts()
    code = program.code()
    Mail.insert(row).execute()
    assert program.code() == code
    assert len(mailbox(site)) == 2
    program.enter(request, code, 200)


@pytest.mark.promise(82)
def test_a_name_that_goes_to_another_user_between_two_attempts_has_another_code(
    program, ada, site, settings
):
    request = program.ask()
    (row,) = Mail.select().dicts()
    first = program.code()
    update_user(ada, username="Countess")
    grace = create_user(USERNAME, "grace@example.org", PASSWORD, settings=settings)
    User.update(email_verified_at=utc_now(), email_verified_by="link").where(
        User.id == grace.id
    ).execute()
    Mail.insert(row).execute()
    second = program.code()
    assert second != first
    program.enter(request, first, 401)
    program.enter(request, second, 200)


def test_codes_are_sent_before_all_other_emails():
    assert URGENT[0] == CODE
