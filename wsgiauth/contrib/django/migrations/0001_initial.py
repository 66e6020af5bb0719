"""Create the table that connects users with Django's rows."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    """Creates the table."""

    initial = True
    dependencies = [migrations.swappable_dependency(settings.AUTH_USER_MODEL)]  # noqa: RUF012
    operations = [  # noqa: RUF012 - as Django writes migrations
        migrations.CreateModel(
            name="Account",
            fields=[
                ("number", models.BigIntegerField(primary_key=True, serialize=False)),
                ("is_active", models.BooleanField(default=True)),
                (
                    "user",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={"db_table": "django_wsgiauth_account", "default_permissions": ()},
        ),
    ]
