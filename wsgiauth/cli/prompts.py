"""Questions to the person at the terminal, repeated until the answer follows the rules."""

import getpass
import sys
from collections.abc import Callable

from wsgiauth.exceptions import WsgiAuthError


class NoTerminalError(WsgiAuthError):
    """A command has to ask, and standard input is not a terminal.

    Args:
        options: What scripts give instead of an answer.
    """

    def __init__(self, options: tuple[str, ...]) -> None:
        *others, last = options
        wanted = f"{', '.join(others)} and {last}" if others else last
        super().__init__(f"standard input is not a terminal, so give {wanted}")


def require_terminal(*options: str) -> None:
    """Check that standard input is a terminal.

    Args:
        options: What scripts give instead of an answer.

    Raises:
        NoTerminalError: It is not; the message names the options.
    """
    if not sys.stdin.isatty():
        raise NoTerminalError(options)


def ask(prompt: str, problem_of: Callable[[str], str | None]) -> str:
    """Return the answer to `prompt`, asked for again as long as there is a problem with it.

    Raises:
        EOFError: The person has ended the input.
    """
    return _first_valid(lambda: input(prompt), problem_of)


def ask_password(rules: str, problem_of: Callable[[str], str | None]) -> str:
    """Show the rules and return a new password, typed twice and never shown.

    Raises:
        EOFError: The person has ended the input.
    """
    print(rules, file=sys.stderr)
    while True:
        password = _first_valid(lambda: getpass.getpass("Password: "), problem_of)
        if getpass.getpass("Password (again): ") == password:
            return password
        print("The two passwords differ; try again.", file=sys.stderr)


def confirm(question: str) -> bool:
    """Return whether the person answers yes; every other answer is no.

    Raises:
        EOFError: The person has ended the input.
    """
    return input(f"{question} [y/N] ").strip().lower() in ("y", "yes")


def _first_valid(question: Callable[[], str], problem_of: Callable[[str], str | None]) -> str:
    while True:
        answer = question()
        problem = problem_of(answer)
        if problem is None:
            return answer
        print(problem, file=sys.stderr)
