"""The README's program and the quick tests with each Python, and with two sets of dependencies.

Run it with `make pythons`, or `make pythons PYTHONS="3.11:lowest 3.15"`. The set "lowest" has the
lowest versions that setup.py allows wsgiauth and its extras, among those with a wheel for the
Python; the set "newest" has the newest. Each Python and set has a virtual environment of its own,
below `${XDG_CACHE_HOME:-~/.cache}/wsgiauth/pythons`. The Pythons are on PATH, of pyenv, or
downloaded by uv; "newest" is the newest of them.
"""

import os
import re
import shutil
import subprocess
import sys
from importlib.metadata import requires
from pathlib import Path

from tests.load.bench import print_table
from tests.support.versions import CACHE, ROOT

UV = (sys.executable, "-m", "uv")
EXTRAS = {"argon2", "metrics", "mysql", "oidc", "passkeys", "postgres", "services", "totp"}
SETS = ("lowest", "newest")
WHEELS = ("--only-binary", ":all:", "--no-binary", "wsgi-accounts")
TESTS = ("--target", "test", "-q", "--parallel")
README = "tests/docs/test_readme.py"


def classified():
    """Return the versions of the classifiers in setup.py."""
    text = (ROOT / "setup.py").read_text(encoding="utf-8")
    return re.findall(r'"Programming Language :: Python :: (3\.[0-9]+)"', text)


def find(version):
    """Return the path of a Python, or None if it can neither be found nor downloaded."""
    if version == "newest":
        return next(filter(None, map(find, reversed(classified()))))
    quiet = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL, "text": True}
    subprocess.run([*UV, "python", "install", "--no-bin", version], **quiet)
    managed = subprocess.run([*UV, "python", "find", "--managed-python", version], **quiet)
    kept = (Path.home() / ".pyenv/versions").glob(f"{version}.*/bin/python")
    candidates = (managed.stdout.strip(), shutil.which(f"python{version}"), *sorted(kept))
    # pyenv has a shim of a Python that it does not run.
    return next((each for each in candidates if each and starts(each)), None)


def starts(python):
    return subprocess.run([python, "-c", ""], stderr=subprocess.DEVNULL).returncode == 0


def install(python, version, name):
    """Return the Python of a virtual environment with a set of dependencies."""
    folder = CACHE / "pythons" / f"{version}-{name}"
    uv("venv", "--clear", "--python", python, folder)
    made = folder / "bin/python"
    constraints = folder / "constraints.txt"
    constraints.write_text(lowest(made) if name == "lowest" else "", encoding="utf-8")
    chosen = ("--python", made, "--constraint", constraints, *WHEELS)
    own = f"{ROOT}[{','.join(sorted(EXTRAS))},testing]"
    uv("pip", "install", *chosen, "--editable", own, "--group", "test")
    return made


def lowest(python):
    """Return the lowest versions of what wsgiauth and its extras need."""
    own = [each.partition(";") for each in requires("wsgi-accounts")]
    wanted = [
        requirement
        for requirement, _, marker in own
        if "extra ==" not in marker or re.search(r'extra == "(.*?)"', marker)[1] in EXTRAS
    ]
    options = ("--resolution", "lowest-direct", "--only-binary", ":all:", "--no-header")
    return uv("pip", "compile", *options, "--python", python, "-", text="\n".join(wanted))


def uv(*arguments, text=None):
    """Run uv, and return what it prints."""
    command = [*UV, "--quiet", *map(str, arguments)]
    return subprocess.run(
        command, input=text, stdout=subprocess.PIPE, text=True, check=True, cwd=ROOT
    ).stdout


def run(python, *arguments):
    """Return how pytest ends, in words; print what failed.

    A package of others that is not installed beside the set is skipped, also in CI.
    """
    done = subprocess.run(
        [python, "-m", "pytest", "-p", "no:cacheprovider", *arguments],
        cwd=ROOT,
        env={name: value for name, value in os.environ.items() if name != "CI"}
        | {"PYTHONDONTWRITEBYTECODE": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    lines = done.stdout.splitlines()
    if done.returncode:
        print(*lines[-60:], sep="\n")
    summary = lines[-1].strip("= ") if lines else ""
    return done.returncode, "passed" if done.returncode == 0 else "failed", summary


def main(versions):
    """Run the tests, print a table, and return whether none failed."""
    rows, failed = [], False
    for each in versions:
        version, _, only = each.partition(":")
        python = find(version)
        if python is None:
            rows.append((version, "", "missing", ""))
            continue
        for name in [only] if only else SETS:
            try:
                made = install(python, version, name)
                readme, *_ = run(made, README, "-q")
                code, word, summary = run(made, *TESTS)
            except subprocess.CalledProcessError:
                readme, code, word, summary = 0, 1, "failed", "could not be installed"
            failed = failed or bool(readme or code)
            rows.append((version, name, "failed" if readme else word, summary))
    print_table(("Python", "dependencies", "", ""), *rows)
    return not failed and any(row[1] for row in rows)


if __name__ == "__main__":
    sys.exit(not main(sys.argv[1:] or [*classified(), "3.14t"]))
