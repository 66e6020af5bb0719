"""The catalogues of features of others: their texts are translated on pages, in emails and JSON."""

import shutil
import subprocess
import sys
from dataclasses import replace

import pytest
from webtest import TestApp

from tests.support.badges.feature import FEATURE, SAMPLE
from tests.support.catalogues import translated
from tests.support.sites import BROWSER, echo
from wsgiauth import AuthMiddleware
from wsgiauth.exceptions import ConfigurationError
from wsgiauth.languages import SHIPPED, Languages
from wsgiauth.mail.letters import Addressed, Letters
from wsgiauth.messages import _
from wsgiauth.testing import bearer, logged_in, make_settings, make_user

GERMAN = {**BROWSER, "Accept-Language": "de"}
TEXTS = (
    ("Badges", "Abzeichen"),
    ("You have a new badge.", "Sie haben ein neues Abzeichen."),
    ("Your new badge", "Ihr neues Abzeichen"),
)


@pytest.fixture
def feature(tmp_path):
    """Return the feature with a German catalogue, in a folder of its own."""
    folder = tmp_path / "badges"
    shutil.copytree(FEATURE.folder, folder)
    translated(folder / "locale", "de", *TEXTS, domain="badges")
    return replace(FEATURE, folder=folder)


def languages(*folders, names=(), site=None):
    """Return the languages of a site whose features have catalogues in these folders."""
    return Languages(names, site, {f"feature{number}": each for number, each in enumerate(folders)})


def written(folder, name, *translations, number=0):
    """Write a catalogue of a feature, and return the folder."""
    return translated(folder / str(number), name, *translations, domain=f"feature{number}")


@pytest.fixture
def app(feature):
    return AuthMiddleware(echo, make_settings(FEATURES=[feature], LANGUAGES=("en", "de")))


def test_a_page_is_translated(app):
    page = logged_in(app, make_user(app, "ada")).get("/auth/badges", headers=GERMAN)
    assert page.html.h1.text == "Abzeichen"
    assert page.headers["Content-Language"] == "de"
    assert "Get a badge" in page.text  # which the catalogue lacks


def test_json_is_translated(app):
    headers = {**bearer(app, make_user(app, "ada")), "Accept-Language": "de"}
    answer = TestApp(app).post_json("/auth/badges", {}, headers=headers)
    assert answer.json == {"detail": "Sie haben ein neues Abzeichen."}


def test_an_email_is_translated(feature):
    letters = Letters(make_settings(FEATURES=[feature], LANGUAGES=("en", "de")))
    message = letters.message(Addressed(SAMPLE, "ada@example.org", None, "de"))
    assert message["Subject"] == "Ihr neues Abzeichen"


def test_translations_of_a_site_take_precedence(tmp_path):
    of_feature = written(tmp_path, "de", ("Badges", "Abzeichen"), ("Gold", "Feingold"))
    site = translated(tmp_path / "site", "de", ("Badges", "Orden"))
    german = languages(of_feature, site=site).find("de")
    assert [german.say(_(each)) for each in ("Badges", "Gold")] == ["Orden", "Feingold"]


@pytest.mark.promise(105)
def test_a_feature_cannot_change_our_texts(tmp_path):
    german = languages(written(tmp_path, "de", ("Log in", "Hinein"))).find("de")
    assert german.say(_("Log in")) == "Anmelden"


@pytest.mark.promise(105)
def test_a_feature_has_no_english_catalogue(tmp_path):
    folder = written(tmp_path, "en", ("Log in", "Enter"))
    path = folder / "en/LC_MESSAGES/feature0.mo"
    with pytest.raises(ConfigurationError) as caught:
        languages(folder)
    assert str(caught.value) == f"FEATURES: {path}: English texts need no catalogue."


def test_each_feature_has_its_own_texts(tmp_path):
    german = languages(
        written(tmp_path, "de", ("Badges", "Abzeichen")),
        written(tmp_path, "de", ("Gold", "Feingold"), number=1),
    ).find("de")
    assert [german.say(_(each)) for each in ("Badges", "Gold")] == ["Abzeichen", "Feingold"]


def test_a_language_of_a_feature_alone_is_none_of_the_site(tmp_path):
    folder = written(tmp_path, "pt_BR", ("Badges", "Emblemas"))
    assert [each.name for each in languages(folder)] == list(SHIPPED)
    with pytest.raises(ConfigurationError, match="LANGUAGES names 'pt-BR'"):
        languages(folder, names=["pt-BR"])


def test_a_language_that_the_site_adds_has_the_texts_of_the_feature(tmp_path):
    folder = written(tmp_path, "pt_BR", ("Badges", "Emblemas"))
    site = translated(tmp_path / "site", "pt_br", ("Log in", "Entrar"))
    assert languages(folder, site=site).find("pt-br").say(_("Badges")) == "Emblemas"


def test_a_wrong_catalogue_is_found_at_start_by_its_file(tmp_path):
    for name, translation, reason in (
        ("de", ("Hello, %(name)s!", "Hallo!"), r"the translation of .* lacks %\(name\)s"),
        ("x", ("Badges", "Abzeichen"), "'x' is not the name of a language"),
    ):
        folder = tmp_path / name
        translated(folder, name, translation, domain="feature0", locale="de")
        expected = rf"^FEATURES: {folder}/{name}/LC_MESSAGES/feature0\.mo: {reason}"
        with pytest.raises(ConfigurationError, match=expected):
            languages(folder)


def test_a_file_of_another_name_is_none_of_the_feature(tmp_path):
    folder = translated(tmp_path, "de", ("Badges", "Abzeichen"), domain="django")
    assert languages(folder).find("de").say(_("Badges")) == "Badges"


MAPPING = "[python: **.py]\n[jinja2: **/templates/**.html]\n[jinja2: **/templates/**.txt]\n"
EXTRACT = "extract --mapping-file babel.cfg --output-file badges.pot badges"
INIT = "init --domain badges --locale de --input-file badges.pot --output-dir badges/locale"
COMPILE = "compile --domain badges --directory badges/locale"


@pytest.mark.slow
def test_pybabel_makes_the_catalogues_of_a_feature(tmp_path):
    package = tmp_path / "badges"
    shutil.copytree(FEATURE.folder, package)
    (tmp_path / "babel.cfg").write_text(MAPPING)

    def pybabel(command):
        program = [sys.executable, "-m", "babel.messages.frontend", "--quiet"]
        subprocess.run([*program, *command.split()], cwd=tmp_path, check=True)

    pybabel(EXTRACT)
    pybabel(INIT)
    path = package / "locale/de/LC_MESSAGES/badges.po"
    text = path.read_text("utf-8")
    for each, translation in TEXTS:  # of a template, of code and of an email
        assert f'msgid "{each}"\nmsgstr ""' in text
        text = text.replace(f'msgid "{each}"\nmsgstr ""', f'msgid "{each}"\nmsgstr "{translation}"')
    path.write_text(text, encoding="utf-8")
    pybabel(COMPILE)
    german = Languages(["de"], None, {"badges": package / "locale"}).default
    assert [german.say(_(each)) for each, _translation in TEXTS] == [each for _text, each in TEXTS]
