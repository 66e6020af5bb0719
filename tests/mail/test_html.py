"""The HTML of emails: what the text says, in the brand of the site, and nothing from elsewhere."""

import random
import re

import pytest
from bs4 import BeautifulSoup

from tests.support.mails import with_mail
from tests.support.tables import row_by_row
from wsgiauth import Settings
from wsgiauth.exceptions import ConfigurationError
from wsgiauth.features.links.letters import ResetLetter
from wsgiauth.features.login_codes.letter import SAMPLES as CODES
from wsgiauth.features.registry import LETTER_SAMPLES as SAMPLES
from wsgiauth.mail.html import Support, paragraphs_of
from wsgiauth.mail.letters import Addressed, Letters, plain_text_of

LINK = "https://example.org/auth/reset?token=x_-"
RESET = ResetLetter(label="ada", link=LINK, minutes=60)


def send(letter, **changes):
    return sent(Letters(with_mail(Settings(), **changes)), letter)


def sent(letters, letter):
    return letters.message(Addressed(letter, "a@b.example", 1))


@pytest.fixture(scope="module")
def messages():
    """Return the message of each letter; not to be changed."""
    letters = Letters(with_mail(Settings()))
    return [sent(letters, sample) for sample in SAMPLES]


def parsed(message):
    return BeautifulSoup(message.get_body(("html",)).get_content(), "html.parser")


def html_of(letter, **changes):
    return parsed(send(letter, **changes))


def raw(letter, **changes):
    return send(letter, **changes).get_body(("html",)).get_content()


def test_the_html_says_what_the_text_says(messages):
    for message in messages:
        html = parsed(message)
        shown = html.body.get_text(" ").split()
        assert [each for each in plain_text_of(message).split() if each not in shown] == []
        assert html.title.text == message["Subject"]


def test_nothing_is_loaded_and_nothing_tracks(messages):
    for message in messages:
        html, text = parsed(message), plain_text_of(message)
        assert html.find_all(["img", "script", "link", "iframe", "form"]) == []
        assert "url(" not in str(html)
        assert {each["href"] for each in html.find_all("a")} <= set(re.findall(r"\S+", text))


def test_the_link_is_a_button_and_shown():
    button, shown = html_of(RESET).find_all("a")
    assert (button["href"], button.text) == (LINK, "Open the link")
    assert (shown["href"], shown.text) == (LINK, LINK)


def test_an_email_with_a_code_has_no_link():
    for sample in CODES:
        html = raw(sample, SITE_LOGO="/logo.png", SUPPORT_URL="https://example.org/help")
        assert "<a " not in html
        assert re.search(r">\s*1234 5678\s*<", html)
        assert "Help: https://example.org/help" in html


def test_help_by_email_is_shown_as_an_address_which_is_a_link():
    url = "mailto:help+site@example.org?subject=Login%20problem"
    message = send(RESET, SUPPORT_URL=url)
    assert "\nHelp: help+site@example.org\n" in plain_text_of(message)
    *_, link = parsed(message).find_all("a")
    assert (link["href"], link.text) == (url, "help+site@example.org")


def test_another_address_that_contains_that_of_the_help_is_no_link():
    letter = RESET.replaced(label="help@example.orgs")
    assert len(html_of(letter, SUPPORT_URL="mailto:help@example.org").find_all("a")) == 3


def test_the_brand_is_that_of_the_site():
    html = html_of(RESET, SITE_NAME="Ada & Sons", SITE_LOGO="/logo.png", SITE_COLOR="#7a2fd0")
    assert (html.img["src"], html.img["alt"]) == ("https://example.org/logo.png", "Ada & Sons")
    assert html.source is None
    assert "background: #7a2fd0" in html.find(class_="button")["style"]
    assert "#7a2fd0" not in html.style.text  # a lighter shade on dark pages


@row_by_row(
    ("logo", "of_emails", "dark", "shown", "shown_dark"),
    [
        pytest.param("/a.png", None, "/b.png", "https://example.org/a.png", "/b.png", id="PNG"),
        pytest.param("/a.png", "/c.gif", None, "https://example.org/c.gif", None, id="another"),
        pytest.param("/a.SVG?v=2", None, "/b.png", None, None, id="SVG"),
        pytest.param("/a.svg", "/c.png", "/b.svg", "https://example.org/c.png", None, id="SVGs"),
        pytest.param(
            None, "https://a.example/c.png", None, "https://a.example/c.png", None, id="a"
        ),
    ],
)
def test_emails_show_a_logo_that_mail_programs_show(logo, of_emails, dark, shown, shown_dark):
    changes = {"SITE_LOGO": logo, "SITE_LOGO_EMAIL": of_emails, "SITE_LOGO_DARK": dark}
    html = html_of(RESET, SITE_NAME="Library", **changes)
    assert (html.img and html.img["src"]) == shown
    assert shown or "Library" in html.p.text
    expected = shown_dark and f"https://example.org{shown_dark}"
    assert (html.source and html.source["srcset"]) == expected
    assert html.source is None or html.source["media"] == "(prefers-color-scheme: dark)"


def test_a_value_is_escaped():
    html = raw(RESET.replaced(label="<b>&amp;{{ 7 * 7 }}"))
    assert "&lt;b&gt;&amp;amp;{{ 7 * 7 }}" in html
    assert "<b>" not in html


@row_by_row(("language", "direction"), [("ar", "rtl"), ("de", "ltr")])
def test_the_language_is_that_of_the_text(language, direction):
    html = html_of(RESET, LANGUAGES=(language,)).html
    assert (html["lang"], html["dir"]) == (language, direction)


@row_by_row(
    ("text", "expected"),
    [
        pytest.param("A\nb", [(["A", "b"], "", "")], id="lines"),
        pytest.param("A\n\n\nb\n", [(["A"], "", ""), (["b"], "", "")], id="empty lines"),
        pytest.param(LINK, [([LINK], LINK, "")], id="a link alone"),
        pytest.param(
            f"{LINK}\n\nhttps://a.example",
            [([LINK], LINK, ""), (["https://a.example"], "", "")],
            id="only the first link is a button",
        ),
        pytest.param("1234 5678", [(["1234 5678"], "", "1234 5678")], id="a code"),
        pytest.param("evil.example", [(["evil.example"], "", "")], id="no scheme"),
    ],
)
def test_paragraphs_are_found_in_the_text(text, expected):
    found = [
        (["".join(piece.text for piece in line) for line in each.lines], each.button, each.code)
        for each in paragraphs_of(text, Support("", ""))
    ]
    assert found == expected


@row_by_row(
    ("line", "urls"),
    [
        ("See https://a.example/b, or not.", ["https://a.example/b"]),
        ("Help: mailto:help@example.org?subject=a", ["mailto:help@example.org?subject=a"]),
        ("https://a.example/b https://a.example/c", ["https://a.example/b", "https://a.example/c"]),
        ("javascript:alert(1) //a.example", []),
    ],
)
def test_urls_in_a_line_are_links(line, urls):
    (paragraph,) = paragraphs_of(f"{line}\nmore", Support("", ""))
    pieces = paragraph.lines[0]
    assert "".join(each.text for each in pieces) == line
    assert [each.url for each in pieces if each.url] == urls


def test_a_host_replaces_the_layout(tmp_path):
    (tmp_path / "mail").mkdir()
    (tmp_path / "mail" / "layout.html").write_text(
        '{% extends "wsgiauth/mail/layout.html" %}{% block footer %}<p>Ours</p>{% endblock %}'
    )
    assert html_of(RESET, TEMPLATES=tmp_path).find("p", string="Ours")


def test_a_mistake_in_the_layout_is_named_at_the_start(tmp_path):
    (tmp_path / "mail").mkdir()
    file = tmp_path / "mail" / "layout.html"
    file.write_text("\n{{ missing.name }}")
    with pytest.raises(ConfigurationError, match=f"TEMPLATES: {re.escape(str(file))}, line 2: "):
        Letters(with_mail(Settings(), TEMPLATES=tmp_path)).check(RESET)


def test_sending_leaves_the_random_numbers_of_the_application_alone():
    before = random.getstate()
    send(RESET).as_bytes()
    assert random.getstate() == before
