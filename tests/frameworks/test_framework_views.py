"""Views of real frameworks below a guard for WSGI callables: none is served without its guard."""

from contextlib import suppress

import pytest
from webtest import TestApp

from tests.conftest import require
from tests.frameworks.conftest import PACKAGES, each_of
from wsgiauth import login_required

entered = []


@login_required
def view(first, second):
    """Have parameters that could be those of a WSGI callable."""
    entered.append(first)


class Resource:
    """Has a responder of Falcon and a handler of CherryPy."""

    @login_required
    def on_get(self, first, second):
        entered.append(first)

    @login_required
    def default(self, first, second):
        entered.append(first)

    default.exposed = True


def in_flask():
    from flask import Flask
    from flask.views import MethodView, View

    class Page(View):
        def __init__(self, model, template):
            pass

    class Item(MethodView):
        def get(self, item_id):
            """Take a part of the URL."""

    app = Flask("program")
    app.testing = True
    app.add_url_rule("/<first>/<second>", view_func=view)
    return app, [Page, Item, Item.get]


def in_django():
    from django.http import HttpRequest
    from django.views.generic import RedirectView, TemplateView

    class Page(TemplateView):
        def get(self, request, *args, **kwargs):
            """Take a request."""

    def site(environ, start_response):
        return view(HttpRequest(), second="2")

    return site, [Page, Page.get, Page.as_view(), RedirectView]


def in_pyramid():
    from pyramid.config import Configurator

    class Page:
        def __init__(self, context, request):
            pass

    with Configurator() as config:
        config.add_route("view", "/1/2")
        config.add_view(view, route_name="view")
    return config.make_wsgi_app(), [Page]


def in_bottle():
    from bottle import Bottle

    app = Bottle()
    app.route("/<first>/<second>", callback=view)
    return app, []


def in_falcon():
    from falcon import App

    app = App()
    app.add_route("/1/2", Resource())
    return app, [Resource]


def in_cherrypy():
    from cherrypy import Application

    return Application(Resource()), [Resource]


PROGRAMS = {
    "flask": in_flask,
    "django": in_django,
    "pyramid": in_pyramid,
    "bottle": in_bottle,
    "falcon": in_falcon,
    "cherrypy": in_cherrypy,
}


@pytest.mark.parametrize("framework", each_of(PROGRAMS))
def test_no_view_of_a_framework_is_served(framework, recipe):
    require(framework)
    recipe(framework)  # which sets up Django
    program, classes = PROGRAMS[framework]()
    for each in classes:
        with pytest.raises(TypeError, match="guard WSGI callables"):
            login_required(each)
    with suppress(TypeError):  # some frameworks raise it, others answer
        assert TestApp(program).get("/1/2", expect_errors=True).status_code in (404, 500)
    assert not entered


@pytest.mark.parametrize("framework", each_of(PACKAGES))
def test_the_applications_of_a_framework_are_guarded(framework, recipe):
    """Each is a WSGI callable, as are its parts that are mounted."""
    module = recipe(framework)
    assert callable(login_required(module.application))
    if hasattr(module, "app"):
        assert callable(login_required(module.app))
