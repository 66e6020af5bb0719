"""The request with a logout token: a deadline, whatever the app does, and nothing that it sends."""

import socket
import ssl
from contextlib import contextmanager, suppress
from threading import Event, Thread, current_thread
from urllib.parse import urlsplit

import pytest

from tests.support.mail_servers import make_certificate
from wsgiauth.features.oauth_server.logout_sending import UnansweredError, send

SOON, LATE = 0.2, 30  # seconds


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
    received = b""
    while not received.endswith(b"logout_token=token"):
        received += connection.recv(65536)


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
        assert send(url, "token") == 204


def test_a_redirect_is_not_followed():
    with listening(say(b"HTTP/1.1 307 Moved\r\nLocation: /\r\n\r\n")) as url:
        assert send(url, "token") == 307


def test_no_proxy_is_used(monkeypatch):
    with listening(hang_up) as proxy, listening(say(b"HTTP/1.1 200 OK\r\n\r\n")) as url:
        monkeypatch.setenv("http_proxy", proxy)
        assert send(url, "token") == 200


@pytest.mark.parametrize(
    ("serve", "reason"),
    [
        pytest.param(wait_for_the_end, "timeout", id="silence"),
        pytest.param(promise_an_answer, "timeout", id="100"),
        pytest.param(repeat(b"HTTP/1.1 200 OK\r\n", b"X: 1\r\n"), "connection", id="headers"),
        pytest.param(repeat(b"HTTP/1.1 200 ", b"O" * 99), "connection", id="long line"),
        pytest.param(say(b"220 mail.example.org ESMTP\r\n"), "connection", id="no HTTP"),
        pytest.param(hang_up, "connection", id="hung up"),
    ],
)
def test_an_app_that_does_not_answer_ends_at_the_deadline(serve, reason):
    ended = Event()

    def serve_until_the_end(connection):
        serve(connection)
        ended.set()

    with listening(serve_until_the_end) as url:
        with pytest.raises(UnansweredError, match=reason):
            send(url, "token", SOON if reason == "timeout" else LATE)
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
        with pytest.raises(UnansweredError, match="timeout"):
            send(url, "token", SOON)
        released.set()
        requests[0].join(30)
        assert not requests[0].is_alive()
    assert received == []  # it did not connect any more


def test_a_few_addresses_of_a_host_are_tried_within_the_deadline(looked_up, closed_port):
    closed = ("127.0.0.1", closed_port)
    with listening(say(b"HTTP/1.1 200 OK\r\n\r\n")) as url:
        opened = ("127.0.0.1", urlsplit(url).port)
        looked_up([closed, closed, opened])
        assert send(url, "token") == 200
        looked_up([closed, closed, closed, opened])
        with pytest.raises(UnansweredError, match="connection"):
            send(url, "token")


def test_silent_addresses_share_the_deadline(looked_up, monkeypatch):
    timeouts = []

    class Silent(socket.socket):
        def connect(self, _):
            timeouts.append(self.gettimeout())
            raise TimeoutError

    monkeypatch.setattr(socket, "socket", Silent)
    looked_up([("127.0.0.1", 1)] * 15)
    with pytest.raises(UnansweredError, match="timeout"):
        send("https://app.example.org/", "token", LATE)
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
    with pytest.raises(UnansweredError, match="timeout"):
        send("http://localhost/", "token", SOON)  # TLS takes longer to begin
    released.set()
    requests[0].join(30)
    assert len(requests) == 1


def test_without_threads_there_is_no_answer(monkeypatch):
    def refuse(_):
        raise RuntimeError

    monkeypatch.setattr("threading.Thread.start", refuse)
    with pytest.raises(UnansweredError, match="connection"):
        send("https://app.example.org/", "token")


@pytest.mark.parametrize("is_trusted", [True, False])
def test_the_certificate_is_verified(certificate, monkeypatch, is_trusted):
    if is_trusted:
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)

    def serve(connection):
        with suppress(OSError), context.wrap_socket(connection, server_side=True) as wrapped:
            say(b"HTTP/1.1 200 OK\r\n\r\n")(wrapped)

    with listening(serve) as url:
        https = url.replace("http://127.0.0.1", "https://localhost")
        if is_trusted:
            assert send(https, "token") == 200
        else:
            with pytest.raises(UnansweredError, match="unknown authority, see SSL_CERT_FILE"):
                send(https, "token")
