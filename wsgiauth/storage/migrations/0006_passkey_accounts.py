"""Which users registered with a passkey instead of a password.

A process of the version before neither reads nor writes the table: it takes passkeys for second
factors. The models are copies, frozen as they were when this migration was written.
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

    class PasskeyAccount(Table):
        user = peewee.ForeignKeyField(User, on_delete="CASCADE", primary_key=True)
        registered_at = peewee.BigIntegerField()

        class Meta:
            table_name = "wsgiauth_passkey_account"

    db.create_tables([PasskeyAccount])
