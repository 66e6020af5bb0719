"""The fields that an application asks new users for."""

import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest
from markupsafe import Markup, escape

import wsgiauth
from tests.support.sites import echo
from tests.support.tables import row_by_row
from wsgiauth import AuthMiddleware, Field, User, storage
from wsgiauth.accounts import registration
from wsgiauth.accounts.names import EMAIL_MAX_LENGTH, USERNAME_MAX_LENGTH, username_problem
from wsgiauth.accounts.passwords import MAX_BYTES
from wsgiauth.accounts.registration import (
    LABEL_MAX_LENGTH,
    MAX_CHARACTERS,
    MAX_FIELDS,
    NAME_MAX_LENGTH,
    RESERVED,
    Registration,
)
from wsgiauth.app import ROUTES
from wsgiauth.endpoints.confirm import Confirm
from wsgiauth.endpoints.register import Register
from wsgiauth.exceptions import ApplicationError, ConfigurationError, TakenError, ValidationError
from wsgiauth.features.login_codes.code_enter import EnterCode
from wsgiauth.features.registry import page_samples
from wsgiauth.features.transfer.rows import COLUMNS
from wsgiauth.forms import NEXT, ONCE, SENT, Form
from wsgiauth.forms.handover import REMEMBER
from wsgiauth.forms.registration import NewAccountPage
from wsgiauth.forms.shown_to import ACCOUNT
from wsgiauth.messages import Message
from wsgiauth.web.request import MAX_BODY
from wsgiauth.web.request import MAX_FIELDS as MAX_FORM_FIELDS
from wsgiauth.web.urls import MAX_ENCODED


async def later(*_):
    """Do nothing, and be no function that wsgiauth can call."""


def refuse(value):
    return f"Not {value}."


WRONG = {
    "no name": ("", "Phone"),
    "a capital in a name": ("Phone", "Phone"),
    "a dash in a name": ("phone-number", "Phone"),
    "a digit first": ("2phone", "Phone"),
    "a long name": ("x" * (NAME_MAX_LENGTH + 1), "Phone"),
    "no string as the name": (5, "Phone"),
    "no label": ("phone", ""),
    "a label that nobody sees": ("phone", " \u200b"),
    "a long label": ("phone", "x" * (LABEL_MAX_LENGTH + 1)),
    "a label of two lines": ("phone", "Phone\nnumber"),
}
WRONG_OPTIONS = {
    "a length of nothing": {"max_length": 0},
    "a length that no request has": {"max_length": MAX_CHARACTERS + 1},
    "autocomplete with markup": {"autocomplete": 'tel" onfocus="'},
    "a check that is no function": {"check": "phone"},
    **{
        f"{argument} {value!r}": {argument: value}
        for argument, values in {
            **dict.fromkeys(("label", "kind", "hint", "autocomplete"), (None, 5, b"x", ["x"])),
            "required": ("off", 0, None),
            "max_length": ("5", 1.5, True, None),
            "options": (None, 5),
        }.items()
        for value in values
    },
    "an asynchronous check": {"check": later},
}


def refusal(*arguments, **options):
    """Return the sentence with which a field is refused, or None."""
    try:
        Field(*arguments, **options)
    except ConfigurationError as error:
        return str(error)


def test_a_field_with_a_wrong_name_or_label_is_refused():
    for case, arguments in WRONG.items():
        assert re.search(r"Field .*\.$", str(refusal(*arguments))), case


def test_a_field_with_a_wrong_option_is_refused_by_name():
    sentence = re.compile(r"Field phone.*\.$|must not be asynchronous")
    for case, options in WRONG_OPTIONS.items():
        refused = str(refusal("phone", **{"label": "Phone"} | options))
        assert sentence.search(refused), case
        assert "check" in options or f" {next(iter(options))} must" in refused, case


def test_a_field_cannot_have_a_name_of_ours():
    for name in RESERVED:
        assert f"cannot have the name {name}, which wsgiauth" in str(refusal(name, "Phone"))


def test_all_names_of_the_forms_and_of_imports_are_ours():
    """Of each form that can have fields of the application, but that of a code.

    That form has names such as `code`, which applications use. Its own field then wins.
    """
    forms = [
        each
        for each in ROUTES.values()
        if isinstance(each, Form)
        and type(each).strings is not Form.strings
        and not isinstance(each, EnterCode | Confirm)  # the latter has those of features alone
    ]
    assert {type(each).__name__ for each in forms} >= {"Registration", "Verify", "Complete"}
    of_forms = {each.name for form in forms for each in form.fields}
    assert {*of_forms, ACCOUNT, NEXT, ONCE, REMEMBER, SENT, *COLUMNS} <= RESERVED


NAME = re.compile("[a-z][a-z0-9_]*")  # that a Field can have


class NamesOf(HTMLParser):
    """The names and the ids in a page."""

    def __init__(self, html):
        super().__init__()
        self.found = set()
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.found |= {value for name, value in attrs if name in ("id", "name") and tag != "meta"}


def test_all_names_of_the_pages_are_ours(settings):
    """Of each page that can have fields of the application, with all that a site can add to it."""
    own = Field("phone", "Phone", required=True)
    made = AuthMiddleware(echo, replace(settings, LANGUAGES=("en", "de")), registration=[own])
    storage.discard_connection(made.database)
    added = {"fields": (own,), "values": {"phone": ""}}
    added["languages"] = tuple(made.site.pages.readers.languages)
    pages = [each for each in page_samples() if isinstance(each, NewAccountPage)]
    assert {type(each).__name__ for each in pages} >= {"RegisterPage", "InvitationPage"}
    found = set()
    for page in pages:
        html = made.site.pages.check(page.replaced(**added))
        found |= NamesOf(html).found
    assert {"phone", "language", "message"} <= found
    assert {each for each in found if NAME.fullmatch(each)} - {"phone"} <= RESERVED


# What a script sets, finds by its name, or asks a form for: a field can hide a member of its form.
USED = re.compile(r"""(?:formData\.set\("|\[name=|\.form\.|\btarget\.|\.elements\.)(\w+)""")


def test_all_names_of_the_scripts_are_ours():
    scripts = [each.read_text("utf-8") for each in Path(wsgiauth.__file__).parent.rglob("*.js")]
    found = {name for script in scripts for name in USED.findall(script) if NAME.fullmatch(name)}
    assert {"sent", "elements", "method", "submit", "token", "credential"} <= found <= RESERVED


def test_a_field_shows_its_name():
    assert repr(Field("phone", "Phone number")) == "<Field phone>"


@row_by_row(
    "fields",
    [
        pytest.param([Field("phone", "Phone"), Field("phone", "Again")], id="a name twice"),
        pytest.param(
            [Field(f"f{n}", "Field", max_length=1) for n in range(MAX_FIELDS + 1)],
            id="too many",
        ),
        pytest.param(
            [Field("a", "A", max_length=MAX_CHARACTERS), Field("b", "B", max_length=1)],
            id="too long together",
        ),
    ],
)
def test_a_registration_of_wrong_fields_is_refused(fields):
    with pytest.raises(ConfigurationError, match=r"^registration .*\.$"):
        Registration(fields)


def test_on_registered_must_be_a_function():
    for function in [5, later]:
        with pytest.raises(ConfigurationError, match=r"^on_registered must "):
            Registration((), function)


def test_the_longest_values_fit_into_a_request():
    """A character is at most 12 bytes, as of an emoji that is percent-encoded or escaped.

    Beside the longest `next`, it is at most 6, as of a letter of Europe or the Arab world.
    """
    names = (USERNAME_MAX_LENGTH + EMAIL_MAX_LENGTH) * 12
    password, destination = MAX_BYTES * 3, MAX_ENCODED
    keys = MAX_FIELDS * (NAME_MAX_LENGTH + 2)
    assert names + password + keys + MAX_CHARACTERS * 12 + 100 < MAX_BODY
    assert destination < MAX_BODY - MAX_CHARACTERS * 6 - password - names // 12
    assert MAX_FIELDS + len(RESERVED & {*Register.fields, NEXT, ONCE, REMEMBER}) < MAX_FORM_FIELDS


VALUES = {
    "stripped": (" +49 30 1 \n", "+49 30 1", None),
    "left out": ("", "", None),
    "only spaces": (" \u3000\t", "", None),
    "nothing to see": ("\u200b\u2060", "", None),
    "of its length": ("x" * 20, "x" * 20, None),
    "too long": ("x" * 21, "x" * 21, "at most 20 characters"),
    "two lines": ("a\nb", "a\nb", "one line"),
    "a line separator": ("a\u2028b", "a\u2028b", "one line"),
    "NUL": ("\0", "\0", "control characters"),
    "turned around": ("a\u202eb", "a\u202eb", "control characters"),
    "Persian, with a joiner": ("\u0645\u06cc\u200c\u062e", "\u0645\u06cc\u200c\u062e", None),
    "an emoji of several": ("\U0001f468\u200d\U0001f4bb\ufe0f",) * 2 + (None,),
}


def test_a_value_is_stripped_and_has_rules():
    for case, (sent, value, problem) in VALUES.items():
        answers = Registration([Field("phone", "Phone", max_length=20)]).read({"phone": sent})
        assert answers.values == {"phone": value}, case
        assert (problem is None) == (answers.errors == {}), case
        assert problem is None or problem in answers.errors["phone"][0], case


def test_a_required_value_cannot_be_left_out():
    asked = Registration([Field("phone", "Phone", required=True), Field("note", "Note")])
    for sent in ({}, {"phone": ""}, {"phone": " \u200b"}):
        assert asked.read(sent).errors == {"phone": ["This field is required."]}


def test_only_a_value_that_keeps_the_rules_is_checked():
    asked = []
    field = Field("phone", "Phone", max_length=5, check=asked.append)
    for sent in ("", "123456", "a\0", "12345"):
        Registration([field]).read({"phone": sent})
    assert asked == ["12345"]


def test_the_message_of_a_check_is_the_error():
    asked = Registration([Field("phone", "Phone", check=refuse)])
    assert asked.read({"phone": "1"}).errors == {"phone": ["Not 1."]}
    assert asked.read({}).errors == {}


@pytest.mark.promise(75)
def test_markup_becomes_plain_text(database):
    promised = Markup("<b>no</b>")
    field = Field("phone", promised, check=lambda _: promised)
    (message,) = Registration([field]).read({"phone": "1"}).errors["phone"]

    def refuse_all(_user, _values):
        raise ValidationError({"phone": [promised], "note": promised})

    with pytest.raises(ValidationError) as refused, database.atomic():
        Registration([], refuse_all).read({}).pass_on(User())
    messages = [*refused.value.errors["phone"], *refused.value.errors["note"]]
    for each in (message, field.label, *messages):
        assert (type(each), each) == (Message, "<b>no</b>")
        assert escape(each) == "&lt;b&gt;no&lt;/b&gt;"


def test_what_the_application_writes_can_be_translated_whatever_is_in_it():
    asked = Registration([Field("share", "Your share in %", check=lambda _: "Not 50 %(all)s.")])
    assert asked.fields[0].label == "Your share in %"
    (message,) = asked.read({"share": "50"}).errors["share"]
    assert (message, message.text, message.values) == ("Not 50 %(all)s.", "Not 50 %%(all)s.", {})


def test_a_message_of_wsgiauth_that_the_application_passes_on_keeps_its_values():
    asked = Registration([Field("nick", "Nickname", check=username_problem, max_length=200)])
    (message,) = asked.read({"nick": "x" * (USERNAME_MAX_LENGTH + 1)}).errors["nick"]
    assert message.values == {"num": USERNAME_MAX_LENGTH}


def test_a_check_that_returns_no_message_has_failed(caplog):
    for answer in [True, False, "", 5]:
        field = Field("phone", "Phone", check=lambda _, answer=answer: answer)
        caplog.clear()
        with pytest.raises(ApplicationError) as failed:
            field.problem("1")
        assert repr(answer) in str(failed.value.__cause__)
        (record,) = caplog.records
        assert record.getMessage() == "the check of the field phone failed", answer
        assert record.exc_info[1] is failed.value.__cause__, answer


def test_a_refusal_of_a_taken_value_stays_one(database):
    def refuse_taken(_user, _values):
        raise TakenError({"phone": ["This number is taken."]})

    with pytest.raises(TakenError, match="number is taken"), database.atomic():
        Registration([], refuse_taken).read({}).pass_on(User())


def test_without_fields_nothing_is_asked():
    assert registration.NOTHING.errors == registration.NOTHING.values == {}
