"""Synapse, a server of Matrix, whose users log in with its `oidc_providers`."""

import json
import time

import httpx
import pytest
from bs4 import BeautifulSoup

from tests.support.oauth_apps import answer_in
from tests.support.provider_site import Person
from tests.support.sites import free_port, started
from tests.support.versions import python_with, run

CHAT = "http://127.0.0.1/chat"  # the program of the person
HOMESERVER = ("-m", "synapse.app.homeserver", "--config-path", "homeserver.yaml")
DOMAIN = "chat.example.org"
PATIENCE = 10  # seconds, until a logout has arrived


@pytest.fixture(scope="module")
def address(site, tmp_path_factory):
    """Return the address of Synapse."""
    python = python_with("matrix-synapse[oidc]>=1.163.2")
    folder = tmp_path_factory.mktemp("synapse")
    port = free_port()
    address = f"http://127.0.0.1:{port}"
    client = site.register(
        "Chat",
        f"{address}/_synapse/client/oidc/callback",
        logout_uri=f"{address}/_synapse/client/oidc/backchannel_logout",
    )
    provider = {
        "idp_id": "example",
        "idp_name": "Example",
        "issuer": site.address,
        "client_id": client.id,
        "client_secret": client.secret,
        "scopes": ["openid", "profile"],
        "skip_verification": True,  # of the scheme of the issuer, which is https elsewhere
        "backchannel_logout_enabled": True,
    }
    listener = {"port": port, "bind_addresses": ["127.0.0.1"], "type": "http"}
    configuration = {
        "server_name": DOMAIN,
        "public_baseurl": f"{address}/",
        "report_stats": False,
        "trusted_key_servers": [],
        "listeners": [{**listener, "resources": [{"names": ["client"]}]}],
        "database": {"name": "sqlite3", "args": {"database": "homeserver.db"}},
        "signing_key_path": "signing.key",
        "media_store_path": "media",
        "macaroon_secret_key": "of a test",
        "oidc_providers": [provider],
    }
    (folder / "homeserver.yaml").write_text(json.dumps(configuration), encoding="utf-8")
    run(python, *HOMESERVER, "--generate-keys", cwd=folder)
    with (
        (folder / "log").open("wb") as log,
        started([python, *HOMESERVER], port, cwd=folder, stdout=log, stderr=log),
    ):
        yield address


def log_in(address, person, username=""):
    """Let a person log in to Synapse, and return the answer to the program.

    Args:
        username: What the person chooses, if Synapse asks.
    """
    page = person.visit(f"{address}/_matrix/client/v3/login/sso/redirect?redirectUrl={CHAT}")
    form = BeautifulSoup(page.text, "html.parser").select_one("form")
    assert (form is not None) is bool(username), page.url
    if form is not None:
        page = person.http.post(page.url, data={"username": username}, follow_redirects=True)
    (link,) = BeautifulSoup(page.text, "html.parser").select("a.primary-button")
    token = answer_in(link["href"])["loginToken"]
    login = {"type": "m.login.token", "token": token}
    return httpx.post(f"{address}/_matrix/client/v3/login", json=login).json()


def who(address, login):
    """Return the status and the body with which Synapse says who a program acts for."""
    bearer = {"Authorization": f"Bearer {login['access_token']}"}
    answer = httpx.get(f"{address}/_matrix/client/v3/account/whoami", headers=bearer)
    return answer.status_code, answer.json()


def test_a_user_chooses_a_name_once_and_gets_the_same_account_at_each_login(site, address):
    user = site.add_user("grace")
    for name, username in (("grace", "grace.hopper"), ("countess", "")):
        with Person(site.address, name) as person:
            login = log_in(address, person, username)
        assert who(address, login)[1]["user_id"] == f"@grace.hopper:{DOMAIN}"
        site.change(user, username="countess")


@pytest.mark.promise(92)
def test_a_logout_at_the_provider_ends_the_session(address, person):
    login = log_in(address, person, "ada")
    assert who(address, login)[0] == 200
    person.log_out()
    end = time.monotonic() + PATIENCE
    while who(address, login)[0] == 200 and time.monotonic() < end:
        time.sleep(0.05)
    assert who(address, login)[0] == 401
