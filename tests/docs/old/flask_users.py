"""Make the users of a site with Flask-Login, SQLAlchemy and Flask-Bcrypt."""

from datetime import datetime

import flask_bcrypt
from passwords import PASSWORDS
from sqlalchemy import Boolean, Column, DateTime, Integer, MetaData, String, Table, create_engine
from werkzeug.security import generate_password_hash

metadata = MetaData()
users = Table(
    "users",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("username", String(80), unique=True),
    Column("email", String(120), unique=True),
    Column("password_hash", String(200)),
    Column("active", Boolean),
    Column("created_at", DateTime),
)


def row(username, email, hashed, active=True):
    return {
        "username": username,
        "email": f"{email}@example.org",
        "password_hash": hashed,
        "active": active,
        "created_at": datetime(2020, 2, 29, 12, 30),
    }


def hashed(name):
    return flask_bcrypt.generate_password_hash(PASSWORDS[name], 4).decode()


engine = create_engine("sqlite:///old.db")
metadata.create_all(engine)
with engine.begin() as connection:
    rows = [
        row("ada", "ada", hashed("ada")),
        row("grace", "grace", hashed("grace").replace("$2b$", "$2y$"), active=False),
        row("Grace", "grace2", hashed("frances")),
        row("alan turing", "alan", hashed("frances")),
        row("barbara", "barbara", generate_password_hash(PASSWORDS["barbara"])),
    ]
    connection.execute(users.insert(), rows)
