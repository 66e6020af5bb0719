"""Views of real frameworks, in the files of real programs, below a guard for WSGI callables."""

import importlib

import pytest

from tests.conftest import require
from tests.frameworks.conftest import each_of
from wsgiauth import login_required, permission_required

PROGRAMS = {
    "flask": """
from flask import Blueprint, Flask, g, request
from flask.views import MethodView, View

app = Flask(__name__)
members = Blueprint("members", __name__)


def account():
    return {"user": g.user}


def article(name: str):
    return name


async def later():
    return ""


class Page(View):
    def dispatch_request(self):
        return ""


class Item(MethodView):
    init_every_request = False

    def get(self, item_id):
        return ""


VIEWS = [account, article, later, Page, Item, Item.get, Page.as_view("page"), Item().get]
""",
    "django": """
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_POST
from django.views.generic import RedirectView, TemplateView, View


def account(request):
    return HttpResponse()


def item(request, pk, page=1):
    return HttpResponse()


def anything(request, *args, **kwargs):
    return HttpResponse()


async def later(request: HttpRequest):
    return HttpResponse()


class Page(TemplateView):
    def get(self, request, *args, **kwargs):
        return HttpResponse()


VIEWS = [account, item, anything, later, Page, Page.get, Page.as_view(), View, RedirectView]
""",
    "pyramid": """
from pyramid.config import Configurator
from pyramid.response import Response
from pyramid.view import view_config, view_defaults


@view_config(route_name="account", renderer="json")
def account(request):
    return {}


def of_context(context, request):
    return Response()


@view_defaults(renderer="json")
class Page:
    def __init__(self, request):
        self.request = request

    @view_config(route_name="page")
    def show(self):
        return {}


class Item:
    def __init__(self, context, request):
        pass


VIEWS = [account, of_context, Page, Page.show, Item]
""",
    "bottle": """
from bottle import Bottle, request, route

app = Bottle()


@app.get("/")
def home():
    return {"user": request.user}


@app.get("/items/<item_id>")
def item(item_id):
    return {}


VIEWS = [home, item]
""",
    "falcon": """
import falcon


class Page:
    def on_get(self, req, resp):
        resp.media = {}

    def on_post(self, req, resp, item_id):
        resp.media = {}


class Later:
    async def on_get(self, req, resp):
        resp.media = {}


def sink(req, resp, **kwargs):
    resp.media = {}


VIEWS = [Page, Page.on_get, Page.on_post, Page().on_get, Later.on_get, sink]
""",
    "cherrypy": """
import cherrypy


class Site:
    @cherrypy.expose
    def index(self):
        return ""

    @cherrypy.expose
    def item(self, item_id):
        return ""


VIEWS = [Site, Site.index, Site.item, Site().index]
""",
}
INSTEAD = {
    "flask": "With Flask, use wsgiauth.contrib.flask.{0}.",
    "django": "With Django, use django.contrib.auth.decorators.{0} or wsgiauth.contrib.django.{0}.",
    "pyramid": "With Pyramid, use permission= of the view and wsgiauth.contrib.pyramid.",
    "bottle": "With Bottle, use the guard of its section in docs/frameworks.md.",
    "falcon": "With Falcon, use the guard of its section in docs/frameworks.md.",
    "cherrypy": "With CherryPy, use the guard of its section in docs/frameworks.md.",
}


@pytest.mark.parametrize("framework", each_of(PROGRAMS))
def test_the_views_of_a_framework_are_refused_with_its_own_guard(framework, tmp_path, monkeypatch):
    require(framework)
    program = f"views_of_{framework}"
    (tmp_path / f"{program}.py").write_text(PROGRAMS[framework], encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    for view in importlib.import_module(program).VIEWS:
        with pytest.raises(TypeError) as refused:
            login_required(view)
        assert str(refused.value).endswith(INSTEAD[framework].format("login_required"))
        with pytest.raises(TypeError) as refused:
            permission_required("a.b")(view)
        assert str(refused.value).endswith(INSTEAD[framework].format("permission_required"))


@pytest.mark.parametrize("framework", each_of(PROGRAMS))
def test_the_applications_of_a_framework_are_guarded(framework, recipe):
    """Each is a WSGI callable, as are its parts that are mounted."""
    module = recipe(framework)
    assert callable(login_required(module.application))
    if hasattr(module, "app"):
        assert callable(login_required(module.app))
