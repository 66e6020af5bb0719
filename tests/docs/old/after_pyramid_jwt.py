"""`before_pyramid_jwt.py` with wsgiauth."""

from pyramid.authorization import Allow, Authenticated
from pyramid.config import Configurator
from pyramid.view import view_config

from wsgiauth import AuthMiddleware  # new


class Root:
    __acl__ = [(Allow, Authenticated, "read"), (Allow, "group:editor", "write")]  # changed

    def __init__(self, request):
        pass


@view_config(route_name="books", request_method="GET", renderer="json", permission="read")
def list_books(request):
    return {"books": ["Middlemarch"], "for": request.authenticated_userid}


@view_config(route_name="books", request_method="POST", renderer="json", permission="write")
def add_book(request):
    return {"added": request.json_body["title"]}


with Configurator(root_factory=Root) as config:
    config.include("wsgiauth.contrib.pyramid")  # new
    config.add_route("books", "/books")
    config.scan(__name__)
application = AuthMiddleware(config.make_wsgi_app())  # changed
