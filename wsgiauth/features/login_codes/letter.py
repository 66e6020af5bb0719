"""The email with a code."""

from wsgiauth.mail.letters import Letter
from wsgiauth.web.clients import browser_in_words


class CodeLetter(Letter):
    """The email with a code to log in or to confirm it.

    It has no link, and nothing that the client chose.
    """

    template = "mail/login_code.txt"
    code: str  # as it is shown: 1234 5678
    browser: str  # and its system in words, of the client that asked
    minutes: int
    is_confirmation: bool = False  # of a user who is logged in


_SAMPLE = CodeLetter(code="1234 5678", browser=browser_in_words("Firefox on Linux"), minutes=10)

SAMPLES: tuple[Letter, ...] = (
    _SAMPLE,
    _SAMPLE.replaced(is_confirmation=True),
)
