"""Every page: its links lead somewhere, and the settings that it names exist."""

import re
from dataclasses import fields
from urllib.parse import urlsplit

import pytest

from tests.docs.pages import PAGES, ROOT, slug
from wsgiauth import Settings

EXAMPLES = sorted(str(path.relative_to(ROOT)) for path in ROOT.glob("docs/examples/*/*.py"))
PUBLIC = {"wsgiauth", "wsgiauth.exceptions", "wsgiauth.events", "wsgiauth.testing"}

# Names that look like settings of ours, and are not.
OTHERS = {
    "BCRYPT_HANDLE_LONG_PASSWORDS",
    "JWT_ACCESS_TOKEN_EXPIRES",
    "JWT_REFRESH_TOKEN_EXPIRES",
    "JWT_SECRET_KEY",
    "LOGIN_URL",
    "REMEMBER_COOKIE_DURATION",
    "SESSION_COOKIE_AGE",
    "SESSION_ENGINE",
}
FAMILIES = {each.name.partition("_")[0] for each in fields(Settings)} - {"TEMPLATES"}


@pytest.mark.parametrize("page", PAGES)
def test_the_links_lead_somewhere(page):
    text = re.sub(r"^```.*?^```$", "", PAGES[page], flags=re.MULTILINE | re.DOTALL)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        path, _, anchor = target.partition("#")
        if urlsplit(target).scheme:
            continue
        found = (ROOT / page).parent / path if path else ROOT / page
        assert found.exists(), target
        headings = re.findall(r"^#+ (.*)", found.read_text("utf-8"), re.MULTILINE) if anchor else ()
        assert not anchor or anchor in map(slug, headings), target


@pytest.mark.parametrize("page", [*sorted(PAGES.keys() - {"docs/architecture.md"}), *EXAMPLES])
def test_programs_import_from_public_modules_only(page):
    """The program of the other page is a part of wsgiauth."""
    text = (ROOT / page).read_text("utf-8")
    modules = re.findall(r"^ *(?:from|import) (wsgiauth\b[\w.]*)", text, re.MULTILINE)
    assert {each for each in modules if not each.startswith("wsgiauth.contrib.")} <= PUBLIC


@pytest.mark.parametrize("page", PAGES)
def test_the_settings_that_are_named_exist(page):
    text = PAGES[page]
    named = set(re.findall(rf"(?<![\w$])(?:{'|'.join(FAMILIES)})_[A-Z_]+\b", text))
    assert named - OTHERS <= {each.name for each in fields(Settings)}
