"""openapi.json in the tools that people use it with: validators, linters, client generators."""

import importlib
import json
import os
import pkgutil
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import openapi_spec_validator
import pytest

from tests.conftest import skip_or_fail
from tests.support.contract import DOCUMENT
from tests.support.sites import EMAIL, PASSWORD, USERNAME, echo, serving
from wsgiauth import AuthMiddleware, storage

pytestmark = pytest.mark.usefixtures("unmeasured")

FILE = "openapi.json"
PACKAGE = "wsgiauth_client"
BIN = Path(sys.executable).parent
LINTERS = {
    "redocly": ["redocly", "lint", FILE],
    "spectral": ["spectral", "lint", "--ruleset", "spectral.yaml", FILE],
}


def run(command, folder):
    """Run a program that is installed beside Python or on PATH; it must succeed.

    The document is a file in the folder.
    """
    (folder / FILE).write_text(json.dumps(DOCUMENT), encoding="utf-8")
    environ = {
        **os.environ,
        "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}",
        "REDOCLY_TELEMETRY": "off",
        "REDOCLY_SUPPRESS_UPDATE_NOTICE": "true",
    }
    done = subprocess.run(command, cwd=folder, env=environ, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


# Validators and linters.


def test_openapi_spec_validator_finds_no_error():
    openapi_spec_validator.validate(DOCUMENT)


@pytest.mark.parametrize("linter", LINTERS)
def test_a_linter_finds_no_error(linter, tmp_path):
    if shutil.which(linter) is None:
        skip_or_fail(f"{linter} is not installed: .ci/run shows how")
    (tmp_path / "spectral.yaml").write_text("extends: ['spectral:oas']\n", encoding="utf-8")
    run(LINTERS[linter], tmp_path)


# A generated client.


@pytest.fixture(scope="module")
def client_folder(tmp_path_factory):
    """Generate the Python client; a warning of the generator is an error."""
    folder = tmp_path_factory.mktemp("client")
    command = ["openapi-python-client", "generate", "--path", FILE, "--fail-on-warning"]
    run([*command, "--meta", "none", "--output-path", PACKAGE], folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        yield folder
    for name in [name for name in sys.modules if name.partition(".")[0] == PACKAGE]:
        del sys.modules[name]


@pytest.fixture
def imported(client_folder):
    """Return a function that imports a module of the client."""
    return lambda name: importlib.import_module(f"{PACKAGE}.{name}")


@pytest.fixture
def api(imported, settings):
    """Return a function that calls an operation of a real server, as an anonymous client or not."""
    impatient = replace(settings, LOGIN_FAILURES_PER_ACCOUNT=1)
    with serving(AuthMiddleware(echo, impatient)) as address:

        def call(operation, token=None, **fields):
            clients = imported("client")
            client = clients.Client(f"{address}/auth", raise_on_unexpected_status=True)
            if token is not None:
                client = clients.AuthenticatedClient(f"{address}/auth", token)
            if fields:
                body = f"{operation.rpartition('.')[2].title().replace('_', '')}Body"
                fields = {"body": getattr(imported("models"), body)(**fields)}
            with client:
                return imported(f"api.{operation}").sync(client=client, **fields)

        yield call
    storage.discard_connection(storage.current())


def register(api, **fields):
    defaults = {"username": USERNAME, "email": EMAIL, "password": PASSWORD}
    return api("accounts.register", **(defaults | fields))


def log_in(api, password=PASSWORD):
    return api("sessions.log_in", username=USERNAME, password=password)


def test_every_module_of_the_generated_client_can_be_imported(client_folder):
    modules = pkgutil.walk_packages([str(client_folder / PACKAGE)], f"{PACKAGE}.")
    names = {importlib.import_module(module.name).__name__ for module in modules}
    assert names >= {f"{PACKAGE}.api.sessions.log_in", f"{PACKAGE}.models.throttled_problem"}


def test_the_generated_client_registers_logs_in_and_logs_out(api):
    assert register(api).username == USERNAME
    token = log_in(api)
    assert token.token_type == "bearer"
    assert 3600 - 60 < token.expires_in <= 3600  # less what the login took
    profile = api("accounts.show_profile", token=token.access_token)
    assert (profile.email, profile.permissions) == (EMAIL, [])
    assert api("sessions.log_out", token=token.access_token).detail == "Logged out."
    refused = api("accounts.show_profile", token=token.access_token)
    assert refused.code == "invalid_token"


def test_the_generated_client_has_a_type_for_each_failure(api, imported):
    models = imported("models")
    register(api)
    taken = register(api, email="grace@example.org")
    assert isinstance(taken, models.TakenOrPasskeyUsedProblem)
    assert taken.errors["username"] == ["This username is taken."]
    invalid = register(api, username="a b", email="grace@example.org")
    assert isinstance(invalid, models.InvalidOrBrowserProblem)
    assert invalid.errors.additional_keys == ["username"]
    assert isinstance(register(api, username="x" * 20_000), models.TooLargeProblem)
    assert isinstance(register(api, username=None), models.MalformedProblem)
    assert isinstance(api("accounts.show_profile"), models.UnauthenticatedProblem)
    refused = log_in(api, password="wrong")
    assert isinstance(refused, models.InvalidCredentialsProblem)
    assert (refused.status, refused.code) == (401, "invalid_credentials")
    while refused.code == "invalid_credentials":  # the first waits may be over before the next try
        refused = log_in(api, password="wrong")
    assert isinstance(refused, models.ThrottledProblem)
