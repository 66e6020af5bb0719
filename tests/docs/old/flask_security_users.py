"""Make the users of a site with Flask-Security."""

from datetime import datetime

import flask_security
from flask_security_before import app, db, security
from passwords import PASSWORDS

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
