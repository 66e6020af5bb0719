"""The forms of hashes that are read, the bounds of what they cost, and how they are written."""

import base64
import sys

import pytest

from tests.features.former_passwords.samples import WERKZEUG
from tests.support.former import MAKERS, made
from tests.support.sites import PASSWORD
from wsgiauth import verify_password
from wsgiauth.accounts.tables import FormerPassword
from wsgiauth.exceptions import ConfigurationError
from wsgiauth.features.former_passwords import argon
from wsgiauth.features.former_passwords.formats import Options, read

DIGEST = "c2FsdHNhbHRzYWx0c2FsdA"  # of 16 bytes, in base64
HEX = "00" * 16
SHORT = "00" * 15
BCRYPT = made("bcrypt")
OWN = f"former$scrypt$n=16,r=8,p=1,l=64$c2FsdA==${BCRYPT}"


def test_the_hash_of_each_library_is_read():
    for name, (scheme, _) in MAKERS.items():
        found = read(made(name), Options())
        assert found.scheme == ("" if scheme == "bcrypt" else scheme), name
        assert found.hashed_password.startswith("$2b$04$"), name
        assert verify_password(PASSWORD, found.hashed_password) == (scheme == "bcrypt"), name


def test_each_version_of_bcrypt_is_read_as_it_is():
    for version in ("$2a$", "$2b$", "$2y$"):
        hashed = BCRYPT.replace("$2b$", version)
        assert read(hashed, Options()).hashed_password == hashed
        peppered = read(hashed, Options(is_peppered=True))
        assert (peppered.scheme, peppered.parameters) == ("bcrypt-peppered", "c=4")


COSTS = {
    WERKZEUG: "n=16,r=8,p=1,l=64",
    # PHC
    f"$scrypt$ln=14,r=8,p=5${DIGEST}${DIGEST}": "n=16384,r=8,p=5,l=16",
    # Argon2 1.0
    f"$argon2id$m=65536,t=3,p=4${DIGEST}${DIGEST}": "y=2,v=16,m=65536,t=3,p=4,l=16",
    # passlib
    f"$pbkdf2-sha512$25000${DIGEST}${DIGEST}": "i=25000,l=16",
    # the most that is accepted: iterations; memory and lanes of scrypt; memory and passes of Argon2
    f"pbkdf2:sha1:10000000$salt${HEX}": "i=10000000,l=16",
    f"scrypt:262144:8:2$salt${HEX}": "n=262144,r=8,p=2,l=16",
    f"scrypt:32768:8:16$salt${HEX}": "n=32768,r=8,p=16,l=16",
    f"$argon2i$v=19$m=262144,t=8,p=16${DIGEST}${DIGEST}": "y=1,v=19,m=262144,t=8,p=16,l=16",
    f"$argon2id$v=19$m=65536,t=20,p=1${DIGEST}${DIGEST}": "y=2,v=19,m=65536,t=20,p=1,l=16",
}


def test_the_costs_are_kept():
    assert {each: read(each, Options()).parameters for each in COSTS} == COSTS


def test_a_salt_of_text_is_kept_as_utf_8():
    for salt in ("", "\u00e9", "x" * 189):
        found = read(f"scrypt:16:8:1${salt}${HEX}", Options())
        assert base64.b64decode(found.salt) == salt.encode()
        assert len(found.salt) <= FormerPassword.salt.max_length


def test_the_costs_of_an_export_are_stored_without_zeros():
    costs = ("y=2", "v=19", "m=64", "t=1", "p=1", "l=16")
    padded = ",".join(f"{each[:2]}{each[2:]:0>10}" for each in costs)
    assert len(padded) > FormerPassword.parameters.max_length
    for scheme in ("argon2", "argon2-peppered"):
        found = read(f"former${scheme}${padded}$c2FsdHNhbHQ=${BCRYPT}", Options())
        assert (found.scheme, found.parameters) == (scheme, ",".join(costs))


def test_a_point_of_passlib_is_a_plus_sign():
    one, other = (read(f"$pbkdf2$1$ab{sign}d${DIGEST}", Options()) for sign in ".+")
    assert one.salt == other.salt == "ab+d"


REFUSED = {
    "nothing": ("", "is of an unknown form"),
    "MD5 of Django": ("md5$salt$" + HEX, "is of an unknown form"),
    "Argon2d": (f"$argon2d$v=19$m=64,t=1,p=1${DIGEST}${DIGEST}", "is of an unknown form"),
    "newline": (f"{BCRYPT}\n", "is of an unknown form"),
    "too long": ("x" * 1025, "has more than 1024 characters"),
    "bcrypt, cut": (BCRYPT[:-1], "is malformed"),
    "bcrypt, expensive": (BCRYPT.replace("$04$", "$17$"), "has a cost above 16"),
    "bcrypt-sha256, expensive": (
        "bcrypt_sha256$" + BCRYPT.replace("$04$", "$17$"),
        "has the cost 17, not 4 to 16",
    ),
    "iterations": (
        f"pbkdf2:sha256:10000001$salt${HEX}",
        "needs 10,000,001 iterations of PBKDF2, not 1 to 10,000,000",
    ),
    "iterations of all blocks": (
        f"pbkdf2:sha256:5000001$salt${HEX * 4}",
        "needs 10,000,002 iterations of PBKDF2, not 1 to 10,000,000",
    ),
    "no iterations": (
        f"pbkdf2:sha256:0$salt${HEX}",
        "needs 0 iterations of PBKDF2, not 1 to 10,000,000",
    ),
    "scrypt, memory": (f"scrypt:524288:8:1$salt${HEX}", "needs more than 256 MiB of memory"),
    "scrypt, huge": (
        f"$scrypt$ln=99,r=8,p=1${DIGEST}${DIGEST}",
        "needs more than 256 MiB of memory",
    ),
    "scrypt, lanes": (f"scrypt:16:8:17$salt${HEX}", "has p=17, not 1 to 16"),
    "scrypt, work": (
        f"scrypt:262144:8:3$salt${HEX}",
        "has n*r*p=6,291,456 of scrypt, more than 4,194,304",
    ),
    "scrypt, no lane": (f"scrypt:16:8:0$salt${HEX}", "has p=0, not 1 to 16"),
    "scrypt, no power of two": (f"scrypt:17:8:1$salt${HEX}", "has invalid parameters of scrypt"),
    "scrypt, one": (f"scrypt:1:8:1$salt${HEX}", "has invalid parameters of scrypt"),
    "scrypt, no blocks": (f"scrypt:16:0:1$salt${HEX}", "has r=0, not 1 to 1024"),
    "scrypt, many blocks": (f"scrypt:2:1025:1$salt${HEX}", "has r=1025, not 1 to 1024"),
    "scrypt, n too high for r": (
        f"scrypt:65536:1:1$salt${HEX}",
        "has invalid parameters of scrypt",
    ),
    "Argon2, memory": (
        f"$argon2id$v=19$m=262145,t=1,p=1${DIGEST}${DIGEST}",
        "needs more than 256 MiB of memory",
    ),
    "Argon2, passes": (f"$argon2id$v=19$m=64,t=21,p=1${DIGEST}${DIGEST}", "has t=21, not 1 to 20"),
    "Argon2, lanes": (f"$argon2id$v=19$m=640,t=1,p=17${DIGEST}${DIGEST}", "has p=17, not 1 to 16"),
    "Argon2, work": (
        f"$argon2id$v=19$m=262144,t=9,p=1${DIGEST}${DIGEST}",
        "has m*t=2,359,296 of Argon2, more than 2,097,152",
    ),
    "Argon2, too little": (
        f"$argon2id$v=19$m=15,t=1,p=2${DIGEST}${DIGEST}",
        "has invalid parameters of Argon2",
    ),
    "Argon2, short salt": (
        f"$argon2id$v=19$m=64,t=1,p=1$c2FsdA${DIGEST}",
        "has a salt of 4 bytes, less than 8",
    ),
    "Argon2, version": (
        f"$argon2id$v=20$m=64,t=1,p=1${DIGEST}${DIGEST}",
        "is of an unknown kind of Argon2",
    ),
    "short digest": (f"scrypt:16:8:1$salt${SHORT}", "has a digest of 15 bytes, not 16 to 128"),
    "long digest": (f"scrypt:16:8:1$salt${HEX * 9}", "has a digest of 144 bytes, not 16 to 128"),
    "long salt": (f"scrypt:16:8:1${'x' * 190}${HEX}", "has a salt of more than 189 bytes"),
    "surrogate": (f"scrypt:16:8:1$\ud800${HEX}", "is malformed"),
    "odd digits": (f"scrypt:16:8:1$salt${HEX}0", "is malformed"),
    "no base64": (f"$pbkdf2$1$a${DIGEST}", "is malformed"),
    "own, cut": (OWN[:-1], "is malformed"),
    "own, without parts": ("former$scrypt", "is malformed"),
    "own, of another cost": (OWN.replace("$04$", "$05$"), "is malformed"),
    "own, unknown scheme": (OWN.replace("scrypt", "crypt"), "is of an unknown scheme"),
    "own, parameters": (OWN.replace("r=8,", ""), "has unknown parameters"),
    "own, expensive": (OWN.replace("n=16", "n=524288"), "needs more than 256 MiB of memory"),
    "own, salt": (OWN.replace("c2FsdA==", "!"), "is malformed"),
    "own, bcrypt without its salt": (
        f"former$bcrypt-peppered$c=4$c2FsdA==${BCRYPT}",
        "has an invalid salt",
    ),
}


def reason_of_refusal(text):
    try:
        return read(text, Options())
    except ValueError as error:
        return str(error)


@pytest.mark.promise(80)
def test_a_hash_is_refused_with_the_reason():
    found = {name: reason_of_refusal(text) for name, (text, _) in REFUSED.items()}
    assert found == {name: reason for name, (_, reason) in REFUSED.items()}


def test_an_argon2_hash_needs_the_package(monkeypatch):
    monkeypatch.setattr(argon, "is_installed", lambda: False)
    with pytest.raises(
        ConfigurationError, match=r"argon2-cffi, which is not installed: .*\[argon2\]"
    ):
        read(made("Django argon2"), Options())


def test_whether_the_package_is_installed_is_found_out(monkeypatch):
    argon.is_installed.cache_clear()
    monkeypatch.setitem(sys.modules, "argon2.low_level", None)
    assert not argon.is_installed()
    argon.is_installed.cache_clear()
    monkeypatch.undo()
    assert argon.is_installed()
