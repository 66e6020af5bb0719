"""Catalogues that a test writes, as `pybabel compile` does."""

from pathlib import Path

from babel.messages import Catalog
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po

import wsgiauth
from wsgiauth.testing.feature_rules.languages import BEGIN, END

TEMPLATE = Path(wsgiauth.__file__).parent / "languages/locale/wsgiauth.pot"


def translated(folder, name, *translations, domain="wsgiauth", locale=None):
    """Write a catalogue, below a folder for TRANSLATIONS, and return the folder.

    Args:
        folder: Need not exist.
        name: That of the language's folder, such as `pt_BR`.
        translations: Each a text, its translation and perhaps its context; with a number, the text
            and the translation are tuples of their forms.
    """
    catalogue = Catalog(locale=locale or name)
    for text, translation, *context in translations:
        string = in_all_forms(catalogue, translation)
        catalogue.add(text, string, context=context[0] if context else None)
    return write(catalogue, folder, name, domain)


def in_all_forms(catalogue, translation):
    """Return a translation with as many forms as the catalogue has, which depends on Babel's data.

    Since Babel 2.19, languages such as Italian have a form of their own for millions.
    """
    if isinstance(translation, str):
        return translation
    missing = catalogue.num_plurals - len(translation)
    return (*translation, *translation[-1:] * missing)


def marked(folder, name):
    """Write a catalogue in which each text of wsgiauth has marks around it."""
    catalogue = Catalog(locale=name)
    with TEMPLATE.open("rb") as file:
        texts = read_po(file)
    for each in texts:
        if each.id:
            forms = each.id if each.pluralizable else (each.id,)
            strings = tuple(f"{BEGIN}{form}{END}" for form in forms)
            string = in_all_forms(catalogue, strings) if each.pluralizable else strings[0]
            catalogue.add(each.id, string, context=each.context)
    return write(catalogue, folder, name)


def write(catalogue, folder, name, domain="wsgiauth"):
    path = folder / name / f"LC_MESSAGES/{domain}.mo"
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        write_mo(file, catalogue)
    return folder
