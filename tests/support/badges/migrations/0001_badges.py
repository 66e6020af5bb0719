"""The table of badges."""

import peewee

from wsgiauth.storage.frozen import FrozenModels


def up(migrator, db):
    frozen = FrozenModels(db)

    class Badge(frozen.Table):
        user = peewee.ForeignKeyField(frozen.User, on_delete="CASCADE")
        expires_at = peewee.BigIntegerField(index=True)

        class Meta:
            table_name = "badges_badge"

    db.create_tables([Badge])
