"""nginx, in front of servers, speaking https with a certificate of its own."""

import os
import shutil
import subprocess
from contextlib import contextmanager

from tests.conftest import skip_or_fail
from tests.support.sites import free_port, started

CONFIGURATION = """
daemon off;
master_process off;
pid nginx.pid;
error_log error.log;
events {{}}
http {{
    access_log off;
    client_body_temp_path body;
    proxy_temp_path proxy;
    fastcgi_temp_path fastcgi;
    uwsgi_temp_path uwsgi;
    scgi_temp_path scgi;
    {servers}
}}
"""
CERTIFICATE = (
    "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=site"
    " -addext subjectAltName=IP:127.0.0.1 -keyout key.pem -out certificate.pem"
)


@contextmanager
def nginx(folder, servers):
    """Run nginx with a configuration that listens on port 443; yields the free port instead.

    Args:
        folder: Where it works; certificate.pem and key.pem are made there.
        servers: The server blocks.
    """
    program = shutil.which("nginx", path=f"{os.environ['PATH']}:/usr/sbin")  # Debian hides it there
    if program is None or shutil.which("openssl") is None:
        skip_or_fail("nginx and openssl are not installed")
    subprocess.run(CERTIFICATE.split(), cwd=folder, check=True, capture_output=True)
    port = free_port()
    configuration = CONFIGURATION.format(servers=servers)
    configuration = configuration.replace("listen 443", f"listen 127.0.0.1:{port}")
    (folder / "nginx.conf").write_text(configuration, encoding="utf-8")
    command = [program, "-p", f"{folder}/", "-c", "nginx.conf", "-e", "error.log"]
    with started(command, port, stderr=subprocess.DEVNULL):
        yield port
