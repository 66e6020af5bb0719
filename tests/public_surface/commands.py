"""The command line: commands, their options, the keys of their JSON, and exit statuses."""

import io
import json
import os
import re
from contextlib import redirect_stderr, redirect_stdout, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

from tests.support.sites import SECRET_KEY
from wsgiauth import AuthMiddleware, cli, testing
from wsgiauth.features.oauth_server import clients
from wsgiauth.features.transfer.rows import COLUMNS
from wsgiauth.storage import context

SETTINGS = {
    "SECRET_KEY": SECRET_KEY,
    "PUBLIC_URL": "https://example.org",
    "OIDC_PROVIDERS": "name:https://client:secret@accounts.example.com",
}
OPTION = re.compile(r"--[\w-]+(?: [A-Z][\w:=]*(?: \[[A-Z]+ \.\.\.\])?| {[\w,]+})?")
LISTS = ("users", "permissions", "groups", "sessions ada", "hashes", "keys ada", "invitations")
LISTS += ("identities ada", "events", "client list", "settings")


def lines():
    """Yield the lines of every command."""
    for status, meaning in re.findall(r"(\d+)\s([a-z ]*[a-z])", cli.__doc__):
        yield f"exit {status}: {meaning}"
    for argument in arguments():
        yield f"option {argument}"
    for words in commands():
        name = " ".join(words)
        yield f"command {name}"
        for argument in arguments(*words):
            yield f"command {name} | {argument}"
    for column in COLUMNS:
        yield f"command export | column {column}"
    with TemporaryDirectory() as folder:
        yield from json_keys(Path(folder))


def commands():
    """Yield the words of each command, also of its actions."""
    with patch.dict(os.environ, COLUMNS="10000", NO_COLOR="1"):
        for name in cli.all_commands():
            yield (name,)
            printed = output_of(name, "--help")
            yield from ((name, each) for each in re.findall(r"^    (\w+)", printed, re.MULTILINE))


def arguments(*command):
    """Yield the options of a command, each with its value, and its other arguments."""
    with patch.dict(os.environ, COLUMNS="10000", NO_COLOR="1"):
        printed = output_of(*command, "--help").partition("\n")[0]
    usage = printed.partition(" [-h] ")[2]
    yield from OPTION.findall(usage)
    yield from {*re.findall(r"[A-Z][\w:=]*", OPTION.sub("", usage))}


def output_of(*argv):
    """Return what a command prints."""
    output = io.StringIO()
    with redirect_stdout(output), redirect_stderr(io.StringIO()), suppress(SystemExit):
        cli.main(argv)
    return output.getvalue()


def json_keys(folder):
    """Yield a line for each key in the JSON of a command, from a site with a row of everything."""
    environ = {**SETTINGS, "DATABASE_URL": f"sqlite:///{folder}/accounts.db"}
    with patch.dict(os.environ, environ, clear=True):
        site = AuthMiddleware(lambda environ, start_response: [])
        testing.make_group(site, "editors", ["a.b"])
        ada = testing.make_user(site, "ada", groups=["editors"], identities=[("name", "108")])
        testing.api_key(site, ada)
        testing.bearer(site, ada)
        site.invite("grace@example.org")
        with context.using(site.database):
            clients.create("Wiki", ["https://wiki.example.org/"], now=0)
        for command in LISTS:
            text = output_of(*command.split(), "--json")
            found = json.loads(text if text.startswith("[") else text.partition("\n")[0])
            for key in found[0] if isinstance(found, list) else found:
                yield f"command {command.removesuffix(' ada')} | --json {key}"
