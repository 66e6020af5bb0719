"""Settings for tests."""

import atexit
import secrets
from base64 import b64encode
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from wsgiauth.settings import PER_ADDRESS, Settings
from wsgiauth.settings.webhook_entries import PREFIX

ROUNDS = 4  # bcrypt's minimum: a millisecond instead of a quarter of a second


class _TestSettings(Settings):
    def risks(self) -> list[str]:
        return []  # every test would log warnings


def make_settings(**changes: Any) -> Settings:
    """Return settings for tests: random keys, fast hashes, and a database in memory.

    Each `AuthMiddleware` with these settings has its own empty database. Limits by address are off,
    because all tests have the same address. `MAIL_URL="memory:"` turns on emails, whose links lead
    to http://localhost, as WebTest's clients do: see `mailbox`. `OAUTH_SERVER` and `SERVICES` get a
    key to sign with, unless `SERVICE_KEYS` names one; so do `WEBHOOKS`, unless there is a
    `WEBHOOK_KEY`.

    Args:
        changes: Settings by name, which replace these.

    Raises:
        ConfigurationError: A setting is invalid.
        ImportError: `cryptography` is not installed, which that key needs.
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
    if changes.get("OAUTH_SERVER") or changes.get("SERVICES"):
        defaults["SERVICE_KEYS"] = _service_key()
    if changes.get("WEBHOOKS"):
        defaults["WEBHOOK_KEY"] = (PREFIX + b64encode(secrets.token_bytes(32)).decode(),)
    return _TestSettings(**(defaults | changes))


@cache
def _service_key() -> Path:
    """Return a file with a new private key, which the end of the process deletes."""
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.hazmat.primitives.serialization import (
        Encoding,
        NoEncryption,
        PrivateFormat,
    )

    folder = TemporaryDirectory()
    atexit.register(folder.cleanup)
    path = Path(folder.name, "key.pem")
    key = ec.generate_private_key(ec.SECP256R1())
    path.touch(mode=0o600)
    path.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    return path
