"""Tables for accounts of other providers, and for the logins at one by which sessions began.

The models are copies, frozen as they were when this migration was written.
"""

import peewee

MYSQL_TABLE = ["ENGINE=InnoDB", "DEFAULT CHARSET=utf8mb4", "COLLATE=utf8mb4_bin"]


def up(migrator, db):
    class Table(peewee.Model):
        class Meta:
            database = db
            legacy_table_names = False  # indexes begin with the name of the table, too
            table_settings = MYSQL_TABLE if isinstance(db, peewee.MySQLDatabase) else None

    class User(Table):
        id = peewee.BigAutoField()

        class Meta:
            table_name = "wsgiauth_user"

    class Session(Table):
        id = peewee.CharField(max_length=43, primary_key=True)

        class Meta:
            table_name = "wsgiauth_session"

    class Identity(Table):
        id = peewee.CharField(max_length=64, primary_key=True)
        user = peewee.ForeignKeyField(User, on_delete="CASCADE")
        provider = peewee.CharField(max_length=32)
        issuer = peewee.CharField(max_length=255)
        subject = peewee.CharField(max_length=255)
        name = peewee.CharField(max_length=100)
        joined = peewee.TextField()
        created_at = peewee.BigIntegerField()
        last_used_at = peewee.BigIntegerField()

        class Meta:
            table_name = "wsgiauth_identity"

    class ProviderSession(Table):
        session = peewee.ForeignKeyField(
            Session, on_delete="CASCADE", on_update="CASCADE", index=False
        )
        identity = peewee.ForeignKeyField(Identity, on_delete="CASCADE")
        sid = peewee.CharField(max_length=64, index=True)
        is_first = peewee.BooleanField()
        authenticated_at = peewee.BigIntegerField(null=True)

        class Meta:
            table_name = "wsgiauth_provider_session"
            primary_key = peewee.CompositeKey("session", "identity", "sid")

    db.create_tables([Identity, ProviderSession])
