"""One language: its messages, texts of templates, numbers and direction."""

from datetime import UTC, datetime

import pytest
from markupsafe import Markup

from tests.support.catalogues import translated
from wsgiauth.languages import Languages
from wsgiauth.languages.dates import day_in_words, moment_in_words
from wsgiauth.languages.language import ENGLISH, Language
from wsgiauth.messages import Joined, Wait, _, list_of, ngettext, pgettext

TRANSLATIONS = (
    ("Hello, %(name)s!", "Ciao, %(name)s!"),
    ("Name", "Nome"),
    ("Name", "Cognome", "family"),
    (("%(num)s key", "%(num)s keys"), ("una chiave", "%(num)s chiavi")),
    ("<b>%(name)s</b> & <i>others</i>", '<i>altri</i> & "<b>%(name)s</b>" &amp; co'),
    ("1,000", "1.000", "how the digits of a number are grouped"),
    (", ", " e ", "between the items of a list"),
    ("%(day)s %(month)s %(year)s", "%(day)s %(month)s %(year)s", "date"),
    ("March", "marzo", "month in a date"),
    ("%(day)s at %(time)s UTC", "%(day)s alle %(time)s UTC"),
)
NOON = datetime(2026, 3, 9, 12, 5, tzinfo=UTC)


@pytest.fixture(scope="module")
def italian(tmp_path_factory):
    folder = translated(tmp_path_factory.mktemp("translations"), "it", *TRANSLATIONS)
    return Languages(["it"], folder).default


@pytest.fixture(scope="module")
def hebrew(tmp_path_factory):
    folder = translated(
        tmp_path_factory.mktemp("translations"),
        "he",
        (
            '%(at)s, from <b>%(address)s</b> (<a href="%(url)s">more of %(name)s</a>)',
            '%(at)s, <b>%(address)s</b> (<a href="%(url)s">%(name)s!</a>)',
        ),
    )
    return Languages(["he"], folder).default


def test_a_message_is_translated_with_its_values(italian):
    assert italian.say(_("Hello, %(name)s!", name="Ada")) == "Ciao, Ada!"
    assert italian.say(_("Hello, %(name)s!", name=_("Name"))) == "Ciao, Nome!"


def test_a_value_that_is_no_message_is_not_translated(italian):
    assert italian.say(_("Hello, %(name)s!", name="Name")) == "Ciao, Name!"
    assert italian.say("Name") == "Name"


def test_what_has_no_translation_stays_english(italian):
    assert italian.say(_("Something else")) == "Something else"


def test_a_context_tells_texts_apart(italian):
    assert italian.say(pgettext("family", "Name")) == "Cognome"
    assert italian.say(pgettext("town", "Name")) == "Name"


def test_a_number_chooses_the_form(italian):
    said = {1: "una chiave", 2: "2 chiavi", 1234567: "1.234.567 chiavi"}
    assert {n: italian.say(ngettext("%(num)s key", "%(num)s keys", n)) for n in said} == said


def test_lists_and_several_messages_are_translated_one_by_one(italian):
    assert italian.say(list_of(["Ada", _("Name")])) == "Ada e Nome"
    assert italian.say(Joined([_("Name"), "Name"])) == "Nome Name"


def test_a_wait_on_a_page_has_what_its_script_says(italian):
    message = Joined(["Too many.", Wait(ngettext("%(num)s key", "%(num)s keys", 2), 37)])
    assert italian.say(message) == "Too many. 2 chiavi"
    assert italian.html(message) == (
        'Too many. <span data-wait="37" data-again="Try again {}."'
        ' data-over="You can try again now.">2 chiavi</span>'
    )


def test_a_date_is_that_of_the_language(italian):
    dates = {ENGLISH: "9 March 2026 at 12:05 UTC", italian: "9 marzo 2026 alle 12:05 UTC"}
    for language, shown in dates.items():
        assert language.say(moment_in_words(NOON)) == shown
        assert language.say(day_in_words(NOON)) in shown


def test_english_is_the_text_itself():
    assert ENGLISH.say(_("Hello, %(name)s!", name="Ada")) == "Hello, Ada!"
    assert ENGLISH.say(ngettext("%(num)s key", "%(num)s keys", 1000)) == "1,000 keys"
    assert ENGLISH.title == "en"


@pytest.mark.promise(76)
def test_a_translation_of_html_has_the_tags_of_the_text_and_no_other_markup(italian):
    text = "<b>%(name)s</b> & <i>others</i>"
    assert italian.markup(text, {"name": "<Ada>"}) == Markup(
        "<i>altri</i> &amp; &#34;<b>&lt;Ada&gt;</b>&#34; &amp; co"
    )


def test_a_text_of_a_template_is_chosen_as_a_message_is(italian):
    assert italian.markup("Name", {}) == "Nome"
    assert italian.markup("Name", {}, context="family") == "Cognome"
    keys = ("%(num)s key", "%(num)s keys")
    for number, shown in ((1, "una chiave"), (1000, "1.000 chiavi")):
        values = {"num": number}
        assert italian.markup(keys[0], values, plural=keys[1], number=number) == shown


def test_values_keep_their_direction_in_a_sentence_from_right_to_left(hebrew):
    """An element with nothing else has no marks, because people copy it."""
    text = '%(at)s, from <b>%(address)s</b> (<a href="%(url)s">more of %(name)s</a>)'
    values = {"at": "now", "address": "2001:db8::1", "url": "/x", "name": "ada"}
    assert hebrew.markup(text, values) == (
        '\u2068now\u2069, <b>2001:db8::1</b> (<a href="/x">\u2068ada\u2069!</a>)'
    )


HEBREW, ARABIC = "\u05d0\u05d3\u05d4", "\u0644\u064a\u0646"


NAMES = [
    ("en", f"{HEBREW} (2)", f"<bdi>{HEBREW} (2)</bdi>"),  # Hebrew in English
    ("en", f"{ARABIC}!", f"<bdi>{ARABIC}!</bdi>"),  # Arabic in English
    ("en", "Zoë (2)", "Zoë (2)"),  # Latin in English
    ("he", "Zoë (2)", "<bdi>Zoë (2)</bdi>"),  # Latin in Hebrew
    ("he", f"{ARABIC}!", f"{ARABIC}!"),  # Arabic in Hebrew
    ("he", "2026", "2026"),  # digits in Hebrew
    ("en", f"<{HEBREW}>", f"<bdi>&lt;{HEBREW}&gt;</bdi>"),  # markup
]


def test_a_name_keeps_its_direction_in_a_message_on_a_page():
    for language, name, shown in NAMES:
        message = _("“%(name)s” & %(num)s%%", name=name, num=7)
        for each in (message, Joined(["<", message]), _("%(text)s", text=message)):
            start = "&lt; " if isinstance(each, Joined) else ""
            assert Language(language).html(each) == f"{start}“{shown}” &amp; 7%"
        assert Language(language).html("<") == "&lt;"


def test_the_direction_follows_from_the_name():
    directions = {"en": "ltr", "ar": "rtl", "ar-EG": "rtl", "az-Arab": "rtl", "pt-BR": "ltr"}
    assert {name: Language(name).direction for name in directions} == directions
