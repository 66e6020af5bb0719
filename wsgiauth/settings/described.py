"""Settings in words, for docs/settings.md and `python -m wsgiauth settings`."""

import re
from collections.abc import Collection

from wsgiauth.settings.kinds import Setting


def written(value: object) -> str:
    """Return a value as an environment has it; empty for a setting that is not set."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "on" if value else "off"
    return " ".join(map(str, value)) if isinstance(value, tuple) else str(value)


def described(setting: Setting, default: str, *, unsaid: Collection[str] = ()) -> str:
    """Return sentences about what a setting means, its default, and what it accepts.

    Args:
        default: In words, with a value in backticks; empty for none.
        unsaid: What needs no words if a setting accepts it.
    """
    expected = setting.expected.replace("a whole number from ", "")
    word = default.strip("`")
    if word in re.split(", | or ", expected) and setting.expected not in unsaid:
        expected = re.sub(r"\w+(?=, | or |$)", r"`\g<0>`", expected)
        expected, default = expected.replace(f"`{word}`", f"`{word}` (the default)"), ""
    facts = [f"Default: {default}"] if default else []
    facts += [expected] if setting.expected not in unsaid else []
    sentences = [setting.meaning, *filter(None, ["; ".join(facts)])]
    return " ".join(f"{_capitalized(each)}." for each in sentences)


def _capitalized(text: str) -> str:
    is_word = text.split()[0].isalpha()  # and no literal
    return text[0].upper() + text[1:] if is_word else text
