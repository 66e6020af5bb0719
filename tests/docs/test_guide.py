"""docs/guide.md: a reader who follows it step by step sees what it says and shows."""

import re

import pytest

from tests.docs.guide import GUIDE, SEEN, STEPS, follow, reading
from tests.docs.pages import ROOT, save_programs, section
from tests.support.browser import SCHEMES

FOLDER = ROOT / "docs" / "guide"
PICTURES = re.findall(
    r"""<picture>
  <source media="\(prefers-color-scheme: dark\)" srcset="guide/(\w+)-dark.webp">
  <img src="guide/\1-light.webp" width="\d+" alt="[^"]{20,}">
</picture>""",
    GUIDE,
)
MOST = 500_000  # bytes of all pictures, so that the page opens quickly


@pytest.fixture
def taken():
    """Return a list for the names of the pictures that are taken."""
    return []


@pytest.fixture
def reader(tmp_path, environ, no_drivers, taken):
    """Return a reader of the guide, who looks at its pages without a real camera."""
    del environ["SECRET_KEY"]
    environ["PYTHONPATH"] = str(no_drivers)
    with reading(tmp_path / "board", environ, lambda name, *_: taken.append(name)) as reader:
        yield reader


def test_each_step_is_followed():
    assert list(SEEN) == STEPS


def test_a_reader_follows_it_and_sees_the_pages_of_its_pictures(reader, taken):
    follow(reader)
    assert taken == PICTURES


WITHOUT_USERNAMES = """
from board import site
from webtest import TestApp

from wsgiauth import AuthMiddleware
from wsgiauth.testing import bearer, make_settings, make_user

app = AuthMiddleware(site, make_settings(USERNAMES=False))
print(TestApp(app).get("/", headers=bearer(app, make_user(app, "ada"))).text)
"""


def test_without_usernames_its_pages_show_the_address(run, folder):
    save_programs(section(GUIDE, "2. A site with accounts"), folder)
    (folder / "without_usernames.py").write_text(WITHOUT_USERNAMES, encoding="utf-8")
    page = run("python without_usernames.py")
    assert "<p>Hello, ada@example.org!</p>" in page
    assert '<a href="/auth/account">ada@example.org</a>' in page


def test_each_picture_exists_and_they_are_small():
    files = {f"{name}-{scheme}.webp" for name in PICTURES for scheme in SCHEMES}
    assert {each.name for each in FOLDER.iterdir()} == files
    assert len(PICTURES) == GUIDE.count("guide/") / 2 == GUIDE.count("<img")
    assert sum(each.stat().st_size for each in FOLDER.iterdir()) < MOST
