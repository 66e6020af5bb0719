"""Which versions of the terms users have accepted.

The models are copies, frozen as they were when this migration was written.
"""

import peewee

MYSQL_TABLE = ["ENGINE=InnoDB", "DEFAULT CHARSET=utf8mb4", "COLLATE=utf8mb4_bin"]


def up(migrator, db):
    class Table(peewee.Model):
        class Meta:
            database = db
            legacy_table_names = False
            table_settings = MYSQL_TABLE if isinstance(db, peewee.MySQLDatabase) else None

    class User(Table):  # only its key
        id = peewee.BigAutoField()

        class Meta:
            table_name = "wsgiauth_user"

    class Acceptance(Table):
        user = peewee.ForeignKeyField(User, on_delete="CASCADE", index=False)
        version = peewee.CharField(max_length=10)
        accepted_at = peewee.BigIntegerField()

        class Meta:
            table_name = "wsgiauth_terms_acceptance"
            primary_key = peewee.CompositeKey("user", "version")

    db.create_tables([Acceptance])
