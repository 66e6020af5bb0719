"""What a provider says about a user, in a form that is safe to store and to show."""

from tests.support.provider_keys import DROP, changed
from wsgiauth.features.providers.oidc.profiles import make_account, merge
from wsgiauth.settings.oidc import parse_entry

CLAIMS = {
    "iss": "https://id.example.org",
    "sub": "248289761001",
    "email": "ada@example.org",
    "email_verified": True,
    "preferred_username": "ada",
    "name": "Ada Lovelace",
    "groups": ["staff", "authors", "staff"],
}
MULTI_FACTOR = "http://schemas.openid.net/pape/policies/2007/06/multi-factor"


def account(query="groups=groups", **changes):
    entry = parse_entry(f"id:https://client:secret@id.example.org?{query}")
    return make_account(entry, changed(CLAIMS, changes), 1_800_000_000)


def test_an_account_is_what_the_claims_say():
    assert account(sid="s-1", auth_time=1_700_000_000.5) == (
        *("id", "https://id.example.org", "248289761001", "ada@example.org", "ada@example.org"),
        *(True, "ada", ("staff", "authors"), "fed", "s-1", 1_700_000_000),
        *(1_800_000_000, False),
    )


def test_an_address_is_verified_only_by_the_json_value_true():
    for said in ("true", "True", 1, None, [True], False):
        assert (said, account(email_verified=said).email_verified) == (said, False)


def test_an_address_that_is_none_is_left_out_and_not_verified():
    invisible = ["a\x00@b", "a\n@b", "a\u202e@b", "\ud800"]
    for email in ("", " ", "x" * 255, *invisible, 1, None, ["a@b"]):
        found = account(email=email)
        assert (found.email, found.email_verified, found.name) == ("", False, "ada")


def test_a_name_to_show_is_found():
    unnamed = {"email": DROP, "preferred_username": DROP}
    for changes, name, username in (
        ({}, "ada@example.org", "ada"),
        ({"email": "x" * 100}, "x" * 100, "ada"),
        ({"email": "x" * 101}, "x" * 99 + "…", "ada"),
        ({"email": DROP}, "ada", "ada"),
        ({**unnamed, "name": " " * 150 + "A"}, "A", ""),
        ({"email": DROP, "preferred_username": "x" * 101}, "Ada Lovelace", ""),
        ({**unnamed, "nickname": "al"}, "Ada Lovelace", "al"),
        ({"email": DROP, "preferred_username": "a\nb", "name": 1}, "248289761001", ""),
        ({**unnamed, "name": DROP, "sub": "s" * 255}, "s" * 99 + "…", ""),
    ):
        found = account(**changes)
        assert (found.name, found.username) == (name, username)


def test_groups_are_the_strings_of_the_claim():
    for said, groups in (
        (["a", 1, None, ["b"], "", "c"], ("a", "c")),
        ("staff", ("staff",)),
        ("staff authors,reviewers, editors  ,staff", ("staff", "authors", "reviewers", "editors")),
        (" ,, ", ()),
        ("", ()),
        (["two words", "a,b"], ("two words", "a,b")),
        ({"staff": True}, ()),
        (DROP, ()),
        ([str(number) for number in range(2000)], tuple(map(str, range(1000)))),
        (["\ud800", "a\0b", "staff ", "a\nb", "x" * 151, "Staff only"], ("Staff only",)),
    ):
        assert account(groups=said).groups == groups
        assert account(query="", groups=said).groups == ()


KEYCLOAK = {"realm_access": {"roles": ["staff"]}, "resource_access": {"my.shop": {"roles": "b"}}}
URL = "https://example.org/roles"


def test_groups_are_at_the_name_of_a_claim_or_else_at_a_path():
    for path, claims, groups in (
        ("realm_access.roles", KEYCLOAK, ("staff",)),
        ("resource_access.my.shop.roles", KEYCLOAK, ("b",)),
        ("realm_access.roles", {"realm_access.roles": "first", **KEYCLOAK}, ("first",)),
        ("realm_access.roles", {"realm_access.roles": None, **KEYCLOAK}, ("staff",)),
        ("realm_access.roles", {"realm_access.roles": "", **KEYCLOAK}, ("staff",)),
        ("realm_access.roles", {"realm_access.roles": [], **KEYCLOAK}, ()),
        (URL, {URL: ["a"]}, ("a",)),
        (f"{URL}.here", {URL: {"here": ["a"]}}, ("a",)),
        (f"{URL}.here", {URL: {"there": ["a"]}}, ()),
        ("a.b.c", {"a.b": {"c": "long"}, "a": {"b.c": "short"}}, ("long",)),
        ("a.b.c", {"a.b": {"d": "x"}, "a": {"b": {"c": "deep"}}}, ("deep",)),
        ("a.b", {"a": ["b"]}, ()),
        ("a.b", {"a": "b"}, ()),
        ("a.b", {"a": None}, ()),
        ("a.b", {"a": {"b": {"c": "d"}}}, ()),
        ("a.b", {"b": ["c"]}, ()),
        ("a.", {"a": {"": ["b"]}}, ("b",)),
        (".", {"": {"": ["b"]}}, ("b",)),
        ("." * 100, {"a": {}}, ()),
    ):
        entry = parse_entry("id:https://client:secret@id.example.org")._replace(groups=path)
        found = make_account(entry, {"sub": "1", **claims}, 0).groups
        assert (path, claims, found) == (path, claims, groups)


def test_groups_at_a_path_are_unknown_if_the_provider_has_left_them_out():
    query, said = "groups=realm_access.roles", {"realm_access": {"roles": ["staff"]}}
    for name, groups in (("realm_access", None), ("realm_access.roles", None), ("roles", ())):
        elsewhere = {"_claim_names": {name: "src1"}}
        assert (name, account(query=query, **elsewhere).groups) == (name, groups)
        assert account(query=query, **elsewhere, **said).groups == ("staff",)


def test_groups_are_unknown_if_the_provider_has_left_them_out():
    for changes, groups in (
        ({"groups": DROP, "_claim_names": {"groups": "src1"}}, None),
        ({"groups": None, "_claim_names": {"groups": "src1"}}, None),
        ({"_claim_names": {"groups": "src1"}}, ("staff", "authors")),
        ({"groups": [], "_claim_names": {"groups": "src1"}}, ()),
        ({"groups": DROP, "_claim_names": {"roles": "src1"}}, ()),
        ({"groups": DROP, "_claim_names": ["groups"]}, ()),
    ):
        assert (changes, account(**changes).groups) == (changes, groups)
        assert account(query="", **changes).groups == ()


def test_a_second_factor_counts_if_it_is_proven_and_trusted():
    proofs = [
        *({"amr": each} for each in (["mfa"], ["pwd", "otp"], ["pin", "hwk"])),
        *({"acr": each} for each in (MULTI_FACTOR, "https://refeds.org/profile/mfa")),
    ]
    others = [
        *({"amr": each} for each in (["pwd"], ["otp"], ["pwd", "pin"], "mfa", {"mfa": 1})),
        *({"acr": each} for each in ("0", [MULTI_FACTOR])),
        {},
    ]
    for claims in (*proofs, *others):
        assert account(**claims).methods == "fed"
        methods = account(query="second_factor=trusted", **claims).methods
        assert (claims, methods) == (claims, "fed mfa" if claims in proofs else "fed")


def test_a_session_that_has_no_name_is_left_out():
    for sid in ("", 1, None, ["s"], "x" * 256, "a\x00"):
        assert (sid, account(sid=sid).sid) == (sid, "")


def test_a_time_that_is_none_is_left_out():
    for said in ("1", None, True, 1e300):
        assert (said, account(auth_time=said).authenticated_at) == (said, None)


def test_what_is_null_or_empty_in_the_token_is_of_userinfo():
    for absent in (None, ""):
        first = {"sub": "a", "email": absent, "name": absent, "groups": absent}
        second = {"sub": "a", "email": "x@y", "name": "B", "groups": ["staff"]}
        assert merge(first, second) == second


def test_the_address_and_its_verification_are_of_one_source():
    first = {"sub": "a", "email_verified": True, "name": "A"}
    second = {"sub": "a", "email": "x@y", "name": "B", "nickname": "b"}
    second |= {"amr": ["mfa"], "acr": "1", "sid": "s", "auth_time": 1, "iss": "x", "aud": "y"}
    assert merge(first, second) == {"sub": "a", "email": "x@y", "name": "A", "nickname": "b"}
