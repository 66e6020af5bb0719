"""Codes that a real mail server receives."""

import re
from dataclasses import replace

import pytest
from webtest import TestApp

from tests.support.mail_servers import mail_server
from tests.support.sites import EMAIL, USERNAME, echo
from wsgiauth import AuthMiddleware, storage
from wsgiauth.mail.letters import plain_text_of


@pytest.mark.promise(82)
def test_a_code_comes_by_smtp_and_logs_in(settings, ada):
    with mail_server() as (port, received):
        site = AuthMiddleware(echo, replace(settings, MAIL_URL=f"smtp://127.0.0.1:{port}"))
        client = TestApp(site)
        request = client.post_json("/auth/code", {"username": USERNAME}).json["request"]
        site.site.outbox.stop()
        site.site.outbox.deliver()
        (message,) = received.messages
        assert message["To"] == EMAIL
        (code,) = re.findall(r"^\d{4} \d{4}$", plain_text_of(message), re.MULTILINE)
        sent = {"request": request, "code": code}
        assert "access_token" in client.post_json("/auth/code/enter", sent).json
        storage.discard_connection(site.database)


@pytest.mark.promise(82)
def test_a_mail_server_that_refuses_at_first_gets_the_same_code(settings, ada, monkeypatch):
    with mail_server() as (port, received):
        received.answers["DATA"] = ["451 Try again later"]
        site = AuthMiddleware(echo, replace(settings, MAIL_URL=f"smtp://127.0.0.1:{port}"))
        outbox, client = site.site.outbox, TestApp(site)
        monkeypatch.setattr(outbox, "start", lambda: None)
        request = client.post_json("/auth/code", {"username": USERNAME}).json["request"]
        outbox.stop()
        outbox.deliver()
        now = outbox.now()
        monkeypatch.setattr(outbox, "now", lambda: now + 61)
        outbox.deliver()
        (message,) = received.messages
        (code,) = re.findall(r"^\d{4} \d{4}$", plain_text_of(message), re.MULTILINE)
        client.post_json("/auth/code/enter", {"request": request, "code": code}, status=200)
        storage.discard_connection(site.database)
