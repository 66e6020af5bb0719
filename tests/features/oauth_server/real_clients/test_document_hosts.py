"""Documents of apps at hosts of a network of its own: real names, addresses, TLS and port 443."""

import json
import os
import subprocess
import sys

import pytest

from tests.conftest import require_program, skip_or_fail
from tests.docs.pages import ROOT
from tests.support.document_hosts import PUBLIC
from tests.support.mail_servers import make_certificate


@pytest.fixture(scope="module")
def said(tmp_path_factory):
    """Return what the site says of each URL, and the addresses to which it has connected."""
    for program in ("unshare", "ip", "openssl"):
        require_program(program)
    inside = ["unshare", "--net", "--mount"]
    if subprocess.run([*inside, "true"], capture_output=True, check=False).returncode:
        skip_or_fail("only root can make networks")
    certificate = make_certificate(tmp_path_factory.mktemp("hosts"), "*.example.com")
    command = [*inside, sys.executable, "-m", "tests.support.document_hosts", str(certificate)]
    environ = {**os.environ, "SSL_CERT_FILE": str(certificate)}
    done = subprocess.run(
        command, cwd=ROOT, env=environ, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.promise(93)
def test_a_public_host_is_asked(said):
    words, connected = said["https://public.example.com/app"]
    assert (words, connected) == ("consent", [PUBLIC])


@pytest.mark.promise(93)
@pytest.mark.parametrize("name", ["private", "metadata", "loopback", "both"])
def test_a_host_of_the_own_network_is_never_connected_to(said, name):
    words, connected = said[f"https://{name}.example.com/app"]
    assert "its host has no public address" in words
    assert connected == []


@pytest.mark.promise(93)
@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("redirect", "its status is 302"),
        ("endless", "it has more than"),
        ("slow", "its host does not answer in time"),
        ("compressed", "it is compressed"),
    ],
)
def test_a_hostile_host_is_refused_with_the_reason(said, path, reason):
    words, connected = said[f"https://public.example.com/{path}"]
    assert reason in words
    assert connected == [PUBLIC]
