"""The site of `serve` without an application: the login, and nothing else."""

import pytest
from webtest import TestApp

from tests.support.sites import SECRET_KEY
from wsgiauth import storage
from wsgiauth.cli.applications import make_login_site


@pytest.fixture
def make_client(database_url, monkeypatch):
    """Return a function that returns a client of the site with some settings in the environment."""
    made = []

    def make(**environ):
        settings = {"SECRET_KEY": SECRET_KEY, "BCRYPT_ROUNDS": "4", "DATABASE_URL": database_url}
        for name, value in {**settings, **environ}.items():
            monkeypatch.setenv(name, value)
        made.append(make_login_site())
        return TestApp(made[0])

    yield make
    for site in made:
        storage.discard_connection(site.database)


def test_the_home_page_leads_to_the_account(make_client):
    assert make_client().get("/", status=303).headers["Location"] == "/auth/account"


def test_there_is_no_other_path(make_client):
    assert make_client().get("/hello", status=404).json["code"] == "not_found"


def test_a_misspelt_setting_with_another_default_is_warned_of(make_client, caplog):
    make_client(REGISTRATON="on")
    assert "the similar REGISTRATION is not set" in caplog.text


@pytest.mark.parametrize(
    ("environ", "checked", "registered"),
    [
        pytest.param({}, 401, 404, id="strangers cannot read what it protects"),
        pytest.param({"FORWARD_AUTH": "", "REGISTRATION": ""}, 401, 404, id="empty"),
        pytest.param({"FORWARD_AUTH": "off", "REGISTRATION": "on"}, 404, 200, id="as it is set"),
    ],
)
def test_proxies_can_ask_and_no_one_can_register_unless_it_is_set(
    make_client, environ, checked, registered
):
    client = make_client(**environ)
    client.get("/auth/check", status=checked)
    client.get("/auth/register", status=registered)
