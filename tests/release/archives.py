"""The archives of a release: built twice, and installed where nothing else is."""

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.docs.accounts import ask
from tests.docs.pages import PAGES, save_programs, section, shown
from tests.load.pythons import classified, find
from tests.release.dist import build, digest, git
from tests.support.sites import BROWSER, PASSWORD, running

PROGRAM = "A program"  # the section of README.md
AGAIN = "artefacts/second-build"


def build_twice(repository, tools):
    """Build the archives into `dist`; return their paths, and a sentence for each that differs."""
    archives = build(repository, repository / "dist", tools)
    with tempfile.TemporaryDirectory() as elsewhere:
        git(repository, "clone", "--quiet", "--no-local", repository, elsewhere)
        again = build(Path(elsewhere), repository / AGAIN, tools)
    return archives, [
        f"Two builds of {one.name} differ: compare dist/{one.name} with {AGAIN}/{other.name}."
        for one, other in zip(archives, again, strict=True)
        if digest(one) != digest(other)
    ]


def try_everywhere(archives, version):
    """Use the archives with the oldest and the newest Python; return the failures as sentences."""
    oldest, *newer = classified()
    failures, pythons = [], [find(oldest)]
    if pythons[0] is None:
        return [f"Python {oldest} is missing: install it."]
    for each in reversed(newer):
        if python := find(each):
            pythons.append(python)
            break
        print(f"Python {each} is not found, so the archives are not tried with it.", flush=True)
    for python in pythons:
        for archive in archives:
            name = version_of(python)
            print(f"Install {archive.name} with Python {name}, and log in.", flush=True)
            with tempfile.TemporaryDirectory() as folder:
                failure = try_out(archive, version, python, Path(folder))
            if failure:
                failures.append(f"{archive.name} with Python {name}: {failure}")
    return failures


def version_of(python):
    print_it = "import platform; print(platform.python_version())"
    return subprocess.check_output([python, "-c", print_it], text=True).strip()


def try_out(archive, version, python, folder):
    """Install an archive into nothing, and log in to the README's program; return what fails."""
    uv = [sys.executable, "-m", "uv", "--quiet"]
    environment = folder / "environment"
    subprocess.run([*uv, "venv", "--python", python, environment], check=True)
    install = [*uv, "pip", "install", "--python", environment, archive.resolve()]
    installed = subprocess.run(install, stderr=subprocess.PIPE, text=True)
    if installed.returncode:
        return f"it cannot be installed. {installed.stderr.strip()}"
    environ = {"PATH": f"{environment / 'bin'}{os.pathsep}{os.environ['PATH']}"}
    asked = [environment / "bin/python", "-m", "wsgiauth", "--version"]
    said = subprocess.run(asked, cwd=folder, env=environ, capture_output=True, text=True).stdout
    if said.strip() != f"wsgiauth {version}":
        return f'`python -m wsgiauth --version` prints "{said.strip()}", not "wsgiauth {version}".'
    with (folder / "log").open("w+") as log:
        try:
            log_in(folder, environ, log)
        except (AssertionError, OSError) as error:
            return f"the program of README.md fails: {error}. {(folder / 'log').read_text()}"
    return None


def log_in(folder, environ, log):
    """Run the README's program as it says, and log in with its user."""
    readme = PAGES["README.md"]
    save_programs(section(readme, PROGRAM), folder)
    *before, (serve, _) = shown(readme, PROGRAM)
    serve = re.sub(r"(?<=127\.0\.0\.1:)\d+", "$1", serve)
    script = "\n".join([*(command for command, _ in before), f"exec {serve}"])
    (folder / "serve.sh").write_text(script, encoding="utf-8")
    with running("bash -eu serve.sh 8080", cwd=folder, env=environ, stdout=log, stderr=log) as port:
        site = f"http://127.0.0.1:{port}"
        status, page = ask(f"{site}/", BROWSER)
        assert status == 200, f"the page has status {status}"
        assert 'action="/auth/login"' in page, "the page has no form to log in"
        body = json.dumps({"username": "ada", "password": PASSWORD}).encode()
        status, answer = ask(f"{site}/auth/login", {"Content-Type": "application/json"}, body)
        assert status == 200, f"the login has status {status}"
        token = json.loads(answer)["access_token"]
        _, page = ask(f"{site}/", {"Authorization": f"Bearer {token}"})
        assert "Hello, ada!" in page, "the page does not know who has logged in"
