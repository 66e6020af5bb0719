"""Sites that start quicker: tests make thousands, most of which have the same settings."""

from dataclasses import fields
from email.headerregistry import HeaderRegistry
from functools import cache

from wsgiauth import Settings
from wsgiauth.mail import site_outbox
from wsgiauth.mail.letters import Letters
from wsgiauth.settings import contradictions

OF_ONE_TEST = ("DATABASE_URL", "MAIL_URL")  # no letter shows them
SHOWN = [each.name for each in fields(Settings) if each.name not in OF_ONE_TEST]

_valid = set()


class CheckedLetters(Letters):
    """Letters that check an example only once for the same settings, if its template is ours."""

    def __init__(self, settings):
        super().__init__(settings)
        self._has_own = settings.TEMPLATES is not None
        self._settings = tuple(repr(getattr(settings, name)) for name in SHOWN)

    def check(self, letter, feature=""):
        """Check an example."""
        if self._has_own or feature:
            super().check(letter, feature)
        elif (self._settings, letter.template) not in _valid:
            super().check(letter)
            _valid.add((self._settings, letter.template))


def quicken_starts():
    """Remember which keys and settings of emails are valid, and the classes of their headers."""
    contradictions.unmet_requirement = cache(contradictions.unmet_requirement)
    site_outbox.Letters = CheckedLetters
    HeaderRegistry.__getitem__ = cache(HeaderRegistry.__getitem__)  # makes a class each time
