"""Groups of users, their permissions and their members.

The models are copies, frozen as they were when this migration was written.
"""

import peewee
from playhouse.sqlite_ext import AutoIncrementField

MYSQL_TABLE = ["ENGINE=InnoDB", "DEFAULT CHARSET=utf8mb4", "COLLATE=utf8mb4_bin"]


def up(migrator, db):
    # As for users: SQLite would give a deleted group's number to the next.
    is_sqlite = isinstance(db, peewee.SqliteDatabase)
    number = AutoIncrementField if is_sqlite else peewee.BigAutoField

    class Table(peewee.Model):
        class Meta:
            database = db
            table_settings = MYSQL_TABLE if isinstance(db, peewee.MySQLDatabase) else None

    class User(Table):  # exists; the foreign keys refer to it
        id = number()

        class Meta:
            table_name = "wsgiauth_user"

    class Group(Table):
        id = number()
        name = peewee.CharField(max_length=150)
        name_key = peewee.CharField(max_length=150, unique=True)

        class Meta:
            table_name = "wsgiauth_group"

    class GroupPermission(Table):
        group = peewee.ForeignKeyField(Group, on_delete="CASCADE", index=False)
        name = peewee.CharField(max_length=100)

        class Meta:
            table_name = "wsgiauth_group_permission"
            primary_key = peewee.CompositeKey("group", "name")

    # The primary key finds the members of a group by their numbers, the index the groups of a user.
    class Membership(Table):
        group = peewee.ForeignKeyField(Group, on_delete="CASCADE", index=False)
        user = peewee.ForeignKeyField(User, on_delete="CASCADE", index=False)

        class Meta:
            table_name = "wsgiauth_membership"
            primary_key = peewee.CompositeKey("group", "user")
            indexes = ((("user", "group"), False),)

    db.create_tables([Group, GroupPermission, Membership])


def down(migrator, db):
    for table in ("wsgiauth_membership", "wsgiauth_group_permission", "wsgiauth_group"):
        migrator.migrate(migrator.drop_table(table))
