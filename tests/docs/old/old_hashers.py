"""Django's bcrypt hashes, at a cost for tests."""

from django.contrib.auth.hashers import BCryptPasswordHasher, BCryptSHA256PasswordHasher


class Bcrypt(BCryptPasswordHasher):
    rounds = 4


class BcryptSHA256(BCryptSHA256PasswordHasher):
    rounds = 4
