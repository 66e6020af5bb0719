"""The parser of the command line, and the arguments that commands share."""

import argparse
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, NoReturn

from wsgiauth.accounts import names
from wsgiauth.console.command import Arguments
from wsgiauth.console.output import printable
from wsgiauth.web.urls import is_mount

_OPTION = re.compile(r"--[\w-]+|-\w")  # at the beginning of an argument
USER = "a username or an email address"
_USUAL_NAMES = {  # of these commands in other programs
    "addgroup": "creategroup",
    "adduser": "createuser",
    "delete": "deleteuser",
    "delgroup": "deletegroup",
    "groupadd": "creategroup",
    "groupdel": "deletegroup",
    "list": "users",
    "makegroup": "creategroup",
    "passwd": "changepassword",
    "perms": "permissions",
    "removegroup": "deletegroup",
    "removeuser": "deleteuser",
    "useradd": "createuser",
    "userdel": "deleteuser",
}


class _LinesFormatter(argparse.HelpFormatter):
    """Keeps the lines of an epilog."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        lines = []
        for line in text.splitlines():
            is_example = line.startswith("  ")
            lines.append(line if is_example else super()._fill_text(line, width, indent))
        return "\n".join(lines)


class Parser(argparse.ArgumentParser):
    """A parser that suggests similar commands, and hides passwords in its errors.

    Example:
        def add_commands(parser: Parser) -> None:
            added = parser.command("badges", list_badges, "--json")
            added.add_argument("--colour", type=positive, help="only badges of this colour")
    """

    commands: Mapping[str, "Parser"] = {}  # by name

    def command(
        self,
        name: str,
        run: Callable[[Arguments], None],
        *shared: str,
        examples: Sequence[str] = (),
        details: str = "",
    ) -> "Parser":
        """Return the parser of a command, with some of the arguments in `SHARED`.

        Its help ends with the details, and with the examples, which are arguments.
        """
        added = self._declared(name)
        added.set_defaults(run=run, parser=added)
        added.share("--database", "--log", *shared)
        lines = "".join(f"\n  {added.prog} {each}".rstrip(" ") for each in examples)
        title = "examples:" if examples[1:] else "example:"
        added.epilog = "\n\n".join(filter(None, [details, lines and title + lines]))
        added.formatter_class = _LinesFormatter
        return added

    def with_actions(self, name: str, actions: Mapping[str, str]) -> "Parser":
        """Return the parser of a command whose `commands` are these actions, with their help."""
        added = self._declared(name)
        subparsers = added.add_subparsers(
            metavar="ACTION", required=True, help="what to do; each action has --help"
        )
        for action, text in actions.items():
            subparsers.add_parser(action, help=text, description=text, allow_abbrev=False)
        added.commands = subparsers.choices
        return added

    def _declared(self, name: str) -> "Parser":
        if name not in self.commands:
            declared = ", ".join(self.commands)
            raise LookupError(f"no command {name!r} is declared, only: {declared}")
        return self.commands[name]

    def share(self, *names: str) -> None:
        """Add arguments of `SHARED`."""
        for name in names:
            self.add_argument(name, **SHARED[name])

    def refuse_option_before_command(self, typed: Sequence[str]) -> None:
        """Exit with status 2 if an option comes first: its value would be shown as a command."""
        option = _OPTION.match(typed[0]) if typed[1:] else None
        if option and option[0] not in self._option_string_actions:
            self.error(f"{option[0]} must follow the command")

    def refuse(self, extra: Sequence[str]) -> NoReturn:
        """Exit with status 2, and show only names of options: a value can be a password."""
        options = [each[0] for each in map(_OPTION.match, extra) if each]
        if options:  # whose values the other arguments may be
            self.error(f"unrecognized arguments: {' '.join(options)}")
        own = list(self._own_options())
        if any("://" in each for each in extra):
            own = [each for each in own if each.endswith(" URI")] or ["--database URL"]
        named = " or ".join(own)
        self.error(f"a value needs the name of its option: {named}" if named else "too many values")

    def _own_options(self) -> Iterator[str]:
        """Yield the options with a value that other commands do not share, as in the usage."""
        for each in self._actions:
            if each.option_strings and each.metavar and each.option_strings[0] not in SHARED:
                yield f"{each.option_strings[0]} {each.metavar}"

    def error(self, message: str) -> NoReturn:
        """Exit with status 2; hide values that can contain passwords."""
        unknown = re.match(r"argument COMMAND: invalid choice: '([^']*)'", message)
        if unknown:
            message = f"there is no command {unknown[1]!r}"
            usual = [_USUAL_NAMES[unknown[1]]] if unknown[1] in _USUAL_NAMES else []
            for similar in usual or get_close_matches(unknown[1], self.commands, 1):
                message += f"; did you mean {similar!r}?"
            if "://" in unknown[1]:
                message = "--database must follow the command"
        message = re.sub("(?s)ignored explicit argument .*", "takes no value", message)
        super().error(printable(re.sub(r"://\S*@", "://***@", message)))


def permission(text: str) -> str:
    """Return the typed permission, or raise argparse.ArgumentTypeError."""
    try:
        return names.check_permission(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def positive(text: str) -> int:
    """Return the typed number, or raise argparse.ArgumentTypeError.

    Example:
        positive("3") == 3
    """
    if not re.fullmatch(r"[1-9][0-9]{0,17}", text):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of 1 or more")
    return int(text)


def natural(text: str) -> int:
    """Return the typed number, which can be 0, or raise argparse.ArgumentTypeError."""
    if not re.fullmatch(r"0|[1-9][0-9]{0,17}", text):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of 0 or more")
    return int(text)


def _mount(text: str) -> str:
    if not is_mount(text):
        raise argparse.ArgumentTypeError(f"{text!r} is not a path such as /auth")
    return text


SHARED: Mapping[str, Mapping[str, Any]] = {
    "--database": {
        "metavar": "URL",
        "help": "the URL to use instead of DATABASE_URL; - reads it from the first line of standard"
        " input, where other users cannot see its password",
    },
    "--json": {"action": "store_true", "help": "print JSON, for programs"},
    "--log": {
        "choices": ("text", "json"),
        "default": "text",
        "help": "how to write to standard error (text): json is a JSON object a line, for programs"
        " that collect logs; stdout stays as it is",
    },
    "--mount": {
        "metavar": "PATH",
        "type": _mount,
        "default": "/auth",
        "help": "where wsgiauth is mounted (/auth)",
    },
    "--password-stdin": {
        "action": "store_true",
        "help": "read the password from the first line of standard input, for scripts",
    },
    "--yes": {"action": "store_true", "help": "do not ask for confirmation"},
    "user": {"metavar": "USER", "help": USER},
}
# An option that takes permissions, and can be repeated.
PERMISSIONS: Mapping[str, Any] = {
    "metavar": "PERMISSION",
    "nargs": "+",
    "action": "extend",
    "type": permission,
    "default": [],
}
