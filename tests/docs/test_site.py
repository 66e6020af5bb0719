"""The site that `make docs` builds: no warning, each public Python name, and old addresses."""

import json
import re
import subprocess
import sys
import zlib
from dataclasses import fields
from functools import partial
from html import unescape
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from urllib.parse import quote

import pytest
from selenium.webdriver import ActionChains

from tests.conftest import require
from tests.docs.pages import PAGES, ROOT, shown
from tests.support.browser import Visitor, set_screen, start_browser
from tests.test_extend import OBJECTS
from wsgiauth import Settings
from wsgiauth.cli import all_commands

DOOR = "wsgiauth.extend."
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
# The pages of before some of them were merged.
OLD_PAGES = [
    *("applications", "apps", "architecture", "asvs", "capacity", "clients", "clusters", "code"),
    *("command-line", "concurrency", "deployment", "django", "endpoints", "events", "factors"),
    *("flask", "forward-auth", "frameworks", "from-django-auth", "from-flask-login"),
    *("from-flask-security", "from-pyramid-jwt", "guards", "guide", "keys", "languages", "logins"),
    *("mail", "migration", "own-data", "providers", "pyramid", "reference", "security", "services"),
    *("settings", "speed", "staff", "subdomains", "templates", "testing", "tools"),
]
# What people type into the search, and what must come first.
SEARCHES = {
    "swagger": "docs/endpoints#get-authopenapijson",
    "two-factor": "docs/two-factor",
    "migrate django": "docs/migration#from-djangocontribauth",
    "static site": "docs/forward-auth#a-folder-of-files-behind-a-login",
    "account locked": "docs/settings#login_failures_per_account",
    "disable registration": "docs/settings#registration",
    "change color": "docs/settings#site_color",
    "change the logo": "docs/settings#site_logo",
    "delete user": "docs/staff#who-can-do-what",
    "webhook": "docs/webhooks",
    "registration fields": "docs/user-data#fields-of-registration",
    "groups": "docs/users#groups",
    "roles": "docs/users#groups",
    "permissions": "docs/user-data#permissions",
    "user model": "docs/user-data#profile-tables",
    "audit log": "docs/events#the-audit-trail",
    "gdpr": "docs/personal-data",
    "export data": "docs/personal-data",
    "current user": "docs/users#the-current-user",
    "mobile app": "docs/apps#a-mobile-app",
    "cors": "docs/apps#a-single-page-app-of-another-origin",
    "single page app": "docs/apps#a-single-page-app-of-the-same-origin",
    "jwt": "docs/apps#clients-that-stay-logged-in",
    "csrf": "docs/apps#forms-from-other-sites-csrf",
    "import users": "docs/command-line#importing-and-exporting-users",
    "backup": "docs/deployment#backups",
    "nginx": "docs/deployment#behind-nginx-or-another-proxy",
    "docker": "docs/deployment#containers",
    "secret key rotation": "docs/deployment#key-rotation",
    "gunicorn": "docs/deployment#one-host",
    "django": "docs/django",
    "2fa": "docs/two-factor",
    "totp": "docs/two-factor",
    "authenticator app": "docs/two-factor#authenticator-apps-and-recovery-codes",
    "recovery codes": "docs/two-factor#authenticator-apps-and-recovery-codes",
    "passkey": "docs/passkeys",
    "flask": "docs/flask",
    "translations": "docs/languages",
    "german": "docs/languages",
    "magic link": "docs/passwordless#a-code-by-email",
    "change password": "docs/sessions#change-the-password",
    "session timeout": "docs/sessions#how-long-a-session-lasts",
    "remember me": "docs/sessions#keep-me-logged-in",
    "refresh token": "docs/sessions#refresh-tokens",
    "delete account": "docs/sessions#rename-or-close-an-account",
    "logout everywhere": "docs/sessions#list-and-revoke-sessions",
    "password reset": "docs/mail#forgotten-passwords",
    "webhooks": "docs/webhooks",
    "reset password": "docs/mail#forgotten-passwords",
    "forgot password": "docs/mail#forgotten-passwords",
    "smtp": "docs/mail#settings",
    "email verification": "docs/mail#verified-registration-and-invitations",
    "migrate from django": "docs/migration#from-djangocontribauth",
    "flask login": "docs/migration#from-flask-login",
    "flask-login": "docs/migration#from-flask-login",
    "api key": "docs/api-keys",
    "sso": "docs/providers",
    "oauth": "docs/providers",
    "github login": "docs/providers#github-and-discord",
    "google login": "docs/providers#google",
    "pyramid": "docs/pyramid",
    "login_required": "docs/reference#wsgiauth.login_required",
    "cookie domain": "docs/settings#cookie_domain",
    "postgres": "docs/settings#database_url",
    "lockout": "docs/settings#login_failures_per_account",
    "brute force": "docs/settings#login_failures_per_account",
    "rate limit": "docs/settings#rate-limits-of-one-account",
    "SECRET_KEY": "docs/settings#secret_key",
    "logo": "docs/settings#site_logo",
    "admin": "docs/staff",
    "invite users": "docs/staff#inviting-a-person",
    "brand color": "docs/templates",
    "email templates": "docs/templates#emails",
    "dark mode": "docs/templates#shades-of-the-colour",
    "test client": "docs/testing",
}
# What people also type, and a page or section that must be among the first three.
FOUND = {
    "cors spa": "docs/apps#a-single-page-app-of-another-origin",
    "captcha": "docs/not-included",
    "health": "docs/deployment#health",
    "health check": "docs/deployment#health",
    "impersonate": "docs/not-included",
    "saml": "docs/not-included",
    "sms": "docs/not-included",
    "multiple email addresses": "docs/not-included",
    "ldap": "docs/not-included",
    "fastapi": "docs/not-included",
    "multi tenant": "docs/not-included",
    "prometheus metrics": "docs/deployment#metrics",
    "lost superuser password": "docs/command-line",
    "create superuser": "docs/command-line",
    "log out all users": "docs/command-line",
    "two sites one login": "docs/log-in-with-this-site#another-site-with-wsgiauth",
    "azure ad": "docs/providers#microsoft-entra",
    "webauthn": "docs/passkeys",
    "too many requests": "docs/settings#rate-limits-of-one-account",
    "protect static files": "docs/forward-auth#a-folder-of-files-behind-a-login",
    "unlock account": "docs/staff#failed-logins",
    "test logged in user": "docs/testing",
    "user id in header": "docs/forward-auth#a-service-in-any-language",
    "grafana": "docs/log-in-with-this-site#grafana",
    "mcp": "docs/mcp",
    "device code": "docs/write-an-app#devices-without-a-keyboard",
    "client credentials": "docs/write-an-app#a-program-that-logs-in-as-itself",
    "custom claims": "docs/write-an-app#what-an-app-gets",
    "plugin": "docs/extend",
    "extension": "docs/extend",
    "fastmcp": "docs/mcp",
    "invalid_client": "docs/log-in-with-this-site#when-an-app-cannot-log-in",
    "restore backup": "docs/deployment#backups",
    "upgrade": "docs/deployment#a-new-version",
    "email not sent": "docs/mail#what-to-watch",
    "invite": "docs/staff#inviting-a-person",
    "argon2": "docs/migration#former-passwords",
    "sqlalchemy": "docs/user-data#profile-tables",
    "basic auth": "docs/api-keys#basic-authentication",
    "client add": "docs/command-line#clients",
    "/auth/login": "docs/endpoints#post-authlogin",
    "AuthMiddleware": "docs/reference#wsgiauth.AuthMiddleware",
}
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
def visitor(built, chromium, tmp_path_factory):
    """Return a person who reads the site."""
    handler = partial(QuietHandler, directory=built)
    profile = f"--user-data-dir={tmp_path_factory.mktemp('profile')}"
    with ThreadingHTTPServer(("localhost", 0), handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        with start_browser(*chromium, profile) as browser:
            yield Visitor(browser, f"http://localhost:{server.server_port}")
        server.shutdown()


class QuietHandler(SimpleHTTPRequestHandler):
    """Serves files without a log."""

    def log_message(self, *arguments):
        pass


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
    described = {name for name, kind in documented.items() if kind not in MEMBERS | {"module"}}
    assert {each for each in described if not each.startswith(DOOR)} == public


def test_the_reference_has_each_class_and_function_of_the_door_once(documented):
    described = {name for name, kind in documented.items() if kind not in MEMBERS | {"module"}}
    first = {id(found): name for name, (_door, found) in reversed(OBJECTS.items())}
    # Sphinx leaves out a name that begins with an underscore.
    expected = {*first.values()} - {"wsgiauth.extend._"}
    assert {each for each in described if each.startswith(DOOR)} == expected


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


@pytest.mark.parametrize("name", OLD_PAGES)
def test_an_old_address_leads_on(built, name):
    page = built / f"docs/{name}.html"
    html = page.read_text("utf-8")
    target = re.search(r'rel="canonical" href="(.*?)"', html)
    if target is None:
        return  # it is still a page
    assert (page.parent / target[1]).exists()
    for new in json.loads(re.search(r"replace\((\{.*?\})\[location", html)[1]).values():
        path, _, anchor = new.partition("#")
        text = (page.parent / path).read_text("utf-8")
        assert not anchor or f' id="{anchor}"' in text, new


def test_the_sections_that_left_a_page_are_elsewhere(built):
    page = built / "docs/log-in-with-this-site.html"
    html = page.read_text("utf-8")
    moved = json.loads(re.search(r"const moved = (.*?)\[location", html)[1])
    assert moved
    for old, new in moved.items():
        path, _, anchor = new.partition("#")
        target = (page.parent / path).read_text("utf-8") if path else html
        assert not anchor or f' id="{anchor}"' in target, old
        assert f' id="{old.removeprefix("#")}"' not in html


@pytest.mark.parametrize(
    ("old", "new"),
    {
        "programs.html": "api-keys.html",
        "services.html#get-a-token": "services.html#get-a-token-for-a-service",
        "programs.html#a-service-in-python": "services.html#a-service-in-python",
        "log-in-with-this-site.html#logout": "write-an-app.html#logout",
        "log-in-with-this-site.html#consent": "log-in-with-this-site.html#what-users-see",
    }.items(),
    ids=["the page", "a renamed section", "a section", "to another page", "on its page"],
)
def test_a_browser_follows_an_old_address(visitor, old, new):
    visitor.browser.get("about:blank")  # another anchor of the same page would load nothing
    visitor.open(f"/docs/{old}")
    visitor.wait_until(lambda _: visitor.path == f"/docs/{new}")


def test_each_page_has_a_description_of_its_own(built):
    found = {}
    for name in PAGES:
        html = (built / name).with_suffix(".html").read_text("utf-8")
        found[name] = unescape(re.search(r'<meta name="description" content="(.*?)"', html)[1])
    assert len(set(found.values())) == len(found)
    assert {name: text for name, text in found.items() if not 40 < len(text) < 300} == {}


def test_sections_have_the_same_anchors_as_on_github(built):
    users = (built / "docs/users.html").read_text("utf-8")
    assert '<section id="which-name-id-label-username">' in users
    assert '<section id="secret_key">' in (built / "docs/settings.html").read_text("utf-8")


def test_the_copy_button_copies_commands_without_prompt_and_output(visitor):
    visitor.open("/README.html")
    origin = {"origin": visitor.address, "permissions": ["clipboardReadWrite"]}
    visitor.browser.execute_cdp_cmd("Browser.grantPermissions", origin)
    button = visitor.find("#a-program .highlight-console button.copybtn")
    ActionChains(visitor.browser).move_to_element(button).click().perform()
    visitor.wait_until(lambda _: "success" in button.get_attribute("class"))
    copied = visitor.browser.execute_async_script(
        "navigator.clipboard.readText().then(arguments[0])"
    )
    expected = shown(PAGES["README.md"], "A program")
    assert copied.splitlines() == [command for command, _ in expected]


@pytest.mark.parametrize(("words", "first"), SEARCHES.items(), ids=SEARCHES)
def test_a_search_finds_the_section_first(visitor, words, first):
    visitor.open(f"/search.html?q={quote(words)}")
    visitor.wait_until(lambda _: visitor.find_all("#search-results li a"))
    link = visitor.find("#search-results li a").get_attribute("href")
    assert link.removeprefix(visitor.address).replace(".html", "") == f"/{first}"


def first_three(visitor, queries):
    """Return what the search finds for each query, without loading a page for each."""
    visitor.open("/search.html?q=a")
    visitor.wait_until(
        lambda _: visitor.run("return typeof Search === 'object' && Search.hasIndex()")
    )
    find = """
        return arguments[0].map((query) => {
          history.replaceState(null, "", "?q=" + encodeURIComponent(query));
          const found = Search._performSearch(...Search._parseQuery(query)).reverse();
          return found.slice(0, 3).map(([page, , anchor]) => page + (anchor ?? ""));
        });
    """
    queries = list(queries)
    return dict(zip(queries, visitor.browser.execute_script(find, queries), strict=True))


def test_a_search_finds_the_page_among_the_first_three(visitor):
    found = first_three(visitor, FOUND)
    assert {each: found[each] for each in FOUND if FOUND[each] not in found[each]} == {}


def test_exact_names_of_commands_and_settings_win(visitor):
    settings = [each.name for each in fields(Settings)]
    found = first_three(visitor, [*all_commands(), *settings])
    pages = {each: found[each][0] for each in settings}
    assert pages == {each: f"docs/settings#{each.lower()}" for each in settings}
    subjects = {each for each in all_commands() if SEARCHES.get(each)}  # which come first
    for command in all_commands():
        first = found[command][1 if command in subjects else 0]
        assert first.partition("#")[0] == "docs/command-line", command


@pytest.mark.parametrize("width", [1440, 390])
def test_sentences_in_tables_are_readable(visitor, built, width):
    set_screen(visitor.browser, width)
    for page in PAGES:
        visitor.open(f"/{page.removesuffix('.md')}.html")
        narrow = visitor.run(
            """
            const cells = [...document.querySelectorAll("article td")];
            const isNarrow = (cell) => cell.textContent.length > 40 && cell.clientWidth < 200;
            const isWide = document.documentElement.scrollWidth > innerWidth;
            return [isWide, ...cells.filter(isNarrow).map((cell) => cell.textContent)];
            """
        )
        assert narrow == [False], page


def test_the_names_of_settings_are_links(built):
    page = (built / "docs/log-in-with-this-site.html").read_text("utf-8")
    link = r'href="settings\.html#oauth_server"><code[^>]*><span[^>]*>OAUTH_SERVER=on<'
    assert re.search(link, page)


def test_the_first_page_says_where_to_begin(built):
    page = (built / "README.html").read_text("utf-8")
    assert re.search(r'href="docs/guide\.html"><span[^>]*>a site in twenty minutes<', page)
