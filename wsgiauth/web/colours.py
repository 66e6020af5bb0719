"""Colours of sRGB, and the contrast of two of them, as WCAG 2.2 defines it."""

import re
from typing import NamedTuple, Self

_FORM = "#[0-9a-f]{6}"


class Colour(NamedTuple):
    """A colour, whose parts are numbers from 0 to 255."""

    red: int
    green: int
    blue: int

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the colour of a string such as "#0b6868"."""
        return cls(*bytes.fromhex(text.removeprefix("#")))

    def __str__(self) -> str:
        return f"#{bytes(self).hex()}"


BLACK, WHITE = Colour(0, 0, 0), Colour(255, 255, 255)


def is_colour(text: str) -> bool:
    """Return whether `Colour.parse` can read a string."""
    return re.fullmatch(_FORM, text, re.IGNORECASE) is not None


def luminance(colour: Colour) -> float:
    """Return the relative luminance, from 0 for black to 1 for white.

    https://www.w3.org/TR/WCAG22/#dfn-relative-luminance
    """
    red, green, blue = (_linear(part / 255) for part in colour)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: Colour, other: Colour) -> float:
    """Return the contrast ratio, from 1 to 21, whichever of the two is lighter.

    https://www.w3.org/TR/WCAG22/#dfn-contrast-ratio
    """
    darker, lighter = sorted((luminance(one), luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def mix(colour: Colour, other: Colour, share: float) -> Colour:
    """Return a colour with a share of another one, as `color-mix(in srgb, …)` of CSS does."""
    return Colour(
        *(round(part + (target - part) * share) for part, target in zip(colour, other, strict=True))
    )


def _linear(part: float) -> float:
    return part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4
