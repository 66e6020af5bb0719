"""Ask the person at the terminal, and repeat a question until the answer is valid."""

import getpass
import sys
from collections.abc import Callable

from wsgiauth.cli.output import print_error, printable
from wsgiauth.exceptions import WsgiAuthError


class NoTerminalError(WsgiAuthError):
    """A command needs an answer, but standard input is not a terminal.

    Args:
        options: The options that scripts use instead of an answer.
    """

    def __init__(self, options: tuple[str, ...]) -> None:
        *others, last = options
        wanted = f"{', '.join(others)} and {last}" if others else last
        super().__init__(f"standard input is not a terminal: give {wanted}")


def require_terminal(*options: str) -> None:
    """Check that standard input is a terminal.

    Args:
        options: The options that scripts use instead of an answer.

    Raises:
        NoTerminalError: It is not a terminal; the message names the options.
    """
    if not sys.stdin.isatty():
        raise NoTerminalError(options)


def ask(prompt: str, problem_of: Callable[[str], str | None]) -> str:
    """Return the answer to `prompt`; ask again until `problem_of` returns None.

    Raises:
        EOFError: The input has ended.
    """
    return _first_valid(lambda: input(prompt), problem_of)


def ask_password(rules: str, problem_of: Callable[[str], str | None]) -> str:
    """Show the rules and return a new password, which is typed twice and never echoed.

    Raises:
        EOFError: The input has ended.
    """
    print_error(rules)
    while True:
        password = _first_valid(lambda: getpass.getpass("Password: "), problem_of)
        if getpass.getpass("Password (again): ") == password:
            return password
        print_error("The two passwords differ; try again.")


def confirm(question: str) -> bool:
    """Return whether the answer is yes; any other answer means no.

    Raises:
        EOFError: The input has ended.
    """
    return input(printable(f"{question} [y/N] ")).strip().lower() in ("y", "yes")


def _first_valid(question: Callable[[], str], problem_of: Callable[[str], str | None]) -> str:
    while True:
        answer = question()
        problem = problem_of(answer)
        if problem is None:
            return answer
        print_error(problem)
