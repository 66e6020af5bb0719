"""Usernames, email addresses and permissions."""

import re
import sys
import unicodedata

import pytest

from wsgiauth.accounts import names

LIGATURE = "\N{ARABIC LIGATURE SALLALLAHOU ALAYHE WASALLAM}"  # one letter; NFKC makes it 18


def address(length):
    return "a" * (length - len("@example.org")) + "@example.org"


@pytest.mark.promise(10)
@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param("Ada", "aDA", id="letter case"),
        pytest.param("STRASSE", "straße", id="sharp s"),
        pytest.param("ΣΊΣΥΦΟΣ", "σίσυφος", id="final sigma"),
        pytest.param("\N{KELVIN SIGN}elvin", "kelvin", id="kelvin sign"),
        pytest.param("\uff21\uff44\uff41", "ada", id="fullwidth letters"),
        pytest.param("ﬁona", "fiona", id="ligature"),
        pytest.param("ada²", "ada2", id="superscript"),
        pytest.param("Ⓐda Ⅳ", "ada iv", id="circled letter and Roman numeral"),
        pytest.param("Zo\N{LATIN SMALL LETTER E WITH DIAERESIS}", "ZOE\u0308", id="composition"),
        pytest.param("\u03b1\u0345", "\u0391\u0399", id="combining iota"),
        pytest.param("\u1fb7", "\u1fbc\u0342", id="combining iota before an accent"),
        pytest.param("\u0390", "\u03aa\u0301", id="two accents, of which capitals compose one"),
        pytest.param("ada\uff20example.org", "Ada@Example.ORG", id="fullwidth at sign"),
        pytest.param("ada@bücher.example", "ada@xn--bcher-kva.example", id="IDN"),
        pytest.param("ada@BÜCHER.example", "Ada@XN--BCHER-KVA.Example", id="IDN in capitals"),
        pytest.param("用户@例子.广告", "用户@xn--fsqu00a.xn--4rr70v", id="IDN of two labels"),
        pytest.param("用户@例子.广告", "用户@例子.xn--4rr70v", id="IDN, one label in ASCII"),
        pytest.param("ada@Bücher.example", "ada@xn--Bcher-kva.example", id="IDN, half folded"),
    ],
)
def test_names_that_differ_in_case_or_compatibility_form_have_one_key(one, other):
    assert names.key(one) == names.key(other)


# One combining mark of each class: what normal forms reorder or compose.
MARKS = {unicodedata.combining(mark): mark for mark in map(chr, range(0x300, 0x370))}.values()


@pytest.fixture(scope="module")
def cased():
    """Return every character with another case, but the dotless i.

    Unicode folds that to itself (CaseFolding.txt, status T), although its capital is that of i.
    """
    return [
        character
        for character in map(chr, range(sys.maxunicode + 1))
        if {character.upper(), character.lower()} != {character}
        and character != "\N{LATIN SMALL LETTER DOTLESS I}"
    ]


def spellings(character):
    """Return `character` in its other cases, each in every normal form."""
    cases = {character.upper(), character.lower(), character.title(), character.casefold()}
    cases |= {case.lower() for case in cases} | {case.upper() for case in cases}
    forms = ("NFC", "NFD", "NFKC", "NFKD")
    return cases | {unicodedata.normalize(form, case) for form in forms for case in cases}


@pytest.mark.promise(10)
@pytest.mark.uncounted
def test_every_character_of_unicode_has_the_key_of_its_other_cases(cased):
    differing = {
        (character, spelling)
        for character in cased
        for spelling in spellings(character)
        if names.key(spelling) != names.key(character)
    }
    assert len(cased) > 2500
    assert not differing


@pytest.mark.promise(10)
def test_a_combining_mark_does_not_separate_the_cases_of_a_character(cased):
    differing = {
        (character, mark)
        for character in cased
        if not unicodedata.combining(character)
        for mark in MARKS
        for case in (character.upper(), character.lower(), character.title())
        if len(case) == 1  # or the mark belongs to the last of several letters
        and names.key(case + mark) != names.key(character + mark)
    }
    assert not differing


@pytest.mark.promise(10)
@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param("ada", "ad\u0430", id="Latin and Cyrillic"),
        pytest.param("zoe", "zoë", id="accent"),
        pytest.param("ada", "ada_", id="underscore"),
    ],
)
def test_names_that_only_look_alike_have_two_keys(one, other):
    assert names.key(one) != names.key(other)


@pytest.mark.promise(10)
@pytest.mark.parametrize(
    "name", ["ﬃ", "İstanbul", "ΐ", "ᾳ\u0345", "ẞ", "\U0001d49c", "Ⅷ", LIGATURE]
)
def test_the_key_of_a_key_is_itself(name):
    assert names.key(names.key(name)) == names.key(name)


@pytest.mark.promise(10)
@pytest.mark.parametrize(
    "label",
    [
        pytest.param("xn--", id="empty"),
        pytest.param("xn--99999999", id="beyond Unicode"),
        pytest.param("xn--a-!", id="no digit"),
        pytest.param("xn--ü", id="beyond ASCII"),
        pytest.param("xn--example-", id="ASCII"),
        pytest.param(f"xn--{'a' * 60}", id="longer than a label"),
        *(
            pytest.param(f"xn--{decoded.encode('punycode', 'surrogatepass').decode()}", id=what)
            for what, decoded in {
                "fullwidth at sign": "ada\uff20ö",
                "fullwidth dot": "ö\uff0eorg",
                "ideographic full stop": "ö\u3002org",
                "fullwidth bracket": "ö\uff1e",
                "control": "ö\x85",
                "zero width space": "ö\u200b",
                "no-break space": "ö\xa0",
                "blank": "ö\u3164",
                "unassigned": "ö\u0378",
                "surrogate": "ö\ud800",
                "encoded twice": "xn--bcher-kvaö",
                "encoded twice in fullwidth": "\uff58n--bcher-kva",
            }.items()
        ),
    ],
)
def test_a_label_that_is_no_international_domain_stays_as_it_is(label):
    email = f"ada@mail.{label}.example"
    assert names.key(email) == names.key(names.key(email)) == email


@pytest.mark.promise(10)
@pytest.mark.parametrize(
    ("domain", "other"),
    [
        pytest.param("xn--bo-hia.de", "boss.de", id="sharp s"),
        pytest.param("xn--strae-oqa.de", "strasse.de", id="sharp s in a longer name"),
        pytest.param("xn--3xan.gr", "ωσ.gr", id="final sigma"),
        pytest.param("xn--mi7cai.org", "ada.org", id="fullwidth letters"),
        pytest.param("xn--bcher-2pa.example", "bücher.example", id="upper-case letter"),
        pytest.param("xn--u-ccb.org", "ü.org", id="decomposed letter"),
        pytest.param("xn---tda.org", "ü.org", id="needless delimiter"),
    ],
)
def test_a_domain_in_ascii_does_not_get_the_key_of_another_domain(domain, other):
    assert names.key(f"ada@{domain}") == f"ada@{domain}" != names.key(f"ada@{other}")


@pytest.mark.promise(10)
def test_what_is_no_email_address_is_not_decoded():
    assert names.key("xn--bcher-kva.example") == "xn--bcher-kva.example"
    assert names.key("xn--bcher-kva@example.org") == "xn--bcher-kva@example.org"


@pytest.mark.parametrize("name", ["Ada", "ada.lovelace+1", "艾达", "O'Neill", "a", "Zoë", "👩"])
def test_a_username_may_be_written_in_any_script(name):
    assert names.username_problem(name) is None


@pytest.mark.parametrize(
    "email", ["ada@example.org", "a+b@localhost", "用户@例子.广告", "o'neill@a.b.c"]
)
def test_an_email_address_has_something_on_both_sides_of_one_at_sign(email):
    assert names.email_problem(email) is None


@pytest.mark.promise(10)
@pytest.mark.parametrize(
    "email",
    [
        "=?utf-8?q?a=0aBcc=3a_eve?=@example.org",  # RFC 2047
        pytest.param("ada", id="no at sign"),
        pytest.param("@example.org", id="nobody"),
        pytest.param("ada@", id="no host"),
        pytest.param("a@b@example.org", id="two at signs"),
        pytest.param("a\uff20b@example.org", id="a second one in fullwidth"),
        pytest.param("ada@.org", id="leading dot"),
        pytest.param("ada@example.", id="trailing dot"),
        pytest.param("ada@example..org", id="empty label"),
        pytest.param("ada@example\uff0e\uff0eorg", id="empty label in fullwidth"),
        pytest.param("ada@example…org", id="ellipsis"),
    ],
)
def test_what_is_no_email_address_is_refused(email):
    assert names.email_problem(email) == "Enter an email address such as ada@example.org."


@pytest.mark.promise(10)
@pytest.mark.parametrize("name", ["a@b", "@", "ada\uff20example", "ada\ufe6bexample"], ids=ascii)
def test_an_at_sign_in_any_form_is_refused_in_a_username(name):
    assert names.username_problem(name) == "A username cannot contain @."


@pytest.mark.promise(10)
@pytest.mark.parametrize(
    "character",
    [
        pytest.param("\0", id="NUL"),
        pytest.param("\n", id="line feed"),
        pytest.param("\x7f", id="delete"),
        pytest.param("\x85", id="C1 control"),
        pytest.param(" ", id="space"),
        pytest.param("\t", id="tab"),
        pytest.param("\N{NO-BREAK SPACE}", id="no-break space"),
        pytest.param("\N{IDEOGRAPHIC SPACE}", id="ideographic space"),
        pytest.param("\N{LINE SEPARATOR}", id="line separator"),
        pytest.param("\N{PARAGRAPH SEPARATOR}", id="paragraph separator"),
        pytest.param("\N{SOFT HYPHEN}", id="soft hyphen"),
        pytest.param("\N{ZERO WIDTH SPACE}", id="zero width space"),
        pytest.param("\N{ZERO WIDTH JOINER}", id="zero width joiner"),
        pytest.param("\N{RIGHT-TO-LEFT OVERRIDE}", id="right-to-left override"),
        pytest.param("\N{ZERO WIDTH NO-BREAK SPACE}", id="byte order mark"),
        pytest.param("\N{TAG LATIN SMALL LETTER A}", id="tag"),
        pytest.param("\ud800", id="high surrogate"),
        pytest.param("\udfff", id="low surrogate"),
        pytest.param("\u0378", id="unassigned"),
        pytest.param("\uffff", id="noncharacter"),
        pytest.param("\N{DIAERESIS}", id="a space once it is normalised"),
    ],
)
@pytest.mark.parametrize("place", ["{}ada", "a{}da", "ada{}"])
def test_spaces_and_invisible_characters_are_refused_everywhere(character, place):
    name = place.format(character)
    refusal = "cannot contain spaces or invisible characters."
    assert names.username_problem(name) == f"A username {refusal}"
    assert names.email_problem(f"{name}@example.org") == f"An email address {refusal}"


@pytest.mark.promise(10)
@pytest.mark.parametrize(
    ("rule", "name", "is_accepted"),
    [
        pytest.param(names.username_problem, "a", True, id="username of 1"),
        pytest.param(names.username_problem, "a" * 150, True, id="username of 150"),
        pytest.param(names.username_problem, "a" * 151, False, id="username of 151"),
        pytest.param(names.username_problem, "ß" * 75, True, id="username whose key has 150"),
        pytest.param(names.username_problem, "ß" * 76, False, id="username whose key has 152"),
        pytest.param(names.username_problem, "é" * 150, True, id="150 characters, 300 bytes"),
        pytest.param(names.username_problem, "e\u0301" * 76, False, id="152 whose key has 76"),
        pytest.param(names.email_problem, address(254), True, id="e-mail of 254"),
        pytest.param(names.email_problem, address(255), False, id="e-mail of 255"),
        pytest.param(names.email_problem, "ß" + address(252), True, id="e-mail whose key has 254"),
        pytest.param(names.email_problem, "ß" + address(253), False, id="e-mail whose key has 255"),
    ],
)
def test_a_name_and_its_key_are_bounded(rule, name, is_accepted):
    assert (rule(name) is None) is is_accepted


@pytest.mark.promise(10)
def test_a_ligature_that_hides_spaces_is_refused():
    refusal = "A username cannot contain spaces or invisible characters."
    assert names.username_problem(LIGATURE) == refusal


@pytest.mark.promise(10)
def test_a_very_long_name_is_refused_by_its_length():
    assert names.username_problem("a" * 16384) == "A username must have at most 150 characters."


def test_the_messages_of_several_fields_come_by_field():
    errors = names.name_errors({"username": "", "email": ""})
    assert errors == {"username": ["Enter a username."], "email": ["Enter an email address."]}


def test_a_field_in_order_has_no_message():
    assert list(names.name_errors({"username": "Ada", "email": "ada"})) == ["email"]


@pytest.mark.parametrize("permission", ["reports.publish", "A-1._", "a" * 49 + "." + "b" * 50])
def test_a_permission_is_an_application_and_an_action(permission):
    assert names.check_permission(permission) == permission


@pytest.mark.parametrize(
    "permission",
    [
        pytest.param("", id="empty"),
        pytest.param("publish", id="no application"),
        pytest.param(".publish", id="empty application"),
        pytest.param("reports.", id="empty action"),
        pytest.param("reports.pages.publish", id="three parts"),
        pytest.param("reports.publish\n", id="line feed"),
        pytest.param("reports.pub lish", id="space"),
        pytest.param("reports.publïsh", id="beyond ASCII"),
        pytest.param("a" * 50 + "." + "b" * 50, id="101 characters"),
        pytest.param(None, id="nothing"),
        pytest.param(["reports.publish"], id="list"),
    ],
)
def test_anything_else_is_no_permission(permission):
    with pytest.raises(ValueError, match=re.escape('"<app>.<action>"')):
        names.check_permission(permission)


@pytest.mark.promise(10)
@pytest.mark.parametrize(
    "character",
    [
        pytest.param("\N{HANGUL FILLER}", id="Hangul filler"),
        pytest.param("\N{COMBINING GRAPHEME JOINER}", id="grapheme joiner"),
        pytest.param("\N{VARIATION SELECTOR-16}", id="variation selector"),
        pytest.param("\N{BRAILLE PATTERN BLANK}", id="blank Braille"),
        pytest.param("\N{MUSICAL SYMBOL NULL NOTEHEAD}", id="null notehead"),
        pytest.param("\ue000", id="private use"),
    ],
)
def test_what_cannot_be_seen_is_refused(character):
    assert names.username_problem(f"ada{character}") is not None
    assert names.email_problem(f"ada{character}@example.org") is not None


@pytest.mark.parametrize(
    "email",
    ["victim,ada@example.org", "<ada>@example.org", "ada@example\u3002org", 'a"b@example.org'],
)
def test_an_email_is_nothing_but_one_address(email):
    assert names.email_problem(email) is not None


@pytest.mark.promise(15)
@pytest.mark.parametrize("problem_of", [names.username_problem, names.email_problem])
def test_a_name_that_is_too_long_is_refused_before_its_normal_form_is_computed(
    monkeypatch, problem_of
):
    # Of combining marks out of order, it takes quadratic time.
    monkeypatch.setattr(names, "key", lambda _: pytest.fail("it was computed"))
    assert "at most" in problem_of("\u0301\u0323" * 4000)
