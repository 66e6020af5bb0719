"""Pyramid with wsgiauth: the current user, a protected view, and a protected path."""

from pyramid.authorization import Authenticated
from pyramid.config import Configurator
from pyramid.security import NO_PERMISSION_REQUIRED
from pyramid.view import view_config

from wsgiauth import AuthMiddleware


@view_config(route_name="home", renderer="json", permission=NO_PERMISSION_REQUIRED)
def home(request):
    return {"user": request.identity and request.identity.label}


@view_config(route_name="account", renderer="json")
def account(request):
    return {"user": request.identity.label}


@view_config(route_name="news", renderer="json")
def news(request):
    return {"news": "for members"}


with Configurator() as config:
    config.include("wsgiauth.contrib.pyramid")
    config.set_default_permission(Authenticated)  # of every view without one
    for name, path in {"home": "/", "account": "/account", "news": "/members/news"}.items():
        config.add_route(name, path)
    config.scan(__name__)
application = AuthMiddleware(config.make_wsgi_app())
