"""Base classes of models, columns that Peewee lacks, and times in UTC."""

import re
from collections.abc import Mapping
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from functools import lru_cache
from inspect import getattr_static
from typing import Any, ClassVar, Self

import peewee

from wsgiauth import storage
from wsgiauth.exceptions import ConfigurationError
from wsgiauth.storage import context
from wsgiauth.storage.statements import ModelStatement, is_given

# Version, cost, 22 characters of salt, 31 of digest. The last character of the salt carries two
# bits; bcrypt rejects a salt whose other four bits are not zero.
BCRYPT_HASH = re.compile(
    r"\$2[aby]\$(0[4-9]|[12][0-9]|3[01])\$[./A-Za-z0-9]{21}[.Oeu][./A-Za-z0-9]{31}"
)


_FROM_OTHERS = (peewee.BackrefAccessor, peewee.ManyToManyFieldAccessor)


class _ModelType(peewee.ModelBase):
    def __setattr__(self, name: str, value: Any) -> None:
        """Refuse a `backref` of another model with the name of an attribute, such as `is_staff`."""
        if isinstance(value, _FROM_OTHERS):
            former = getattr_static(self, name, value)
            if not isinstance(former, (*_FROM_OTHERS, peewee.Field)):
                other = value.rel_model.__name__
                raise ConfigurationError(
                    f"The backref {name} of {other} would replace the attribute {name} of"
                    f' {self.__name__}: choose another name, or "+" for none.'
                )
        super().__setattr__(name, value)


class Model(peewee.Model, metaclass=_ModelType):
    """A model of the account database.

    Example:
        class Medal(Model):
            user = peewee.ForeignKeyField(User, backref="+", on_delete="CASCADE")

            class Meta:
                table_name = "badges_medal"
    """

    DoesNotExist: ClassVar[type[peewee.DoesNotExist]]

    class Meta:
        database: peewee.DatabaseProxy = storage.database
        only_save_dirty = True  # saving a stale object must not undo later changes

    @classmethod
    def get_by_id(cls, pk: object) -> Self:
        """Return the row with this primary key, by a SELECT whose SQL is written once.

        Raises:
            peewee.DoesNotExist: There is none.
        """
        found = cls.find_by_id(pk)
        if found is None:
            raise cls.DoesNotExist(f"there is no {cls.__name__} {pk}")
        return found

    @classmethod
    def find_by_id(cls, pk: object) -> Self | None:
        """Return the row with this primary key, as `get_by_id` does, or None."""
        if cls._meta.composite_key:  # which Peewee compares with a tuple, column by column
            return cls.get_or_none(cls._meta.primary_key == pk)
        found: Self | None = _by_id(cls).first(pk=pk)
        return found


@lru_cache(maxsize=256)
def _by_id(model: type[Model]) -> ModelStatement[Any]:
    return ModelStatement(lambda: model.select().where(is_given(model._meta.primary_key, "pk")))


class BoundModel(Model):
    """A model whose objects keep their database, also in another thread or site."""

    database: peewee.Database | None = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.database = context.database()

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "database"}

    def _using_database(self) -> AbstractContextManager[None]:
        # In a thread without a context, events find no subscribers unless a database is set.
        return context.using(self.database or storage.current())


NO_PASSWORD = ""  # instead of a hash; nothing matches it


class BcryptHashField(peewee.CharField):
    """A column for bcrypt hashes and `NO_PASSWORD`, which refuses passwords in plain text."""

    def db_value(self, value: str) -> str:
        """Return a valid `value`, or raise a ValueError that does not show it."""
        if value != NO_PASSWORD and not (isinstance(value, str) and BCRYPT_HASH.fullmatch(value)):
            raise ValueError("hashed_password must be a hash from hash_password()")
        return value


class UTCDateTimeField(peewee.DateTimeField):
    """An aware datetime, stored as naive UTC.

    Example:
        class Ribbon(Model):
            given_at = UTCDateTimeField(default=utc_now)

            class Meta:
                table_name = "badges_ribbon"
    """

    def db_value(self, value: datetime | None) -> datetime | None:
        """Return `value` as a naive datetime in UTC."""
        return None if value is None else value.astimezone(UTC).replace(tzinfo=None)

    def python_value(self, value: datetime | str | None) -> datetime | None:
        """Return `value` as an aware datetime in UTC."""
        return None if value is None else as_utc(value)


def as_utc(stored: datetime | str) -> datetime:
    """Return a stored time, in SQLite an ISO 8601 string, as an aware datetime."""
    if isinstance(stored, str):
        return datetime.fromisoformat(f"{stored}+00:00")
    return stored.replace(tzinfo=UTC)


def from_timestamp(seconds: int) -> datetime:
    """Return seconds since the epoch as a time in UTC.

    Example:
        given_at = from_timestamp(1_793_610_300)
    """
    return datetime.fromtimestamp(seconds, UTC)


def utc_text(moment: datetime) -> str:
    """Format a time in UTC as RFC 3339 does.

    Example:
        utc_text(from_timestamp(0)) == "1970-01-01T00:00:00Z"
    """
    return moment.isoformat().replace("+00:00", "Z")


def json_fields(fields: Mapping[str, object]) -> dict[str, object]:
    """Return fields for JSON, with times as strings.

    Example:
        json_fields({"name": "early", "given_at": from_timestamp(0)})
    """
    return {
        name: utc_text(value) if isinstance(value, datetime) else value
        for name, value in fields.items()
    }


def utc_now() -> datetime:
    """Return the current time in UTC, in whole seconds, which every database can store.

    Example:
        given_at = int(utc_now().timestamp())
    """
    return datetime.now(UTC).replace(microsecond=0)
