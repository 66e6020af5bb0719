"""Settings for tests."""

import secrets
from typing import Any

from wsgiauth.settings import PER_ADDRESS, Settings

ROUNDS = 4  # bcrypt's minimum: a millisecond instead of a quarter of a second


class _TestSettings(Settings):
    def risks(self) -> list[str]:
        return []  # every test would log warnings


def make_settings(**changes: Any) -> Settings:
    """Return settings for tests: random keys, fast hashes, and a database in memory.

    Each `AuthMiddleware` with these settings has its own empty database. Limits by address are off,
    because all tests have the same address. `MAIL_URL="memory:"` turns on emails, whose links lead
    to http://localhost, as WebTest's clients do: see `mailbox`.

    Args:
        changes: Settings by name, which replace these.

    Raises:
        ConfigurationError: A setting is invalid.
        TypeError: There is no setting of that name.
    """
    defaults: dict[str, Any] = {
        "SECRET_KEY": secrets.token_urlsafe(48),
        "DATABASE_URL": "sqlite:///:memory:",
        "BCRYPT_ROUNDS": ROUNDS,
        "FACTOR_KEY": secrets.token_urlsafe(48),
        "MAIL_FROM": "site@example.org",
        "PUBLIC_URL": "http://localhost",
        "LANGUAGES": ("en",),  # with several, each page has a second form
        **dict.fromkeys(PER_ADDRESS, 0),
    }
    return _TestSettings(**(defaults | changes))
