"""Proposals for the username of a new account, from what another provider calls the user."""

from collections.abc import Iterable

from wsgiauth.accounts import names


def propose_username(wanted: Iterable[str]) -> str:
    """Return a username made of the first of these strings that can be one, or an empty string.

    The name can be taken: a check here would reveal taken names, without a limit. Of an email
    address, the part before the `@` counts.
    """
    return next(filter(None, map(_as_username, wanted)), "")


def _as_username(text: str) -> str:
    local = text.partition("@")[0].partition("+")[0].lstrip("-")
    name = "".join(each for each in local if not names.is_invisible(each))
    return name if names.username_problem(name) is None else ""
