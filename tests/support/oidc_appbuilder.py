"""An application of Flask-AppBuilder whose users log in with an OpenID provider, for tests.

python oidc_appbuilder.py PORT ISSUER CLIENT_ID CLIENT_SECRET FOLDER

There is a user whose address is boss@example.org. `/me` says who the user is.
"""

import sys

import waitress
from flask import Flask
from flask_appbuilder import AppBuilder
from flask_appbuilder.utils.legacy import get_sqla_class
from flask_login import current_user

PORT, ISSUER, CLIENT_ID, CLIENT_SECRET, FOLDER = sys.argv[1:]

app = Flask(__name__)
app.config |= {
    "SECRET_KEY": "of a test",
    "SQLALCHEMY_DATABASE_URI": f"sqlite:///{FOLDER}/app.db",
    "AUTH_TYPE": 4,  # OAuth
    "AUTH_USER_REGISTRATION": True,
    "AUTH_USER_REGISTRATION_ROLE": "Public",
    "OAUTH_PROVIDERS": [
        {
            "name": "auth0",
            "token_key": "access_token",
            "remote_app": {
                "client_id": CLIENT_ID,
                "client_secret": CLIENT_SECRET,
                "server_metadata_url": f"{ISSUER}/.well-known/openid-configuration",
                "client_kwargs": {
                    "scope": "openid profile email",
                    "code_challenge_method": "S256",
                },
            },
        }
    ],
}

with app.app_context():
    manager = AppBuilder(app, get_sqla_class()(app).session).sm
    manager.add_user("root", "R", "T", "boss@example.org", manager.find_role("Admin"), "secret")


@app.get("/me")
def me():
    """Answer with the account of the user."""
    names = ("id", "username", "email")
    return {each: getattr(current_user, each, None) for each in names}


waitress.serve(app, listen=f"127.0.0.1:{PORT}")
