"""Mail as a site and the command line use it: the settings decide, and mistakes end the start."""

import threading
import time
from dataclasses import replace
from datetime import UTC, datetime
from email import message_from_bytes, policy
from email.message import EmailMessage

import pytest
from webtest import TestApp

from tests.support.mails import MAIL, Post, with_mail
from tests.support.sites import EMAIL, PASSWORD, SECRET_KEY, USERNAME, echo
from wsgiauth import AuthMiddleware, Settings, storage
from wsgiauth.accounts import create_user
from wsgiauth.cli import main
from wsgiauth.exceptions import ConfigurationError
from wsgiauth.mail.outbox import OVERDUE, Mail
from wsgiauth.mail.site_outbox import make_transport


@pytest.fixture
def environ(settings, monkeypatch, tmp_path):
    """Set the environment of commands, with mail to a folder."""
    folder = tmp_path / "mails"
    folder.mkdir()
    for name, value in {**MAIL, "MAIL_URL": f"file://{folder}"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("SECRET_KEY", SECRET_KEY)
    monkeypatch.setenv("DATABASE_URL", settings.DATABASE_URL)
    return folder


@pytest.fixture
def waiting(database, settings):
    """Insert a mail that no process has sent, a moment ago."""
    create_user(USERNAME, EMAIL, PASSWORD, settings=settings)

    def insert(seconds=1):
        now = int(time.time())
        Mail.insert(
            id="a" * 32,
            kind="reset",
            name=USERNAME,
            data='{"mount": "/auth"}',
            due_at=now - seconds,
            expires_at=now + 60,
        ).execute()

    return insert


@pytest.fixture
def send(settings):
    """Return a function that sends a text as MAIL_URL says."""

    def send(url, address="ada@example.org", text="Hello."):
        message = EmailMessage()
        message["To"], message["Date"] = address, datetime.now(UTC)
        message.set_content(text)
        make_transport(with_mail(settings, MAIL_URL=url))(message)

    return send


def test_a_site_without_a_url_of_mail_has_no_outbox(site):
    assert site.site.outbox is None


def test_a_site_whose_application_sends_has_one(settings, database):
    for changes in ({}, {"MAIL_URL": "console:"}):
        made = with_mail(settings, **{"MAIL_URL": None, **changes})
        assert AuthMiddleware(echo, made, send_mail=Post()).site.outbox is not None
        storage.discard_connection(storage.current())


@pytest.mark.every_database
@pytest.mark.parametrize("path", ["/", "/auth/me"])
def test_the_first_request_of_a_process_sends_what_another_one_left(path, settings, waiting):
    waiting()
    sent = threading.Event()
    site = AuthMiddleware(echo, with_mail(settings), send_mail=lambda _: sent.set())
    TestApp(site).get(path, status="*")
    assert sent.wait(60)
    site.site.outbox.stop()
    storage.discard_connection(site.database)


def test_the_start_of_a_site_starts_no_thread(settings, waiting):
    # A server can fork afterwards.
    waiting()
    before = set(threading.enumerate())
    site = AuthMiddleware(echo, with_mail(settings), send_mail=Post())
    assert set(threading.enumerate()) <= before
    storage.discard_connection(site.database)


def test_a_request_starts_no_thread_while_a_test_reads_the_mails(settings, waiting):
    post = Post()
    site = AuthMiddleware(echo, with_mail(settings), send_mail=post)
    site.site.outbox.keep_messages()
    before = set(threading.enumerate())
    TestApp(site).get("/")
    assert set(threading.enumerate()) <= before
    storage.discard_connection(site.database)


def test_a_thread_that_cannot_start_is_not_tried_by_each_request(settings, waiting, monkeypatch):
    tries = []

    def refuse(thread):
        tries.append(thread)
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr("threading.Thread.start", refuse)
    site = AuthMiddleware(echo, with_mail(settings), send_mail=Post())
    for _ in range(3):
        TestApp(site).get("/")
    assert len(tries) == 1
    storage.discard_connection(site.database)


def test_a_site_whose_application_sends_needs_the_other_settings(settings, database):
    with pytest.raises(ConfigurationError, match=r"^MAIL_FROM must be set"):
        AuthMiddleware(echo, settings, send_mail=Post())


def test_what_sends_mails_must_be_callable(settings):
    with pytest.raises(ConfigurationError, match=r"^send_mail must be a function\.$"):
        AuthMiddleware(echo, settings, send_mail="smtp://localhost")


def test_a_mistake_in_the_template_of_a_mail_is_refused_at_start(settings, tmp_path):
    folder = tmp_path / "templates"
    (folder / "mail").mkdir(parents=True)
    (folder / "mail" / "reset.txt").write_text("Subject\n\n{{ letter.missing }}")
    with pytest.raises(ConfigurationError, match=r"mail/reset.txt, line 3"):
        AuthMiddleware(echo, replace(with_mail(settings), TEMPLATES=folder), send_mail=Post())


def test_a_sender_that_makes_no_header_is_refused_at_start(settings):
    with pytest.raises(ConfigurationError, match=r"^MAIL_FROM or SITE_NAME"):
        AuthMiddleware(echo, with_mail(settings, MAIL_FROM="a..b@example.org"), send_mail=Post())


def test_the_command_sends_what_is_due(environ, waiting, capsys):
    waiting()
    assert main(["mail"]) == 0
    assert capsys.readouterr().out == "0 emails left for later.\n"
    (file,) = environ.glob("*.eml")
    assert f"To: {EMAIL}" in file.read_text()


def test_the_command_needs_a_url_of_mail(environ, database, monkeypatch, capsys):
    monkeypatch.delenv("MAIL_URL")
    assert main(["mail"]) == 1
    assert (
        capsys.readouterr().err
        == "wsgiauth: MAIL_URL must be set, because it says how emails are sent\n"
    )


def test_check_names_what_is_overdue(environ, waiting, capsys):
    waiting(OVERDUE + 1)
    assert main(["check"]) == 0
    assert "1 email overdue: `python -m wsgiauth mail` sends them" in capsys.readouterr().out


def test_check_says_nothing_of_mails_that_were_just_asked_for(environ, waiting, capsys):
    waiting()
    assert main(["check"]) == 0
    assert "overdue" not in capsys.readouterr().out


# Ways to send without a mail server


def test_a_folder_gets_one_private_file_for_each_message(send, tmp_path):
    for _ in range(2):
        send(f"file://{tmp_path}", "ädä@example.org", text="Grüße")
    files = sorted(tmp_path.glob("*.eml"))
    assert len(files) == 2
    assert {file.stat().st_mode & 0o777 for file in files} == {0o600}
    message = message_from_bytes(files[0].read_bytes(), policy=policy.default)
    assert message.get_content() == "Grüße\n"
    assert [each for each in tmp_path.iterdir() if each.name.startswith(".")] == []


def test_the_console_gets_the_message(send, capsys):
    send("console:", "ädä@example.org")
    assert "To: ädä@example.org" in capsys.readouterr().err


def test_a_file_and_the_console_have_each_link_in_one_piece(send, tmp_path, capsys):
    link = f"https://example.org/auth/reset?token={'x' * 80}=="
    send(f"file://{tmp_path}", "ada@example.org", text=link)
    send("console:", "ada@example.org", text=link)
    (file,) = tmp_path.glob("*.eml")
    assert link in file.read_text(encoding="utf-8")
    assert link in capsys.readouterr().err


def test_an_application_can_send_messages_itself(settings):
    sent = []
    settings = with_mail(settings)
    make_transport(settings, sent.append)(EmailMessage())
    assert len(sent) == 1
    with pytest.raises(ConfigurationError, match=r'^MAIL_URL is "callable:", so'):
        make_transport(settings)


def test_without_a_url_there_is_no_transport():
    assert make_transport(Settings()) is None
