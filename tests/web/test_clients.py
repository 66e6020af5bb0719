"""Which client sent a request, and its browser in words."""

import logging

import pytest

from tests.support.tables import row_by_row
from wsgiauth.messages import Message
from wsgiauth.web.clients import (
    Clients,
    browser_in_words,
    client_address,
    device_of,
    is_browser,
    user_agent_in_words,
)

DOCUMENTED = ("2001:db8:1:2::/64", "2001:db8:1::/48")
LINK_LOCAL = ("fe80::/64", "fe80::/48")


def networks(remote_addr, **environ):
    return Clients().networks({"REMOTE_ADDR": remote_addr, **environ})


@pytest.mark.promise(13)
@row_by_row(
    ("remote_addr", "expected"),
    [
        pytest.param("192.0.2.1", ("192.0.2.1",), id="IPv4"),
        pytest.param("192.0.2.1:5000", ("192.0.2.1",), id="IPv4 with a port"),
        pytest.param("2001:db8:1:2:3:4:5:6", DOCUMENTED, id="IPv6"),
        pytest.param("2001:DB8:1:2::", DOCUMENTED, id="IPv6 in upper case"),
        pytest.param("2001:0db8:0001:0002:0:0:0:1", DOCUMENTED, id="IPv6 in full"),
        pytest.param("[2001:db8:1:2::3]", DOCUMENTED, id="IPv6 in brackets"),
        pytest.param("[2001:db8:1:2::3]:5000", DOCUMENTED, id="IPv6 with a port"),
        pytest.param("2001:db8:1:3::1", ("2001:db8:1:3::/64", DOCUMENTED[1]), id="the next /64"),
        pytest.param("::1", ("::/64", "::/48"), id="IPv6 loopback"),
        pytest.param("::ffff:192.0.2.1", ("192.0.2.1",), id="IPv4 mapped into IPv6"),
        pytest.param("[::FFFF:192.0.2.1]:80", ("192.0.2.1",), id="IPv4 mapped, with a port"),
        pytest.param("::ffff:c000:201", ("192.0.2.1",), id="IPv4 mapped, in hexadecimal"),
        pytest.param("fe80::1%eth0", LINK_LOCAL, id="link-local with a zone"),
        pytest.param("[fe80::2%25wlan0]:80", LINK_LOCAL, id="link-local with another zone"),
        pytest.param("fe80::3%", LINK_LOCAL, id="link-local with an empty zone"),
    ],
)
def test_a_client_is_an_ipv4_address_or_the_networks_of_a_subscriber(remote_addr, expected, caplog):
    assert networks(remote_addr) == expected
    assert caplog.records == []


@pytest.mark.promise(13)
def test_an_address_that_waitress_cuts_is_put_together_again():
    for remote_addr in ("::ffff", "::FFFF"):
        assert networks(remote_addr, REMOTE_PORT="192.0.2.1") == ("192.0.2.1",)


@pytest.mark.promise(13)
def test_the_address_of_events_has_neither_brackets_nor_port():
    for remote_addr, address in (
        ("192.0.2.1:5000", "192.0.2.1"),
        ("[2001:db8::1]:5000", "2001:db8::1"),
        ("fe80::1%eth0", "fe80::1%eth0"),
        ("/run/app.sock", "/run/app.sock"),
        ("", ""),
    ):
        assert client_address({"REMOTE_ADDR": remote_addr}) == address


@pytest.mark.promise(13)
@pytest.mark.parametrize(
    "remote_addr",
    [
        pytest.param("", id="empty"),
        pytest.param("::ffff", id="cut, without what was cut off"),
        pytest.param("/run/app.sock", id="a Unix socket"),
        pytest.param("unix:", id="a server that says so"),
        pytest.param("client.example.org", id="a host name"),
        pytest.param("client.example.org:80", id="a host name with a port"),
        pytest.param("192.0.2.256", id="not quite an address"),
        pytest.param("192.0.2.01", id="an ambiguous address"),
        pytest.param("192.0.2.1:80:80", id="two ports"),
        pytest.param("[]", id="nothing in brackets"),
        pytest.param("%", id="garbage"),
        pytest.param("\u0661\u0662.\xff\0\r\n", id="worse garbage"),
    ],
)
def test_what_is_no_address_is_one_client_and_a_warning(remote_addr, caplog):
    clients = Clients()
    for _ in range(2):
        assert clients.networks({"REMOTE_ADDR": remote_addr}) == (remote_addr,)
    (record,) = caplog.records
    assert (record.name, record.levelno) == ("wsgiauth", logging.WARNING)
    assert "REMOTE_ADDR" in record.getMessage()
    assert record.getMessage().isprintable()


@pytest.mark.promise(13)
def test_events_name_the_address_that_waitress_cut():
    environ = {"REMOTE_ADDR": "::ffff", "REMOTE_PORT": "192.0.2.1"}
    assert client_address(environ) == "::ffff:192.0.2.1"


@pytest.mark.promise(13)
def test_a_server_may_leave_the_address_out():
    assert Clients().networks({}) == ("",)


@pytest.mark.promise(13)
def test_no_header_says_who_the_client_is():
    for header in (
        "HTTP_X_FORWARDED_FOR",
        "HTTP_FORWARDED",
        "HTTP_X_REAL_IP",
        "HTTP_CLIENT_IP",
        "HTTP_VIA",
    ):
        environ = {header: "198.51.100.2", "REMOTE_HOST": "x"}
        assert networks("192.0.2.1", **environ) == ("192.0.2.1",)


WEBKIT = "AppleWebKit/537.36 (KHTML, like Gecko)"
MAC = "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7)"
WINDOWS = "Mozilla/5.0 (Windows NT 10.0; Win64; x64)"


def test_a_user_agent_has_the_words_that_its_owner_knows():
    for header, words in (
        (f"{WINDOWS[:-1]}; rv:140.0) Gecko/20100101 Firefox/140.0", "Firefox on Windows"),
        (f"{WINDOWS} {WEBKIT} Chrome/140.0.0.0 Safari/537.36", "Chrome on Windows"),
        (f"{WINDOWS} {WEBKIT} Chrome/140.0.0.0 Safari/537.36 Edg/140.0.0.0", "Edge on Windows"),
        (f"{WINDOWS} {WEBKIT} Chrome/140.0.0.0 Safari/537.36 OPR/120.0.0.0", "Opera on Windows"),
        (f"{MAC} AppleWebKit/605.1.15 Version/18.5 Safari/605.1.15", "Safari on macOS"),
        (f"{MAC} {WEBKIT} Chrome/140.0.0.0 Safari/537.36", "Chrome on macOS"),
        (
            "Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15"
            " (KHTML, like Gecko) Version/18.5 Mobile/15E148 Safari/604.1",
            "Safari on iPhone",
        ),
        (
            "Mozilla/5.0 (iPad; CPU OS 18_5 like Mac OS X) AppleWebKit/605.1.15 CriOS/140 Mobile",
            "Chrome on iPad",
        ),
        (f"Mozilla/5.0 (Linux; Android 15; K) {WEBKIT} Chrome/140.0.0.0", "Chrome on Android"),
        (
            f"Mozilla/5.0 (Linux; Android 14; SAMSUNG) {WEBKIT} SamsungBrowser/28.0 Chrome/130.0",
            "Samsung Internet on Android",
        ),
        (
            "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0",
            "Firefox on Linux",
        ),
        (f"Mozilla/5.0 (X11; CrOS x86_64 14541) {WEBKIT} Chrome/140.0.0.0", "Chrome on ChromeOS"),
        ("curl/8.5.0", "curl"),
        ("python-requests/2.32.3", "Python"),
        ("python-httpx/0.28.1", "Python"),
        ("Mozilla/5.0 (Windows NT 10.0)", "Unknown browser on Windows"),
        ("<script>alert(1)</script>", "Unknown browser"),
        ("", "Unknown browser"),
    ):
        assert user_agent_in_words(header) == words
        assert is_browser(header) is (" on " in words and "Unknown" not in words)


def test_the_words_tell_the_kind_of_device():
    for words, device in (
        ("Safari on iPhone", "phone"),
        ("Unknown browser on Android", "phone"),
        ("Firefox on Windows", "laptop"),
        ("Unknown browser", "laptop"),
        ("curl", "terminal"),
        ("Python on Linux", "terminal"),
    ):
        assert device_of(words) == device


def test_the_words_that_a_row_has_can_be_translated():
    for words, text in (
        ("Firefox on Windows", "%(browser)s on %(system)s"),
        ("Samsung Internet on Android", "%(browser)s on %(system)s"),
        ("Unknown browser on Linux", "Unknown browser on %(system)s"),
        ("Unknown browser", "Unknown browser"),
    ):
        message = browser_in_words(words)
        assert isinstance(message, Message)
        assert (message, message.text) == (words, text)


def test_other_words_stay_as_they_are():
    for words in (
        "curl",  # a name alone
        "Mosaic on Windows",  # an unknown browser
        "Firefox on Amiga",  # an unknown system
        "Firefox on Windows on Linux",  # two systems
        "Firefox on ",  # no system
        " on Linux",  # no browser
        "unknown browser",  # in lower case
        "",
    ):
        assert browser_in_words(words) == words
        assert not isinstance(browser_in_words(words), Message)
