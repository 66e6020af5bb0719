"""A site with Flask-Security."""

import os

from flask import Flask, render_template_string
from flask_security import Security, SQLAlchemyUserDatastore, auth_required, permissions_required
from flask_security.models import fsqla_v3
from flask_sqlalchemy import SQLAlchemy

app = Flask(__name__)
app.config["SECRET_KEY"] = os.environ["SECRET_KEY"]
app.config["SECURITY_PASSWORD_SALT"] = os.environ["SECURITY_PASSWORD_SALT"]
app.config["SQLALCHEMY_DATABASE_URI"] = os.environ["OLD_DATABASE_URL"]
db = SQLAlchemy(app)
fsqla_v3.FsModels.set_db_info(db)


class Role(db.Model, fsqla_v3.FsRoleMixin):
    pass


class User(db.Model, fsqla_v3.FsUserMixin):
    pass


security = Security(app, SQLAlchemyUserDatastore(db, User, Role))


@app.get("/account")
@auth_required()
def account():
    return render_template_string("Hello, {{ current_user.email }}!")


@app.get("/drafts")
@permissions_required("reports-publish")
def drafts():
    return "Drafts"
