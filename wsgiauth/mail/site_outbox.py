"""The outbox of a site, and how MAIL_URL sends its emails."""

import secrets
import sys
from collections.abc import Iterable, Mapping
from copy import copy
from email.message import EmailMessage
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

from wsgiauth.exceptions import ConfigurationError
from wsgiauth.mail.letters import Letter, Letters, plain_text_of
from wsgiauth.mail.outbox import Composer, Outbox
from wsgiauth.mail.transports import Kept, Transport
from wsgiauth.settings import Settings
from wsgiauth.settings.features import load
from wsgiauth.settings.mail import CALLABLE, parse_mail_url


def make_outbox(
    settings: Settings,
    composers: Mapping[str, Composer],
    samples: Iterable[tuple[str, Letter]],
    send_mail: Transport | None = None,
) -> Outbox | None:
    """Return the outbox of a site; None without MAIL_URL.

    Args:
        samples: The examples of emails that check templates, each after the name of its feature.

    Raises:
        ConfigurationError: A template of an email is wrong, or MAIL_URL needs a `send_mail`.
    """
    transport = make_transport(settings, send_mail)
    if transport is None:
        return None
    letters = Letters(settings)
    others = {each.name for each in load(settings.FEATURES)}
    for number, (feature, sample) in enumerate(samples):
        # Our own templates are tested; one letter shows whether the settings make headers.
        if settings.TEMPLATES or feature in others or number == 0:
            letters.check(sample, feature if feature in others else "")
    return Outbox(settings, transport, composers)


def make_transport(settings: Settings, send_mail: Transport | None = None) -> Transport | None:
    """Return the application's transport, or the one of MAIL_URL, if it is set."""
    if settings.MAIL_URL is None or send_mail is not None:
        return send_mail
    url = parse_mail_url(settings.MAIL_URL)
    if url is None or url.scheme == CALLABLE.removesuffix(":"):
        raise ConfigurationError(
            f'MAIL_URL is "{CALLABLE}", so AuthMiddleware needs the argument send_mail.'
        )
    if url.scheme == "console":
        return _print
    if url.scheme == "file":
        return partial(_write, Path(url.folder))
    if url.scheme == "memory":
        return Kept()
    from wsgiauth.mail.smtp import MailServer  # here: `smtplib` makes every start slower

    return MailServer(url, urlsplit(settings.PUBLIC_URL or "").hostname or "")


def _print(message: EmailMessage) -> None:
    print(_as_text(message), file=sys.stderr, flush=True)


def _write(folder: Path, message: EmailMessage) -> None:
    date = message["Date"].datetime.strftime("%Y%m%d-%H%M%S")
    name = f"{date}-{secrets.token_hex(4)}"
    unfinished = folder / f".{name}"
    unfinished.touch(mode=0o600)  # it has a link, which other users must not read
    unfinished.write_bytes(_as_text(message).encode(errors="replace"))
    unfinished.rename(folder / f"{name}.eml")


def _as_text(message: EmailMessage) -> str:
    """Return the plain text of a message, with each link in one piece (RFC 2045 section 6.2)."""
    from email.policy import default  # here, because it makes every start slower

    readable = copy(message)
    readable.clear_content()
    readable.set_content(plain_text_of(message), cte="8bit")
    readable["Content-Language"] = message["Content-Language"]  # which new content removes
    return readable.as_bytes(policy=default.clone(utf8=True)).decode()
