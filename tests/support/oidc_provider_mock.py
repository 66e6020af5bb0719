"""The provider `oidc-provider-mock` of PyPI, made with Authlib and Flask, in a process.

It takes any client, asks a person for nothing but a subject, and has no sessions.
"""

import json
import subprocess
import sys
from contextlib import contextmanager

from tests.conftest import require
from tests.support.sites import free_port, started

ADA = {
    "sub": "ada",
    "email": "ada@example.org",
    "email_verified": True,
    "preferred_username": "ada",
}


@contextmanager
def oidc_provider_mock(*people):
    """Run the provider, where it knows these people by their claims; yields the issuer."""
    require("oidc_provider_mock")
    port = free_port()
    known = [f"--user-claims={json.dumps(each)}" for each in people or (ADA,)]
    command = [sys.executable, "-m", "oidc_provider_mock", f"--port={port}", *known]
    with started(command, port, stderr=subprocess.DEVNULL):
        yield f"http://localhost:{port}"
