"""The forms of the settings for email: the transport, the sender, and where links lead."""

import re
from ipaddress import ip_address
from pathlib import Path
from typing import NamedTuple
from urllib.parse import SplitResult, unquote, urlsplit

from wsgiauth.settings.checks import folder_problem, is_forgeable, is_origin

CALLABLE = "callable:"  # the MAIL_URL of an application that sends the messages itself
MEMORY = "memory:"  # for tests: see `testing.mailbox`
PORTS = {"smtp": 587, "smtps": 465}

_PATH = r"(/[A-Za-z0-9._~%!$&'()*+,=:@-]+)*"
_HOST = r"[A-Za-z0-9._-]+|[0-9A-Fa-f:.]+"
_ADDRESS = r"[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]+@[A-Za-z0-9.-]+"
_SENDER = rf"(?P<alone>{_ADDRESS})|(?P<name>[^<>]*)<(?P<address>{_ADDRESS})>"


class MailUrl(NamedTuple):
    """A parsed MAIL_URL."""

    scheme: str  # `smtp`, `smtps`, `console`, `file`, `memory` or `callable`
    host: str = ""  # of the mail server
    port: int = 0
    user: str = ""  # empty without authentication
    password: str = ""
    folder: str = ""  # where messages are written

    def __repr__(self) -> str:
        return f"<MailUrl {self.scheme}>"  # it has a password

    @property
    def is_local(self) -> bool:
        """Whether the mail server is this host, so that no connection can be intercepted."""
        try:
            return ip_address(self.host).is_loopback
        except ValueError:
            return self.host.lower() == "localhost"


def parse_mail_url(url: str) -> MailUrl | None:
    """Return the parts of a MAIL_URL, or None if it is malformed."""
    if url in ("console:", CALLABLE, MEMORY):
        return MailUrl(url.removesuffix(":"))
    if not url.isprintable() or " " in url:  # `urlsplit` ignores some control characters
        return None
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return None
    if parts.query or parts.fragment:
        return None
    if parts.scheme == "file":
        folder = unquote(parts.path)
        return MailUrl("file", folder=folder) if url.startswith("file:///") else None
    return _server(parts, port)


def is_mail_url(url: str) -> bool:
    """Return whether a MAIL_URL is well-formed, and its folder exists if it has one."""
    parsed = parse_mail_url(url)
    if parsed is None:
        return False
    return parsed.scheme != "file" or folder_problem(parsed.folder) is None


def parse_sender(sender: str) -> tuple[str, str] | None:
    """Return the name and the address in `Name <address>` or `address`; None for another form."""
    match = re.fullmatch(_SENDER, sender.strip())
    if match is None or not sender.isprintable():
        return None
    if match["alone"]:
        return "", match["alone"]
    return match["name"].strip().strip('"'), match["address"]


def is_sender(sender: str) -> bool:
    """Return whether emails can be from `sender`."""
    # Email software decodes `=?...?=` (RFC 2047), line breaks included.
    return parse_sender(sender) is not None and "=?" not in sender


def is_public_url(url: str) -> bool:
    """Return whether links in emails can begin with `url`: an origin, optionally with a path."""
    scheme, _, rest = url.partition("://")
    host, slash, path = rest.partition("/")
    origin = f"{scheme}://{host}"
    if not is_origin(origin) or is_forgeable(origin):
        return False
    return re.fullmatch(_PATH, f"{slash}{path}".rstrip("/")) is not None


def insecure_mail(url: str | None) -> str | None:
    """Return the risk of how emails are sent."""
    if url == MEMORY:
        return "sends no emails. Use this for tests only."
    parsed = None if url is None else parse_mail_url(url)
    if parsed is None or parsed.scheme not in ("console", "file"):
        return None
    where = "standard error" if parsed.scheme == "console" else str(Path(parsed.folder))
    return f"writes emails, with the links in them, to {where}. Use this for development only."


def _server(parts: SplitResult, port: int | None) -> MailUrl | None:
    user, password = unquote(parts.username or ""), unquote(parts.password or "")
    host = parts.hostname or ""
    if (
        parts.scheme not in PORTS
        or parts.path not in ("", "/")
        or not re.fullmatch(_HOST, host)
        or bool(user) != bool(password)
        or not (user + password).isascii()  # `smtplib` cannot send others
        or not (user + password).isprintable()
    ):
        return None
    return MailUrl(parts.scheme, host, port or PORTS[parts.scheme], user, password)
