"""What tests of all features ask of logins with passwords that other software hashed."""

import hashlib

from tests.support.driving import post
from tests.support.sites import PASSWORD
from wsgiauth.accounts.former import FormerHash, store
from wsgiauth.testing import make_user

WERKZEUG = (
    "scrypt:16:8:1$salt$"
    + hashlib.scrypt(PASSWORD.encode(), salt=b"salt", n=16, r=8, p=1, dklen=64).hex()
)


def fill(site, user):
    """Let the user have such a password."""
    store(FormerHash(user.hashed_password, "scrypt", "16384,8,1", "a2VlcCB0aGlzIHNlY3JldA"), user)


def drive(site, provider):
    """Log in with such a password, and without an account."""
    make_user(site, "wanda", former_hash=WERKZEUG)
    for name in ("nobody", "wanda"):
        post(site, "/login", {"username": name, "password": "x" * 73})
        post(site, "/login", {"username": name, "password": PASSWORD})


def commands(folder):
    """Return the command that counts."""
    return ("hashes",)


_COUNTED = "wsgiauth_former_password"
WHOLE_READS = {
    ("counts.py", "count_former", _COUNTED): "`check` counts",
    ("counts.py", "count_hashes", "wsgiauth_user"): "the command `hashes` counts",
    ("counts.py", "count_former", "wsgiauth_user"): "the same",
    ("site_passwords.py", "_count_groups", _COUNTED): "a login counts every five minutes",
    ("site_passwords.py", "has_any", _COUNTED): "a login stops at the first row",
}
