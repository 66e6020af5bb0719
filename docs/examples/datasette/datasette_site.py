"""Datasette with a public file, and another one for users with a permission."""

from a2wsgi import ASGIMiddleware
from datasette import hookimpl
from datasette.app import Datasette
from datasette.plugins import pm

from wsgiauth import AuthMiddleware

PERMISSIONS = ("loans.read",)


class Actors:
    @staticmethod
    @hookimpl
    def actor_from_request(request):
        user = request.scope["wsgi_environ"]["wsgiauth.user"]
        if user is None:
            return None
        granted = [each for each in PERMISSIONS if user.has_permission(each)]
        return {"id": user.id, "name": user.username, "granted": granted}


pm.register(Actors)
metadata = {"databases": {"loans": {"allow": {"granted": "loans.read"}}}}
data = Datasette(["books.db", "loans.db"], metadata=metadata)
public = ("/", "/-/static/", "/books", "/books/")
application = AuthMiddleware(ASGIMiddleware(data.app()), public=public, permissions=PERMISSIONS)
