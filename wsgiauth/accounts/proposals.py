"""Proposals for the username of a new account, from what another provider calls the user."""

from collections.abc import Iterable

from wsgiauth.accounts import names
from wsgiauth.accounts.models import User

_MOST = 9  # names that are looked up
_ROOM = names.USERNAME_MAX_LENGTH - 1  # for a digit


def propose_username(wanted: Iterable[str], *, is_free: bool) -> str:
    """Return a username that keeps the rules, made of the first of these strings that can be one.

    Args:
        wanted: Usernames or email addresses, of which the part before the `@` counts.
        is_free: Whether to propose a name that no user has. This reveals which names are taken.

    Returns:
        An empty string if there is none.
    """
    name = next(filter(None, map(_as_username, wanted)), "")
    if not (name and is_free):
        return name
    candidates = {names.key(each): each for each in _candidates(name)}
    taken = User.select(User.username_key).where(User.username_key.in_(list(candidates)))
    for row in taken:
        del candidates[row.username_key]
    return next(iter(candidates.values()), "")


def _candidates(name: str) -> list[str]:
    numbered = [f"{name[:_ROOM]}{number}" for number in range(2, _MOST + 1)]
    return [each for each in (name, *numbered) if names.username_problem(each) is None]


def _as_username(text: str) -> str:
    local = text.partition("@")[0].partition("+")[0].lstrip("-")
    name = "".join(each for each in local if not names.is_invisible(each))
    return name if names.username_problem(name) is None else ""
