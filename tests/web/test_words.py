"""The words of pages, messages and emails: one word for one thing."""

import ast
import re

import jinja2
import pytest

from tests.support.house import PACKAGE, nodes_of
from tests.support.own_templates import OWN

JINJA = jinja2.Environment(extensions=["jinja2.ext.i18n"])  # noqa: S701 - renders nothing
ROOMS = ("accounts", "endpoints", "features", "forms", "web", "exceptions.py", "access.py")
WRONG = re.compile(
    r"\bsecond factors?\b"  # two-step verification
    r"|\bhwk\b|\bpwd\b"  # a passkey, a password
    r"|\bpresence\b|\be-mails?\b|\bmails?\b(?! server)"
    # Sessions and keys are revoked.
    r"|\bend(s|ed|ing)? (this|that|the|a|all|your|every)\b[^.]*\b(sessions?|logins?|keys?)\b"
    r"|\b(session|key)s? (was|were|have been|has been|is|are) ended\b",
    re.IGNORECASE,
)

MARKS = {"_", "ngettext", "pgettext"}


def texts_of_template(path):
    for _, _, found in JINJA.extract_translations(path.read_text("utf-8")):
        yield from (each for each in ([found] if isinstance(found, str) else found or ()) if each)


def texts_of_module(path):
    """Return the strings that are marked for translation, which people read."""
    for node in nodes_of(path):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") in MARKS:
            found = (each.value for each in ast.walk(node) if isinstance(each, ast.Constant))
            yield from (each for each in found if isinstance(each, str))


def texts():
    for path in OWN.values():
        if path.suffix in (".html", ".txt"):
            yield from ((path.name, each) for each in texts_of_template(path))
    for room in ROOMS:
        for path in sorted((PACKAGE / room).rglob("*.py")) or [PACKAGE / room]:
            yield from ((path.name, each) for each in texts_of_module(path))


@pytest.mark.slow
def test_every_text_for_people_calls_a_thing_by_its_one_name():
    found = list(texts())
    assert len(found) > 500
    wrong = {each: (WRONG.search(each)[0], file) for file, each in found if WRONG.search(each)}
    assert wrong == {}


def test_a_wrong_word_is_found():
    for text in (
        "Second factor added",
        "Logged in with pwd hwk",
        "an e-mail",
        "Check your mail",
        "End this key",
        "The session was ended",
    ):
        assert WRONG.search(text), text
