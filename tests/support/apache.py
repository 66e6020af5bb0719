"""Debian's Apache with mod_wsgi, as a private instance of an unprivileged user."""

import os
import shutil
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

from tests.conftest import skip_or_fail
from tests.support.sites import free_port, started

ROOT = Path(__file__).parents[2]
MODULES = Path("/usr/lib/apache2/modules")
# mod_wsgi embeds one Python, which has to be the one that the tests' packages were built for.
MOD_WSGI = MODULES / f"mod_wsgi.so-{sys.version_info.major}.{sys.version_info.minor}"
PYTHON = "/usr/bin/python3"
CONFIGURATION = """
ServerName localhost
ServerRoot {folder}
DefaultRuntimeDir {folder}
PidFile apache.pid
ErrorLog error.log
Listen 127.0.0.1:{port}
LoadModule mpm_event_module {modules}/mod_mpm_event.so
LoadModule authz_core_module {modules}/mod_authz_core.so
LoadModule wsgi_module {mod_wsgi}
WSGISocketPrefix {folder}/wsgi
{site}
"""
# Apache refuses to serve as root. So it is nobody, who can read the files of root's tests; without
# no_setuid_fixup, access(2) says that it cannot.
AS_NOBODY = (
    "setpriv --reuid=65534 --regid=65534 --clear-groups --securebits=+no_setuid_fixup"
    " --inh-caps=+dac_override --ambient-caps=+dac_override"
)


@contextmanager
def apache(folder, site, environ, port=None):
    """Run Apache with a site's configuration on a port, or on a free one; yields the port.

    Args:
        folder: Where it works; the site's virtual environment is made in its `.venv`.
        site: The directives of the site.
        environ: The environment of the server.
    """
    program = shutil.which(
        "apache2", path=f"{os.environ['PATH']}:/usr/sbin"
    )  # Debian hides it there
    if program is None or not MOD_WSGI.exists():
        skip_or_fail(f"apache2 and {MOD_WSGI} are not installed")
    _make_environment(folder / ".venv")
    port = port or free_port()
    configuration = CONFIGURATION.format(
        folder=folder, port=port, modules=MODULES, mod_wsgi=MOD_WSGI, site=site
    )
    (folder / "apache2.conf").write_text(configuration, encoding="utf-8")
    user = AS_NOBODY.split() if os.geteuid() == 0 else []
    command = [*user, program, "-D", "FOREGROUND", "-f", f"{folder}/apache2.conf"]
    with started(command, port, env=environ, stderr=subprocess.DEVNULL):
        yield port


def _make_environment(folder):
    """Make an environment of mod_wsgi's Python with the packages of the tests' Python."""
    subprocess.run([PYTHON, "-m", "venv", "--without-pip", folder], check=True)
    (packages,) = folder.glob("lib/python3*/site-packages")
    paths = [str(ROOT), *(each for each in sys.path if each.endswith("site-packages"))]
    (packages / "tests.pth").write_text("\n".join(paths), encoding="utf-8")
