"""The WSGI app below /auth, which routes requests and turns errors into responses."""

from collections.abc import ItemsView, Iterable, Mapping
from dataclasses import replace
from functools import cache
from http import HTTPStatus
from types import MappingProxyType
from typing import NamedTuple
from wsgiref.types import StartResponse, WSGIEnvironment

import peewee

from wsgiauth.access import refuse_failed
from wsgiauth.accounts import known_permissions
from wsgiauth.accounts.names import is_permission
from wsgiauth.endpoints.account import Account
from wsgiauth.endpoints.close import Close
from wsgiauth.endpoints.confirm import OWN_FIELDS, Confirm
from wsgiauth.endpoints.language import ChooseLanguage
from wsgiauth.endpoints.login import LogIn
from wsgiauth.endpoints.logout import Logout
from wsgiauth.endpoints.me import Me
from wsgiauth.endpoints.openapi import OpenApi
from wsgiauth.endpoints.password import Password
from wsgiauth.endpoints.refresh import Refresh
from wsgiauth.endpoints.register import Register
from wsgiauth.endpoints.sessions import Sessions
from wsgiauth.endpoints.username import Username
from wsgiauth.events import actors
from wsgiauth.events.actors import checked, feature_code
from wsgiauth.exceptions import (
    ApplicationError,
    ConfigurationError,
    InsufficientAuthenticationError,
    KeyNotAcceptedError,
    NotFoundError,
    RequestError,
    RetryLaterError,
    UnauthenticatedError,
    UnmetDemandError,
    ValidationError,
)
from wsgiauth.feature import Feature, confirmations_of, endpoints_of, owners_of
from wsgiauth.features.registry import FEATURES, page_samples
from wsgiauth.forms.endpoint import BackLink, Endpoint, Handler, Place, SiteMap
from wsgiauth.forms.registration import check_registration
from wsgiauth.messages import _, list_of
from wsgiauth.site import Site
from wsgiauth.storage.connections import DATABASE_ERRORS
from wsgiauth.storage.failures import report_failure, unavailable
from wsgiauth.web.cors import CrossOrigin
from wsgiauth.web.cross_origin import SAFE_METHODS
from wsgiauth.web.failures import (
    FORM_HAS_PAGE,
    SENT_FIELDS,
    ask_to_confirm,
    ask_to_log_in,
    failure,
    refuse_key,
    refuse_unmet,
)
from wsgiauth.web.pages import PLAIN, Around
from wsgiauth.web.readers import LANGUAGE_OF_USER
from wsgiauth.web.request import IS_NAVIGATION, prefers_html
from wsgiauth.web.responses import NO_REFERRER, WITHOUT_PATHS, Response, redirect
from wsgiauth.web.urls import ASKED_FOR, ROUTE, ROUTING_ARGS, Router, mount_url

_OWN: Mapping[str, Endpoint] = {
    "/register": Register(),
    "/login": LogIn(),
    "/logout": Logout(),
    "/refresh": Refresh(),
    "/me": Me(),
    "/password": Password(),
    "/username": Username(),
    "/language": ChooseLanguage(),
    "/sessions": Sessions(),
    "/close": Close(),
}


class Routes:
    """The endpoints of the kernel and of features.

    Attributes:
        endpoints: By path, below the mount, with the names of its parts.
        map: Finds them.
        hidden: Those whose URL has a secret.
        probes: The paths of those that look up no caller; none has a part with a name.
    """

    def __init__(self, features: Iterable[Feature]) -> None:
        features = tuple(features)
        owners = owners_of(features)
        own = endpoints_of(features, _OWN, reserved=("/account", "/confirm", "/openapi.json"))
        # The pages of these two list the endpoints above.
        described = {
            **own,
            "/account": Account(own, owners),
            "/confirm": Confirm(
                SiteMap(own, owners), confirmations_of(features, reserved=OWN_FIELDS)
            ),
        }
        modules = {each.name: each.openapi for each in features if each.openapi}
        self.endpoints: Mapping[str, Endpoint] = MappingProxyType(
            {**described, "/openapi.json": OpenApi(described, modules, owners)}
        )
        self.map = SiteMap(self.endpoints, owners)
        self.hidden = Router({path: each for path, each in self.items() if each.hides_address})
        self.probes = frozenset(path for path, each in self.items() if each.ignores_credentials)

    def items(self) -> ItemsView[str, Endpoint]:
        """Return the endpoints, with their paths."""
        return self.endpoints.items()


routes_of = cache(Routes)
ROUTES = routes_of(FEATURES).endpoints  # of a site without further features

_ANY = "*"  # as a method: every one


class _Route(NamedTuple):
    """What answers at a path."""

    path: str  # below the mount, with the names of its parts
    handlers: Mapping[str, Handler]  # by method
    is_navigation: bool
    cross_origin: CrossOrigin | None

    @classmethod
    def of(cls, path: str, endpoint: Endpoint) -> "_Route":
        """Return the route to an endpoint; `Response` sends no body to HEAD."""
        handlers = endpoint.handlers
        if endpoint.answers_any_method:
            handlers = {_ANY: handlers["GET"]}
        elif endpoint.answers_head and "GET" in handlers:
            handlers = {"HEAD": handlers["GET"], **handlers}
        return cls(path, handlers, endpoint.is_navigation, endpoint.cross_origin)


class AuthApp:
    """Answers the requests below the mount, which is at the end of SCRIPT_NAME.

    Raises:
        ConfigurationError: A template of the site, or of a feature that is not ours, is wrong; the
            message names file and line. Or a feature asks for a permission of another form.
    """

    def __init__(self, site: Site) -> None:
        self._site = site
        self._routes = routes_of(site.features)
        self.probes = self._routes.probes
        for feature in site.features:
            for permission in feature.permissions(site.settings):
                if not is_permission(permission):
                    raise ConfigurationError(
                        f"The feature {feature.name} asks for the permission {permission!r}; its"
                        ' form must be "<app>.<action>", such as "reports.publish".'
                    )
                known_permissions.register(permission)
        routes = {
            path: _Route.of(path, endpoint.variant(site.settings))
            for path, endpoint in self._routes.items()
            if endpoint.is_offered(site.settings)
        }
        self._router = Router(routes)
        self._shared = Router(
            {path: (each.cross_origin, each) for path, each in routes.items() if each.cross_origin}
        )
        for feature in site.features:
            for page in () if feature in FEATURES else feature.pages():  # our own are tested
                site.pages.check(page, feature.name)
        if site.settings.TEMPLATES is not None:
            pages = page_samples(site.features)
            for page in pages:
                site.pages.check(page)
            check_registration(pages, site)

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """Answer one request (PEP 3333)."""
        shared = self._shared.find(environ.get("PATH_INFO", ""))
        if shared is None:
            return self._answer(environ)(environ, start_response)
        (cross_origin, route), _arguments = shared
        response = cross_origin.respond(environ, self._site, route.handlers, self._answer)
        return response(environ, start_response)

    def _answer(self, environ: WSGIEnvironment) -> Response:
        """Return the response to a request, also if it fails."""
        if environ.get("PATH_INFO", "") in self.probes:
            for name in ("HTTP_AUTHORIZATION", "HTTP_COOKIE"):
                environ.pop(name, None)
        try:
            with actors.acting(actors.OWNER):
                response = self._respond_to_present(environ)
        except UnauthenticatedError as error:
            login_url = f"{self._site.pages.mount}/login"
            response = ask_to_log_in(
                environ, login_url, error.error, accepts_keys=error.accepts_keys
            )
        except UnmetDemandError as error:
            response = refuse_unmet(environ, error)
        except InsufficientAuthenticationError as error:
            confirm_url = f"{self._site.pages.mount}/confirm"
            returning = {**environ}
            if error.return_to:
                returning[ASKED_FOR] = f"{mount_url(environ)}/{error.return_to}"
            response = ask_to_confirm(returning, confirm_url, error.max_age)
        except KeyNotAcceptedError as error:
            response = refuse_key(environ, error.detail)
        except ApplicationError as error:
            response = refuse_failed(environ, error)
        except RequestError as error:
            if isinstance(error, RetryLaterError):  # a busy site looks up no user for the language
                environ.setdefault(LANGUAGE_OF_USER, "")
            response = failure(
                environ,
                error.status,
                error.code,
                error.detail,
                further=error.members,
                headers=error.headers,
                pages=error.pages,
                again=error.again,
                around=self._around(environ, error.code),
            )
        except ValidationError as error:  # of the query; a form answers its own
            around = self._around(environ, error.code)
            response = failure(
                environ, error.status, error.code, error.detail, errors=error.errors, around=around
            )
        except DATABASE_ERRORS as error:
            response = unavailable(environ, error)
        is_hidden = self._routes.hidden.find(environ.get("PATH_INFO", "")) is not None
        # Also if `next` is an email link.
        has_secret = is_hidden or "token" in environ.get("QUERY_STRING", "")
        if has_secret and response.referrer != NO_REFERRER:
            response = replace(response, referrer=WITHOUT_PATHS)
        return response

    def _respond_to_present(self, environ: WSGIEnvironment) -> Response:
        """Answer a request; if its user is deleted meanwhile, its token is invalid."""
        try:
            return self._respond(environ)
        except peewee.IntegrityError:  # perhaps of a row that refers to the deleted user
            if self._site.identifier.identify(environ).error != "invalid_token":
                raise
        raise UnauthenticatedError("invalid_token")

    def _around(self, environ: WSGIEnvironment, code: str) -> Around:
        """Return the frame of an error page, which has more for users who are logged in."""
        if not prefers_html(environ):
            return PLAIN
        try:
            caller = self._site.identifier.identify(environ)
        except ApplicationError:
            return PLAIN
        except DATABASE_ERRORS as error:
            report_failure(error)
            return PLAIN
        if caller.user is None or caller.session_id is None:
            return PLAIN
        of_user = (caller.user, self._site.settings)
        place = self._routes.map.nearest(environ.get("PATH_INFO", ""), *of_user)
        back = self._back_from(place)
        if code == "not_found":  # perhaps the page that it leads back to does not exist, either
            place = self._routes.map.nearest(f"/{back.path}", *of_user)
            back = self._back_from(place)
        with feature_code(self._routes.map.owner(place[0]), "the frame of an error page"):
            return checked(Around, place[0].around(environ, caller.user, back))
        return PLAIN

    def _back_from(self, place: Place) -> BackLink:
        """Return the link back from a page; if it fails, that of most pages."""
        endpoint, arguments = place
        with feature_code(self._routes.map.owner(endpoint), "the link back from its page"):
            return checked(BackLink, endpoint.back).filled(arguments)
        return Endpoint.back

    def _respond(self, environ: WSGIEnvironment) -> Response:
        path = environ.get("PATH_INFO", "")
        if path in ("", "/") and environ["REQUEST_METHOD"] in ("GET", "HEAD"):
            return redirect(HTTPStatus.SEE_OTHER, f"{mount_url(environ)}/account")
        found = self._router.find(path)
        if found is None:
            raise NotFoundError
        (route, handlers, is_navigation, _shared), arguments = found
        method = environ["REQUEST_METHOD"]
        if is_navigation and method in SAFE_METHODS:
            environ[IS_NAVIGATION] = True
            environ.pop("HTTP_AUTHORIZATION", None)  # perhaps of a proxy with a password of its own
        if "GET" in handlers and self._routes.hidden.find(path) is None:
            environ[FORM_HAS_PAGE] = True
        if method == "POST":
            environ[SENT_FIELDS] = []
        handler = handlers.get(method) or handlers.get(_ANY)
        if handler is None:
            raise RequestError(
                HTTPStatus.METHOD_NOT_ALLOWED,
                "method_not_allowed",
                _("The allowed methods are %(methods)s.", methods=list_of(handlers)),
                headers=(("Allow", ", ".join(handlers)),),
            )
        return handler({**environ, ROUTE: route, ROUTING_ARGS: ((), arguments)}, self._site)
