"""Dumps of the tables of each release, with rows, from which the tests upgrade.

`make dumps VERSION=1.0.0` writes those of a release into a folder, which then stays as it is.
"""

import json
import re
import subprocess
import sys
import tempfile
from contextlib import closing, contextmanager
from pathlib import Path
from urllib.parse import urlsplit

from playhouse import db_url
from webtest import TestApp

from tests.conftest import SERVERS
from tests.features.former_passwords.samples import WERKZEUG
from tests.support import features
from tests.support.authenticators import Authenticator, add_passkey
from tests.support.driving import make_site, post
from tests.support.factors import add_app
from tests.support.leftovers import own_name
from tests.support.mails import MAIL
from tests.support.sites import EMAIL, PASSWORD, USERNAME
from tests.support.trusted import COOKIE, trust
from wsgiauth import User, storage
from wsgiauth.features.factors import recovery_codes
from wsgiauth.storage import context, schema
from wsgiauth.testing import api_key, logged_in, make_group, make_user

FOLDER = Path(__file__).parents[1] / "storage/dumps"
VERSIONS = sorted(path.name for path in FOLDER.glob("*"))
KINDS = ("sqlite", *SERVERS)
LOGIN = {"username": USERNAME, "password": PASSWORD}
# What programs of other versions than the server's would not read.
NOT_NEEDED = re.compile(r"^(--.*|\\.*|SET .*|SELECT pg_catalog\.set_config.*|/\*M!.*|)\n", re.M)


@contextmanager
def new_database(kind, folder, end="_dump"):
    """Yield the URL of an empty database, which is dropped in the end."""
    name = own_name() + end
    if kind == "sqlite":
        yield f"sqlite:///{folder}/accounts.db"
        return
    with closing(db_url.connect(SERVERS[kind])) as server:
        server.execute_sql(f"CREATE DATABASE {name}")
        try:
            yield urlsplit(SERVERS[kind])._replace(path=f"/{name}").geturl()
        finally:
            server.execute_sql(f"DROP DATABASE {name}")


def load(version, kind, url):
    """Make the tables of a version in an empty database; return what its users know."""
    folder = FOLDER / version
    dump = (folder / f"{kind}.sql").read_text(encoding="utf-8")
    with closing(db_url.connect(url)) as database:
        connection = database.connection()
        if kind == "sqlite":
            connection.executescript(dump)
        elif kind == "postgresql":
            connection.execute(dump)
        else:
            # Tables can refer to later ones, and there are values for the virtual column.
            database.execute_sql("SET foreign_key_checks = 0, sql_mode = ''")
            for statement in dump.removesuffix(";\n").split(";\n"):
                connection.cursor().execute(statement)
            database.commit()
    return json.loads((folder / "credentials.json").read_text(encoding="utf-8"))[kind]


def fill(site):
    """Insert rows into each table; return what the users know."""
    site.site.outbox.keep_messages()  # they wait in the table
    post(site, "/register", {**LOGIN, "email": EMAIL}, status=201)
    post(site, "/login", {**LOGIN, "password": "wrong"}, status=401)
    post(site, "/forgot", {"username": USERNAME}, status=202)
    with context.using(site.database):
        ada = User.get()
        ada.is_staff = ada.is_superuser = True
        ada.save()
        ada.grant("reports.read")
        key = api_key(site, ada, ["reports.read"])["Authorization"].split()[1]
        make_group(site, "Editors", ["pages.edit"])
        grace = make_user(site, "grace", password=PASSWORD, groups=["Editors"])
        make_user(site, "wanda", former_hash=WERKZEUG)
        norma = make_user(site, "norma", identities=[("example", "s-1")])
        logged_in(site, norma, provider="example")
        app, codes, browser = add_app(site, grace), recovery_codes.replace(grace), TestApp(site)
        laptop = Authenticator()
        laptop.host, laptop.origin = "example.org", MAIL["PUBLIC_URL"]
        add_passkey(site, grace, authenticator=laptop)
        trust(browser, app.code(), "grace")
        features.fill(site, make_user(site, "olga"))
    tokens = post(site, "/login", {**LOGIN, "refresh": True}, status=200).json
    return {
        "now": int(site.site.tokens.now()),
        "access_token": tokens["access_token"],
        "refresh_token": tokens["refresh_token"],
        "api_key": key,
        "app": app.secret,
        "recovery_code": codes[0],
        "trusted_browser": next(each.value for each in browser.cookiejar if COOKIE in each.name),
    }


def dump(kind, url):
    """Return the statements that make the tables of a database, and their rows."""
    parts = urlsplit(url)
    if kind == "sqlite":
        with closing(db_url.connect(url)) as database:
            return "".join(f"{each}\n" for each in database.connection().iterdump())
    command = ["pg_dump", "--inserts", "--no-owner", "--no-privileges", f"--dbname={url}"]
    if kind == "mariadb":
        account = [f"--host={parts.hostname}", f"--port={parts.port or 3306}"]
        account += [f"--user={parts.username}", f"--password={parts.password or ''}"]
        command = ["mariadb-dump", *account, "--compact", "--complete-insert", parts.path[1:]]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return NOT_NEEDED.sub("", done.stdout)


def make_dumps(version):
    """Write the dumps of a version, the present one."""
    dumps, credentials = {}, {}
    with tempfile.TemporaryDirectory() as temporary:
        for kind in KINDS:
            with new_database(kind, temporary) as url:
                storage.discard_connection(storage.open_database(url, prepare=schema.migrate))
                site = make_site(url, Path(temporary))
                credentials[kind] = fill(site)
                storage.discard_connection(site.database)
                dumps[f"{kind}.sql"] = dump(kind, url)
    dumps["credentials.json"] = f"{json.dumps(credentials, indent=2)}\n"
    (folder := FOLDER / version).mkdir(parents=True)
    for name, text in dumps.items():
        (folder / name).write_text(text, encoding="utf-8")


def main(version=""):
    """Write the dumps, unless there are some of this version."""
    if not version:
        sys.exit("Name the version, as in `make dumps VERSION=1.0.0`.")
    if (FOLDER / version).exists():
        sys.exit(f"tests/storage/dumps/{version} exists: remove it to make it anew.")
    make_dumps(version)


if __name__ == "__main__":
    main(*sys.argv[1:])
