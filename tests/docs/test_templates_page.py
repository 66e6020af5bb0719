"""docs/templates.md: its shades are those of the code, and its examples change the pages."""

import re

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


def test_a_shade_is_that_of_the_pages():
    made = [
        (c, *(str(accent(Colour.parse(c), each)) for each in (LIGHT, DARK))) for c, *_ in SHADES
    ]
    assert made == SHADES
    assert len(SHADES) > 1


def test_each_colour_is_legible_with_the_rules_of_the_page(tmp_path):
    (rules,) = code(OWN_STYLE, "css")
    (tmp_path / "brand.css").write_text(rules)
    templates = Templates(tmp_path, autoescape=True)
    for color, *_ in SHADES:
        css = style_sheet(templates, color)
        assert [(color, scheme) for scheme in SCHEMES if illegible(css, scheme)] == []
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


def test_a_picture_of_the_reader_replaces_the_first_letter(tmp_path):
    (member,) = code(section(PAGE, "Pictures of people"), "html")
    (tmp_path / "member.html").write_text(member)
    page = EXAMPLES["sessions.html"]
    shown = page.replaced(person="ada lovelace")
    html = Pages("/auth", tmp_path).check(shown)
    assert 'src="/avatars/ada"' in html
    assert "monogram" not in html.partition("<main")[0].partition("<body")[2]
