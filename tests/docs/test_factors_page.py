"""docs/two-factor.md: what it says about sites and views that demand a second factor is true."""

import json
import runpy

import pytest
from webtest import TestApp

from tests.docs.pages import PAGES, code, save_programs, section
from tests.support.factors import FACTOR_KEY, add_app
from tests.support.sites import BROWSER, PASSWORD, SECRET_KEY, echo
from wsgiauth import AuthMiddleware, login_required
from wsgiauth.settings.kinds import declarations
from wsgiauth.testing import logged_in, make_settings, make_user

PAGE = section(PAGES["docs/two-factor.md"], "Demanding a second factor")
CREDENTIALS = {"username": "ada", "password": PASSWORD}


def test_the_list_has_the_values_of_the_setting():
    expected = declarations(make_settings())["SECOND_FACTOR"].expected
    assert expected == "offered, staff or all"
    assert PAGE.index("- `offered`:") < PAGE.index("- `staff`:") < PAGE.index("- `all`:")


def test_the_answers_to_a_program_are_those_shown():
    settings = make_settings(FACTOR_KEY=FACTOR_KEY, SECOND_FACTOR="all")
    site = AuthMiddleware(login_required(echo), settings)
    make_user(site, "ada", password=PASSWORD)
    client = TestApp(site)
    given = client.post_json("/auth/login", CREDENTIALS).json
    (shown,) = map(json.loads, code(PAGE, "json"))
    assert given.keys() == shown.keys()
    assert shown["expires_in"] - 60 < given["expires_in"] <= shown["expires_in"]  # less the wait
    assert {**given, "access_token": "…", "expires_in": shown["expires_in"]} == shown
    client.authorization = ("Bearer", given["access_token"])
    challenge = client.get("/", status=401).headers["WWW-Authenticate"]
    assert f"\nWWW-Authenticate: {challenge}\n" in PAGE


@pytest.mark.parametrize("has_app", [False, True])
def test_the_view_demands_a_second_factor(has_app, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SECRET_KEY", SECRET_KEY)
    save_programs(PAGE, tmp_path)
    vault = runpy.run_path("vault.py")["vault"]
    site = AuthMiddleware(vault, make_settings(FACTOR_KEY=FACTOR_KEY))
    ada = make_user(site, "ada")
    if has_app:
        add_app(site, ada)
    browser = logged_in(site, ada, second_factor=False)
    url = "/auth/confirm" if has_app else "/auth/totp"
    answer = browser.get("/", headers=BROWSER, status=302)
    assert answer.headers["Location"] == f"{url}?next=%2F"
    assert logged_in(site, ada, second_factor=True).get("/", headers=BROWSER, status=200)
