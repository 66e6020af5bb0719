"""The settings of the keys, the tokens, the life of logins, and the database."""

from dataclasses import dataclass

from wsgiauth.settings.kinds import choice, key, keys, string, whole_number
from wsgiauth.settings.risks import DAYS, HOURS, MINUTES, longer_than
from wsgiauth.settings.secret_keys import ALGORITHMS


@dataclass(frozen=True, kw_only=True)
class LoginSettings:
    """The part of `Settings` for the keys, the tokens, the life of logins, and the database."""

    SECRET_KEY: str | None = key("signs tokens (HMAC), used as written")
    SECRET_KEY_FALLBACKS: tuple[str, ...] = keys("former keys, which verify tokens but sign none")
    JWT_ALGORITHM: str = choice(ALGORITHMS, "the algorithm that signs tokens")
    JWT_EXPIRY_MINUTES: int = whole_number(
        60,
        1,
        5_256_000,
        "how long an access token lasts, and a browser's login without use, in minutes",
        risk=longer_than(MINUTES),
    )
    SESSION_HOURS: int = whole_number(
        12,
        1,
        87_600,
        "the maximum duration of a login by the form or with a refresh token, in hours",
        risk=longer_than(HOURS),
    )
    REMEMBER_DAYS: int = whole_number(
        30,
        0,
        3_650,
        'the maximum duration of a login with "Keep me logged in", in days; `0` does not offer it',
        risk=longer_than(DAYS),
    )
    REMEMBER_IDLE_DAYS: int = whole_number(
        14, 1, 3_650, 'how long a login with "Keep me logged in" lasts without use, in days'
    )
    FRESH_MINUTES: int = whole_number(
        15,
        1,
        1_440,
        "for how long users can make sensitive changes after they proved who they are, by the"
        " password or the second factor, in minutes",
    )
    AUDIT_DAYS: int = whole_number(
        90, 0, 36_500, "how long the audit trail keeps a change, in days; `0`: for ever"
    )
    JWT_ISSUER: str | None = string(
        None,
        "the `iss` claim, added to tokens and required in them; another value ends refresh tokens",
    )
    JWT_AUDIENCE: str | None = string(
        None,
        "the `aud` claim, added to tokens and required in them; another value ends refresh tokens",
    )
    DATABASE_URL: str = string(
        "sqlite:///wsgiauth.db",
        "where the accounts are",
        expected="a URL such as sqlite:///wsgiauth.db",
        is_valid=lambda url: ":" in url,
        is_secret=True,
    )
