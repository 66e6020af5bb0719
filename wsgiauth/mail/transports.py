"""The ways in which MAIL_URL sends a message: by a mail server, or to a file for development."""

import email.policy
import secrets
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import copy
from email.message import EmailMessage
from pathlib import Path
from urllib.parse import urlsplit

from wsgiauth.exceptions import ConfigurationError
from wsgiauth.mail.smtp import MailServer
from wsgiauth.settings import Settings
from wsgiauth.settings.mail import CALLABLE, MailUrl, parse_mail_url

Transport = Callable[[EmailMessage], object]


class Kept(list[EmailMessage]):
    """A transport for tests, which keeps the messages; its outbox has no thread."""

    def __call__(self, message: EmailMessage) -> None:
        """Keep a message."""
        self.append(message)


def make_transport(settings: Settings, send_mail: Transport | None = None) -> Transport | None:
    """Return what sends messages, or None without MAIL_URL.

    Args:
        settings: `MAIL_URL` and `PUBLIC_URL`.
        send_mail: The application's own transport.

    Raises:
        ConfigurationError: MAIL_URL says that the application sends, but it does not.
    """
    if settings.MAIL_URL is None or send_mail is not None:
        return send_mail
    url = parse_mail_url(settings.MAIL_URL)
    if url is None or url.scheme == CALLABLE.removesuffix(":"):
        raise ConfigurationError(
            f"MAIL_URL is {CALLABLE} but nothing sends: give AuthMiddleware a send_mail."
        )
    return _TRANSPORTS[url.scheme](url, settings)


@contextmanager
def sending(transport: Transport) -> Iterator[Transport]:
    """Return what sends the messages of a round; a mail server gets them by one connection."""
    if isinstance(transport, MailServer):
        with transport.session() as send:
            yield send
    else:
        yield transport


def _to_server(url: MailUrl, settings: Settings) -> Transport:
    return MailServer(url, urlsplit(settings.PUBLIC_URL or "").hostname or "")


def _to_console(_url: MailUrl, _settings: Settings) -> Transport:
    def write(message: EmailMessage) -> None:
        print(_as_text(message), file=sys.stderr, flush=True)

    return write


def _to_folder(url: MailUrl, _settings: Settings) -> Transport:
    folder = Path(url.folder)

    def write(message: EmailMessage) -> None:
        date = message["Date"].datetime.strftime("%Y%m%d-%H%M%S")
        name = f"{date}-{secrets.token_hex(4)}"
        unfinished = folder / f".{name}"
        unfinished.touch(mode=0o600)  # it has a link, which other users must not read
        unfinished.write_bytes(_as_text(message).encode(errors="replace"))
        unfinished.rename(folder / f"{name}.eml")

    return write


def _to_memory(_url: MailUrl, _settings: Settings) -> Transport:
    return Kept()


def _as_text(message: EmailMessage) -> str:
    """Return the message for people: each link in one piece (8bit, RFC 2045 section 6.2)."""
    readable = copy(message)
    readable.set_content(message.get_content(), cte="8bit")
    return readable.as_bytes(policy=email.policy.default.clone(utf8=True)).decode()


_TRANSPORTS = {
    "smtp": _to_server,
    "smtps": _to_server,
    "console": _to_console,
    "file": _to_folder,
    "memory": _to_memory,
}
