"""The table of books, and the rule."""

import time

import peewee

from wsgiauth.extend import Change, Model, User, _, database, emit

BOOK_LENT = Change("shelves_lent", _("Book lent"))
MAX_TITLE = 80  # characters
_MONTH = 2_592_000  # seconds


class Book(Model):
    """A book that a user has."""

    user = peewee.ForeignKeyField(User, backref="+", on_delete="CASCADE")
    title = peewee.CharField(max_length=MAX_TITLE)
    note = peewee.CharField(max_length=MAX_TITLE, null=True)
    expires_at = peewee.BigIntegerField(index=True)

    class Meta:
        table_name = "shelves_book"


class LibraryCard(Model):
    """That a user has a library card."""

    user = peewee.ForeignKeyField(User, backref="+", on_delete="CASCADE", primary_key=True)

    class Meta:
        table_name = "shelves_card"


def lend(user, title):
    """Let a user have a book."""
    with database.atomic():
        Book.create(user=user, title=title, expires_at=int(time.time()) + _MONTH)
        emit(BOOK_LENT, user_id=user.id)


def titles(user):
    """Return the titles of the books that a user has."""
    return [each.title for each in Book.select().where(Book.user == user)]


def own_cards(user, settings):
    """Yield the same of the library card."""
    yield from ({} for _ in LibraryCard.select().where(LibraryCard.user == user))


def own_books(user, settings):
    """Yield what the file of a user's own data has."""
    yield from ({"title": each} for each in titles(user))
