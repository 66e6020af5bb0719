"""Every command that uses the database, run in this process."""

import io
import json
from contextlib import redirect_stdout
from unittest.mock import patch

from tests.conftest import HASH
from tests.support.factors import FACTOR_KEY
from tests.support.former import WERKZEUG
from tests.support.mails import MAIL
from tests.support.sites import PASSWORD, SECRET_KEY
from tests.support.terms import TERMS
from wsgiauth.cli import main


def run_commands(url, folder, site):
    """Every command that uses the database."""
    (folder / "mails").mkdir()
    people = folder / "people.csv"
    people.write_text(
        "username,email,hashed_password,permissions,identities\n"
        f"Zed,zed@example.org,{HASH},a.b c.d,https://accounts.example.com#zed\n"
        f"Wera,wera@example.org,{WERKZEUG},,\n"
    )
    apps = folder / "apps.json"
    apps.write_text(json.dumps([APP]))
    environ = {"DATABASE_URL": url, "SECRET_KEY": SECRET_KEY, "BCRYPT_ROUNDS": "4", **MAIL}
    environ |= {"MAIL_URL": f"file://{folder}/mails", "FACTOR_KEY": FACTOR_KEY}
    environ["PASSKEYS"] = environ["LOGIN_CODES"] = "on"
    environ["OIDC_PROVIDERS"] = " ".join(map(str, site.site.settings.OIDC_PROVIDERS))
    environ |= {"OAUTH_SERVER": "on", "SERVICE_KEYS": str(folder / "key"), **TERMS}
    for argv in COMMANDS:
        _run(argv.format(people=people, apps=apps), environ)
    turned_off = {"FACTOR_KEY", "PASSKEYS"}
    _run("check", {name: value for name, value in environ.items() if name not in turned_off})


def _run(argv, environ):
    output = io.StringIO()
    with (
        patch.dict("os.environ", environ),
        patch("sys.stdin", io.StringIO(f"{PASSWORD}\n")),
        redirect_stdout(output),
    ):
        status = main(argv.split())
    if status != 0:
        raise RuntimeError(f"{argv}: {output.getvalue()}")


APP = {
    "id": "wiki",
    "name": "Wiki",
    "kind": "confidential",
    "is_trusted": False,
    "redirect_uris": ["https://wiki.example.org/"],
    "scopes": ["openid"],
    "group": None,
    "algorithm": None,
    "logout_uri": None,
    "logout_redirects": [],
    "created_at": "2026-11-02T09:05:00Z",
    "digests": ["0" * 64],
}
COMMANDS = (
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
    "terms",
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
    "makekey cli --name export",
    "keys cli",
    "endkey cli --all",
    "identities cli",
    "client add Blog --redirect https://blog.example.org/",
    "client import {apps}",
    "client import {apps}",
    "client list",
    "client show wiki",
    "client change wiki --name Notes",
    "client secret wiki",
    "client secret wiki --end-former",
    "client export",
    "client remove wiki --yes",
    "events",
    "events cli --limit 5",
    "events --actor cli --name login --since 2026-01-01 --until 2040-01-01",
    "invite pat@example.org",
    "invitations",
    "endinvitation pat@example.org",
    "mail",
    "resetlink cli",
    "removefactor grace",
    "import {people}",
    "import {people}",
    "export",
    "export --with-hashes",
    "hashes",
    "check",
    "deletegroup Clerks --yes",
    "purge",
    "logout cli",
    "deleteuser cli --yes",
    "logout --all",
)
