"""docs/own-data.md: its programs do what it says."""

import runpy

from webtest import TestApp

from tests.docs.pages import PAGES, section
from wsgiauth.authentication.claims import MAX_DEPTH, RESERVED
from wsgiauth.storage import context
from wsgiauth.testing import bearer, make_user

PAGE = PAGES["docs/own-data.md"]


def load(name, folder, environ, monkeypatch):
    """Return what a program of the page defines, in the folder of a reader."""
    for key in ("SECRET_KEY", "BCRYPT_ROUNDS"):
        monkeypatch.setenv(key, environ[key])
    monkeypatch.chdir(folder)
    return runpy.run_path(str(folder / f"{name}.py"))


def test_a_tenant_is_in_the_token(folder, environ, monkeypatch):
    site = load("tenants", folder, environ, monkeypatch)["application"]
    with context.using(site.database):
        headers = bearer(site, make_user(site, groups=["editors"]))
    assert TestApp(site).get("/", headers=headers).text == "tenant: 7\n"
    assert TestApp(site).get("/").text == "tenant: none\n"


def test_the_table_names_every_reserved_claim_and_the_depth():
    text = section(PAGE, "Claims")
    (row,) = [line for line in text.splitlines() if "a reserved name" in line]
    assert {*row.split("`")[1::2]} - {"wsgiauth"} == RESERVED
    assert f"more than {MAX_DEPTH} objects" in text
