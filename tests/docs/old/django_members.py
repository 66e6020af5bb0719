"""Make the users of a site with Django who have an email address and no username."""

import django

django.setup()

from django.contrib.auth.hashers import make_password
from django.contrib.auth.models import Group
from django.core.management import call_command
from members.models import Member
from passwords import PASSWORDS

call_command("migrate", run_syncdb=True, verbosity=0)
for name in ("ada", "grace"):
    password = make_password(PASSWORDS[name], hasher="bcrypt")
    Member.objects.create(email=f"{name}@example.org", password=password, is_staff=name == "ada")
Member.objects.get(email="grace@example.org").groups.add(Group.objects.create(name="editors"))
