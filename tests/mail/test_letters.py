"""Letters: one layout, which a host's folder replaces or extends, and values as they are."""

import random

import pytest

from tests.support.declared import LETTER_SAMPLES as SAMPLES
from tests.support.mails import with_mail
from wsgiauth import Settings
from wsgiauth.exceptions import ConfigurationError
from wsgiauth.features.links.letters import ResetLetter
from wsgiauth.mail.letters import Addressed, Letters, plain_text_of

LINK = "https://example.org/auth/reset?token=x"


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "mail"
    made.mkdir()
    return made


def letters_of(folder, **changes):
    """Return what makes messages with the templates of the folder."""
    return Letters(with_mail(Settings(), TEMPLATES=folder.parent, **changes))


def message_of(letters, letter):
    return letters.message(Addressed(letter, "ada@example.org", 1))


@pytest.fixture
def write(folder):
    """Return a function that checks a letter and makes its message, with the folder's templates."""

    def message(letter, **changes):
        letters = letters_of(folder, **changes)
        letters.check(letter)
        return message_of(letters, letter)

    return message


@pytest.fixture
def write_each(folder):
    """Return a function that returns each example of a letter and its message."""

    def messages(**changes):
        letters = letters_of(folder, **changes)
        return [(sample, message_of(letters, sample)) for sample in SAMPLES]

    return messages


def reset(label="ada"):
    return ResetLetter(label=label, link=LINK, minutes=60)


def test_every_mail_says_where_to_get_help(write_each):
    helped = write_each(SUPPORT_URL="https://example.org/help")
    for (_, plain), (_, helping) in zip(write_each(), helped, strict=True):
        expected = f"{plain_text_of(plain)}\nHelp: https://example.org/help\n"
        assert plain_text_of(helping) == expected


@pytest.mark.parametrize("has_passwords", [True, False], ids=["passwords", "no passwords"])
def test_no_mail_has_two_blank_lines_in_a_row(folder, has_passwords):
    url = "https://example.org/help"
    letters = letters_of(folder, PASSWORD_LOGIN=has_passwords, SUPPORT_URL=url)
    of_commands = [
        sample.replaced(forgot_url="")
        for sample in SAMPLES
        if getattr(sample, "event", "login") not in ("login", "refresh_reused", "grant_reused")
    ]
    assert of_commands
    for sample in (*SAMPLES, *of_commands):
        assert "\n\n\n" not in plain_text_of(message_of(letters, sample)), vars(sample)


def test_a_host_signs_every_mail_in_the_layout(folder, write_each):
    (folder / "layout.txt").write_text(
        "{% extends 'wsgiauth/mail/layout.txt' %}"
        "{% block signature %}\n-- \n{{ site.name }}\n{% endblock %}"
    )
    plain, signed = (
        [message for _, message in write_each(SITE_NAME=name)] for name in ("Library", "Ada & Sons")
    )
    subjects = [each["Subject"].replace("Library", "Ada & Sons") for each in plain]
    assert [each["Subject"] for each in signed] == subjects
    for each in signed:
        assert plain_text_of(each).endswith("\n-- \nAda & Sons\n")


def test_a_host_replaces_the_subject_and_keeps_the_text(folder, write):
    before = write(reset())
    (folder / "reset.txt").write_text(
        "{% extends 'wsgiauth/mail/reset.txt' %}{% block subject %}Hello{% endblock %}"
    )
    assert write(reset())["Subject"] == "Hello"
    assert plain_text_of(write(reset())) == plain_text_of(before)


def test_a_host_replaces_a_mail(folder, write):
    (folder / "reset.txt").write_text("For {{ letter.label }}\n\n{{ letter.link }}\n")
    message = write(reset())
    assert (message["Subject"], plain_text_of(message)) == ("For ada", f"{LINK}\n")


def test_a_value_is_shown_as_it_is_and_never_executed(folder, write):
    (folder / "reset.txt").write_text(
        "{{ letter.label }}\n\n{{ letter.label }} {{ letter.link }}\n"
    )
    for username in ("<b>&amp;\"'", "{{ 7 * 7 }}", "{% raise %}"):
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


def test_a_mail_that_does_not_show_its_link_is_refused(folder, write):
    for text in (
        "Choose a new password.",
        "https://example.org/auth/reset?token=example",  # of the example
        LINK,
        "{{ letter.link|wordwrap(20) }}",
        "{# in the subject #}",
    ):
        (folder / "reset.txt").write_text(f"Hello {{{{ letter.link }}}}\n\nHello\n{text}\n")
        with pytest.raises(ConfigurationError, match=r"^TEMPLATES: mail/reset.txt: .* letter.link"):
            write(reset())


def test_a_template_without_subject_and_text_is_refused(folder, write):
    for text in ("", "Subject", "Subject\n\n", "\n\nText", "Subject\nText", "Two\nlines\n\nText"):
        (folder / "reset.txt").write_text(text)
        with pytest.raises(ConfigurationError, match=r"^TEMPLATES: mail/reset.txt: the first line"):
            write(reset())


def test_a_mistake_in_a_template_is_refused_with_its_line(folder, write):
    (folder / "reset.txt").write_text("Subject\n\n{{ letter.missing }}\n")
    with pytest.raises(ConfigurationError, match=r"reset.txt, line 3.*missing"):
        write(reset())


def test_a_character_that_no_mail_shows_is_refused(folder, write):
    for text, problem in {
        "\ufeffHello\n\n": r"line 1 has a byte-order mark: save the file as UTF-8 without it",
        "Hel\0lo\n\n": r"line 1 has the control character U\+0000",
        "Hel{{ '\\r' }}lo\n\n": r"line 1 has the control character U\+000D",
        "Hel\x85lo\n\n": r"line 1 has the control character U\+0085",
        "Hel\u2028lo\n\n": r"the first line must be the subject",
        "Hello\n\nHello\n\x07": r"line 4 has the control character U\+0007",
    }.items():
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
