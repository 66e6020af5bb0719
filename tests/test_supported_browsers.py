"""Style sheets and scripts use what every supported browser has, or say what stands in for it.

A word that is in no table here is refused: look it up at https://developer.mozilla.org, and add it
to the table that fits.
"""

import re
from pathlib import Path

from tests.support.own_templates import OWN
from tests.support.style_rules import rules_of

SAMPLE = Path(__file__).parents[1] / "sample_wsgi.py"
STYLES = {
    "style.css": OWN["style.css"].read_text("utf-8"),
    "sample": re.search("<style>(.*?)</style>", SAMPLE.read_text("utf-8"), re.DOTALL)[1],
}
SCRIPTS = {name: OWN[name].read_text("utf-8") for name in ("page.js", "passkeys.js")}
PAGE = Path(__file__).parents[1] / "docs/templates.md"

# The versions that the tables below are about.
SUPPORTED = {"Chrome, Edge": "109", "Firefox": "115", "Safari, also on iPhones and iPads": "15.4"}

# What every supported browser has.
WORDS = {
    "property": """
        accent-color align-items align-self background background-size border border-bottom
        border-collapse border-color border-image border-inline-end border-inline-start-width
        border-radius border-top border-width bottom box-shadow box-sizing break-inside clip-path
        color color-scheme column-gap columns content counter-increment counter-reset cursor
        direction display fill flex flex-basis flex-direction flex-wrap font font-size
        font-variant-numeric font-weight gap grid-area grid-column grid-row grid-template-columns
        grid-template-rows height inset-block-start inset-inline-end inset-inline-start
        justify-content justify-items justify-self letter-spacing line-height list-style margin
        margin-bottom margin-inline margin-inline-end margin-inline-start margin-top max-width
        min-height min-width object-fit object-position opacity order outline outline-offset
        overflow overflow-wrap overflow-x padding padding-block padding-bottom padding-inline
        padding-inline-start padding-top place-items position resize scroll-padding-bottom stroke
        stroke-linecap stroke-linejoin stroke-width text-align text-decoration
        text-decoration-thickness text-indent text-overflow text-underline-offset transform
        unicode-bidi vertical-align white-space width z-index
    """,
    "function": """
        attr calc counter fit-content inset linear-gradient min minmax repeat
        repeating-linear-gradient rotate scaleX var
    """,
    "selector": """
        ::after ::before ::placeholder :checked :disabled :empty :first-child :first-of-type :focus
        :focus-visible :focus-within :hover :is :lang :last-child :not :root
    """,
    "at-rule": """
        @media @supports forced-colors max-height max-width min-width prefers-color-scheme
        print screen
    """,
    "unit": """
        % ch deg em fr px rem svh
    """,
    "method": """
        abort abs addEventListener after append atob back btoa call catch ceil charCodeAt clear
        clearInterval click closest contains create createElement createObjectURL every fetch
        filter find findLast flatMap floor focus forEach format from fromCharCode get getAll
        getElementById getItem getRandomValues getSelection includes
        isUserVerifyingPlatformAuthenticatorAvailable keys map match matchMedia min normalize now
        padStart parse parseFromString preventDefault print querySelector querySelectorAll remove
        removeAttribute removeItem repeat replace replaceState reportValidity revokeObjectURL round
        selectAllChildren set setAttribute setCustomValidity setInterval setItem setSelectionRange
        setTimeout slice some split stringify submit text then toLowerCase toString trim writeText
    """,
    "class": """
        AbortController Blob DOMParser Date DateTimeFormat Error JSON Locale Map Math NumberFormat
        Object PublicKeyCredential RelativeTimeFormat String URL Uint32Array Uint8Array
    """,
}
KNOWN = {kind: set(words.split()) for kind, words in WORDS.items()}

# What some of them lack, and what stands in for it.
SUPPORTS = "an `@supports` asks for it"
EARLIER = "a declaration before it, which the browser keeps"
GUARDS = {
    "color-mix": SUPPORTS,  # not EARLIER: with `var()`, the value is found to be unknown too late
    ":has": SUPPORTS,
    'content: "" / ""': EARLIER,
    "user-select": "Safari has it with its prefix",
    "-webkit-user-select": "for Safari",
    "::-webkit-details-marker": "for Safari; others hide the marker by `list-style`",
    "word-break": "Japanese lines end between any two characters",
    "text-wrap": "a heading breaks where its line is full",
    "isConditionalMediationAvailable": "called if there is one",
    "getTransports": "called if there is one",
    "signalUnknownCredential": "called if there is one",
}
# Selectors with `:has`, outside of an `@supports`: without it, the whole rule is ignored.
IGNORED = {
    "html:has(.tick :checked)": "no bar hides what has the focus",
    ".rows > li > div:has(.hint)": "a button is beside a long line, not below it",
    "thead:has([scope] a)": "a narrow window shows no links that sort the table",
    "thead:has([scope] a) tr": "as above",
    "thead:has([scope] a) tr > :not(:has(a))": "as above",
    "body:has(.sheet) :not(.sheet, .sheet *, :has(.sheet))": "the whole page is printed",
}
SYNTAX = {
    r"\(\?<[=!]": "a lookbehind: Safari 16.4",
    r"\b(searchParams|params)\.(has|delete)\([^()]*,": "a value to look for: Chrome 117, Safari 17",
    r"\bstatic\s*\{": "a static block: Safari 16.4",
    r"/[dgimsuy]*v[dgimsuy]*[,;)\s.]": "the flag v of a pattern: Chrome 112",
}


def words_of(rule):
    """Yield each word of a rule that a browser can lack, with its kind and its declaration."""
    for prelude in rule.around:
        conditions = re.sub(r"^@supports .*", "@supports", prelude)
        for word in re.findall(r"@?[a-z-]+", re.sub(r"\s*:[^)]*", "", conditions)):
            if word not in ("and", "not", "or", "only"):
                yield "at-rule", word, None
    for word in re.findall(r"::?[a-z-]+", rule.selector):
        yield "selector", word, None
    for position, (name, value) in enumerate(rule.declarations):
        if name.startswith("--"):
            name = "--"
        else:
            yield "property", name, position
        for word in re.findall(r"([a-zA-Z-]+)\(", value):
            yield "function", word, position
        for word in re.findall(r"(?<![#\w])[\d.]+(%|[a-z]+)", re.sub(r"#[0-9a-f]+", "", value)):
            yield "unit", word, position
        if name == "content" and "/" in value:
            yield "property", 'content: "" / ""', position


def is_guarded(rule, word, position):
    guard = GUARDS[word]
    if guard == SUPPORTS:
        asked = [each for each in rule.around if each.startswith("@supports ")]
        return any(f"{word}(" in each for each in asked)
    if guard == EARLIER:
        name, value = rule.declarations[position]
        before = [each for each, _ in rule.declarations[:position]]
        return name in before and "var(" not in value
    return True


def flaws_of_style(css):
    for rule in rules_of(css):
        for kind, word, position in words_of(rule):
            if word in KNOWN[kind] or (word == ":has" and rule.selector in IGNORED):
                continue
            if word not in GUARDS:
                yield f"unknown {kind} {word}"
            elif not is_guarded(rule, word, position):
                yield f"{word} without {GUARDS[word]}: {rule.selector}"


def flaws_of_script(script):
    script = re.sub(r"""^\s*//.*$|\s//\s.*$|"[^"\n]*\"""", "", script, flags=re.MULTILINE)
    own = set(re.findall(r"\bconst (\w+) =", script))
    for parameters in re.findall(r"\(([^()]*)\) =>", script):
        own |= set(re.findall(r"\w+", parameters))
    keywords = {"async", "catch", "for", "if", "while"}
    methods = re.findall(r"(?<!new Intl)(?<!\.\.)\.(\w+)(?:\?\.)?\(", script)
    methods += set(re.findall(r"(?<![.\w$])([a-z]\w*)\(", script)) - own - keywords
    classes = re.findall(r"\bnew (?:Intl\.)?(\w+)|\b([A-Z]\w+)\.", script)
    for kind, words in (("method", methods), ("class", ["".join(each) for each in classes])):
        known = {*KNOWN[kind], *GUARDS}
        yield from (f"unknown {kind} {word}" for word in words if word not in known)
    yield from (text for pattern, text in SYNTAX.items() if re.search(pattern, script))


def test_a_style_sheet_works_in_supported_browsers():
    assert {name: list(flaws_of_style(css)) for name, css in STYLES.items()} == {
        name: [] for name in STYLES
    }


def test_a_script_works_in_supported_browsers():
    assert {name: list(flaws_of_script(script)) for name, script in SCRIPTS.items()} == {
        name: [] for name in SCRIPTS
    }


FLAWS_OF_STYLE = [
    ("a { text-box: trim-both }", "unknown property text-box"),
    ("a { color: light-dark(red, blue) }", "unknown function light-dark"),
    ("a { --ink: light-dark(red, blue) }", "unknown function light-dark"),
    ("a { width: 1cqw }", "unknown unit cqw"),
    ("a:user-invalid { color: red }", "unknown selector :user-invalid"),
    ("@layer x { a { color: red } }", "unknown at-rule @layer"),
    ("@media (width >= 3rem) { a { color: red } }", "unknown at-rule width"),
    ("a { color: red; color: color-mix(in srgb, var(--ink), red) }", "color-mix without"),
    ("@supports (color: x) { a { color: color-mix(in srgb, red) } }", "color-mix without"),
    ("a, b:has(c) { color: red }", ":has without"),
    ('a { content: "x" / "" }', 'content: "" / "" without'),
    ('a { content: "x"; content: var(--x) / "" }', 'content: "" / "" without'),
]


def test_a_flaw_of_a_style_sheet_is_found():
    for css, flaw in FLAWS_OF_STYLE:
        assert next(flaws_of_style(css)).startswith(flaw), css


GUARDED = [
    "@supports (color: color-mix(in srgb, red, red)) { a { color: color-mix(in srgb, red) } }",
    "@supports selector(:has(a)) { a, b:has(c) { color: red } }",
    'a { content: "x"; content: "x" / "" }',
    "@media screen and (min-width: 48.001rem) { a { color: #12e4ff; width: 50% } }",
]


def test_what_is_guarded_is_no_flaw():
    assert [flaw for css in GUARDED for flaw in flaws_of_style(css)] == []


FLAWS_OF_SCRIPTS = [
    ("list.toSorted()", "unknown method toSorted"),
    ("list?.toSorted()", "unknown method toSorted"),
    ("Object.groupBy(list, key)", "unknown method groupBy"),
    ("structuredClone(list)", "unknown method structuredClone"),
    ("new URLPattern(text)", "unknown class URLPattern"),
    ("url.searchParams.getAll(name).at(0)", "unknown method at"),
    ("text.replace(/(?<=a)b/, '')", "a lookbehind: Safari 16.4"),
    (
        "if (!url.searchParams.has(name, value)) a.click()",
        "a value to look for: Chrome 117, Safari 17",
    ),
]


def test_a_flaw_of_a_script_is_found():
    for script, flaw in FLAWS_OF_SCRIPTS:
        assert flaw in set(flaws_of_script(script)), script


def test_the_documentation_names_the_browsers():
    rows = re.findall(r"^- (.+?): ([\d.]+)$", PAGE.read_text("utf-8"), re.MULTILINE)
    assert dict(rows) == SUPPORTED
