"""A program with pyramid_jwt."""

import os
import sqlite3

import bcrypt
from pyramid.authorization import ACLAuthorizationPolicy, Allow, Authenticated
from pyramid.config import Configurator
from pyramid.httpexceptions import HTTPForbidden, HTTPUnauthorized
from pyramid.view import forbidden_view_config, view_config

users = sqlite3.connect("users.db", check_same_thread=False)


class Root:
    __acl__ = [(Allow, Authenticated, "read"), (Allow, "role:editor", "write")]

    def __init__(self, request):
        pass


def roles_of_token(userid, request):
    return [f"role:{role}" for role in request.jwt_claims["roles"]]


def find_user(name):
    query = "SELECT id, password_hash, roles FROM users WHERE username = ?"
    return users.execute(query, [name]).fetchone()


@view_config(route_name="login", request_method="POST", renderer="json")
def login(request):
    user = find_user(request.json_body["username"])
    password = request.json_body["password"].encode()
    if user is None or not bcrypt.checkpw(password, user[1].encode()):
        return HTTPUnauthorized()
    return {"token": request.create_jwt_token(str(user[0]), roles=user[2].split())}


@forbidden_view_config()
def refuse(request):
    return HTTPForbidden() if request.authenticated_userid else HTTPUnauthorized()


@view_config(route_name="books", request_method="GET", renderer="json", permission="read")
def list_books(request):
    return {"books": ["Middlemarch"], "for": request.authenticated_userid}


@view_config(route_name="books", request_method="POST", renderer="json", permission="write")
def add_book(request):
    return {"added": request.json_body["title"]}


with Configurator(root_factory=Root) as config:
    config.include("pyramid_jwt")
    config.set_authorization_policy(ACLAuthorizationPolicy())
    config.set_jwt_authentication_policy(
        os.environ["TOKEN_SECRET"], expiration=3600, callback=roles_of_token
    )
    config.add_route("login", "/login")
    config.add_route("books", "/books")
    config.scan(__name__)
application = config.make_wsgi_app()
