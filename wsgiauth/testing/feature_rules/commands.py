"""The rules for commands."""

import io
import re
import shlex
from collections.abc import Iterator
from contextlib import redirect_stderr
from importlib import import_module

from wsgiauth.console.parser import Parser
from wsgiauth.testing.feature_rules.scene import Finding, Scene

_SHELL = re.compile(" [<>|] ")  # begins what is for the shell


def check_commands(scene: Scene) -> Iterator[Finding]:
    """Yield what the help of commands lacks, and the examples that are refused."""
    commands = scene.feature.commands
    parser = Parser(prog="wsgiauth")
    added = parser.add_subparsers()
    for name, (_module, text) in commands.items():
        added.add_parser(name, help=text, description=text, allow_abbrev=False)
        if text.endswith(".") or text[:1].isupper():
            advice = f"begin its help with a verb in lower case, without a full stop: {text!r}"
            yield Finding("commands", name, advice)
    parser.commands = added.choices
    for module in {each.module for each in commands.values()}:
        try:
            import_module(module).add_commands(parser)
        except LookupError as error:
            advice = f"`commands` lack a command that the module adds: {error}"
            yield Finding("commands", module, advice)
    for name in commands:
        for advice in _faults(parser, parser.commands[name]):
            yield Finding("commands", name, advice)


def _faults(root: Parser, parser: Parser) -> Iterator[str]:
    for each in parser.commands.values():
        yield from _faults(root, each)
    for action in parser._actions:
        if not action.help:
            yield f"give the argument {action.dest} a help"
    if parser.get_default("run") is None and not parser.commands:
        yield "call `parser.command` for it in `add_commands`"
    parser.format_help()
    prefix = f"  {parser.prog}"
    for line in (parser.epilog or "").splitlines():
        if line.startswith(prefix) and (reason := _refusal(root, line.strip())):
            yield f"the example `{line.strip()}` is refused: {reason}"


def _refusal(root: Parser, line: str) -> str:
    """Return why a command line is refused; empty if it is not."""
    errors = io.StringIO()
    try:
        with redirect_stderr(errors):
            root.parse_args(shlex.split(_SHELL.split(line)[0])[1:])
    except SystemExit:
        return errors.getvalue().strip().rpartition("error: ")[2]
    return ""
