"""The catalogues that are shipped: complete, compiled, and fit to be shown."""

import subprocess
import sys
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path

import pytest
from babel import Locale
from babel.dates import format_date
from babel.messages.mofile import read_mo, write_mo
from babel.messages.pofile import read_po
from babel.numbers import format_decimal

import wsgiauth
from wsgiauth.languages import SHIPPED, Languages
from wsgiauth.languages.catalogues import Catalogue
from wsgiauth.languages.dates import day_in_words, moment_in_words

PACKAGE = Path(wsgiauth.__file__).parent
LOCALE = PACKAGE / "languages/locale"
NAMES = [name for name in SHIPPED if name != "en"]
PERIODS = (".", "。")
SEPARATOR = "between the items of a list"
MOMENTS = [datetime(2026, month, month * 2, 9, 30, tzinfo=UTC) for month in range(1, 13)]


def file_of(name, suffix):
    return LOCALE / name / f"LC_MESSAGES/wsgiauth.{suffix}"


def read(path):
    with path.open("rb") as file:
        return read_po(file)


def keys(messages):
    return {(each.context, each.id) for each in messages if each.id}


def strings(text):
    return text if isinstance(text, tuple) else (text,)


@pytest.fixture(scope="module")
def extracted(tmp_path_factory):
    """Return the texts in the source."""
    path = tmp_path_factory.mktemp("texts") / "wsgiauth.pot"
    babel = (sys.executable, "-m", "babel.messages.frontend", "--quiet", "extract")
    options = ("--mapping-file", "pyproject.toml", "--output-file", path, ".")
    subprocess.run((*babel, *options), check=True, cwd=PACKAGE.parent)
    return read(path)


@pytest.fixture(scope="module", params=NAMES)
def name(request):
    return request.param


@pytest.fixture(scope="module")
def translations(name):
    return read(file_of(name, "po"))


def test_the_template_has_every_text(extracted):
    assert keys(read(LOCALE / "wsgiauth.pot")) == keys(extracted)


def test_a_catalogue_has_every_text_and_no_other(translations, extracted):
    assert keys(translations) == keys(extracted)
    assert not translations.obsolete


def test_every_text_is_translated_in_every_form(translations):
    texts = [each for each in translations if each.id]
    assert [each.id for each in texts if each.fuzzy or not all(strings(each.string))] == []
    several = [each for each in texts if each.pluralizable]
    assert {len(each.string) for each in several} == {translations.num_plurals}


@pytest.mark.promise(76)
def test_every_translation_has_the_placeholders_and_tags_of_its_text(name):
    Catalogue(file_of(name, "mo"))  # raises if not


def compiled_texts(file):
    """Return the texts of a compiled catalogue, and how it chooses the form of a number."""
    read = read_mo(file)
    texts = [(each.context, each.id, each.string) for each in read if each.id]
    return texts, dict(read.mime_headers)["Plural-Forms"]


def test_the_compiled_catalogue_is_that_of_the_translations(name, translations):
    """But for the version of Babel in its header."""
    expected = BytesIO()
    write_mo(expected, translations)
    expected.seek(0)
    with file_of(name, "mo").open("rb") as file:
        assert compiled_texts(file) == compiled_texts(expected)


def test_a_translation_is_a_sentence_where_its_text_is_one(translations):
    """And has spaces at its ends where the text has some."""
    pairs = [
        (strings(each.id)[-1], string)
        for each in translations
        if each.id and each.context != SEPARATOR
        for string in strings(each.string)
    ]
    assert [pair for pair in pairs if ends(pair[0]) != ends(pair[1])] == []


def ends(text):
    return text[:1].isspace(), text[-1:].isspace(), text.endswith(PERIODS), "  " in text


def test_dates_are_those_of_unicode(name):
    language = Languages([name]).default
    shown = [language.say(day_in_words(each)) for each in MOMENTS]
    assert shown == [format_date(each, "long", locale=Locale.parse(name)) for each in MOMENTS]
    assert "09:30" in language.say(moment_in_words(MOMENTS[0]))
    assert "UTC" in language.say(moment_in_words(MOMENTS[0]))


def test_numbers_are_written_as_unicode_writes_them(name):
    numbers, language = (7, 999, 1000, 9999, 10_000, 1_234_567), Languages([name]).default
    written = {each: language.number(each) for each in numbers}
    assert written == {each: format_decimal(each, locale=name) for each in numbers}


def test_the_list_of_languages_has_the_name_of_each_in_itself():
    titles = {name: Locale.parse(name).get_display_name().lower() for name in SHIPPED}
    assert {name: title.lower() for name, title in SHIPPED.items()} == titles


def test_the_direction_is_that_of_unicode():
    directions = {name: Languages([name]).default.direction for name in SHIPPED}
    assert directions == {name: Locale.parse(name).text_direction for name in SHIPPED}
