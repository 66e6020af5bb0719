"""The outbox of a site: every email that it sends, an example of each, and how MAIL_URL sends them.

The examples are for the checks of a host's templates and for `python -m wsgiauth preview`.
"""

import secrets
import sys
from collections.abc import Mapping
from copy import copy
from datetime import UTC, datetime
from email.message import EmailMessage
from functools import partial
from pathlib import Path, PurePath
from urllib.parse import urlsplit

from wsgiauth.authentication.invitations import HOURS
from wsgiauth.exceptions import ConfigurationError
from wsgiauth.languages.dates import moment_in_words
from wsgiauth.mail import link_letters, notices
from wsgiauth.mail.letters import SAMPLE_ROOT, Letter, Letters
from wsgiauth.mail.link_letters import (
    AddressLetter,
    AddressTakenLetter,
    InvitationLetter,
    ProviderAddressLetter,
    ResetLetter,
)
from wsgiauth.mail.notices import Notice
from wsgiauth.mail.outbox import Composer, Outbox
from wsgiauth.mail.transports import Kept, Transport
from wsgiauth.settings import Settings
from wsgiauth.settings.mail import CALLABLE, parse_mail_url
from wsgiauth.web.clients import browser_in_words

COMPOSERS: Mapping[str, Composer] = {**link_letters.COMPOSERS, **notices.COMPOSERS}

_VERIFY_LINK = f"{SAMPLE_ROOT}/verify?token=example"

SAMPLES: tuple[Letter, ...] = (
    ResetLetter(username="ada", link=f"{SAMPLE_ROOT}/reset?token=example", minutes=60),
    InvitationLetter(link=_VERIFY_LINK, minutes=60, is_requested=True),
    InvitationLetter(link=_VERIFY_LINK, minutes=HOURS * 60, is_requested=False),
    AddressLetter(link=_VERIFY_LINK, minutes=60),
    AddressTakenLetter(),
    ProviderAddressLetter(link=_VERIFY_LINK, minutes=60),
    *(
        Notice(
            event=event,
            username="ada",
            time=moment_in_words(datetime(2026, 11, 21, 9, 30, tzinfo=UTC)),
            address="192.0.2.1",
            browser=browser_in_words("Firefox on Linux"),
            reason="passkey",
            factor="Laptop",
            provider="Google",
            forgot_url=f"{SAMPLE_ROOT}/forgot",
        )
        for event in notices.TEMPLATES
    ),
)
SAMPLES_BY_NAME: Mapping[str, list[Letter]] = {
    PurePath(template).stem: [each for each in SAMPLES if each.template == template]
    for template in dict.fromkeys(each.template for each in SAMPLES)
}


def make_outbox(settings: Settings, send_mail: Transport | None = None) -> Outbox | None:
    """Return the outbox of a site; None without MAIL_URL. `send_mail` is the application's own.

    Raises:
        ConfigurationError: A template of an email is wrong, or MAIL_URL needs a `send_mail`.
    """
    transport = make_transport(settings, send_mail)
    if transport is None:
        return None
    letters = Letters(settings)
    # Our own templates are tested; one letter shows whether the settings make headers.
    for sample in SAMPLES if settings.TEMPLATES else SAMPLES[:1]:
        letters.check(sample)
    return Outbox(settings, transport, COMPOSERS)


def make_transport(settings: Settings, send_mail: Transport | None = None) -> Transport | None:
    """Return what sends messages, or None without MAIL_URL; see `make_outbox`."""
    if settings.MAIL_URL is None or send_mail is not None:
        return send_mail
    url = parse_mail_url(settings.MAIL_URL)
    if url is None or url.scheme == CALLABLE.removesuffix(":"):
        raise ConfigurationError(
            f"MAIL_URL is {CALLABLE} but nothing sends: give AuthMiddleware a send_mail."
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
    """Return the message for people: each link in one piece (8bit, RFC 2045 section 6.2)."""
    from email.policy import default  # here, because it makes every start slower

    readable = copy(message)
    readable.set_content(message.get_content(), cte="8bit")
    readable["Content-Language"] = message["Content-Language"]  # which new content removes
    return readable.as_bytes(policy=default.clone(utf8=True)).decode()
