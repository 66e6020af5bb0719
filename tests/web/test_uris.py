"""Which URIs are equal."""

from wsgiauth.web.uris import canonical, find_equal, web_origin

EQUAL = [
    ("https://a.example", "https://a.example/", "HTTPS://A.Example:443", "https://a.example:/"),
    ("http://a.example:80/B?c=D#E", "http://A.EXAMPLE/B?c=D#E"),
    ("https://a.example:8443", "https://A.example:8443/"),
    ("https://a.example?b", "https://a.example/?b"),
    ("https://[::A]:443/b", "https://[::a]/b"),
    ("https://Ada:X@a.example", "https://Ada:X@A.example:443/"),
    ("wss://a.example:443/", "wss://a.example"),
    ("X://a", "x://a/"),
]
DIFFERENT = [
    *("https://a.example/", "http://a.example/", "https://a.example:80/", "https://b.example/"),
    *("https://a.example:0443/", "https://a.example./", "https://a.example/b"),
    *(
        "https://a.example/b/",
        "https://a.example/B",
        "https://a.example/%62",
        "https://a.example/?",
    ),
    *("https://a.example/c/../b", "https://a.example/./b", "https://ada@a.example/"),
    *("https://Ada@a.example/", "https://a.example/#", "https://a.example:443:443/"),
    *("reports", "Reports", "reports/", "urn:a:b", "URN:a:b", "urn:a:B", "https:/a.example"),
    *("https:a.example", "//a.example", "https://\u0130.example/", "https://i\u0307.example/"),
]


def test_equal_uris_have_one_spelling():
    for spellings in EQUAL:
        assert len({canonical(each) for each in spellings}) == 1


def test_other_uris_and_strings_differ():
    assert len({canonical(each) for each in DIFFERENT}) == len(DIFFERENT)


def test_the_known_uri_that_is_equal_is_found():
    known = ("reports", "https://A.example")
    assert find_equal("https://a.example:443/", known) == "https://A.example"
    assert find_equal("reports", known) == "reports"
    assert find_equal("Reports", known) == find_equal("", known) == ""


ORIGINS = {
    "https://a.example": ["https://a.example/b?c", "HTTPS://A.Example:443/b", "https://a.example"],
    "http://localhost:8080": ["http://localhost:8080/callback", "http://LOCALHOST:8080"],
    "http://[::1]": ["http://[::1]:80/b", "http://[0:0:0:0:0:0:0:1]", "http://[::0001]/"],
    "https://[2001:db8::a]:8443": ["https://[2001:DB8:0::A]:8443/"],
}
NO_ORIGINS = [
    *("", "null", "reports", "a.example", "//a.example", "https://", "https:///b", "file:///b"),
    *("com.example.app:/callback", "wss://a.example", "https://ada@a.example", "https://a b/"),
    *("https://[::g]/", "https://[1:2]/", "https://[]/", "https://\u00e9.example/"),
    *("https://a.example https://b.example", "https://a.example:x/"),
]


def test_the_origin_of_a_web_url_has_one_spelling():
    for origin, urls in ORIGINS.items():
        assert {web_origin(each) for each in urls} == {origin}


def test_other_strings_have_no_origin():
    assert [each for each in NO_ORIGINS if web_origin(each)] == []
