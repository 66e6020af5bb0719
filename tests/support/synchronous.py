"""A server that waits for standbys, which are never there."""

import time
from contextlib import closing, contextmanager

import psycopg

_CLIENTS = "FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"


class Standbys:
    """A context with a connection to a primary, which says for which standbys the primary waits."""

    def __init__(self, url):
        self._url = url
        self._connection = psycopg.connect(url, autocommit=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._connection.close()

    @contextmanager
    def away(self):
        """Let the primary wait for a standby that is away, until the end of the body."""
        self._wait_for("away")
        while not self._commits_wait():
            pass
        try:
            yield
        finally:
            self.are_back()

    def are_back(self):
        """Let the primary wait no longer; return when no commit waits."""
        self._wait_for("")
        while self.waiting():
            time.sleep(0.01)

    def connections(self):
        """Return the number of connections to the primary, also of clients that are gone."""
        return self._number(f"SELECT count(*) {_CLIENTS}")

    def waiting(self):
        """Return how many of them wait for a standby."""
        return self._number(f"SELECT count(*) {_CLIENTS} AND wait_event = 'SyncRep'")

    def end_waiting(self):
        """End the connections that wait."""
        self._connection.execute(
            f"SELECT pg_terminate_backend(pid, 60000) {_CLIENTS} AND wait_event = 'SyncRep'"
        )

    def _wait_for(self, name):
        self._connection.execute(f"ALTER SYSTEM SET synchronous_standby_names = '{name}'")
        self._connection.execute("SELECT pg_reload_conf()")
        while self._number("SELECT current_setting('synchronous_standby_names')") != name:
            time.sleep(0.01)

    def _commits_wait(self):
        """Return whether a commit waits; it does some time after a connection has the setting."""
        with closing(psycopg.connect(self._url, autocommit=True)) as connection:
            connection.pgconn.send_query(b"SELECT pg_logical_emit_message(true, '', '')")
            while connection.pgconn.is_busy():
                if self.waiting():
                    self.end_waiting()
                    return True
                connection.pgconn.consume_input()
        return False

    def _number(self, sql):
        return self._connection.execute(sql).fetchone()[0]
