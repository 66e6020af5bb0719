"""What a translation must have of its text, and what is wrong with a folder of catalogues."""

import re

import pytest

from tests.support.catalogues import translated
from wsgiauth.exceptions import ConfigurationError
from wsgiauth.languages.catalogues import Catalogue, files_in, folder_problem

FILE = "it/LC_MESSAGES/wsgiauth.mo"


def load(folder, *translations, name="it"):
    return Catalogue(translated(folder, name, *translations) / name / "LC_MESSAGES/wsgiauth.mo")


UNFIT = [
    ("%(a)s and %(b)s", "%(a)s", r"lacks %\(b\)s"),
    ("%(a)s", "%(a)s %(b)s", r"has %\(b\)s, which the text lacks"),
    ("Hello", "%(password)s", r"has %\(password\)s, which the text lacks"),
    ("%(a)s", "%(A)s", r"lacks %\(a\)s"),
    ("%(a)s", "%(a)300s", "has a percent sign alone"),
    ("%(a)s", "%s", "has a percent sign alone"),
    ("Sure", "100% sicuro", "has a percent sign alone"),
    ("%(a)s", "%%(a)s", r"lacks %\(a\)s"),
    ("Hello", "<b>Ciao</b>", "has other tags than the text"),
    ("<b>Hello</b>", "Ciao", "has other tags than the text"),
    ("<b>Hello</b>", "<b>Ciao<b>", "has other tags than the text"),
    ("<b>Hello</b>", '<b onclick="x">Ciao</b>', "has other tags than the text"),
    ('<a href="%(url)s">x</a>', '<a href="javascript:%(url)s">x</a>', "has other tags"),
    ("<b>Hello</b>", "</b>Ciao<b>", "has its tags in an order that does not nest"),
    ("<b>x</b> <i>y</i>", "<b><i>x</b></i>", "has its tags in an order that does not nest"),
    ("Hello", "Ciao\nSubject: x", "has other line breaks than the text"),
    *(("Hello", f"Ci{each}ao", "has a control character") for each in "\0\x1b\r\u2028"),
    (("%(num)s key", "%(num)s keys"), ("%(num)s chiave", "chiavi"), r"lacks %\(num\)s"),
    (("%(num)s key", "%(num)s keys"), ("%(x)s chiave", "%(num)s"), r"has %\(x\)s"),
]


@pytest.mark.promise(76)
def test_a_translation_that_does_not_fit_is_refused(tmp_path):
    for text, translation, problem in UNFIT:
        with pytest.raises(ConfigurationError, match=f"{FILE}: the translation of .* {problem}"):
            load(tmp_path, (text, translation))


FIT = [
    ("%(a)s and %(b)s", "%(b)s e %(a)s e %(b)s"),
    ("100%% of %(a)s", "%(a)s al 100%%"),
    ("<b>%(a)s</b>, <i>x</i>", "<i>x</i>: <b>%(a)s</b>"),
    ("1 < 2", "2 > 1"),
    ("<app>.<action>", "<action>@<app>"),
    ("Codes", "Co\u00addici"),
    (("%(num)s key", "%(num)s keys"), ("una chiave", "%(num)s chiavi")),
    (("in a minute", "in %(num)s minutes"), ("tra un minuto", "tra %(num)s minuti")),
]


def test_a_translation_that_fits_is_found(tmp_path):
    for text, translation in FIT:
        catalogue = load(tmp_path, (text, translation))
        one, other = (text, translation) if isinstance(text, str) else (text[0], translation[0])
        assert catalogue.find("", one, "" if one == text else text[1], 1) == other


def test_a_file_that_is_no_catalogue_is_refused_by_its_name(tmp_path):
    path = tmp_path / "wsgiauth.mo"
    for content in (b"", b"x" * 100, b"\xde\x12\x04\x95" + b"\xff" * 40):
        path.write_bytes(content)
        with pytest.raises(ConfigurationError, match=r"\.mo is not a compiled catalogue: "):
            Catalogue(path)


def test_a_folder_must_have_a_catalogue(tmp_path):
    assert folder_problem(str(tmp_path / "x")) == "does not exist or is not a folder"
    problem = "has no compiled catalogue such as de/LC_MESSAGES/wsgiauth.mo"
    assert folder_problem(str(tmp_path)) == problem
    assert folder_problem(str(translated(tmp_path, "it", ("a", "b")))) is None


def test_a_language_is_named_after_its_folder(tmp_path):
    translated(tmp_path, "pt_BR", ("a", "b"))
    translated(tmp_path, "zh_Hant", ("a", "b"))
    (tmp_path / "fr").mkdir()
    assert list(files_in(tmp_path)) == ["pt-BR", "zh-Hant"]


def test_the_header_is_no_translation(tmp_path):
    assert load(tmp_path, ("a", "b")).find("", "", "", 1) is None


def test_a_formula_of_plurals_that_fails_is_refused(tmp_path):
    path = translated(tmp_path, "it", ("a", "b")) / FILE
    content = path.read_bytes()
    for formula in ("n/0", "1/(n-7)", "n%0", "x"):
        changed = f"plural={formula}".encode()
        path.write_bytes(
            re.sub(rb"plural=\(.*\)", lambda found: changed.ljust(len(found[0])), content)  # noqa: B023
        )
        with pytest.raises(ConfigurationError, match="is not a compiled catalogue: "):
            Catalogue(path)
