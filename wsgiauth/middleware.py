"""`AuthMiddleware(app)`: sends requests below the mount to `AuthApp`, all others to `app`.

It identifies the caller of the latter.
"""

import logging
from collections.abc import Iterable, Mapping
from copy import copy
from dataclasses import replace
from http import HTTPStatus
from types import MethodType
from typing import Self
from urllib.parse import unquote, urlsplit
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

from wsgiauth import storage
from wsgiauth.access import refuse_failed
from wsgiauth.accounts import known_permissions
from wsgiauth.accounts.groups import Group
from wsgiauth.accounts.personal_data import PersonalDataFunction
from wsgiauth.accounts.registration import Field, OnRegistered, Registration
from wsgiauth.arguments import (
    check_arguments,
    checked_permissions,
    checked_subscribers,
    nested_error,
    read_settings,
    refuse_nested,
    unwrapped,
)
from wsgiauth.authentication.claims import ClaimsFunction
from wsgiauth.authentication.id_claims import IdClaimsFunction
from wsgiauth.authentication.identity import set_caller
from wsgiauth.authentication.second_factors import SecondFactors
from wsgiauth.challenges import Challenge, ChallengingApp
from wsgiauth.events import Subscriber, record, subscribe
from wsgiauth.events.models import keep_events
from wsgiauth.exceptions import ApplicationError
from wsgiauth.feature import Inviter, WellKnown, joined
from wsgiauth.figures.event_counts import EventCounts
from wsgiauth.figures.requests import CountingScope, RequestCounts
from wsgiauth.gate import GatedApp, PathRules, Require
from wsgiauth.mail.transports import Transport
from wsgiauth.mail.worker import Queue
from wsgiauth.settings import Settings
from wsgiauth.settings.mail import CALLABLE
from wsgiauth.site import Site
from wsgiauth.storage import schema
from wsgiauth.storage.connections import DATABASE_ERRORS, AccountDatabase
from wsgiauth.storage.databases import file_risks
from wsgiauth.storage.failures import unavailable
from wsgiauth.storage.request_scope import RequestScope
from wsgiauth.web.caching import start_private
from wsgiauth.web.readers import LANGUAGE_OF_USER, USER_OF_PAGE
from wsgiauth.web.responses import Response, redirect
from wsgiauth.web.urls import root_url

logger = logging.getLogger("wsgiauth")

# W3C, "A Well-Known URL for Changing Passwords": where password managers look.
_CHANGE_PASSWORD = "/.well-known/change-password"  # noqa: S105 - a path


class AuthMiddleware:
    """Adds accounts to any WSGI application.

    wsgiauth answers requests below `mount`. It also answers GET and HEAD of
    /.well-known/change-password, unless PASSWORD_LOGIN is off, and, with SERVICE_KEYS,
    /.well-known/oauth-authorization-server; `app` is not called, even if it has that path. All
    other requests reach `app` with these keys in `environ`, which replace any that are there:

    - `wsgiauth.user`: the `User` who sent the request, or None.
    - `wsgiauth.session`: the id of their session, or None.
    - `wsgiauth.key`: the id of the API key that the request came with, or None. The user then has
      only permissions of the key, and neither flags nor groups.
    - `wsgiauth.error`: `invalid_token` (RFC 6750 section 3.1) if a token was presented and
      rejected; `insufficient_user_authentication` (RFC 9470 section 3) if SECOND_FACTOR demands a
      second factor of the user, and the session was proven without; the code of another unmet
      demand, such as `terms_required`; otherwise None.
    - `wsgiauth.root`, `wsgiauth.site`: for the guards.
    - `REMOTE_USER` and `AUTH_TYPE` (RFC 3875): the username, and `Bearer` for a token in the
      Authorization header or `Cookie`; absent for anonymous clients and API keys.
    - `webob.adhoc_attrs`, `bottle.request.ext.user`: make `request.user` the same user in WebOb
      and Bottle.

    While the database is unavailable, requests with credentials get 503; others reach `app`. If a
    demand of a feature fails, requests of the sessions that it concerns get 500.

    With `public` or `require`, `login_required` and `permission_required` guard `app`, with the
    login page as `redirect_url`. Requests that wsgiauth answers need no login.

    Args:
        app: The application to wrap.
        settings: `Settings`, a mapping of the same names, or None for the process environment.
        mount: The path below which wsgiauth answers.
        challenge: Whether to replace a 401 of `app` by the challenge or, for a browser, by a
            redirect to the login page; with "anonymous", also a 403 to an anonymous client. See
            `challenges.ChallengingApp`.
        public: The paths of `app` that need no login, while all others do: decoded, without the
            SCRIPT_NAME of this middleware. A path that ends in `/` covers everything below it,
            except "/", the home page. With None, `app` itself decides.
        require: The permission, `<app>.<action>`, that all paths of `app` need but the public ones.
            Or a mapping of paths: `{"/secret/": "code.secret", "/reports/": ("a.read", "b.read")}`,
            with None for a login alone. A path that ends in `/` covers itself, also without the
            slash, and everything below it. The longest path in `require` and `public` decides.
        permissions: The permissions that `app` checks with `User.has_permission`, so that the
            staff panel and `permissions --app` list them.
        claims: Called with the `User` for each new access token, outside wsgiauth's transactions.
            It returns further claims, JSON by name; see `wsgiauth.claims`. If it raises, no session
            begins or changes.
        on_event: Called with each `events.Event` of this site's accounts, in the thread in which
            it happens. An exception is logged and has no other effect. A login waits for it.
        send_mail: Called with each `email.message.EmailMessage`, in a thread of its own, instead of
            MAIL_URL. An exception means that the message was not sent.
        registration: Fields that new users fill in, besides names and a password.
        on_registered: Called with each new `User` and their values, by field, in the transaction
            that creates the user. Any exception undoes the transaction: a ValidationError refuses
            the values; another exception is logged, and answered with 500.
        personal_data: Called with the `User` who downloads their data at /auth/data. It returns
            what `app` stores about them, JSON by name, which the file has as `application`. If it
            raises or returns something else, the error is logged, and the answer is 500.
        id_claims: Called with the `User`, the `OAuthClient` and its scopes for each ID token and
            each answer of /auth/userinfo, outside wsgiauth's transactions. It returns further
            claims for them, JSON by name, or None. If it raises, the app gets no token.

    Attributes:
        site: The objects made from the settings; see `site.Site`. Internal.
        database: The account database, a Peewee `Database`.

    Raises:
        ConfigurationError: A setting is missing or wrong, or the database cannot be used; the
            message names the setting. Also raised if `app` is an `AuthMiddleware` with the same
            mount; if only a request can show that, the request raises it.
    """

    def __init__(
        self,
        app: WSGIApplication,
        settings: Settings | Mapping[str, object] | None = None,
        *,
        mount: str = "/auth",
        challenge: Challenge = False,
        public: Iterable[str] | None = None,
        require: Require | None = None,
        permissions: Iterable[str] = (),
        claims: ClaimsFunction | None = None,
        on_event: Subscriber | Iterable[Subscriber] = (),
        send_mail: Transport | None = None,
        registration: Iterable[Field] = (),
        on_registered: OnRegistered | None = None,
        personal_data: PersonalDataFunction | None = None,
        id_claims: IdClaimsFunction | None = None,
    ) -> None:
        check_arguments(app, mount, challenge, send_mail, claims, personal_data, id_claims)
        declared = checked_permissions(permissions)
        self._mount, self._login_url, self._challenge = mount, f"{mount}/login", challenge
        has_rules = public is not None or require is not None
        self._rules = PathRules(public, require, mount) if has_rules else None
        self._app = self._restricted(app)
        inner = unwrapped(app)
        if isinstance(inner, AuthMiddleware) and inner.site.pages.mount == mount:
            raise nested_error(mount)
        subscribers = checked_subscribers(on_event)
        settings = read_settings(settings)
        if send_mail is not None:
            settings = replace(settings, MAIL_URL=CALLABLE)
        asked = Registration(registration, on_registered)
        # Loaded by the first middleware: a script and most commands need no endpoints.
        from wsgiauth.app import AuthApp
        from wsgiauth.features.registry import features_of, recorders

        features = features_of(settings)
        self.site: Site = Site.from_settings(
            settings, mount, features, send_mail, claims, asked, personal_data, id_claims
        )
        self._well_known = _well_known_urls(self.site)
        self._at_root = _at_root(self._well_known, settings)
        self._auth_app = AuthApp(self.site)
        opened, unasked = _open_database(settings, self.site.factors)
        self.database: AccountDatabase = opened
        counts = self.site.part(RequestCounts)
        self._scope = (
            RequestScope(self.database)
            if counts is None
            else CountingScope(
                self.database, counts, {f"{mount}{each}" for each in self._auth_app.probes}
            )
        )
        self._identify = self._scope.released_after(self.site.identifier.find_caller)
        subscribe(self.database, (*self.site.parts.all(EventCounts), *subscribers))
        record(self.database, recorders(settings, self.site))
        queues: tuple[Queue, ...] = self.site.parts.all(Queue)
        self._queues = queues if self.site.outbox is None else (self.site.outbox, *queues)
        keep_events(self.database, settings.AUDIT_DAYS)
        for permission in declared:
            known_permissions.register(permission)
        for risk in settings.risks() + file_risks(self.database) + unasked:
            logger.warning("%s", risk)

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """Answer one request, or pass it on (PEP 3333)."""
        return self._scope.serve(self._respond, environ, start_response)

    def _respond(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        site = self.site
        if "wsgiauth.site" in environ:
            refuse_nested(environ, site)
        for queue in self._queues:
            queue.start()
        environ["wsgiauth.root"] = environ.get("SCRIPT_NAME", "")
        environ["wsgiauth.site"] = site
        path = environ.get("PATH_INFO", "")
        if path.startswith(self._mount) and path[len(self._mount) :][:1] in ("", "/"):
            return self._auth_app(self._below_mount(environ), start_response)
        well_known = self._well_known.get(path)
        if well_known is None and self._at_root:
            well_known = self._at_root.get(environ["wsgiauth.root"] + path)
        response = None if well_known is None else well_known.respond(environ)
        if response is not None:
            return response(environ, start_response)
        if "HTTP_AUTHORIZATION" not in environ and "HTTP_COOKIE" not in environ:
            set_caller(environ)
            return self._app(environ, start_response)
        try:
            user, session_id, error, key_id, _ = self._identify(environ)
        except ApplicationError as failure:
            return refuse_failed(environ, failure)(environ, start_response)
        except DATABASE_ERRORS as failure:
            return unavailable(environ, failure)(environ, start_response)
        set_caller(environ, user, session_id, error, key_id)
        if user is not None:  # a bound method is faster to call than a partial
            start_response = MethodType(start_private, start_response)
        return self._app(environ, start_response)

    def restrict(self, public: Iterable[str] | None, require: Require | None) -> None:
        """Add the rules of these arguments, for the options of `serve`. Internal."""
        rules = PathRules(public, require, self._mount)
        self._app = GatedApp(self._app, self._login_url, rules)

    def around(self, app: WSGIApplication) -> Self:
        """Return the same middleware around another application. Internal: of a test client."""
        other = copy(self)
        other._app = self._restricted(app)
        return other

    def invite(
        self,
        email: str,
        *,
        username: str = "",
        is_staff: bool = False,
        permissions: Iterable[str] = (),
        groups: Iterable[Group | str] = (),
    ) -> str | None:
        """Invite a person, by email, to create an account, even if registration is closed.

        The person proves the address by the link in the email, and chooses the password. An
        earlier invitation of the address then ends.

        Args:
            email: An address without an account.
            username: The user's name; without it, the person chooses one.
            is_staff: See `User`.
            permissions: The permissions of the user.
            groups: The groups that the user joins, or their names. A group that is deleted
                meanwhile is ignored.

        Returns:
            The link, for you to hand over, if the site sends no emails; otherwise None.

        Raises:
            ValidationError: A name breaks a rule; `errors` also reports a taken name.
            TakenError: The address has an account, or another user has the username.
            ValueError: A permission does not have the form `<app>.<action>`; a group is of another
                application; or a username is given, and USERNAMES is off.
            Group.DoesNotExist: There is no group of a name.
            ConfigurationError: The site sends no emails, and has no PUBLIC_URL for a link.
            peewee.DatabaseError: The database failed.
        """
        with storage.context.using(self.database):
            return self.site.require(Inviter).invite(
                self.site,
                email,
                username=username,
                is_staff=is_staff,
                permissions=permissions,
                groups=groups,
            )

    def _restricted(self, app: WSGIApplication) -> WSGIApplication:
        if self._challenge:
            app = ChallengingApp(app, self._login_url, self._challenge)
        return app if self._rules is None else GatedApp(app, self._login_url, self._rules)

    def _below_mount(self, environ: WSGIEnvironment) -> WSGIEnvironment:
        below = {
            **environ,
            "SCRIPT_NAME": environ.get("SCRIPT_NAME", "") + self._mount,
            "PATH_INFO": environ["PATH_INFO"][len(self._mount) :],
        }
        for name in (
            "wsgiauth.user",
            LANGUAGE_OF_USER,
            USER_OF_PAGE,
        ):  # of an AuthMiddleware around this one
            below.pop(name, None)
        return below


def _open_database(settings: Settings, factors: SecondFactors) -> tuple[AccountDatabase, list[str]]:
    """Return the database, and warnings about the second factors in it."""
    unasked: list[str] = []

    def prepare(opened: AccountDatabase) -> None:
        schema.make_ready(opened)
        with storage.context.using(opened):
            unasked.extend(factors.risks())

    return storage.open_for(settings, prepare=prepare), unasked


def _well_known_urls(site: Site) -> Mapping[str, WellKnown]:
    """Return what answers above the mount (RFC 8615), by path."""

    def change_password(environ: WSGIEnvironment) -> Response:
        return redirect(HTTPStatus.FOUND, f"{root_url(environ)}{site.pages.mount}/password")

    own = {_CHANGE_PASSWORD: WellKnown(change_password)} if site.settings.PASSWORD_LOGIN else {}
    return joined(site.features, "the URL", lambda each: each.well_known(site), kernel=own)


def _at_root(answers: Mapping[str, WellKnown], settings: Settings) -> Mapping[str, WellKnown]:
    """Return what answers for a site below a path, by their paths from the root of the host.

    RFC 8414 section 3.1 and RFC 9728 section 3.1 put the path of the site after the name of the
    document. A request for it arrives only if the outer server sends it here.
    """
    below = unquote(urlsplit(settings.PUBLIC_URL or "").path, "latin-1").rstrip("/")  # PEP 3333
    names = [each for each in answers if each != _CHANGE_PASSWORD] if below else []
    parts = {each: each.split("/", 3) for each in names}  # "", ".well-known", the name, a path
    return {
        "/".join([*found[:2], f"{found[2]}{below}", *found[3:]]): answers[each]
        for each, found in parts.items()
    }
