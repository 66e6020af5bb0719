"""What the commands of a feature need: `Command.module` names their module.

Only the commands import that module, because a site needs no argparse. Provisional, as
`wsgiauth.extend`.

- The parser: `Parser`, which gives a command its `Arguments`; types of numbers: `natural`,
  `positive`
- What a command begins with: `open_database`, `open_site`, `open_personal_data`, `read_settings`,
  `require_group`, `require_user`, `confirm`
- Its output: `print_line`, `print_list`, `print_change`, `print_json_line`, `print_pieces`,
  `print_error`, `yes_or_no`
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
    require_group,
    require_user,
)
from wsgiauth.console.output import (
    print_change,
    print_error,
    print_json_line,
    print_line,
    print_list,
    print_pieces,
    yes_or_no,
)
from wsgiauth.console.parser import Parser, natural, positive
from wsgiauth.console.prompts import confirm

__all__ = [
    "Arguments",
    "CommandError",
    "Parser",
    "UsageError",
    "confirm",
    "natural",
    "open_database",
    "open_personal_data",
    "open_site",
    "positive",
    "print_change",
    "print_error",
    "print_json_line",
    "print_line",
    "print_list",
    "print_pieces",
    "read_settings",
    "require_group",
    "require_user",
    "yes_or_no",
]
