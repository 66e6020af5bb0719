"""docs/providers.md: its entries are accepted, and its tables are those of the code."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.pages import PAGES, section, shown
from wsgiauth import Settings
from wsgiauth.settings.oidc import ProviderEntry, parse_entry

PAGE = PAGES["docs/providers.md"]
FIVE = section(PAGE, "Entries for five providers")
ENTRIES = re.findall(r"^OIDC_PROVIDERS='(.*)'$", FIVE, re.MULTILINE)
CLIENT = "google:https://client:secret@accounts.google.com"
SITE = "https://example.org"


def rows(title):
    """Return the rows of the table of a section, without its heading."""
    table = re.findall(r"^\| (.*) \|$", section(PAGE, title), re.MULTILINE)
    return [row.split(" | ") for row in table[1:]]


def test_the_entries_have_the_issuers_and_redirect_uris_of_the_table():
    parsed = [parse_entry(each) for each in ENTRIES]
    listed = [(issuer, uri) for _, issuer, uri in rows("Entries for five providers")]
    assert listed == [
        (f"`{each.issuer}`", f"`{SITE}/auth/oidc/{each.name}/callback`") for each in parsed
    ]


def test_a_site_can_have_all_of_the_entries():
    settings = Settings(OIDC_PROVIDERS=tuple(ENTRIES), PUBLIC_URL=SITE)
    assert tuple(ENTRIES) == settings.OIDC_PROVIDERS
    assert "secret" not in repr(settings)


def test_the_table_has_every_parameter_with_its_values_and_its_default():
    listed = {name.strip("`"): (values, default) for name, values, default, _ in rows("Parameters")}
    entry = parse_entry(CLIENT)
    identity = {"name", "issuer", "client_id", "client_secret"}
    assert listed.keys() == set(ProviderEntry._fields) - identity
    for name, (values, default) in listed.items():
        for value in re.findall(r"`(\w+)`", values):
            parse_entry(f"{CLIENT}?{name}={value}")
        if not default.startswith("`"):
            continue
        assert parse_entry(f"{CLIENT}?{name}={default.strip('`')}") == entry
    unnamed = {name for name, (_, default) in listed.items() if not default.startswith("`")}
    assert {each: getattr(entry, each) for each in unnamed} == {
        "title": "Google",
        "create": None,
        "groups": "",
        "prompt": "",
    }


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
