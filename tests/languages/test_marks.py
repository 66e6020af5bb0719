"""No text for people is left out of the catalogues: with marks around all, none is without.

`tests/endpoints/test_openapi.py` does the same with the answers to programs.
"""

import pytest
from bs4 import BeautifulSoup

from tests.support.catalogues import marked
from tests.support.declared import LETTER_SAMPLES as LETTERS
from tests.support.mails import MAIL
from tests.web.pages import EXAMPLES
from wsgiauth import Settings
from wsgiauth.languages import Languages
from wsgiauth.mail.letters import Letters, plain_text_of
from wsgiauth.testing.feature_rules.languages import data_in, unmarked, words_without_mark
from wsgiauth.testing.feature_rules.pages import NAME, shown
from wsgiauth.web.pages import Pages

SITE = "Library"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return marked(tmp_path_factory.mktemp("marks") / "translations", "it")


def test_every_text_of_a_page_can_be_translated(folder):
    pages, italian = Pages("/auth", site_name=SITE), Languages(["it"], folder).default
    left = []
    for page in EXAMPLES:
        html, _policy = shown(pages, page, italian)
        left += [(page.template, word) for word in words_without_mark(html, page, SITE, NAME)]
    assert left == []


def test_every_text_of_an_email_can_be_translated(folder):
    settings = Settings.from_mapping({"LANGUAGES": "it", "TRANSLATIONS": str(folder), **MAIL})
    letters = Letters(settings)
    for letter in LETTERS:
        message = letters.preview(letter, "/auth")
        html = BeautifulSoup(message.get_body(("html",)).get_content(), "html.parser")
        text = f"{message['Subject']}\n{plain_text_of(message)}\n{html.body.get_text(' ')}"
        headers = (str(message["From"]), str(message["To"]))
        data = " ".join((settings.PUBLIC_URL, *headers, *data_in(letter), "auth"))
        left = [word for word in unmarked(text) if word not in data]
        assert (letter.template, left) == (letter.template, [])
