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
def test_names_that_differ_in_case_or_compatibility_form_have_one_key():
    for case, (one, other) in {
        "letter case": ("Ada", "aDA"),
        "sharp s": ("STRASSE", "straße"),
        "final sigma": ("ΣΊΣΥΦΟΣ", "σίσυφος"),
        "kelvin sign": ("\N{KELVIN SIGN}elvin", "kelvin"),
        "fullwidth letters": ("\uff21\uff44\uff41", "ada"),
        "ligature": ("ﬁona", "fiona"),
        "superscript": ("ada²", "ada2"),
        "circled letter and Roman numeral": ("Ⓐda Ⅳ", "ada iv"),
        "composition": ("Zo\N{LATIN SMALL LETTER E WITH DIAERESIS}", "ZOE\u0308"),
        "combining iota": ("\u03b1\u0345", "\u0391\u0399"),
        "combining iota before an accent": ("\u1fb7", "\u1fbc\u0342"),
        "two accents, of which capitals compose one": ("\u0390", "\u03aa\u0301"),
        "fullwidth at sign": ("ada\uff20example.org", "Ada@Example.ORG"),
        "IDN": ("ada@bücher.example", "ada@xn--bcher-kva.example"),
        "IDN in capitals": ("ada@BÜCHER.example", "Ada@XN--BCHER-KVA.Example"),
        "IDN of two labels": ("用户@例子.广告", "用户@xn--fsqu00a.xn--4rr70v"),
        "IDN, one label in ASCII": ("用户@例子.广告", "用户@例子.xn--4rr70v"),
        "IDN, half folded": ("ada@Bücher.example", "ada@xn--Bcher-kva.example"),
    }.items():
        assert names.key(one) == names.key(other), case


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


@pytest.mark.slow
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
def test_names_that_only_look_alike_have_two_keys():
    for case, (one, other) in {
        "Latin and Cyrillic": ("ada", "ad\u0430"),
        "accent": ("zoe", "zoë"),
        "underscore": ("ada", "ada_"),
    }.items():
        assert names.key(one) != names.key(other), case


@pytest.mark.promise(10)
def test_the_key_of_a_key_is_itself():
    for name in ["ﬃ", "İstanbul", "ΐ", "ᾳ\u0345", "ẞ", "\U0001d49c", "Ⅷ", LIGATURE]:
        assert names.key(names.key(name)) == names.key(name)


@pytest.mark.promise(10)
def test_a_label_that_is_no_international_domain_stays_as_it_is():
    encoded = {
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
    }
    for case, rest in {
        "empty": "",
        "beyond Unicode": "99999999",
        "no digit": "a-!",
        "beyond ASCII": "ü",
        "ASCII": "example-",
        "longer than a label": "a" * 60,
        **{
            what: decoded.encode("punycode", "surrogatepass").decode()
            for what, decoded in encoded.items()
        },
    }.items():
        email = f"ada@mail.xn--{rest}.example"
        assert names.key(email) == names.key(names.key(email)) == email, case


@pytest.mark.promise(10)
def test_a_domain_in_ascii_does_not_get_the_key_of_another_domain():
    for case, (domain, other) in {
        "sharp s": ("xn--bo-hia.de", "boss.de"),
        "sharp s in a longer name": ("xn--strae-oqa.de", "strasse.de"),
        "final sigma": ("xn--3xan.gr", "ωσ.gr"),
        "fullwidth letters": ("xn--mi7cai.org", "ada.org"),
        "upper-case letter": ("xn--bcher-2pa.example", "bücher.example"),
        "decomposed letter": ("xn--u-ccb.org", "ü.org"),
        "needless delimiter": ("xn---tda.org", "ü.org"),
    }.items():
        assert names.key(f"ada@{domain}") == f"ada@{domain}" != names.key(f"ada@{other}"), case


@pytest.mark.promise(10)
def test_what_is_no_email_address_is_not_decoded():
    assert names.key("xn--bcher-kva.example") == "xn--bcher-kva.example"
    assert names.key("xn--bcher-kva@example.org") == "xn--bcher-kva@example.org"


def test_a_username_may_be_written_in_any_script():
    for name in ["Ada", "ada.lovelace+1", "艾达", "O'Neill", "a", "Zoë", "👩"]:
        assert names.username_problem(name) is None


def test_an_email_address_has_something_on_both_sides_of_one_at_sign():
    for email in ["ada@example.org", "a+b@localhost", "用户@例子.广告", "o'neill@a.b.c"]:
        assert names.email_problem(email) is None


@pytest.mark.promise(10)
def test_what_is_no_email_address_is_refused():
    for case, email in {
        "RFC 2047": "=?utf-8?q?a=0aBcc=3a_eve?=@example.org",
        "no at sign": "ada",
        "nobody": "@example.org",
        "no host": "ada@",
        "two at signs": "a@b@example.org",
        "a second one in fullwidth": "a\uff20b@example.org",
        "leading dot": "ada@.org",
        "trailing dot": "ada@example.",
        "empty label": "ada@example..org",
        "empty label in fullwidth": "ada@example\uff0e\uff0eorg",
        "ellipsis": "ada@example…org",
    }.items():
        assert names.email_problem(email) == "Enter an email address such as ada@example.org.", case


@pytest.mark.promise(10)
def test_an_at_sign_in_any_form_is_refused_in_a_username():
    for name in ["a@b", "@", "ada\uff20example", "ada\ufe6bexample"]:
        assert names.username_problem(name) == "A username cannot contain @."


@pytest.mark.promise(10)
def test_spaces_and_invisible_characters_are_refused_everywhere():
    for place in ["{}ada", "a{}da", "ada{}"]:
        for case, character in {
            "NUL": "\0",
            "line feed": "\n",
            "delete": "\x7f",
            "C1 control": "\x85",
            "space": " ",
            "tab": "\t",
            "no-break space": "\N{NO-BREAK SPACE}",
            "ideographic space": "\N{IDEOGRAPHIC SPACE}",
            "line separator": "\N{LINE SEPARATOR}",
            "paragraph separator": "\N{PARAGRAPH SEPARATOR}",
            "soft hyphen": "\N{SOFT HYPHEN}",
            "zero width space": "\N{ZERO WIDTH SPACE}",
            "zero width joiner": "\N{ZERO WIDTH JOINER}",
            "right-to-left override": "\N{RIGHT-TO-LEFT OVERRIDE}",
            "byte order mark": "\N{ZERO WIDTH NO-BREAK SPACE}",
            "tag": "\N{TAG LATIN SMALL LETTER A}",
            "high surrogate": "\ud800",
            "low surrogate": "\udfff",
            "unassigned": "\u0378",
            "noncharacter": "\uffff",
            "a space once it is normalised": "\N{DIAERESIS}",
        }.items():
            name = place.format(character)
            refusal = "cannot contain spaces or invisible characters."
            assert names.username_problem(name) == f"A username {refusal}", (place, case)
            assert names.email_problem(f"{name}@example.org") == f"An email address {refusal}", (
                place,
                case,
            )


@pytest.mark.promise(10)
def test_a_name_and_its_key_are_bounded():
    for case, (rule, name, is_accepted) in {
        "username of 1": (names.username_problem, "a", True),
        "username of 150": (names.username_problem, "a" * 150, True),
        "username of 151": (names.username_problem, "a" * 151, False),
        "username whose key has 150": (names.username_problem, "ß" * 75, True),
        "username whose key has 152": (names.username_problem, "ß" * 76, False),
        "150 characters, 300 bytes": (names.username_problem, "é" * 150, True),
        "152 whose key has 76": (names.username_problem, "e\u0301" * 76, False),
        "e-mail of 254": (names.email_problem, address(254), True),
        "e-mail of 255": (names.email_problem, address(255), False),
        "e-mail whose key has 254": (names.email_problem, "ß" + address(252), True),
        "e-mail whose key has 255": (names.email_problem, "ß" + address(253), False),
    }.items():
        assert (rule(name) is None) is is_accepted, case


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


def test_a_permission_is_an_application_and_an_action():
    for permission in ["reports.publish", "A-1._", "a" * 49 + "." + "b" * 50]:
        assert names.check_permission(permission) == permission


def test_anything_else_is_no_permission():
    for permission in (
        *("", "publish", ".publish", "reports.", "reports.pages.publish", "reports.publish\n"),
        *("reports.pub lish", "reports.*", "reports.publïsh", "a" * 50 + "." + "b" * 50),
        *(None, ["reports.publish"]),
    ):
        with pytest.raises(ValueError, match=re.escape('"<app>.<action>"')):
            names.check_permission(permission)


@pytest.mark.promise(10)
def test_what_cannot_be_seen_is_refused():
    for case, character in {
        "Hangul filler": "\N{HANGUL FILLER}",
        "grapheme joiner": "\N{COMBINING GRAPHEME JOINER}",
        "variation selector": "\N{VARIATION SELECTOR-16}",
        "blank Braille": "\N{BRAILLE PATTERN BLANK}",
        "null notehead": "\N{MUSICAL SYMBOL NULL NOTEHEAD}",
        "private use": "\ue000",
    }.items():
        assert names.username_problem(f"ada{character}") is not None, case
        assert names.email_problem(f"ada{character}@example.org") is not None, case


def test_an_email_is_nothing_but_one_address():
    for email in [
        "victim,ada@example.org",
        "<ada>@example.org",
        "ada@example\u3002org",
        'a"b@example.org',
    ]:
        assert names.email_problem(email) is not None


@pytest.mark.promise(15)
@pytest.mark.parametrize("problem_of", [names.username_problem, names.email_problem])
def test_a_name_that_is_too_long_is_refused_before_its_normal_form_is_computed(
    monkeypatch, problem_of
):
    # Of combining marks out of order, it takes quadratic time.
    monkeypatch.setattr(names, "key", lambda _: pytest.fail("it was computed"))
    assert "at most" in problem_of("\u0301\u0323" * 4000)
