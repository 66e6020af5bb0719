"""Questions to the person at the terminal; at the end of the input, they raise EOFError."""

import getpass
import sys
from collections.abc import Callable

from wsgiauth.accounts.names import typed
from wsgiauth.console.command import Arguments, CommandError
from wsgiauth.console.output import print_error, printable


def require_terminal(*options: str) -> None:
    """Check that standard input is a terminal; the error names the options for scripts."""
    if not sys.stdin.isatty():
        *others, last = options
        wanted = f"{', '.join(others)} and {last}" if others else last
        raise CommandError(f"standard input is not a terminal: give {wanted}")


def ask(prompt: str, problem_of: Callable[[str], str | None]) -> str:
    """Return the name that answers `prompt`; ask again until `problem_of` returns None."""
    return _first_valid(lambda: typed(input(prompt)), problem_of)


def ask_password(rules: str, problem_of: Callable[[str], str | None]) -> str:
    """Show the rules and return a new password, which is typed twice and never echoed."""
    print_error(rules)
    while True:
        password = _first_valid(lambda: getpass.getpass("Password: "), problem_of)
        if getpass.getpass("Password (again): ") == password:
            return password
        print_error("The two passwords differ; try again.")


def confirm(arguments: Arguments, question: str) -> None:
    """Ask for confirmation, unless `--yes` was given; raise CommandError if it is refused.

    Example:
        def delete_badges(arguments: Arguments) -> None:
            confirm(arguments, "Delete all badges?")
    """
    if arguments.yes:
        return
    require_terminal("--yes")
    if input(printable(f"{question} [y/N] ")).strip().lower() not in ("y", "yes"):
        raise CommandError("nothing was changed")


def _first_valid(question: Callable[[], str], problem_of: Callable[[str], str | None]) -> str:
    while True:
        answer = question()
        problem = problem_of(answer)
        if problem is None:
            return answer
        print_error(problem)
