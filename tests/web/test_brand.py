"""The style sheet of a site: its own rules come last."""

import pytest

from wsgiauth.exceptions import ConfigurationError
from wsgiauth.web.brand import style_sheet
from wsgiauth.web.templates import Templates


def styled(folder=None):
    return style_sheet(Templates(folder, autoescape=True))


def test_without_files_of_a_site_the_style_sheet_is_ours():
    assert styled() == Templates(None, autoescape=True).read("style.css")


# Files of a site's own.


def test_rules_of_ones_own_come_after_ours_as_they_are(tmp_path):
    rules = ".site::before { content: '{{ 7 }}' } /* <b> & é */\r\n"
    (tmp_path / "brand.css").write_bytes(rules.encode())
    assert styled(tmp_path) == styled() + rules.replace("\r\n", "\n")


def test_a_byte_order_mark_spoils_no_rule(tmp_path):
    (tmp_path / "brand.css").write_bytes(b"\xef\xbb\xbfh1 { color: red }")
    assert styled(folder=tmp_path) == f"{styled()}h1 {{ color: red }}"


def test_a_style_of_ones_own_gets_the_rules_too(tmp_path):
    (tmp_path / "style.css").write_text("a { color: blue }")
    (tmp_path / "brand.css").write_text("a { color: red }")
    assert styled(tmp_path) == "a { color: blue }a { color: red }"


@pytest.mark.parametrize("file", ["style.css", "brand.css"])
@pytest.mark.parametrize(
    ("css", "line", "reason"),
    [
        pytest.param(
            "a {}\n</style>", 2, "</style would end the style", id="the end of the element"
        ),
        pytest.param("</STYLE foo", 1, "</STYLE would end the style", id="in upper case"),
        pytest.param("/* </sTyLe> */", 1, "</sTyLe would end the style", id="in a comment"),
        pytest.param("a::after { content: '</style' }", 1, "</style would", id="in a string"),
        pytest.param(
            '{% include "wsgiauth/style.css" %}\na { color: red }', 1, "{% is no CSS", id="include"
        ),
        pytest.param("a {\n  color: {{ site.color }};\n}", 2, "{{ is no CSS", id="an expression"),
        pytest.param("/* it's */\n{% if a %}", 2, "{% is no CSS", id="after an apostrophe"),
        pytest.param('a { b: "\\"" }\n\'\n{% if a %}\'', 3, "{% is no CSS", id="after a string"),
    ],
)
def test_a_style_sheet_that_cannot_be_in_a_page_is_refused(tmp_path, file, css, line, reason):
    (tmp_path / file).write_text(css)
    with pytest.raises(ConfigurationError) as caught:
        styled(folder=tmp_path)
    assert str(caught.value).startswith(f"TEMPLATES: {file}, line {line}: {reason}")
    assert ("put CSS alone into brand.css" in str(caught.value)) is ("no CSS" in reason)


@pytest.mark.parametrize(
    "css",
    [
        pytest.param("@media print{#nav{display:none}}", id="the braces of minified CSS"),
        pytest.param("/* {% include %} {{ a }} */", id="a comment"),
        pytest.param("a { b: '{{ \\' {%' } c { d: \"{%\" }", id="strings"),
        pytest.param("a { b: c } /* {{", id="a comment without an end"),
        pytest.param("a { width: 50%}", id="a percentage"),
        pytest.param("a { b: url(data:,{%0A) }", id="a URL"),
        pytest.param("</ style", id="a space"),
    ],
)
def test_what_only_looks_like_it_is_no_template(tmp_path, css):
    (tmp_path / "brand.css").write_text(css)
    assert styled(folder=tmp_path) == styled() + css
