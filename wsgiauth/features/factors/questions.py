"""The questions of `check` about second factors."""

from collections.abc import Iterator

from wsgiauth.feature import Finding, Question
from wsgiauth.features.factors import passkeys, totp
from wsgiauth.site import Site


def _unusable_passkeys(site: Site) -> Iterator[Finding]:
    host = passkeys.host_of(site.settings)
    if site.settings.PASSKEYS and passkeys.is_used(except_at=host):
        yield Finding(
            f"PUBLIC_URL names {host}, but users have passkeys of another host: they are asked for"
            " them, and cannot use them. They need recovery codes, or"
            " `python -m wsgiauth removefactor`."
        )


def _lost_keys(site: Site) -> Iterator[Finding]:
    if site.settings.FACTOR_KEY is None:  # `SecondFactors.risks` warns of all apps
        return
    known = {"", *map(totp.key_id, totp.factor_keys(site.settings))}
    number = sum(many for key, many in totp.count_by_key().items() if key not in known)
    if number:
        yield Finding(
            "Authenticator apps with a key that is neither FACTOR_KEY nor in FACTOR_KEY_FALLBACKS:"
            f" {number}. Their codes are wrong: add the key, or their users need recovery codes or"
            " `python -m wsgiauth removefactor`."
        )


def _former_keys(site: Site) -> Iterator[Finding]:
    fallbacks = site.settings.FACTOR_KEY_FALLBACKS
    counts = totp.count_by_key() if fallbacks else {}
    for number, key in enumerate(fallbacks, 1):
        yield Finding(
            f"Authenticator apps with key {number} of FACTOR_KEY_FALLBACKS:"
            f" {counts.get(totp.key_id(key), 0)}. A former key is needed as long as an app has it.",
            is_risk=False,
        )
    if "" in counts:
        yield Finding(
            f"Authenticator apps whose key is not known before their next code: {counts['']}."
            " They can need any former key.",
            is_risk=False,
        )


def _lost_passkeys(site: Site) -> Iterator[Finding]:
    settings = site.settings
    if settings.PASSKEYS and settings.REGISTRATION and settings.MAIL_URL is None:
        yield Finding(
            "PASSKEYS is on and MAIL_URL is not set: users can register with a passkey, and nothing"
            " but another passkey lets them in after they have lost it.",
            is_risk=False,
        )


QUESTIONS = (
    Question(_unusable_passkeys),
    Question(_lost_keys),
    Question(_former_keys),
    Question(_lost_passkeys, needs_database=False),
)
