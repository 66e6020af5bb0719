"""`python -m wsgiauth serve`: what it serves, how it ends, and what it refuses."""

import gzip
import io
import json
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from http.client import HTTPConnection
from tempfile import TemporaryFile
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
import waitress
from waitress import wasyncore

from tests.support.sites import EMAIL, PASSWORD, SECRET_KEY, USERNAME, free_port
from wsgiauth import storage
from wsgiauth.cli import connections as limits
from wsgiauth.cli import graceful, main
from wsgiauth.cli.serve import MAX_BODY, MAX_BODY_ALONE

HELLO = """

from wsgiauth import AuthMiddleware, Group

def view(environ, start_response):
    import later

    start_response("200 OK", [("Content-Type", "text/plain"), ("Content-Length", "5")])
    return [later.GREETING]

application = AuthMiddleware(view)
Group.objects.create(name="Editors")
not_callable = 1
"""
SEEN = """
def application(environ, start_response):
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [f"{environ['REMOTE_ADDR']} {environ['wsgi.url_scheme']}".encode()]
"""
SLOW = """
import pathlib, time
def application(environ, start_response):
    pathlib.Path("begun").touch()
    while not pathlib.Path("go_on").exists():
        time.sleep(0.01)
    start_response("200 OK", [("Content-Type", "text/plain"), ("Content-Length", "1000000")])
    return [b"x" * 1_000_000]
"""
MAILING = """
import time
from wsgiauth import AuthMiddleware

def send(message):
    time.sleep(0.2)
    sent.append(message["To"])

sent = []
application = AuthMiddleware(lambda environ, start_response: [], send_mail=send)
"""
ASKING = """
import os, socket
try:
    socket.create_connection(("127.0.0.1", int(os.environ["PORT"]))).close()
    seen = b"accepted"
except ConnectionRefusedError:
    seen = b"refused"

def application(environ, start_response):
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [seen]
"""
LOGGING = """
import logging, sys, threading, warnings
from wsgiauth import AuthMiddleware

logging.basicConfig(level=logging.INFO)

def fail():
    raise ValueError("in a thread")

def view(environ, start_response):
    logging.getLogger("site").info("asked\\nfor")
    print("printed", file=sys.stderr)
    print("error of the view", file=environ["wsgi.errors"])
    warnings.warn("old")
    thread = threading.Thread(target=fail)
    thread.start()
    thread.join()
    raise ValueError("in the view")

application = AuthMiddleware(view)
"""
SERVING = re.compile(r"Serving on (http://(.+):(\d+)/)\n")


@pytest.fixture
def folder(tmp_path, monkeypatch, empty_file):
    """Return the folder of an application, as the current folder."""
    shutil.copy(empty_file, tmp_path / "accounts.db")
    (tmp_path / "hello.py").write_text(HELLO)
    (tmp_path / "seen.py").write_text(SEEN)
    (tmp_path / "later.py").write_text("GREETING = b'Hello'")
    (tmp_path / "mistaken.py").write_text("\n\nprint(undefined_name)")
    (tmp_path / "unconfigured.py").write_text(f"import os; os.environ['SECRET_KEY'] = ''\n{HELLO}")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SECRET_KEY", SECRET_KEY)
    monkeypatch.setenv("DATABASE_URL", "sqlite:///accounts.db")
    return tmp_path


@contextmanager
def process(*arguments):
    """Serve in a process, as the script does, without the folder in its path."""
    script = "import sys; from wsgiauth.cli import main; sys.exit(main())"
    command = [sys.executable, "-P", "-c", script, "serve", *arguments]
    # Its messages go to a file: a process that writes much to a pipe would wait for its reader.
    with (
        TemporaryFile("w+") as errors,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True) as served,
    ):
        served.messages = errors
        try:
            yield served
        finally:
            served.kill()


def messages_of(served):
    served.messages.seek(0)
    return served.messages.read()


def address_of(served):
    matched = SERVING.fullmatch(served.stdout.readline())
    return matched.groups()


@pytest.fixture
def serve_while(folder, monkeypatch):
    """Return a function that serves in this process while a thread asks, and returns the answer.

    The thread gets the address. The server must end without an error, once it is terminated.
    """
    for name in (
        "asking",
        "hello",
        "later",
        "mailing",
        "seen",
        "slow",
    ):  # imported anew, then forgotten
        monkeypatch.setitem(sys.modules, name, None)
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(sys, "path", [*sys.path])
    opened, create_server = [], waitress.create_server

    def create(application, connections, **options):
        opened.append(connections)
        return create_server(application, connections, **options)

    monkeypatch.setattr(waitress, "create_server", create)
    monkeypatch.setattr(graceful, "GRACE", 60)  # on a busy machine, a test takes its time
    before = signal.signal(signal.SIGTERM, signal.SIG_IGN)  # a late one must not end the tests

    def serve(ask, *arguments, listen="127.0.0.1:0"):
        def ask_and_terminate(address):
            try:
                return ask(address)
            finally:
                terminate()

        class Output(io.StringIO):
            """Standard output, which is flushed when the server has said where it serves."""

            def flush(self):
                if not asked:
                    address = SERVING.fullmatch(self.getvalue())[1]
                    asked.append(thread.submit(ask_and_terminate, address))

        asked = []
        monkeypatch.setattr(sys, "stdout", Output())
        with ThreadPoolExecutor(1) as thread:
            assert main(["serve", *arguments, "--listen", listen]) == 0
        return asked[0].result()

    yield serve
    signal.signal(signal.SIGTERM, before)
    for connections in opened:  # which otherwise end with the process
        wasyncore.close_all(connections)
    storage.discard_connection(storage.current())


def terminate():
    """Send SIGTERM to the server of `serve_while`; it waits for connections meanwhile."""
    signal.pthread_kill(threading.main_thread().ident, signal.SIGTERM)


def port_of(address):
    return int(address.rstrip("/").rpartition(":")[2])


@pytest.fixture
def taken_port():
    """Return a port on which another program listens."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield listening.getsockname()[1]


@pytest.mark.parametrize(
    ("number", "status"),
    [
        pytest.param(signal.SIGTERM, 0, id="terminated"),
        pytest.param(signal.SIGINT, 130, id="interrupted"),
    ],
)
def test_it_serves_from_when_it_says_so_until_a_signal(folder, monkeypatch, number, status):
    monkeypatch.setenv("DATABASE_URL", "sqlite:///default.db")
    with process(
        "hello:application", "--listen", "127.0.0.1:0", "--database", "sqlite:///chosen.db"
    ) as served:
        address, host, _ = address_of(served)
        assert host == "127.0.0.1"
        assert urlopen(address).read() == b"Hello"
        served.send_signal(number)
        assert served.wait() == status
        errors = messages_of(served)
    assert "Traceback" not in errors
    assert "AuthMiddleware" not in errors  # which it has: see below
    assert {each.name for each in folder.glob("*.db")} == {"accounts.db", "chosen.db"}


@pytest.fixture
def manager(tmp_path, monkeypatch):
    """Return the socket of a service manager; see `systemd`."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as receiver:
        receiver.settimeout(60)
        receiver.bind(str(tmp_path / "notify"))
        monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "notify"))
        yield receiver


@pytest.mark.parametrize("is_watched", [False, True], ids=["", "watchdog"])
def test_the_service_manager_gets_to_know_when_it_serves_lives_and_ends(
    serve_while, manager, monkeypatch, is_watched
):
    if is_watched:
        monkeypatch.setenv("WATCHDOG_USEC", "30000000")
        monkeypatch.setattr(graceful, "PAUSE", 0.0)

    def ask(address):
        assert manager.recv(100) == b"READY=1"
        assert urlopen(address).read() == b"Hello"
        if is_watched:
            assert manager.recv(100) == b"WATCHDOG=1"

    serve_while(ask, "hello:application")
    said = b""
    while said != b"STOPPING=1":
        said = manager.recv(100)
        assert said == b"STOPPING=1" or (is_watched and said == b"WATCHDOG=1")


def test_a_terminated_process_answers_requests_in_progress_and_refuses_others(folder, serve_while):
    (folder / "slow.py").write_text(SLOW)

    def ask(address):
        with ThreadPoolExecutor() as it:
            answer = it.submit(lambda: urlopen(address).read())
            wait_until((folder / "begun").exists)
            terminate()
            wait_until(lambda: is_refused(port_of(address)))
            (folder / "go_on").touch()
            return answer.result()

    assert len(serve_while(ask, "slow:application")) == 1_000_000


def test_a_terminated_process_answers_a_request_that_has_half_come(serve_while):
    def ask(address):
        with socket.create_connection(("127.0.0.1", port_of(address))) as connection:
            connection.sendall(b"GET / HTTP/1.0\r\n")
            terminate()
            wait_until(lambda: is_refused(port_of(address)))
            connection.sendall(b"\r\n")
            return connection.makefile("rb").read()

    assert serve_while(ask, "hello:application").endswith(b"Hello")


def test_a_terminated_process_answers_on_connections_that_it_has_not_accepted_yet(folder):
    with process("hello:application", "--listen", "127.0.0.1:0") as served, ExitStack() as stack:
        address = ("127.0.0.1", int(address_of(served)[2]))
        served.send_signal(signal.SIGSTOP)
        waiting = [stack.enter_context(socket.create_connection(address)) for _ in range(3)]
        for each in waiting:
            each.sendall(b"GET / HTTP/1.0\r\n\r\n")
        served.send_signal(signal.SIGTERM)
        served.send_signal(signal.SIGCONT)
        for each in waiting:
            assert each.makefile("rb").read().endswith(b"Hello")
        assert served.wait() == 0


def test_a_terminated_process_sends_the_emails_of_its_last_requests(
    folder, serve_while, monkeypatch
):
    monkeypatch.setenv("MAIL_FROM", EMAIL)
    monkeypatch.setenv("PUBLIC_URL", "https://example.org")
    (folder / "mailing.py").write_text(MAILING)

    def ask(address):
        fields = {"username": USERNAME, "email": EMAIL, "password": PASSWORD}
        headers = {"Content-Type": "application/json"}
        return urlopen(
            Request(f"{address}auth/register", json.dumps(fields).encode(), headers)
        ).status

    assert serve_while(ask, "mailing:application") == 201
    assert sys.modules["mailing"].sent == [EMAIL]


@pytest.mark.slow
def test_a_terminated_process_ends_although_it_can_accept_no_more_connections(folder):
    command = "import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))"
    (folder / "few.py").write_text(f"{command}\nfrom hello import application\n")
    with process("few:application", "--listen", "127.0.0.1:0") as served, ExitStack() as stack:
        address = ("127.0.0.1", int(address_of(served)[2]))
        for _ in range(100):
            stack.enter_context(socket.create_connection(address))
        served.send_signal(signal.SIGTERM)
        assert served.wait(60) == 0


@pytest.mark.promise(15)
def test_half_requests_of_a_client_keep_no_other_request_from_being_answered(serve_while):
    def ask(address):
        with ExitStack() as stack:
            for _ in range(150):
                open_half(stack, address)
            return urlopen(address, timeout=60).read()

    assert serve_while(ask, "hello:application") == b"Hello"


@pytest.mark.promise(15)
def test_half_requests_of_several_clients_make_room_for_another(serve_while):
    """Together they have more than the server accepts, and each less than one of them can have."""

    def ask(address):
        with ExitStack() as stack:
            for number in range(150):
                open_half(stack, address, f"127.0.0.{2 + number % 5}")
            return urlopen(address, timeout=60).read()

    assert serve_while(ask, "hello:application") == b"Hello"


@pytest.mark.promise(15)
def test_requests_whose_answers_a_client_does_not_read_keep_no_other_from_an_answer(
    folder, serve_while
):
    (folder / "slow.py").write_text(SLOW)
    (folder / "go_on").touch()

    def ask(address):
        with ExitStack() as stack:
            for _ in range(8):  # more than there are threads; each answer has a megabyte
                open_half(stack, address, begin=b"GET / HTTP/1.1\r\nHost: a\r\n\r\n" * 100)
            return len(urlopen(address, timeout=60).read())

    assert serve_while(ask, "slow:application") == 1_000_000


@pytest.mark.promise(15)
def test_a_client_that_reads_no_answer_is_closed(folder, serve_while, monkeypatch):
    def close_and_count(server):
        before = len(server.active_channels)
        limits.close_stalled(server)
        closed.extend(range(before - len(server.active_channels)))

    closed = []
    monkeypatch.setattr(limits, "STALLED", 0.1)
    monkeypatch.setattr(graceful, "close_stalled", close_and_count)
    (folder / "slow.py").write_text(SLOW)
    (folder / "go_on").touch()

    def ask(address):
        with ExitStack() as stack:
            begin = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n" * 16
            unread = [open_half(stack, address, begin=begin) for _ in range(3)]
            wait_until(lambda: len(closed) == len(unread))
            return {len(rest_of_answer(each, b"")) < 16_000_000 for each in unread}

    assert serve_while(ask, "slow:application") == {True}


def test_above_the_limit_of_a_client_its_connection_that_waits_longest_is_closed(
    serve_while, caplog
):
    def ask(address):
        with ExitStack() as stack:
            opened = [open_half(stack, address, begin=b"") for _ in range(4)]
            closed = [rest_of_answer(each, b"") for each in opened[:2]]
            return closed, [rest_of_answer(each, whole)[-5:] for each in opened[2:]]

    whole = b"GET / HTTP/1.0\r\n\r\n"
    option = ("--max-connections-per-client", "2")
    assert serve_while(ask, "hello:application", *option) == ([b"", b""], [b"Hello", b"Hello"])
    (warning,) = caplog.messages
    assert warning.startswith("127.0.0.1 has more than 2 connections: those that wait")


@pytest.mark.parametrize(
    "option",
    [
        pytest.param(["--max-connections-per-client", "0"], id="no limit"),
        pytest.param(["--trusted-proxy", "127.0.0.1"], id="a proxy"),
        pytest.param(["--trusted-proxy", "*"], id="any proxy"),
    ],
)
def test_a_proxy_has_no_limit_of_connections(serve_while, option):
    def ask(address):
        with ExitStack() as stack:
            opened = [open_half(stack, address) for _ in range(60)]
            return {rest_of_answer(each)[-5:] for each in opened}

    assert serve_while(ask, "hello:application", *option) == {b"Hello"}


def test_a_new_connection_is_closed_while_all_others_of_the_client_are_answered(
    folder, serve_while
):
    (folder / "slow.py").write_text(SLOW)

    def ask(address):
        with ThreadPoolExecutor() as it, ExitStack() as stack:
            answer = it.submit(body_of, address)
            wait_until((folder / "begun").exists)
            refused = rest_of_answer(open_half(stack, address))
            (folder / "go_on").touch()
            return refused, len(answer.result())

    answers = serve_while(ask, "slow:application", "--max-connections-per-client", "1")
    assert answers == (b"", 1_000_000)


def test_an_upload_is_closed_after_connections_without_a_whole_head(serve_while):
    upload = b"POST / HTTP/1.1\r\nConnection: close\r\nContent-Length: 2\r\n\r\n1"

    def ask(address):
        with ExitStack() as stack:
            uploading = open_half(stack, address, begin=upload)
            halves = [open_half(stack, address) for _ in range(2)]
            closed = rest_of_answer(halves[0], b"")
            return closed, rest_of_answer(uploading, b"2")[-5:], rest_of_answer(halves[1])[-5:]

    option = ("--max-connections-per-client", "2")
    assert serve_while(ask, "hello:application", *option) == (b"", b"Hello", b"Hello")


def open_half(stack, address, source="127.0.0.1", begin=b"GET / HTTP/1.0\r\n"):
    """Return a connection with the beginning of a request."""
    connection = stack.enter_context(socket.socket())
    connection.settimeout(60)
    connection.bind((source, 0))
    connection.connect(("127.0.0.1", port_of(address)))
    connection.sendall(begin)
    return connection


def rest_of_answer(connection, end=b"\r\n"):
    """Send the end of a request, and return what is answered; b"" if the server has closed it."""
    try:
        connection.sendall(end)
        return connection.makefile("rb").read()
    except (BrokenPipeError, ConnectionResetError):
        return b""


def wait_until(condition):
    end = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def is_refused(port):
    try:
        socket.create_connection(("127.0.0.1", port)).close()
    except ConnectionRefusedError:
        return True
    except ConnectionResetError:  # it has just stopped listening
        return False
    return False


def test_connections_are_refused_until_the_application_is_imported(
    folder, serve_while, monkeypatch
):
    """So a proxy sends requests to another process, also if this one then refuses to start."""
    (folder / "asking.py").write_text(ASKING)
    monkeypatch.setenv("PORT", str(port := free_port()))
    listen = f"127.0.0.1:{port}"
    assert serve_while(body_of, "asking:application", listen=listen) == b"refused"


def body_of(address):
    return urlopen(address).read()


def test_localhost_is_the_address_that_every_browser_tries(serve_while):
    def ask(address):
        assert address.startswith("http://localhost:")
        assert urlopen(address).read() == b"Hello"
        socket.create_connection(("127.0.0.1", port_of(address))).close()

    serve_while(ask, "hello:application", listen="localhost:0")


def test_an_ipv6_address_is_shown_in_brackets(serve_while):
    if not socket.has_dualstack_ipv6():
        pytest.skip("this machine has no IPv6")
    address = serve_while(str, "hello:application", listen="[::1]:0")
    assert address.startswith("http://[::1]:")


@pytest.mark.parametrize(
    ("arguments", "most"),
    [
        pytest.param(["seen:application", "--max-body", "1000"], 1000, id="as it is set"),
        pytest.param(["seen:application"], MAX_BODY, id="an application"),
        pytest.param([], MAX_BODY_ALONE, id="the login alone"),
        pytest.param(["--max-body", "1000"], 1000, id="the login alone, as it is set"),
    ],
)
def test_a_body_that_is_too_long_is_refused_before_it_comes(serve_while, arguments, most):
    head = f"POST /auth/login HTTP/1.1\r\nContent-Length: {most + 1}\r\n\r\n"
    answered = serve_while(partial(status_line, head.encode()), *arguments)
    assert answered == "HTTP/1.1 413 Request Entity Too Large"


def test_a_body_of_the_greatest_length_reaches_the_application(serve_while):
    request = b"POST / HTTP/1.1\r\nContent-Length: 1000\r\n\r\n" + b"x" * 1000
    ask = partial(status_line, request)
    assert serve_while(ask, "seen:application", "--max-body", "1000") == "HTTP/1.1 200 OK"


def test_a_chunked_body_is_refused_as_soon_as_it_is_too_long(serve_while):
    head = b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nfffff\r\n"
    ask = partial(status_line, head + b"x" * 1001)
    answered = serve_while(ask, "seen:application", "--max-body", "1000")
    assert answered.startswith("HTTP/1.1 413 ")


def status_line(request, address):
    """Return the first line of the answer to a request, which need not be complete."""
    with socket.create_connection(("127.0.0.1", port_of(address))) as connection:
        connection.sendall(request)
        return connection.makefile("rb").readline().decode().rstrip()


def answer(address, path, **headers):
    """Return the status, the Location and the body of an answer, without following redirects."""
    with closing(HTTPConnection(address.split("/")[2])) as connection:
        connection.request("GET", path, headers=headers)
        response = connection.getresponse()
        return response.status, response.headers["Location"], response.read().decode()


def test_without_an_application_the_login_is_served_alone(serve_while):
    assert serve_while(lambda address: answer(address, "/auth/check"))[0] == 401


def test_pages_are_compressed(serve_while):
    def ask(address):
        page = Request(f"{address}auth/login", headers={"Accept-Encoding": "gzip"})
        with urlopen(page) as response:
            return response.read()

    assert b"</html>" in gzip.decompress(serve_while(ask))


@pytest.mark.promise(48)
@pytest.mark.parametrize("application", ["hello:application", "seen:application"])
def test_its_options_restrict_an_application_that_has_accounts_or_not(serve_while, application):
    rules = ["--public", "/", "--public", "/open/", "--require", "/open/secret/=code.secret"]
    paths = {"/": 200, "/open/a": 200, "/other": 401, "/open/secret": 401, "/auth/login": 200}

    def ask(address):
        return {path: answer(address, path)[0] for path in paths}

    assert serve_while(ask, application, *rules) == paths


def test_an_application_without_accounts_is_served_with_a_warning(folder):
    with process("seen:application", "--listen", "127.0.0.1:0") as served:
        address_of(served)
        served.terminate()
        served.wait(60)
        warned = "warning: seen:application has no AuthMiddleware: nothing needs a login."
        assert warned in messages_of(served)


def test_rules_need_an_application(folder, capsys):
    with pytest.raises(SystemExit, match="2"):
        main(["serve", "--require", "/"])
    assert "--require and --public need an application" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "seen"),
    [
        pytest.param(["--trusted-proxy", "127.0.0.1"], "192.0.2.1 https", id="a proxy"),
        pytest.param(["--trusted-proxy", "*"], "192.0.2.1 https", id="any proxy"),
        pytest.param(["--trusted-proxy", "192.0.2.2"], "127.0.0.1 http", id="another proxy"),
    ],
)
@pytest.mark.slow
def test_what_a_trusted_proxy_says_is_believed(folder, arguments, seen):
    with process("seen:application", "--listen", "127.0.0.1:0", *arguments) as served:
        forwarded = {"X-Forwarded-For": "192.0.2.9, 192.0.2.1", "X-Forwarded-Proto": "https"}
        assert answer(address_of(served)[0], "/", **forwarded)[2] == seen


def test_the_answer_to_head_has_no_body_that_could_be_the_next_answer(serve_while):
    def ask(address):
        to = ("127.0.0.1", port_of(address))
        with socket.create_connection(to) as connection, connection.makefile("rb") as answers:
            connection.sendall(
                b"HEAD / HTTP/1.1\r\n\r\nGET / HTTP/1.1\r\nConnection: close\r\n\r\n"
            )
            return answers.read()

    first, _, second = serve_while(ask, "hello:application").partition(b"\r\n\r\n")
    assert b"Content-Length: 5" in first
    assert (second[:15], second[-9:]) == (b"HTTP/1.1 200 OK", b"\r\n\r\nHello")


@pytest.mark.slow
def test_changes_at_the_import_are_those_of_the_application(folder):
    with process("hello:application", "--listen", "127.0.0.1:0") as served:
        address_of(served)
    trail = [sys.executable, "-m", "wsgiauth", "events", "--actor", "code"]
    assert "created Editors" in subprocess.check_output(trail, text=True)


def test_an_application_that_cannot_be_served_is_refused_in_a_sentence(folder, monkeypatch, capsys):
    for name in ("hello", "unconfigured"):  # imported anew, and forgotten afterwards
        monkeypatch.setitem(sys.modules, name, None)
        monkeypatch.delitem(sys.modules, name)
    is_missing, name_it = "there is no module", "name its WSGI application, as in hello:application"
    for application, reason in {
        "nowhere:app": f"{is_missing} 'nowhere'; run this command in the folder of the application",
        "hello.py:app": f"{is_missing} 'hello.py'; name the module 'hello', without .py",
        "hello:app": f"'hello' has no 'app'; {name_it}",
        "hello:not_callable": "hello:not_callable is not callable; name a WSGI application, as in"
        " hello:application",
        "unconfigured:application": "SECRET_KEY must be set",
    }.items():
        assert main(["serve", application, "--listen", "127.0.0.1:0"]) == 1
        output, errors = capsys.readouterr()
        assert output == ""
        assert errors.startswith(f"wsgiauth: {reason}")
        assert errors.count("\n") == 1


def test_a_mistake_in_the_application_is_shown_with_its_place(folder, capsys):
    assert main(["serve", "mistaken:application", "--listen", "127.0.0.1:0"]) == 1
    *traceback, sentence = capsys.readouterr().err.splitlines()
    assert any('mistaken.py", line 3' in line for line in traceback)
    reason = "NameError: name 'undefined_name' is not defined"
    assert sentence == f"wsgiauth: 'mistaken' cannot be imported: {reason}"


def test_what_is_wrong_with_the_application_is_said_before_a_port_in_use(
    folder, capsys, taken_port
):
    for application, reason in {
        "nosuch:app": "there is no module 'nosuch'; run this",
        "seen:app": "'seen' has no 'app'; name its WSGI",
        "mistaken:app": "'mistaken' cannot be imported: NameError",
    }.items():
        assert main(["serve", application, "--listen", f"127.0.0.1:{taken_port}"]) == 1
        errors = capsys.readouterr().err
        assert errors.splitlines()[-1].startswith(f"wsgiauth: {reason}")


def test_a_port_in_use_is_refused(folder, capsys, taken_port):
    assert main(["serve", "seen:application", "--listen", f"127.0.0.1:{taken_port}"]) == 1
    assert capsys.readouterr() == (
        "",
        f"wsgiauth: port {taken_port} is in use; stop the program that uses it, or choose another"
        f" port with --listen 127.0.0.1:{taken_port + 1}\n",
    )


@pytest.mark.parametrize(
    ("listen", "address"),
    [("192.0.2.1:80", "192.0.2.1:80"), ("[2001:db8::1]:80", "2001:db8::1:80")],
)
def test_an_address_of_another_machine_is_refused(folder, capsys, listen, address):
    assert main(["serve", "seen:application", "--listen", listen]) == 1
    _, errors = capsys.readouterr()
    assert errors.startswith(f"wsgiauth: cannot listen on {address} (")
    assert errors.endswith("); choose another address with --listen HOST:PORT\n")


def test_wrong_usage_is_refused(capsys):
    for arguments, reason in {
        "hello": "'hello' is not of the form MODULE:APPLICATION",
        "a:b --listen 8080": "'8080' is not of the form HOST:PORT",
        "a:b --listen :80": "':80' is not of the form",
        "a:b --listen ::1:80": "'::1:80' is not of the form",
        "a:b --listen x:65536": "'x:65536' is not of the form",
        "--trusted-proxy nginx": "'nginx' is not an IP address",
        "a:b --max-body 1G": "'1G' is not a whole number of 1",
        "a:b --threads 0": "'0' is not a whole number of 1",
        "a:b --max-connections-per-client 01": "'01' is not a whole number of 0",
    }.items():
        with pytest.raises(SystemExit) as exited:
            main(["serve", *arguments.split()])
        assert exited.value.code == 2
        assert reason in capsys.readouterr().err


def test_with_the_option_each_line_of_the_log_is_json(folder):
    (folder / "logging_site.py").write_text(LOGGING)
    arguments = ("logging_site:application", "--listen", "127.0.0.1:0", "--log", "json")
    with process(*arguments) as served:
        address, _, _ = address_of(served)
        guess = json.dumps({"username": "ada", "password": "a guess"}).encode()
        for path, body in (("auth/login", guess), ("view", None)):
            with pytest.raises(HTTPError):
                urlopen(Request(address + path, body, {"Content-Type": "application/json"}))
        served.send_signal(signal.SIGTERM)
        assert served.wait() == 0
        logged = [json.loads(line) for line in messages_of(served).splitlines()]
    # On a busy machine, waitress also logs that requests wait.
    event, *others = [each for each in logged if each.get("logger") != "waitress.queue"]
    assert (event["event"], event["reason"]) == ("login_failed", "no such user")
    assert [(each["logger"], each["message"].partition(":")[0]) for each in others] == [
        ("site", "asked\nfor"),
        ("stderr", "printed"),
        ("stderr", "error of the view"),
        ("py.warnings", f"{folder}/logging_site.py"),
        ("wsgiauth", "uncaught exception in the thread Thread-1 (fail)"),
        ("waitress", "Exception while serving /view"),
    ]
    assert others[-1]["exception"].endswith("ValueError: in the view")


def test_an_application_that_cannot_be_imported_is_two_objects(folder):
    with process("mistaken:application", "--log", "json") as served:
        assert served.wait() == 1
        mistake, refusal = [json.loads(line) for line in messages_of(served).splitlines()]
    assert 'mistaken.py", line 3' in mistake["exception"]
    assert refusal["message"].startswith("wsgiauth: 'mistaken' cannot be imported: NameError")
