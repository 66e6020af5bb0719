"""The settings of how mails are sent, and their links."""

from dataclasses import dataclass

from wsgiauth.settings.kinds import string, switch, whole_number
from wsgiauth.settings.mail import insecure_mail, is_mail_url, is_public_url, is_sender


@dataclass(frozen=True, kw_only=True)
class MailSettings:
    """The part of `Settings` for how mails are sent, and their links."""

    MAIL_URL: str | None = string(
        None,
        "how mails are sent",
        expected="a URL such as smtp://user:password@mail.example.org:587, smtps://…, console: or"
        " file:///folder, whose folder exists",
        is_valid=is_mail_url,
        is_secret=True,
        risk=insecure_mail,
    )
    MAIL_FROM: str | None = string(
        None,
        "the sender of mails",
        expected="an address, perhaps with a name, as in Library <accounts@example.org>",
        is_valid=is_sender,
    )
    PUBLIC_URL: str | None = string(
        None,
        "where the site is, for the links in mails",
        expected="an https URL in lower case, without a query and without the port 443 or 80, such"
        " as https://example.org; http is only for localhost",
        is_valid=is_public_url,
    )
    LINK_MINUTES: int = whole_number(60, 5, 1_440, "how long the link in a mail can be used")
    LOGIN_NOTICES: bool = switch(
        False, "whether users get a mail about a login from a new address or browser"
    )
    MAILS_PER_ACCOUNT: int = whole_number(
        3, 0, 1000, "mails that can be asked for with one name in an hour; `0`: no limit"
    )
    MAILS_PER_ADDRESS: int = whole_number(
        20,
        0,
        1_000_000,
        "mails that can be asked for from one client address in an hour; `0`: no limit",
    )
