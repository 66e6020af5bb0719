"""What the file of a person's own data contains: who answers for a table, and the application.

`features.personal_data` writes the file.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple, TypeVar

import peewee

from wsgiauth.accounts.models import User, is_proven
from wsgiauth.events.actors import application_code, feature_code
from wsgiauth.parts import KERNEL
from wsgiauth.settings import Settings
from wsgiauth.storage.models import json_fields

PAGE = 500  # rows per query

_Row = TypeVar("_Row", bound=peewee.Model)

# Called with the user of the file; returns a mapping of JSON.
PersonalDataFunction = Callable[[User], Mapping[str, object]]


class Records(NamedTuple):
    """The rows of one table that belong to a user, as a list in the file.

    Attributes:
        name: The name of the list; unique.
        read: Returns the entries, ready for JSON (RFC 8259), without secrets and digests, and
            without anything of another user. A table can have many rows, so read them a page at a
            time: see `pages_of`.
        feature: The name of its feature, which wsgiauth knows.

    Example:
        def own_badges(user: User, settings: Settings) -> Iterator[object]:
            of_user = Badge.select().where(Badge.user == user.id)
            return (row.name for row in rows_of(of_user, Badge.id))

        personal_data = {"badges_badge": Records("badges", own_badges)}
    """

    name: str
    read: Callable[[User, Settings], Iterable[object]]
    feature: str = KERNEL

    def texts(
        self,
        user: User,
        settings: Settings,
        encode: Callable[[object], str],
        failed: list["Records"],
    ) -> Iterator[str]:
        """Yield the entries as JSON; if the function fails, end, and add this list to `failed`."""
        with feature_code(self.feature, f"a part of {self.name} in personal data") as outcome:
            for entry in self.read(user, settings):
                text = encode(entry)
                text.encode()  # which refuses unpaired surrogates
                yield text
        if outcome.error is not None:
            failed.append(self)


# The members of the file that are no lists.
OF_ACCOUNT = (
    "sub",
    "preferred_username",
    "email",
    "email_verified",
    "email_verified_at",
    "email_verified_by",
    "locale",
    "has_password",
    "is_active",
    "is_staff",
    "is_superuser",
    "created_at",
    "last_login_at",
    "application",
    "incomplete",
)


class PersonalData(NamedTuple):
    """What a site stores about a person.

    Attributes:
        tables: Who answers for each table, by its name.
        function: The application's, or None.

    Example:
        account = site.personal_data.of_account(user, site.settings)
    """

    tables: Mapping[str, Records]
    function: PersonalDataFunction | None = None

    def of_account(self, user: User, settings: Settings) -> dict[str, object]:
        """Return the account itself, in the names of OpenID Connect Core 1.0 section 5.1."""
        return json_fields(
            {
                "sub": str(user.id),
                "preferred_username": user.username,
                "email": user.email,
                "email_verified": is_proven(user, settings),
                "email_verified_at": user.email_verified_at,
                "email_verified_by": user.email_verified_by or None,
                "locale": user.language or None,
                "has_password": user.has_password,
                "is_active": user.is_active,
                "is_staff": user.is_staff,
                "is_superuser": user.is_superuser,
                "created_at": user.created_at,
                "last_login_at": user.last_login_at,
            }
        )

    def of_application(self, user: User) -> object:
        """Return a copy of what the application's function returns; None without a function.

        Raises:
            ApplicationError: The function failed, or returned something else than a mapping of
                JSON. The error is logged.
        """
        if self.function is None:
            return None
        with application_code("personal_data"):
            returned = self.function(user)
            if not isinstance(returned, Mapping):
                raise TypeError(f"it returned {type(returned).__name__}, not a mapping")
            written = json.dumps(dict(returned), ensure_ascii=False, allow_nan=False)
            return json.loads(written.encode())  # which refuses unpaired surrogates


def pages_of(query: "peewee.ModelSelect[_Row]", column: peewee.Field) -> Iterator[list[_Row]]:
    """Yield the rows of a SELECT in pages, ordered by a column whose values are unique in it.

    Each page is a query of its own, so memory is bounded, and no cursor stays open.

    Example:
        for page in pages_of(User.select(), User.id):
            print(len(page))
    """
    rest = query.order_by(column)
    while True:
        rows = list(rest.limit(PAGE))
        if rows:
            yield rows
        if len(rows) < PAGE:
            return
        rest = query.where(column > getattr(rows[-1], column.column_name)).order_by(column)


def rows_of(query: "peewee.ModelSelect[_Row]", column: peewee.Field) -> Iterator[_Row]:
    """Yield the rows of `pages_of` one after another.

    Example:
        names = [row.username for row in rows_of(User.select(), User.id)]
    """
    for page in pages_of(query, column):
        yield from page
