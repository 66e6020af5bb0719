"""docs/mail.md: its programs, templates and commands do what it says."""

import json
import re
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from queue import Queue

import pytest

from tests.docs.pages import PAGES, code, section, shown
from tests.support.declared import LETTER_SAMPLES as SAMPLES
from tests.support.mails import MAIL, with_mail
from wsgiauth import Settings
from wsgiauth.mail.letters import Letters, plain_text_of
from wsgiauth.settings.mail import parse_mail_url

PAGE = PAGES["docs/mail.md"]
URLS = re.findall(r"`(smtps?://[^`]*)`", section(PAGE, "Providers"))


@contextmanager
def http_api(statuses):
    """Serve an API that answers with these statuses; yields its URL and what it is sent."""
    received = Queue()

    class Api(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            status = statuses.pop(0)
            self.send_response(status)
            self.end_headers()
            received.put((status, dict(self.headers), json.loads(body)))

        def log_message(self, *arguments):
            pass

    with HTTPServer(("127.0.0.1", 0), Api) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/email", received
        finally:
            server.shutdown()
            thread.join()


ASK = """
from api_mail import app
from webtest import TestApp
from wsgiauth.testing import make_user

make_user(app, "ada")
TestApp(app).post_json("/auth/forgot", {"username": "ada"}, status=202)
app.site.outbox.stop()
app.site.outbox.deliver()  # if the thread had not begun
"""


@pytest.fixture
def ask(run, environ, folder):
    def ask(url):
        environ.update(MAIL, POSTMARK_URL=url, POSTMARK_TOKEN="token of the server")
        del environ["MAIL_URL"]  # as the page says
        (folder / "ask.py").write_text(ASK)
        run("python ask.py")

    return ask


def test_the_program_sends_a_mail_by_an_api(ask):
    with http_api([200]) as (url, received):
        ask(url)
        _, headers, fields = received.get(timeout=30)
    assert headers["X-Postmark-Server-Token"] == "token of the server"
    assert fields["To"] == "ada@example.org"
    assert fields["From"] == MAIL["MAIL_FROM"]
    assert "/auth/reset?token=" in fields["TextBody"]


def test_a_mail_that_the_api_refuses_waits(ask, accounts):
    with http_api([422]) as (url, received):
        ask(url)
        assert received.get(timeout=30)[0] == 422
    (waiting,) = accounts.app.database.execute_sql("SELECT attempts FROM wsgiauth_mail")
    assert waiting == (1,)


@pytest.mark.parametrize("url", URLS)
def test_the_url_of_a_provider_is_accepted_and_encrypted(url):
    parsed = parse_mail_url(url)
    assert (parsed.scheme, parsed.port, parsed.is_local) == ("smtp", 587, False)
    assert parsed.password


def test_the_page_has_urls_of_providers():
    assert len(URLS) == 6


def test_the_layout_signs_every_mail(tmp_path):
    (layout,) = code(section(PAGE, "Texts"), "")
    (tmp_path / "mail").mkdir()
    (tmp_path / "mail" / "layout.txt").write_text(layout)
    letters = Letters(with_mail(Settings(), TEMPLATES=tmp_path, SITE_NAME="Library"))
    for sample in SAMPLES:
        text = plain_text_of(letters.preview(sample, "/auth"))
        assert text.endswith("\n\n-- \nLibrary, https://example.org\n")


def test_the_preview_prints_what_is_shown(run):
    ((command, output),) = shown(PAGE, "Texts")
    assert run(command).startswith(output)  # then the variants


def test_the_command_sends_what_is_due(run, accounts, environ):
    ((command, _),) = shown(PAGE, "What to watch")
    environ.update({**MAIL, "MAIL_URL": "console:"})
    assert run(command) == "0 emails left for later.\n"
