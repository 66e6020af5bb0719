"""Someone who follows a page from its first line to its last, with two terminals."""

import re
import signal
import subprocess
from pathlib import Path

from tests.docs.pages import commands
from tests.support.leftovers import ending_with_parent
from tests.support.sites import end

STEP = re.compile(r"^(?:```(\w+)\n(.*?)^```$|Restart the server\.)", re.MULTILINE | re.DOTALL)
APPEND = "append to "
STAYS = ("cd ", ". ")  # commands that change the terminal itself


class Reader:
    """Saves each file and types each command of a page, in their order.

    The first terminal is for the server; once that runs, other blocks are typed in the second one.
    "Restart the server." stands for the last block that starts it.

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
        self.warnings = None  # lines that the server printed before the one that the page shows
        self._start = ""
        self._first, self._second = [], []

    def follow(self, text, before, instead):
        """Follow a part of the page.

        Before a command with the words of a key of `before`, or instead of one with those of
        `instead`, the reader does something else.
        """
        for kind, block in STEP.findall(text.replace("8080", str(self.port))):
            if not kind:
                self._restart()
                continue
            if kind != "console":
                self._save(block)
                continue
            in_second = self.server is not None and " serve " not in block
            self._start = self._start if in_second else block
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

    def _save(self, block):
        name = block.partition("\n")[0].removeprefix("# ")
        mode = "a" if name.startswith(APPEND) else "w"
        with (self.folder / name.removeprefix(APPEND)).open(mode, encoding="utf-8") as file:
            file.write(block)

    def _restart(self):
        for command, shown in commands(self._start):
            self._type(command, f"…{shown}" if shown else shown, self._first)

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
        self.warnings = []
        printed = [self.server.stdout.readline() for _ in shown.splitlines()]
        while shown.startswith("…") and printed[-1] and not is_alike(printed[-1], shown[1:]):
            self.warnings.append(printed[-1])
            printed.append(self.server.stdout.readline())
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


def is_alike(printed, shown):
    """Compare what a command prints with what the page shows, where … stands for anything."""
    return not shown or re.fullmatch(re.escape(shown).replace("…", "(?s:.*)"), printed)


def assert_alike(printed, shown):
    assert is_alike(printed, shown), printed
