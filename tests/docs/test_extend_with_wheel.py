"""docs/extend.md: an author who has nothing but the wheel and the page follows it."""

import shutil
import subprocess
import sys

import pytest

from tests.docs.author import read_in_german, typing
from tests.docs.pages import ROOT


@pytest.fixture
def programs(tmp_path):
    """Return the folder of the commands of an environment that has the wheel."""
    checkout, environment = tmp_path / "checkout", tmp_path / "environment"
    shutil.copytree(ROOT / "wsgiauth", checkout / "wsgiauth")
    for path in ROOT.glob("[LRps]*.*"):
        if path.is_file():
            shutil.copy(path, checkout)
    uv = [sys.executable, "-m", "uv", "--quiet"]
    subprocess.run([*uv, "build", "--wheel", "--no-build-isolation", checkout], check=True)
    (wheel,) = (checkout / "dist").glob("*.whl")
    subprocess.run([*uv, "venv", "--seed", "--python", sys.executable, environment], check=True)
    install = [*uv, "pip", "install", "--python", environment, f"{wheel}[testing]"]
    subprocess.run(install, check=True)
    return environment / "bin"


@pytest.mark.usefixtures("unmeasured")
def test_an_author_with_the_wheel_follows_it(tmp_path, programs):
    folder = tmp_path / "library"
    folder.mkdir()
    with typing(folder, programs) as author:
        author.read()
        read_in_german(author)
