"""Debian's Apache with mod_auth_openidc in front of an application that knows no login."""

import os
from urllib.parse import quote

import pytest

from tests.conftest import skip_or_fail
from tests.support.apache import MODULES, apache
from tests.support.sites import EMAIL, free_port
from wsgiauth.accounts.groups import Group

MODULE = MODULES / "mod_auth_openidc.so"
SCOPES = ["openid", "profile", "email", "groups"]
SITE = """
LoadModule authn_core_module {modules}/mod_authn_core.so
LoadModule authz_user_module {modules}/mod_authz_user.so
LoadModule auth_openidc_module {modules}/mod_auth_openidc.so
WSGIDaemonProcess site python-home={folder}/.venv home={folder}
WSGIProcessGroup site
WSGIApplicationGroup %{{GLOBAL}}
WSGIScriptAlias / {folder}/app.wsgi
OIDCProviderMetadataURL {issuer}/.well-known/openid-configuration
OIDCClientID {client_id}
OIDCClientSecret {client_secret}
OIDCRedirectURI /callback
OIDCCryptoPassphrase of-a-test
OIDCScope "{scope}"
OIDCPKCEMethod S256
# Longer than an access token lasts, so each request refreshes it.
OIDCRefreshAccessTokenBeforeExpiry 600 logout_on_error
<Location />
    AuthType openid-connect
    Require valid-user
</Location>
<Location /staff>
    Require claim groups:staff
</Location>
"""
APP = """
def application(environ, start_response):
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [f"{environ['REMOTE_USER']} {environ['OIDC_CLAIM_email']}".encode()]
"""


@pytest.fixture
def seen(site):
    """Return what the application answers to Ada."""
    return f"{site.ada.id}@{site.address} {EMAIL}"


@pytest.fixture(scope="module")
def address(site, tmp_path_factory):
    """Return the address of Apache."""
    if not MODULE.exists():
        skip_or_fail(f"{MODULE} is not installed")
    folder = tmp_path_factory.mktemp("apache")
    (folder / "app.wsgi").write_text(APP, encoding="utf-8")
    port = free_port()
    address = f"http://127.0.0.1:{port}"
    made = site.register(
        "Wiki", f"{address}/callback", scopes=SCOPES, logout_redirects=[f"{address}/bye"]
    )
    directives = SITE.format(
        folder=folder,
        modules=MODULES,
        issuer=site.address,
        client_id=made.id,
        client_secret=made.secret,
        scope=" ".join(SCOPES),
    )
    with apache(folder, directives, dict(os.environ), port):
        yield address


@pytest.fixture
def staff(site):
    """Return the group that alone can open /staff."""
    group = Group.objects.create(name="staff")
    yield group
    group.delete_instance()


def test_a_person_logs_in(address, person, seen):
    assert person.visit(f"{address}/").text == seen


def test_a_member_of_a_group_opens_its_pages(site, address, person, staff, seen):
    site.ada.join(staff)
    assert person.visit(f"{address}/staff").text == seen


def test_a_user_who_is_not_in_the_group_is_refused(address, person, staff):
    assert person.visit(f"{address}/staff").status_code == 401


def test_tokens_are_refreshed_without_a_page(address, person, seen):
    person.visit(f"{address}/")
    person.pages.clear()
    assert [person.visit(f"{address}/").text for _ in range(3)] == [seen] * 3
    assert person.pages == []


def test_a_logout_at_the_application_ends_both_sessions(address, person, seen):
    person.visit(f"{address}/")
    person.pages.clear()
    bye = f"{address}/bye"
    assert person.visit(f"{address}/callback?logout={quote(bye, safe='')}", until=bye) == bye
    assert person.pages == []
    assert person.visit(f"{address}/").text == seen
    assert person.pages == ["Log in"]


@pytest.mark.promise(92)
def test_a_logout_at_the_provider_ends_the_login(address, person, seen):
    person.visit(f"{address}/")
    person.log_out()
    person.pages.clear()
    assert "Logged Out" in person.visit(f"{address}/").text
    assert person.visit(f"{address}/").text == seen
    assert person.pages == ["Log in"]
