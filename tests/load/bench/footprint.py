"""What wsgiauth takes before the first request: time to import, memory, and space on disk."""

import statistics
import subprocess
import sys
from pathlib import Path

import wsgiauth
from tests.load.bench import print_table

CASES = {
    "Python alone": "",
    "its dependencies": "import bcrypt, jwt, peewee, webob, webob.acceptparse",
    "wsgiauth": "from wsgiauth import AuthMiddleware",  # with everything that serving needs
}
PROGRAM = """
import sys, time
begun = time.perf_counter()
{imports}
taken = time.perf_counter() - begun
resident = 0
try:
    with open("/proc/self/status") as status:
        resident = next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))
except FileNotFoundError:
    pass
print(taken * 1000, resident / 1024)
"""
ROUNDS = 11


def report(folder):
    """Print the table."""
    runs = {name: [] for name in CASES}
    for _ in range(ROUNDS):
        for name, imports in CASES.items():
            runs[name].append(_run(PROGRAM.format(imports=imports), folder))
    print("\nImporting, and resident memory afterwards")
    print_table(
        ("", "ms", "MB"),
        *((name, *map(statistics.median, zip(*runs[name], strict=True))) for name in CASES),
    )
    files = [each for each in Path(wsgiauth.__file__).parent.rglob("*") if _is_installed(each)]
    size = sum(each.stat().st_size for each in files) / 1024
    print(f"\nThe installed package: {len(files)} files, {size:.0f} KiB")


def _run(program, folder):
    run = subprocess.run(
        [sys.executable, "-c", program], cwd=folder, capture_output=True, text=True, check=True
    )
    return tuple(map(float, run.stdout.split()))


def _is_installed(path):
    return path.is_file() and path.suffix != ".pyc"
