"""A JupyterHub whose users log in with the GenericOAuthenticator of oauthenticator."""

import os
import sys

import pytest

from tests.conftest import require
from tests.support.provider_site import PROGRAMS, Person
from tests.support.sites import free_port, started
from wsgiauth.accounts.groups import Group

SCOPES = ["openid", "profile", "groups"]


@pytest.fixture(scope="module")
def admin(site):
    """Return the user who administers the hub."""
    return site.add_user("grace")


@pytest.fixture(scope="module")
def hub(site, admin, tmp_path_factory):
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
        "ADMIN": str(admin.id),
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
    assert f'user: "{site.ada.id}"' in page.text


def test_another_user_is_refused(hub, person, group):
    assert person.visit(f"{hub}/hub/oauth_login").status_code == 403


def test_who_takes_the_former_name_of_an_administrator_is_another_user(site, hub, admin, group):
    site.change(admin, username="countess")
    stranger = site.add_user("grace")
    stranger.join(group)
    for user, name, status in ((admin, "countess", 200), (stranger, "grace", 403)):
        with Person(site.address, name) as person:
            page = person.visit(f"{hub}/hub/oauth_login?next=/hub/home")
            assert f'user: "{user.id}"' in page.text
            assert person.visit(f"{hub}/hub/admin").status_code == status


@pytest.mark.promise(92)
def test_a_logout_at_the_provider_ends_the_login(site, hub, person, group):
    site.ada.join(group)
    person.visit(f"{hub}/hub/oauth_login?next=/hub/home")
    assert person.visit(f"{hub}/hub/home").url.path == "/hub/home"
    person.log_out()
    assert person.visit(f"{hub}/hub/home").url.path == "/hub/login"
