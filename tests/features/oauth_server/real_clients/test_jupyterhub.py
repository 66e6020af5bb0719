"""A JupyterHub whose users log in with the GenericOAuthenticator of oauthenticator."""

import os
import sys

import pytest

from tests.conftest import require
from tests.support.provider_site import PROGRAMS
from tests.support.sites import USERNAME, free_port, started
from wsgiauth.accounts.groups import Group

SCOPES = ["openid", "profile", "groups"]


@pytest.fixture(scope="module")
def hub(site, tmp_path_factory):
    """Return the address of a hub that lets in the members of a group."""
    require("jupyterhub", "oauthenticator")
    port = free_port()
    address = f"http://127.0.0.1:{port}"
    app = site.register("Hub", f"{address}/hub/oauth_callback", scopes=SCOPES)
    environ = {
        "PATH": os.environ["PATH"],
        "ISSUER": site.address,
        "ADDRESS": address,
        "CLIENT_ID": app.id,
        "CLIENT_SECRET": app.secret,
    }
    command = [sys.executable, "-m", "jupyterhub", "--config", str(PROGRAMS / "oidc_hub.py")]
    folder = tmp_path_factory.mktemp("hub")
    with (
        (folder / "log").open("wb") as log,
        started(command, port, cwd=folder, env=environ, stderr=log),
    ):
        yield address


@pytest.fixture
def group(site):
    """Return the group."""
    group = Group.objects.create(name="notebooks")
    yield group
    group.delete_instance()


def test_a_member_of_the_group_logs_in(site, hub, person, group):
    site.ada.join(group)
    page = person.visit(f"{hub}/hub/oauth_login?next=/hub/home")
    assert (page.status_code, page.url.path) == (200, "/hub/home")
    assert f'"{USERNAME.lower()}"' in page.text


def test_another_user_is_refused(hub, person, group):
    assert person.visit(f"{hub}/hub/oauth_login").status_code == 403


@pytest.mark.promise(92)
def test_a_logout_at_the_provider_ends_the_login(site, hub, person, group):
    site.ada.join(group)
    person.visit(f"{hub}/hub/oauth_login?next=/hub/home")
    assert person.visit(f"{hub}/hub/home").url.path == "/hub/home"
    person.log_out()
    assert person.visit(f"{hub}/hub/home").url.path == "/hub/login"
