"""The table of books."""

import peewee


def up(migrator, db):
    class User(peewee.Model):  # only its key
        id = peewee.BigAutoField()

        class Meta:
            database = db
            table_name = "wsgiauth_user"

    class Book(peewee.Model):
        user = peewee.ForeignKeyField(User, on_delete="CASCADE", index=True)
        title = peewee.CharField(max_length=80)
        note = peewee.CharField(max_length=80, null=True)
        expires_at = peewee.BigIntegerField(index=True)

        class Meta:
            database = db
            table_name = "shelves_book"

    class LibraryCard(peewee.Model):
        user = peewee.ForeignKeyField(User, on_delete="CASCADE", primary_key=True)

        class Meta:
            database = db
            table_name = "shelves_card"

    db.create_tables([Book, LibraryCard])
