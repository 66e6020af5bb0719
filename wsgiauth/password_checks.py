"""Compare passwords, throttled: for every endpoint, and for the application's own login.

Wherever a password could be guessed, `checking` counts the attempt and takes a hash slot.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

from wsgiauth.accounts.models import User
from wsgiauth.authentication import authenticate
from wsgiauth.authentication.factors import has_factor
from wsgiauth.site import Site
from wsgiauth.throttling.attempts import PasswordAttempt


def check_password(site: Site, networks: tuple[str, ...], name: str, password: str) -> User | None:
    """Return the user if the password is right, otherwise None; the attempt is counted.

    Args:
        site: The site.
        networks: The networks of the client; see `clients.Clients.networks`.
        name: The username or e-mail address.
        password: As typed.

    Raises:
        RetryLaterError: The attempt must wait.
        peewee.DatabaseError: The database failed.
    """
    attempt = site.throttle.login(name, networks)
    with checking(site, networks, attempt, partial(authenticate, name, password)) as user:
        return user


@contextmanager
def checking(
    site: Site,
    networks: tuple[str, ...],
    attempt: PasswordAttempt,
    compare: Callable[..., User | None],
) -> Iterator[User | None]:
    """Count an attempt, compare in a hash slot, and hold the slot in the `with` block."""
    with site.hash_slots.slot(attempt.claim):
        attempt.begin()
        user = compare(rounds=site.settings.BCRYPT_ROUNDS)
        yield user
    if user is None:
        return
    attempt.succeeded()
    if not has_factor(user, site.settings):  # otherwise a right code makes the client known
        site.throttle.recognise(user, networks)
