"""docs/providers.md: its entries are accepted, and its facts are those of the code."""

import ast
import os
import re
import shlex
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from webtest import TestApp

from tests.conftest import require
from tests.docs.pages import PAGES, ROOT, code, commands, section, shown
from tests.support.sites import BROWSER, SECRET_KEY, echo, free_port, started
from wsgiauth import AuthMiddleware, Settings, storage
from wsgiauth.cli import main
from wsgiauth.features.providers.oauth.github import GitHub
from wsgiauth.features.providers.oidc.failures import Failures
from wsgiauth.features.providers.oidc.profiles import make_account
from wsgiauth.settings.oidc import KINDS, ProviderEntry, parse_entry, parse_proxy
from wsgiauth.testing import make_settings
from wsgiauth.web.certificates import REFUSED, UNKNOWN_AUTHORITY

PAGE = PAGES["docs/providers.md"]
ERRORS = PAGES["docs/provider-errors.md"]
FIVE = section(PAGE, "Entries for five providers")
ENTRIES = re.findall(r"^OIDC_PROVIDERS='(.*)'$", FIVE, re.MULTILINE)
CLIENT = "google:https://client:secret@accounts.google.com"
SITE = "https://example.org"
LOCAL = "http://localhost:8080"
FORM = {"Sec-Fetch-Site": "same-origin", **BROWSER}


def tables(text):
    """Return the tables of a text: their rows, without their headings."""
    found = re.findall(r"^\|.*\n\|[-|]+\n((?:\|.*\n)+)", text, re.MULTILINE)
    return [[row.strip("| ").split(" | ") for row in table.splitlines()] for table in found]


def facts(title):
    """Return the facts of the list in a section."""
    return dict(re.findall(r"^- ([^:]+): (.*)$", section(PAGE, title), re.MULTILINE))


def test_each_entry_has_its_issuer_and_redirect_uri():
    titles = re.findall("^### (.*)", FIVE, re.MULTILINE)
    for title, each in zip(titles, map(parse_entry, ENTRIES), strict=True):
        listed = facts(title)
        assert listed["Issuer"] == f"`{each.issuer}`"
        assert listed["Redirect URI"] == f"`{SITE}/auth/oidc/{each.name}/callback`"


def test_a_site_can_have_all_of_the_entries():
    settings = Settings(OIDC_PROVIDERS=tuple(ENTRIES), PUBLIC_URL=SITE)
    assert tuple(ENTRIES) == settings.OIDC_PROVIDERS
    assert "secret" not in repr(settings)


def test_every_parameter_has_its_values_and_its_default():
    names = re.findall("^#### (.*)", section(PAGE, "Parameters"), re.MULTILINE)
    listed = {name: (facts(name)["Values"], facts(name)["Default"]) for name in names}
    entry = parse_entry(CLIENT)
    identity = {"name", "issuer", "client_id", "client_secret", "kind"}
    assert listed.keys() == set(ProviderEntry._fields) - identity
    for name, (values, default) in listed.items():
        for value in re.findall(r"`(\w+)`", values):
            needed = "groups=a&" if name == "groups_from" else ""
            parse_entry(f"{CLIENT}?{needed}{name}={value}")
        if not default.startswith("`"):
            continue
        assert parse_entry(f"{CLIENT}?{name}={default.strip('`')}") == entry
    unnamed = {name for name, (_, default) in listed.items() if not default.startswith("`")}
    assert {each: getattr(entry, each) for each in unnamed} == {
        "title": "Google",
        "create": None,
        "groups": "",
        "prompt": "",
        "icon": "",
    }


def test_the_facts_of_github_and_discord_are_those_of_the_code():
    section_text = section(PAGE, "GitHub and Discord")
    (shown_entries,) = re.findall(r"^OIDC_PROVIDERS='(.*)'$", section_text, re.MULTILINE)
    parsed = [parse_entry(each) for each in shown_entries.split()]
    assert [each.kind for each in parsed] == [each for each in KINDS if each]
    for title, each in zip(("GitHub", "Discord"), parsed, strict=True):
        listed, kind = facts(title), KINDS[each.kind]
        assert listed["Issuer of an account"] == f"`{each.issuer}`"
        assert listed["Redirect URI"] == f"`{SITE}/auth/oidc/{each.name}/callback`"
        assert listed["`prompt`"] == f"`{' '.join(kind.prompts)}`"
        scopes = re.findall(r"`([^`]+)`", listed["Scopes"])
        assert scopes == ["+".join(kind.scope), *kind.needed]
    github = parse_entry(re.search(r"`(work\+github:[^`]+)`", section_text)[1])
    assert GitHub(github.issuer).token_endpoint.startswith("https://github.example.org/")
    Settings(OIDC_PROVIDERS=tuple(shown_entries.split()), PUBLIC_URL=SITE)


def test_parameters_that_need_claims_are_named():
    named = re.search(r"The parameters (.*) need claims", section(PAGE, "GitHub and Discord"))[1]
    for name in re.findall("`(.*?)`", named):
        with pytest.raises(ValueError, match=f"{name} needs OpenID Connect"):
            parse_entry(f"a+github:https://client:secret@github.com?{name}=a")


def test_the_proxies_are_accepted():
    shown_proxies = re.findall("`(http://[^`]*:3128)`", section(PAGE, "A proxy for the requests"))
    assert [parse_proxy(each).port for each in shown_proxies] == [3128, 3128]


def test_the_mistake_is_named_as_shown():
    shown_mistake = re.search(r'"(in the entry google: .*?)"', PAGE)[1]
    with pytest.raises(ValueError, match=re.escape(shown_mistake)):
        Settings(OIDC_PROVIDERS=(f"{CLIENT}?title=A&title=B",), PUBLIC_URL=SITE)


def test_the_command_encodes_a_secret():
    (command,) = (each for each, _ in shown(PAGE, "The setting") if each.startswith("python"))
    secret = "a:b@c/d+e%f g?#"
    done = subprocess.run(
        ["bash", "-c", command],
        input=f"{secret}\n",
        env={"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "LC_ALL": "C.UTF-8"},
        capture_output=True,
        check=True,
        start_new_session=True,  # without a terminal, from which it would read
        text=True,
    )
    entry = parse_entry(f"a:https://client:{done.stdout.strip()}@example.org")
    assert entry.client_secret == secret


@pytest.fixture(scope="module")
def mock():
    """Start the provider as the page says, on another port; return the entry for it."""
    require("oidc_provider_mock")
    _, start, serve = (command for command, _ in shown(PAGE, "Try it here"))
    port = free_port()
    program = [sys.executable, "-m", "oidc_provider_mock"]
    command = [*program, *shlex.split(start.replace("9400", str(port)))[1:]]
    with started(command, port, stderr=subprocess.DEVNULL):
        yield re.search("'(.*)'", serve)[1].replace("9400", str(port))


@contextmanager
def site_with(entry):
    """Return a browser at a site with an entry."""
    settings = make_settings(OIDC_PROVIDERS=(entry,), PUBLIC_URL=LOCAL)
    site = AuthMiddleware(echo, settings)
    yield TestApp(
        site, extra_environ={"HTTP_HOST": urlsplit(LOCAL).netloc, "REMOTE_ADDR": "127.0.0.1"}
    )
    storage.discard_connection(site.database)


def log_in(browser, user="1"):
    """Press the button, and choose a user at the provider; return the answer of the callback."""
    page = browser.get("/auth/login")
    assert ">Log in with Mock</button>" in page
    url = browser.post("/auth/oidc/mock", {"next": "/"}, headers=FORM, status=303).location
    assert f'name="sub" value="{user}"' in httpx.get(url).text
    location = httpx.post(url, data={"sub": user}).headers["Location"]
    return browser.get(location.removeprefix(LOCAL), headers=BROWSER, status=303)


def test_a_reader_logs_in_with_the_provider_that_runs_here(mock):
    with site_with(mock) as browser:
        page = log_in(browser).follow()
        assert page.forms[0]["username"].value == "ada"
        page.forms[0].submit(status=303)
        assert browser.get("/auth/me").json["has_password"] is False
        browser.reset()
        assert log_in(browser).location == "/"


def test_a_logout_goes_on_at_the_provider_which_knows_the_way_back(mock):
    with site_with(f"{mock}?logout=provider") as browser:
        log_in(browser).follow().forms[0].submit(status=303)
        url = browser.post("/auth/logout", headers=FORM, status=303).location
    assert url.startswith(f"{parse_entry(mock).issuer}/")
    _, urls = tables(section(PAGE, "The setting"))
    registered, _ = urls[-1]
    sent = parse_qs(urlsplit(url).query)["post_logout_redirect_uri"]
    assert [each.replace(LOCAL, SITE) for each in sent] == [registered.strip("`")]


def test_check_warns_as_shown(mock, database_url, monkeypatch, capsys):
    (block,) = code(ERRORS, "console")
    ((command, printed),) = commands(block)
    for name, value in {
        "DATABASE_URL": database_url,
        "SECRET_KEY": SECRET_KEY,
        "PUBLIC_URL": LOCAL,
        "OIDC_PROVIDERS": f"{mock.replace('mock:', 'google:')}/",
    }.items():
        monkeypatch.setenv(name, value)
    assert main(command.removeprefix("python -m wsgiauth ").split()) == 0
    assert printed.removesuffix("…\n") in capsys.readouterr().out


def methods_of(**claims):
    """Return the methods of a login at a provider that the site trusts, by its claims."""
    entry = parse_entry(f"{CLIENT}?second_factor=trusted")
    return make_account(entry, {"sub": "1", **claims}, 0).methods


def test_the_claims_of_the_table_prove_a_second_factor():
    (single, several, *contexts), _ = tables(section(PAGE, "Second factors and recent proofs"))
    names = [re.findall(r"`([^`]+)`", row[1]) for row in (single, several, *contexts)]
    (alone,), both, *acrs = names
    known, possessed = both[:3], both[3:]
    assert methods_of(amr=[alone]) == "fed mfa"
    assert {methods_of(amr=[one, other]) for one in known for other in possessed} == {"fed mfa"}
    assert {methods_of(acr=each) for (each,) in acrs} == {"fed mfa"}
    assert {methods_of(amr=known), methods_of(amr=possessed), methods_of(acr="1")} == {"fed"}


def test_what_users_see_is_what_the_page_says():
    failures = Failures("Google")
    made = [
        failures.unavailable("timeout", 10),
        failures.busy(),
        failures.wrong("keys"),
        failures.clock(),
        failures.callback("state"),
        failures.declined("access_denied"),
        failures.not_confirmed(),
    ]
    seen, _ = tables(ERRORS)
    assert [row[:2] for row in seen] == [[each.detail, str(int(each.status))] for each in made]


def test_every_reason_is_listed():
    _, listed = tables(ERRORS)
    named = {each for reasons, _ in listed for each in re.findall(r"`([^`]+)`", reasons)}
    assert named - {"invalid_scope"} == {*reasons_of_the_code(), *COMPUTED}


# The reasons that are no literals where they are raised.
COMPUTED = {
    *(f"…: {each}" for each in ("connection", "proxy", "timeout", "too large")),
    *(f"…: {each}" for each in (REFUSED, UNKNOWN_AUTHORITY)),
    "clock",
    "auth_time",
    "busy",
    "used",
    "changed meanwhile",
    "logout: …",
}


def reasons_of_the_code():
    """Return the reasons of failures in the source, as the page writes them."""
    folder = ROOT / "wsgiauth/features/providers"
    modules = [*folder.glob("oidc/*.py"), *folder.glob("oauth/*.py")]
    files = [*modules, folder / "endpoints/oidc_callback.py"]
    found = set()
    for call in (node for file in files for node in calls_in(file)):
        prefix = {"DiscoveryError": "discovery: ", "OutgoingError": "…: "}.get(name_of(call), "")
        if name_of(call) in RAISE:
            found |= {f"{prefix}{each}" for each in strings_of(call.args[0])}
    return found


RAISE = {
    *("TokenError", "DiscoveryError", "ApiError", "OutgoingError"),
    *("wrong", "callback", "unavailable", "declined", "refusal"),
}


def calls_in(file):
    tree = ast.parse(file.read_text("utf-8"))
    return [node for node in ast.walk(tree) if isinstance(node, ast.Call) and node.args]


def name_of(call):
    return getattr(call.func, "id", None) or getattr(call.func, "attr", "")


def strings_of(node):
    """Return the strings that an expression can be, where … stands for what is computed."""
    match node:
        case ast.Constant(value=str(text)):
            return {text}
        case ast.IfExp():
            return strings_of(node.body) | strings_of(node.orelse)
        case ast.JoinedStr():
            parts = [getattr(each, "value", None) for each in node.values]
            text = "".join(each if isinstance(each, str) else "…" for each in parts)
            return set() if text == "…: …" else {text}
    return set()
