"""The models that migrations of features begin with."""

import peewee
import pytest

from wsgiauth.accounts.models import User
from wsgiauth.extend import FrozenModels


def badge_of(db):
    """Return a frozen model with a reference to users."""
    frozen = FrozenModels(db)

    class Badge(frozen.Table):
        user = peewee.ForeignKeyField(frozen.User, on_delete="CASCADE")
        name = peewee.CharField(max_length=20)

        class Meta:
            table_name = "badges_badge"

    return Badge


@pytest.mark.every_database
def test_a_table_refers_to_users_and_stores_every_character(site, ada):
    db = site.database
    badge = badge_of(db)
    db.create_tables([badge])
    try:
        badge.create(user=ada.id, name="Büchermäuse 📚")
        assert [each.name for each in badge.select()] == ["Büchermäuse 📚"]
        User.delete().where(User.id == ada.id).execute()
        assert badge.select().count() == 0
    finally:
        db.drop_tables([badge])


def test_on_mariadb_the_defaults_of_the_server_do_not_count():
    settings = badge_of(peewee.MySQLDatabase(None))._meta.table_settings
    assert settings == ["ENGINE=InnoDB", "DEFAULT CHARSET=utf8mb4", "COLLATE=utf8mb4_bin"]
