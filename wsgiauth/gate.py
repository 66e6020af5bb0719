"""`AuthMiddleware(public=…, require=…)`, between `middleware` and the application."""

from collections.abc import Iterable
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

from wsgiauth.access import Guard
from wsgiauth.path_rules import PathRules


class GatedApp:
    """Guards an application by the rules for its paths, whatever the method is.

    What is trusted: the application answers by PATH_INFO alone, below SCRIPT_NAME. An application
    that takes its path from elsewhere (REQUEST_URI, X-Original-URL, a query) is not protected.

    Args:
        login_url: The path of the login page, without the SCRIPT_NAME of `AuthMiddleware`.
    """

    def __init__(self, app: WSGIApplication, login_url: str, rules: PathRules) -> None:
        self._app = app
        self._rules = rules
        self._login = Guard(None, login_url).checked()
        self._guards = {each: Guard(each, login_url).checked() for each in rules.permissions}

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """Refuse one request, or pass it on (PEP 3333)."""
        needed = self._rules.needed(environ.get("PATH_INFO", ""))
        if needed is not None:
            guards = [self._guards[each] for each in sorted(needed)] or [self._login]
            for guard in guards:
                refusal = guard.refusal(environ, self._app)
                if refusal is not None:
                    return refusal(environ, start_response)
        return self._app(environ, start_response)
