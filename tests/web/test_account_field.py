"""The field `account` in the templates of a host."""

import re

import pytest

from tests.support.own_templates import OWN
from tests.web.pages import checked_pages
from wsgiauth.exceptions import ConfigurationError
from wsgiauth.web.account_field import LINE

# Of the form to log out, which can lack the field.
OPTIONAL = {
    ("account.html", 0),
    ("logged_in.html", 0),
    ("passkeys.html", 2),
    ("totp.html", 3),
}
PLACES = [
    (name, number)
    for name, path in OWN.items()
    if name.endswith(".html")
    for number in range(path.read_text(encoding="utf-8").count(LINE))
]


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "admin").mkdir()
    return tmp_path


def without(source, number):
    """Return a template without one of its lines with the field."""
    before = [each.start() for each in re.finditer(re.escape(LINE), source)][number]
    return source[:before] + source[before + len(LINE) :]


@pytest.mark.promise(79)
@pytest.mark.parametrize(("name", "number"), PLACES)
def test_a_template_that_loses_the_field_in_a_form_is_refused_at_start(folder, name, number):
    source = OWN[name].read_text(encoding="utf-8")
    (folder / name).write_text(without(source, number), encoding="utf-8")
    if (name, number) in OPTIONAL:
        checked_pages(folder)
        return
    with pytest.raises(ConfigurationError) as caught:
        checked_pages(folder)
    assert LINE in str(caught.value)
    assert ("admin/user.html" if name == "admin/macros.html" else name) in str(caught.value)


FORM = '{{% extends "wsgiauth/close.html" %}}{{% block content %}}{}{{% endblock %}}'


@pytest.mark.promise(79)
@pytest.mark.parametrize(
    ("content", "is_refused"),
    [
        pytest.param(f'<form method=POST action="/auth/close">{LINE}</form>', False, id="has it"),
        pytest.param(f'<form method="post">{LINE}</form>', False, id="has it without an action"),
        pytest.param('<form method="post"></form>', True, id="lacks it without an action"),
        pytest.param(f'<form method="post"></form>{LINE}', True, id="outside"),
        pytest.param(
            '<form method="post"><input name="account" value="ada"></form>', True, id="a fixed one"
        ),
        pytest.param('<form action="/auth/close"></form>', False, id="a form that changes nothing"),
        pytest.param('<form method="post" action="/search"></form>', False, id="of the host"),
        pytest.param("", False, id="no form"),
    ],
)
def test_a_form_of_the_host_needs_the_field_where_ours_has_it(folder, content, is_refused):
    (folder / "close.html").write_text(FORM.format(content), encoding="utf-8")
    if not is_refused:
        checked_pages(folder)
        return
    with pytest.raises(ConfigurationError, match=r"^TEMPLATES: close\.html"):
        checked_pages(folder)
