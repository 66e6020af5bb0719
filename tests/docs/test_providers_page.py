"""docs/providers.md, docs/provider-errors.md: their entries and facts are those of the code."""

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
from wsgiauth.features.providers.oidc import Providers
from wsgiauth.features.providers.oidc.failures import Failures
from wsgiauth.features.providers.oidc.profiles import make_account
from wsgiauth.features.providers.oidc.transport import MAX_AT_ONCE, MAX_SIZE, REST, TIMEOUT
from wsgiauth.features.providers.redirects import callback_url
from wsgiauth.settings.oidc import KINDS, ProviderEntry, parse_entry, parse_proxy
from wsgiauth.testing import make_settings

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


ISSUERS = {
    "google": "https://accounts.google.com",
    "entra": "https://login.microsoftonline.com/8eaef023-2b34-4da1-9baa-8bc8c9d6a490/v2.0",
    "keycloak": "https://id.example.org/realms/main",
    "gitlab": "https://gitlab.com",
    "auth0": "https://example.eu.auth0.com/",
    "github": "https://github.com",
    "discord": "https://discord.com",
}
SET_UP = section(PAGE, "Set it up")
URLS = re.findall(f"^- `({SITE}/.*?)`: (.*)$", SET_UP, re.MULTILINE)
REDIRECT_URI, LOGOUT_URI, POST_LOGOUT_URI = (url for url, _ in URLS)


def site_of(*entries):
    return AuthMiddleware(echo, make_settings(OIDC_PROVIDERS=entries, PUBLIC_URL=SITE))


def test_each_entry_has_its_issuer_and_redirect_uri():
    titles = re.findall("^### (.*)", FIVE, re.MULTILINE)
    assert len(titles) == 5
    app = site_of(*ENTRIES)
    site = app.site
    for title, provider in zip(titles, site.part(Providers), strict=True):
        entry = provider.entry
        assert entry.name in title.lower()
        assert entry.issuer == ISSUERS[entry.name]
        assert callback_url(site, provider) == REDIRECT_URI.replace("NAME", entry.name)
    storage.discard_connection(app.database)


def test_the_urls_for_a_provider_are_those_of_the_site():
    app = site_of(CLIENT)
    client = TestApp(app, extra_environ={"wsgi.url_scheme": "https", "HTTP_HOST": "example.org"})
    client.get(REDIRECT_URI.removeprefix(SITE).replace("NAME", "google"), status=400)
    refused = client.post(LOGOUT_URI.removeprefix(SITE).replace("NAME", "google"), status=400)
    assert refused.json["error"] == "invalid_request"
    client.get(POST_LOGOUT_URI.removeprefix(SITE), headers=BROWSER, status=200)
    storage.discard_connection(app.database)


def test_a_site_can_have_all_of_the_entries():
    settings = Settings(OIDC_PROVIDERS=tuple(ENTRIES), PUBLIC_URL=SITE)
    assert tuple(ENTRIES) == settings.OIDC_PROVIDERS
    assert "secret" not in repr(settings)


def test_the_first_entry_is_accepted():
    _, (command, _), _ = shown(PAGE, "Set it up")
    assert command.endswith(f" PUBLIC_URL={SITE}")
    assert parse_entry(re.search("OIDC_PROVIDERS='(.*)'", command)[1]).issuer == ISSUERS["google"]


def test_every_parameter_has_its_values_and_its_default():
    (rows,) = tables(section(PAGE, "Parameters"))
    listed = {name.strip("`"): values for name, values, _ in rows}
    entry = parse_entry(CLIENT)
    identity = {"name", "issuer", "client_id", "client_secret", "kind"}
    assert listed.keys() == set(ProviderEntry._fields) - identity
    for name, values in listed.items():
        for value in re.findall(r"`([a-z_]+)`", values):
            needed = "groups=a&" if name == "groups_from" else ""
            parse_entry(f"{CLIENT}?{needed}{name}={value}")
        if values.startswith("`"):
            default = re.match("`(.*?)`", values)[1]
            assert parse_entry(f"{CLIENT}?{name}={default}") == entry
    unnamed = {name: values for name, values in listed.items() if not values.startswith("`")}
    assert {each: getattr(entry, each) for each in unnamed} == {
        "title": "Google",
        "create": None,
        "groups": "",
        "prompt": "",
        "icon": "",
    }
    assert {name: re.split("[;,] ", values)[0] for name, values in unnamed.items()} == {
        "title": "the name",
        "create": "as `REGISTRATION`",
        "groups": "none",
        "prompt": "none",
        "icon": "none",
    }


def test_the_facts_of_github_and_discord_are_those_of_the_code():
    section_text = section(PAGE, "GitHub and Discord")
    (shown_entries,) = re.findall(r"^OIDC_PROVIDERS='(.*)'$", section_text, re.MULTILINE)
    parsed = [parse_entry(each) for each in shown_entries.split()]
    assert [each.kind for each in parsed] == [each for each in KINDS if each]
    app = site_of(*shown_entries.split())
    site = app.site
    for title, provider in zip(("GitHub", "Discord"), site.part(Providers), strict=True):
        entry = provider.entry
        listed, kind = re.search(f"^- {title}: (.*)$", section_text, re.MULTILINE)[1], entry.kind
        scopes, added, prompt = re.search(
            r"Scopes: `([^`]+)`; `([^`]+)` is added. `prompt`: `([^`]+)`", listed
        ).groups()
        assert entry.issuer == ISSUERS[entry.name]
        assert callback_url(site, provider) == REDIRECT_URI.replace("NAME", entry.name)
        assert prompt == " ".join(KINDS[kind].prompts)
        assert [scopes, added] == ["+".join(KINDS[kind].scope), *KINDS[kind].needed]
    storage.discard_connection(app.database)
    github = parse_entry(re.search(r"`(work\+github:[^`]+)`", section_text)[1])
    assert GitHub(github.issuer).token_endpoint.startswith("https://github.example.org/")


def test_parameters_that_need_claims_are_named():
    text = section(PAGE, "GitHub and Discord")
    named = re.findall("`(.*?)`", re.search(r"^- (.*) need claims", text, re.MULTILINE)[1])
    assert len(named) == 4
    for name in named:
        with pytest.raises(ValueError, match=f"{name} needs OpenID Connect"):
            parse_entry(f"a+github:https://client:secret@github.com?{name}=a")


def test_the_proxies_are_accepted():
    shown_proxies = re.findall("`(http://[^`]*:3128)`", section(PAGE, "A proxy for the requests"))
    assert [parse_proxy(each).port for each in shown_proxies] == [3128, 3128]


def test_the_command_encodes_a_secret():
    (command,) = (each for each, _ in shown(PAGE, "Set it up") if each.startswith("python"))
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
    sent = parse_qs(urlsplit(url).query)["post_logout_redirect_uri"]
    assert [each.replace(LOCAL, SITE) for each in sent] == [POST_LOGOUT_URI]


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
    text = section(PAGE, "Second factors and recent proofs")
    claims = re.findall(r"^- `(amr|acr)` with (.*)$", text, re.MULTILINE)
    assert [name for name, _ in claims] == ["amr", "amr", "acr", "acr"]
    (alone,), both, *acrs = [re.findall(r"`([^`]+)`", values) for _, values in claims]
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
    (seen,) = tables(ERRORS)
    assert [row[:2] for row in seen] == [[each.detail, str(int(each.status))] for each in made]


def test_the_log_has_the_line_that_is_shown(mock, caplog):
    (line,) = code(section(ERRORS, "Read the log"), "")
    address = re.search(r"address=(\S+)", line)[1]
    with site_with(f"{mock.replace('mock:', 'google:')}/") as browser:
        browser.extra_environ["REMOTE_ADDR"] = address
        browser.post("/auth/oidc/google", {"next": "/"}, headers=FORM, status=502)
    (record,) = (each for each in caplog.records if hasattr(each, "event"))
    time = re.match(r"time=\S+", line)[0]
    assert re.sub(r"^time=\S+", time, record.getMessage()) == line.strip()


def test_the_other_lines_of_the_log_are_those_of_the_code():
    folder = ROOT / "wsgiauth/features/providers/oidc"
    source = "".join(each.read_text("utf-8") for each in folder.glob("*.py"))
    lines = re.findall("^- `(the provider google .*?)`", section(ERRORS, "Read the log"), re.M)
    assert len(lines) == 3
    for each in lines:
        assert f'"{each.replace("google", "%s")}' in source


def test_the_requests_in_reasons_are_those_of_the_code():
    folder = ROOT / "wsgiauth/features/providers"
    source = "".join(each.read_text("utf-8") for each in folder.rglob("*.py"))
    of_openid, of_others, (logout,) = (
        re.findall("`(.*?)`", each)
        for each in re.findall("^- (`[a-z]+`.*)", section(ERRORS, "Read the log"), re.M)
    )
    assert {*of_openid} == {*re.findall(r'Request\("(\w+)"', source)}
    assert {*of_others} == {"token", *re.findall(r'ask\("(\w+)"', source)}
    assert f'"{logout}: "' in source


def test_the_limits_are_those_of_the_code():
    text = section(ERRORS, "Limits of requests")
    assert f"after {TIMEOUT:g} seconds, or {MAX_SIZE // 1024} KiB" in text
    assert MAX_AT_ONCE == 2
    assert f"nothing for {REST} seconds" in text
