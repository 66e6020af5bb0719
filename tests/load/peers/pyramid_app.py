"""Pyramid with pyramid_jwt, and users and logins in SQLAlchemy's ORM, as Pyramid's own starter has.

Made faster in the same way as Flask's, whose models these are.
"""

import logging

import pyramid_jwt
from pyramid.authorization import ACLAuthorizationPolicy
from pyramid.config import Configurator
from pyramid.httpexceptions import HTTPUnauthorized
from pyramid.response import Response

from tests.load.peers.sqlalchemy_users import finder_of_users
from tests.support.sites import SECRET_KEY


def application(path):
    logging.getLogger("pyramid_jwt").setLevel(logging.ERROR)  # invalid tokens are warnings
    find = finder_of_users(path)

    def user_of(request):
        subject = request.authenticated_userid
        return None if subject is None else find(request.jwt_claims["jti"], subject)

    def view(request):
        if request.user is None:
            raise HTTPUnauthorized
        return Response(request.user.username)

    def open_view(request):
        return Response("anybody")

    with Configurator() as config:
        config.include(pyramid_jwt)
        config.set_authorization_policy(ACLAuthorizationPolicy())  # the other one needs it
        config.set_jwt_authentication_policy(SECRET_KEY, algorithm="HS256", auth_type="Bearer")
        config.add_request_method(user_of, "user", reify=True)
        config.add_route("view", "/")
        config.add_view(view, route_name="view")
        config.add_route("open", "/open")
        config.add_view(open_view, route_name="open")
    return config.make_wsgi_app()
