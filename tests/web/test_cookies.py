"""The Cookie header, and cookies of which a browser has several."""

from wsgiauth.web.cookies import (
    MAX_COOKIE_HEADER,
    TAG_LENGTH,
    TaggedCookie,
    cookie_value,
    has_rivals,
    is_tag,
    new_tag,
    tagged_cookies,
)

OLD, NEW = "0" * 16, "1" * 16


def test_a_cookie_is_found_by_its_exact_name():
    for header, expected in (
        ("name=value", "value"),  # alone
        (" a=b ;\tname = value ", "value"),  # with spaces
        ('name="value"', "value"),  # quoted
        ("name=a=b", "a=b"),  # with an equals sign
        ("name=", ""),
        ("name", None),  # no equals sign
        ("Name=value", None),  # another letter case
        ("xname=value; namex=value", None),  # longer names
        ("a=name=value", None),  # inside another value
        ("", None),
        (";;=;", None),  # separators
        ("name=a; name=b", None),  # two values
        ("name=a; name=", None),  # a value and none
        ("name=a; b=c; name=a", "a"),  # a value twice
    ):
        assert cookie_value(header, "name") == expected


def test_cookies_of_one_name_with_different_values_are_rivals():
    for header, expected in (
        ("name=a; name=b", True),
        ("name=a;b=c;\tname = ", True),
        ("name=a; name=a", False),
        ("name=a; name", False),
        ("name=a", False),
        ("xname=a; name2=b", False),
        ("x=name; name2=name", False),
        ("", False),
        ("name=a; name=b; ".ljust(MAX_COOKIE_HEADER + 1, "x"), False),  # too long
    ):
        assert has_rivals(header, "name") is expected


def test_tags_are_in_the_order_of_their_time_and_differ_at_the_same_time():
    times = (0, 1, 1.5, 2_000_000_000.5, 2**38)
    tags = [new_tag(now) for now in times]
    assert tags == sorted(tags)
    assert all(len(each) == TAG_LENGTH and is_tag(each) for each in tags)
    assert len({new_tag(1) for _ in range(20)}) > 1


def test_another_string_is_no_tag():
    for tag in ("", "0" * 15, "0" * 17, "G" * 16, "A" * 16, f"{OLD}\n", "é" * 16):
        assert not is_tag(tag)
        assert tagged_cookies(f"n-{tag}=x", "n-") == []


def test_cookies_are_found_by_the_start_of_their_name_and_a_tag():
    for header, expected in (
        ("", []),
        (f"n-{OLD}=a", [(OLD, "a")]),  # one
        (f"n-{OLD}=a;n-{NEW}=b", [(NEW, "b"), (OLD, "a")]),  # newest first
        (f'x=y;\tn-{OLD} = "a=b" ;z', [(OLD, "a=b")]),  # as other cookies
        (f"n-{OLD}=a; n-{OLD}=b", []),  # two values
        (f"n-{OLD}=a; n-{OLD}=a", [(OLD, "a")]),  # a value twice
        (f"n-{OLD}=; n-{NEW}", []),  # no value
        (f"xn-{OLD}=a; n{OLD}=b; n-x{OLD}=c", []),  # other names
        (f"x=n-{OLD}=a", []),  # inside another value
        (f"n-{OLD}=a; ".ljust(MAX_COOKIE_HEADER + 1, "x"), []),  # too long
    ):
        assert tagged_cookies(header, "n-") == expected


def test_a_cookie_shows_its_tag_alone():
    assert repr(TaggedCookie(OLD, "secret")) == f"<TaggedCookie {OLD}>"
