"""Messages reach a real mail server, encrypted and verified, or it is said why they do not."""

import logging
import socket
import ssl
import threading
from contextlib import contextmanager, suppress

import pytest

from tests.support.mail_servers import (
    HOST,
    PASSWORD,
    USER,
    mail_server,
    make_certificate,
    resolve,
)
from tests.support.sites import free_port
from tests.support.tables import row_by_row
from wsgiauth import Settings
from wsgiauth.mail import smtp
from wsgiauth.mail.letters import Addressed, Letter, Letters, plain_text_of
from wsgiauth.mail.outbox import LEASE
from wsgiauth.mail.site_outbox import make_transport
from wsgiauth.mail.transports import DeliveryError, MailServerError

CREDENTIALS = f"{USER}:{PASSWORD.replace(' ', '%20')}@"
SENDER = "Bücherei <accounts@example.org>"

pytestmark = pytest.mark.promise(34)


class Note(Letter):
    template = "note.txt"

    text: str = "Hello."
    subject: str = "A note"


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    return make_certificate(tmp_path_factory.mktemp("tls"))


@pytest.fixture
def trusted(certificate, monkeypatch):
    """Let this process trust the certificate, and know the name in it."""
    monkeypatch.setenv("SSL_CERT_FILE", f"{certificate}.crt")
    resolve(monkeypatch)
    return certificate


@pytest.fixture
def templates(tmp_path):
    folder = tmp_path / "templates"
    folder.mkdir()
    (folder / "note.txt").write_text("{{ letter.subject }}\n\n{{ letter.text }}\n")
    return folder


@pytest.fixture
def settings_of(templates):
    def settings(url, **changes):
        changes = {"PUBLIC_URL": "https://example.org/shop", "MAIL_FROM": SENDER, **changes}
        return Settings(MAIL_URL=url, TEMPLATES=templates, **changes)

    return settings


@pytest.fixture
def send(settings_of, monkeypatch):
    monkeypatch.setattr(smtp, "TIMEOUT", 120)  # seconds; a machine can stand still for some

    def send(url, address="ada@example.org", **note):
        settings = settings_of(url)
        message = Letters(settings).message(Addressed(Note(**note), address, 1))
        make_transport(settings)(message)

    return send


def refused(send, *arguments, **options):
    with pytest.raises(DeliveryError) as caught:
        send(*arguments, **options)
    assert "ada" not in str(caught.value)
    return caught.value


# A mail server


def test_a_message_reaches_a_server_on_this_host_without_tls(send):
    with mail_server() as (port, received):
        send(f"smtp://127.0.0.1:{port}")
    (message,) = received.messages
    assert message["Subject"] == "A note"
    assert message["From"] == SENDER
    assert message["To"] == "ada@example.org"
    assert message["Auto-Submitted"] == "auto-generated"
    assert message["Date"].datetime
    assert message["Message-ID"].endswith("@example.org>")
    assert plain_text_of(message) == "Hello.\n"
    (envelope,) = received.envelopes
    assert (envelope.mail_from, envelope.rcpt_tos) == ("accounts@example.org", ["ada@example.org"])


def test_a_message_reaches_a_server_with_starttls_and_a_password(send, trusted):
    with mail_server(starttls=trusted, has_login=True) as (port, received):
        send(f"smtp://{CREDENTIALS}{HOST}:{port}")
    assert [each.is_encrypted for each in received.envelopes] == [True]


def test_a_message_reaches_a_server_with_implicit_tls(send, trusted):
    with mail_server(implicit=trusted) as (port, received):
        send(f"smtps://{HOST}:{port}")
    assert [each.is_encrypted for each in received.envelopes] == [True]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of aiosmtpd: a login without TLS
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_message_reaches_a_server_on_this_host_with_a_password(send):
    with mail_server(has_login=True) as (port, received):
        send(f"smtp://{CREDENTIALS}localhost:{port}")
    assert len(received.messages) == 1


def test_a_server_that_drops_starttls_from_its_offer_gets_nothing(send, trusted):
    with mail_server() as (port, received):
        error = refused(send, f"smtp://{HOST}:{port}")
    assert "does not offer STARTTLS" in str(error)
    assert not error.is_final
    assert received.envelopes == []


@pytest.mark.parametrize("kind", ["starttls", "implicit"])
def test_a_server_whose_certificate_is_not_trusted_gets_nothing(
    kind, send, certificate, monkeypatch
):
    resolve(monkeypatch)
    scheme = "smtp" if kind == "starttls" else "smtps"
    with mail_server(**{kind: certificate}) as (port, received):
        error = refused(send, f"{scheme}://{HOST}:{port}")
    assert "unknown authority, see SSL_CERT_FILE: " in str(error)
    assert not error.is_final
    assert received.envelopes == []


def test_a_server_whose_certificate_has_another_name_gets_nothing(send, trusted, tmp_path):
    other = make_certificate(tmp_path, "other.example.org")
    with mail_server(implicit=other) as (port, received):
        refused(send, f"smtps://{HOST}:{port}")
    assert received.envelopes == []


def test_a_wrong_password_is_tried_again_and_not_shown(send, trusted, caplog):
    caplog.set_level(logging.DEBUG)
    with mail_server(starttls=trusted, has_login=True) as (port, _):
        error = refused(send, f"smtp://{USER}:canary@{HOST}:{port}")
    assert (str(error), error.is_final) == ("the mail server refuses the login", False)
    assert "canary" not in caplog.text


def test_a_refusal_of_a_message_is_final_or_not(send):
    with mail_server() as (port, received):
        for command, reply, is_final in (
            ("RCPT", "550 5.1.1 <ada@example.org> unknown", True),
            ("RCPT", "450 4.2.1 <ada@example.org> come back", False),
            ("DATA", "554 5.7.1 spam for ada", True),
            ("DATA", "451 4.3.0 ada, come back", False),
        ):
            received.answers[command].append(reply)
            error = refused(send, f"smtp://127.0.0.1:{port}")
            assert (type(error), error.is_final) == (DeliveryError, is_final), reply
            assert reply[:3] in str(error)


@row_by_row("reply", [b"554 no", b"421 later"])
@row_by_row("before", [0, 1, 2], ids=["greeting", "EHLO", "MAIL"])
def test_a_refusal_of_the_site_is_of_no_message(before, reply, send):
    replies = (*REPLIES[:before], *[reply] * 3)  # after EHLO, HELO is tried
    with scripted_server(replies) as (port, _):
        error = refused(send, f"smtp://127.0.0.1:{port}")
    assert (type(error), error.is_final) == (MailServerError, False)
    assert reply[:3].decode() in str(error)


def test_a_refusal_of_an_international_address_is_of_its_message(send):
    with mail_server() as (port, received):
        received.answers["MAIL"].append("553 5.6.7 no SMTPUTF8")
        error = refused(send, f"smtp://127.0.0.1:{port}", "ädä@example.org")
    assert (type(error), error.is_final) == (DeliveryError, False)


def test_the_answer_to_quit_is_not_awaited(send):
    with scripted_server(REPLIES[:6], patience=5) as (port, conversations):
        send(f"smtp://127.0.0.1:{port}")
    assert conversations == [[*COMMANDS, b"quit", b""]]


# Several messages


@pytest.fixture
def sending(settings_of):
    """Return a function that yields what sends several notes by one connection."""

    @contextmanager
    def connection(port):
        settings = settings_of(f"smtp://127.0.0.1:{port}")
        letters = Letters(settings)
        with make_transport(settings).connection() as send_message:
            yield lambda to="ada@example.org": send_message(
                letters.message(Addressed(Note(), to, 1))
            )

    return connection


def test_several_messages_take_one_connection(sending):
    with mail_server() as (port, received), sending(port) as send:
        for name in "abc":
            send(f"{name}@example.org")
    assert [each["To"][:1] for each in received.messages] == ["a", "b", "c"]
    assert received.connections == 1


def test_a_connection_takes_a_bounded_number_of_messages(sending, monkeypatch):
    monkeypatch.setattr(smtp, "MAILS_PER_CONNECTION", 2)
    with mail_server() as (port, received), sending(port) as send:
        for _ in range(5):
            send()
    assert (len(received.messages), received.connections) == (5, 3)


@pytest.mark.parametrize("command", ["MAIL", "RCPT", "DATA"])
def test_a_message_after_a_refusal_arrives(command, sending):
    with mail_server() as (port, received), sending(port) as send:
        received.answers[command].append("550 no")
        with pytest.raises(DeliveryError):
            send()
        send()
    assert len(received.messages) == 1


@pytest.mark.parametrize("last", [[], [b"421 too many"]], ids=["silent", "with a reply"])
def test_a_connection_that_the_server_ends_is_replaced(last, sending):
    server = scripted_server([*REPLIES[:6], *last], REPLIES[:6])
    with server as (port, conversations), sending(port) as send:
        send()
        send()
    assert conversations[1] == [*COMMANDS, b"quit"]


@pytest.mark.parametrize("before", [7, 9], ids=["RCPT", "end"])
def test_a_message_whose_connection_ends_is_not_sent_again(before, sending):
    replies = [*REPLIES[:6], *REPLIES[2:6]][:before]
    with scripted_server(replies) as (port, _), sending(port) as send:
        send()
        with pytest.raises(DeliveryError) as caught:
            send()
    assert type(caught.value) is DeliveryError


def test_each_message_has_a_deadline_of_its_own(sending, monkeypatch):
    started = []

    class Timer(threading.Timer):
        def start(self):
            super().start()
            started.append(self)

    monkeypatch.setattr(threading, "Timer", Timer)
    with mail_server() as (port, received), sending(port) as send:
        for _ in range(3):
            send()
            assert not started[-1].is_alive()
    assert (len(received.messages), received.connections, len(started)) == (3, 1, 3)


def test_a_server_that_is_away_is_tried_again(send):
    error = refused(send, f"smtp://127.0.0.1:{free_port()}")
    assert (str(error), error.is_final) == ("ConnectionRefusedError", False)


def test_a_server_that_hangs_is_given_up(send, monkeypatch):
    monkeypatch.setattr(smtp, "TIMEOUT", 0.1)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        error = refused(send, f"smtp://127.0.0.1:{silent.getsockname()[1]}")
    assert not error.is_final


REPLIES = (b"220 hello", b"250 hello", b"250 OK", b"250 OK", b"354 go", b"250 OK", b"221 bye")


COMMANDS = (b"ehlo", b"mail", b"rcpt", b"data", b".")


@contextmanager
def scripted_server(*scripts, patience=0):
    """Serve SMTP: a list of replies for each connection, which the server then ends.

    Yields the port, and the commands of each connection; the last one is empty if the client ended
    it.

    Args:
        scripts: The replies.
        patience: How long the client may take to end a connection first, in seconds.
    """
    conversations = []

    def serve():
        for replies in scripts:
            connection, _ = listener.accept()
            with connection, connection.makefile("rb") as lines, suppress(OSError):
                conversations.append([])
                for reply in replies:
                    connection.sendall(reply + b"\r\n")
                    line = lines.readline()
                    while reply == b"354 go" and line != b".\r\n":
                        line = lines.readline()
                    conversations[-1].append(line[:4].strip())
                if patience:
                    connection.settimeout(patience)
                    conversations[-1].append(lines.readline())

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve)
        thread.start()
        yield listener.getsockname()[1], conversations
        thread.join()


@contextmanager
def dripping_server(before, wrap=None):
    """Serve SMTP that answers as it should `before` times, and then sends a byte now and then.

    Yields the port, and an event that is set when it begins to drip.
    """
    begun, over, patience_ended = threading.Event(), threading.Event(), threading.Event()

    def serve():
        connection, _ = listener.accept()
        with suppress(OSError), wrap(connection) if wrap else connection as wrapped:
            lines = wrapped.makefile("rb")
            for reply in REPLIES[:before]:
                wrapped.sendall(reply + b"\r\n")
                while (line := lines.readline()) and reply == b"354 go" and line != b".\r\n":
                    pass
            begun.set()
            for _ in range(500):
                wrapped.sendall(b"2")
                if over.wait(0.01):
                    return
            patience_ended.set()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield listener.getsockname()[1], begun
        finally:
            over.set()
            thread.join()
    assert not patience_ended.is_set()  # the client ended the connection


def end_after(begun, monkeypatch):
    """Let a deadline be over soon after an event, however slow the machine is."""

    class Late(threading.Timer):
        def run(self):
            begun.wait(60)
            super().run()

    monkeypatch.setattr(smtp, "DEADLINE", 0.1)
    monkeypatch.setattr(threading, "Timer", Late)


@pytest.mark.parametrize("before", range(6))
def test_a_server_that_drips_is_given_up_at_the_deadline(before, send, monkeypatch):
    with dripping_server(before) as (port, begun):
        end_after(begun, monkeypatch)
        error = refused(send, f"smtp://127.0.0.1:{port}")
        assert begun.is_set()
    assert (str(error), error.is_final) == ("the mail server takes too long", False)


def test_a_server_that_drips_in_tls_is_given_up_at_the_deadline(send, trusted, monkeypatch):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(trusted)

    def wrap(connection):
        return context.wrap_socket(connection, server_side=True)

    with dripping_server(0, wrap) as (port, begun):
        end_after(begun, monkeypatch)
        error = refused(send, f"smtps://{HOST}:{port}")
        assert begun.is_set()
    assert str(error) == "the mail server takes too long"


ENDLESS = {
    "lines": b"250-x\r\n",
    "a line": b"250-" + b"x" * 96,
    "long lines": b"250-%s\r\n" % (b"x" * 8000),
}
ENOUGH = 64 * 1024 * 1024  # bytes; more than what the two ends of a connection keep


@contextmanager
def endless_server(before, endless, certificate=None):
    """Serve SMTP that answers as it should `before` times, and then with a reply without end.

    Yields the port, and a list that gets the number of bytes that it could send.

    Args:
        before: How often.
        endless: A piece of the reply.
        certificate: For STARTTLS, after which the next reply is the one without end.
    """
    sent = []

    def serve():
        connection, _ = listener.accept()
        with connection, connection.makefile("rb") as lines:
            for reply in REPLIES[:before]:
                connection.sendall(reply + b"\r\n")
                while (line := lines.readline()) and reply == b"354 go" and line != b".\r\n":
                    pass
            if certificate is None:
                flood(connection)
                return
            connection.sendall(b"250-hello\r\n250 STARTTLS\r\n")
            lines.readline()
            connection.sendall(b"220 go\r\n")
            with tls.wrap_socket(connection, server_side=True) as encrypted:
                flood(encrypted)

    def flood(connection):
        sent.append(0)
        with suppress(OSError):
            while sent[0] < ENOUGH:
                connection.sendall(endless * 1000)
                sent[0] += len(endless) * 1000

    if certificate is not None:
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(certificate)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve)
        thread.start()
        yield listener.getsockname()[1], sent
        thread.join()


@row_by_row(
    ("before", "endless"),
    [
        *(pytest.param(before, "lines", id=f"after {before} replies") for before in range(6)),
        *(pytest.param(1, each, id=each) for each in ("a line", "long lines")),
    ],
)
def test_a_reply_without_end_is_not_read_to_its_end(before, endless, send):
    with endless_server(before, ENDLESS[endless]) as (port, sent):
        error = refused(send, f"smtp://127.0.0.1:{port}")
    assert (str(error), error.is_final) == ("SMTPServerDisconnected", False)
    assert sent[0] < ENOUGH


def test_a_reply_without_end_in_tls_is_not_read_to_its_end(send, trusted):
    with endless_server(1, ENDLESS["lines"], trusted) as (port, sent):
        error = refused(send, f"smtp://{HOST}:{port}")
    assert str(error) == "SMTPServerDisconnected"
    assert sent[0] < ENOUGH


def test_a_deadline_that_is_over_before_the_connection_ends_it(send, monkeypatch):
    connect = socket.create_connection

    def connect_late(*arguments):
        for timer in [each for each in threading.enumerate() if isinstance(each, threading.Timer)]:
            timer.join()
        return connect(*arguments)

    monkeypatch.setattr(smtp, "DEADLINE", 0)
    monkeypatch.setattr(socket, "create_connection", connect_late)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        error = refused(send, f"smtp://127.0.0.1:{listener.getsockname()[1]}")
    assert str(error) == "the mail server takes too long"


def test_a_deadline_ends_before_the_lease_of_a_mail():
    assert 2 * (smtp.DEADLINE + smtp.TIMEOUT) < LEASE  # a connection can be replaced


def test_a_server_that_ends_the_connection_after_accepting_has_the_message(send):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=accept_and_hang_up, args=(listener,))
        thread.start()
        send(f"smtp://127.0.0.1:{listener.getsockname()[1]}")
        thread.join()


def accept_and_hang_up(listener):
    connection, _ = listener.accept()
    with connection, connection.makefile("rwb") as lines:
        lines.write(b"220 hello\r\n")
        lines.flush()
        for line in lines:
            if line.upper().startswith(b"DATA"):
                lines.write(b"354 go\r\n")
                lines.flush()
                while lines.readline() != b".\r\n":
                    pass
                lines.write(b"250 OK\r\n")
                lines.flush()
                return
            lines.write(b"250 OK\r\n")
            lines.flush()


# What a message holds


def test_names_of_other_scripts_and_long_lines_arrive(send):
    text = "Ada Lövelace 愛\n" + "https://example.org/" + "x" * 2000
    with mail_server() as (port, received):
        send(f"smtp://127.0.0.1:{port}", text=text, subject="Grüße " * 40)
    (message,) = received.messages
    assert plain_text_of(message) == f"{text}\n"
    assert message["Subject"] == ("Grüße " * 40).strip()
    assert max(map(len, received.envelopes[0].content.splitlines())) < 999


LINK = f"https://example.org/auth/reset?token={'x' * 80}=="


@pytest.mark.parametrize("text", [LINK, f"{LINK}\n{'x' * 998}"])
def test_a_link_in_an_ascii_text_is_sent_in_one_piece(text, send):
    with mail_server() as (port, received):
        send(f"smtp://127.0.0.1:{port}", text=text)
    assert f"\r\n{LINK}\r\n".encode() in received.envelopes[0].content
    plain = received.messages[0].get_body(("plain",))
    assert plain["Content-Transfer-Encoding"] == "7bit"


@pytest.mark.parametrize("text", ["愛" * 200, "x" * 999])
def test_a_text_that_is_no_ascii_or_has_long_lines_is_quoted(text, send):
    with mail_server() as (port, received):
        send(f"smtp://127.0.0.1:{port}", text=f"{LINK}\n{text}")
    assert plain_text_of(received.messages[0]) == f"{LINK}\n{text}\n"
    assert b"https://example.org/auth/reset" in received.envelopes[0].content


def test_an_international_address_is_kept(send):
    recipients = {
        "ada@bücher.example": "ada@xn--bcher-kva.example",
        "Ada@Example.ORG": "Ada@Example.ORG",
        "ädä@bücher.example": "ädä@xn--bcher-kva.example",
        "ada@straße.example": "ada@straße.example",  # Python's codec would make it strasse
        # Too long for the codec.
        f"ada@{'ü' * 70}.example": f"ada@{'ü' * 70}.example",
    }
    with mail_server() as (port, received):
        for address in recipients:
            send(f"smtp://127.0.0.1:{port}", address)
    for envelope, recipient in zip(received.envelopes, recipients.values(), strict=True):
        assert envelope.rcpt_tos == [recipient]
        assert f"To: {recipient}\r\n".encode() in envelope.content


def test_an_international_address_is_refused_if_the_server_cannot_send_to_it(send):
    with mail_server(has_utf8=False) as (port, received):
        error = refused(send, f"smtp://127.0.0.1:{port}", "ädä@example.org")
        send(f"smtp://127.0.0.1:{port}", "ada@bücher.example")
    assert error.is_final
    assert "SMTPUTF8" in str(error)
    assert [each.rcpt_tos for each in received.envelopes] == [["ada@xn--bcher-kva.example"]]


def test_an_address_cannot_add_a_header(send):
    with mail_server() as (port, received):
        for address in (
            "ada@example.org\r\nBcc: eve@example.net",
            "ada@example.org\nBcc: eve@example.net",
            "ada\r\nBcc: eve@example.net",
            "ada\0@example.org",
            "=?utf-8?b?eEB5LnoNCkJjYzogZXZlQGV4YW1wbGUubmV0DQo=?=@example.org",  # with CRLF, Bcc
        ):
            with suppress(ValueError, DeliveryError):
                send(f"smtp://127.0.0.1:{port}", address)
    for message, envelope in zip(received.messages, received.envelopes, strict=True):
        assert "Bcc" not in message
        assert "eve" not in str(envelope.rcpt_tos)


def test_a_subject_cannot_add_a_header(send):
    subjects = ["a\r\nBcc: eve@example.net", "a\nBcc: eve", "a\x0bBcc: eve"]
    with mail_server() as (port, received):
        for subject in subjects:
            send(f"smtp://127.0.0.1:{port}", subject=subject)
    assert [each["Subject"] for each in received.messages] == [
        " ".join(subject.split()) for subject in subjects
    ]
    assert not any("Bcc" in each for each in received.messages)


def test_a_subject_is_not_decoded(send):
    with mail_server() as (port, received):
        send(f"smtp://127.0.0.1:{port}", subject="=?utf-8?q?x=0aBcc=3a_eve@example.net?=")
    assert "Bcc" not in received.messages[0]


def test_a_text_cannot_end_the_message(send):
    with mail_server() as (port, received):
        send(f"smtp://127.0.0.1:{port}", text=".\r\nMAIL FROM:<eve@example.net>\r\n.\n..")
    assert len(received.messages) == 1
    assert plain_text_of(received.messages[0]).splitlines()[0] == "."
