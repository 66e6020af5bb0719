"""Of the site whose users have an email address and no username."""

from old_settings import *  # noqa: F403 - what the other site has

INSTALLED_APPS = ["django.contrib.auth", "django.contrib.contenttypes", "members"]
AUTH_USER_MODEL = "members.Member"
