"""The kinds of fields of the application: which values are valid, and what the application gets."""

import re
from datetime import UTC, datetime

from wsgiauth import Field
from wsgiauth.accounts.field_kinds import KINDS
from wsgiauth.accounts.registration import MAX_CHARACTERS, Registration
from wsgiauth.exceptions import ConfigurationError
from wsgiauth.messages import Message
from wsgiauth.storage.models import utc_now

BRANCHES = (("n", "North Bank"), ("s", "South Bank"))


def answers_of(sent, **options):
    return Registration([Field("x", "X", **options)]).read({"x": sent})


def value_of(sent, **options):
    """Return the value that the application gets, or the message of the refusal."""
    answers = answers_of(sent, **options)
    return answers.errors["x"][0] if answers.errors else answers.values["x"]


EMAIL_RULE = "Enter an email address such as ada@example.org."
PHONE_RULE = "Enter a phone number such as +49 30 1234567."
URL_RULE = "Enter a web address such as https://example.org."
NUMBER_RULE = "Enter a number in digits, such as 12."
LINE_RULE = "This field must be one line, without control characters."

VALUES = [
    ("email", " ada@example.org\u200b", "ada@example.org"),
    ("email", "jörg@bücher.example", "jörg@bücher.example"),
    ("email", "ada", EMAIL_RULE),
    ("email", "ada@example.org,bob@example.org", EMAIL_RULE),
    ("tel", "+49 (30) 123 45-67", "+49 (30) 123 45-67"),
    ("tel", "\u202d030/1234567\u202c", "030/1234567"),
    (
        "tel",
        "\u0660\u0663\u0660 \u0661\u0662\u0663\u0664",
        "\u0660\u0663\u0660 \u0661\u0662\u0663\u0664",
    ),
    ("tel", "555 1234 ext. 12", "555 1234 ext. 12"),
    ("tel", "555\u2011123 x9", "555\u2011123 x9"),
    ("tel", "112", "112"),
    ("tel", "11", PHONE_RULE),
    ("tel", "+-+-", PHONE_RULE),
    ("tel", "call me at 1234", PHONE_RULE),
    ("url", "https://example.org/a?b#c", "https://example.org/a?b#c"),
    ("url", "HTTP://localhost:8080", "HTTP://localhost:8080"),
    ("url", "https://bücher.example/ü", "https://bücher.example/ü"),
    ("url", "https://[2001:db8::1]/", "https://[2001:db8::1]/"),
    ("url", "example.org", URL_RULE),
    ("url", "javascript:alert(1)", URL_RULE),
    ("url", "ftp://example.org", URL_RULE),
    ("url", "https:///path", URL_RULE),
    ("url", "https://example.org:port", URL_RULE),
    ("url", "https://[2001:db8", URL_RULE),
    ("url", "https://example.org/a b", URL_RULE),
    ("url", "https://example.org\\@evil.example", URL_RULE),
    ("url", "https://example.org@evil.example", URL_RULE),
    ("url", "java\tscript://x", LINE_RULE),
    ("number", " 12 ", "12"),
    ("number", "-0.5", "-0.5"),
    ("number", ".5", ".5"),
    ("number", "1,5", NUMBER_RULE),
    ("number", "1e3", NUMBER_RULE),
    ("number", "5.", NUMBER_RULE),
    ("number", "NaN", NUMBER_RULE),
    ("number", "\u0661\u0662", NUMBER_RULE),
    ("number", "12\n", "12"),
    ("checkbox", "", ""),
    ("checkbox", "off", ""),
    ("checkbox", "yes", "This field must be on or off."),
    ("checkbox", "on" * 11, "This field must be on or off."),
    ("checkbox", "2001-01-01T00:00:00Z", "This field must be on or off."),
    ("select", "n", "n"),
    ("select", "", ""),
    ("select", "North Bank", "Choose one of the options."),
    ("select", "N", "Choose one of the options."),
    ("textarea", " a\r\nb\rc\n\n d\te \n", "a\nb\nc\n\n d\te"),
    ("textarea", "\r\n \u200b\t\n", ""),
    ("textarea", "a\0b", "This field cannot contain control characters."),
    ("textarea", "a\u202eb", "This field cannot contain control characters."),
    ("textarea", "\0", "This field cannot contain control characters."),
]


def test_a_value_has_the_rules_of_its_kind():
    for kind, sent, expected in VALUES:
        options = {"options": BRANCHES} if kind == "select" else {}
        assert value_of(sent, kind=kind, **options) == expected, (kind, sent, expected)


def test_the_value_of_a_ticked_box_is_its_time():
    before = utc_now()
    ticked = value_of("on", kind="checkbox", required=True)
    assert ticked.endswith("Z")
    assert before <= datetime.fromisoformat(ticked) <= utc_now()
    assert datetime.fromisoformat(ticked).tzinfo == UTC
    assert len(ticked) == Field("x", "X", kind="checkbox").max_length


def test_a_required_box_must_be_ticked():
    for sent in ["", "off"]:
        assert value_of(sent, kind="checkbox", required=True) == "Tick this box to continue."


def test_a_required_value_of_each_other_kind_cannot_be_left_out():
    for kind in sorted({*KINDS} - {"checkbox"}):
        options = {"options": BRANCHES} if kind == "select" else {}
        assert value_of(" ", kind=kind, required=True, **options) == "This field is required."


def test_a_line_break_counts_once_in_the_length_of_a_text():
    assert value_of("a\r\nb", kind="textarea", max_length=3) == "a\nb"
    assert "at most 2 characters" in value_of("a\r\nb", kind="textarea", max_length=2)


def test_the_check_of_a_field_sees_only_values_that_its_kind_permits():
    seen = []
    for sent in ("ada", "ada@example.org", ""):
        answers_of(sent, kind="email", check=seen.append)
    assert seen == ["ada@example.org"]


def test_options_are_values_or_pairs_of_a_value_and_its_label():
    field = Field("x", "X", kind="select", options=iter(["50 %", ("s", "50 % off")]))
    assert field.choices == (("50 %", "50 %"), ("s", "50 % off"))
    assert {type(label) for _value, label in field.choices} == {Message}
    assert field.choices[1][1].text == "50 %% off"


def test_a_select_needs_no_more_characters_than_its_longest_option():
    options = [f"option {number}" for number in range(10, 99)]
    fields = [Field(f"f{n}", "X", kind="select", options=options) for n in range(10)]
    assert sum(each.max_length for each in Registration(fields).fields) == 90


WRONG = {
    "an unknown kind": {"kind": "date"},
    "a select without options": {"kind": "select"},
    "options elsewhere": {"options": ["a"]},
    "a string as options": {"kind": "select", "options": "abc"},
    "an empty option": {"kind": "select", "options": ["", "a"]},
    "an option with spaces around it": {"kind": "select", "options": ["a "]},
    "an option of two lines": {"kind": "select", "options": ["a\nb"]},
    "a blank label": {"kind": "select", "options": [("a", "\u200b")]},
    "an option of three": {"kind": "select", "options": [("a", "b", "c")]},
    "a number as an option": {"kind": "select", "options": [5]},
    "a number in an option": {"kind": "select", "options": [(5, "five")]},
    "an option twice": {"kind": "select", "options": ["a", ("a", "A")]},
    "an option that no request has": {"kind": "select", "options": ["x" * (MAX_CHARACTERS + 1)]},
    "a checkbox that a browser fills in": {"kind": "checkbox", "autocomplete": "tel"},
    "a hint of two lines": {"hint": "a\nb"},
    "a long hint": {"hint": "x" * 201},
}


def refusal(options):
    """Return the sentence with which a field is refused, or None."""
    try:
        Field("plan", "Plan", **options)
    except ConfigurationError as error:
        return str(error)


def test_a_wrong_declaration_is_refused_by_name():
    for case, options in WRONG.items():
        assert re.search(r"^The Field plan is wrong: .*\.$", str(refusal(options))), case


def test_the_sentence_says_what_is_wrong():
    start = "The Field plan is wrong:"
    assert refusal({"kind": "date"}) == (
        f"{start} kind must be one of text, email, tel, url, number, checkbox, select, textarea,"
        " not 'date'."
    )
    assert refusal({"kind": "select"}) == (
        f"{start} a select needs options, a list of strings or of pairs."
    )
    assert refusal({"kind": "tel", "options": ["a"]}) == (
        f"{start} only a select has options, and it is a tel."
    )


def test_the_host_can_choose_how_a_browser_fills_in_a_field():
    assert Field("x", "X", kind="tel").attributes["autocomplete"] == "tel"
    assert Field("x", "X", kind="tel", autocomplete="off").attributes["autocomplete"] == "off"
    assert "autocomplete" not in Field("x", "X").attributes
