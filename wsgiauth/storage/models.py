"""The base classes of the models."""

from contextlib import AbstractContextManager
from typing import Any

import peewee

from wsgiauth import storage
from wsgiauth.storage import context


class Model(peewee.Model):
    """A model of the account database."""

    class Meta:
        database: peewee.DatabaseProxy = storage.database
        only_save_dirty = True  # saving a stale object must not undo later changes


class BoundModel(Model):
    """A model whose objects keep using the database that they were read from.

    So an object can be passed to another thread, or to a request of another site in the same
    process.
    """

    origin: peewee.Database | None = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.origin = context.database()

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "origin"}

    def _using_origin(self) -> AbstractContextManager[None]:
        # Always set a database: in a thread without a context, events would find no subscribers.
        return context.using(self.origin or storage.current())
