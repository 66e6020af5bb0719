"""Make the users of a site with Flask-Security, and print which hashes verify what they typed."""

from datetime import datetime

import flask_security
from flask import Flask
from flask_security_before import Role, User, app, db, security
from passwords import PASSWORDS

from wsgiauth import verify_password

DECOMPOSED = "café au lait and croissants"


def hashed(password, **configuration):
    """Return the hash that Flask-Security makes, with this configuration."""
    site = Flask("site")
    site.config.update(SECRET_KEY="x", SECURITY_PASSWORD_SALT="y", **configuration)
    datastore = flask_security.SQLAlchemyUserDatastore(db, User, Role)
    extension = flask_security.Security(site, datastore)
    with site.app_context():
        return flask_security.hash_password(extension._password_util.normalize(password))


def says(password, made):
    try:
        return verify_password(password, made)
    except ValueError:
        return False


with app.app_context():
    db.create_all()
    datastore = security.datastore
    editors = datastore.create_role(name="editors", permissions={"reports-publish"})
    datastore.create_user(
        email="ada@example.org",
        password=flask_security.hash_password(PASSWORDS["ada"]),
        confirmed_at=datetime(2020, 2, 29, 12, 30),
        roles=[editors],
    )
    datastore.create_user(
        email="grace@example.org",
        password=flask_security.hash_password(PASSWORDS["grace"]),
        active=False,
    )
    db.session.commit()

for configuration in (
    {},
    {"SECURITY_PASSWORD_HASH": "bcrypt"},
    {"SECURITY_PASSWORD_HASH": "bcrypt", "SECURITY_PASSWORD_SINGLE_HASH": True},
):
    made = hashed(PASSWORDS["ada"], **configuration)
    print(made[: made.index("$", 1) + 1], says(PASSWORDS["ada"], made))
print(says(DECOMPOSED, hashed(DECOMPOSED, **configuration)))
