"""Build the sdist and the wheel of the last commit: `make dist`.

The bytes depend on the commit, on the tools of `tools.txt` and on Python's zlib, but on no other
file in the checkout, and not on the folder, the umask, the locale, the time zone or the user.
SOURCE_DATE_EPOCH replaces the time of the commit in the archives.
"""

import gzip
import hashlib
import io
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
NO_CLONE = "This folder is no clone, so it has no commit to build: run this in a clone."


def build(repository, folder, python=sys.executable):
    """Build the archives of the last commit into a folder, instead of others in it.

    Returns their paths.

    Args:
        python: A Python with the tools of `tools.txt`.
    """
    epoch = os.environ.get("SOURCE_DATE_EPOCH") or git(repository, "log", "-1", "--format=%ct")
    with tempfile.TemporaryDirectory() as work:
        source, made = Path(work, "source"), Path(work, "made")
        export(repository, source)
        # No other variable, and no file in the home directory, changes how the tools build.
        environ = {"PATH": os.environ["PATH"], "HOME": work, "LC_ALL": "C.UTF-8", "TZ": "UTC"}
        done = subprocess.run(
            [python, "-I", "-m", "build", "--no-isolation", "--outdir", made, source],
            env={**environ, "SOURCE_DATE_EPOCH": epoch.strip()},
            umask=0o022,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        if done.returncode:
            sys.exit(f"{done.stdout}\nThe build failed.")
        (sdist,) = made.glob("*.tar.gz")
        normalize(sdist, int(epoch))
        folder.mkdir(parents=True, exist_ok=True)
        for former in (*folder.glob("*.tar.gz"), *folder.glob("*.whl")):
            former.unlink()
        return [Path(shutil.copy(path, folder)) for path in sorted(made.iterdir())]


def git(repository, *arguments, text=True):
    """Return what a command of git prints."""
    command = ["git", "-C", repository, *arguments]
    return subprocess.run(command, stdout=subprocess.PIPE, check=True, text=text).stdout


def export(repository, folder):
    """Write the files of the last commit into a folder, as git has them."""
    options = ("-c", "core.autocrlf=false", "-c", "tar.umask=0022")
    archive = git(repository, *options, "archive", "--format=tar", "HEAD", text=False)
    folder.mkdir()
    subprocess.run(["tar", "-xf", "-", "-C", folder], input=archive, umask=0o022, check=True)


def normalize(sdist, epoch):
    """Rewrite an sdist without the times, users and modes of the machine."""
    with tarfile.open(sdist) as archive:
        files = [(each, archive.extractfile(each).read()) for each in archive if each.isfile()]
    with (
        sdist.open("wb") as file,
        gzip.GzipFile("", "wb", fileobj=file, mtime=epoch) as compressed,
        tarfile.open(fileobj=compressed, mode="w") as archive,
    ):
        for each, content in sorted(files, key=lambda pair: pair[0].name):
            member = tarfile.TarInfo(each.name)
            member.size, member.mtime = len(content), epoch
            member.mode = 0o755 if each.mode & 0o100 else 0o644
            archive.addfile(member, io.BytesIO(content))


def digest(path):
    """Return the SHA-256 digest of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def main():
    """Build the archives into `dist` of the checkout, and print their digests."""
    if not (ROOT / ".git").exists():
        sys.exit(NO_CLONE)
    if git(ROOT, "status", "--porcelain"):
        print("Changes that are not committed are left out.")
    for path in build(ROOT, ROOT / "dist"):
        print(f"{digest(path)}  {path.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
