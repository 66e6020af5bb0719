"""The documents of services below PUBLIC_URL (RFC 9728)."""

from dataclasses import replace

import pytest
from webtest import TestApp

from tests.support.service_keys import ISSUER
from tests.support.sites import echo
from wsgiauth import AuthMiddleware

METADATA = "/.well-known/oauth-protected-resource"


def served(settings, services, path, public_url=ISSUER):
    """Return the `resource` of the document at a path, or None without one."""
    changed = replace(settings, SERVICES=services, PUBLIC_URL=public_url)
    answer = TestApp(AuthMiddleware(echo, settings=changed)).get(METADATA + path)
    return answer.json.get("resource")


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


def test_a_site_below_a_path_cannot_serve_it(settings):
    assert served(settings, (f"{ISSUER}/app/mcp",), "/mcp", f"{ISSUER}/app") is None


def test_the_document_names_this_site(settings):
    changed = replace(settings, SERVICES=(f"{ISSUER}/mcp",), PUBLIC_URL=ISSUER)
    document = TestApp(AuthMiddleware(echo, settings=changed)).get(f"{METADATA}/mcp").json
    assert document == {
        "resource": f"{ISSUER}/mcp",
        "authorization_servers": [ISSUER],
        "bearer_methods_supported": ["header"],
    }
