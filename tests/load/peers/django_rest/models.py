"""The users and logins, as Django's ORM sees them."""

from django.contrib.auth.base_user import AbstractBaseUser
from django.db import models


class User(AbstractBaseUser):
    username = models.TextField(unique=True)
    email = models.TextField(unique=True)
    password = models.TextField(db_column="hashed_password")
    is_active = models.BooleanField()
    is_staff = models.BooleanField()
    is_superuser = models.BooleanField()
    created_at = models.DateTimeField()
    last_login = None

    USERNAME_FIELD = "username"

    class Meta:
        db_table = "users"
        managed = False


class Session(models.Model):
    id = models.TextField(primary_key=True)
    user = models.ForeignKey(User, on_delete=models.CASCADE)
    created_at = models.DateTimeField()
    expires_at = models.IntegerField()

    class Meta:
        db_table = "sessions"
        managed = False
