"""A user model that is named by its email address, and knows one right."""

from django.contrib.auth.base_user import AbstractBaseUser, BaseUserManager
from django.contrib.auth.models import PermissionsMixin
from django.db import models
from django.db.models.functions import Lower


class Person(AbstractBaseUser, PermissionsMixin):
    email = models.EmailField(unique=True, db_collation="letters")
    nickname = models.CharField(max_length=20, default="-")
    is_admin = models.BooleanField(default=False)

    USERNAME_FIELD = "email"
    objects = BaseUserManager()

    class Meta:
        constraints = [models.UniqueConstraint(Lower("email"), name="one_address")]  # noqa: RUF012

    @property
    def is_staff(self):
        return self.is_admin
