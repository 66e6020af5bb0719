"""Of the same site, with the adapter."""

from new_settings import *  # noqa: F403 - what the other site has

INSTALLED_APPS = [  # besides the old ones
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "wsgiauth.contrib.django",
    "members",
]
AUTH_USER_MODEL = "members.Member"
