"""Log a person in to Django and wsgiauth after single sign-on."""

from django.contrib.auth import login

from wsgiauth import User
from wsgiauth.contrib.django import row_of


def sign_on(request, username, email):
    """Log in a person who has no account yet, in a view that has checked their identity."""
    # Without a password.
    account = User.objects.create(username=username, email=email, hashed_password="")
    login(request, row_of(account))
