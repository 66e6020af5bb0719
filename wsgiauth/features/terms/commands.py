"""The command that counts who has accepted the terms."""

import json

from wsgiauth.extend import counted
from wsgiauth.extend.console import Arguments, Parser, open_database, print_line, print_list
from wsgiauth.features.terms.acceptances import count

_COLUMNS = {"version": "version", "users": "users"}


def add_commands(parser: Parser) -> None:
    """Add the command of this module."""
    parser.command("terms", print_counts, "--json")


def print_counts(arguments: Arguments) -> None:
    """Print how many users have accepted the version of the site, and each former one."""
    settings = open_database(arguments)
    counts = count(settings.TERMS_VERSION)
    versions = [{"version": each, "users": users} for each, users in counts.versions.items()]
    if arguments.json:
        print_line(json.dumps({**counts._asdict(), "versions": versions}))
        return
    if counts.version is not None:
        accepted, missing = counted(counts.accepted, "active user"), counts.missing
        print_line(f"{accepted} accepted the terms of {counts.version}; {missing} did not.")
    print_list([versions], _COLUMNS, as_json=False)
