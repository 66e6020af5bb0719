"""The scopes of apps: which ones there are, and which ones a user can give an app."""

from dataclasses import replace

import pytest

from tests.support.oauth_apps import App
from tests.support.tables import row_by_row
from wsgiauth.authentication.scopes import in_words
from wsgiauth.features.oauth_server.scopes import is_scope, offered
from wsgiauth.features.oauth_server.tables import Client

ALL = "openid profile email groups offline_access reports.read"


@row_by_row("name", ALL.split())
def test_scopes_are_of_openid_connect_or_permissions(name):
    assert is_scope(name)


@row_by_row("name", ["", "address", "OpenID", "reports", "reports.read x", "*"])
def test_other_words_are_no_scopes(name):
    assert not is_scope(name)


@pytest.mark.promise(90)
@row_by_row(
    ("of_client", "asked", "expected"),
    [
        pytest.param("openid email", "openid email", "openid email", id="both"),
        pytest.param("openid", "email openid", "openid", id="not of the client"),
        pytest.param("openid email", "email openid email", "email openid", id="repeated"),
        pytest.param("openid x.y", "openid x.y", "openid", id="not of the user"),
        pytest.param("openid reports.read", "reports.read", "reports.read", id="a permission"),
        pytest.param("openid", "openid other.word address", "openid", id="unknown"),
        pytest.param("openid", "", "", id="none"),
    ],
)
def test_an_app_gets_what_it_and_the_user_have(ada, settings, of_client, asked, expected):
    ada.grant("reports.read")
    client = Client(scopes=of_client)
    assert offered(client, asked.split(), ada, settings, resource="") == expected.split()


def test_a_superuser_has_each_permission(ada, settings):
    ada.is_superuser = True
    assert offered(Client(scopes="x.y"), ["x.y"], ada, settings, resource="") == ["x.y"]


def test_nothing_outlives_the_browser_on_a_site_without_remembered_logins(ada, settings):
    client, settings = Client(scopes="openid offline_access"), replace(settings, REMEMBER_DAYS=0)
    assert offered(client, ["openid", "offline_access"], ada, settings, resource="") == ["openid"]


def test_words_have_an_order_that_is_not_that_of_the_app():
    asked = ("x.y", "offline_access", "a.b", "email", "openid")
    assert [each.name for each in in_words(asked)] == [
        "openid",
        "email",
        "offline_access",
        "a.b",
        "x.y",
    ]


@pytest.mark.promise(90)
def test_a_scope_that_the_user_has_lost_is_in_no_further_token(browser, ada, site):
    ada.grant("reports.read")
    app = App(site, scopes=("openid", "reports.read"))
    tokens = app.log_in(browser, scope="openid reports.read")
    ada.revoke("reports.read")
    assert app.refresh(tokens["refresh_token"])["scope"] == "openid"
    assert app.log_in(browser, scope="openid reports.read")["scope"] == "openid"


@pytest.mark.promise(90)
def test_a_scope_that_the_app_has_lost_is_in_no_further_token(browser, wiki):
    tokens = wiki.log_in(browser)
    Client.update(scopes="openid").execute()
    assert wiki.refresh(tokens["refresh_token"])["scope"] == "openid"
    assert wiki.log_in(browser)["scope"] == "openid"
