"""The style sheet of a site: its accent is legible everywhere, and its own rules come last."""

import re
from colorsys import rgb_to_hsv
from itertools import product

import pytest

from tests.support.accents import TEXT, illegible, pairs
from tests.support.browser import SCHEMES
from tests.support.own_templates import OWN
from tests.support.style_rules import rules_of
from tests.support.tables import row_by_row
from wsgiauth.exceptions import ConfigurationError
from wsgiauth.web.brand import DARK, LIGHT, accent, icon, script, style_sheet
from wsgiauth.web.colours import Colour, contrast, mix
from wsgiauth.web.templates import Templates

# 64 colours, from black to white; None: the accent of wsgiauth.
LEVELS = (0x00, 0x55, 0xAA, 0xFF)
GRID = (None, *(str(Colour(*parts)) for parts in product(LEVELS, repeat=3)))


def styled(color=None, folder=None):
    return style_sheet(Templates(folder, autoescape=True), color)


@pytest.mark.slow
def test_every_colour_of_a_grid_is_legible_wherever_the_style_sheet_uses_it():
    flaws = {
        (color, scheme): illegible(css, scheme)
        for color, css in ((color, styled(color)) for color in GRID)
        for scheme in SCHEMES
    }
    assert {shade: found for shade, found in flaws.items() if found} == {}


@row_by_row("scheme", SCHEMES)
def test_text_buttons_and_focus_rings_have_the_accent(scheme):
    uses = {pair.use for pair in pairs(styled("#7c3aed"), scheme)}
    assert uses >= {
        "a color",
        ".monogram color",
        ".monogram on its tint",
        ".quiet, .quiet:hover color",
        ".tile on its tint",
        ":focus-visible outline",
        ":is(.choice, .tick) input accent-color",
        "button, .button background",
        "button, .button text",
        "button:hover, .button:hover background",
        "button:hover, .button:hover text",
    }


def test_a_colour_that_is_not_legible_is_found():
    for flaw, scheme in {
        ":root { --accent: #ffd400 }": "light",
        "@media (prefers-color-scheme: dark) { :root { --accent: #003366 } }": "dark",
        ":root { --on-accent: #444444 }": "light",
        ":root { --page: #777777 }": "light",
        "aside { background: var(--muted) }": "light",
        "b { background: color-mix(in srgb, var(--accent) 60%, var(--card)); "
        "color: var(--accent) }": "light",
    }.items():
        assert illegible(styled() + flaw, scheme), flaw


def test_a_colour_stays_as_it_is_where_it_is_legible():
    accents = {
        "#0b6868": ["#0b6868", "#359999"],  # dark enough for light pages
        "#FF6600": ["#be4c00", "#ff6600"],  # light enough for dark pages
        "#000000": ["#000000", "#8b8b8b"],
        "#ffffff": ["#6f6f6f", "#ffffff"],
        "#0000ff": ["#0000ff", "#7c7cff"],  # blue, the darkest of all tints
    }
    assert accents == {
        color: [str(accent(Colour.parse(color), each)) for each in (LIGHT, DARK)]
        for color in accents
    }


def test_a_shade_has_the_hue_of_its_colour():
    for color in map(Colour.parse, ("#003366", "#4b0082", "#b3261e", "#0b6868")):
        shades = (color, *(accent(color, at) for at in (LIGHT, DARK)))
        assert len({round(rgb_to_hsv(*each)[0], 2) for each in shades}) == 1, color


def test_no_lighter_shade_would_be_legible_on_light_pages():
    orange = accent(Colour.parse("#ff6600"), LIGHT)
    lighter = mix(orange, Colour.parse("#ff6600"), 2 / 255)
    assert min(contrast(lighter, each) for each in LIGHT.backgrounds) < TEXT


def test_without_a_colour_the_style_sheet_is_ours():
    ours = Templates(None, autoescape=True).read("style.css")
    assert list(rules_of(styled())) == list(rules_of(ours))


def test_comments_and_indentation_of_ours_are_not_sent():
    assert "/*" not in styled()
    assert not re.search(r"^\s", styled(), re.MULTILINE)


def test_a_style_sheet_of_ones_own_stays_as_it_is(tmp_path):
    own = "a {\n  color: red; /* as before */\n}\n"
    (tmp_path / "style.css").write_text(own)
    assert styled(folder=tmp_path) == own


def test_the_shades_weigh_a_few_bytes():
    assert 0 < len(styled("#7c3aed")) - len(styled()) < 200


def test_the_icon_has_the_colour():
    templates = Templates(None, autoescape=True)
    assert 'fill="#0b6868"' in icon(templates, None)
    assert icon(templates, "#ff6600") == icon(templates, None).replace("#0b6868", "#be4c00")


# Files of a site's own.


def test_rules_of_ones_own_come_after_ours_as_they_are(tmp_path):
    rules = ".site::before { content: '{{ 7 }}' } /* <b> & é */\r\n"
    (tmp_path / "brand.css").write_bytes(rules.encode())
    own = styled("#7c3aed", tmp_path)
    assert own == styled("#7c3aed") + rules.replace("\r\n", "\n")


def test_a_byte_order_mark_spoils_no_rule(tmp_path):
    (tmp_path / "brand.css").write_bytes(b"\xef\xbb\xbfh1 { color: red }")
    assert styled(folder=tmp_path) == f"{styled()}h1 {{ color: red }}"


def test_a_style_of_ones_own_gets_the_colour_and_the_rules_too(tmp_path):
    (tmp_path / "style.css").write_text("a { color: var(--accent) }\n")
    (tmp_path / "brand.css").write_text("a { color: red }")
    first, *shades, last = styled("#ff6600", tmp_path).splitlines()
    assert (first, last) == ("a { color: var(--accent) }", "a { color: red }")
    assert ["#be4c00" in shades[0], "#ff6600" in shades[1]] == [True, True]


@pytest.mark.parametrize("file", ["style.css", "brand.css"])
def test_a_style_sheet_that_cannot_be_in_a_page_is_refused(tmp_path, file):
    for css, line, reason in (
        ("a {}\n</style>", 2, "</style would end the style"),
        ("</STYLE foo", 1, "</STYLE would end the style"),
        ("/* </sTyLe> */", 1, "</sTyLe would end the style"),
        ("a::after { content: '</style' }", 1, "</style would"),
        ('{% include "wsgiauth/style.css" %}\na { color: red }', 1, "{% is no CSS"),
        ("a {\n  color: {{ site.color }};\n}", 2, "{{ is no CSS"),
        ("/* it's */\n{% if a %}", 2, "{% is no CSS"),  # after an apostrophe
        ('a { b: "\\"" }\n\'\n{% if a %}\'', 3, "{% is no CSS"),  # after a string
    ):
        (tmp_path / file).write_text(css)
        with pytest.raises(ConfigurationError) as caught:
            styled(folder=tmp_path)
        assert str(caught.value).startswith(f"TEMPLATES: {file}, line {line}: {reason}")
        assert ("put CSS alone into brand.css" in str(caught.value)) is ("no CSS" in reason)


def test_what_only_looks_like_it_is_no_template(tmp_path):
    for css in (
        "@media print{#nav{display:none}}",  # the braces of minified CSS
        "/* {% include %} {{ a }} */",
        "a { b: '{{ \\' {%' } c { d: \"{%\" }",
        "a { b: c } /* {{",  # a comment without an end
        "a { width: 50%}",
        "a { b: url(data:,{%0A) }",
        "</ style",
    ):
        (tmp_path / "brand.css").write_text(css)
        assert styled(folder=tmp_path) == styled() + css


@row_by_row("name", ["page.js", "passkeys.js"])
def test_a_script_of_ours_is_sent_without_comments_and_indentation(name, tmp_path):
    text = OWN[name].read_text("utf-8")
    assert [line for line in text.splitlines() if line.count("`") % 2] == []  # no string of lines
    code = [line.strip() for line in text.splitlines() if line.strip()[:2] not in ("", "//")]
    assert script(Templates(None, autoescape=True), name).splitlines() == code
    (tmp_path / name).write_text("  // of the site\n  1;\n")
    assert script(Templates(tmp_path, autoescape=True), name) == "  // of the site\n  1;\n"
