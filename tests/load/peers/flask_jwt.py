"""Flask-JWT-Extended, with users and logins in SQLAlchemy's ORM."""

from flask import Flask
from flask_jwt_extended import JWTManager, current_user, jwt_required

from tests.load.peers.sqlalchemy_users import finder_of_users
from tests.support.sites import SECRET_KEY


def application(path):
    find = finder_of_users(path)
    app = Flask(__name__)
    app.config["JWT_SECRET_KEY"] = SECRET_KEY
    manager = JWTManager(app)

    @manager.user_lookup_loader
    def load_user(header, claims):
        return find(claims["jti"], claims["sub"])

    @manager.invalid_token_loader
    def refuse(reason):
        return reason, 401  # where the default is 422

    @app.get("/")
    @jwt_required()
    def view():
        return current_user.username

    @app.get("/open")
    def open_view():
        return "anybody"

    return app
