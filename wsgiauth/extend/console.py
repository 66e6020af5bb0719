"""What the commands of a feature need: `Command.module` names their module.

Only the commands import that module, because argparse and its parser are of no use to a site.
Provisional, as `wsgiauth.extend`.
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
