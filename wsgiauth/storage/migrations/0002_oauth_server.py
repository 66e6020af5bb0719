"""The tables of the OpenID provider.

The models are copies, frozen as they were when this migration was written.
"""

import peewee

MYSQL_TABLE = ["ENGINE=InnoDB", "DEFAULT CHARSET=utf8mb4", "COLLATE=utf8mb4_bin"]


def up(migrator, db):
    is_sqlite = isinstance(db, peewee.SqliteDatabase)

    class Table(peewee.Model):
        class Meta:
            database = db
            legacy_table_names = False
            table_settings = MYSQL_TABLE if isinstance(db, peewee.MySQLDatabase) else None

    class User(Table):  # only its key
        id = peewee.BigAutoField()

        class Meta:
            table_name = "wsgiauth_user"

    class Session(Table):  # only its key
        id = peewee.CharField(max_length=43, primary_key=True)

        class Meta:
            table_name = "wsgiauth_session"

    class Client(Table):
        id = peewee.CharField(max_length=32, primary_key=True)
        name = peewee.CharField(max_length=100)
        name_key = peewee.CharField(max_length=100)
        digest = peewee.CharField(max_length=64)
        former_digest = peewee.CharField(max_length=64)
        redirect_uris = peewee.TextField()
        logout_uri = peewee.TextField()
        logout_redirects = peewee.TextField()
        scopes = peewee.TextField()
        group_id = peewee.BigIntegerField(null=True)
        is_public = peewee.BooleanField()
        is_service = peewee.BooleanField()
        is_trusted = peewee.BooleanField()
        algorithm = peewee.CharField(max_length=8)
        created_at = peewee.BigIntegerField()
        expires_at = peewee.BigIntegerField(null=True, index=True)

        class Meta:
            table_name = "wsgiauth_oauth_client"
            indexes = ((("name_key", "id"), False),)

    class Consent(Table):
        user = peewee.ForeignKeyField(User, on_delete="CASCADE", index=False)
        client = peewee.ForeignKeyField(Client, on_delete="CASCADE", index=False)
        scopes = peewee.TextField()
        created_at = peewee.BigIntegerField()

        class Meta:
            table_name = "wsgiauth_oauth_consent"
            primary_key = peewee.CompositeKey("user", "client")
            indexes = ((("client", "user"), False),)

    class Grant(Table):
        id = peewee.CharField(max_length=22, primary_key=True)
        client = peewee.ForeignKeyField(Client, on_delete="CASCADE")
        user = peewee.ForeignKeyField(User, on_delete="CASCADE", index=False)
        session = peewee.ForeignKeyField(
            Session, null=True, on_delete="SET NULL", on_update="CASCADE"
        )
        sid = peewee.CharField(max_length=22)
        stamp = peewee.IntegerField()
        scopes = peewee.TextField()
        resource = peewee.CharField(max_length=255)
        is_offline = peewee.BooleanField()
        generation = peewee.IntegerField()
        refreshed_at = peewee.BigIntegerField()
        authenticated_at = peewee.BigIntegerField()
        methods = peewee.CharField(max_length=64)
        created_at = peewee.BigIntegerField()
        expires_at = peewee.BigIntegerField(index=True)

        class Meta:
            table_name = "wsgiauth_oauth_grant"
            without_rowid = is_sqlite
            indexes = ((("user", "client"), False),)

    class AppSession(Table):
        id = peewee.CharField(max_length=22, primary_key=True)
        client = peewee.ForeignKeyField(Client, on_delete="CASCADE", index=False)
        user_id = peewee.BigIntegerField(index=True)
        session = peewee.ForeignKeyField(
            Session, null=True, on_delete="SET NULL", on_update="CASCADE"
        )
        sid = peewee.CharField(max_length=22)
        due_at = peewee.BigIntegerField(null=True, index=True)
        attempts = peewee.IntegerField()
        expires_at = peewee.BigIntegerField(index=True)

        class Meta:
            table_name = "wsgiauth_oauth_session"
            indexes = ((("client", "sid"), True), (("client", "due_at"), False))

    class DeviceRequest(Table):
        id = peewee.CharField(max_length=64, primary_key=True)
        user_code = peewee.CharField(max_length=8, unique=True)
        client = peewee.ForeignKeyField(Client, on_delete="CASCADE")
        grant_id = peewee.CharField(max_length=22)
        scopes = peewee.TextField()
        resource = peewee.CharField(max_length=255)
        user = peewee.ForeignKeyField(User, null=True, on_delete="CASCADE")
        stamp = peewee.IntegerField()
        session_id = peewee.CharField(max_length=43)
        is_refused = peewee.BooleanField()
        address = peewee.CharField(max_length=64)
        agent = peewee.CharField(max_length=255)
        interval = peewee.IntegerField()
        asked_at = peewee.BigIntegerField()
        expires_at = peewee.BigIntegerField(index=True)

        class Meta:
            table_name = "wsgiauth_oauth_device"

    db.create_tables([Client, Consent, Grant, AppSession, DeviceRequest])
