"""The look of a site: its style sheet and its icon, in the shades of SITE_COLOR."""

import re
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

from wsgiauth.web.colours import BLACK, WHITE, Colour, contrast, mix
from wsgiauth.web.templates import Templates

# Of text, WCAG 2.2, 1.4.3; borders and focus rings need 3 (1.4.11), and have the same colour.
_MINIMUM_CONTRAST = 4.5
_STEPS = 255  # of a colour's way to black or to its tint
OWN_ACCENT = "#0b6868"  # in icon.svg
# Comments, strings and URLs, which can contain anything, and what Jinja2 would read as code.
_CODE = re.compile(
    r"""/\*.*?(?:\*/|\Z) | "(?:\\.|[^"\\\n])*" | '(?:\\.|[^'\\\n])*' | url\([^)"']*\)
    | (?P<code>{[{%])""",
    re.DOTALL | re.VERBOSE,
)
_COMMENT = re.compile(r"^ *//.*\n", re.MULTILINE)  # a whole line
_MARGIN = re.compile(r"^\s+", re.MULTILINE)
_END = re.compile("</style", re.IGNORECASE)


class Scheme(NamedTuple):
    """Light or dark pages: colours of style.css, which are seen beside the accent."""

    backgrounds: tuple[Colour, ...]
    on_accent: Colour  # the text of a button
    extreme: Callable[[Colour], Colour]  # a colour is mixed with it until it is legible


def tint(colour: Colour) -> Colour:
    """Return a pale colour of the same hue.

    Mixed with it, a colour keeps more of its hue than with white.
    """
    brightest = max(colour)
    if not brightest:
        return WHITE
    return mix(Colour(*(round(part * 255 / brightest) for part in colour)), WHITE, 0.5)


_DARK_PAGE = Colour.parse("#101516")
LIGHT = Scheme(tuple(map(Colour.parse, ("#f3f5f4", "#ffffff", "#fdf1ef"))), WHITE, lambda _: BLACK)
DARK = Scheme((_DARK_PAGE, *map(Colour.parse, ("#182022", "#33201f"))), _DARK_PAGE, tint)


@lru_cache(maxsize=4)  # a site asks four times for two shades, which takes a millisecond
def accent(colour: Colour, scheme: Scheme) -> Colour:
    """Return the nearest shade of a colour that is legible on pages and under a button's text.

    Every colour has one: black is legible on light pages, and on dark pages so is the darkest
    tint, that of blue.
    """
    others, extreme = (*scheme.backgrounds, scheme.on_accent), scheme.extreme(colour)
    shades = (mix(colour, extreme, step / _STEPS) for step in range(_STEPS + 1))
    return next(
        shade
        for shade in shades
        if all(contrast(shade, other) >= _MINIMUM_CONTRAST for other in others)
    )


def style_sheet(templates: Templates, color: str | None) -> str:
    """Return the style of every page: `style.css`, the accent of SITE_COLOR, and `brand.css`.

    Raises:
        ConfigurationError: A file cannot be read, or cannot be in a page.
    """
    shades = "" if color is None else _shades(Colour.parse(color))
    style = _css(templates, "style.css")
    if templates.is_ours("style.css"):
        style = _small(style)
    return style + shades + _css(templates, "brand.css")


def script(templates: Templates, name: str) -> str:
    """Return a script of the pages; ours without the comments and the indentation of its lines."""
    text = templates.read(name)
    return _small_script(text) if templates.is_ours(name) else text


def icon(templates: Templates, color: str | None) -> str:
    """Return the icon of the browser's tab, an SVG image."""
    svg = templates.read("icon.svg")
    if color is None:
        return svg
    return svg.replace(OWN_ACCENT, str(accent(Colour.parse(color), LIGHT)))


def _shades(colour: Colour) -> str:
    light, dark = (
        f":root {{ --accent: {accent(colour, each)}; --on-accent: {each.on_accent} }}"
        for each in (LIGHT, DARK)
    )
    return f"{light}\n@media screen and (prefers-color-scheme: dark) {{ {dark} }}\n"


def _css(templates: Templates, name: str) -> str:
    """Return a style sheet, which is put into a page as it is."""
    css = templates.read(name).removeprefix("\ufeff")  # some editors begin a file with it
    problem = _problem_of(css)
    if problem is not None:
        position, reason = problem
        line = css.count("\n", 0, position) + 1
        raise templates.mistake(name, f", line {line}: {reason}.")
    return css


@lru_cache(maxsize=4)
def _small_script(text: str) -> str:
    return _MARGIN.sub("", _COMMENT.sub("", text))


@lru_cache(maxsize=1)
def _small(css: str) -> str:
    """Return our style sheet without comments and indentation, which every page would carry."""
    without = _CODE.sub(lambda found: "" if found[0].startswith("/*") else found[0], css)
    return _MARGIN.sub("", without)


@lru_cache(maxsize=4)  # further sites in the process have the same files
def _problem_of(css: str) -> tuple[int, str] | None:
    """Return where a style sheet cannot be in a page, and why, or None."""
    end = _END.search(css)
    if end is not None:
        return end.start(), f"{end[0]} would end the style of the page"
    code = next((each for each in _CODE.finditer(css) if each["code"]), None)
    if code is not None:
        reason = f"{code[0]} is no CSS, and a style sheet is no Jinja2 template"
        hint = "To add to the style of wsgiauth, put CSS alone into brand.css"
        return code.start(), f"{reason}. {hint}"
    return None
