"""The rights of an ordinary user, also where the tests run as root."""

import os
import tempfile
from contextlib import contextmanager
from pathlib import Path

import pytest

NOBODY = 65534
OTHER = 12345  # the number of a user who need not exist


@contextmanager
def ordinary_user():
    """Run a block without the rights of root, whom no mode of a file stops."""
    user = os.geteuid()
    if user == 0:
        os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(user)


@contextmanager
def public_folder():
    """Make a folder that every user can reach, unlike pytest's."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


def give_away(path):
    """Let another user own a file, or skip the test."""
    if os.geteuid():
        pytest.skip("only root can give a file to another user")
    os.chown(path, OTHER, -1, follow_symlinks=False)
