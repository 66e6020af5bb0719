"""The level of a badge, and the table of reasons.

A process of the first version neither reads nor writes them.
"""

import peewee
from playhouse.migrate import migrate

BADGE = "badges_badge"
LEVEL = peewee.IntegerField(null=True, constraints=[peewee.SQL("DEFAULT 1")])


def up(migrator, db):
    # MariaDB keeps the column if the process was killed before the migration was recorded.
    if "level" not in {each.name for each in db.get_columns(BADGE)}:
        migrate(migrator.add_column(BADGE, "level", LEVEL))

    class Badge(peewee.Model):  # only its key
        class Meta:
            database = db
            table_name = BADGE

    class Reason(peewee.Model):
        badge = peewee.ForeignKeyField(Badge, on_delete="CASCADE")
        text = peewee.CharField(max_length=100)

        class Meta:
            database = db
            table_name = "badges_reason"

    db.create_tables([Reason])
