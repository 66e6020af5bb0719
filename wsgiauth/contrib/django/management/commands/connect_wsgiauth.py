"""`manage.py connect_wsgiauth`: connects existing rows with imported users."""

from typing import Any

from django.contrib.auth import get_user_model
from django.core.management.base import BaseCommand

from wsgiauth.accounts.models import User
from wsgiauth.contrib.django.models import Account
from wsgiauth.contrib.django.rows import connect
from wsgiauth.contrib.django.site import find_application
from wsgiauth.storage import context

_RECIPE = "!wsgiauth "  # in the column of the password, by an older recipe of the documentation


class Command(BaseCommand):
    """Connects rows with users of the same name and email address."""

    help = (
        "Connect each row of Django's user model with the user of wsgiauth who has the same"
        " username and email address. Run it once, after the import and before you open"
        " registration: later, a stranger could have registered the name of a row."
    )

    def handle(self, *args: object, **options: object) -> None:
        """Connect the rows, and print those without a user."""
        connected = others = 0
        with context.using(find_application().database):
            taken = set(Account.objects.values_list("number", flat=True))
            rows = get_user_model()._base_manager.exclude(pk__in=Account.objects.values("user"))
            for row in rows.order_by("pk"):
                account = _account_of(row)
                if account is None or account.id in taken:
                    self.stdout.write(f"{row.get_username()!r} was not connected.")
                    others += 1
                    continue
                connect(row, account)
                taken.add(account.id)
                connected += 1
        if not others:
            self.stdout.write(f"Connected: {connected}.")
            return
        self.stdout.write(f"Connected: {connected}; not connected: {others}.")
        self.stdout.write(
            "The users of other rows get new rows, or are anonymous to Django if the username is"
            " the same."
        )


def _account_of(row: Any) -> User | None:
    password = getattr(row, "password", "")
    if password.startswith(_RECIPE):
        return User.objects.get_or_none(id=int(password.removeprefix(_RECIPE)))
    email = getattr(row, row.get_email_field_name(), "")
    names = {"email": email}
    if row.get_email_field_name() != row.USERNAME_FIELD:
        names["username"] = row.get_username()
    return User.objects.get_or_none(**names)
