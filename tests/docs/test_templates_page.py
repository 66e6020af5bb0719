"""docs/templates.md: its shades are those of the code, and its examples change the pages."""

import re

import pytest

from tests.docs.pages import PAGES, code, section
from tests.support.accents import illegible
from tests.support.browser import SCHEMES
from tests.web.pages import PAGES as EXAMPLES
from tests.web.pages import REQUEST
from wsgiauth.web.brand import DARK, LIGHT, accent, style_sheet
from wsgiauth.web.colours import Colour
from wsgiauth.web.pages import Pages
from wsgiauth.web.templates import Templates

PAGE = PAGES["docs/templates.md"]
SHADES = re.findall(r"^\| \w+, `(.+?)` \| `(.+?)` \| `(.+?)` \|$", PAGE, re.MULTILINE)
OWN_STYLE = section(PAGE, "A style of your own")


@pytest.mark.parametrize(("color", "light", "dark"), SHADES)
def test_a_shade_is_that_of_the_pages(color, light, dark):
    shades = [str(accent(Colour.parse(color), each)) for each in (LIGHT, DARK)]
    assert shades == [light, dark]


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("color", [color for color, *_ in SHADES])
def test_each_colour_is_legible_with_the_rules_of_the_page(tmp_path, color, scheme):
    (rules,) = code(OWN_STYLE, "css")
    (tmp_path / "brand.css").write_text(rules)
    css = style_sheet(Templates(tmp_path, autoescape=True), color)
    assert illegible(css, scheme) == []
    assert css.endswith(rules)


def test_the_layout_of_the_page_adds_its_elements_to_the_head(tmp_path):
    (layout,) = code(OWN_STYLE, "html")
    (tmp_path / "layout.html").write_text(layout)
    html = Pages("/auth", tmp_path).render(REQUEST, EXAMPLES["login.html"]).body.decode()
    head = html.partition("</head>")[0]
    assert head.endswith(
        '<link rel="stylesheet" href="/static/accounts.css">\n'
        '<meta name="theme-color" content="#7c3aed">\n'
    )
