"""Argon2 (RFC 9106). Only this module imports `argon2`, which is optional."""

from functools import cache


@cache
def is_installed() -> bool:
    """Return whether argon2-cffi is installed."""
    try:
        import argon2.low_level  # noqa: F401 - only whether it can be imported
    except ImportError:
        return False
    return True


def digest(
    password: bytes,
    salt: bytes,
    *,
    variant: int,
    version: int,
    memory: int,
    passes: int,
    lanes: int,
    length: int,
) -> bytes:
    """Return an Argon2 digest.

    Args:
        variant: 1 for Argon2i, 2 for Argon2id.
        version: 16 or 19, as hashes name it.
        memory: In KiB.
        length: Of the digest, in bytes.

    Raises:
        MemoryError: The process cannot have this memory, or as many threads as lanes.
    """
    from argon2.exceptions import HashingError
    from argon2.low_level import Type, hash_secret_raw

    try:
        return hash_secret_raw(
            password,
            salt,
            time_cost=passes,
            memory_cost=memory,
            parallelism=lanes,
            hash_len=length,
            type=Type(variant),
            version=version,
        )
    except HashingError as error:  # the import has refused invalid costs
        raise MemoryError from error
