"""Proposals for the username of a new account, from what another provider calls the user."""

from collections.abc import Iterable

from wsgiauth.accounts import names


def propose_username(wanted: Iterable[str]) -> str:
    """Return a username that keeps the rules, made of the first of these strings that can be one.

    A user may have it already: a proposal of another one would say so, without being counted.

    Args:
        wanted: Usernames or email addresses, of which the part before the `@` counts.

    Returns:
        An empty string if there is none.
    """
    return next(filter(None, map(_as_username, wanted)), "")


def _as_username(text: str) -> str:
    local = text.partition("@")[0].partition("+")[0].lstrip("-")
    name = "".join(each for each in local if not names.is_invisible(each))
    return name if names.username_problem(name) is None else ""
