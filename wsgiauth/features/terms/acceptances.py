"""Who has accepted which version of the terms, and when."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any, NamedTuple

import peewee

from wsgiauth.extend import (
    Change,
    Settings,
    User,
    _,
    database,
    emit,
    from_timestamp,
    insert_new,
    repeated_after_conflict,
    utc_now,
    utc_text,
)
from wsgiauth.features.terms.tables import Acceptance

TERMS_ACCEPTED = Change("terms_accepted", _("Terms accepted"), icon="document")


class Accepted(NamedTuple):
    """A version that a user has accepted."""

    version: str
    accepted_at: datetime  # UTC

    def document(self) -> dict[str, object]:
        """Return the acceptance, ready for JSON."""
        return {"version": self.version, "accepted_at": utc_text(self.accepted_at)}


def list_accepted(user: User) -> list[Accepted]:
    """Return what a user has accepted, the latest version first."""
    rows = Acceptance.select().where(Acceptance.user == user.id)
    newest = rows.order_by(Acceptance.version.desc())
    return [Accepted(each.version, from_timestamp(each.accepted_at)) for each in newest]


@repeated_after_conflict
def accept(user: User, version: str) -> bool:
    """Record that a user accepts a version; return False if they had accepted it or a later one."""
    own = Acceptance.user == user.id
    with database.atomic():
        if Acceptance.select().where(own, Acceptance.version >= version).exists():
            return False
        if not insert(user, version):  # by another request at the same moment
            return False
        emit(TERMS_ACCEPTED, user_id=user.id, reason=version)
    return True


def insert(user: User, version: str) -> bool:
    """Insert the row alone; return False if it exists, or if the user does not."""
    row = {"user": user.id, "version": version, "accepted_at": int(utc_now().timestamp())}
    return insert_new(Acceptance, **row)


def withdraw(user: User, version: str) -> None:
    """Delete the rows of a version and of later ones, for `wsgiauth.testing`."""
    own = Acceptance.user == user.id
    Acceptance.delete().where(own, Acceptance.version >= version).execute()


def withdraw_all(user: User) -> None:
    """Delete all rows at the first proof of the address: a stranger may have accepted the terms."""
    Acceptance.delete().where(Acceptance.user == user.id).execute()


def own_acceptances(user: User, settings: Settings) -> Iterator[object]:
    """Yield what a user has accepted, ready for JSON."""
    return (each.document() for each in list_accepted(user))


class Counts(NamedTuple):
    """How many users have accepted the terms.

    Attributes:
        accepted, missing: Of the active users, those who have accepted `version` or a later one,
            and the others.
        versions: All users who have accepted each version, the latest first.
    """

    version: str | None
    accepted: int
    missing: int
    versions: dict[str, int]


def count(version: str | None) -> Counts:
    """Count the users who have accepted the terms; without a version, any of them counts."""
    later = Acceptance.select().where(Acceptance.user == User.id)
    if version is not None:
        later = later.where(Acceptance.version >= version)
    active = User.select().where(User.is_active)
    accepted = active.where(peewee.fn.EXISTS(later)).count()
    grouped: Any = (
        Acceptance.select(Acceptance.version, peewee.fn.COUNT(Acceptance.user))
        .group_by(Acceptance.version)
        .order_by(Acceptance.version.desc())
    )
    missing = 0 if version is None else active.count() - accepted
    return Counts(version, accepted, missing, dict(grouped.tuples()))
