"""Someone who follows a page from its first line to its last, with two terminals."""

import re
import signal
import subprocess
from pathlib import Path

from tests.docs.pages import commands
from tests.support.leftovers import ending_with_parent
from tests.support.sites import end

BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
STAYS = ("cd ", ". ")  # commands that change the terminal itself


class Reader:
    """Saves each file and types each command of a page, in their order.

    The first terminal is for the server; once that runs, other blocks are typed in the second one.

    Args:
        folder: The folder of the reader.
        environ: The environment of both terminals.
        port: The port to use instead of 8080.
    """

    def __init__(self, folder: Path, environ: dict, port: int):
        self.folder = folder
        self.environ = environ
        self.port = port
        self.server = None
        self._first, self._second = [], []

    def follow(self, text, before, instead):
        """Follow a part of the page.

        Before a command with the words of a key of `before`, or instead of one with those of
        `instead`, the reader does something else.
        """
        for kind, block in BLOCK.findall(text.replace("8080", str(self.port))):
            if kind != "console":
                name = block.partition("\n")[0].removeprefix("# ")
                (self.folder / name).write_text(block, encoding="utf-8")
                continue
            in_second = self.server is not None and " serve " not in block
            for command, shown in commands(block):
                for act in [before[words] for words in before if words in command]:
                    act(self)
                replaced = [instead[words] for words in instead if words in command]
                for act in replaced:
                    act(self, command)
                if not replaced:
                    self._type(command, shown, self._second if in_second else self._first)

    def type(self, command):
        """Type a command in the second terminal, and return what it prints."""
        return self._run([*self._second, command])

    def leave(self):
        """Stop the server."""
        if self.server is not None:
            end(self.server)
            self.server.stdout.close()

    def _type(self, command, shown, terminal):
        if command.startswith(STAYS):
            terminal.append(command)
        elif " serve " in command:
            self._serve([*terminal, f"exec {command}"], shown)
        else:
            assert_alike(self._run([*terminal, command]), shown)

    def _run(self, lines):
        done = subprocess.run(**self._shell(lines), stderr=subprocess.PIPE, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def _serve(self, lines, shown):
        if self.server is not None:
            self.server.send_signal(signal.SIGINT)
            assert self.server.wait(30) == 130
            self.server.stdout.close()
        options = self._shell(lines)
        options["args"] = ending_with_parent(options["args"])
        self.server = subprocess.Popen(**options, stderr=subprocess.STDOUT)
        printed = [self.server.stdout.readline() for _ in shown.splitlines()]
        assert_alike("".join(printed), shown)

    def _shell(self, lines):
        script = "\n".join(lines)
        return {
            "args": ["bash", "-euo", "pipefail", "-c", script],
            "cwd": self.folder,
            "env": self.environ,
            "stdout": subprocess.PIPE,
            "text": True,
        }


def assert_alike(printed, shown):
    """Compare what a command prints with what the page shows, where … stands for anything."""
    pattern = re.escape(shown).replace("…", "(?s:.*)")
    assert not shown or re.fullmatch(pattern, printed), printed
