"""docs/languages.md: its catalogues, commands and templates work.

The words of CONTRIBUTING.md are those of the catalogues.
"""

import re
from pathlib import Path

import pytest
from babel.messages.pofile import read_po, write_po
from webtest import TestApp

import wsgiauth
from tests.docs.pages import PAGES, ROOT, code, section, shown
from tests.support.sites import SECRET_KEY, echo
from tests.support.tables import row_by_row
from wsgiauth import AuthMiddleware, Settings, storage
from wsgiauth.languages import SHIPPED

PAGE = PAGES["docs/languages.md"]
LOCALE = Path(wsgiauth.__file__).parent / "languages/locale"
LANGUAGES = [name for name in SHIPPED if name != "en"]
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text("utf-8")


@pytest.fixture
def typed(run):
    """Return a function that types the commands of a section."""

    def type_commands(title):
        run("\n".join(command for command, _ in shown(PAGE, title)))

    return type_commands


@pytest.fixture
def login_page(folder):
    """Return a function that returns the login page in a language."""

    def get(language, **settings):
        chosen = Settings(
            SECRET_KEY=SECRET_KEY,
            DATABASE_URL=f"sqlite:///{folder}/wsgiauth.db",
            TRANSLATIONS=str(folder / "translations"),
            **settings,
        )
        site = AuthMiddleware(echo, chosen)
        answer = TestApp(site).get("/auth/login", headers={"Accept-Language": language})
        storage.discard_connection(site.database)
        return answer

    return get


def catalogue_in(folder, name, domain="wsgiauth"):
    return folder / "translations" / name / f"LC_MESSAGES/{domain}.po"


def translate(path, **translations):
    with path.open("rb") as file:
        catalogue = read_po(file)
    for each in catalogue:
        if each.id in translations:
            each.string = translations[each.id]
        elif each.pluralizable and each.id[0] in translations:
            each.string = translations[each.id[0]]
    with path.open("wb") as file:
        write_po(file, catalogue)


def test_a_translation_is_changed(folder, typed, login_page):
    (source,) = code(section(PAGE, "Change a translation"), "po")
    path = catalogue_in(folder, "de")
    path.parent.mkdir(parents=True)
    path.write_text(source, encoding="utf-8")
    typed("Change a translation")
    page = login_page("de")
    assert "Kennwort" in page.html.main.text
    assert "Anmelden" in page.html.main.text


def test_a_language_is_added(folder, typed, login_page, run):
    typed("Add a language")
    path = catalogue_in(folder, "pt_BR")
    translate(path, Password="Senha", English="Português")
    compile_command, _ = shown(PAGE, "Change a translation")[0]
    run(compile_command)
    page = login_page("pt-BR")
    assert "Senha" in page.html.main.text
    assert "Log in" in page.html.main.text
    assert [each.text for each in page.html.select(".languages button")][-1] == "Português"
    assert login_page("en", LANGUAGES=("pt-BR",)).headers["Content-Language"] == "pt-BR"


def test_texts_of_a_template_are_translated(folder, typed, login_page, run):
    (source,) = code(section(PAGE, "Texts of your own"), "jinja")
    template = folder / "templates/login.html"
    template.parent.mkdir()
    template.write_text(source, encoding="utf-8")
    typed("Texts of your own")
    translate(
        catalogue_in(folder, "de", "wsgiauth-site"),
        **{
            "Members of the library log in here.": "Hier melden sich Mitglieder an.",
            "%(num)s branch is open.": ("Eine Filiale ist geöffnet.", "%(num)s sind geöffnet."),
        },
    )
    run(shown(PAGE, "Texts of your own")[-1][0])
    text = login_page("de", TEMPLATES=str(folder / "templates")).html.main.text
    assert "Hier melden sich Mitglieder an." in text
    assert "3 sind geöffnet." in text
    assert "Passwort" in text


@row_by_row("number", range(len(LANGUAGES)), ids=LANGUAGES)
def test_the_words_are_those_of_the_catalogue(number):
    rows = re.findall(r"^- [\w -]+: (.+)$", section(CONTRIBUTING, "The words"), re.MULTILINE)
    words = [row.split(", ") for row in rows]
    assert len(words) >= 20
    assert {len(row) for row in words} == {len(LANGUAGES)}
    with (LOCALE / LANGUAGES[number] / "LC_MESSAGES/wsgiauth.po").open("rb") as file:
        texts = [text for each in read_po(file) for text in strings(each.string)]
    used = "\n".join(texts).lower().replace("\u00ad", "")
    assert [row[number] for row in words if row[number].lower() not in used] == []


def strings(text):
    return text if isinstance(text, tuple) else (text,)
