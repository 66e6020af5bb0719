"""What the paths of an application need, by the arguments `public` and `require`."""

import pytest

from tests.support.spellings import wsgi
from wsgiauth.exceptions import ConfigurationError
from wsgiauth.gate import PathRules, parse_rules

REQUIRE = {
    "/secret/": "code.secret",
    "/secret/plans/": ("code.secret", "code.plans"),
    "/secret/rota": "code.rota",
    "/reports/": None,
    "/Docs/caf\xe9/": "docs.read",
    "/\u65e5\u672c/": "code.japan",
    "/exact": "code.exact",
    "/idea/": "code.idea",
    "/secret_plans/": "code.secretplans",
}
ALL = {
    "code.idea",
    "code.secretplans",
    "code.secret",
    "code.plans",
    "code.rota",
    "docs.read",
    "code.japan",
    "code.exact",
}


def needed(path, require=REQUIRE, public=None):
    return PathRules(public, require, "/auth").needed(path)


OF_PATHS = {
    # The longest rule decides.
    "/": None,
    "": None,
    "/other": None,
    "/secret/": {"code.secret"},
    "/secret": {"code.secret"},
    "/secret/a/b": {"code.secret"},
    "/secrets": None,
    "/secret/plans": {"code.secret", "code.plans"},
    "/secret/plans/a": {"code.secret", "code.plans"},
    "/secret/plansa": {"code.secret"},
    "/secret/rota": {"code.rota"},
    "/secret/rota/": {"code.secret"},
    "/reports/1": set(),
    "/exact": {"code.exact"},
    "/exact/": None,
    wsgi("/\u65e5\u672c/1"): {"code.japan"},
    wsgi("/\u4e2d\u56fd/1"): None,
    # Software that ignores letter case, accents or all that is not ASCII.
    "/SECRET/plans/": {"code.secret", "code.plans"},
    "/Exact": {"code.exact"},
    wsgi("/docs/cafe\u0301/"): {"docs.read"},
    "/docs/cafe": {"docs.read"},
    wsgi("/\u65e5/secret/"): {"code.secret"},
    wsgi("/s\xe9cret/"): {"code.secret"},
    wsgi("/secret\u65e5/"): {"code.secret"},
    wsgi("/secreti\u0301/"): {"code.secret"},
    wsgi("/secret.\xe9/"): {"code.secret"},
    wsgi("/caf\xe9/administration"): None,
    wsgi("/\u0131dea/"): {"code.idea"},
    wsgi("/s\u0269cret/"): {"code.secret"},
    wsgi("/\u65e5\ufe0f\u034f\u3164\u672c/"): {"code.japan"},
    # Punctuation that frameworks ignore.
    "/@@secret": {"code.secret"},
    "/secret-plans": {"code.secretplans"},
    "/_secret!.+": {"code.secret"},
    "/secret+/": {"code.secret"},
    "/ secret": {"code.secret"},
    "/-/secret": {"code.secret"},
    "/C++/": None,
    # Paths that are not in normal form.
    "//secret/": {"code.secret"},
    "/x/../secret/": {"code.secret"},
    "/./secret": {"code.secret"},
    "/secret/../other": {"code.secret"},
    "/secret;a=b/": {"code.secret"},
    "/;/secret": {"code.secret"},
    "/sec\0ret/": {"code.secret"},
    "/x\\..\\secret": {"code.secret"},
    "/SECRET./": {"code.secret"},
    "/secret::$DATA": {"code.secret"},
    "secret/": {"code.secret"},
    "http://site/secret": {"code.secret"},
    wsgi("/sec\u200bret/"): {"code.secret"},
    wsgi("/\uff0e\uff0e/\uff53ecret/"): {"code.secret"},
    "/../reports/x": set(),
    "//reports//secret": {"code.secret"},
    "/plans//secret/rota": {"code.secret", "code.plans", "code.rota"},
    "/wiki/Why?": None,
    "/wiki/Talk:U.S.A.": None,
    "/" + "a" * 5000: ALL,
    # Paths that can mean any other.
    "*": ALL,
    "/s*t/": ALL,
    "/[s]ecret": ALL,
    "/%2e%2e/": ALL,
    "/%73ecret/": ALL,
    wsgi("/\uff05"): ALL,
    "/\xc0\xae": ALL,
    "/\u65e5": ALL,
    "/SEC~1/": ALL,
    "/sec<<": ALL,
}


@pytest.mark.promise(48)
def test_a_path_needs_what_the_rules_say_that_it_can_mean():
    assert {path: needed(path) for path in OF_PATHS} == OF_PATHS


WITH_BOTH = {
    "/": None,
    "": None,
    "/static/a.css": None,
    "/static": set(),
    "/STATIC/a.css": set(),
    "/secret/open": None,
    "/secret/pub/a": None,
    "/secret/pub": {"code.secret"},
    "/SECRET/pub/a": set(),
    "/secret/a": {"code.secret"},
    "/static//a.css": set(),
    "/static/../secret": {"code.secret"},
    "/other": set(),
    "*": {"code.secret"},
}


@pytest.mark.promise(48)
def test_the_longest_of_public_and_require_decides():
    public = ["/", "/static/", "/secret/open", "/secret/pub/"]
    for require in ({"/secret/": "code.secret", "/": None}, {"/secret/": "code.secret"}):
        assert {path: needed(path, require, public) for path in WITH_BOTH} == WITH_BOTH


def test_one_permission_is_the_rule_of_every_path():
    for path in ("/", "", "/a", "//a", "*", "/%2e"):
        assert needed(path, "code.enter") == needed(path, {"/": "code.enter"}) == {"code.enter"}


# Wrong arguments.


MALFORMED = {
    "no permission": ({"/a": "enter"}, r'^require: .* "<app>.<action>"'),
    "an empty list": ({"/a": ()}, "^require: write None, not an empty list"),
    "no slash in front": ({"a/": None}, "^require: each path must begin with a slash, not 'a/'"),
    "not in normal form": ({"/a//": None}, "^require: '/a//' is not in normal form"),
    "a pattern": ({"/a/*": None}, r"^require: '/a/\*' is a pattern, not a path"),
    "below the mount": ({"/auth/check": None}, "^require: '/auth/check' never matches, because"),
    "the mount": ({"/auth": None}, "^require: '/auth' never matches, because"),
    "public, too": ({"/pub/": None}, "^'/pub/' is in public and in require: remove one"),
}


def test_a_rule_that_is_no_rule_is_refused():
    for require, message in MALFORMED.values():
        with pytest.raises(ConfigurationError, match=message):
            PathRules(["/", "/pub/"], require, "/auth")


def test_options_are_read_as_rules():
    options = ["/", "/a b/=code.secret", "/c/=a.read,b.read"]
    assert parse_rules(options) == {
        "/": None,
        "/a b/": ("code.secret",),
        "/c/": ("a.read", "b.read"),
    }
    with pytest.raises(ConfigurationError, match=r"^require: there are two rules for '/c/'\."):
        parse_rules([*options, "/c/"])
    with pytest.raises(ConfigurationError, match=r"^require: '/d/=' names no permission\."):
        parse_rules(["/d/="])
