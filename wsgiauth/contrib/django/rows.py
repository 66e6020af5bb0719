"""Django's rows of users: found by the user's number, made on first use, and kept up to date."""

import logging
from typing import Any

from django.contrib.auth import get_user_model
from django.db import IntegrityError, close_old_connections, connections, router, transaction
from django.db.models import Model, UniqueConstraint

from wsgiauth import events, storage
from wsgiauth.accounts.models import User
from wsgiauth.accounts.names import key
from wsgiauth.contrib.django.limited import limit_row
from wsgiauth.contrib.django.models import Account
from wsgiauth.events import Event

logger = logging.getLogger("wsgiauth")

_FLAGS = ("is_active", "is_staff", "is_superuser")
_CHANGES = ("names_changed", "rights_changed", "user_deleted")


def row_of(account: User) -> Any | None:
    """Return Django's row of a user, made or updated.

    A row is found by the user's number alone, never by a name. If a row of another user has the
    name, because names have changed hands, that row gets a placeholder until its user returns.

    If an API key identified the user, the row that is returned has only permissions of the key.

    Returns:
        None if Django has deactivated the row, if a row of Django's own has the name, or if the
        user has just been deactivated or deleted.
    """
    try:
        row = _updated(account)
    except IntegrityError:  # another request has made the row, or taken the name, meanwhile
        row = _updated(account)
    if row is not None and account.is_limited:
        limit_row(row, account.permissions)
    return row


def connect(row: Model, account: User) -> None:
    """Give a user without a Django row an existing row.

    Raises:
        django.db.IntegrityError: The user has another row, or the row is another user's.
    """
    Account.objects.using(_database()).create(number=account.id, user=row)


def number_of(row: Any) -> int | None:
    """Return the number of a row's user; None if the row is Django's own."""
    numbers = Account.objects.using(_database()).filter(user=row.pk)
    number: int | None = numbers.values_list("number", flat=True).first()
    return number


def sync(number: int) -> None:
    """Bring the row of a user up to date, if there is one.

    The row of a user who is inactive or deleted becomes inactive and loses its flags.
    """
    link = Account.objects.using(_database()).select_related("user").filter(number=number).first()
    if link is None:
        return
    account = User.objects.get_or_none(id=number)
    if account is not None and account.is_active:
        row_of(account)
        return
    with transaction.atomic(using=_database()):
        _write(link.user, dict.fromkeys(_fields(_FLAGS), False))
        link.is_active = False
        link.save()


def follow_changes() -> None:
    """Keep the rows of the current site up to date when this process changes an account."""
    events.subscribe_once(storage.current(), _follow)


def _follow(event: Event) -> None:
    if event.name not in _CHANGES or event.user_id is None:
        return
    if not connections[_database()].in_atomic_block:
        close_old_connections()  # outside requests of Django, nothing else does
    sync(event.user_id)


def _updated(account: User) -> Any | None:
    links = Account.objects.using(_database()).select_related("user")
    link = links.filter(number=account.id).first()
    row = None if link is None else link.user
    if link is not None and link.is_active and not getattr(row, "is_active", True):
        return None
    if row is not None and not _differences(row, _values(account, account.is_limited)):
        return row
    # Another request can have changed the user since this one was identified.
    stored = User.objects.get_or_none(id=account.id, is_active=True)
    if stored is None:
        return None
    values = _values(stored, account.is_limited)
    moved = _in_the_way(values, row, account.id)
    if moved is None:
        logger.warning(
            "User %d is anonymous to Django, because a row of Django's own has the same name or"
            " email address: rename or connect that row, see docs/migration.md.",
            account.id,
        )
        return None
    # It only writes: SQLite refuses to write to a snapshot that another transaction has changed.
    with transaction.atomic(using=_database()):
        for other, names in moved:
            _write(other, names)
        if link is None:
            row = get_user_model()(**values)
            row.set_unusable_password()
            row.save(using=_database())
            connect(row, account)
        else:
            _write(row, values)
            Account.objects.using(_database()).filter(number=account.id).update(is_active=True)
    return row


def _values(account: User, is_limited: bool) -> dict[str, Any]:
    """Return the values for a row; an API key does not change all flags."""
    model = get_user_model()
    values: dict[str, Any] = {"username": account.username, model.USERNAME_FIELD: account.username}
    values[model.get_email_field_name()] = account.email
    for flag in ("is_active",) if is_limited else _FLAGS:
        values[flag] = getattr(account, flag)
    return {name: values[name] for name in _fields(values)}


def _fields(names: Any) -> list[str]:
    """Return the names that are columns of the user model."""
    columns = {each.name for each in get_user_model()._meta.concrete_fields}
    return [name for name in names if name in columns]


def _differences(row: Any, values: dict[str, Any]) -> list[str]:
    return [name for name, value in values.items() if getattr(row, name) != value]


def _write(row: Any, values: dict[str, Any]) -> None:
    changed = _differences(row, values)
    for name in changed:
        setattr(row, name, values[name])
    row.save(using=_database(), update_fields=changed)


def _in_the_way(
    values: dict[str, Any], row: Any | None, number: int
) -> list[tuple[Any, dict[str, str]]] | None:
    """Return the rows of other users that have a user's name, each with a placeholder for it.

    A name that only the collation of the database makes equal to another one, such as "café"
    and "cafe", moves no row: in `values`, the user gets the placeholder.

    Returns:
        None if a row of Django's own has the name.
    """
    moved = []
    for name, value in values.items():
        if name in _FLAGS or not _is_unique(get_user_model(), name):
            continue
        others = get_user_model()._base_manager.using(_database()).exclude(pk=row and row.pk)
        # The names of wsgiauth are unique without regard to letter case.
        alike = others.filter(**{f"{name}__iexact": value})
        same = [other for other in alike if key(getattr(other, name)) == key(value)]
        for other in same:
            owner = number_of(other)
            if owner is None:
                return None
            moved.append((other, {name: _placeholder(name, owner)}))
        if others.exclude(pk__in=[other.pk for other in same]).filter(**{name: value}).exists():
            values[name] = _placeholder(name, number)
    return moved


def _placeholder(name: str, number: int) -> str:
    is_email = name == get_user_model().get_email_field_name()
    return f"{number}@wsgiauth.invalid" if is_email else f"@{number}"


def _is_unique(model: Any, name: str) -> bool:
    constraints = (isinstance(each, UniqueConstraint) for each in model._meta.constraints)
    return model._meta.get_field(name).unique or any(constraints)


def _database() -> str:
    """Return the name of the database that is written to, since a replica can lag behind."""
    name: str = router.db_for_write(get_user_model())
    return name
