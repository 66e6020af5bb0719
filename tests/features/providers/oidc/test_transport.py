"""Requests to a provider: bounded in time, size and number, and only over TLS that is verified."""

import gzip
import socket
import threading
import time
from contextlib import suppress

import pytest

from tests.support.hostile_provider import DISCOVERY, Provider
from tests.support.mail_servers import make_certificate
from tests.support.provider_answers import Answer, Drip, Endless, HangUp, Held, Redirect, Slow
from tests.support.sites import free_port
from wsgiauth import storage
from wsgiauth.features.providers.oidc.failures import Failures, ProviderError
from wsgiauth.features.providers.oidc.transport import MAX_SIZE, REST, Request, Response, Transport
from wsgiauth.settings.oidc import parse_proxy
from wsgiauth.web.certificates import UNKNOWN_AUTHORITY

pytestmark = pytest.mark.promise(71)

TIMEOUT = 0.25  # seconds; each case of a slow provider takes as long


class Clock:
    now = 2_000_000_000.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def transport(clock):
    return Transport(Failures("Google"), clock, 5)


@pytest.fixture
def hasty(clock):
    return Transport(Failures("Google"), clock, TIMEOUT)


def get(provider, path=DISCOVERY):
    return Request("discovery", provider.url(path))


def refusal(transport, request):
    with pytest.raises(ProviderError) as caught:
        transport.send(request)
    assert caught.value.__cause__ is None
    return caught.value


def test_a_response_is_its_status_and_its_body(provider, transport):
    provider.answers["/keys"] = Answer(503, b"\xff")
    assert transport.send(get(provider, "/keys")) == (503, b"\xff", None, False)
    assert transport.send(get(provider)).status == 200


def test_a_request_says_what_it_accepts_and_brings_no_credentials_of_the_environment(
    provider, transport, monkeypatch, tmp_path
):
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    (tmp_path / ".netrc").write_text("default login ada password canary")
    monkeypatch.setenv("HOME", str(tmp_path))
    form = Request("token", provider.url("/token") + "?a=b", {"X-A": "b"}, "code=1")
    transport.send(form)
    (request,) = provider.requests["/token"]
    assert (request.method, request.query, request.form) == ("POST", {"a": "b"}, {"code": "1"})
    sent = {name: request.headers[name] for name in ("accept", "user-agent", "x-a")}
    assert sent == {"accept": "application/json", "user-agent": "wsgiauth", "x-a": "b"}
    assert request.headers["accept-encoding"] == "identity"
    assert "authorization" not in request.headers


def test_no_redirect_is_followed(provider, transport):
    for status in (300, 301, 302, 303, 304, 307, 308):
        provider.answers["/keys"] = Redirect(provider.url(DISCOVERY), status)
        error = refusal(transport, get(provider, "/keys"))
        assert (error.status, error.reason) == (502, "discovery: redirect")
    assert not provider.requests[DISCOVERY]


def test_the_caller_can_examine_a_redirect(provider, transport):
    request = get(provider, "/keys")._replace(can_have_moved=True)
    for status in (301, 302, 303, 307, 308):
        provider.answers["/keys"] = Redirect("//y/", status)
        assert transport.send(request) == (status, b"", "//y/", False)
    provider.answers["/keys"] = Answer(301)
    assert transport.send(request).location == ""
    for status in (300, 304, 305, 399):
        provider.answers["/keys"] = Redirect(provider.url(DISCOVERY), status)
        assert refusal(transport, request).reason == "discovery: redirect"


LONGEST = b" " * MAX_SIZE


@pytest.mark.parametrize(
    "answer",
    [
        Answer(body=LONGEST + b" "),
        Answer(body=b"x", headers={"Content-Length": "9" * 12, "Connection": "close"}),
        Endless(),
    ],
    ids=["a byte too long", "announced", "endless"],
)
def test_a_body_is_bounded(provider, transport, answer):
    provider.answers[DISCOVERY] = answer
    started_at = time.monotonic()
    assert refusal(transport, get(provider)).status in (502, 503)
    assert time.monotonic() - started_at < 3
    provider.answers[DISCOVERY] = Answer(body=LONGEST)
    transport = Transport(Failures("Google"), Clock(), 5)
    assert transport.send(get(provider)).body == LONGEST


def test_a_bomb_is_not_decompressed(provider, transport):
    bomb = gzip.compress(bytes(10_000_000))
    headers = {"Content-Encoding": "gzip", "Content-Length": str(len(bomb))}
    provider.answers[DISCOVERY] = Answer(body=bomb, headers=headers)
    assert transport.send(get(provider)).body == bomb


@pytest.mark.parametrize(
    "answer",
    [Slow(2), Drip(0.02), Drip(0.02, head=True), Held()],
    ids=["slow", "dripped body", "dripped head", "held"],
)
def test_a_response_that_takes_too_long_is_not_awaited(provider, clock, hasty, answer):
    provider.answers[DISCOVERY] = answer
    started_at = time.monotonic()
    error = refusal(hasty, get(provider))
    assert TIMEOUT <= time.monotonic() - started_at < TIMEOUT + 1
    assert (error.status, error.reason) == (503, "discovery: timeout")
    assert ("Retry-After", str(REST)) in error.headers
    assert_the_slots_are_free()


def assert_the_slots_are_free():
    """Also after a timeout, because the connection was ended."""
    give_up_at = time.monotonic() + 2
    while [each for each in threading.enumerate() if each.name == "wsgiauth request"]:
        assert time.monotonic() < give_up_at
        time.sleep(0.01)


def test_a_broken_response_is_a_failed_connection(provider, clock):
    for answer in (
        HangUp(),
        Answer(headers={"Content-Length": "2", "Connection": "close"}, body=b"x"),
    ):
        provider.answers[DISCOVERY] = answer
        error = refusal(Transport(Failures("Google"), clock, 5), get(provider))
        assert (error.status, error.reason) == (503, "discovery: connection")


def test_headers_without_an_end_are_too_large(provider, clock):
    provider.answers[DISCOVERY] = Endless(head=True)
    error = refusal(Transport(Failures("Google"), clock, 5), get(provider))
    assert (error.status, error.reason) == (502, "discovery: too large")


def test_a_provider_that_cannot_be_reached_is_left_alone_for_a_while(provider, clock, transport):
    with provider.down():
        assert refusal(transport, get(provider)).reason == "discovery: connection"
    clock.now += REST - 1
    error = refusal(transport, get(provider))
    assert (error.status, error.reason) == (503, "discovery: left alone")
    assert not provider.requests
    clock.now += 1
    assert transport.send(get(provider)).status == 200
    assert transport.send(get(provider)).status == 200


def test_a_request_that_a_login_can_do_without_delays_no_other(provider, transport):
    provider.answers["/userinfo"] = HangUp()
    optional = Request("userinfo", provider.url("/userinfo"), is_optional=True)
    assert refusal(transport, optional).reason == "userinfo: connection"
    assert refusal(transport, optional).reason == "userinfo: left alone"
    assert transport.send(get(provider)).status == 200
    assert refusal(transport, optional).reason == "userinfo: left alone"
    with provider.down():
        refusal(transport, get(provider))
    assert refusal(transport, get(provider)).reason == "discovery: left alone"
    assert refusal(transport, optional).reason == "userinfo: left alone"


def test_a_clock_that_is_set_back_does_not_prolong_the_rest(provider, clock, transport):
    with provider.down():
        refusal(transport, get(provider))
    clock.now -= 3600
    assert transport.send(get(provider)).status == 200


def test_a_third_request_at_a_time_is_refused_at_once(provider, clock):
    held = provider.answers[DISCOVERY] = Held()
    transport = Transport(Failures("Google"), clock, 5)
    threads = [threading.Thread(target=transport.send, args=(get(provider),)) for _ in range(2)]
    for each in threads:
        each.start()
    while provider.most_at_once < 2:
        time.sleep(0.005)
    error = refusal(transport, get(provider))
    assert (error.status, error.reason, error.seconds) == (503, "discovery: busy", 1)
    held.release()
    for each in threads:
        each.join()
    assert transport.send(get(provider)).status == 200
    assert provider.most_at_once == 2


def test_a_name_that_is_looked_up_forever_holds_its_slot_alone(clock, hasty, monkeypatch):
    asked, goes_on = [], threading.Event()

    def look_up(*arguments, **_):
        asked.append(arguments[0])
        goes_on.wait(5)
        raise socket.gaierror

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    request = Request("discovery", "https://slow.example.org/")
    reasons = []
    for _ in range(3):
        reasons.append(refusal(hasty, request).reason)
        clock.now += REST
    assert reasons == ["discovery: timeout", "discovery: timeout", "discovery: busy"]
    assert asked == ["slow.example.org"] * 2
    goes_on.set()
    assert_the_slots_are_free()
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: [])
    assert refusal(hasty, request).reason == "discovery: connection"


def test_a_connection_that_is_made_too_late_sends_nothing(provider, hasty, monkeypatch):
    known, goes_on = socket.getaddrinfo, threading.Event()

    def look_up(*arguments, **options):
        goes_on.wait(5)
        return known(*arguments, **options)

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    assert refusal(hasty, get(provider)).reason == "discovery: timeout"
    goes_on.set()
    assert_the_slots_are_free()
    assert not provider.requests


def test_a_proxy_that_answers_without_end_keeps_no_request(clock):
    """Each line of its answer comes before the timeout of the socket."""
    is_closed, listener = threading.Event(), socket.create_server(("127.0.0.1", 0))

    def answer():
        connection = listener.accept()[0]
        with suppress(OSError), connection:
            connection.sendall(b"HTTP/1.1 200 OK\r\n")
            while not is_closed.wait(TIMEOUT / 10):
                connection.sendall(b"a: b\r\n")
        is_closed.set()

    thread = threading.Thread(target=answer)
    thread.start()
    proxy = parse_proxy(f"http://127.0.0.1:{listener.getsockname()[1]}")
    hasty = Transport(Failures("Google"), clock, TIMEOUT, proxy)
    request = Request("discovery", "https://provider.example.org/")
    assert refusal(hasty, request).reason == "discovery: timeout"
    try:
        assert is_closed.wait(10)
    finally:
        is_closed.set()
        thread.join()
        listener.close()


def test_a_pooled_connection_is_given_back_before(provider, transport, tmp_path):
    for pool in ("", "+pool"):
        url = f"sqlite{pool}:///{tmp_path}/accounts.db"
        database = storage.open_database(url, prepare=lambda _: None)
        with storage.context.using(database):
            database.execute_sql("SELECT 1")
            assert not database.is_closed()
            transport.send(get(provider))
            assert database.is_closed() is bool(pool)
            database.close()


def test_a_process_that_can_start_no_thread_is_as_a_failed_connection(
    provider, transport, clock, monkeypatch
):
    def start(_):
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", start)
        for _ in range(3):  # more than there are slots
            assert refusal(transport, get(provider)).reason == "discovery: connection"
            clock.now += REST


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    return make_certificate(tmp_path_factory.mktemp("certificates"), "localhost")


def test_a_certificate_of_an_authority_of_this_host_is_accepted(certificate, clock, monkeypatch):
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    with Provider(certificate=certificate) as provider:
        assert Transport(Failures("Google"), clock, 5).send(get(provider)).status == 200


@pytest.mark.slow
def test_a_response_over_tls_that_takes_too_long_is_ended(certificate, clock, monkeypatch):
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    with Provider(certificate=certificate) as provider:
        provider.answers[DISCOVERY] = Drip(0.02)
        # Time for the handshake, and not for the 900 bytes.
        error = refusal(Transport(Failures("Google"), clock, 1), get(provider))
        assert error.reason == "discovery: timeout"
        assert provider.requests[DISCOVERY]
        assert_the_slots_are_free()


@pytest.mark.parametrize("reason", [UNKNOWN_AUTHORITY, "certificate"])
def test_a_certificate_that_is_not_to_be_trusted_is_refused(
    certificate, clock, monkeypatch, reason, tmp_path
):
    if reason == "certificate":  # of another host
        certificate = make_certificate(tmp_path, "evil.example.org")
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    with Provider(certificate=certificate) as provider:
        error = refusal(Transport(Failures("Google"), clock, 5), get(provider))
        assert (error.status, error.reason) == (502, f"discovery: {reason}")
        assert not provider.requests


def test_a_tls_handshake_that_never_ends_is_not_awaited(hasty):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"https://localhost:{silent.getsockname()[1]}/"
        assert refusal(hasty, Request("keys", url)).reason == "keys: timeout"
    assert_the_slots_are_free()


def test_plain_http_where_tls_is_spoken_fails(provider, transport):
    url = provider.url("/keys").replace("http:", "https:")
    assert refusal(transport, Request("keys", url)).reason == "keys: connection"


class Gatekeeper:
    """Accepts connections as a proxy would, and answers each CONNECT with the next octets."""

    def __init__(self, *answers):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.proxy = parse_proxy(f"http://127.0.0.1:{self.listener.getsockname()[1]}")
        self.answers = answers
        self.asked = []
        self.thread = threading.Thread(target=self.serve)
        self.thread.start()

    def serve(self):
        with self.listener:
            for answer in self.answers:
                connection, _ = self.listener.accept()
                with connection, suppress(OSError):
                    # To close with something unread would reset the connection.
                    head = connection.recv(10_000)
                    while not head.endswith(b"\r\n\r\n") and (more := connection.recv(10_000)):
                        head += more
                    self.asked.append(head.partition(b" HTTP/")[0])
                    if answer is None:
                        connection.recv(10_000)  # until the client gives up
                    else:
                        connection.sendall(answer)
                        connection.shutdown(socket.SHUT_WR)
                        while connection.recv(10_000):  # until the client closes, too
                            pass


def test_a_proxy_that_opens_no_tunnel_is_named(clock):
    answers = {
        b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n": "proxy",
        b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n": "proxy",
        b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1/\r\n\r\n": "proxy",
        b"garbage\r\n\r\n": "proxy",
        b"": "proxy",
        b"HTTP/1.1 200 OK\r\n\r\nno TLS at all": "connection",
    }
    gatekeeper = Gatekeeper(*answers)
    transport = Transport(Failures("Google"), clock, 5, gatekeeper.proxy)
    request = Request("keys", "https://id.example.org/keys")
    found = {}
    for answer in answers:
        error = refusal(transport, request)
        found[answer] = error.reason.removeprefix("keys: ")
        assert error.status == 503
        assert refusal(transport, request).reason == "keys: left alone"
        clock.now += REST
    gatekeeper.thread.join()
    assert found == answers
    assert gatekeeper.asked == [b"CONNECT id.example.org:443"] * len(answers)
    assert_the_slots_are_free()


def test_a_proxy_that_answers_nothing_is_not_awaited(clock):
    gatekeeper = Gatekeeper(None)
    hasty = Transport(Failures("Google"), clock, TIMEOUT, gatekeeper.proxy)
    request = Request("keys", "https://id.example.org/keys")
    error = refusal(hasty, request)
    assert (error.status, error.reason) == (503, "keys: timeout")
    gatekeeper.thread.join()
    assert_the_slots_are_free()


@pytest.mark.parametrize(
    "url",
    ["http://127.0.0.1:{port}", "http://nowhere.invalid:3128"],
    ids=["closed", "no such name"],
)
def test_a_proxy_that_cannot_be_reached_is_named(clock, url):
    proxy = parse_proxy(url.format(port=free_port()))
    transport = Transport(Failures("Google"), clock, 5, proxy)
    error = refusal(transport, Request("keys", "https://id.example.org/keys"))
    assert (error.status, error.reason) == (503, "keys: proxy")


def test_a_proxy_does_not_get_what_stays_on_this_host(provider, clock):
    proxy = parse_proxy(f"http://127.0.0.1:{free_port()}")
    assert Transport(Failures("Google"), clock, 5, proxy).send(get(provider)).status == 200


def test_a_response_can_say_that_there_were_too_many_requests(provider, transport):
    for status, headers, is_limited in (
        (429, {}, True),
        (403, {"Retry-After": "60"}, True),
        (403, {"X-RateLimit-Remaining": "0"}, True),
        (403, {"X-RateLimit-Remaining": "1"}, False),
        (403, {}, False),
        (200, {"X-RateLimit-Remaining": "0"}, False),
        (503, {"Retry-After": "60"}, False),
    ):
        provider.answers["/keys"] = Answer(status, headers={**headers, "Content-Length": "0"})
        response = transport.send(get(provider, "/keys"))
        assert (status, headers, response.is_limited) == (status, headers, is_limited)


def test_no_repr_has_a_secret():
    request = Request("token", "https://example.org/canary", {"a": "canary"}, "canary")
    assert "canary" not in repr(request) + repr(Response(200, b"canary"))
