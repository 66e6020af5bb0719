"""Hashes that other software makes, by the libraries themselves and at low costs."""

import warnings

import argon2
from django.contrib.auth import hashers as django
from flask import Flask
from flask_bcrypt import Bcrypt
from passlib import hash as passlib
from werkzeug.security import generate_password_hash

from tests.support.sites import PASSWORD

PEPPER = "a pepper of the old site"
LONG = "a long phrase, " * 6  # 90 bytes
SALT = "saltsaltsaltsaltsaltsa"


def by_django(kind, **changes):
    """Return a function that hashes as a hasher of Django does."""
    return lambda password: type("Cheap", (kind,), changes)().encode(password, SALT)


def by_django_bcrypt(kind):
    cheap = type("Cheap", (kind,), {"rounds": 4})()
    return lambda password: cheap.encode(password, cheap.salt())


def by_flask_bcrypt(**config):
    def make(password):
        app = Flask("old")
        app.config.update(BCRYPT_LOG_ROUNDS=4, **config)
        return Bcrypt(app).generate_password_hash(password).decode()

    return make


def by_werkzeug(method):
    return lambda password: generate_password_hash(password, method)


with warnings.catch_warnings(action="ignore", category=DeprecationWarning):
    passlib.argon2.set_backend("argon2_cffi")  # which asks it for its version

_ARGON2 = {"time_cost": 1, "memory_cost": 64, "parallelism": 2}

# By what makes it: the scheme and a function that hashes.
MAKERS = {
    "bcrypt": ("bcrypt", passlib.bcrypt.using(rounds=4).hash),
    "Flask-Bcrypt": ("bcrypt", by_flask_bcrypt()),
    "Django bcrypt": ("bcrypt", by_django_bcrypt(django.BCryptPasswordHasher)),
    "Django bcrypt_sha256": (
        "bcrypt-sha256",
        by_django_bcrypt(django.BCryptSHA256PasswordHasher),
    ),
    "Django pbkdf2_sha256": (
        "pbkdf2-sha256",
        by_django(django.PBKDF2PasswordHasher, iterations=1000),
    ),
    "Django pbkdf2_sha1": (
        "pbkdf2-sha1",
        by_django(django.PBKDF2SHA1PasswordHasher, iterations=1000),
    ),
    "Django scrypt": ("scrypt", by_django(django.ScryptPasswordHasher, work_factor=16)),
    "Django argon2": ("argon2", by_django(django.Argon2PasswordHasher, **_ARGON2)),
    "Werkzeug pbkdf2:sha256": ("pbkdf2-sha256", by_werkzeug("pbkdf2:sha256:1000")),
    "Werkzeug pbkdf2:sha1": ("pbkdf2-sha1", by_werkzeug("pbkdf2:sha1:1000")),
    "Werkzeug pbkdf2:sha512": ("pbkdf2-sha512", by_werkzeug("pbkdf2:sha512:1000")),
    "Werkzeug scrypt": ("scrypt", by_werkzeug("scrypt:16:8:2")),
    "passlib pbkdf2_sha1": ("pbkdf2-sha1", passlib.pbkdf2_sha1.using(rounds=1000).hash),
    "passlib pbkdf2_sha256": ("pbkdf2-sha256", passlib.pbkdf2_sha256.using(rounds=1000).hash),
    "passlib pbkdf2_sha512": ("pbkdf2-sha512", passlib.pbkdf2_sha512.using(rounds=1000).hash),
    "passlib scrypt": ("scrypt", passlib.scrypt.using(rounds=4).hash),
    "passlib argon2i": ("argon2", passlib.argon2.using(type="I", **_ARGON2).hash),
    "argon2-cffi argon2id": ("argon2", argon2.PasswordHasher(**_ARGON2).hash),
    "argon2-cffi argon2i": (
        "argon2",
        argon2.PasswordHasher(**_ARGON2, type=argon2.Type.I).hash,
    ),
}
# Of these, neither a hash nor a digest of the password stays.
FOREIGN = [name for name, (scheme, _) in MAKERS.items() if scheme != "bcrypt"]


def made(name, password=PASSWORD):
    """Return the hash that something in `MAKERS` makes."""
    return MAKERS[name][1](password)


def of_sha256(password):
    """Return the hash of a long password by Flask-Bcrypt."""
    return by_flask_bcrypt(BCRYPT_HANDLE_LONG_PASSWORDS=True)(password)
