"""PasteDeploy's filter; that an ini file finds it is shown by the README's test."""

import pytest
from webtest import TestApp

from tests.sites import SECRET_KEY, echo
from wsgiauth.exceptions import ConfigurationError
from wsgiauth.paste import filter_app_factory


def test_the_options_of_the_section_are_the_settings(database_url):
    site = filter_app_factory(
        echo, {}, SECRET_KEY=SECRET_KEY, DATABASE_URL=database_url, REGISTRATION="off", mount="/me"
    )
    TestApp(site).get("/me/login", status=200)
    TestApp(site).get("/me/register", status=404)
    TestApp(site).get("/auth/login", status=200).mustcontain("path_info")


def test_a_wrong_option_is_named():
    with pytest.raises(ConfigurationError, match="JWT_ALGORITHM"):
        filter_app_factory(echo, {}, SECRET_KEY=SECRET_KEY, JWT_ALGORITHM="none")
