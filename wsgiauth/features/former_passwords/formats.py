"""The hashes of other software, as Django, Werkzeug, passlib and others write them.

A hash is read into its method, its salt and its digest. Only a bcrypt hash of the digest is stored.
"""

import base64
import re
from collections.abc import Callable, Collection
from typing import Any, NamedTuple

import peewee

from wsgiauth.accounts.former import HASH_START, FormerHash
from wsgiauth.accounts.models import User
from wsgiauth.accounts.passwords import LEAST_ROUNDS, hash_digest, rounds_of
from wsgiauth.accounts.tables import FormerPassword
from wsgiauth.features.former_passwords import argon
from wsgiauth.features.former_passwords.methods import Method
from wsgiauth.features.former_passwords.schemes import MAX_BCRYPT_ROUNDS
from wsgiauth.settings.kinds import missing_package
from wsgiauth.storage.models import BCRYPT_HASH

_OWN = "former"  # the first word of the form in which an export writes a hash
_MAX_LENGTH = 1024  # characters
_MAX_SALT = 189  # bytes, 252 characters in base64; the column has 255


class Options(NamedTuple):
    """What hashes do not say about themselves.

    Attributes:
        is_peppered: Whether they are of an HMAC of the password.
        of_sha256: Whether bcrypt hashes are of the SHA-256 digest of the password.
        rounds: bcrypt's cost on this site. A hash of the password itself can have this cost even if
            it is above `MAX_BCRYPT_ROUNDS`.
    """

    is_peppered: bool = False
    of_sha256: bool = False
    rounds: int = LEAST_ROUNDS


class _Foreign(NamedTuple):
    scheme: str
    costs: tuple[int, ...]
    salt: bytes
    digest: bytes


def read(text: str, options: Options) -> FormerHash:
    """Return a hash of other software as it is stored.

    Raises:
        ValueError: The hash is malformed, of an unknown scheme, or costs too much. The message does
            not contain it.
        ConfigurationError: It needs a package that is not installed.
    """
    if len(text) > _MAX_LENGTH:
        raise ValueError(f"has more than {_MAX_LENGTH} characters")
    if text.startswith(f"{_OWN}$"):
        return _read_own(text)
    text = text.removeprefix("bcrypt$")  # of Django
    if BCRYPT_HASH.fullmatch(text) and not (options.is_peppered or options.of_sha256):
        highest = max(MAX_BCRYPT_ROUNDS, options.rounds)
        if rounds_of(text) > highest:
            raise ValueError(f"has a cost above {highest}")
        return FormerHash(text)
    scheme, costs, salt, digest = _parse(text, options)
    method = Method.of(scheme, *costs, is_peppered=options.is_peppered)
    _refuse(method, salt)
    return _former_hash(method, salt, hash_digest(digest))


def written_hashes(user_ids: Collection[int]) -> dict[int, str]:
    """Return how an export writes the hashes of users, by user.

    One query reads a hash with its parameters: a login at the same time replaces both.
    """
    how = (FormerPassword.scheme, FormerPassword.parameters, FormerPassword.salt)
    query: Any = User.select(User.id, User.hashed_password, FormerPassword.hash_start, *how)
    is_of_user = FormerPassword.user == User.id
    query = query.join(FormerPassword, peewee.JOIN.LEFT_OUTER, on=is_of_user)
    written = {}
    for user_id, hashed_password, hash_start, *row in query.where(User.id.in_(user_ids)).tuples():
        is_former = hash_start == hashed_password[:HASH_START]
        parts = (_OWN, *row, hashed_password) if is_former else (hashed_password,)
        written[user_id] = "$".join(parts)
    return written


def _read_own(text: str) -> FormerHash:
    """Return a hash that an export has written."""
    parts = text.split("$", 4)
    if len(parts) < 5 or not BCRYPT_HASH.fullmatch(parts[4]) or rounds_of(parts[4]) != LEAST_ROUNDS:
        raise ValueError("is malformed")
    _, scheme, parameters, salt, hashed_password = parts
    method, decoded = Method(scheme, parameters), _from_base64(salt)
    _refuse(method, decoded)
    return _former_hash(method.canonical(), decoded, hashed_password)


def _refuse(method: Method, salt: bytes) -> None:
    problem = method.problem(salt)
    if len(salt) > _MAX_SALT:
        problem = f"has a salt of more than {_MAX_SALT} bytes"
    if problem is not None:
        raise ValueError(problem)
    if method.scheme.startswith("argon2") and not argon.is_installed():
        raise missing_package("A hash by Argon2", "argon2-cffi", "argon2")


def _former_hash(method: Method, salt: bytes, hashed_password: str) -> FormerHash:
    encoded = base64.b64encode(salt).decode()
    return FormerHash(hashed_password, method.scheme, method.parameters, encoded)


def _parse(text: str, options: Options) -> _Foreign:
    for pattern, parse in _PATTERNS.items():
        found = re.fullmatch(pattern, text)
        if found is not None:
            foreign = parse(found)
            if foreign.scheme == "bcrypt" and options.of_sha256:
                return foreign._replace(scheme="bcrypt-sha256")
            return foreign
    raise ValueError("is of an unknown form")


def _bcrypt(found: re.Match[str]) -> _Foreign:
    django, hashed = found.groups()
    if not BCRYPT_HASH.fullmatch(hashed):
        raise ValueError("is malformed")
    salt, digest = hashed[7:HASH_START].encode(), hashed[HASH_START:].encode()
    return _Foreign("bcrypt-sha256" if django else "bcrypt", (rounds_of(hashed),), salt, digest)


def _pbkdf2_of_django(found: re.Match[str]) -> _Foreign:
    name, iterations, salt, digest = found.groups()
    return _pbkdf2(name, iterations, _from_text(salt), _from_base64(digest))


def _pbkdf2_of_werkzeug(found: re.Match[str]) -> _Foreign:
    name, iterations, salt, digest = found.groups()
    return _pbkdf2(name, iterations, _from_text(salt), _from_hex(digest))


def _pbkdf2_of_passlib(found: re.Match[str]) -> _Foreign:
    name, iterations, salt, digest = found.groups()
    return _pbkdf2(name or "sha1", iterations, _from_base64(salt), _from_base64(digest))


def _pbkdf2(name: str, iterations: str, salt: bytes, digest: bytes) -> _Foreign:
    return _Foreign(f"pbkdf2-{name}", (int(iterations), len(digest)), salt, digest)


def _scrypt_of_django(found: re.Match[str]) -> _Foreign:
    n, salt, r, p, digest = found.groups()
    return _scrypt(int(n), r, p, _from_text(salt), _from_base64(digest))


def _scrypt_of_werkzeug(found: re.Match[str]) -> _Foreign:
    n, r, p, salt, digest = found.groups()
    return _scrypt(int(n), r, p, _from_text(salt), _from_hex(digest))


def _scrypt_of_phc(found: re.Match[str]) -> _Foreign:
    exponent, r, p, salt, digest = found.groups()
    n = 1 << min(int(exponent), 32)  # far above the bound, which refuses it
    return _scrypt(n, r, p, _from_base64(salt), _from_base64(digest))


def _scrypt(n: int, r: str, p: str, salt: bytes, digest: bytes) -> _Foreign:
    return _Foreign("scrypt", (n, int(r), int(p), len(digest)), salt, digest)


def _argon2(found: re.Match[str]) -> _Foreign:
    variant, version, memory, passes, lanes, salt, digest = found.groups()
    decoded = _from_base64(digest)
    costs = (_VARIANTS[variant], int(version or 16), int(memory), int(passes), int(lanes))
    return _Foreign("argon2", (*costs, len(decoded)), _from_base64(salt), decoded)


def _from_text(salt: str) -> bytes:
    try:
        return salt.encode()
    except UnicodeEncodeError:
        raise ValueError("is malformed") from None


def _from_hex(digits: str) -> bytes:
    try:
        return bytes.fromhex(digits)
    except ValueError:
        raise ValueError("is malformed") from None


def _from_base64(text: str) -> bytes:
    """Decode base64 with or without padding; passlib writes a point for a plus sign."""
    stripped = text.replace(".", "+").rstrip("=")
    try:
        return base64.b64decode(stripped + "=" * (-len(stripped) % 4), validate=True)
    except ValueError:  # also UnicodeEncodeError and binascii.Error
        raise ValueError("is malformed") from None


_VARIANTS = {"i": 1, "id": 2}  # of Argon2
_BASE64, _HEX, _SALT = "([A-Za-z0-9+/.]*=*)", "([0-9a-f]*)", r"([^$]*)"
_NUMBER = "([0-9]{1,10})"
_PATTERNS: dict[str, Callable[[re.Match[str]], _Foreign]] = {
    r"(bcrypt_sha256\$)?(\$2[aby]\$.*)": _bcrypt,
    rf"pbkdf2_(sha1|sha256|sha512)\${_NUMBER}\${_SALT}\${_BASE64}": _pbkdf2_of_django,
    rf"pbkdf2:(sha1|sha256|sha512):{_NUMBER}\${_SALT}\${_HEX}": _pbkdf2_of_werkzeug,
    rf"\$pbkdf2(?:-(sha256|sha512))?\${_NUMBER}\${_BASE64}\${_BASE64}": _pbkdf2_of_passlib,
    rf"scrypt\${_NUMBER}\${_SALT}\${_NUMBER}\${_NUMBER}\${_BASE64}": _scrypt_of_django,
    rf"scrypt:{_NUMBER}:{_NUMBER}:{_NUMBER}\${_SALT}\${_HEX}": _scrypt_of_werkzeug,
    rf"\$scrypt\$ln=([0-9]{{1,2}}),r={_NUMBER},p={_NUMBER}\${_BASE64}\${_BASE64}": _scrypt_of_phc,
    rf"(?:argon2)?\$argon2(i|id)\$(?:v={_NUMBER}\$)?m={_NUMBER},t={_NUMBER},p={_NUMBER}"
    rf"\${_BASE64}\${_BASE64}": _argon2,
}
