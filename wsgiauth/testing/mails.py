"""The emails that the application sends."""

import re
from email.message import EmailMessage

from wsgiauth.mail.letters import plain_text_of
from wsgiauth.middleware import AuthMiddleware
from wsgiauth.storage import context
from wsgiauth.testing.people import require_middleware

_LINK = re.compile(r"https?://[^\s<>\"]+")
_CODE = re.compile(r"^[0-9]{4} [0-9]{4}$", re.MULTILINE)


class Mails(list[EmailMessage]):
    """Emails, the newest last."""

    @property
    def links(self) -> list[str]:
        """The links in the texts of all emails, in their order."""
        return [link for each in self for link in _LINK.findall(plain_text_of(each))]

    @property
    def codes(self) -> list[str]:
        """The codes (`LOGIN_CODES`) in the texts of all emails, in their order."""
        return [code for each in self for code in _CODE.findall(plain_text_of(each))]


def mailbox(application: AuthMiddleware) -> Mails:
    """Return all emails that the site has sent since its start or the first call.

    The first call stops the site's thread that sends emails, and replaces the transport. Each call
    sends due emails in the thread of the test. Unless `MAIL_URL` is "memory:", call this before the
    actions of your test.

    Raises:
        ValueError: The site sends no emails, because it has no MAIL_URL.
    """
    outbox = require_middleware(application).site.outbox
    if outbox is None:
        raise ValueError("The site sends no emails: use make_settings(MAIL_URL='memory:').")
    kept = outbox.keep_messages()
    with context.using(application.database):
        outbox.deliver()
    return Mails(kept)
