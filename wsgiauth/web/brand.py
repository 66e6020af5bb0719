"""The style sheet of a site."""

import re

from wsgiauth.exceptions import ConfigurationError
from wsgiauth.web.templates import Templates

# Comments, strings and URLs, which can contain anything, and what Jinja2 would read as code.
_CODE = re.compile(
    r"""/\*.*?(?:\*/|\Z) | "(?:\\.|[^"\\\n])*" | '(?:\\.|[^'\\\n])*' | url\([^)"']*\)
    | (?P<code>{[{%])""",
    re.DOTALL | re.VERBOSE,
)
_END = re.compile("</style", re.IGNORECASE)


def style_sheet(templates: Templates) -> str:
    """Return the style of every page: `style.css`, and then `brand.css`.

    Raises:
        ConfigurationError: A file cannot be read, or cannot be in a page.
    """
    return _css(templates, "style.css") + _css(templates, "brand.css")


def _css(templates: Templates, name: str) -> str:
    """Return a style sheet, which is put into a page as it is."""
    css = templates.read(name).removeprefix("\ufeff")  # some editors begin a file with it
    end = _END.search(css)
    if end is not None:
        raise _refused(name, css, end.start(), f"{end[0]} would end the style of the page")
    code = next((each for each in _CODE.finditer(css) if each["code"]), None)
    if code is not None:
        reason = f"{code[0]} is no CSS, and a style sheet is no Jinja2 template"
        hint = "To add to the style of wsgiauth, put CSS alone into brand.css"
        raise _refused(name, css, code.start(), f"{reason}. {hint}")
    return css


def _refused(name: str, css: str, position: int, reason: str) -> ConfigurationError:
    line = css.count("\n", 0, position) + 1
    return ConfigurationError(f"TEMPLATES: {name}, line {line}: {reason}.")
