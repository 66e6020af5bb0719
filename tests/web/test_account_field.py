"""The field `account` in the templates of a host."""

import re

import pytest

from tests.support.own_templates import OWN
from tests.web.pages import check_template
from wsgiauth.exceptions import ConfigurationError
from wsgiauth.web.account_field import LINE

# The numbers of the lines with the field, by the page that checks them.
PLACES = [
    (name, number)
    for name, path in OWN.items()
    if name.endswith(".html")
    for number in range(path.read_text(encoding="utf-8").count(LINE))
]

WITH_MACROS = {"admin/macros.html": "admin/user.html", "macros.html": "second.html"}


def start_of(source, number):
    """Return where one of the lines with the field begins."""
    return [each.start() for each in re.finditer(re.escape(LINE), source)][number]


def without(source, number):
    """Return a template without one of its lines with the field."""
    start = start_of(source, number)
    return source[:start] + source[start + len(LINE) :]


def logs_out(source, number):
    """Return whether a line is in a form to log out, which can lack the field."""
    form = source[: start_of(source, number)].rpartition("<form")[2]
    return "logout_url" in form.partition(">")[0]


@pytest.mark.promise(79)
@pytest.mark.slow
def test_a_template_that_loses_the_field_in_a_form_is_refused_at_start(tmp_path):
    assert len(PLACES) > 40
    (tmp_path / "admin").mkdir()
    for name, number in PLACES:
        source = OWN[name].read_text(encoding="utf-8")
        (tmp_path / name).write_text(without(source, number), encoding="utf-8")
        page = WITH_MACROS.get(name, name)
        found = refusal_of(tmp_path, page)
        if logs_out(source, number):
            assert found is None, (name, number)
        else:
            advice = f"no sample of {page} has the form of {name} with the line {number} of {LINE}"
            assert found is not None, advice
            assert LINE in found
            assert page in found
        (tmp_path / name).unlink()


def refusal_of(folder, page):
    """Return why the template of a page is refused; None: it is not."""
    try:
        check_template(folder, page)
    except ConfigurationError as error:
        return str(error)
    return None


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
