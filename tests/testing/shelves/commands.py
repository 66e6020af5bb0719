"""The command of the shelves."""

from shelves.tables import Book

from wsgiauth.extend.console import open_database, print_line


def add_commands(parser):
    """Add the command."""
    command = parser.command("books", print_count, examples=("--title Middlemarch",))
    command.add_argument("--title", metavar="TITLE", help="count this book alone")
    actions = parser.with_actions("shelves", {"count": "count the books that are lent"})
    actions.command("count", print_count, examples=("",))


def print_count(arguments):
    """Print how many books are lent."""
    open_database(arguments)
    print_line(str(Book.select().count()))
