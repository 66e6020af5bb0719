"""Models for migrations of features, which must not change with those of the code."""

import peewee

_MYSQL_TABLE = ["ENGINE=InnoDB", "DEFAULT CHARSET=utf8mb4", "COLLATE=utf8mb4_bin"]


class FrozenModels:
    """What a migration of a feature begins with.

    On MariaDB, its tables are InnoDB's in utf8mb4, whatever the defaults of the server are.

    Args:
        db: The database of the migration.

    Attributes:
        Table: The base class of the copies of models.
        User: The users, with their key alone, for foreign keys.

    Example:
        def up(migrator, db):
            frozen = FrozenModels(db)

            class Badge(frozen.Table):
                user = peewee.ForeignKeyField(frozen.User, on_delete="CASCADE")

                class Meta:
                    table_name = "badges_badge"

            db.create_tables([Badge])
    """

    def __init__(self, db: peewee.Database) -> None:
        class Table(peewee.Model):
            class Meta:
                database = db
                legacy_table_names = False
                table_settings = _MYSQL_TABLE if isinstance(db, peewee.MySQLDatabase) else None

        class User(Table):
            id = peewee.BigAutoField()

            class Meta:
                table_name = "wsgiauth_user"

        self.Table: type[peewee.Model] = Table
        self.User: type[peewee.Model] = User
