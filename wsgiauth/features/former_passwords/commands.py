"""The command that counts the hashes of passwords."""

from wsgiauth.console.command import Arguments, open_database
from wsgiauth.console.output import print_list
from wsgiauth.console.parser import Parser
from wsgiauth.features.former_passwords.counts import count_hashes

_COLUMNS = {"hash": "hash", "users": "users"}


def add_commands(parser: Parser) -> None:
    """Add the command of this module."""
    parser.command("hashes", print_hashes, "--json", details="none are users without a password.")


def print_hashes(arguments: Arguments) -> None:
    """Print how many users have a hash of each scheme."""
    open_database(arguments)
    counted = [{"hash": scheme, "users": users} for scheme, users in count_hashes().items()]
    print_list([counted], _COLUMNS, as_json=arguments.json)
