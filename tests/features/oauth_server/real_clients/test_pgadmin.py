"""pgAdmin on a server, whose users log in with its OAUTH2_CONFIG."""

import json
import os
import re
from pathlib import Path

import pytest

from tests.support.provider_site import Person
from tests.support.sites import free_port, started
from tests.support.versions import python_with

BOSS = "boss@example.org"  # the administrator, who exists before anyone logs in
PROVIDER = "example"


@pytest.fixture(scope="module")
def address(site, tmp_path_factory):
    """Return the address of pgAdmin."""
    python = Path(python_with("pgadmin4>=9.18"))
    (program,) = python.parents[1].glob("lib/python*/site-packages/pgadmin4/pgAdmin4.py")
    folder = tmp_path_factory.mktemp("pgadmin")
    port = free_port()
    address = f"http://127.0.0.1:{port}"
    client = site.register("pgAdmin", f"{address}/oauth2/authorize", scopes=["openid", "email"])
    provider = {
        "OAUTH2_NAME": PROVIDER,
        "OAUTH2_DISPLAY_NAME": "Example",
        "OAUTH2_CLIENT_ID": client.id,
        "OAUTH2_CLIENT_SECRET": client.secret,
        "OAUTH2_SERVER_METADATA_URL": f"{site.address}/.well-known/openid-configuration",
        "OAUTH2_SCOPE": "openid email",
        "OAUTH2_USERNAME_CLAIM": "sub",
        "OAUTH2_CHALLENGE_METHOD": "S256",
        "OAUTH2_RESPONSE_TYPE": "code",
    }
    settings = {
        "SERVER_MODE": True,
        "DATA_DIR": str(folder / "data"),
        "DEFAULT_SERVER": "127.0.0.1",
        "DEFAULT_SERVER_PORT": port,
        "AUTHENTICATION_SOURCES": ["oauth2"],
        "OAUTH2_CONFIG": [provider],
        "UPGRADE_CHECK_ENABLED": False,
    }
    lines = (f"{name} = {value!r}\n" for name, value in settings.items())
    (folder / "config_local.py").write_text("".join(lines), encoding="utf-8")
    environ = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(folder),
        "PGADMIN_SETUP_EMAIL": BOSS,
        "PGADMIN_SETUP_PASSWORD": "of a test",
    }
    with (
        (folder / "log").open("wb") as log,
        started([str(python), str(program)], port, env=environ, stdout=log, stderr=log),
    ):
        yield address


def log_in(address, person):
    """Let a person press the button of the login page, and return the name of the account."""
    page = person.visit(f"{address}/login").text
    token = json.loads(re.search(r'"csrfToken": ("[^"]+")', page)[1])
    fields = {"csrf_token": token, "oauth2_button": PROVIDER}
    answer = person.http.post(f"{address}/authenticate/login", data=fields)
    assert person.visit(answer.headers["Location"]).url.path == "/browser/"
    script = person.visit(f"{address}/browser/js/utils.js").text
    return re.search(r"userMenuInfo: {\s*username: '(.+?)'", script)[1]


def test_a_user_gets_the_same_account_at_each_login(site, address):
    user = site.add_user("grace")
    for name in ("grace", "countess"):
        with Person(site.address, name) as person:
            assert log_in(address, person) == str(user.id)
        site.change(user, username="countess")


def test_no_address_opens_the_account_of_the_administrator(site, address):
    user = site.add_user("mallory", BOSS)
    with Person(site.address, "mallory") as stranger:
        assert log_in(address, stranger) == str(user.id)
