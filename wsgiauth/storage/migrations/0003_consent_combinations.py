"""Which scopes a user has allowed an app together.

A process of the version before neither reads nor writes the column.
"""

import peewee
from playhouse.migrate import migrate

TABLE, COLUMN = "wsgiauth_oauth_consent", "combinations"


def up(migrator, db):
    # MariaDB keeps the column if the process was killed before the migration was recorded.
    if COLUMN not in [each.name for each in db.get_columns(TABLE)]:
        migrate(migrator.add_column(TABLE, COLUMN, peewee.TextField(null=True)))
