"""The user model, as Django's page about authentication describes one without usernames."""

from typing import ClassVar

from django.contrib.auth.models import AbstractUser, BaseUserManager
from django.db import models


class Member(AbstractUser):
    """A member of the site."""

    username = None
    email = models.EmailField(unique=True)

    USERNAME_FIELD = "email"
    REQUIRED_FIELDS: ClassVar = []
    objects = BaseUserManager()
