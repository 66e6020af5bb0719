"""Of the same site, with the adapter."""

from old_settings import *  # noqa: F403 - what the old site had

INSTALLED_APPS = [  # besides the old ones
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "wsgiauth.contrib.django",
]
MIDDLEWARE = [
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "wsgiauth.contrib.django.WSGIAuthMiddleware",
]
AUTHENTICATION_BACKENDS = ["wsgiauth.contrib.django.WSGIAuthBackend"]
WSGI_APPLICATION = "new_wsgi.application"
