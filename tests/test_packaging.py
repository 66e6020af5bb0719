"""What is built can be installed into nothing, and does the whole job from there."""

import email
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import time
import venv
import zipfile
from datetime import datetime
from pathlib import Path
from urllib.request import Request, urlopen

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

from tests.conftest import skip_or_fail
from tests.docs.pages import PAGES, ROOT, section, shown
from tests.release.checks import DUMPS, STABLE, SURFACE
from tests.release.dist import digest, git
from tests.support.sites import PASSWORD, running

pytestmark = pytest.mark.usefixtures("unmeasured")

PACKAGE_DATA = {
    "wsgiauth/py.typed",
    "wsgiauth/data/common_passwords.txt",
    "wsgiauth/storage/migrations/0001_schema.py",
    "wsgiauth/templates/error.html",
    "wsgiauth/templates/icon.svg",
    "wsgiauth/templates/logged_in.html",
    "wsgiauth/templates/login.html",
    "wsgiauth/templates/mail/layout.txt",
    "wsgiauth/features/links/templates/mail/reset.txt",
    "wsgiauth/templates/register.html",
    "wsgiauth/templates/style.css",
}

KNOWN = """AUTHOR_EMAIL = "ada@example.org"
PROJECT_URLS = {"Source": "https://example.org", "Issues": "", "Security": "https://example.org/x"}
"""
CONSTANTS = r"^AUTHOR_EMAIL = (.*\n)*?}\n"

# For an environment that has what wsgiauth depends on.
QUICK = {"PIP_NO_DEPS": "1", "PIP_NO_COMPILE": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}


@pytest.fixture(scope="module")
def tools(tmp_path_factory):
    """Return a Python that has the tools of a release alone."""
    folder = tmp_path_factory.mktemp("tools")
    uv = [sys.executable, "-m", "uv", "--quiet"]
    subprocess.run([*uv, "venv", "--python", sys.executable, folder], check=True)
    wanted = ["--require-hashes", "--requirement", ROOT / "tests/release/tools.txt"]
    subprocess.run([*uv, "pip", "install", "--python", folder, *wanted], check=True)
    return folder / "bin/python"


@pytest.fixture(scope="module")
def checkout(tmp_path_factory, tools):
    """Return a repository with what git would commit of this one, and built distributions."""
    copy = tmp_path_factory.mktemp("packaging") / "checkout"
    if not (ROOT / ".git").exists():
        skip_or_fail("this is no repository")  # but an unpacked sdist
    listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    for name in subprocess.check_output(listed, cwd=ROOT, text=True).splitlines():
        if (ROOT / name).exists():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, copy / name)
    git(copy, "init", "--quiet")
    git(copy, "add", "--all")
    author = ("-c", "user.name=test", "-c", "user.email=test@example.org")
    git(copy, *author, "commit", "--quiet", "--message", "All")
    build(copy, tools)
    return copy


def build(folder, python, umask=0o022, **environ):
    """Build the archives as `make dist` does."""
    subprocess.run(
        [python, "-m", "tests.release.dist"],
        cwd=folder,
        env={"PATH": os.environ["PATH"], **environ},
        umask=umask,
        check=True,
        capture_output=True,
    )


@pytest.fixture(scope="module")
def wheel(checkout):
    """Return the path of the built wheel."""
    (path,) = (checkout / "dist").glob("*.whl")
    return path


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    """Return the folder of commands of an empty environment."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, with_pip=True)
    return folder / "bin"


@pytest.fixture(scope="module")
def installed(wheel, environment):
    """Install the wheel into the empty environment; return its folder of commands."""
    pip = [environment / "pip", "install", "--no-compile", "--disable-pip-version-check"]
    subprocess.run([*pip, wheel], check=True, capture_output=True)
    return environment


def in_dist_info(wheel, name):
    archive = zipfile.ZipFile(wheel)
    (path,) = [each for each in archive.namelist() if each.endswith(f".dist-info/{name}")]
    return archive.read(path)


def metadata_of(wheel):
    return email.message_from_bytes(in_dist_info(wheel, "METADATA"))


@pytest.fixture(scope="module")
def materials(wheel):
    """Return the SBOM in the wheel, as text."""
    return in_dist_info(wheel, "sboms/wsgi-accounts.cdx.json").decode()


def test_a_commit_makes_the_same_bytes_anywhere(checkout, tools, tmp_path):
    elsewhere = tmp_path / "another folder"
    subprocess.run(["git", "clone", "--quiet", checkout, elsewhere], umask=0o077, check=True)
    for untracked in (
        "wsgiauth/former.py",
        "build/lib/wsgiauth/former.py",
        "tests/former.pyc",
        "dist/wsgi_accounts-0.0.1.tar.gz",
    ):
        (elsewhere / untracked).parent.mkdir(parents=True, exist_ok=True)
        (elsewhere / untracked).write_text("left over")
    (elsewhere / "README.md").write_text("not committed")
    build(elsewhere, tools, umask=0o077, TZ="Asia/Tokyo", LC_ALL="C", PYTHONHASHSEED="1")
    digests = [
        {path.name: digest(path) for path in (each / "dist").iterdir()}
        for each in (checkout, elsewhere)
    ]
    assert digests[0] == digests[1]
    assert len(digests[0]) == 2


def test_the_archives_have_the_time_of_the_commit(checkout, wheel):
    committed = int(git(checkout, "log", "-1", "--format=%ct"))
    (sdist,) = (checkout / "dist").glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        assert {each.mtime for each in archive} == {committed}
    moment = time.gmtime(committed - committed % 2)[:6]  # a ZIP archive counts two seconds
    assert {each.date_time for each in zipfile.ZipFile(wheel).infolist()} == {moment}


def test_the_bill_of_materials_is_valid(materials):
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(materials) is None


def test_the_bill_of_materials_has_each_requirement_as_declared(wheel, materials):
    declared = [
        each["value"]
        for component in json.loads(materials)["components"]
        for each in component["properties"]
    ]
    assert sorted(declared) == sorted(metadata_of(wheel).get_all("Requires-Dist"))


def test_the_bill_of_materials_names_the_sources_of_the_common_passwords(materials):
    (passwords,) = json.loads(materials)["metadata"]["component"]["components"]
    named = {
        f"{each['name']} {each.get('version', '')}".strip()
        for each in passwords["pedigree"]["ancestors"]
    }
    licences = (ROOT / "wsgiauth/data/licenses.txt").read_text(encoding="utf-8")
    assert named == {*re.findall(r"^(\S+(?: [\d.]+)?):$", licences, re.MULTILINE)}


def test_the_bill_of_materials_says_the_time_of_the_commit(checkout, materials):
    moment = datetime.fromisoformat(json.loads(materials)["metadata"]["timestamp"])
    assert moment.timestamp() == int(git(checkout, "log", "-1", "--format=%ct"))


def test_the_wheel_holds_the_package_and_nothing_else(wheel):
    names = set(zipfile.ZipFile(wheel).namelist())
    assert names >= PACKAGE_DATA
    assert {name.partition("/")[0].partition("-")[0] for name in names} == {
        "wsgiauth",
        "wsgi_accounts",
    }


def test_the_wheel_has_no_common_fault(wheel):
    check = [sys.executable, "-m", "check_wheel_contents", wheel]  # configured in pyproject.toml
    subprocess.run(check, cwd=ROOT, check=True)


def test_an_index_accepts_and_renders_the_metadata(checkout):
    check = [sys.executable, "-m", "twine", "check", "--strict", *(checkout / "dist").iterdir()]
    subprocess.run(check, check=True)


def test_the_wheel_names_the_distribution_and_its_licence(wheel):
    metadata = metadata_of(wheel)
    assert metadata["Name"] == "wsgi-accounts"
    assert metadata["License-Expression"] == "MIT AND BSD-3-Clause"  # PEP 639
    assert metadata.get_all("License-File") == ["LICENSE", "wsgiauth/data/licenses.txt"]
    assert metadata["License"] is None


def test_the_metadata_have_the_addresses_that_setup_py_knows(checkout, tools, tmp_path):
    folder = tmp_path / "checkout"
    shutil.copytree(checkout, folder, ignore=shutil.ignore_patterns(".git", "dist", "tests"))
    change(folder / "setup.py", CONSTANTS, KNOWN)
    subprocess.run([tools, "setup.py", "--quiet", "egg_info"], cwd=folder, check=True)
    metadata = email.message_from_bytes((folder / "wsgi_accounts.egg-info/PKG-INFO").read_bytes())
    assert metadata["Author-email"] == "ada@example.org"
    assert metadata.get_all("Project-URL") == [
        "Source, https://example.org",
        "Security, https://example.org/x",
    ]


def test_every_extra_is_for_users(wheel):
    assert sorted(metadata_of(wheel).get_all("Provides-Extra")) == [
        *(
            "argon2",
            "metrics",
            "mysql",
            "oidc",
            "passkeys",
            "postgres",
            "services",
            "testing",
            "totp",
        ),
    ]


def test_the_page_on_an_index_links_only_to_other_sites(wheel):
    page = metadata_of(wheel).get_payload()
    assert not re.search(r"\]\((?!https?:)", page)
    assert "docs/guide.md" in page


def test_the_page_on_an_index_installs_from_the_index_what_the_readme_installs(wheel):
    page = metadata_of(wheel).get_payload()
    assert "checkout" not in page
    *_, installs = re.split("^## Install$", page, flags=re.MULTILINE)
    of_the_readme = re.findall(r"pip install ('?)\.(\S*)", section(PAGES["README.md"], "Install"))
    assert of_the_readme
    assert re.findall(r"pip install ('?)wsgi-accounts(\S*)", installs) == of_the_readme


def test_the_sdist_holds_everything(checkout):
    (path,) = (checkout / "dist").glob("*.tar.gz")
    with tarfile.open(path) as archive:
        names = {each.name.partition("/")[2] for each in archive.getmembers() if each.isfile()}
    committed = subprocess.check_output(["git", "ls-files"], cwd=checkout, text=True).splitlines()
    built = {name for name in names if ".egg-info/" in name} | {"PKG-INFO", "setup.cfg"}
    assert names - built == {*committed} - {".gitignore"}


def test_an_installation_from_the_folder_leaves_no_build_in_it(checkout, tmp_path):
    pip = [sys.executable, "-m", "pip", "wheel", "--no-build-isolation", "--wheel-dir", tmp_path]
    subprocess.run([*pip, "."], cwd=checkout, env={**os.environ, **QUICK}, check=True)
    assert list(tmp_path.glob("*.whl"))
    assert not (checkout / "build").exists()


def test_building_leaves_nothing_for_git_to_see(checkout):
    status = subprocess.check_output(["git", "status", "--porcelain"], cwd=checkout, text=True)
    assert status == ""


def test_the_installed_wheel_does_the_whole_job(checkout, installed, tmp_path):
    shutil.copy(checkout / "sample_wsgi.py", tmp_path)
    options = {"cwd": tmp_path, "env": {"PATH": f"{installed}:{os.environ['PATH']}"}}
    subprocess.run(
        ["wsgiauth", "createsuperuser", "--username=ada", "--email=a@b", "--password-stdin"],
        executable=installed / "wsgiauth",
        input=PASSWORD,
        text=True,
        check=True,
        **options,
    )
    serve = f"{installed}/waitress-serve --listen=127.0.0.1:8080 sample_wsgi:app"
    with running(serve, stderr=subprocess.DEVNULL, **options) as port:
        site = f"http://127.0.0.1:{port}"
        login = Request(
            f"{site}/auth/login",
            json.dumps({"username": "ada", "password": PASSWORD}).encode(),
            {"Content-Type": "application/json"},
        )
        token = json.load(urlopen(login))["access_token"]
        page = Request(f"{site}/staff", headers={"Authorization": f"Bearer {token}"})
        assert "ada, you belong to the staff" in urlopen(page).read().decode()
        assert "<form" in urlopen(f"{site}/auth/login").read().decode()


def test_the_page_about_versions_prints_the_bill_of_materials(installed, tmp_path):
    *_, (command, _) = shown(PAGES["docs/versions.md"], "Verify what you installed")
    environ = {"PATH": f"{installed}:{os.environ['PATH']}"}
    printed = subprocess.check_output(["bash", "-c", command], cwd=tmp_path, env=environ)
    assert json.loads(printed)["metadata"]["component"]["name"] == "wsgi-accounts"


def test_each_way_to_install_works(checkout, installed):
    ways = shown(PAGES["README.md"], "Install")
    *_, in_the_guide = shown(PAGES["docs/guide.md"], "1. Install")
    for command, _ in (*ways, in_the_guide):
        subprocess.run(
            ["bash", "-c", command.replace("/path/to/wsgiauth", str(checkout))],
            cwd=checkout,
            env={"PATH": f"{installed}:{os.environ['PATH']}", **QUICK},
            check=True,
            capture_output=True,
        )
        found = subprocess.check_output(
            [installed / "python", "-c", "import wsgiauth; print(wsgiauth.__file__)"],
            cwd=checkout.parent,
            text=True,
        )
        assert Path(found.strip()).is_relative_to(installed.parent)


def test_a_release_is_checked_and_can_be_published(checkout, tools, tmp_path):
    folder, version = tmp_path / "release", max(path.name for path in (ROOT / DUMPS).iterdir())
    git(tmp_path, "clone", "--quiet", checkout, folder)
    change(folder / "wsgiauth/version.py", '__version__ = ".*"', f'__version__ = "{version}"')
    change(folder / "setup.py", CONSTANTS, KNOWN)
    change(folder / "setup.py", "Development Status :: .*", f'{STABLE}",')
    change(folder / "CHANGELOG.md", "^## .*", f"## {version} (2026-11-27)")
    shutil.copy(folder / SURFACE / "current.txt", folder / SURFACE / "released.txt")
    author = ("-c", "user.name=test", "-c", "user.email=test@example.org")
    git(folder, *author, "commit", "--quiet", "--all", "--message", "Release")
    git(folder, *author, "tag", "--annotate", f"v{version}", "--message", "Release")
    command = [sys.executable, "-m", "tests.release", tools, version]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    made = sorted((folder / "dist").iterdir())
    names = " ".join(f"dist/{path.name}" for path in made)
    *_, printed = done.stdout.partition("SHA-256:\n")
    digests = [f"{digest(path)}  dist/{path.name}" for path in made]
    publish = [f"This publishes {version}:", f".venv/bin/twine upload {names}"]
    assert printed.splitlines() == [*digests, "", *publish]
    assert git(folder, "status", "--porcelain") == ""


def change(path, pattern, replacement):
    """Replace the first match in a file."""
    text = path.read_text(encoding="utf-8")
    path.write_text(re.sub(pattern, replacement, text, count=1, flags=re.MULTILINE), "utf-8")
