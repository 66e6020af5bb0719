"""What a style sheet shows in its accent, and whether it is legible there."""

import re
from typing import NamedTuple

from tests.support.style_rules import rules_of
from wsgiauth.web.colours import Colour, contrast, mix

TEXT, SHAPE = 4.5, 3  # WCAG 2.2, 1.4.3 and 1.4.11
PICTURES = {".tile"}  # they have no text


class Pair(NamedTuple):
    """Two colours that a page shows beside each other."""

    use: str
    one: Colour
    other: Colour
    minimum: float

    @property
    def is_legible(self):
        return contrast(self.one, self.other) >= self.minimum


def pairs(css, scheme):
    """Yield what a style sheet shows in its accent, with everything behind it or upon it."""
    rules = [rule for rule in rules_of(css) if is_in(scheme, rule)]
    values = {
        name: Colour.parse(value if len(value) > 4 else "#" + "".join(2 * c for c in value[1:]))
        for rule in rules
        for name, value in rule.declarations
        if name.startswith("--")
    }
    backgrounds = {
        value for rule in rules for name, value in rule.declarations if name == "background"
    }
    behind = [
        values[each[4:-1]]
        for each in sorted(backgrounds)
        if re.fullmatch(r"var\(--(?!accent\b)[\w-]+\)", each)
    ]
    assert len(behind) >= 3  # the page, the card, a notice
    for rule in rules:
        for name, value in rule.declarations:
            if "var(--accent)" not in value:
                continue
            seen = computed(value, values)
            if name == "background" and "%, var(--card)" in value:  # a tint of the card
                upon = computed(last_color(rules, rule.selector), values)
                minimum = SHAPE if rule.selector in PICTURES else TEXT
                yield Pair(f"{rule.selector} on its tint", upon, seen, minimum)
                continue
            for each in behind:
                yield Pair(
                    f"{rule.selector} {name}", seen, each, TEXT if name == "color" else SHAPE
                )
            if name == "background":
                yield Pair(f"{rule.selector} text", seen, values["--on-accent"], TEXT)


def illegible(css, scheme):
    """Return the pairs whose contrast is too low."""
    return [pair for pair in pairs(css, scheme) if not pair.is_legible]


def is_in(scheme, rule):
    at = " ".join(rule.around)
    return "print" not in at and re.search(rf"prefers-color-scheme: (?!{scheme})", at) is None


def last_color(rules, selector):
    """Return the declared colour of these elements that counts."""
    colors = (dict(rule.declarations).get("color") for rule in rules if rule.selector == selector)
    return [each for each in colors if each][-1]


def computed(value, values):
    """Return the accent, or what a `color-mix` makes of it."""
    found = re.search(r"color-mix\(in srgb, var\((.+?)\) (\d+)%, var\((.+?)\)\)", value)
    if found is not None:
        return mix(values[found[3]], values[found[1]], int(found[2]) / 100)
    found = re.search(r"color-mix\(in srgb, var\((.+?)\), var\((.+?)\) (\d+)%\)", value)
    if found is None:
        return values["--accent"]
    return mix(values[found[1]], values[found[2]], int(found[3]) / 100)
