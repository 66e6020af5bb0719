"""The field `account` in the templates of a host."""

import re

import pytest

from tests.support.own_templates import OWN
from tests.web.pages import check_template
from wsgiauth.exceptions import ConfigurationError
from wsgiauth.web.account_field import LINE

# Of the form to log out, which can lack the field.
OPTIONAL = {
    ("account.html", 0),
    ("logged_in.html", 0),
    ("passkeys.html", 2),
    ("terms.html", 1),
    ("totp.html", 3),
}
# The numbers of the lines with the field, by the page that checks them.
PLACES = [
    (name, number)
    for name, path in OWN.items()
    if name.endswith(".html")
    for number in range(path.read_text(encoding="utf-8").count(LINE))
]

WITH_MACROS = {"admin/macros.html": "admin/user.html", "macros.html": "second.html"}


def without(source, number):
    """Return a template without one of its lines with the field."""
    before = [each.start() for each in re.finditer(re.escape(LINE), source)][number]
    return source[:before] + source[before + len(LINE) :]


@pytest.mark.promise(79)
def test_a_template_that_loses_the_field_in_a_form_is_refused_at_start(tmp_path):
    assert len(PLACES) > 40
    (tmp_path / "admin").mkdir()
    for name, number in PLACES:
        source = OWN[name].read_text(encoding="utf-8")
        (tmp_path / name).write_text(without(source, number), encoding="utf-8")
        page = WITH_MACROS.get(name, name)
        if (name, number) in OPTIONAL:
            check_template(tmp_path, page)
        else:
            with pytest.raises(ConfigurationError) as caught:
                check_template(tmp_path, page)
            assert LINE in str(caught.value)
            assert page in str(caught.value)
        (tmp_path / name).unlink()


FORM = '{{% extends "wsgiauth/close.html" %}}{{% block content %}}{}{{% endblock %}}'


@pytest.mark.promise(79)
def test_a_form_of_the_host_needs_the_field_where_ours_has_it(tmp_path):
    for content, is_refused in (
        (f'<form method=POST action="/auth/close">{LINE}</form>', False),
        (f'<form method="post">{LINE}</form>', False),  # without an action
        ('<form method="post"></form>', True),
        (f'<form method="post"></form>{LINE}', True),
        ('<form method="post"><input name="account" value="ada"></form>', True),
        ('<form action="/auth/close"></form>', False),  # which changes nothing
        ('<form method="post" action="/search"></form>', False),  # of the host
        ("", False),
    ):
        (tmp_path / "close.html").write_text(FORM.format(content), encoding="utf-8")
        if not is_refused:
            check_template(tmp_path, "close.html")
            continue
        with pytest.raises(ConfigurationError, match=r"^TEMPLATES: close\.html"):
            check_template(tmp_path, "close.html")
