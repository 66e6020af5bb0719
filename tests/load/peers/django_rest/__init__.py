"""Django REST framework with djangorestframework-simplejwt.

Made faster: no middleware at all, no translations, no time zones; only JSON is rendered, and the
view's answer is not; tokens have no type to be checked; the user has no more columns than
elsewhere; and login and user are one query, where simplejwt itself looks up the user alone.
"""

import rest_framework  # noqa: F401 - missed here rather than by Django, half set up
import rest_framework_simplejwt  # noqa: F401 - likewise
from django.conf import settings
from django.core.wsgi import get_wsgi_application

from tests.support.sites import SECRET_KEY


def application(path):
    sqlite = {"ENGINE": "django.db.backends.sqlite3", "NAME": path, "CONN_MAX_AGE": None}
    settings.configure(
        SECRET_KEY=SECRET_KEY,
        DATABASES={"default": sqlite},
        INSTALLED_APPS=["django.contrib.auth", "django.contrib.contenttypes", __name__],
        AUTH_USER_MODEL="django_rest.User",
        ROOT_URLCONF=f"{__name__}.urls",
        USE_I18N=False,
        USE_TZ=False,
        REST_FRAMEWORK={
            "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
            "DEFAULT_PARSER_CLASSES": ["rest_framework.parsers.JSONParser"],
        },
        SIMPLE_JWT={
            "SIGNING_KEY": SECRET_KEY,
            "USER_ID_CLAIM": "sub",
            "TOKEN_TYPE_CLAIM": None,
        },
    )
    return get_wsgi_application()
