"""Make the users of a site with Django, in groups and with passwords of several kinds."""

import django

django.setup()

from datetime import UTC, datetime

from django.contrib.auth.hashers import make_password
from django.contrib.auth.models import Group, Permission, User
from django.core.management import call_command
from passwords import PASSWORDS

call_command("migrate", run_syncdb=True, verbosity=0)
hashers = {"barbara": "pbkdf2_sha256", "dorothy": "bcrypt_sha256"}
for name in ("ada", "grace", "barbara", "dorothy", "frances"):
    User.objects.create(
        username="frances@example.org" if name == "frances" else name,
        email=f"{name}@example.org",
        password=make_password(PASSWORDS[name], hasher=hashers.get(name, "bcrypt")),
        is_staff=name == "ada",
        is_superuser=name == "ada",
        is_active=name != "dorothy",
        date_joined=datetime(2020, 2, 29, 12, 30, tzinfo=UTC),
    )
editors = Group.objects.create(name="editors")
editors.permissions.add(*Permission.objects.filter(codename__in=["add_user", "view_group"]))
grace = User.objects.get(username="grace")
grace.groups.add(editors)
grace.user_permissions.add(*Permission.objects.filter(codename__in=["add_user", "view_user"]))
User.objects.get(username="dorothy").groups.add(editors)
