"""Names that are probably misspelt settings: unknown names are ignored, so a mistake is silent."""

from collections.abc import Mapping
from dataclasses import fields

from wsgiauth.exceptions import ConfigurationError
from wsgiauth.settings import Settings, class_for

_SIMILARITY = 0.9  # of 1: in a name of twelve letters, one that is added, missing or different
_ALIASES = {
    "DB_URI": "DATABASE_URL",
    "DB_URL": "DATABASE_URL",
    "EMAIL_SENDER": "MAIL_FROM",
    "MAIL_SENDER": "MAIL_FROM",
    "SMTP_URL": "MAIL_URL",
}
# Variables of other programs that are as similar to a setting: LANGUAGE is of gettext, USERNAME of
# Windows.
_OTHERS = frozenset({"COOKIE_SECRET", "LANGUAGE", "SERVICE", "TEMPLATE", "USERNAME"})


def misspelt_settings(mapping: Mapping[str, object]) -> list[str]:
    """Return sentences for an operator about names that resemble an unset setting.

    Unprintable names are ignored, so that they do not reach the log.
    """
    names = {each for each in mapping if isinstance(each, str) and each.isprintable()}
    try:
        kind = class_for(mapping, Settings)
    except ConfigurationError:  # the settings themselves report it
        kind = Settings
    settings = {each.name for each in fields(kind)}
    unset = settings.difference(names)
    found = []
    for name in sorted(names - settings - _OTHERS):
        setting = _meant(name.upper().removeprefix("WSGIAUTH_"), unset)
        if setting is not None:
            found.append(
                f"{name} is not a setting and is ignored; the similar {setting} is not set."
            )
    return found


def _meant(name: str, unset: set[str]) -> str | None:
    if _ALIASES.get(name) in unset:
        return _ALIASES[name]
    for setting in sorted(unset):
        if _has_slip(name, setting) or sorted(name.split("_")) == sorted(setting.split("_")):
            return setting
    # The length already shows that most names are not as similar.
    near = [each for each in unset if _ratio(len(name), len(each)) >= _SIMILARITY]
    if not near:
        return None
    from difflib import get_close_matches  # here, because it is seldom needed

    return next(iter(get_close_matches(name, near, 1, _SIMILARITY)), None)


def _ratio(length: int, other: int) -> float:
    """Return the most that `SequenceMatcher.ratio` of strings of these lengths can be."""
    return 2 * min(length, other) / (length + other)


def _has_slip(name: str, setting: str) -> bool:
    """Return whether one letter is wrong, or two are exchanged, also in a short name."""
    if len(name) != len(setting):
        return False
    wrong = [place for place, (a, b) in enumerate(zip(name, setting, strict=True)) if a != b]
    if len(wrong) == 2 and wrong[0] + 1 == wrong[1]:
        first, second = wrong
        return (name[first], name[second]) == (setting[second], setting[first])
    return len(wrong) == 1
