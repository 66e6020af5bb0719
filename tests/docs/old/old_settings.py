"""Of the site with Django."""

SECRET_KEY = "of the old site"
DATABASES = {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": "old.db"}}
INSTALLED_APPS = ["django.contrib.auth", "django.contrib.contenttypes"]
MIGRATION_MODULES = {"auth": None, "contenttypes": None}  # tables at once, which is quicker
USE_TZ = True
PASSWORD_HASHERS = [
    "django.contrib.auth.hashers.PBKDF2PasswordHasher",
    "old_hashers.Bcrypt",
    "old_hashers.BcryptSHA256",
]
