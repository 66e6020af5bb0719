"""docs/choose.md: its settings and lines of code are accepted as they are."""

import re
import shlex

from flask import Flask

from tests.docs.pages import PAGES, code, section
from tests.support.factors import FACTOR_KEY
from tests.support.sites import SECRET_KEY
from tests.support.webhook_receiver import KEY as WEBHOOK_KEY
from wsgiauth import AuthMiddleware, Settings
from wsgiauth.contrib.flask import WSGIAuth
from wsgiauth.settings.kinds import declarations

PAGE = PAGES["docs/choose.md"]
LINES = re.findall(r"^(?:\| .* \| |- )(.*`.*)$", PAGE, re.MULTILINE)
CALLS = {*re.findall(r"`((?:AuthMiddleware|WSGIAuth)\(.*?\))`", PAGE)}
(VALUES,) = code(section(PAGE, "The values"), "sh")
KEYS = {"SECRET_KEY": SECRET_KEY, "FACTOR_KEY": FACTOR_KEY, "WEBHOOK_KEY": WEBHOOK_KEY}


def settings_of(text):
    """Return the settings that a line names, with those that these need."""
    settings = {}
    for name, given in re.findall(rf"\b({'|'.join(declarations(Settings))})\b(=[^`]+)?", text):
        usual = re.search(rf"^{name}=(\S+|\".*\")(?:  #(.*))?$", VALUES, re.MULTILINE)
        if given:
            settings[name] = "".join(shlex.split(given)).removeprefix("=")
        else:
            settings[name] = KEYS.get(name, usual[1])
        settings |= settings_of(usual[2] or "") if usual else {}
    return settings


def test_the_settings_of_a_line_are_all_that_it_needs():
    named = [found for line in LINES if (found := settings_of(line))]
    assert len(named) > 10
    for each in named:
        Settings.for_server({"SECRET_KEY": SECRET_KEY, **each})


def test_a_line_of_code_is_accepted(settings, monkeypatch):
    for name in ("SECRET_KEY", "DATABASE_URL"):
        monkeypatch.setenv(name, getattr(settings, name))
    for call in CALLS:
        names = {"app": Flask("app"), "AuthMiddleware": AuthMiddleware, "WSGIAuth": WSGIAuth}
        eval(call, names)  # noqa: S307 - a line of the page
