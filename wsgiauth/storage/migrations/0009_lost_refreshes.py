"""Columns for refreshes whose answers are lost; they have defaults for older processes.

A process of an earlier version that refreshes a session leaves `unused` behind the number of the
pair. The former refresh token is then accepted for 30 seconds only, as before.
"""


def up(migrator, db):
    for name in ("unused", "reissued", "reissued_for"):
        column = f"ADD COLUMN {name} INTEGER NOT NULL DEFAULT 0"
        db.execute_sql(f"ALTER TABLE wsgiauth_session {column}")
