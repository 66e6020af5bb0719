"""The schemes by which other software hashed passwords: their costs, bounds and digests.

The bounds are about four times what the libraries have ever used. With them, one hash takes about
ten seconds and 256 MiB at most.
"""

import hashlib
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import ClassVar

from wsgiauth.accounts.passwords import LEAST_ROUNDS, bcrypt_digest
from wsgiauth.features.former_passwords import argon

MAX_ITERATIONS = 10_000_000  # of PBKDF2, for the whole digest
MAX_MEMORY = 256  # MiB, of scrypt and Argon2
MAX_PASSES = 20  # of Argon2
MAX_SCRYPT_WORK = 1 << 22  # n * r * p: 512 MiB written and read
MAX_ARGON_WORK = 1 << 21  # KiB of all passes together: 2 GiB
MAX_LANES = 16  # of scrypt and Argon2
MAX_BLOCK = 1024  # r of scrypt; the memory for p blocks comes on top
MIN_DIGEST, MAX_DIGEST = 16, 128  # bytes
MAX_BCRYPT_ROUNDS = 16  # four seconds

_BCRYPT_SALT = re.compile(rb"[./A-Za-z0-9]{21}[.Oeu]")
_KIB_OF_MIB = 1024
_MIN_ARGON_SALT = 8  # bytes: RFC 9106 section 3.1

Costs = Mapping[str, int]


class Kind(ABC):
    """A scheme with any costs."""

    names: ClassVar[tuple[str, ...]]  # of the costs, in the order in which they are written

    def problem(self, costs: Costs, salt: bytes) -> str | None:
        """Return why these costs are refused, as the end of a sentence, or None."""
        if not MIN_DIGEST <= costs["l"] <= MAX_DIGEST:
            return f"has a digest of {costs['l']} bytes, not {MIN_DIGEST} to {MAX_DIGEST}"
        return self._problem(costs, salt)

    @abstractmethod
    def _problem(self, costs: Costs, salt: bytes) -> str | None: ...

    @abstractmethod
    def digest(self, password: bytes, salt: bytes, costs: Costs) -> bytes:
        """Return the digest of the bytes of a password.

        Raises:
            MemoryError: The process cannot have the memory that the costs need.
        """


class Pbkdf2(Kind):
    """PBKDF2 with an HMAC (RFC 8018 section 5.2)."""

    names = ("i", "l")  # iterations, length of the digest

    def __init__(self, hash_name: str) -> None:
        self._hash_name = hash_name
        self._block = hashlib.new(hash_name).digest_size

    def _problem(self, costs: Costs, salt: bytes) -> str | None:
        total = costs["i"] * -(-costs["l"] // self._block)  # each block has all iterations
        if not 1 <= total <= MAX_ITERATIONS:
            return f"needs {total:,} iterations of PBKDF2, not 1 to {MAX_ITERATIONS:,}"
        return None

    def digest(self, password: bytes, salt: bytes, costs: Costs) -> bytes:
        """Return the digest of the bytes of a password."""
        return hashlib.pbkdf2_hmac(self._hash_name, password, salt, costs["i"], costs["l"])


class Scrypt(Kind):
    """scrypt (RFC 7914)."""

    names = ("n", "r", "p", "l")  # as the RFC names them; length of the digest

    def _problem(self, costs: Costs, salt: bytes) -> str | None:
        n, r, p = (costs[name] for name in "nrp")
        if not 1 <= r <= MAX_BLOCK:
            return f"has r={r}, not 1 to {MAX_BLOCK}"
        if n < 2 or n & (n - 1) or n >= 1 << (16 * r):
            return "has invalid parameters of scrypt"
        if _memory(costs) > MAX_MEMORY << 20:
            return f"needs more than {MAX_MEMORY} MiB of memory"
        if not 1 <= p <= MAX_LANES:
            return f"has p={p}, not 1 to {MAX_LANES}"
        if n * r * p > MAX_SCRYPT_WORK:
            return f"has n*r*p={n * r * p:,} of scrypt, more than {MAX_SCRYPT_WORK:,}"
        return None

    def digest(self, password: bytes, salt: bytes, costs: Costs) -> bytes:
        """Return the digest of the bytes of a password."""
        n, r, p = (costs[name] for name in "nrp")
        most = _memory(costs) + 256 * r * p + (1 << 20)  # OpenSSL counts its other buffers, too
        try:
            return hashlib.scrypt(password, salt=salt, n=n, r=r, p=p, maxmem=most, dklen=costs["l"])
        except ValueError as error:  # the import has refused invalid costs
            raise MemoryError from error


def _memory(costs: Costs) -> int:
    return 128 * costs["n"] * costs["r"]


class Argon2(Kind):
    """Argon2i and Argon2id (RFC 9106)."""

    names = ("y", "v", "m", "t", "p", "l")  # variant, version, KiB, passes, lanes, length

    def _problem(self, costs: Costs, salt: bytes) -> str | None:
        variant, version, memory, passes, lanes = (costs[name] for name in "yvmtp")
        if variant not in (1, 2) or version not in (16, 19):
            return "is of an unknown kind of Argon2"
        if memory > MAX_MEMORY * _KIB_OF_MIB:
            return f"needs more than {MAX_MEMORY} MiB of memory"
        if not 1 <= passes <= MAX_PASSES:
            return f"has t={passes}, not 1 to {MAX_PASSES}"
        if not 1 <= lanes <= MAX_LANES:
            return f"has p={lanes}, not 1 to {MAX_LANES}"
        if memory < 8 * lanes:
            return "has invalid parameters of Argon2"
        if len(salt) < _MIN_ARGON_SALT:
            return f"has a salt of {len(salt)} bytes, less than {_MIN_ARGON_SALT}"
        if memory * passes > MAX_ARGON_WORK:
            return f"has m*t={memory * passes:,} of Argon2, more than {MAX_ARGON_WORK:,}"
        return None

    def digest(self, password: bytes, salt: bytes, costs: Costs) -> bytes:
        """Return the digest of the bytes of a password."""
        variant, version, memory, passes, lanes, length = (costs[name] for name in self.names)
        return argon.digest(
            password,
            salt,
            variant=variant,
            version=version,
            memory=memory,
            passes=passes,
            lanes=lanes,
            length=length,
        )


class Bcrypt(Kind):
    """bcrypt of bytes that are not the password itself; the digest and the salt are text."""

    names = ("c",)  # cost

    def __init__(self, *, of_sha256: bool = False) -> None:
        self._of_sha256 = of_sha256

    def problem(self, costs: Costs, salt: bytes) -> str | None:
        """Return why the cost is refused, or None."""
        return self._problem(costs, salt)

    def _problem(self, costs: Costs, salt: bytes) -> str | None:
        cost = costs["c"]
        if not _BCRYPT_SALT.fullmatch(salt):
            return "has an invalid salt"
        if LEAST_ROUNDS <= cost <= MAX_BCRYPT_ROUNDS:
            return None
        return f"has the cost {cost}, not {LEAST_ROUNDS} to {MAX_BCRYPT_ROUNDS}"

    def digest(self, password: bytes, salt: bytes, costs: Costs) -> bytes:
        """Return the digest of the bytes of a password."""
        if self._of_sha256:
            password = hashlib.sha256(password).hexdigest().encode()
        return bcrypt_digest(password, costs["c"], salt)


KINDS: Mapping[str, Kind] = {
    "argon2": Argon2(),
    "bcrypt": Bcrypt(),
    "bcrypt-sha256": Bcrypt(of_sha256=True),
    "pbkdf2-sha1": Pbkdf2("sha1"),
    "pbkdf2-sha256": Pbkdf2("sha256"),
    "pbkdf2-sha512": Pbkdf2("sha512"),
    "scrypt": Scrypt(),
}
