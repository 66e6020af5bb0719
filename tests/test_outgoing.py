"""Requests to other servers: their bounds, whatever a server does, and where they may go."""

import socket
import ssl
from contextlib import contextmanager, suppress
from threading import BoundedSemaphore, Event, Thread, current_thread
from urllib.parse import urlsplit

import pytest

from tests.support.mail_servers import make_certificate
from wsgiauth import outgoing
from wsgiauth.outgoing import OutgoingError, Request, Rules, is_public
from wsgiauth.settings.oidc import Proxy

SOON, LATE = 0.2, 30  # seconds


def send(url, deadline=LATE, body="a=b", headers=(), proxy=None, **rules):
    """Send a form, and return the reply."""
    return outgoing.send(Request(url, dict(headers), body), Rules(deadline, **rules), proxy)


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    return make_certificate(tmp_path_factory.mktemp("certificates"), "localhost")


@contextmanager
def listening(serve):
    """Call a function with each connection to a port; yields the address."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def accept():
            try:
                while True:
                    connection, _ = listener.accept()
                    with connection:
                        serve(connection)
            except OSError:
                pass

        thread = Thread(target=accept)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join()


def receive(connection):
    """Read the whole request, which a reset would cut off otherwise."""
    received = connection.recv(65536)
    end = b"\r\n\r\n" if received.startswith(b"GET") else b"a=b"
    while not received.endswith(end):
        part = connection.recv(65536)
        if not part:
            raise ConnectionError
        received += part
    return received


def say(text):
    def serve(connection):
        receive(connection)
        connection.sendall(text)

    return serve


def hang_up(connection):
    pass


def wait_for_the_end(connection):
    while connection.recv(65536):
        pass


def promise_an_answer(connection):
    say(b"HTTP/1.1 100 Continue\r\n\r\n")(connection)
    wait_for_the_end(connection)


def repeat(start, line):
    """Send a line again and again, until the connection ends."""

    def serve(connection):
        receive(connection)
        connection.sendall(start)
        with suppress(OSError):
            while True:
                connection.sendall(line)

    return serve


def test_the_status_is_returned_without_the_body():
    with listening(say(b"HTTP/1.1 204 No Content\r\nContent-Length: 9999\r\n\r\nx")) as url:
        assert send(url).status == 204


def test_a_redirect_is_not_followed():
    with listening(say(b"HTTP/1.1 307 Moved\r\nLocation: /\r\n\r\n")) as url:
        assert send(url).status == 307


def test_no_proxy_is_used(monkeypatch):
    with listening(hang_up) as proxy, listening(say(b"HTTP/1.1 200 OK\r\n\r\n")) as url:
        monkeypatch.setenv("http_proxy", proxy)
        assert send(url).status == 200


@pytest.mark.parametrize(
    ("serve", "reason"),
    [
        pytest.param(wait_for_the_end, "timeout", id="silence"),
        pytest.param(promise_an_answer, "timeout", id="100"),
        pytest.param(repeat(b"HTTP/1.1 200 OK\r\n", b"X: 1\r\n"), "connection", id="headers"),
        pytest.param(repeat(b"HTTP/1.1 200 ", b"O" * 99), "too large", id="long line"),
        pytest.param(say(b"220 mail.example.org ESMTP\r\n"), "connection", id="no HTTP"),
        pytest.param(hang_up, "connection", id="hung up"),
    ],
)
def test_a_server_that_does_not_answer_ends_at_the_deadline(serve, reason):
    ended = Event()

    def serve_until_the_end(connection):
        serve(connection)
        ended.set()

    with listening(serve_until_the_end) as url:
        with pytest.raises(OutgoingError, match=reason):
            send(url, SOON if reason == "timeout" else LATE)
        assert ended.wait(30)  # the connection was closed


@pytest.fixture
def looked_up(monkeypatch):
    """Return a function that lets every host have these addresses, after an action."""

    def let(addresses, action=lambda: None):
        def look_up(*_arguments, **_options):
            action()
            return [(socket.AF_INET, socket.SOCK_STREAM, 0, "", each) for each in addresses]

        monkeypatch.setattr(socket, "getaddrinfo", look_up)

    return let


def test_a_name_look_up_that_hangs_ends_at_the_deadline(looked_up):
    released, requests, received = Event(), [], []

    def hang():
        requests.append(current_thread())
        assert released.wait(30)

    with listening(received.append) as url:
        looked_up([("127.0.0.1", urlsplit(url).port)], hang)
        with pytest.raises(OutgoingError, match="timeout"):
            send(url, SOON)
        released.set()
        requests[0].join(30)
        assert not requests[0].is_alive()
    assert received == []  # it did not connect any more


def test_a_few_addresses_of_a_host_are_tried_within_the_deadline(looked_up, closed_port):
    closed = ("127.0.0.1", closed_port)
    with listening(say(b"HTTP/1.1 200 OK\r\n\r\n")) as url:
        opened = ("127.0.0.1", urlsplit(url).port)
        looked_up([closed, closed, opened])
        assert send(url).status == 200
        looked_up([closed, closed, closed, opened])
        with pytest.raises(OutgoingError, match="connection"):
            send(url)


def test_silent_addresses_share_the_deadline(looked_up, monkeypatch):
    timeouts = []

    class Silent(socket.socket):
        def connect(self, _):
            timeouts.append(self.gettimeout())
            raise TimeoutError

    monkeypatch.setattr(socket, "socket", Silent)
    looked_up([("127.0.0.1", 1)] * 15)
    with pytest.raises(OutgoingError, match="timeout"):
        send("https://app.example.org/", LATE)
    assert timeouts == [LATE / 3] * 3


def test_the_next_address_is_not_tried_after_the_deadline(looked_up, monkeypatch):
    released, requests = Event(), []

    class Silent(socket.socket):
        def connect(self, _):
            requests.append(current_thread())
            assert released.wait(30)
            raise TimeoutError

    monkeypatch.setattr(socket, "socket", Silent)
    looked_up([("127.0.0.1", 1)] * 3)
    with pytest.raises(OutgoingError, match="timeout"):
        send("http://localhost/", SOON)  # TLS takes longer to begin
    released.set()
    requests[0].join(30)
    assert len(requests) == 1


def test_without_threads_there_is_no_answer(monkeypatch):
    def refuse(_):
        raise RuntimeError

    monkeypatch.setattr("threading.Thread.start", refuse)
    with pytest.raises(OutgoingError, match="connection"):
        send("https://app.example.org/")


@contextmanager
def listening_with_tls(certificate):
    """Answer requests over TLS; yields the URL, and the protocols that were agreed upon."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    context.set_alpn_protocols(["h2", "http/1.1"])
    protocols = []

    def serve(connection):
        with suppress(OSError), context.wrap_socket(connection, server_side=True) as wrapped:
            protocols.append(wrapped.selected_alpn_protocol())
            say(b"HTTP/1.1 200 OK\r\n\r\n")(wrapped)

    with listening(serve) as url:
        yield url.replace("http://127.0.0.1", "https://localhost"), protocols


def test_the_certificate_is_verified_as_the_environment_says_now(certificate, monkeypatch):
    with listening_with_tls(certificate) as (url, _):
        with pytest.raises(OutgoingError, match="unknown authority, see SSL_CERT_FILE"):
            send(url)
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        assert send(url).status == 200
        monkeypatch.delenv("SSL_CERT_FILE")
        with pytest.raises(OutgoingError, match="unknown authority, see SSL_CERT_FILE"):
            send(url)


def test_the_certificates_of_authorities_are_read_once(certificate, monkeypatch):
    made, make = [], ssl.create_default_context

    def count():
        made.append(make())
        return made[-1]

    monkeypatch.setattr(ssl, "create_default_context", count)
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    monkeypatch.setenv("SSL_CERT_DIR", "/nowhere")  # no other test does
    with listening_with_tls(certificate) as (url, protocols):
        assert [send(url).status for _ in range(3)] == [200] * 3
        monkeypatch.delenv("SSL_CERT_DIR")
        send(url)
    assert len(made) == 2
    assert protocols == ["http/1.1"] * 4


def test_a_host_name_can_end_with_the_dot_of_the_root(certificate, monkeypatch, looked_up):
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    with listening_with_tls(certificate) as (url, _):
        looked_up([("127.0.0.1", urlsplit(url).port)])
        assert send(url.replace("localhost", "localhost.")).status == 200


PUBLIC = [
    *("93.184.216.34", "2606:2800:21f:cb07:6820:80da:af6b:8b2c"),
    *("::ffff:8.8.8.8", "2002:808:808::1", "2001:0:1:1::f7f7:f7f7"),  # the last one is Teredo
]
OTHERS = [
    *("0.0.0.0", "10.0.0.1", "100.64.0.1", "127.0.0.1", "169.254.169.254"),  # noqa: S104 - refused
    *("172.31.0.1", "192.0.0.8", "192.0.2.1", "192.88.99.1", "192.168.1.1", "198.18.0.1"),
    *("198.51.100.1", "203.0.113.1", "224.0.0.1", "240.0.0.1", "255.255.255.255"),
    *("::", "::1", "fe80::1", "fe80::1%eth0", "fc00::1", "ff02::1", "fec0::1", "2001:db8::1"),
    *("3fff::1", "100::1", "5f00::1", "2001:10::1", "64:ff9b:1::1"),
    # IPv4 inside: mapped, compatible, of NAT64, 6to4 and Teredo.
    *("::ffff:10.0.0.1", "::127.0.0.1", "64:ff9b::169.254.169.254"),
    *("2002:a00:1::", "2002:7f00:1::", "2001::f5ff:fffe"),
]


@pytest.mark.promise(93)
def test_public_addresses_are_told_from_those_of_networks_of_their_own():
    assert [each for each in PUBLIC if not is_public(each)] == []
    assert [each for each in OTHERS if is_public(each)] == []


@pytest.mark.promise(93)
@pytest.mark.parametrize("address", ["127.0.0.1", "169.254.169.254", "10.0.0.1"])
def test_one_address_of_the_own_network_refuses_the_host_without_a_connection(looked_up, address):
    received = []
    with listening(received.append) as url:
        port = urlsplit(url).port
        looked_up([("93.184.216.34", port), (address, port)])
        with pytest.raises(OutgoingError, match=r"^address$"):
            send(f"http://app.example.org:{port}/", is_public=True)
    assert received == []


@pytest.mark.promise(93)
def test_a_name_without_an_address_gets_the_same_reason():
    with pytest.raises(OutgoingError, match=r"^address$"):
        send("https://no-such-host.invalid/", is_public=True)
    with pytest.raises(OutgoingError, match=r"^connection$"):
        send("https://no-such-host.invalid/")


@pytest.mark.promise(93)
def test_a_name_that_changes_its_address_after_the_look_up_leads_nowhere_else(monkeypatch):
    looked = []
    with listening(say(b"HTTP/1.1 200 OK\r\n\r\n")) as url, listening(hang_up) as own_network:
        ports = [urlsplit(each).port for each in (url, own_network)]

        def look_up(*_arguments, **_options):
            looked.append(ports[len(looked)])
            return [(socket.AF_INET, socket.SOCK_STREAM, 0, "", ("127.0.0.1", looked[-1]))]

        monkeypatch.setattr(socket, "getaddrinfo", look_up)
        monkeypatch.setattr(outgoing, "is_public", lambda _: True)
        assert send("http://app.example.org/", is_public=True).status == 200
    assert len(looked) == 1


def test_a_reply_has_the_body_and_the_headers():
    with listening(say(b"HTTP/1.1 200 OK\r\nAge: 7\r\n\r\nbody")) as url:
        reply = send(url, body=None, max_size=4)
    assert (reply.status, reply.headers["Age"], reply.body) == (200, "7", b"body")
    assert (repr(reply), repr(Request(url))) == ("<Reply 200>", "<Request>")


def test_the_request_names_its_host_and_has_no_credentials():
    received = []

    def serve(connection):
        received.append(receive(connection))

    with listening(serve) as url, suppress(OutgoingError):
        send(f"{url}/a?b=c", body=None, headers={"Accept": "application/json"})
    lines = received[0].decode().split("\r\n")
    assert lines[0] == "GET /a?b=c HTTP/1.1"
    assert sorted(lines[1:-2]) == [
        "Accept-Encoding: identity",
        "Accept: application/json",
        "Connection: close",
        f"Host: {urlsplit(url).netloc}",
        "User-Agent: wsgiauth",
    ]


@pytest.mark.parametrize(
    ("serve", "reason"),
    [
        pytest.param(say(b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * 11), "too large", id="too large"),
        pytest.param(
            repeat(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"1\r\nx\r\n"),
            "too large",
            id="without an end",
        ),
        pytest.param(
            say(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nx"), "connection", id="cut off"
        ),
    ],
)
def test_the_size_of_a_body_is_bounded(serve, reason):
    with listening(serve) as url, pytest.raises(OutgoingError, match=reason):
        send(url, max_size=10)


@pytest.mark.promise(93)
@pytest.mark.parametrize(
    ("start", "more"),
    [
        pytest.param(b"HTTP/1.1 200 OK\r\n", b"X: " + b"x" * 60_000 + b"\r\n", id="headers"),
        pytest.param(b"HTTP/1.1 100 Continue\r\n\r\n", b"HTTP/1.1 100 Continue\r\n\r\n", id="100"),
        pytest.param(
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
            b"1;" + b"x" * 60_000 + b"\r\nx\r\n",
            id="extensions of chunks",
        ),
        pytest.param(
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n",
            b"X: x\r\n",
            id="trailers",
        ),
    ],
)
def test_what_is_around_a_body_is_bounded_too(start, more):
    with listening(repeat(start, more)) as url, pytest.raises(OutgoingError, match="too large"):
        send(url, max_size=10_000)


def test_no_more_than_the_bound_is_kept_of_a_chunk_of_negative_length():
    chunks = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n"
    endless = listening(repeat(chunks, b"x" * 1000))
    with endless as url, pytest.raises(OutgoingError, match="too large"):
        send(url, 5, max_size=10)
    with listening(say(chunks + b"x")) as url, pytest.raises(OutgoingError, match="connection"):
        send(url, max_size=10)


def test_a_body_that_drips_ends_at_the_deadline():
    def drip(connection):
        say(b"HTTP/1.1 200 OK\r\n\r\n")(connection)
        with suppress(OSError):
            while not ended.wait(SOON / 4):  # each byte is in time
                connection.sendall(b"x")

    ended = Event()
    with listening(drip) as url:
        with pytest.raises(OutgoingError, match="timeout"):
            send(url, SOON, max_size=10_000)
        ended.set()


def test_the_body_of_a_redirect_is_not_read():
    with listening(say(b"HTTP/1.1 302 Found\r\nLocation: /\r\n\r\nbody")) as url:
        assert send(url, max_size=10).body == b""


def test_further_requests_are_refused_while_all_slots_are_taken(monkeypatch):
    slots = BoundedSemaphore(1)
    with listening(say(b"HTTP/1.1 200 OK\r\n\r\n")) as url:
        with slots, pytest.raises(OutgoingError, match="busy"):
            send(url, slots=slots)
        for _ in range(2):
            assert send(url, slots=slots).status == 200
        with monkeypatch.context() as patch:
            patch.setattr("threading.Thread.start", _refuse)
            with pytest.raises(OutgoingError, match="connection"):
                send(url, slots=slots)
        assert send(url, slots=slots).status == 200


def _refuse(_):
    raise RuntimeError


class Tunnel:
    """A proxy that answers CONNECT, and plays the server behind it."""

    def __init__(self, answer):
        self._answer = answer
        self.received = b""

    def __call__(self, connection):
        while not self.received.endswith(b"\r\n\r\n"):
            self.received += connection.recv(65536)
        connection.sendall(self._answer)
        with suppress(OSError):  # refused
            say(b"HTTP/1.1 200 OK\r\n\r\n")(connection)


@pytest.mark.promise(93)
@pytest.mark.parametrize(
    ("address", "literal"),
    [("93.184.216.34", "93.184.216.34"), ("2606:2800::1", "[2606:2800::1]")],
)
def test_a_proxy_gets_the_address_that_was_looked_at(monkeypatch, address, literal):
    tunnel = Tunnel(b"HTTP/1.1 200 OK\r\n\r\n")
    look_up = socket.getaddrinfo
    found = [(socket.AF_INET, socket.SOCK_STREAM, 0, "", (address, 80))]

    def look_up_app(host, *arguments, **options):
        return found if host == "app.example.org" else look_up(host, *arguments, **options)

    monkeypatch.setattr(socket, "getaddrinfo", look_up_app)
    with listening(tunnel) as url:
        proxy = Proxy("127.0.0.1", urlsplit(url).port, {"Proxy-Authorization": "Basic eDp5"})
        assert send("http://app.example.org/", proxy=proxy, is_public=True).status == 200
        assert tunnel.received.startswith(f"CONNECT {literal}:80 HTTP/1.".encode())
        assert b"Proxy-Authorization: Basic eDp5" in tunnel.received
        for host in ("app.example.org", "[2606:2800::1]"):
            tunnel.received = b""
            assert send(f"http://{host}/", proxy=proxy).status == 200
            assert tunnel.received.startswith(f"CONNECT {host}:80 HTTP/1.".encode())


@pytest.mark.parametrize(
    ("serve", "reason"),
    [(Tunnel(b"HTTP/1.1 403 No\r\n\r\n"), "proxy"), (wait_for_the_end, "timeout")],
    ids=["refuses", "silent"],
)
def test_a_proxy_without_a_tunnel_is_named(serve, reason):
    with listening(serve) as url:
        proxy = Proxy("127.0.0.1", urlsplit(url).port, {})
        deadline = SOON if reason == "timeout" else LATE
        with pytest.raises(OutgoingError, match=reason):
            send("http://app.example.org/", deadline, proxy=proxy)
