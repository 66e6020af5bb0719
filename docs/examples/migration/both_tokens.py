"""A Flask app that also accepts old tokens of Flask-JWT-Extended."""

import os
from functools import wraps

from flask import Flask, abort, g, request
from flask_jwt_extended import JWTManager, get_jwt, get_jwt_identity, verify_jwt_in_request
from flask_jwt_extended.exceptions import JWTExtendedException
from jwt import PyJWTError

from wsgiauth import AuthMiddleware, User

app = Flask(__name__)
app.config["JWT_SECRET_KEY"] = os.environ["OLD_JWT_SECRET_KEY"]
JWTManager(app)


def user_of_old_token():
    try:
        verify_jwt_in_request()
    except (JWTExtendedException, PyJWTError):
        return None
    user = User.objects.get_or_none(username=get_jwt_identity(), is_active=True)
    is_older = user and user.created_at.timestamp() <= get_jwt()["iat"]
    return user if is_older else None  # another user could have registered the name since


def token_required(view):  # in place of @jwt_required()
    @wraps(view)
    def guarded(*args, **kwargs):
        g.user = request.environ["wsgiauth.user"] or user_of_old_token()
        if g.user is None:
            abort(401)
        return view(*args, **kwargs)

    return guarded


@app.get("/account")
@token_required
def account():
    return {"user": g.user.username}


application = AuthMiddleware(app, challenge=True)
