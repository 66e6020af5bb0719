"""Every command that uses the database, run in this process."""

import io
from contextlib import redirect_stdout
from unittest.mock import patch

from tests.support import features
from tests.support.sites import PASSWORD
from wsgiauth.cli import main

FIRST = (
    "migrate",
    "createsuperuser --username root --email root@example.org --password-stdin",
    "createuser --username cli --email cli@example.org --password-stdin",
    "changepassword cli --password-stdin",
    "set cli --staff",
    "deactivate cli",
    "activate cli",
    "creategroup Clerks",
    "grant cli a.b",
    "grant --group Clerks c.d",
    "join cli Clerks",
    "permissions",
    "groups",
    "users",
    "users --group Clerks",
    "users cl",
    "users @example.org",
    "users example.org",
    "users --limit 3 --json",
    "leave cli Clerks",
    "revoke cli a.b",
    "revoke --group Clerks c.d",
    "sessions cli",
)
LAST = (
    "mail",
    "check",
    "deletegroup Clerks --yes",
    "purge",
    "logout cli",
    "deleteuser cli --yes",
    "logout --all",
    "restored --yes --end-recovery-codes",
)


def command_lines(folder):
    """Return all command lines: of the kernel, and of the features in between."""
    of_features = features.declared("commands").values()
    return [*FIRST, *(line for each in of_features for line in each(folder)), *LAST]


def run_commands(url, folder, provider):
    """Run every command that uses the database."""
    (folder / "mails").mkdir()
    environ = features.settings(folder, provider.entry("google"))
    environ |= {"DATABASE_URL": url, "MAIL_URL": f"file://{folder}/mails"}
    for line in command_lines(folder):
        _run(line, environ)


def _run(line, environ):
    output = io.StringIO()
    with (
        patch.dict("os.environ", environ),
        patch("sys.stdin", io.StringIO(f"{PASSWORD}\n")),
        redirect_stdout(output),
    ):
        status = main(line.split())
    if status != 0:
        raise RuntimeError(f"{line}: {output.getvalue()}")
