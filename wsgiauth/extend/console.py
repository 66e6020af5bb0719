"""What the commands of a feature need: `Command.module` names their module.

Only the commands import that module, because a site needs no argparse. Provisional, as
`wsgiauth.extend`.

- The parser: `Parser`, which gives a command its `Arguments`; a type of numbers: `positive`
- What a command begins with: `open_database`, `open_site`, `open_personal_data`, `read_settings`,
  `require_user`, `confirm`
- Its output: `print_line`, `print_list`, `print_json_line`, `print_pieces`, `print_error`
- Its failures: `CommandError` (status 1), `UsageError` (status 2)
"""

from wsgiauth.console.command import (
    Arguments,
    CommandError,
    UsageError,
    open_database,
    open_personal_data,
    open_site,
    read_settings,
    require_user,
)
from wsgiauth.console.output import (
    print_error,
    print_json_line,
    print_line,
    print_list,
    print_pieces,
)
from wsgiauth.console.parser import Parser, positive
from wsgiauth.console.prompts import confirm

__all__ = [
    "Arguments",
    "CommandError",
    "Parser",
    "UsageError",
    "confirm",
    "open_database",
    "open_personal_data",
    "open_site",
    "positive",
    "print_error",
    "print_json_line",
    "print_line",
    "print_list",
    "print_pieces",
    "read_settings",
    "require_user",
]
