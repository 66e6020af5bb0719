"""A table for the parameters of hashes that other software made.

Processes of an earlier version refuse these passwords, because they compare with the stored hash.
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

    class FormerPassword(Table):
        user = peewee.ForeignKeyField(User, primary_key=True, on_delete="CASCADE")
        scheme = peewee.CharField(max_length=32)
        parameters = peewee.CharField(max_length=64)
        salt = peewee.CharField(max_length=255)
        hash_start = peewee.CharField(max_length=29)

        class Meta:
            table_name = "wsgiauth_former_password"

    db.create_tables([FormerPassword])
