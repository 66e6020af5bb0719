"""The language of an email: that of its reader's account, or of the request that caused it."""

import json
import re
from dataclasses import replace

import pytest
from webtest import TestApp

from tests.support.declared import LETTER_SAMPLES as SAMPLES
from tests.support.mails import MAIL, Post, with_mail
from tests.support.sites import EMAIL, PASSWORD, SAME_ORIGIN, USERNAME, echo
from tests.support.tables import row_by_row
from wsgiauth import AuthMiddleware, Settings, change_password, storage
from wsgiauth.accounts import update_user
from wsgiauth.accounts.models import User
from wsgiauth.languages import SHIPPED
from wsgiauth.mail.letters import Letters, plain_text_of
from wsgiauth.mail.outbox import Mail
from wsgiauth.storage import context

HERE = {"REMOTE_ADDR": "192.0.2.1"}
FORGOT = {"en": "Choose a new password", "de": "Passwort", "fr": "mot de passe", "ja": "パスワード"}


@pytest.fixture
def post():
    return Post()


@pytest.fixture
def site(settings, post, unsent):
    """Return a site of several languages, whose default is French."""
    chosen = replace(with_mail(settings), LANGUAGES=("fr", "en", "de", "ja"), LOGIN_NOTICES=True)
    made = AuthMiddleware(echo, replace(chosen, VERIFICATION=True), send_mail=post)
    yield made
    storage.discard_connection(made.database)


@pytest.fixture
def sent(site, post):
    """Return a function that sends what is due, and returns the subjects by recipient."""

    def send():
        post.messages.clear()
        site.site.outbox.deliver()
        return {each["To"]: each["Subject"] for each in post.messages}

    return send


def ask(client, path, fields, language):
    headers = SAME_ORIGIN | {"Accept-Language": language}
    client.post(path, fields, headers=headers)


@pytest.mark.every_database
@pytest.mark.parametrize(
    ("stored", "asked", "subject"),
    [
        ("de", "ja", FORGOT["de"]),
        ("", "ja", FORGOT["ja"]),
        ("", "it", FORGOT["fr"]),
        ("it", "it", FORGOT["fr"]),
        ("en", "", FORGOT["en"]),
    ],
)
def test_a_link_is_sent_in_the_language_of_its_user(client, ada, sent, stored, asked, subject):
    update_user(ada, language=stored)
    ask(client, "/auth/forgot", {"username": USERNAME}, asked)
    assert subject in sent()[EMAIL]


def test_a_link_to_an_address_without_account_has_that_of_the_request(client, sent):
    for asked, subject in {"de": "Konto", "it": "compte"}.items():
        ask(client, "/auth/register", {"email": EMAIL, "username": USERNAME}, asked)
        assert subject in sent()[EMAIL]


def test_an_invitation_by_the_application_has_the_default(site, sent):
    site.invite(EMAIL)
    assert "Invitation" in sent()[EMAIL]


def test_the_owner_of_a_taken_address_is_told_in_their_language(client, ada, sent, post):
    update_user(ada, language="de")
    ask(client, "/auth/register", {"email": EMAIL, "username": "Other"}, "ja")
    sent()
    assert post.messages[-1]["Content-Language"] == "de"


def test_a_notice_is_in_the_language_of_the_owner(site, ada, settings, sent, post):
    update_user(ada, language="de")
    with context.using(site.database):
        change_password(ada, "another unrelated phrase", settings=settings)
    assert "Passwort" in sent()[EMAIL]
    assert re.search(r" um \d\d:\d\d ", plain_text_of(post.messages[0]))


def test_a_header_names_the_language(client, ada, sent, post):
    update_user(ada, language="de")
    ask(client, "/auth/forgot", {"username": USERNAME}, "ja")
    sent()
    assert [each["Content-Language"] for each in post.messages] == ["de"]


def test_a_header_names_the_language_in_a_file_too(settings, ada, unsent, tmp_path):
    site = AuthMiddleware(echo, replace(with_mail(settings), MAIL_URL=f"file://{tmp_path}"))
    ask(TestApp(site), "/auth/forgot", {"username": USERNAME}, "en")
    site.site.outbox.deliver()
    [file] = tmp_path.glob("*.eml")
    assert "\nContent-Language: en\n" in file.read_text(encoding="utf-8")
    storage.discard_connection(site.database)


def test_a_thief_does_not_choose_the_language_of_the_notice_about_their_login(client, ada, sent):
    for agent, language in (("curl/8", ""), ("python-requests/2", "ja")):
        client.post_json(
            "/auth/login",
            {"username": USERNAME, "password": PASSWORD},
            headers={"User-Agent": agent, "Accept-Language": language},
            extra_environ=HERE,
        )
    subject = sent()[EMAIL]
    assert "connexion" in subject.lower()
    assert User.get_by_id(ada.id).language == "ja"


def test_the_browser_and_the_time_of_a_notice_are_in_its_language(client, ada, sent, post):
    update_user(ada, language="de")
    agents = ("curl/8", "Mozilla/5.0 (Windows NT 10.0; rv:147.0) Gecko/20100101 Firefox/147.0")
    for agent in agents:
        client.post_json(
            "/auth/login",
            {"username": USERNAME, "password": PASSWORD},
            headers={"User-Agent": agent},
            extra_environ=HERE,
        )
    sent()
    assert "Firefox auf Windows" in plain_text_of(post.messages[-1])


def test_a_deleted_user_is_told_in_their_language(site, ada, sent):
    update_user(ada, language="de")
    with context.using(site.database):
        User.get_by_id(ada.id).delete_instance()
    assert "gelöscht" in sent()[EMAIL]


def test_an_email_of_the_version_before_is_sent(site, ada, sent, post):
    """It has no language, and the time of a notice in words."""
    data = {
        "user_id": ada.id,
        "time": "9 March 2026, 12:05 UTC",
        "address": "",
        "browser": "Firefox on Linux",
        "reason": "",
        "provider": "",
        "mount": "/auth",
        "username": USERNAME,
        "email": EMAIL,
        "factor": "",
    }
    Mail.insert(
        id="x" * 32,
        kind="notice password_changed",
        data=json.dumps(data),
        due_at=0,
        expires_at=2**40,
    ).execute()
    assert "mot de passe" in sent()[EMAIL]
    assert "9 March 2026, 12:05 UTC" in plain_text_of(post.messages[0])


@pytest.mark.slow
@row_by_row("language", SHIPPED)
def test_every_email_makes_a_message_in_every_language(language):
    settings = Settings.from_mapping({"LANGUAGES": language, "SITE_NAME": "Library", **MAIL})
    letters = Letters(settings)
    for sample in SAMPLES:
        message = letters.preview(sample, "/auth")  # which checks it
        assert "%(" not in plain_text_of(message), sample.template
        assert message["Subject"].strip(), sample.template
