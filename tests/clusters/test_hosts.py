"""Eight processes on two hosts whose clocks are three seconds apart, under traffic."""

import tempfile
from collections import Counter
from pathlib import Path

import httpx
import jwt
import pytest

from tests.support.factors import FACTOR_KEY
from tests.support.hosts import Hosts, OpenServer
from tests.support.later import LATER, later_version, migrate
from tests.support.members import SERVICE, LaterMember, Member
from tests.support.service_keys import new_key, pem_of, write_key
from tests.support.settings import LONG_KEY
from tests.support.sites import PASSWORD, SECRET_KEY, echo
from tests.support.traffic import Traffic, settings_for_traffic
from wsgiauth import AuthMiddleware, Settings, storage
from wsgiauth.features.services.introspection import INTROSPECT
from wsgiauth.storage import schema
from wsgiauth.testing import api_key, make_user

APART = 3  # seconds
CLIENTS = 3
NEW_FACTOR_KEY = FACTOR_KEY[::-1] + "x"
ANSWERS = {200, 201, 202, 401, 410, 503}
CHANGES = {"registration", "login", "logout", "new password", "use of a link", "app", "refresh"}
CHANGES |= {"login with a code", "token for a service"}


@pytest.fixture
def server():
    """Return a PostgreSQL that has been migrated."""
    with tempfile.TemporaryDirectory(prefix="wsgiauth-") as folder:
        Path(folder).chmod(0o755)  # for the user of the server
        (data := Path(folder, "server")).mkdir()
        made = OpenServer(str(data))
        storage.discard_connection(storage.open_database(made.url, prepare=schema.migrate))
        yield made
        made.crash()


@pytest.fixture
def hosts(tmp_path, server, unmeasured):
    with Hosts(tmp_path, server, apart=APART) as made:
        yield made


@pytest.fixture
def letters(tmp_path):
    (folder := tmp_path / "letters").mkdir()
    return folder


@pytest.fixture
def settings(letters, tmp_path):
    """Return the settings of the processes, but for the database."""
    return settings_for_traffic(
        "",
        letters,
        LANGUAGES="en",
        LOGIN_FAILURES_PER_ACCOUNT=1000,  # used codes are sent again
        FACTOR_KEY=FACTOR_KEY,
        SERVICES=SERVICE,
        SERVICE_KEYS=key_folder(tmp_path / "keys", {"2026-11.pem": pem_of(new_key())}),
    )


@pytest.fixture
def services(server, monkeypatch):
    """Return what another service has of the site."""
    site = AuthMiddleware(echo, Settings(SECRET_KEY=SECRET_KEY, DATABASE_URL=server.url))
    user = make_user(site, permissions=[INTROSPECT])
    monkeypatch.setattr(
        Member.services, "api_key", api_key(site, user, [INTROSPECT])["Authorization"].split()[1]
    )
    yield Member.services
    storage.discard_connection(site.database)


def key_folder(folder, keys):
    folder.mkdir()
    for name, pem in keys.items():
        write_key(folder / name, pem)
    return str(folder)


def fetch_keys(services, hosts):
    """Let the service fetch the public keys, as it does once an hour."""
    document = httpx.get(f"http://{hosts.addresses[0]}/auth/jwks.json").json()
    services.public_keys = {each.key_id: each for each in jwt.PyJWKSet.from_dict(document).keys}


def wait_for_each_change(traffic):
    for _ in range(100):
        if set(traffic.acknowledged) >= CHANGES:
            return
        traffic.wait(5)


def assert_nothing_is_lost(traffic):
    assert traffic.compare() == []
    assert set(traffic.statuses()) <= ANSWERS, Counter(traffic.statuses())
    assert set(traffic.acknowledged) >= CHANGES


@pytest.mark.promise(78)
def test_what_a_host_has_made_counts_at_once_on_a_host_with_another_clock(
    tmp_path, server, settings, services, letters, unmeasured
):
    with Hosts(tmp_path, server, apart=APART, each=1) as hosts:
        hosts.start(settings)
        for number, addresses in enumerate([hosts.addresses, hosts.addresses[::-1]]):
            here, there = (httpx.Client(base_url=f"http://{each}/auth") for each in addresses)
            with here, there:
                check_accounts(f"user{number}", here, there)


def check_accounts(name, here, there):
    """Use there what was made here, within the three seconds."""
    login = {"username": name, "password": PASSWORD}
    here.post("/register", json=login | {"email": f"{name}@example.org"}).raise_for_status()
    made = here.post("/login", json=login | {"refresh": True}).json()
    bearer = {"Authorization": f"Bearer {made['access_token']}"}
    assert there.get("/me", headers=bearer).json()["username"] == name
    key = {"name": "Phone", "permissions": []}
    assert there.post("/keys", json=key, headers=bearer).status_code == 201  # it is fresh there
    token = here.post("/token", json={"audience": SERVICE}, headers=bearer).json()["access_token"]
    asks = {"Authorization": f"Bearer {Member.services.api_key}"}
    assert there.post("/introspect", data={"token": token}, headers=asks).json()["active"]
    refresh = {"refresh_token": made["refresh_token"]}
    first, again = (each.post("/refresh", json=refresh).json() for each in (here, there))
    assert again["refresh_token"] == first["refresh_token"]
    assert there.post("/refresh", json={"refresh_token": first["refresh_token"]}).is_success
    there.post("/logout", headers=bearer)
    assert here.get("/me", headers=bearer).status_code == 401


@pytest.mark.promise(78)
def test_a_rolling_restart_with_a_migration_loses_nothing(
    hosts, server, settings, services, letters, tmp_path
):
    later = later_version(tmp_path / "later")
    hosts.start(settings)
    fetch_keys(services, hosts)
    with Traffic(hosts.addresses, letters, CLIENTS, Member) as traffic:
        traffic.wait(80)
        assert migrate(server.url, later) == f"Applied {LATER}.\n"
        traffic.wait(20)
        hosts.roll(settings, later)
        wait_for_each_change(traffic)
    assert_nothing_is_lost(traffic)


@pytest.mark.promise(78)
def test_a_rotation_of_all_keys_loses_nothing(hosts, settings, services, letters, tmp_path):
    prepared, swapped, done = rotation(settings, tmp_path)
    hosts.start(settings)
    fetch_keys(services, hosts)
    with Traffic(hosts.addresses, letters, CLIENTS, Member) as traffic:
        traffic.wait(80)
        hosts.roll(prepared)
        fetch_keys(services, hosts)  # within the hour that an operator waits
        traffic.wait(20)
        hosts.roll(swapped)
        wait_for_each_change(traffic)
    assert_nothing_is_lost(traffic)
    with Traffic(hosts.addresses, letters, CLIENTS, LaterMember) as later:
        later.wait(20)
        hosts.roll(done)
        wait_for_each_change(later)
    assert_nothing_is_lost(later)


def rotation(settings, tmp_path):
    """Return the settings of each step, as docs/deployment.md and docs/services.md have them."""
    old_pem, new_pem = Path(settings["SERVICE_KEYS"], "2026-11.pem").read_bytes(), pem_of(new_key())
    folders = [
        key_folder(tmp_path / f"keys{step}", files)
        for step, files in enumerate(
            [
                {"0-next.pem": new_pem, "2026-11.pem": old_pem},
                {"2026-11.pem": old_pem, "2027-02.pem": new_pem},
                {"2027-02.pem": new_pem},
            ]
        )
    ]
    swapped = {"SECRET_KEY": LONG_KEY, "FACTOR_KEY": NEW_FACTOR_KEY}
    swapped |= {"FACTOR_KEY_FALLBACKS": FACTOR_KEY}
    return (
        settings
        | {"SECRET_KEY_FALLBACKS": LONG_KEY, "FACTOR_KEY_FALLBACKS": NEW_FACTOR_KEY}
        | {"SERVICE_KEYS": folders[0]},
        settings | swapped | {"SECRET_KEY_FALLBACKS": SECRET_KEY, "SERVICE_KEYS": folders[1]},
        settings | swapped | {"SERVICE_KEYS": folders[2]},
    )
