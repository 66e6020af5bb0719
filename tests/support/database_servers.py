"""The database servers on which the tests may create and drop databases of their own."""

import os

SERVERS = {
    "postgresql": os.environ.get("TEST_POSTGRESQL", "postgresql://postgres@127.0.0.1/postgres"),
    # Making a TLS context for each connection would take half of the tests' time. On a machine
    # that is busy with a disk, a statement can take longer than the ten seconds of wsgiauth.
    "mariadb": os.environ.get(
        "TEST_MARIADB", "mysql://root@127.0.0.1/mysql?ssl_disabled=true&read_timeout=60"
    ),
}
