"""The adapter of Pyramid with another version of it, and with its debug toolbar."""

import re

import pytest
from webtest import TestApp

from tests.conftest import require
from tests.frameworks.conftest import each_of
from tests.support.sites import BROWSER
from tests.support.versions import python_with, run_tests
from wsgiauth import AuthMiddleware, storage
from wsgiauth.testing import logged_in, make_settings

LOCAL = {"REMOTE_ADDR": "127.0.0.1"}  # to which alone the toolbar shows itself


def test_the_adapter_works_with_pyramid_2_0():
    # Later versions of setuptools have no pkg_resources, which it imports.
    python = python_with("pyramid==2.0.*", "setuptools<82")
    assert "passed" in run_tests(python, "tests/contrib/test_pyramid.py")


@pytest.mark.parametrize("framework", each_of(["pyramid"]))
def test_the_debug_toolbar_works(framework):
    require("pyramid_debugtoolbar")
    from pyramid.authorization import Authenticated
    from pyramid.config import Configurator
    from pyramid.response import Response
    from pyramid.security import NO_PERMISSION_REQUIRED

    def page(request):
        return Response(f"<html><body>{request.authenticated_userid}</body></html>")

    with Configurator(default_permission=Authenticated) as config:
        config.include("wsgiauth.contrib.pyramid")
        config.include("pyramid_debugtoolbar")
        config.add_route("public", "/")
        config.add_view(page, route_name="public", permission=NO_PERMISSION_REQUIRED)
        config.add_route("account", "/account")
        config.add_view(page, route_name="account")
    site = AuthMiddleware(config.make_wsgi_app(), make_settings())
    anonymous, user = (TestApp(site, LOCAL), logged_in(site))
    user.extra_environ = LOCAL
    for client, path in [(anonymous, "/"), (user, "/"), (user, "/account")]:
        shown = client.get(path).text
        assert ("None" in shown) == (client is anonymous)
        toolbar = re.search(r'href="http://localhost(/_debug_toolbar/\d+)"', shown)[1]
        assert path in client.get(toolbar, status=200)
    refused = anonymous.get("/account", headers=BROWSER, status=302)
    assert refused.headers["Location"] == "/auth/login?next=%2Faccount"
    storage.discard_connection(site.database)
