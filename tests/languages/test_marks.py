"""No text for people is left out of the catalogues: with marks around all, none is without.

`tests/endpoints/test_openapi.py` does the same with the answers to programs.
"""

import pytest
from bs4 import BeautifulSoup
from webtest import TestApp

from tests.support.catalogues import marked, unmarked
from tests.support.declared import LETTER_SAMPLES as LETTERS
from tests.support.mails import MAIL
from tests.web.pages import EXAMPLES, REQUEST
from wsgiauth import Field, Settings
from wsgiauth.languages import Languages
from wsgiauth.mail.letters import Letters, plain_text_of
from wsgiauth.messages import Message
from wsgiauth.web.pages import Pages
from wsgiauth.web.readers import Readers

SITE = "Library"
ATTRIBUTES = ("aria-label", "alt", "title", "placeholder", "data-show", "data-hide", "data-done")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return marked(tmp_path_factory.mktemp("marks") / "translations", "it")


@pytest.fixture(scope="module")
def pages(folder):
    return Pages("/auth", readers=Readers(Languages(["it"], folder)), site_name=SITE)


def data_in(value):
    """Yield the strings in a page that are no messages: names, addresses and the like."""
    if isinstance(value, str):
        yield "" if isinstance(value, Message) else value
    elif isinstance(value, dict):
        yield from data_in([*value.keys(), *value.values()])
    elif isinstance(value, list | tuple | set | frozenset):
        for each in value:
            yield from data_in(each)
    elif hasattr(value, "__dict__"):
        yield from data_in(vars(value))


def test_every_text_of_a_page_can_be_translated(pages):
    left = [(page.template, words) for page in EXAMPLES if (words := untranslated(page, pages))]
    assert left == []


def untranslated(page, pages):
    """Return the words of a page that have no mark, and are no data."""
    html = TestApp(pages.render(REQUEST, page)).get("/", expect_errors=True).html
    for each in html.find_all(["script", "style"]):
        each.decompose()
    attributes = [each[name] for each in html.find_all() for name in ATTRIBUTES if each.get(name)]
    words = [word for text in (html.get_text(), *attributes) for word in unmarked(text)]
    # Those of the application.
    fields = [each for each in getattr(page, "fields", ()) if isinstance(each, Field)]
    texts = [
        text for each in fields for text in (each.label, each.hint, *dict(each.choices).values())
    ]
    data = " ".join((SITE, *texts, *data_in(page)))
    return [word for word in words if word not in data]


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
