"""The languages of a site, by LANGUAGES and TRANSLATIONS."""

import pytest

from tests.support.catalogues import translated
from wsgiauth.exceptions import ConfigurationError
from wsgiauth.languages import SHIPPED, Languages
from wsgiauth.messages import _, pgettext

NAME = pgettext("the name of this language, in this language", "English")


def names(languages):
    return [each.name for each in languages]


def test_without_settings_a_site_has_what_is_shipped():
    languages = Languages()
    assert names(languages) == list(SHIPPED)
    assert [each.title for each in languages] == list(SHIPPED.values())
    assert languages.default.name == "en"
    assert len(languages) == len(SHIPPED)


def test_a_folder_adds_languages(tmp_path):
    translated(tmp_path, "pt_BR", (NAME.text, "Português", NAME.context), ("Log in", "Entrar"))
    languages = Languages(folder=tmp_path)
    assert names(languages) == [*SHIPPED, "pt-BR"]
    brazilian = languages.find("pt-BR")
    assert brazilian.title == "Português"
    assert brazilian.say(_("Log in")) == "Entrar"
    assert languages.accepted("pt-br").name == "pt-BR"


def test_a_language_without_a_name_is_listed_by_its_code(tmp_path):
    translated(tmp_path, "it", ("Log in", "Accedi"))
    assert Languages(["it"], tmp_path).default.title == "it"


@pytest.mark.parametrize("name", ["de", "en"])
def test_a_folder_changes_what_is_shipped(tmp_path, name):
    translated(tmp_path, name, ("Password", "Kennwort"))
    language = Languages([name], tmp_path).default
    assert language.say(_("Password")) == "Kennwort"
    assert language.title == SHIPPED[name]
    assert language.say(_("Username")) == Languages([name]).default.say(_("Username"))


def test_the_setting_limits_and_orders_them():
    for chosen, expected in (
        (["de", "en"], ["de", "en"]),
        (["DE"], ["de"]),
        (["fr", "de", "fr"], ["fr", "de"]),
    ):
        languages = Languages(chosen)
        assert names(languages) == expected
        assert languages.default.name == expected[0]


@pytest.mark.promise(76)
def test_a_language_without_a_catalogue_is_refused_by_name():
    for name in ("it", "de-AT", "..", "en_US"):
        with pytest.raises(
            ConfigurationError, match=f"^LANGUAGES names {name!r}, .* en, de, fr, es, ja"
        ):
            Languages(["en", name])


@pytest.mark.promise(76)
def test_only_the_exact_name_finds_one():
    languages = Languages()
    assert {languages.find(name) for name in ("it", "DE", "", "../de", "de/../en")} == {None}


@pytest.mark.promise(76)
def test_a_wrong_catalogue_is_found_at_start(tmp_path):
    translated(tmp_path, "it", ("Hello, %(name)s!", "Ciao!"))
    expected = r"^TRANSLATIONS: .*it/LC_MESSAGES/wsgiauth.mo: .*lacks %\(name\)s"
    for chosen in ([], ["it", "en"]):
        with pytest.raises(ConfigurationError, match=expected):
            Languages(chosen, tmp_path)


def test_a_catalogue_is_read_when_its_language_is_first_used(monkeypatch):
    read = []
    monkeypatch.setattr("wsgiauth.languages.language.Catalogue", lambda file: read.append(file))
    list(Languages())
    assert read == []


def test_a_language_can_have_several_catalogues(tmp_path):
    translated(tmp_path, "de", ("Password", "Kennwort"))
    translated(tmp_path, "de", ("Books", "Bücher"), domain="wsgiauth-site")
    translated(tmp_path, "de", ("Username", "Name"), domain="other")
    language = Languages(["de"], tmp_path).default
    said = [language.say(_(each)) for each in ("Password", "Books", "Username", "Log in")]
    assert said == ["Kennwort", "Bücher", "Benutzername", "Anmelden"]


def test_a_folder_spells_a_language_in_any_way(tmp_path):
    translated(tmp_path, "DE", ("Password", "Kennwort"))
    translated(tmp_path, "pt_br", ("Password", "Senha"))
    languages = Languages(["PT_BR", "de"], tmp_path)
    assert [(each.name, each.say(_("Password"))) for each in languages] == [
        ("pt-br", "Senha"),
        ("de", "Kennwort"),
    ]


@pytest.mark.promise(76)
def test_a_folder_must_be_named_after_a_language(tmp_path):
    for number, name in enumerate(["sr@latin", "pt_BR.UTF-8", "日本", "de;Max-Age=0", "x", "de_a"]):
        folder = tmp_path / str(number)
        translated(folder, name, ("Password", "Kennwort"), locale="de")
        with pytest.raises(ConfigurationError, match=r"^TRANSLATIONS: .* is not the name of"):
            Languages(folder=folder)
