"""The table of the adapter, which connects users with rows of Django's user model."""

from django.conf import settings
from django.db import models


class Account(models.Model):
    """Connects a user of wsgiauth with a row of Django's user model.

    Attributes:
        number: The id of the user, which never changes and is never given to another user.
        user: Django's row. If it is deleted, the user gets a new one with the next request.
        is_active: The value that the adapter last wrote into the row. If the row is inactive
            and this is true, Django's admin or your code has deactivated the row.
    """

    number = models.BigIntegerField(primary_key=True)
    user = models.OneToOneField(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+"
    )
    is_active = models.BooleanField(default=True)

    class Meta:
        # wsgiauth's own tables begin with `wsgiauth_`, and can be in the same database.
        db_table = "django_wsgiauth_account"
        default_permissions = ()
