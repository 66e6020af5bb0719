"""The site that `make docs` builds: no warning, each public Python name, and no internal one."""

import re
import subprocess
import sys
import zlib

import pytest

from tests.conftest import require
from tests.docs.pages import PAGES, ROOT

LIST_PUBLIC_NAMES = """
import importlib, pkgutil
import django
from django.conf import settings
from wsgiauth import contrib

names = ["wsgiauth", "wsgiauth.events", "wsgiauth.exceptions", "wsgiauth.testing"]
names += [each.name for each in pkgutil.iter_modules(contrib.__path__, "wsgiauth.contrib.")]
names += [f"wsgiauth.contrib.django.{each}" for each in ("testing", "rest")]
apps = ["django.contrib.contenttypes", "django.contrib.auth", "wsgiauth.contrib.django"]
settings.configure(INSTALLED_APPS=apps)
django.setup()
for module in map(importlib.import_module, names):
    at_home = [name for name, it in vars(module).items() if not name.startswith("_")
               and getattr(it, "__module__", None) == module.__name__]
    for name in getattr(module, "__all__", at_home):
        print(f"{module.__name__}.{name}")
"""
MEMBERS = {"method", "classmethod", "staticmethod", "property", "attribute"}


@pytest.fixture(scope="module")
def built(tmp_path_factory, unmeasured):
    """Return the folder of the site, built as `make docs` does."""
    require("sphinx", "myst_parser", "furo", "rest_framework")
    folder = tmp_path_factory.mktemp("docs") / "site"
    rule = (ROOT / "Makefile").read_text("utf-8").partition("\ndocs:")[2]
    _, *arguments = re.search(r"-m sphinx (.*)", rule)[0].split()
    command = [sys.executable, "-m", *arguments[:-1], str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def documented(built):
    """Return the kind of each name in the reference: `class`, `method` and so on."""
    # After four lines of text; an alias in place of a definition has another number than 1.
    *_, compressed = (built / "objects.inv").read_bytes().split(b"\n", 4)
    lines = zlib.decompress(compressed).decode()
    return dict(re.findall(r"^(\S+) py:(\w+) 1 ", lines, re.MULTILINE))


def test_the_reference_has_each_public_name_and_no_other(documented):
    listing = [sys.executable, "-Wignore", "-c", LIST_PUBLIC_NAMES]  # with frameworks' warnings
    public = set(subprocess.check_output(listing, cwd=ROOT, text=True).split())
    assert {name for name, kind in documented.items() if kind not in MEMBERS | {"module"}} == public


def test_the_reference_has_what_users_can_do(documented):
    methods = {name for name, kind in documented.items() if kind in MEMBERS}
    assert methods >= {"wsgiauth.User.has_permission", "wsgiauth.User.join", "wsgiauth.Group.grant"}
    assert not {each for each in methods if re.search(r"\._|DoesNotExist|for_server", each)}


def test_each_page_is_a_chapter(built):
    contents = (built / "README.html").read_text("utf-8").partition('class="sidebar-tree"')[2]
    linked = set(re.findall(r'href="([^"#]*)\.html"', contents.partition("</aside>")[0]))
    assert {page.removesuffix(".md") for page in PAGES.keys() - {"README.md"}} <= linked
    assert "docs/reference" in linked


def test_the_site_loads_nothing_from_other_hosts(built):
    pages = [each.read_text("utf-8") for each in built.rglob("*.html")]
    assert len(pages) > len(PAGES)
    for page in pages:
        assert not re.search(r'<(?:script|img|link)\b[^>]*(?:src|href)="(?:https?:)?//', page)


def test_the_links_to_other_sites_are_listed(built):
    listed = (built / "external-links.txt").read_text("utf-8")
    assert "https://jinja.palletsprojects.com/ in docs/templates\n" in listed
