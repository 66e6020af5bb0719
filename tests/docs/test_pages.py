"""Every page: its links lead somewhere, and the settings that it names exist."""

import re
from dataclasses import fields
from functools import cache
from urllib.parse import urlsplit

from tests.docs.pages import PAGES, ROOT, slug
from wsgiauth import Settings

EXAMPLES = sorted(str(path.relative_to(ROOT)) for path in ROOT.glob("docs/examples/*/*.py"))
PUBLIC = {"wsgiauth", "wsgiauth.exceptions", "wsgiauth.events", "wsgiauth.testing"}
PUBLIC |= {f"wsgiauth.extend{each}" for each in ("", ".console", ".openapi")}

# Names that look like settings of ours, and are not.
OTHERS = {
    "BCRYPT_HANDLE_LONG_PASSWORDS",
    "JWT_ACCESS_TOKEN_EXPIRES",
    "JWT_REFRESH_TOKEN_EXPIRES",
    "JWT_SECRET_KEY",
    "LOGIN_URL",
    "OAUTH_PKCE_ENABLED",
    "OAUTH_PROVIDERS",
    "OIDC_OP_JWKS_ENDPOINT",
    "OIDC_RP_SIGN_ALGO",
    "OIDC_USE_PKCE",
    "REMEMBER_COOKIE_DURATION",
    "SESSION_COOKIE_AGE",
    "SESSION_ENGINE",
}
FAMILIES = {each.name.partition("_")[0] for each in fields(Settings)} - {"TEMPLATES"}


@cache
def anchors(path):
    """Return the anchors of the headings of a page."""
    return {slug(each) for each in re.findall(r"^#+ (.*)", path.read_text("utf-8"), re.MULTILINE)}


def test_the_links_lead_somewhere():
    for page, text in PAGES.items():
        text = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
        for target in re.findall(r"\]\(([^)\s]+)\)", text):
            path, _, anchor = target.partition("#")
            if urlsplit(target).scheme:
                continue
            found = (ROOT / page).parent / path if path else ROOT / page
            assert found.exists(), (page, target)
            assert not anchor or anchor in anchors(found), (page, target)


def test_programs_import_from_public_modules_only():
    """The program of the other page is a part of wsgiauth."""
    for page in [*sorted(PAGES.keys() - {"docs/architecture.md"}), *EXAMPLES]:
        text = (ROOT / page).read_text("utf-8")
        modules = re.findall(r"^ *(?:from|import) (wsgiauth\b[\w.]*)", text, re.MULTILINE)
        own = {each for each in modules if not each.startswith("wsgiauth.contrib.")}
        assert own <= PUBLIC, page


def test_the_settings_that_are_named_exist():
    names = {each.name for each in fields(Settings)} | OTHERS
    pattern = re.compile(rf"(?<![\w$])(?:{'|'.join(FAMILIES)})_[A-Z_]+\b")
    unknown = {page: set(pattern.findall(text)) - names for page, text in PAGES.items()}
    assert unknown == {page: set() for page in PAGES}
