"""Reads the files of SERVICE_KEYS, if only their owner can read them.

An error message names the file, and never has a part of its contents.
"""

import os
import stat
from pathlib import Path

from wsgiauth.exceptions import ConfigurationError
from wsgiauth.settings.checks import other_owner
from wsgiauth.settings.kinds import wrong_setting

MAX_FILES = 20
MAX_SIZE = 16 * 1024  # bytes; a key of RSA with 4,096 bits has 3,300


def read_files(path: Path) -> list[tuple[Path, bytes]]:
    """Return a file, or the files of a folder in alphabetical order, with their contents.

    Skips names that begin with a dot: editors and Kubernetes make such files and folders. Follows
    symbolic links.
    """
    try:
        if path.is_dir():
            _refuse_shared(path)
            files = sorted(each for each in path.iterdir() if not each.name.startswith("."))
        else:
            files = [path]
        if not files:
            raise refused(path, "is an empty folder")
        if len(files) > MAX_FILES:
            raise refused(path, f"has more than {MAX_FILES} files")
        return [(each, _read(each)) for each in files]
    except ConfigurationError:
        raise
    except (OSError, ValueError) as error:  # ValueError: the name has a NUL
        reason = getattr(error, "strerror", None) or "not a path"
        name = getattr(error, "filename", None) or path
        raise refused(name, f"cannot be read ({reason})") from None


def refused(path: Path | str, problem: str) -> ConfigurationError:
    """Return the error for a file or folder; `problem` is the rest of the sentence about it."""
    return wrong_setting(
        "SERVICE_KEYS", f"a file or folder of private keys in PEM form; {str(path)!r} {problem}"
    )


def _refuse_shared(folder: Path) -> None:
    """Refuse a folder in which other users can rename keys, so that another one signs.

    With the sticky bit, as in Kubernetes, they cannot. Files that they add are refused.
    """
    status = folder.stat()
    can_write = status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    if os.name == "posix" and can_write and not status.st_mode & stat.S_ISVTX:
        mode = f"{stat.S_IMODE(status.st_mode):04o}"
        raise refused(folder, f"can be changed by other users (mode {mode}): run chmod go-w")
    owner = other_owner(status)
    if owner is not None:
        problem = f"belongs to another user (uid {owner}), who can change it: run chown"
        raise refused(folder, problem)


def _read(path: Path) -> bytes:
    with open(path, "rb", opener=_open_at_once) as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise refused(path, "is not a file")
        # Windows does not have these modes.
        if os.name == "posix" and status.st_mode & (stat.S_IRWXG | stat.S_IRWXO):
            mode = f"{stat.S_IMODE(status.st_mode):04o}"
            raise refused(path, f"can be opened by other users (mode {mode}): run chmod 600")
        owner = other_owner(status)
        if owner is not None:
            problem = f"belongs to another user (uid {owner}), who can read it: run chown"
            raise refused(path, problem)
        contents = file.read(MAX_SIZE + 1)
    if len(contents) > MAX_SIZE:
        raise refused(path, f"has more than {MAX_SIZE} bytes")
    return contents


def _open_at_once(path: str, flags: int) -> int:
    """Open a file; without O_NONBLOCK, which Windows lacks, a named pipe would block the start."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))
