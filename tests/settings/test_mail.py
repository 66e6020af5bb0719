"""The settings for mail: which URLs, senders and public URLs are accepted, and what is risky."""

import pytest

from tests.support.settings import accepted, refused
from tests.support.tables import row_by_row
from wsgiauth import Settings
from wsgiauth.exceptions import ConfigurationError
from wsgiauth.settings.mail import MailUrl, parse_mail_url, parse_sender

PASSWORD = "canary"

MAIL = {"MAIL_FROM": "accounts@example.org", "PUBLIC_URL": "https://example.org"}

pytestmark = pytest.mark.promise(29)


URLS = {
    "console:": MailUrl("console"),
    "memory:": MailUrl("memory"),
    "callable:": MailUrl("callable"),
    "smtp://localhost": MailUrl("smtp", "localhost", 587),
    "smtp://localhost:25/": MailUrl("smtp", "localhost", 25),
    "smtps://[::1]": MailUrl("smtps", "::1", 465),
    "smtp://ada%40example.org:four%20%2Fwords@mail.example.org:2525": MailUrl(
        "smtp", "mail.example.org", 2525, "ada@example.org", "four /words"
    ),
}


def test_a_url_of_mail_is_parsed():
    assert {url: parse_mail_url(url) for url in URLS} == URLS
    assert {url: Settings(MAIL_URL=url, **MAIL).MAIL_URL for url in URLS} == {u: u for u in URLS}


def test_a_folder_for_mail_must_exist(tmp_path):
    url = f"file://{tmp_path}"
    assert parse_mail_url(url) == MailUrl("file", folder=str(tmp_path))
    assert Settings(MAIL_URL=url, **MAIL)
    assert "folder exists" in str(refused("MAIL_URL", f"{url}/missing"))


NO_URLS = [
    "smtp:",
    "smtp://",
    "smtp://mail.example.org:port",
    "smtp://mail.example.org:0x19",
    "smtp://mail.example.org:70000",
    "smtp://mail.example.org/path",
    "smtp://mail.example.org?tls=off",
    "smtp://mail.example.org#x",
    "smtp://user@mail.example.org",
    f"smtp://:{PASSWORD}@mail.example.org",
    f"smtp://user:{PASSWORD}ä@mail.example.org",
    f"smtp://user:{PASSWORD}%0A@mail.example.org",
    f"smtp://user:{PASSWORD}\n@mail.example.org",
    f"smtp://user:{PASSWORD}@mail example.org",
    f"smtp://user:{PASSWORD}@mail/example.org",
    f"http://user:{PASSWORD}@mail.example.org",
    "file://folder",
    "file:folder",
    "file:///folder?x",
    "console",
    "console://x",
    "smtp://[::1",
]


def test_what_is_no_url_of_mail_is_refused_without_being_shown():
    for url in NO_URLS:
        assert PASSWORD not in str(refused("MAIL_URL", url))


def test_the_password_for_mail_is_not_shown():
    url = f"smtp://ada:{PASSWORD}@mail.example.org"
    settings = Settings(MAIL_URL=url, **MAIL)
    assert PASSWORD not in repr(settings) + repr(parse_mail_url(url)) + " ".join(settings.risks())


def test_mail_needs_a_sender_and_a_public_url():
    for name in MAIL:
        with pytest.raises(ConfigurationError, match=f"^{name} must be set, because MAIL_URL is"):
            Settings(MAIL_URL="console:", **{**MAIL, name: None})


@row_by_row("name", ["VERIFICATION", "LOGIN_NOTICES"])
def test_what_cannot_do_without_mail_needs_it(name):
    with pytest.raises(ConfigurationError, match=f"^MAIL_URL must be set, because {name} is on"):
        Settings(**{name: True})
    assert getattr(Settings(MAIL_URL="callable:", **MAIL, **{name: True}), name)
    assert getattr(Settings(), name) is False


HOSTS = {
    "localhost": True,
    "LOCALHOST": True,
    "127.0.0.1": True,
    "127.9.9.9": True,
    "[::1]": True,
    "192.0.2.1": False,
    "localhost.example.org": False,
    "notlocalhost": False,
    "127.0.0.1.example.org": False,
}


def test_only_this_host_is_local():
    assert {host: parse_mail_url(f"smtp://{host}").is_local for host in HOSTS} == HOSTS


SENDERS = {
    "accounts@example.org": ("", "accounts@example.org"),
    "Library <accounts@example.org>": ("Library", "accounts@example.org"),
    '"Ada, Bücher" <a+b@example.org>': ("Ada, Bücher", "a+b@example.org"),
    "<accounts@example.org>": ("", "accounts@example.org"),
}


def test_a_sender_is_an_address_perhaps_with_a_name():
    assert {sender: parse_sender(sender) for sender in SENDERS} == SENDERS
    assert [sender for sender in SENDERS if sender != Settings(MAIL_FROM=sender).MAIL_FROM] == []


NO_SENDERS = [
    "accounts",
    "Library accounts@example.org",
    "a@b@c",
    "a@example.org, b@example.org",
    "Library <a@example.org> <b@example.org>",
    "Library\nBcc: x <a@example.org>",
    "=?utf-8?q?a=0d=0aBcc:x?= <a@example.org>",
    "a@example.org\r\nBcc: b@example.org",
    "ädä@example.org",
    "@example.org",
    "a@",
]


def test_what_is_no_sender_is_refused():
    assert accepted("MAIL_FROM", NO_SENDERS) == []


PUBLIC_URLS = [
    "https://example.org",
    "https://example.org/",
    "https://example.org:8443/shop/eu",
    "http://localhost:8080",
    "http://127.0.0.1:8080/shop",
]


@pytest.mark.promise(34)
def test_a_public_url_is_an_https_origin_perhaps_with_a_path():
    assert [Settings(PUBLIC_URL=url).PUBLIC_URL for url in PUBLIC_URLS] == PUBLIC_URLS


NO_PUBLIC_URLS = [
    "http://example.org",
    "https://",
    "example.org",
    "/shop",
    "https://ada@example.org",
    "https://example.org?x",
    "https://example.org/#x",
    "https://example.org/a b",
    "https://example.org//shop",
    "https://example.org\n",
    "https://example.org/shop\r\nBcc: x",
    "javascript://example.org",
]


@pytest.mark.promise(34)
def test_what_is_no_public_url_is_refused():
    assert accepted("PUBLIC_URL", NO_PUBLIC_URLS) == []


def test_mail_for_development_is_a_risk(tmp_path):
    for url in ("console:", f"file://{tmp_path}"):
        (risk,) = Settings(MAIL_URL=url, **MAIL).risks()
        assert risk.startswith("MAIL_URL writes emails")
    assert Settings(MAIL_URL="smtps://mail.example.org", **MAIL).risks() == []


def test_mail_for_tests_is_a_risk():
    (risk,) = Settings(MAIL_URL="memory:", **MAIL).risks()
    assert risk == "MAIL_URL sends no emails. Use this for tests only."
