"""The Cookie header, and cookies of which a browser has several."""

import pytest

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


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        pytest.param("name=value", "value", id="alone"),
        pytest.param(" a=b ;\tname = value ", "value", id="with spaces"),
        pytest.param('name="value"', "value", id="quoted"),
        pytest.param("name=a=b", "a=b", id="with an equals sign"),
        pytest.param("name=", "", id="empty"),
        pytest.param("name", None, id="no equals sign"),
        pytest.param("Name=value", None, id="another letter case"),
        pytest.param("xname=value; namex=value", None, id="longer names"),
        pytest.param("a=name=value", None, id="inside another value"),
        pytest.param("", None, id="nothing"),
        pytest.param(";;=;", None, id="separators"),
        pytest.param("name=a; name=b", None, id="two values"),
        pytest.param("name=a; name=", None, id="a value and none"),
        pytest.param("name=a; b=c; name=a", "a", id="a value twice"),
    ],
)
def test_a_cookie_is_found_by_its_exact_name(header, expected):
    assert cookie_value(header, "name") == expected


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("name=a; name=b", True),
        ("name=a;b=c;\tname = ", True),
        ("name=a; name=a", False),
        ("name=a; name", False),
        ("name=a", False),
        ("xname=a; name2=b", False),
        ("x=name; name2=name", False),
        ("", False),
        pytest.param("name=a; name=b; ".ljust(MAX_COOKIE_HEADER + 1, "x"), False, id="too long"),
    ],
)
def test_cookies_of_one_name_with_different_values_are_rivals(header, expected):
    assert has_rivals(header, "name") is expected


def test_tags_are_in_the_order_of_their_time_and_differ_at_the_same_time():
    times = (0, 1, 1.5, 2_000_000_000.5, 2**38)
    tags = [new_tag(now) for now in times]
    assert tags == sorted(tags)
    assert all(len(each) == TAG_LENGTH and is_tag(each) for each in tags)
    assert len({new_tag(1) for _ in range(20)}) > 1


@pytest.mark.parametrize("tag", ["", "0" * 15, "0" * 17, "G" * 16, "A" * 16, f"{OLD}\n", "é" * 16])
def test_another_string_is_no_tag(tag):
    assert not is_tag(tag)
    assert tagged_cookies(f"n-{tag}=x", "n-") == []


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        pytest.param("", [], id="nothing"),
        pytest.param(f"n-{OLD}=a", [(OLD, "a")], id="one"),
        pytest.param(f"n-{OLD}=a;n-{NEW}=b", [(NEW, "b"), (OLD, "a")], id="newest first"),
        pytest.param(f'x=y;\tn-{OLD} = "a=b" ;z', [(OLD, "a=b")], id="as other cookies"),
        pytest.param(f"n-{OLD}=a; n-{OLD}=b", [], id="two values"),
        pytest.param(f"n-{OLD}=a; n-{OLD}=a", [(OLD, "a")], id="a value twice"),
        pytest.param(f"n-{OLD}=; n-{NEW}", [], id="no value"),
        pytest.param(f"xn-{OLD}=a; n{OLD}=b; n-x{OLD}=c", [], id="other names"),
        pytest.param(f"x=n-{OLD}=a", [], id="inside another value"),
        pytest.param(f"n-{OLD}=a; ".ljust(MAX_COOKIE_HEADER + 1, "x"), [], id="too long"),
    ],
)
def test_cookies_are_found_by_the_start_of_their_name_and_a_tag(header, expected):
    assert tagged_cookies(header, "n-") == expected


def test_a_cookie_shows_its_tag_alone():
    assert repr(TaggedCookie(OLD, "secret")) == f"<TaggedCookie {OLD}>"
