"""What tests of all features ask of logins with passwords that other software hashed."""

import hashlib

from tests.support.driving import post
from tests.support.sites import PASSWORD
from wsgiauth import User
from wsgiauth.accounts.former import store
from wsgiauth.features.former_passwords.formats import Options, read
from wsgiauth.testing import make_user


def hashed(salt):
    """Return a hash of `PASSWORD` as Werkzeug makes it, at a low cost."""
    digest = hashlib.scrypt(PASSWORD.encode(), salt=salt.encode(), n=16, r=8, p=1, dklen=64)
    return f"scrypt:16:8:1${salt}${digest.hex()}"


WERKZEUG = hashed("salt")


def fill(site, user):
    """Let the password be one that Werkzeug has hashed; it ends no session."""
    former = read(hashed("a salt that nothing shows"), Options())
    hashes = {"hashed_password": former.hashed_password, "security_stamp": User.security_stamp}
    User.update(hashes).where(User.id == user.id).execute()
    store(former, user)


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
