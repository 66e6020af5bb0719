"""TERMS_VERSION: which values are valid."""

from datetime import date, datetime

import pytest

from tests.features.terms.sites import TERMS, VERSION
from tests.support.sites import SECRET_KEY
from wsgiauth import Settings
from wsgiauth.exceptions import ConfigurationError

WRONG = [
    "",
    "20261128",
    "2026-W48-6",
    "2026-331",
    "2026-11-31",
    "2026-02-29",
    "2026-13-01",
    "2026-00-10",
    "0000-01-01",
    "2026-1-2",
    "28.11.2026",
    "2026-11-28T00:00:00",
    "2026-11-28\n",
    "\uff12026-11-28",
    "\u0662\u0660\u0662\u0666-11-28",
    "latest",
    "2",
    "true",
    date(2026, 11, 28),
    datetime(2026, 11, 28),
    20261128,
    True,
]


def make(**changes):
    return Settings(SECRET_KEY=SECRET_KEY, **{**TERMS, **changes})


@pytest.mark.parametrize("version", ["2026-11-28", "2024-02-29", "0001-01-01", "9999-12-31"])
def test_a_day_that_exists_is_a_version(version):
    assert version == make(TERMS_VERSION=version).TERMS_VERSION


@pytest.mark.parametrize("version", WRONG, ids=repr)
def test_anything_else_is_refused_at_start(version):
    with pytest.raises(ConfigurationError, match="TERMS_VERSION must be"):
        make(TERMS_VERSION=version)


def test_so_it_is_in_the_environment(monkeypatch):
    for name, value in {"SECRET_KEY": SECRET_KEY, **TERMS}.items():
        monkeypatch.setenv(name, value)
    assert Settings.from_environ().TERMS_VERSION == VERSION
    monkeypatch.setenv("TERMS_VERSION", "20261102")
    with pytest.raises(ConfigurationError, match="TERMS_VERSION must be the day of the version"):
        Settings.from_environ()


def test_the_version_needs_the_url_of_the_text():
    with pytest.raises(ConfigurationError, match="TERMS_URL must be set, because TERMS_VERSION is"):
        make(TERMS_URL=None)
    assert make(TERMS_VERSION=None).TERMS_VERSION is None
