"""docs/architecture.md names modules and code that exist.

The feature of docs/architecture.md works, and is all that a feature needs.
"""

import importlib
import json
import os
import re
import shutil
import subprocess
import sys

import pytest

from tests.docs.pages import PAGES, ROOT, section
from tests.support import house

ROOMS = {*house.ROOMS} - {"wsgiauth"}
MODULES = {f"wsgiauth.{each}" for each in house.MODULES}
NAMED = {
    name
    for name in re.findall(r"`([a-z_]+(?:\.\w+)+)(?:\(.*?\))?`", PAGES["docs/architecture.md"])
    if name.partition(".")[0] in ROOMS
}


def test_there_are_names_to_look_up():
    assert len(NAMED) > 20


def test_what_the_map_names_exists():
    """Names are those of a module, or of something in one, perhaps an attribute of a class."""
    for name in NAMED:
        module, rest = f"wsgiauth.{name}", []
        while module not in MODULES:
            module, _, last = module.rpartition(".")
            rest.insert(0, last)
        found = importlib.import_module(module)
        for each in rest:
            assert hasattr(found, each), name
            found = getattr(found, each)


@pytest.fixture(scope="module")
def extended(tmp_path_factory):
    """Return a folder with a copy of wsgiauth that has the feature of the page."""
    copy = tmp_path_factory.mktemp("house")
    shutil.copytree(ROOT / "wsgiauth", copy / "wsgiauth")  # with the bytecode, to save a second
    walk = section(PAGES["docs/architecture.md"], "Write a feature")
    for text, block in re.findall(r"(.*?)^```\w+\n(.*?)^```$", walk, re.MULTILINE | re.DOTALL):
        path = copy / "wsgiauth" / re.findall(r"`(features/lockdown/.*?)`", text)[-1]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(block, encoding="utf-8")
    (copy / "wsgiauth/features/lockdown/__init__.py").write_text('"""A feature."""\n')
    features = copy / "wsgiauth/features/registry.py"
    imported = "from wsgiauth.features.lockdown.feature import FEATURE as LOCKDOWN\n"
    source = features.read_text(encoding="utf-8").replace("FEATURES = (", "FEATURES = (LOCKDOWN,")
    features.write_text(imported + source, encoding="utf-8")
    return copy


@pytest.mark.usefixtures("unmeasured")
def test_the_feature_of_the_page_is_one_folder_and_one_line(extended):
    trial = [sys.executable, ROOT / "tests/support/lockdown.py"]
    environ = {**os.environ, "PYTHONPATH": str(extended)}
    answers = subprocess.check_output(trial, env=environ, text=True)
    status, location, statuses, document, lacking, again = json.loads(answers)
    assert (status, location) == (303, "/auth/login?done=logout")
    assert statuses == [401, 401]
    assert document == {"detail": "Account locked."}
    required = "new_password_required"
    assert lacking == [required, required, "KeyNotAcceptedOrNewPasswordRequired"]
    assert again == [403, 200]


@pytest.mark.slow
@pytest.mark.usefixtures("unmeasured")
def test_the_tests_find_nothing_wrong_with_the_feature_of_the_page(extended):
    for folder in ("docs", "tests"):
        shutil.copytree(ROOT / folder, extended / folder)
    for file in ("pyproject.toml", "sample_wsgi.py"):
        shutil.copy(ROOT / file, extended)
    tests = ["tests/endpoints/test_openapi.py", "tests/forms/test_shown_to.py", "-k", "lockdown"]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests]
    environ = {**os.environ, "PYTHONPATH": str(extended)}
    done = subprocess.run(command, cwd=extended, env=environ, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
