"""A real mail server in a thread, its certificate, and what it received."""

import email
import email.policy
import socket
import ssl
import subprocess
from contextlib import contextmanager

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, AuthResult

from tests.support.sites import free_port

HOST = "mail.example.org"  # which `resolve` makes this host
USER, PASSWORD = "accounts", "four mail words"


class Received:
    """Keeps messages, and answers what it is told to.

    Attributes:
        answers: Replies to give instead of an acceptance, by command; used up in order.
        envelopes: What was received.
    """

    def __init__(self):
        self.answers = {"MAIL": [], "RCPT": [], "DATA": []}
        self.envelopes = []

    async def handle_MAIL(self, server, session, envelope, address, options):  # noqa: N802
        if self.answers["MAIL"]:
            return self.answers["MAIL"].pop(0)
        envelope.mail_from = address
        return "250 OK"

    async def handle_RCPT(self, server, session, envelope, address, options):  # noqa: N802
        if self.answers["RCPT"]:
            return self.answers["RCPT"].pop(0)
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server, session, envelope):  # noqa: N802
        if self.answers["DATA"]:
            return self.answers["DATA"].pop(0)
        envelope.is_encrypted = session.ssl is not None or isinstance(
            server.transport.get_extra_info("ssl_object"), ssl.SSLObject
        )
        envelope.peer = session.peer
        self.envelopes.append(envelope)
        return "250 OK"

    @property
    def connections(self):
        """The number of connections by which the messages came."""
        return len({each.peer for each in self.envelopes})

    @property
    def messages(self):
        """The messages, parsed."""
        return [
            email.message_from_bytes(
                each.content.replace(b"\r\n", b"\n"), policy=email.policy.default
            )
            for each in self.envelopes
        ]


class _Server(Controller):
    def __init__(self, handler, certificate, options):
        super().__init__(handler, hostname="127.0.0.1", port=free_port(), ready_timeout=60)
        self.certificate = certificate
        self.options = options

    def factory(self):
        return SMTP(self.handler, **self.options)


def authenticator(server, session, envelope, mechanism, data):
    is_right = data.login == USER.encode() and data.password == PASSWORD.encode()
    return AuthResult(success=is_right, handled=False)  # so that a refusal is answered


@contextmanager
def mail_server(*, starttls=None, implicit=None, has_login=False, has_utf8=True):
    """Serve SMTP; yields the port and what is received.

    Args:
        starttls, implicit: A certificate (`make_certificate`), for one of the two kinds of TLS.
        has_login: Whether a client must authenticate.
        has_utf8: Whether SMTPUTF8 is offered.
    """
    received = Received()
    options = {"enable_SMTPUTF8": has_utf8, "hostname": HOST, "timeout": 60}
    if starttls is not None:
        options |= {"tls_context": _context(starttls), "require_starttls": True}
    if has_login:
        options |= {
            "auth_required": True,
            "authenticator": authenticator,
            "auth_require_tls": starttls is not None,
        }
    server = _Server(received, implicit, options)
    server.ssl_context = None if implicit is None else _context(implicit)
    server.start()
    try:
        yield server.port, received
    finally:
        server.stop()


def make_certificate(folder, name=HOST):
    """Return the path of a new certificate for `name`, which is its own authority, and its key."""
    path = folder / f"{name}.pem"
    subprocess.run(
        f"openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj"
        f" /CN={name} -addext subjectAltName=DNS:{name} -keyout {path} -out {path}.crt".split(),
        check=True,
        capture_output=True,
    )
    path.write_bytes(path.read_bytes() + path.with_suffix(".pem.crt").read_bytes())
    return path


def resolve(monkeypatch):
    """Let the name of the mail server be that of this host, without a name server."""
    known = socket.getaddrinfo

    def getaddrinfo(host, *arguments, **options):
        return known("127.0.0.1" if host == HOST else host, *arguments, **options)

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)


def _context(certificate):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    return context
