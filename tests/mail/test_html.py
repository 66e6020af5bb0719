"""The HTML of emails: what the text says, in the brand of the site, and nothing from elsewhere."""

import random
import re

import pytest
from bs4 import BeautifulSoup

from tests.support.declared import LETTER_SAMPLES as SAMPLES
from tests.support.mails import with_mail
from tests.support.tables import row_by_row
from wsgiauth import Settings
from wsgiauth.exceptions import ConfigurationError
from wsgiauth.features.links.letters import InvitationLetter, ResetLetter
from wsgiauth.features.login_codes.letter import SAMPLES as CODES
from wsgiauth.mail.html import Frame, Support, paragraphs_of
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
        # The dash of a list is the mark of its items.
        assert [each for each in plain_text_of(message).split() if each not in (*shown, "-")] == []
        assert html.title.text == message["Subject"]


def test_nothing_is_loaded_and_nothing_tracks(messages):
    for message in messages:
        html, text = parsed(message), plain_text_of(message)
        assert html.find_all(["img", "script", "link", "iframe", "form"]) == []
        assert "url(" not in str(html)
        assert {each["href"] for each in html.find_all("a")} <= set(re.findall(r"\S+", text))


def test_the_link_is_a_button_and_shown():
    button, shown = html_of(RESET).find_all("a")
    assert (button["href"], button.text) == (LINK, "Choose a new password")
    assert (shown["href"], shown.text) == (LINK, LINK)


def test_each_button_says_what_it_does(messages):
    found = {}
    for sample, message in zip(SAMPLES, messages, strict=True):
        button = parsed(message).select_one(".button a")
        name = sample.template.removeprefix("mail/").removesuffix(".txt")
        found.setdefault(name, set()).add(button and button.text)
    password = {"Choose a new password"}
    assert found == {
        "reset": {*password, "Log in"},
        "invitation": {"Create your account"},
        "address": {"Verify your email address"},
        "address_taken": {None},
        "provider_address": {"Create your account"},
        "login_code": {None},
        "notice_password": password,
        "notice_email": {None, "Restore your email address"},
        "notice_closing": {None},
        "notice_reuse": password,
        "notice_login": password,
        "notice_key": password,
        "notice_factor_added": {*password, None},
        "notice_factor_removed": {*password, None},
        "notice_factor_guessed": password,
        "notice_recovery_code": password,
        "notice_trusted": password,
        "notice_passkey_cloned": password,
        "notice_passkey_skipped": {None},
        "notice_identity_connected": password,
        "notice_identity_disconnected": password,
        "notice_app": password,
        "notice_device": {"Apps that use your account"},
        "notice_app_reuse": password,
    }


@pytest.fixture
def notice():
    """Return the notice of a new API key."""
    return next(each for each in SAMPLES if getattr(each, "event", "") == "key_created")


def test_without_passwords_a_notice_leads_to_the_sessions(notice):
    html = html_of(notice, PASSWORD_LOGIN=False, LOGIN_CODES=True)
    assert html.select_one(".button a").text == "See your sessions"


def test_a_link_to_the_site_has_its_name(notice):
    html = html_of(notice.replaced(forgot_url=""), SITE_NAME="Ada & Sons")
    button = html.select_one(".button a")
    assert (button["href"], button.text) == ("https://example.org", "Go to Ada & Sons")


@row_by_row(
    ("url", "text"),
    [
        ("https://help.example.org/a?b=c", "Go to help.example.org"),
        ("mailto:help@example.org?subject=a", "Go to help@example.org"),
    ],
)
def test_another_link_of_a_host_says_where_it_leads(url, text):
    (paragraph,) = paragraphs_of(url, Support("", ""), Frame())
    assert (paragraph.button, paragraph.action) == (url, text)


def preheader(html):
    hidden = html.body.find("div", recursive=False)
    return hidden and " ".join(hidden.text.strip("\u034f\u200c\xa0\n ").split())


def test_the_first_sentence_is_shown_beside_the_subject(messages):
    for message in messages:
        shown = preheader(parsed(message))
        assert plain_text_of(message).replace("\n", " ").startswith(shown)
        assert not shown.endswith(":")
    assert preheader(html_of(RESET)) == "A new password was requested for the account ada."


def test_a_code_is_not_shown_beside_the_subject():
    for sample in CODES:
        hidden = html_of(sample).body.find("div", recursive=False)
        assert sample.code not in hidden.text
        assert "display: none" in hidden["style"]


@pytest.mark.parametrize("text", [LINK, "1234 5678"])
def test_a_link_or_code_that_is_first_is_not_shown_beside_the_subject(tmp_path, text):
    (tmp_path / "mail").mkdir()
    (tmp_path / "mail" / "reset.txt").write_text(f"Subject\n\n{text}\n")
    assert preheader(html_of(RESET, TEMPLATES=tmp_path)) is None


def foot(html):
    return [each.text for each in html.select("td.small > p")]


@row_by_row(
    ("sample", "reason"),
    [
        (RESET, "because someone asked for it there."),
        (InvitationLetter(link=LINK, minutes=60, is_requested=True), "because someone asked"),
        (
            InvitationLetter(link=LINK, minutes=60, is_requested=False),
            "to invite you to create an account there.",
        ),
    ],
)
def test_the_foot_says_who_sent_the_email_and_why(sample, reason):
    html = html_of(sample, SITE_NAME="Library", SUPPORT_URL="https://example.org/help")
    why, help_text = foot(html)
    assert why.startswith(f"Library sent this email to a@b.example {reason}")
    assert help_text == "Help: https://example.org/help"


def test_the_foot_of_a_notice_says_why_there_is_one(notice):
    assert foot(html_of(notice)) == [
        "example.org sent this email to a@b.example to protect an account there."
    ]


@row_by_row(
    ("address", "shown"),
    [
        ("ada.lovelace+a@b.example", "ada.lovelace+a@b.example"),
        ("ada+//evil.example/a@b.example", "a…@b.example"),
    ],
)
def test_an_address_that_has_a_link_is_shown_in_part(address, shown):
    letters = Letters(with_mail(Settings()))
    message = letters.message(Addressed(RESET, address, 1))
    assert f"sent this email to {shown} because" in plain_text_of(message)


def test_a_template_without_the_layout_has_no_foot(tmp_path):
    (tmp_path / "mail").mkdir()
    (tmp_path / "mail" / "reset.txt").write_text("Subject\n\nHello\n\n{{ letter.link }}\n")
    assert foot(html_of(RESET, TEMPLATES=tmp_path)) == []


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
    assert html.find("td", string="A") is None
    assert "background: #7a2fd0" in html.find(class_="button")["style"]
    assert "#7a2fd0" not in html.style.text  # a lighter shade on dark pages


def test_the_first_letter_of_the_name_stands_for_a_logo():
    html = html_of(RESET, SITE_NAME="ada & Sons", SITE_COLOR="#7a2fd0")
    mark, name = html.find("td", class_="card").find_all("td")[:2]
    assert (mark.text, name.text) == ("A", "ada & Sons")
    assert "background: #7a2fd0" in mark["style"]
    assert mark["aria-hidden"] == "true"


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
    assert shown or html.find("td", string="Library")
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
        for each in paragraphs_of(text, Support("", ""), Frame())
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
    (paragraph,) = paragraphs_of(f"{line}\nmore", Support("", ""), Frame())
    pieces = paragraph.lines[0]
    assert "".join(each.text for each in pieces) == line
    assert [each.url for each in pieces if each.url] == urls


@row_by_row(
    ("text", "facts"),
    [
        pytest.param(
            "When: 9 March, 12:05\nWith: Firefox",
            [("When:", "9 March, 12:05"), ("With:", "Firefox")],
            id="facts",
        ),
        pytest.param(
            "Quand : hier\n日時\uff1a昨日",
            [("Quand :", "hier"), ("日時\uff1a", "昨日")],
            id="colons",
        ),
        pytest.param("When: 9 March", [], id="one line"),
        pytest.param("When: 9 March\nOnce more", [], id="another line"),
        pytest.param("https://a.example\nhttps://b.example", [], id="links"),
        pytest.param(f"{'a' * 41}: b\nb: c", [], id="a sentence"),
    ],
)
def test_facts_are_found_in_the_text(text, facts):
    (paragraph,) = paragraphs_of(text, Support("", ""), Frame())
    assert [
        (each.label, "".join(piece.text for piece in each.pieces)) for each in paragraph.facts
    ] == facts


@row_by_row(
    ("text", "points"),
    [
        pytest.param("- a - b\n- c", ["a - b", "c"], id="list"),
        pytest.param("- a\nb", [], id="another line"),
        pytest.param("-a", [], id="no list"),
        pytest.param("", [], id="empty"),
    ],
)
def test_lists_are_found_in_the_text(text, points):
    (paragraph,) = paragraphs_of(text, Support("", ""), Frame())
    assert ["".join(each.text for each in point) for point in paragraph.points] == points


def test_facts_and_lists_are_shown():
    notice = next(each for each in SAMPLES if getattr(each, "event", "") == "consent_given")
    html = html_of(notice)
    assert "See your email address" in [each.text for each in html.find_all("li")]
    rows = [[cell.text for cell in row.find_all("td")] for row in html.select(".panel tr")]
    assert ["App:", "Wiki"] in rows


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
