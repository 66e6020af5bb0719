"""The inner WSGI app below /auth: it routes requests and turns errors into responses."""

from collections.abc import Callable, Iterable, Mapping
from http import HTTPStatus
from wsgiref.types import StartResponse, WSGIEnvironment

from wsgiauth import storage
from wsgiauth.endpoints import Auth, login, logout, me, openapi, register
from wsgiauth.exceptions import RequestError, ValidationError
from wsgiauth.storage.connections import DATABASE_ERRORS
from wsgiauth.web.failures import failure, unavailable
from wsgiauth.web.responses import Response, problem

Endpoint = Callable[[WSGIEnvironment, Auth], Response]

ROUTES: Mapping[str, Mapping[str, Endpoint]] = {
    "/register": {"GET": register.show, "POST": register.submit},
    "/login": {"GET": login.show, "POST": login.submit},
    "/logout": {"GET": logout.end, "POST": logout.end},
    "/me": {"GET": me.show},
    "/openapi.json": {"GET": openapi.show},
}


class AuthApp:
    """Answers the requests below the mount, which the middleware has moved to SCRIPT_NAME.

    Args:
        auth: Passed to each endpoint.
    """

    def __init__(self, auth: Auth) -> None:
        self._auth = auth
        self._routes = dict(ROUTES)
        if not auth.settings.REGISTRATION:
            del self._routes["/register"]

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """Answer one request (PEP 3333)."""
        try:
            response = self._respond(environ)
        except RequestError as error:
            response = failure(
                environ, error.status, error.code, error.detail, headers=error.headers
            )
        except ValidationError as error:
            response = problem(error.status, error.code, error.detail, errors=error.errors)
        except DATABASE_ERRORS as error:
            storage.report_failure(error)
            response = unavailable(environ)
        return response(environ, start_response)

    def _respond(self, environ: WSGIEnvironment) -> Response:
        methods = self._routes.get(environ.get("PATH_INFO", ""))
        if methods is None:
            raise RequestError(HTTPStatus.NOT_FOUND, "not_found", "There is nothing here.")
        method = environ["REQUEST_METHOD"]
        endpoint = methods.get("GET" if method == "HEAD" else method)
        if endpoint is None:
            allowed = ", ".join(("HEAD", *methods) if "GET" in methods else methods)
            raise RequestError(
                HTTPStatus.METHOD_NOT_ALLOWED,
                "method_not_allowed",
                f"The allowed methods are {allowed}.",
                headers=(("Allow", allowed),),
            )
        return endpoint(environ, self._auth)
