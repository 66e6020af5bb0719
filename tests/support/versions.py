"""Tests against other versions of a framework than the installed one: Django 4.2, Flask 2.3.

    def test_the_site_works_with_django_4_2(tmp_path):
        python = python_with("Django==4.2.*")
        run(python, "manage.py", "check", cwd=tmp_path)
        run_tests(python, "tests/contrib/django", DJANGO_SETTINGS_MODULE="settings")

`python_with` returns the Python of a virtual environment that has the required packages, the
run-time packages of wsgiauth, pytest and WebTest. It is made once, on first use, below
`${XDG_CACHE_HOME:-~/.cache}/wsgiauth`, and kept for the next run. Other tests that use it meanwhile
wait. wsgiauth and `tests` are imported from the checkout. Without a suitable Python, the test is
skipped; without a network, it is skipped, or fails in CI.

Coverage is measured in these processes only with `sys.executable`, the Python of the tests: what
the others test must also be tested with the version that is installed.
"""

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
from importlib.metadata import requires
from pathlib import Path

import pytest

from tests.conftest import skip_or_fail

ROOT = Path(__file__).parents[2]
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "wsgiauth"
PATIENCE = 300  # seconds, for what is installed or run
ENVIRON = ("PATH", "COVERAGE_PROCESS_CONFIG")
NEWER = ("3.12", "3.13", "3.14")  # which can stand in for each other


def python_with(*requirements, minimum="3.11"):
    """Return the path of a Python that has these requirements, such as "Django==6.0.*".

    Args:
        requirements: As for pip. List all that your test imports but wsgiauth does not need.
        minimum: The oldest Python that they support. Without one, the test is skipped.
    """
    same = str(Path(sys.executable).resolve())  # in all virtual environments, which share it
    base = same if sys.version_info[:2] >= _numbers(minimum) else _find(minimum)
    own = [each for each in requires("wsgi-accounts") if "extra ==" not in each]
    wanted = sorted({*requirements, *own, "pytest>=8", "webtest>=3.0.4"})
    digest = hashlib.sha256("\n".join([base, *wanted]).encode()).hexdigest()[:8]
    name = re.sub(r"[^\w.]+", "-", "-".join(requirements)).strip("-").lower()
    folder = CACHE / "versions" / f"{name}-{digest}"
    folder.parent.mkdir(parents=True, exist_ok=True)
    with folder.with_name(f"{folder.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "complete").exists():
            _install(base, folder, wanted)
    return str(folder / "bin/python")


def run(python, *arguments, cwd=ROOT, **environ):
    """Run a program with such a Python, and return what it prints; fail with that if it fails.

    Args:
        arguments: As on the command line, after `python`.
        cwd: The folder in which it runs, from which it imports its own modules.
        environ: Variables of its environment, besides PATH.
    """
    done = subprocess.run(
        [python, *map(str, arguments)],
        cwd=cwd,
        env={
            **{name: os.environ[name] for name in ENVIRON if name in os.environ},
            "PYTHONPATH": os.pathsep.join([str(cwd), str(ROOT)]),
            "PYTHONUNBUFFERED": "1",
            **environ,
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


def run_tests(python, path, *options, **environ):
    """Run a file or folder of tests with such a Python, and return what pytest prints.

    Warnings are errors there, too. Of the `conftest.py` files, only those in its folder are loaded.
    """
    folder = ROOT / path if (ROOT / path).is_dir() else (ROOT / path).parent
    options = ("-q", "-p", "no:cacheprovider", f"--confcutdir={folder}", *options)
    return run(python, "-m", "pytest", *options, path, **environ)


def _install(base, folder, wanted):
    shutil.rmtree(folder, ignore_errors=True)
    install = [sys.executable, "-m", "uv", "pip", "install", "--python", str(folder)]
    for command in ([base, "-m", "venv", "--without-pip", folder], [*install, *wanted]):
        done = subprocess.run(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=PATIENCE
        )
        if done.returncode:
            skip_or_fail(f"{wanted} could not be installed: {done.stdout}")
    (folder / "complete").touch()


def _find(minimum):
    wanted = [each for each in NEWER if _numbers(each) >= _numbers(minimum)]
    kept = Path.home() / ".pyenv/versions"
    found = [
        *(shutil.which(f"python{each}") for each in wanted),
        *(path for each in wanted for path in sorted(kept.glob(f"{each}.*/bin/python"))),
    ]
    for path in filter(None, found):
        if _version(path) >= _numbers(minimum):
            return str(path)
    # Also in CI: no registry of packages has another Python.
    return pytest.skip(f"no Python {minimum} or later is on PATH or in {kept}")


def _version(python):
    """Return the version; nothing if it does not start, like pyenv's shim of another version."""
    print_it = "import sys; print(*sys.version_info[:2], sep='.')"
    done = subprocess.run([str(python), "-c", print_it], capture_output=True, text=True)
    return _numbers(done.stdout.strip()) if done.returncode == 0 else ()


def _numbers(version):
    return tuple(map(int, version.split(".")))
