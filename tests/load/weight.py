"""What wsgiauth weighs before a request and after some: processor time to import, and memory.

Run it with `make measure NAME=weight`, which installs wsgiauth as its users do, without the drivers
of other databases, and with bytecode. The programs take turns, so compare the ratios.
"""

import json
import os
import re
import secrets
import statistics
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.request import Request, urlopen

from tests.load.bench import print_table

PYTHON, FLASK = "Python alone", "import flask"
PROGRAMS = {
    PYTHON: ("-c", ""),
    FLASK: ("-c", "import flask"),
    "import wsgiauth": ("-c", "import wsgiauth"),
    "with its features, as a site": ("-c", "import wsgiauth.features.registry"),
    "python -m wsgiauth --help": ("-m", "wsgiauth", "--help"),
}
ROUNDS = 31
SERVERS = 3

APPLICATION = """
from wsgiauth import AuthMiddleware

def page(environ, start_response):
    start_response("200 OK", [("Content-Type", "text/plain"), ("Content-Length", "5")])
    return [b"Hello"]

application = AuthMiddleware(page)
"""
ADA = {"username": "ada", "email": "ada@example.org", "password": secrets.token_urlsafe()}


def processor_time(program, folder):
    """Return the milliseconds of processor time that a process takes from its start to its end."""
    process = subprocess.Popen(
        [sys.executable, *program], cwd=folder, stdout=subprocess.DEVNULL, env={}
    )
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, program
    return (used.ru_utime + used.ru_stime) * 1000


def imports(folder):
    """Print what each program takes, and how that compares with Flask."""
    taken = {name: [] for name in PROGRAMS}
    for _ in range(ROUNDS):
        for name, program in PROGRAMS.items():
            taken[name].append(processor_time(program, folder))
    medians = {name: statistics.median(each) for name, each in taken.items()}
    added = {name: each - medians[PYTHON] for name, each in medians.items()}
    print(f"\nProcessor time of a process, the median of {ROUNDS}")
    print_table(
        ("", "ms", "more than Python alone", f"relative to {FLASK}"),
        *((name, medians[name], added[name], added[name] / added[FLASK]) for name in PROGRAMS),
    )


def memory(folder):
    """Print the memory of a process with default settings after some requests."""
    (folder / "served.py").write_text(APPLICATION)
    print(f"\nMemory of a process that serves a bare application, the median of {SERVERS}")
    print_table(
        ("", "MiB", "at its peak"),
        *(
            (
                name,
                *map(
                    statistics.median,
                    zip(*(serve(folder, use) for _ in range(SERVERS)), strict=True),
                ),
            )
            for name, use in USES.items()
        ),
    )


def serve(folder, use):
    """Return the MiB that a new process holds after some requests, and its peak."""
    program = [sys.executable, "-m", "wsgiauth"]
    database = f"sqlite:///{secrets.token_hex()}.db"
    environ = {"SECRET_KEY": secrets.token_urlsafe(48), "DATABASE_URL": database}
    # What makes the tables is loaded by a first start only.
    subprocess.run([*program, "migrate"], cwd=folder, env=environ, check=True, capture_output=True)
    process = subprocess.Popen(
        [*program, "serve", "served:application", "--listen=127.0.0.1:0"],
        cwd=folder,
        env=environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    with process:
        try:
            use(process.stdout.readline().split()[-1].rstrip("/"))
            status = Path(f"/proc/{process.pid}/status").read_text()
        finally:
            process.terminate()
    return tuple(
        int(re.search(rf"{name}:\s+([0-9]+) kB", status)[1]) / 1024 for name in ("VmRSS", "VmHWM")
    )


def open_pages(address):
    """Open pages, and then do what programs do."""
    for path in ("/", "/auth/login", "/auth/register"):
        ask(address + path)
    log_in(address)


def log_in(address):
    """Register, log in and send requests as that user, as a program."""
    for path in ("/auth/register", "/auth/login"):
        answer = ask(address + path, json.dumps(ADA).encode(), "application/json")
    bearer = f"Bearer {json.loads(answer)['access_token']}"
    for path in ("/", "/auth/me") * 20:
        ask(address + path, authorization=bearer)


USES = {"logins alone, by programs": log_in, "pages, too": open_pages}


def ask(url, body=None, content_type="text/html", authorization=""):
    """Return the body of the answer."""
    headers = {"Accept": content_type, "Content-Type": content_type}
    if authorization:
        headers["Authorization"] = authorization
    with urlopen(Request(url, body, headers)) as response:
        return response.read()


if __name__ == "__main__":
    with TemporaryDirectory() as made:
        imports(Path(made))
        memory(Path(made))
