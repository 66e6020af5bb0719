"""What templates make of their texts: only what they write out is HTML."""

import pytest

from wsgiauth.exceptions import ConfigurationError
from wsgiauth.web.templates import Templates

VALUE = "<b>&"
ESCAPED = "&lt;b&gt;&amp;"


@pytest.fixture
def render(tmp_path):
    """Return a function that renders a source, as a page or as plain text."""

    def rendered(source, *, autoescape=True, **values):
        (tmp_path / "note.html").write_text(source)
        return Templates(tmp_path, autoescape=autoescape).check("note.html", **values)

    return rendered


@pytest.mark.promise(20)
def test_a_text_with_a_value_in_it_is_escaped(render):
    for source in (
        '{{ _("<i>Hello</i> " ~ value) }}',
        '{{ _("<i>Hello</i> %s" % value) }}',
        '{{ _("<i>Hello</i> " + value) }}',
        '{% set text = "<i>Hello</i> " ~ value %}{{ gettext(text) }}',
        '{% set t = _ %}{{ t("<i>Hello</i> " ~ value) }}',
        '{{ ngettext("<i>Hello</i> " ~ value, "", 1) }}',
        '{{ ngettext("", "<i>Hello</i> " ~ value, 2) }}',
        '{{ pgettext("greeting", "<i>Hello</i> " ~ value) }}',
        '{{ npgettext("greeting", "", "<i>Hello</i> " ~ value, 2) }}',
        '{{ _(*["<i>Hello</i> " ~ value]) }}',
    ):
        shown = render(source, value=VALUE)
        assert shown == f"&lt;i&gt;Hello&lt;/i&gt; {ESCAPED}", source


@pytest.mark.promise(20)
def test_a_text_that_is_written_out_is_html_and_its_values_are_escaped(render):
    for source in (
        '{{ _("<i>Hello</i> %(value)s", value=value) }}',
        "{% trans value=value %}<i>Hello</i> {{ value }}{% endtrans %}",
        "{% for each in [value] %}{{ _('<i>Hello</i> %(value)s', value=each) }}{% endfor %}",
        '{{ pgettext("greeting", "<i>Hello</i> %(value)s", value=value) }}',
        '{{ ngettext("<i>Hello</i> %(value)s", "", 1, value=value) }}',
        "{% trans n=2, value=value %}no{% pluralize n %}<i>Hello</i> {{ value }}{% endtrans %}",
    ):
        assert render(source, value=VALUE) == f"<i>Hello</i> {ESCAPED}", source


def test_a_number_chooses_the_text(render):
    source = "{{ ngettext('%(num)s book', '%(num)s books', n) }}"
    assert [render(source, n=n) for n in (1, 2)] == ["1 book", "2 books"]


@pytest.mark.parametrize("source", ["{{ _(value) }}", '{{ _("%(value)s", value=value) }}'])
def test_plain_text_is_not_escaped(source, render):
    assert render(source, value=VALUE, autoescape=False) == VALUE


def test_a_value_with_a_percent_sign_is_shown(render):
    for text in ("100%", "100% of it", "% s", "%s", "<%(value)s>"):
        assert render("{{ _(value) }}", value=text, autoescape=False) == text


@pytest.mark.promise(20)
@pytest.mark.parametrize("autoescape", [True, False])
def test_a_value_in_a_text_is_no_format(autoescape, render):
    for source in (
        '{{ _("Hi " ~ value, n=1) }}',
        '{{ _("Hi " ~ value) }}',
        '{{ _("Hi "|safe ~ value) }}',
        '{{ _("Hi "|safe ~ value, n=1) }}',
        '{{ _(_("Hi %(value)s", value=value), n=1) }}',
        '{% set t = _ %}{{ t("Hi " ~ value, n=1) }}',
        '{{ ngettext("Hi " ~ value, "", 1) }}',
        '{{ npgettext("greeting", "", "Hi " ~ value, 2, n=1) }}',
    ):
        for value in ("%(n)300s", "%(num)300s", "%x", "%%"):
            assert render(source, value=value, autoescape=autoescape) == f"Hi {value}", source


@pytest.mark.parametrize("autoescape", [True, False])
def test_two_percent_signs_are_one(autoescape, render):
    assert render("{{ _('100%% sure') }}", autoescape=autoescape) == "100% sure"


@pytest.mark.parametrize("autoescape", [True, False])
def test_a_percent_sign_alone_is_refused_with_its_place(autoescape, render):
    for text in ("100% of it", "100% sure", "all 100%", "100%sure", "Hello %(name)s", "%%% d"):
        with pytest.raises(ConfigurationError) as caught:
            render(f"Hello\n\n{{{{ _('{text}') }}}}", autoescape=autoescape)
        message = str(caught.value)
        assert "note.html, line 3: the text" in message
        assert text in message
        assert '"%%" for "%"' in message


@pytest.mark.promise(20)
@pytest.mark.parametrize("first", ["page", "email"])
def test_a_page_and_an_email_can_use_one_template(first, render):
    """The code that Jinja2 makes of a template escapes values, or does not."""
    source = "{{ value }}"
    for autoescape in (True, False, True) if first == "page" else (False, True, False):
        shown = render(source, autoescape=autoescape, value=VALUE)
        assert shown == (ESCAPED if autoescape else VALUE)
