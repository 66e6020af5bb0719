"""Who counts as one client."""

import pytest

from wsgiauth.addresses import client_network

pytestmark = pytest.mark.promise(13)


@pytest.mark.parametrize(
    ("remote_addr", "client"),
    [
        pytest.param("192.0.2.1", "192.0.2.1", id="IPv4"),
        pytest.param("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64", id="IPv6"),
        pytest.param("2001:DB8:1:2::", "2001:db8:1:2::/64", id="IPv6 in upper case"),
        pytest.param("2001:0db8:0001:0002:0:0:0:1", "2001:db8:1:2::/64", id="IPv6 in full"),
        pytest.param("2001:db8:1:3::1", "2001:db8:1:3::/64", id="the next /64"),
        pytest.param("::1", "::/64", id="IPv6 loopback"),
        pytest.param("::ffff:192.0.2.1", "192.0.2.1", id="IPv4 mapped into IPv6"),
        pytest.param("::ffff:c000:201", "192.0.2.1", id="IPv4 mapped, in hexadecimal"),
        pytest.param("fe80::1%eth0", "fe80::/64", id="link-local with a zone"),
        pytest.param("fe80::2%25wlan0", "fe80::/64", id="link-local with another zone"),
        pytest.param("fe80::3%", "fe80::/64", id="link-local with an empty zone"),
        pytest.param("", "", id="empty"),
        pytest.param("/run/app.sock", "/run/app.sock", id="a Unix socket"),
        pytest.param("unix:", "unix:", id="a server that says so"),
        pytest.param("client.example.org", "client.example.org", id="a host name"),
        pytest.param("192.0.2.1:5000", "192.0.2.1:5000", id="an address with a port"),
        pytest.param("192.0.2.256", "192.0.2.256", id="not quite an address"),
        pytest.param("192.0.2.01", "192.0.2.01", id="an ambiguous address"),
        pytest.param("%", "%", id="garbage"),
        pytest.param("\u0661\u0662.\xff\0", "\u0661\u0662.\xff\0", id="worse garbage"),
    ],
)
def test_a_client_is_an_address_or_a_subscribers_network(remote_addr, client):
    assert client_network({"REMOTE_ADDR": remote_addr}) == client


def test_a_server_may_leave_the_address_out():
    assert client_network({}) == ""


@pytest.mark.parametrize(
    "header",
    ["HTTP_X_FORWARDED_FOR", "HTTP_FORWARDED", "HTTP_X_REAL_IP", "HTTP_CLIENT_IP", "HTTP_VIA"],
)
def test_no_header_says_who_the_client_is(header):
    environ = {"REMOTE_ADDR": "192.0.2.1", header: "198.51.100.2", "REMOTE_HOST": "x"}
    assert client_network(environ) == "192.0.2.1"
