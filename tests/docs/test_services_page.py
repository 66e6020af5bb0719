"""docs/services.md, services: its services admit the tokens of a site, and refuse all others."""

import json
import os
import re
import subprocess
import sys
import time
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import httpx
import jwt
import pytest
from webob import Response

from tests.conftest import require, require_program, skip_or_fail
from tests.docs.pages import PAGES, save_programs, section, shown
from tests.support.service_keys import (
    new_key,
    pem_of,
    service_tokens,
    with_services,
    write_key,
)
from tests.support.sites import Stage, echo, free_port, serving, started
from wsgiauth import AuthMiddleware, Settings, storage
from wsgiauth.features.services.signing import load_keys
from wsgiauth.testing import api_key, bearer, make_settings, make_user

PAGE = PAGES["docs/services.md"]
ALGORITHMS = ["ES256", "EdDSA", "RS256"]
ISSUER = "https://example.org"
PROGRAMS = f"{Path(sys.executable).parent}:{os.environ['PATH']}"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with the programs of the page."""
    folder = tmp_path_factory.mktemp("services")
    save_programs(PAGE, folder)
    return folder


@pytest.fixture(scope="module")
def site(folder):
    """Return a site on a server, in three states: each publishes all keys, of which one signs."""
    port = free_port()
    address = f"http://127.0.0.1:{port}"
    settings = make_settings(DATABASE_URL=f"sqlite:///{folder}/accounts.db")
    pems = {each: pem_of(new_key(each)) for each in ALGORITHMS}
    states = {}
    for signing in ALGORITHMS:
        keys = folder / signing
        keys.mkdir()
        for algorithm, pem in pems.items():
            write_key(keys / ("signs.pem" if algorithm == signing else algorithm), pem)
        named = with_services(settings, keys, PUBLIC_URL=address, SERVICES=("reports", "notes"))
        states[signing] = AuthMiddleware(echo, named)
    stage = Stage()
    stage.app = states["ES256"]
    user = make_user(stage.app, "ada", permissions=["reports.read", "notes.read"])
    with serving(stage, listen=f"127.0.0.1:{port}"):
        yield SimpleNamespace(address=address, states=states, stage=stage, app=stage.app, user=user)
    for each in states.values():
        storage.discard_connection(each.database)


@pytest.fixture(scope="module", params=["reports", "notes"])
def service(request, site, folder):
    """Return a service of the page, which asks this site for its keys."""
    name = request.param
    serve = serve_python if name == "reports" else serve_node
    with serve(folder, site.address) as address:
        yield SimpleNamespace(name=name, url=f"{address}/{name}")


@contextmanager
def serve_python(folder, issuer):
    program = folder / "reports_service.py"
    program.write_text(program.read_text().replace(ISSUER, issuer))
    with served_by_command("A service in Python", folder, {}) as address:
        yield address


@contextmanager
def served_by_command(title, folder, variables):
    """Serve a program by the command of its section."""
    (command,) = (each for each, _ in shown(PAGE, title) if each.startswith("waitress-serve"))
    port = free_port()
    command = re.sub("(?<=:)80[0-9]{2} ", f"{port} ", command)
    with started(command.split(), port, cwd=folder, env={"PATH": PROGRAMS, **variables}):
        yield f"http://127.0.0.1:{port}"


@contextmanager
def serve_node(folder, issuer):
    require_program("node")
    modules = os.environ.get("JOSE") or skip_or_fail("JOSE does not name a folder: see .ci/run")
    (folder / "node_modules").symlink_to(modules)
    port = free_port()
    program = folder / "notes_service.mjs"
    text = program.read_text().replace(ISSUER, issuer).replace("listen(8081)", f"listen({port})")
    program.write_text(text)
    with started(["node", str(program)], port):
        yield f"http://127.0.0.1:{port}"


def token_for(site, audience, scope=None, headers=None):
    asked = {"audience": audience} | ({} if scope is None else {"scope": scope})
    headers = headers or bearer(site.app, site.user)
    return httpx.post(f"{site.address}/auth/token", json=asked, headers=headers).json()[
        "access_token"
    ]


def ask(service, token):
    return httpx.get(service.url, headers={"Authorization": f"Bearer {token}"})


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_service_admits_a_token_of_each_algorithm(site, service, algorithm, monkeypatch):
    monkeypatch.setattr(site.stage, "app", site.states[algorithm])
    token = token_for(site, service.name, f"{service.name}.read")
    assert jwt.get_unverified_header(token)["alg"] == algorithm
    answer = ask(service, token)
    assert (answer.status_code, [*answer.json().values()]) == (200, [str(site.user.id)])


def test_a_service_admits_the_token_of_an_api_key(site, service):
    key = api_key(site.app, site.user, [f"{service.name}.read"])
    answer = ask(service, token_for(site, service.name, f"{service.name}.read", key))
    assert answer.status_code == 200


def test_a_service_admits_a_token_of_a_host_whose_clock_is_ahead(site, service):
    ahead = service_tokens(site.app.site.settings, lambda: time.time() + 3)
    assert ask(service, signed_by(ahead, site, service)).status_code == 200


def for_another_service(site, service):
    (other,) = {"reports", "notes"} - {service.name}
    return token_for(site, other, f"{service.name}.read")


def without_the_scope(site, service):
    return token_for(site, service.name)


def access_token(site, service):
    return bearer(site.app, site.user)["Authorization"].removeprefix("Bearer ")


def of_a_key(site, service):
    key = api_key(site.app, site.user, [f"{service.name}.read"])
    return key["Authorization"].removeprefix("Bearer ")


def garbage(site, service):
    return "garbage"


def expired(site, service):
    settings = site.app.site.settings
    tokens = service_tokens(settings, lambda: time.time() - 3600)
    return signed_by(tokens, site, service)


def of_another_issuer(site, service):
    settings = replace(site.app.site.settings, PUBLIC_URL="https://other.example")
    return signed_by(service_tokens(settings, time.time), site, service)


def signed_by(tokens, site, service):
    scope = [f"{service.name}.read"]
    return tokens.issue(site.user.id, service.name, scope=scope, sid="0" * 16, proof=None)


def of_another_type(site, service):
    """A token of the same key and claims that some other program signed."""
    claims = jwt.decode(
        token_for(site, service.name, f"{service.name}.read"), options={"verify_signature": False}
    )
    signing = Path(site.app.site.settings.SERVICE_KEYS) / "signs.pem"
    (kid,) = (each.key_id for each in load_keys(signing))
    return jwt.encode(claims, signing.read_text(), "ES256", headers={"kid": kid})


@pytest.mark.parametrize(
    ("make", "status"),
    [
        (without_the_scope, 403),
        (for_another_service, 401),
        (access_token, 401),
        (expired, 401),
        (of_another_issuer, 401),
        (of_another_type, 401),
        (garbage, 401),
    ],
    ids=lambda each: getattr(each, "__name__", ""),
)
def test_a_service_refuses_other_tokens(site, service, make, status):
    assert ask(service, make(site, service)).status_code == status


def test_a_request_without_a_token_is_refused(service):
    assert httpx.get(service.url).status_code == 401


def run(title, site, then=""):
    """Run the commands of a section, but those that install and serve, and return their output."""
    listed = (each for each, _ in shown(PAGE, title) if not each.startswith(("pip ", "waitress-")))
    script = "\n".join([*listed, then]).replace(ISSUER, site.address)
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script],
        env={
            "PATH": PROGRAMS,
            "DATABASE_URL": site.app.site.settings.DATABASE_URL,
            "BCRYPT_ROUNDS": "4",
        },
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


@pytest.fixture(scope="module")
def asking(site, folder):
    """Return the address of the service of the page that asks this site about each token."""
    require("authlib", "flask", "requests")
    program = folder / "asking_service.py"
    program.write_text(program.read_text().replace(ISSUER, site.address))
    title = "Ask whether a token is still active"
    *printed, key = run(title, site, 'echo "$REPORTS_API_KEY"').splitlines()
    assert printed == "".join(each for _, each in shown(PAGE, title)).splitlines()
    variables = {"REPORTS_API_KEY": key}
    with served_by_command(title, folder, variables) as address:
        yield SimpleNamespace(name="reports", url=f"{address}/reports")


def test_a_service_that_asks_admits_a_token_until_its_session_is_revoked(site, asking):
    session = bearer(site.app, site.user)
    token = token_for(site, "reports", "reports.read", session)
    answer = ask(asking, token)
    assert (answer.status_code, answer.json()) == (200, {"reports_of": str(site.user.id)})
    httpx.post(f"{site.address}/auth/logout", headers=session)
    assert ask(asking, token).status_code == 401


@pytest.mark.parametrize(
    ("make", "status"),
    [
        (without_the_scope, 403),
        (for_another_service, 401),
        (access_token, 401),
        (of_a_key, 401),
        (garbage, 401),
    ],
    ids=lambda each: getattr(each, "__name__", ""),
)
def test_a_service_that_asks_refuses_other_tokens(site, asking, make, status):
    assert ask(asking, make(site, asking)).status_code == status


def test_a_service_that_cannot_ask_says_so(site, asking, monkeypatch):
    token = token_for(site, "reports", "reports.read")
    monkeypatch.setattr(site.stage, "app", Response(status=503))
    assert ask(asking, token).status_code == 503


def test_the_claims_of_the_list_are_those_of_a_token(site):
    items = re.findall(r"^- (`.*?`):", section(PAGE, "Get a token for a service"), re.MULTILINE)
    named = {name for item in items for name in re.findall(r"`(\w+)`", item)}
    claims = jwt.decode(token_for(site, "reports"), options={"verify_signature": False})
    assert named == claims.keys()


def test_the_commands_get_a_token(site):
    site.user.revoke("reports.read", "notes.read")
    *granted, expected = "".join(
        each for _, each in shown(PAGE, "Get a token for a service")
    ).splitlines()
    *printed, answer = run("Get a token for a service", site).splitlines()
    assert printed == granted
    assert json.loads(answer) | {"access_token": "…"} == json.loads(expected)


def test_the_commands_make_a_key_and_settings_that_are_accepted(tmp_path):
    require_program("openssl")
    listed = (
        each for each, _ in shown(PAGE, "Set up tokens for services") if " -m wsgiauth" not in each
    )
    script = "".join(f"{each}\n" for each in listed if not each.startswith("pip "))
    environ = {"PATH": os.environ["PATH"]}
    done = subprocess.run(
        ["bash", "-euc", f"{script} env -0"],
        env=environ,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    exported = dict(each.split("=", 1) for each in done.stdout.split("\0") if each)
    settings = Settings.from_mapping(exported)
    assert settings.SERVICES == ("reports", "notes")
    assert (settings.PUBLIC_URL, settings.SERVICE_KEYS) == (ISSUER, "service-keys")
    (key,) = load_keys(tmp_path / settings.SERVICE_KEYS)
    assert key.algorithm == "ES256"


def test_the_other_commands_make_the_other_kinds_of_keys(tmp_path):
    require_program("openssl")
    text = section(PAGE, "Set up tokens for services")
    made = re.search(r"(openssl genpkey )-algorithm EC.*?( -out )", text)
    others = re.findall(r"`(-algorithm [^`]+)`", text)
    for number, options in enumerate(others):
        command = f"{made[1]}{options}{made[2]}{tmp_path / str(number)}"
        subprocess.run(command.split(), capture_output=True, check=True)
    assert [each.algorithm for each in load_keys(tmp_path)] == ["EdDSA", "RS256"]


def test_pyjwt_asks_for_no_key_when_one_was_published_before(site, monkeypatch):
    """Its client keeps the keys, and fetches no others for 30 seconds, not even unknown ones."""
    client = jwt.PyJWKClient(f"{site.address}/auth/jwks.json")
    client.get_jwk_set()
    monkeypatch.setattr(client, "fetch_data", None)  # any further request is an error
    monkeypatch.setattr(site.stage, "app", site.states["EdDSA"])
    key = client.get_signing_key_from_jwt(token_for(site, "reports"))
    assert key.algorithm_name == "EdDSA"


def test_the_metadata_leads_to_the_keys(site):
    path = re.search(rf"`{ISSUER}(/\.well-known/\S+)`", PAGE)[1]
    metadata = httpx.get(f"{site.address}{path}").json()
    assert metadata["issuer"] == site.address
    assert len(httpx.get(metadata["jwks_uri"]).json()["keys"]) == len(ALGORITHMS)
