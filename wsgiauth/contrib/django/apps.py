"""The Django app, which sets the adapter up when Django starts."""

from django.apps import AppConfig, apps
from django.conf import settings
from django.contrib.auth import get_permission_codename
from django.contrib.auth.signals import user_logged_in, user_logged_out
from django.core import checks
from django.utils.functional import lazy

from wsgiauth.accounts import known_permissions
from wsgiauth.accounts.names import is_permission
from wsgiauth.contrib.django.site import page_url


class WSGIAuthConfig(AppConfig):
    """Sets up the adapter."""

    name = "wsgiauth.contrib.django"
    label = "wsgiauth"
    verbose_name = "wsgiauth"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Connect the signals and checks; set LOGIN_URL, unless the settings do."""
        # These import models, which are loaded only now.
        from wsgiauth.contrib.django.checks import check_settings
        from wsgiauth.contrib.django.logins import start_login, start_logout

        user_logged_in.connect(start_login)
        user_logged_out.connect(start_logout)
        checks.register(check_settings, checks.Tags.security)
        if not settings.is_overridden("LOGIN_URL"):
            # Computed for each request: the server decides on the prefix of the site.
            settings.LOGIN_URL = lazy(page_url, str)("login")
        for permission in _permissions_of_models():
            known_permissions.register(permission)


def _permissions_of_models() -> list[str]:
    """Return the permissions that Django's admin and views of models ask for."""
    names = []
    for each in (model._meta for model in apps.get_models()):
        codenames = [get_permission_codename(name, each) for name in each.default_permissions]
        codenames += [codename for codename, _ in each.permissions]
        names += [f"{each.app_label}.{codename}" for codename in codenames]
    return [name for name in names if is_permission(name)]
