"""The command that lists organisations."""

from collections.abc import Iterator

from wsgiauth.extend.console import Arguments, Parser, open_database, print_list

from .panel import Listed, list_organisations

_COLUMNS = {"slug": "slug", "name": "name", "members": "members", "founded": "founded_at"}


def add_commands(parser: Parser) -> None:
    """Add the command of this module."""
    parser.command("organisations", print_organisations, "--json")


def print_organisations(arguments: Arguments) -> None:
    """Print all organisations, in the order of their foundation."""
    open_database(arguments)
    print_list(_pages(), _COLUMNS, as_json=arguments.json)


def _pages() -> Iterator[list[Listed]]:
    page = list_organisations()
    while page:
        yield page
        page = list_organisations(int(str(page[-1]["id"])))
