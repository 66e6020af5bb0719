"""The roles of a user in tokens."""

import jwt
from support import hello
from wsgi_accounts_organisations import FEATURE

from wsgiauth import OAuthClient


def claim_of(site, name):
    """Return the claim of a new access token."""
    token = site.bearer(name)["Authorization"].removeprefix("Bearer ")
    claims = jwt.decode(token, options={"verify_signature": False})
    return claims.get("organisations")


def test_an_access_token_has_the_roles_by_short_name(site):
    assert claim_of(site, "ada") is None
    site.found("engines", "ada", grace="admin")
    site.found("looms", "grace")
    assert claim_of(site, "ada") == {"engines": "owner"}
    assert claim_of(site, "grace") == {"engines": "admin", "looms": "owner"}


def test_a_token_has_a_bounded_number_of_roles(make_site):
    site = make_site(hello, ORGANISATIONS_PER_USER=0)
    for number in range(25):
        site.found(f"{'a' * 37}-{number}", "ada")
    claim = claim_of(site, "ada")
    assert len(claim) == 20
    assert f"{'a' * 37}-0" in claim
    site.client("ada").get("/auth/me", headers=site.bearer("ada"))


def test_an_app_gets_the_roles_by_the_scope_of_groups(site):
    site.found("engines", "ada")
    app, claim = OAuthClient("1", "Wiki"), FEATURE.id_claims["organisations"]
    assert claim(site.user("ada"), app, frozenset({"openid"})) is None
    assert claim(site.user("ada"), app, frozenset({"groups"})) == {"engines": "owner"}
