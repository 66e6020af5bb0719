"""The documents of services below PUBLIC_URL (RFC 9728)."""

from dataclasses import replace

import jwt
import pytest
from webtest import TestApp

from tests.support.oauth_apps import answer_in
from tests.support.service_keys import ISSUER, MAPS
from tests.support.sites import echo
from wsgiauth import AuthMiddleware
from wsgiauth.testing import api_key

METADATA = "/.well-known/oauth-protected-resource"


def served(settings, services, path, public_url=ISSUER, mounted_at=""):
    """Return the `resource` of the document at a path, or None without one."""
    changed = replace(settings, SERVICES=services, PUBLIC_URL=public_url)
    client = TestApp(AuthMiddleware(echo, settings=changed), {"SCRIPT_NAME": mounted_at})
    return client.get(METADATA + path).json.get("resource")


SERVICES = {
    "below the site": (f"{ISSUER}/mcp", "/mcp"),
    "with two parts": (f"{ISSUER}/api/v1", "/api/v1"),
    "with a slash at its end": (f"{ISSUER}/mcp/", "/mcp"),
    "the site itself": (ISSUER, ""),
    "spelt differently": ("https://Example.ORG:443/MCP", "/MCP"),
}


@pytest.mark.parametrize(("service", "path"), SERVICES.values(), ids=SERVICES)
def test_a_service_below_the_site_has_a_document(settings, service, path):
    assert served(settings, (service,), path) == service


OTHERS = {
    "a name": "reports",
    "on another host": "https://example.org.evil.example/mcp",
    "with the same beginning": f"{ISSUER}x/mcp",
}


@pytest.mark.parametrize("service", OTHERS.values(), ids=OTHERS)
def test_another_service_has_none(settings, service):
    assert served(settings, (service,), "/mcp") is None


@pytest.mark.parametrize("path", ["", "/mcp", "/mcp/v1"])
def test_the_document_of_a_site_below_a_path_is_at_the_root_of_its_host(settings, path):
    """RFC 9728 section 3.1."""
    site, service = f"{ISSUER}/app", f"{ISSUER}/app{path}"
    assert served(settings, (service,), f"/app{path}", site) == service
    assert served(settings, (service,), path, site, mounted_at="/app") == service
    assert served(settings, (service,), f"/app{path}", site, mounted_at="/app") is None
    assert served(settings, (service,), f"/other{path}", site) is None


@pytest.mark.parametrize(
    ("fragment", "scopes"),
    [("", {}), ("#notes.write,notes.read", {"scopes_supported": ["notes.write", "notes.read"]})],
)
def test_the_document_names_this_site_and_the_scopes(settings, fragment, scopes):
    changed = replace(settings, SERVICES=(f"{ISSUER}/mcp{fragment}",), PUBLIC_URL=ISSUER)
    document = TestApp(AuthMiddleware(echo, settings=changed)).get(f"{METADATA}/mcp").json
    assert document == {
        **scopes,
        "resource": f"{ISSUER}/mcp",
        "authorization_servers": [ISSUER],
        "bearer_methods_supported": ["header"],
    }


@pytest.mark.every_database
@pytest.mark.parametrize("further", [{"SERVICES": (f"{MAPS}#a.read", "reports#b.read")}])
def test_the_scopes_are_no_part_of_the_name_of_a_service(site, browser, wiki, grace):
    tokens = wiki.log_in(browser, resource=MAPS)
    tokens = wiki.refresh(tokens["refresh_token"])
    claims = jwt.decode(tokens["access_token"], options={"verify_signature": False})
    assert claims["aud"] == MAPS
    sent = {"token": tokens["access_token"]}
    grace.grant("wsgiauth.introspect")
    key = api_key(site, grace, ["wsgiauth.introspect"])
    assert TestApp(site).post("/auth/introspect", sent, headers=key).json["aud"] == MAPS
    answer = browser.get(wiki.url(resource=f"{MAPS}#a.read"), status=303)
    assert answer_in(answer.location)["error"] == "invalid_target"
