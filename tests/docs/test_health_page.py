"""docs/deployment.md, "Health", and docs/deployment: the programs that read them try them."""

import os
import re
import shlex
import shutil
import socket
import ssl
import subprocess
import sys
from contextlib import ExitStack, closing
from http.client import HTTPConnection, HTTPSConnection
from pathlib import Path

import pytest
import yaml

from tests.conftest import skip_or_fail
from tests.docs.pages import CONFIGURATIONS, PAGES, code, section
from tests.support.nginx import nginx
from tests.support.sites import SECRET_KEY, free_port, serving, started
from wsgiauth import AuthMiddleware, Settings, storage
from wsgiauth.storage.readiness import LIMIT

HEALTH = section(PAGES["docs/deployment.md"], "Health")
PATIENCE = 60  # seconds, after which an answer counts as missing
SERVE = ("-m", "wsgiauth", "serve", "hello:application")
# The fields of a probe (API v1) that the manifest uses or could use.
PROBE_FIELDS = {
    *("httpGet", "periodSeconds", "timeoutSeconds", "failureThreshold"),
    *("initialDelaySeconds", "successThreshold"),
}


def find_program(name):
    """Return the path of a program, which Debian can hide from users."""
    found = shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin")
    return found or skip_or_fail(f"{name} is not installed")


def ask(port, path="/", connect=HTTPConnection, **options):
    """Return the status and the text of an answer on this machine."""
    with closing(connect("127.0.0.1", port, timeout=PATIENCE, **options)) as connection:
        connection.request("GET", path)
        found = connection.getresponse()
        return found.status, found.read().decode()


def replaced(text, changes):
    """Return a text in which each of these parts is another one."""
    for old, new in changes.items():
        assert old in text
        text = text.replace(old, new)
    return text


@pytest.fixture
def serve_named(database_folder, empty_file):
    """Return a function that serves a site that answers its name, with a database of its own."""
    with ExitStack() as stack:

        def start(name):
            file = database_folder / f"{name}.db"
            shutil.copy(empty_file, file)

            def app(_environ, start_response):
                start_response("200 OK", [("Content-Type", "text/plain")])
                return [name.encode()]

            url = f"sqlite:///{file}"
            site = AuthMiddleware(app, Settings(SECRET_KEY=SECRET_KEY, DATABASE_URL=url))
            stack.callback(storage.discard_connection, site.database)
            return int(stack.enter_context(serving(site)).rpartition(":")[2]), file

        yield start


# HAProxy


@pytest.fixture
def balanced(serve_named, tmp_path):
    """Return the port of HAProxy in front of two processes, and the files of their databases."""
    program = find_program("haproxy")
    (one, first), (two, second) = serve_named("one"), serve_named("two")
    backend = (CONFIGURATIONS / "haproxy.cfg").read_text("utf-8")
    changes = {"127.0.0.1:8081": f"127.0.0.1:{one}", "127.0.0.1:8082": f"127.0.0.1:{two}"}
    backend = replaced(backend, changes | {"inter 5s": "inter 200ms"})
    port = free_port()
    (tmp_path / "haproxy.cfg").write_text(
        "defaults\n    mode http\n    timeout connect 5s\n    timeout client 60s\n"
        f"    timeout server 60s\nfrontend all\n    bind 127.0.0.1:{port}\n"
        f"    default_backend site\n{backend}"
    )
    command = [program, "-db", "-f", str(tmp_path / "haproxy.cfg")]
    checked = subprocess.run([*command, "-c"], capture_output=True, text=True)
    assert (checked.returncode, checked.stderr) == (0, ""), checked
    with started(command, port, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL):
        yield port, (first, second)


def ask_until(port, wanted):
    """Ask until the last twenty answers are these."""
    answers = []
    while {*answers[-20:]} != wanted or len(answers) < 20:
        answers.append(ask(port))
        if answers[-1][0] == 503:
            answers[-1] = (503, "")


def test_haproxy_leaves_out_a_process_while_its_database_is_away(balanced):
    port, files = balanced
    one, two, none = (200, "one"), (200, "two"), (503, "")
    ask_until(port, {one, two})
    moved = [each.with_suffix(".moved") for each in files]
    files[1].rename(moved[1])
    ask_until(port, {one})
    files[0].rename(moved[0])
    ask_until(port, {none})
    for file, away in zip(files, moved, strict=True):
        away.rename(file)
    ask_until(port, {one, two})


# nginx


def test_nginx_leaves_out_a_process_that_refuses_connections(serve_named, tmp_path, closed_port):
    (directive,) = re.findall(r"`(server [^`]+;)`", HEALTH)
    port, _ = serve_named("one")
    page = PAGES["docs/deployment.md"]
    block = code(section(page, "Behind nginx or another proxy"), "nginx")[0]
    block = replaced(block, {"server 127.0.0.1:8081;": directive, "/etc/ssl/site/": ""})
    places = {"127.0.0.1:8081": f"127.0.0.1:{closed_port}", "127.0.0.1:8082": f"127.0.0.1:{port}"}
    with nginx(tmp_path, replaced(block, places)) as front:
        context = ssl.create_default_context(cafile=tmp_path / "certificate.pem")
        options = {"connect": HTTPSConnection, "context": context}
        assert {ask(front, **options) for _ in range(10)} == {(200, "one")}


# systemd


@pytest.fixture
def unit(folder):
    """Return the unit, for a reader's folder with a virtual environment."""
    text = (CONFIGURATIONS / "site.service").read_text("utf-8")
    bin_folder = folder / ".venv/bin"
    bin_folder.mkdir(parents=True)
    (bin_folder / "python").symlink_to(sys.executable)
    (folder / "site.env").write_text(f"SECRET_KEY={SECRET_KEY}\n")
    return replaced(
        text,
        {
            "/srv/site": str(folder),
            "/etc/site.env": f"{folder}/site.env",
            "User=site": "User=root",
        },
    )


def test_systemd_accepts_the_unit(unit, folder):
    program = find_program("systemd-analyze")
    (folder / "site.service").write_text(unit)
    command = [program, "verify", "--man=no", str(folder / "site.service")]
    done = subprocess.run(command, capture_output=True, text=True)
    told = [each for each in done.stderr.splitlines() if str(folder) in each or "site" in each]
    assert (done.returncode, told) == (0, [])


def test_its_command_says_when_it_serves_and_ends(unit, folder, environ):
    assert re.search("^Type=notify$", unit, re.MULTILINE)
    (command,) = re.findall("^ExecStart=(.*)$", unit, re.MULTILINE)
    command = replaced(command, {"127.0.0.1:8081": "127.0.0.1:0"})
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.settimeout(PATIENCE)
        manager.bind(str(folder / "notify"))
        with subprocess.Popen(
            [sys.executable, *shlex.split(command)[1:]],
            cwd=folder,
            env=environ | {"NOTIFY_SOCKET": str(folder / "notify"), "WATCHDOG_USEC": "30000000"},
            stdout=subprocess.PIPE,
            text=True,
        ) as served:
            try:
                assert manager.recv(100) == b"READY=1"
                port = int(re.search(r":(\d+)/", served.stdout.readline())[1])
                assert ask(port, "/auth/health/ready") == (200, '{"status":"ok"}')
                assert manager.recv(100) == b"WATCHDOG=1"
                served.terminate()
                said = manager.recv(100)
                while said == b"WATCHDOG=1":
                    said = manager.recv(100)
                assert said == b"STOPPING=1"
                assert served.wait(PATIENCE) == 0
            finally:
                served.kill()


# Kubernetes


@pytest.fixture(scope="module")
def container():
    """Return the container of the manifest."""
    manifest = yaml.safe_load((CONFIGURATIONS / "kubernetes.yaml").read_text("utf-8"))
    assert (manifest["apiVersion"], manifest["kind"]) == ("apps/v1", "Deployment")
    spec = manifest["spec"]
    assert spec["selector"]["matchLabels"] == spec["template"]["metadata"]["labels"]
    (container,) = spec["template"]["spec"]["containers"]
    return container


def test_kubernetes_restarts_by_liveness_and_sends_requests_by_readiness(container):
    probes = {name: each for name, each in container.items() if name.endswith("Probe")}
    paths = {name: each["httpGet"]["path"] for name, each in probes.items()}
    assert paths == {
        "startupProbe": "/auth/health/live",
        "livenessProbe": "/auth/health/live",
        "readinessProbe": "/auth/health/ready",
    }
    for each in probes.values():
        assert each.keys() <= PROBE_FIELDS
        assert each["httpGet"].keys() == {"path", "port"}
        assert [{"containerPort": each["httpGet"]["port"]}] == container["ports"]
    assert probes["readinessProbe"]["timeoutSeconds"] > LIMIT
    assert probes["readinessProbe"]["failureThreshold"] > 1


def test_the_command_of_the_container_answers_its_probes(container, folder, environ):
    program, *arguments = container["command"]
    port = free_port()
    assert program == "python"
    assert tuple(arguments[:4]) == SERVE
    arguments[-1] = replaced(arguments[-1], {"0.0.0.0:8080": f"0.0.0.0:{port}"})
    command = [sys.executable, *arguments]
    with started(command, port, cwd=Path(folder), env=environ, stdout=subprocess.DEVNULL):
        for path in ("/auth/health/live", "/auth/health/ready"):
            assert ask(port, path)[0] == 200
