"""Asking the person at the terminal, until the answer follows the rules."""

import getpass
import sys
from collections.abc import Callable

from wsgiauth.exceptions import WsgiAuthError


class NobodyToAskError(WsgiAuthError):
    """A question, and no terminal to put it on."""

    def __init__(self) -> None:
        super().__init__(
            "there is nobody to ask: give --username, --email and --password-stdin in scripts"
        )


def ask(prompt: str, problem_of: Callable[[str], str | None]) -> str:
    """Return the answer to `prompt`, asked for again as long as there is a problem with it.

    Raises:
        NobodyToAskError: Standard input is not a terminal.
        EOFError: The person has ended the input.
    """
    return _until_in_order(lambda: input(prompt), problem_of)


def ask_password(problem_of: Callable[[str], str | None]) -> str:
    """Return a new password, typed twice and never shown.

    Raises:
        NobodyToAskError: Standard input is not a terminal.
        EOFError: The person has ended the input.
    """
    while True:
        password = _until_in_order(lambda: getpass.getpass("Password: "), problem_of)
        if getpass.getpass("Password (again): ") == password:
            return password
        print("The two passwords differ; try again.", file=sys.stderr)


def _until_in_order(question: Callable[[], str], problem_of: Callable[[str], str | None]) -> str:
    if not sys.stdin.isatty():
        raise NobodyToAskError
    while True:
        answer = question()
        problem = problem_of(answer)
        if problem is None:
            return answer
        print(problem, file=sys.stderr)
