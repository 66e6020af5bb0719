"""The command of the feature `badges`."""

from wsgiauth.console.command import read_settings
from wsgiauth.console.output import print_line


def add_commands(parser):
    """Add the command."""
    parser.command("badges", print_colours, examples=("--database sqlite:///wsgiauth.db",))


def print_colours(arguments):
    """Print how many colours there are."""
    print_line(f"{read_settings(arguments).BADGES_COLOURS} colours")
