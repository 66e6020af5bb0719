"""Whether anything waits for a lock in the current database of a server."""

LOCK_WAITS = {
    "postgresql": """SELECT count(*) FROM pg_stat_activity
        WHERE datname = current_database() AND wait_event_type = 'Lock'""",
    "mariadb": """SELECT count(*) FROM information_schema.processlist
        LEFT JOIN information_schema.innodb_trx ON trx_mysql_thread_id = id
        WHERE db = database() AND (state LIKE 'Waiting for%%' OR trx_state = 'LOCK WAIT')""",
}
# Seconds; MariaDB shows the same answer to whoever asks again within a tenth.
POLL = {"postgresql": 0.005, "mariadb": 0.11}
