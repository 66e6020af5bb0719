"""The first tables: users, their sessions and permissions, and the counts of attempts.

The models are copies, frozen as they were when this migration was written.
"""

import peewee
from playhouse.sqlite_ext import AutoIncrementField

# Names are compared byte by byte: their keys are already folded, and MariaDB's own idea of which
# letters are the same would let one user log in under another's name.
MYSQL_TABLE = ["ENGINE=InnoDB", "DEFAULT CHARSET=utf8mb4", "COLLATE=utf8mb4_bin"]


def up(migrator, db):
    # SQLite would give a deleted user's number to the next; whoever kept it would not know.
    is_sqlite = isinstance(db, peewee.SqliteDatabase)
    number = AutoIncrementField if is_sqlite else peewee.BigAutoField

    class Table(peewee.Model):
        class Meta:
            database = db
            table_settings = MYSQL_TABLE if isinstance(db, peewee.MySQLDatabase) else None

    class User(Table):
        id = number()
        username = peewee.CharField(max_length=150)
        username_key = peewee.CharField(max_length=150, unique=True)
        email = peewee.CharField(max_length=254)
        email_key = peewee.CharField(max_length=254, unique=True)
        hashed_password = peewee.CharField(max_length=60)
        security_stamp = peewee.IntegerField()
        is_active = peewee.BooleanField()
        is_staff = peewee.BooleanField()
        is_superuser = peewee.BooleanField()
        created_at = peewee.DateTimeField()

        class Meta:
            table_name = "wsgiauth_user"

    class Session(Table):
        id = peewee.CharField(max_length=43, primary_key=True)
        user = peewee.ForeignKeyField(User, on_delete="CASCADE")
        stamp = peewee.IntegerField()
        created_at = peewee.DateTimeField()
        expires_at = peewee.BigIntegerField(index=True)

        class Meta:
            table_name = "wsgiauth_session"
            without_rowid = is_sqlite  # found in one step by its id; servers have no such thing

    class Permission(Table):
        user = peewee.ForeignKeyField(User, on_delete="CASCADE")
        name = peewee.CharField(max_length=100)

        class Meta:
            table_name = "wsgiauth_permission"
            primary_key = peewee.CompositeKey("user", "name")

    class AttemptCount(Table):
        id = peewee.CharField(max_length=64, primary_key=True)
        retry_at = peewee.BigIntegerField()
        count = peewee.IntegerField()
        expires_at = peewee.BigIntegerField(index=True)

        class Meta:
            table_name = "wsgiauth_attempt_count"

    db.create_tables([User, Session, Permission, AttemptCount])


def down(migrator, db):
    for table in (
        "wsgiauth_attempt_count",
        "wsgiauth_permission",
        "wsgiauth_session",
        "wsgiauth_user",
    ):
        migrator.migrate(migrator.drop_table(table))
