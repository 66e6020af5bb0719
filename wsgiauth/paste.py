"""PasteDeploy: `use = egg:wsgi-accounts` in the `[filter:…]` section of an ini file."""

import os
from collections.abc import Mapping
from wsgiref.types import WSGIApplication

from wsgiauth.arguments import refuse_unknown
from wsgiauth.challenges import ANONYMOUS
from wsgiauth.gate import parse_rules
from wsgiauth.middleware import AuthMiddleware
from wsgiauth.settings.kinds import parse_bool, wrong_setting


def filter_app_factory(
    app: WSGIApplication, global_config: Mapping[str, str], **settings: str
) -> AuthMiddleware:
    """Wrap `app`, with the section's options as settings (`paste.filter_app_factory`).

    Settings that the section does not have come from the process environment, such as the
    SECRET_KEY, which should not be in a file.

    Args:
        app: The application behind the filter.
        global_config: The ini file's `[DEFAULT]` section; not used.
        settings: `Settings` by their names, `mount`, `challenge` (`on`, `off` or `anonymous`),
            `require` (a permission, or rules such as `/secret/=code.secret`), `public` and
            `permissions`. White space separates rules, paths and permissions.

    Raises:
        ConfigurationError: See `AuthMiddleware`. Also raised for an unknown option.
    """
    mount = settings.pop("mount", "/auth")
    chosen = settings.pop("challenge", "off")
    challenge = chosen if chosen == ANONYMOUS else parse_bool(chosen)
    if challenge != ANONYMOUS and not isinstance(challenge, bool):
        raise wrong_setting("challenge", f"on, off or {ANONYMOUS}")
    public = settings.pop("public", None)
    require = settings.pop("require", None)
    permissions = settings.pop("permissions", "").split()
    mapping = {**os.environ, **settings}
    refuse_unknown(settings, mapping)
    return AuthMiddleware(
        app,
        mapping,
        mount=mount,
        challenge=challenge,
        public=None if public is None else public.split(),
        require=parse_rules(require.split()) if require and require.startswith("/") else require,
        permissions=permissions,
    )
