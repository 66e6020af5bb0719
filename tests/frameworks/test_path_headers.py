"""The rules by path, and headers from which frameworks and common middleware take a path.

Each framework gets every header of the form X-… that its source code names, and those of the
middleware that sites put around it.
"""

import re
from importlib.util import find_spec
from pathlib import Path

import pytest
from webob import Request

from tests.conftest import require
from tests.frameworks.conftest import PACKAGES, each_of
from wsgiauth import AuthMiddleware, storage
from wsgiauth.testing import make_settings

SECRET = "the plan"
NAMED = re.compile(r"\bX[-_][A-Za-z][A-Za-z_-]+")
OF_MIDDLEWARE = {
    *("X-Forwarded-Prefix", "X-HTTP-Method-Override", "X-Original-URL", "X-Rewrite-URL"),
    *("X-Script-Name", "X-Vhm-Root"),
}
VALUES = ("/secret", "/secret/plan", "/pub")
PATHS = ("/plan", "/pub/secret/plan")


def by_script_name(app):
    """Wrap `app` in the middleware of many sites below a prefix; see X-Script-Name."""

    def middleware(environ, start_response):
        prefix = environ.get("HTTP_X_SCRIPT_NAME", "")
        if prefix and environ["PATH_INFO"].startswith(prefix):
            environ["SCRIPT_NAME"] = prefix
            environ["PATH_INFO"] = environ["PATH_INFO"].removeprefix(prefix)
        return app(environ, start_response)

    return middleware


def by_rewritten_url(app):
    """Wrap `app` in middleware for IIS, which rewrites URLs."""

    def middleware(environ, start_response):
        for name in ("HTTP_X_ORIGINAL_URL", "HTTP_X_REWRITE_URL"):
            environ["PATH_INFO"] = environ.get(name, environ["PATH_INFO"])
        return app(environ, start_response)

    return middleware


def by_forwarded_prefix(app):
    require("werkzeug")
    from werkzeug.middleware.proxy_fix import ProxyFix

    return ProxyFix(app, x_prefix=1)


def in_flask():
    from flask import Flask

    app = Flask("headers")
    app.add_url_rule("/secret/plan", view_func=lambda: SECRET)
    return app


def in_django():
    from django.core.handlers.wsgi import WSGIHandler, WSGIRequest
    from django.http import HttpResponse
    from django.urls import path

    class Urls:
        urlpatterns = (path("secret/plan", lambda request: HttpResponse(SECRET)),)

    class OurRequest(WSGIRequest):
        urlconf = Urls

    class Handler(WSGIHandler):
        request_class = OurRequest

    return Handler()


def in_pyramid():
    from pyramid.config import Configurator
    from pyramid.response import Response

    class Plan:
        pass

    tree = {"secret": {"plan": Plan()}, "pub": {}}
    with Configurator(root_factory=lambda request: tree) as config:
        config.add_view(lambda context, request: Response(SECRET), context=Plan)
    return config.make_wsgi_app()


def in_bottle():
    from bottle import Bottle

    app = Bottle()
    app.route("/secret/plan", callback=lambda: SECRET)
    return app


def in_falcon():
    import falcon

    class Plan:
        def on_get(self, req, resp):
            resp.text = SECRET

    app = falcon.App()
    app.add_route("/secret/plan", Plan())
    return app


def in_cherrypy():
    """Return a tree, which finds its applications by SCRIPT_NAME and PATH_INFO together."""
    import cherrypy
    from cherrypy._cptree import Tree

    class Secret:
        @cherrypy.expose
        def plan(self):
            return SECRET

    tree = Tree()
    tree.mount(Secret(), "/secret")
    tree.mount(None, "")
    return tree


@pytest.fixture
def make_site(recipe):
    """Return a function that wraps an application of a framework in all the middleware."""
    made = []

    def make(framework, **rules):
        require(framework)
        if framework == "django":
            recipe(framework)  # which sets Django up, as can be done only once
        app = globals()[f"in_{framework}"]()
        for wrap in (by_forwarded_prefix, by_rewritten_url, by_script_name):
            app = wrap(app)
        made.append(AuthMiddleware(app, make_settings(), **rules))
        return made[-1]

    yield make
    for site in made:
        storage.discard_connection(site.database)


def headers_of(framework):
    """Return the names of headers in the source code of a framework, and those of middleware."""
    found = find_spec(framework)
    folders = found.submodule_search_locations
    files = (
        [each for folder in folders for each in Path(folder).rglob("*.py")]
        if folders
        else [Path(found.origin)]
    )
    named = {name for each in files for name in NAMED.findall(each.read_text("utf-8", "replace"))}
    return {name.upper().replace("-", "_") for name in named | OF_MIDDLEWARE}


def reached(site, names):
    """Return the requests without a login that reach the secret."""
    found = []
    for name in sorted(names):
        for value in VALUES:
            for path in PATHS:
                request = Request.blank(path, environ={f"HTTP_{name}": value})
                if SECRET.encode() in request.get_response(site).body:
                    found.append((name, value, path))
    return found


@pytest.mark.promise(48)
@pytest.mark.parametrize("framework", each_of(PACKAGES))
@pytest.mark.parametrize(
    "rules", [{"require": {"/secret/": "code.secret"}}, {"public": ["/pub/", "/plan"]}]
)
def test_no_header_leads_past_the_rules(make_site, framework, rules):
    site = make_site(framework, **rules)
    assert reached(site, headers_of(framework)) == []
    assert Request.blank("/secret/plan").get_response(site).status_int == 401


LED_BY = {
    **{each: {"X_ORIGINAL_URL", "X_REWRITE_URL", "X_SCRIPT_NAME"} for each in PACKAGES},
    "cherrypy": {"X_FORWARDED_PREFIX", "X_ORIGINAL_URL", "X_REWRITE_URL"},
    "pyramid": {"X_ORIGINAL_URL", "X_REWRITE_URL", "X_SCRIPT_NAME", "X_VHM_ROOT"},
}


@pytest.mark.parametrize("framework", each_of(PACKAGES))
def test_without_rules_a_framework_gets_the_headers(make_site, framework):
    site = make_site(framework)
    assert {name for name, _, _ in reached(site, headers_of(framework))} == LED_BY[framework]
