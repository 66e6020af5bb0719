"""`manage.py sync_wsgiauth`: updates all rows, also of users who send no request."""

from django.core.management.base import BaseCommand

from wsgiauth.contrib.django.models import Account
from wsgiauth.contrib.django.rows import sync
from wsgiauth.contrib.django.site import find_application
from wsgiauth.storage import context


class Command(BaseCommand):
    """Updates the names and flags of all connected rows."""

    help = (
        "Bring the rows of Django's user model up to date with the users of wsgiauth. Requests do"
        " so for their user, and changes by HTTP for theirs; run this after changes by the command"
        " line of wsgiauth, such as `deactivate`, or regularly."
    )

    def handle(self, *args: object, **options: object) -> None:
        """Update the rows."""
        with context.using(find_application().database):
            numbers = list(Account.objects.values_list("number", flat=True))
            for number in numbers:
                sync(number)
        self.stdout.write(f"Checked: {len(numbers)}.")
