"""Letters: one layout, which a host's folder replaces or extends, and values as they are."""

import random

import pytest

from tests.support.mails import with_mail
from wsgiauth import Settings
from wsgiauth.exceptions import ConfigurationError
from wsgiauth.features import LETTER_SAMPLES as SAMPLES
from wsgiauth.features.links.letters import ResetLetter
from wsgiauth.mail.letters import Addressed, Letters, plain_text_of

LINK = "https://example.org/auth/reset?token=x"
LETTERS = pytest.mark.parametrize("sample", SAMPLES, ids=lambda each: each.template)


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "mail"
    made.mkdir()
    return made


@pytest.fixture
def write(folder, monkeypatch):
    """Return a function that makes the message of a letter, with the templates of the folder."""

    def message(letter, **changes):
        letters = Letters(with_mail(Settings(), TEMPLATES=folder.parent, **changes))
        letters.check(letter)
        return letters.message(Addressed(letter, "ada@example.org", 1))

    return message


def reset(username="ada"):
    return ResetLetter(username=username, link=LINK, minutes=60)


@LETTERS
def test_every_mail_but_one_with_a_code_says_where_to_get_help(sample, write):
    plain, helping = write(sample), write(sample, SUPPORT_URL="https://example.org/help")
    added = "" if hasattr(sample, "code") else "\nHelp: https://example.org/help\n"
    assert plain_text_of(helping) == f"{plain_text_of(plain)}{added}"


@LETTERS
@pytest.mark.parametrize("has_passwords", [True, False], ids=["passwords", "no passwords"])
@pytest.mark.parametrize("has_link", [True, False], ids=["with a link", "of a command"])
def test_no_mail_has_two_blank_lines_in_a_row(sample, write, has_passwords, has_link):
    if not has_link and getattr(sample, "event", "login") not in ("login", "refresh_reused"):
        sample = sample.replaced(forgot_url="")
    url = "https://example.org/help"
    text = plain_text_of(write(sample, PASSWORD_LOGIN=has_passwords, SUPPORT_URL=url))
    assert "\n\n\n" not in text


@LETTERS
def test_a_host_signs_every_mail_in_the_layout(sample, folder, write):
    (folder / "layout.txt").write_text(
        "{% extends 'wsgiauth/mail/layout.txt' %}"
        "{% block signature %}\n-- \n{{ site.name }}\n{% endblock %}"
    )
    plain, signed = (write(sample, SITE_NAME=name) for name in ("Library", "Ada & Sons"))
    assert signed["Subject"] == plain["Subject"].replace("Library", "Ada & Sons")
    assert plain_text_of(signed).endswith("\n-- \nAda & Sons\n")


def test_a_host_replaces_the_subject_and_keeps_the_text(folder, write):
    before = write(reset())
    (folder / "reset.txt").write_text(
        "{% extends 'wsgiauth/mail/reset.txt' %}{% block subject %}Hello{% endblock %}"
    )
    assert write(reset())["Subject"] == "Hello"
    assert plain_text_of(write(reset())) == plain_text_of(before)


def test_a_host_replaces_a_mail(folder, write):
    (folder / "reset.txt").write_text("For {{ letter.username }}\n\n{{ letter.link }}\n")
    message = write(reset())
    assert (message["Subject"], plain_text_of(message)) == ("For ada", f"{LINK}\n")


@pytest.mark.parametrize("username", ["<b>&amp;\"'", "{{ 7 * 7 }}", "{% raise %}"])
def test_a_value_is_shown_as_it_is_and_never_executed(username, folder, write):
    (folder / "reset.txt").write_text(
        "{{ letter.username }}\n\n{{ letter.username }} {{ letter.link }}\n"
    )
    message = write(reset(username))
    assert message["Subject"] == username
    assert plain_text_of(message) == f"{username} {LINK}\n"
    assert message.get_body(("plain",)).get_content_type() == "text/plain"


def test_a_mail_leaves_the_random_numbers_of_the_application_alone(write):
    before = random.getstate()
    first, second = write(reset()), write(reset())
    assert random.getstate() == before
    assert first["Message-ID"] != second["Message-ID"]


# Mistakes of a host


WRONG_LINKS = {
    "none": "Choose a new password.",
    "that of the example": "https://example.org/auth/reset?token=example",
    "that of the test": LINK,
    "broken": "{{ letter.link|wordwrap(20) }}",
    "in the subject": "{# #}",
}


@pytest.mark.parametrize("text", WRONG_LINKS.values(), ids=WRONG_LINKS)
def test_a_mail_that_does_not_show_its_link_is_refused(text, folder, write):
    (folder / "reset.txt").write_text(f"Hello {{{{ letter.link }}}}\n\nHello\n{text}\n")
    with pytest.raises(ConfigurationError, match=r"^TEMPLATES: mail/reset.txt: .* letter.link as"):
        write(reset())


@pytest.mark.parametrize(
    "text",
    ["", "Subject", "Subject\n\n", "\n\nText", "Subject\nText", "Two\nlines\n\nText"],
)
def test_a_template_without_subject_and_text_is_refused(text, folder, write):
    (folder / "reset.txt").write_text(text)
    with pytest.raises(ConfigurationError, match=r"^TEMPLATES: mail/reset.txt: the first line"):
        write(reset())


def test_a_mistake_in_a_template_is_refused_with_its_line(folder, write):
    (folder / "reset.txt").write_text("Subject\n\n{{ letter.missing }}\n")
    with pytest.raises(ConfigurationError, match=r"reset.txt, line 3.*missing"):
        write(reset())


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("\ufeffHello\n\n", r"line 1 has a byte-order mark: save the file as UTF-8 without it"),
        ("Hel\0lo\n\n", r"line 1 has the control character U\+0000"),
        ("Hel{{ '\\r' }}lo\n\n", r"line 1 has the control character U\+000D"),
        ("Hel\x85lo\n\n", r"line 1 has the control character U\+0085"),
        ("Hel\u2028lo\n\n", r"the first line must be the subject"),
        ("Hello\n\nHello\n\x07", r"line 4 has the control character U\+0007"),
    ],
)
def test_a_character_that_no_mail_shows_is_refused(text, problem, folder, write):
    (folder / "reset.txt").write_text(f"{text}{{{{ letter.link }}}}\n", encoding="utf-8")
    with pytest.raises(ConfigurationError, match=rf"^TEMPLATES: mail/reset.txt: {problem}"):
        write(reset())


def test_a_tab_in_a_mail_is_kept(folder, write):
    (folder / "reset.txt").write_text("Hello\n\n\t{{ letter.link }}\n")
    assert plain_text_of(write(reset())) == f"\t{LINK}\n"


def test_a_percent_sign_in_a_text_is_refused_with_its_place(folder, write):
    (folder / "reset.txt").write_text("Hello\n\n{{ _('100% of it') }} {{ letter.link }}\n")
    with pytest.raises(ConfigurationError, match=r"mail/reset.txt, line 3: the text '100% of it'"):
        write(reset())


# The name of the site


def test_a_template_knows_the_name_of_the_site(folder, write):
    (folder / "reset.txt").write_text("Subject\n\n{{ site.name }} {{ site.url }} {{ letter.link }}")
    for name, shown in ((None, "example.org/shop"), ("Ada & Sons", "Ada & Sons")):
        message = write(reset(), SITE_NAME=name, PUBLIC_URL="https://example.org/shop")
        assert plain_text_of(message) == f"{shown} https://example.org/shop {LINK}\n"
