"""What the rules share: a site with the feature, its callers, and findings."""

import ast
import json
import logging
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from wsgiref.types import StartResponse, WSGIEnvironment

import wsgiauth.features
from wsgiauth.accounts.models import User
from wsgiauth.feature import Feature
from wsgiauth.features.registry import FEATURES
from wsgiauth.forms.endpoint import Endpoint
from wsgiauth.guards import login_required
from wsgiauth.languages import SHIPPED
from wsgiauth.languages.catalogues import files_in
from wsgiauth.mail.worker import Queue
from wsgiauth.middleware import AuthMiddleware
from wsgiauth.storage import context
from wsgiauth.storage.connections import discard_connection
from wsgiauth.storage.models import Model
from wsgiauth.testing.logins import bearer, logged_in
from wsgiauth.testing.people import make_user
from wsgiauth.testing.settings import make_settings

if TYPE_CHECKING:
    from webtest import TestApp

    from wsgiauth.testing.features import Fill

MOUNT = "/auth"
GUARDED = "/guarded"  # a path of the application
LOGIN = f"{MOUNT}/login"
BROWSER = {"Accept": "text/html", "Sec-Fetch-Site": "same-origin"}
ANONYMOUS, USER, STAFF = "an anonymous client", "a user", "the staff"
_POWERS = {"is_staff": True, "is_superuser": True}
_PARTS = {"id": "1", "provider": "google", "client": "a"}
_OWN = Path(wsgiauth.features.__path__[0])


class Finding(NamedTuple):
    """A broken rule."""

    subject: str
    place: str
    advice: str

    def __str__(self) -> str:
        """Return a line for the developer of the feature."""
        return f"{self.subject}: {self.place}: {self.advice}"


class Caller(NamedTuple):
    """A client, and what the pages for its user have.

    Attributes:
        account: The field `account` of forms.
        parts: Values for the named parts of paths.
    """

    client: "TestApp"
    account: str
    parts: Mapping[str, object]


class Drawn(NamedTuple):
    """A response of a URL to a program."""

    method: str
    path: str  # with the names of its parts
    status: str
    media_type: str
    code: str  # of problem details, or ""


def languages_of(feature: Feature) -> tuple[str, ...]:
    """Return the languages that a feature has catalogues for, as LANGUAGES names them."""
    return () if feature.catalogues is None else tuple(files_in(feature.catalogues, feature.name))


def name_of(used: ast.expr) -> str:
    """Return a name in the source of a module, also of an attribute of another module."""
    return ast.unparse(used).rpartition(".")[2]


@contextmanager
def logged() -> Iterator[list[logging.LogRecord]]:
    """Yield the list of what is logged in a `with` block."""
    records: list[logging.LogRecord] = []
    handler = logging.Handler()
    handler.emit = records.append  # type: ignore[assignment, method-assign]
    logger = logging.getLogger()
    logger.addHandler(handler)
    try:
        yield records
    finally:
        logger.removeHandler(handler)


class Scene:
    """A site with a feature.

    Attributes:
        is_own: Whether the feature is one of wsgiauth's own.
        languages: Those that the feature is translated to.
        fill: See `check_feature`.
        drawn: What its URLs have answered to programs.
    """

    def __init__(
        self,
        feature: Feature,
        settings: Mapping[str, Any],
        languages: tuple[str, ...] = (),
        fill: "Fill | None" = None,
    ) -> None:
        self.feature = feature
        self.is_own = feature in FEATURES
        self.languages = tuple(dict.fromkeys((*languages_of(feature), *languages)))
        further = {} if self.is_own else {"FEATURES": (feature,)}
        shown = ("en", *(each for each in self.languages if each in SHIPPED))
        defaults = {"MAIL_URL": "memory:", "LANGUAGES": shown, **further}
        self.application = AuthMiddleware(_application, make_settings(**{**defaults, **settings}))
        self.site = self.application.site
        if self.site.outbox is not None:
            self.site.outbox.keep_messages()  # instead of sending them
        self.drawn: set[Drawn] = set()
        self._numbers = count(1)
        self.fill = fill

    @property
    def folder(self) -> Path | None:
        """The folder of the feature's package."""
        return _OWN / self.feature.name if self.is_own else self.feature.folder

    @cached_property
    def endpoints(self) -> Mapping[str, Endpoint]:
        """The URLs that the site offers, of the feature, with their endpoints."""
        settings = self.site.settings
        return {
            path: each.variant(settings)
            for path, each in self.feature.urls.items()
            if each.is_offered(settings)
        }

    @cached_property
    def modules(self) -> Mapping[str, ast.Module]:
        """The modules in the feature's folder, by their paths in it, without its migrations."""
        return {
            path.relative_to(folder).as_posix(): ast.parse(path.read_text(encoding="utf-8"), path)
            for folder in (self.folder,)
            if folder is not None
            for path in sorted(folder.rglob("*.py"))
            if path.relative_to(folder).parts[0] not in ("migrations", "tests")
        }

    @cached_property
    def templates(self) -> Mapping[str, str]:
        """The sources of the feature's templates, by name."""
        folder = (self.folder or Path()) / "templates"
        files = [] if self.folder is None else sorted(folder.rglob("*.*"))
        return {
            path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8")
            for path in files
            if path.suffix in (".html", ".txt")
        }

    @cached_property
    def models(self) -> Mapping[str, type[Model]]:
        """The models in the feature's folder, by table, without base classes."""
        folder = self.folder
        start = f"{folder}{os.sep}"  # to make a Path of each module takes 10 ms
        return {
            each._meta.table_name: each
            for module in (*sys.modules.values(),)
            if folder and (getattr(module, "__file__", None) or "").startswith(start)
            for each in vars(module).values()
            if isinstance(each, type) and issubclass(each, Model) and not each.__subclasses__()
            if each.__module__ == module.__name__
        }

    def make_user(self, **fields: Any) -> User:
        """Return a new user: requests change and delete users."""
        return make_user(self.application, f"user{next(self._numbers)}", **fields)

    def filled(self, user: User) -> Mapping[str, object]:
        """Let a user have rows in each table; return the named parts of paths."""
        with self.database():
            return {**_PARTS, **(self.fill(self.application, user) if self.fill else {})}

    def callers(self) -> dict[str, Caller]:
        """Return new callers, by what they are: without a login, a user, and the staff."""
        from webtest import TestApp

        user, staff = self.make_user(), self.make_user(**_POWERS)
        of_user = self._caller(logged_in(self.application, user), user)
        return {
            ANONYMOUS: of_user._replace(client=TestApp(self.application), account=""),
            USER: of_user,
            STAFF: self._caller(logged_in(self.application, staff), staff),
        }

    def _caller(self, client: "TestApp", user: User) -> Caller:
        return Caller(client, self.site.form_accounts.value(user.id), self.filled(user))

    def program(self) -> Caller:
        """Return a caller without cookies, with the token of a new member of the staff."""
        from webtest import TestApp

        client, user = TestApp(self.application), self.make_user(**_POWERS)
        header = bearer(self.application, user)["Authorization"]
        client.authorization = ("Bearer", header.removeprefix("Bearer "))
        return self._caller(client, user)

    @contextmanager
    def database(self) -> Iterator[Any]:
        """Use the database of the site in a `with` block."""
        with context.using(self.application.database):
            yield self.application.database

    def close(self) -> None:
        """End what the site has begun."""
        outbox = () if self.site.outbox is None else (self.site.outbox,)
        for queue in (*self.site.parts.all(Queue), *outbox):
            queue.stop()
        discard_connection(self.application.database)


def _application(environ: WSGIEnvironment, start_response: StartResponse) -> list[bytes]:
    """Answer with the user, also behind a guard."""

    def view(environ: WSGIEnvironment, start_response: StartResponse) -> list[bytes]:
        user = environ["wsgiauth.user"]
        seen = {"user": user and user.id, "error": environ["wsgiauth.error"]}
        start_response("200 OK", [("Content-Type", "application/json")])
        return [json.dumps(seen).encode()]

    app: Any = login_required(redirect_url=LOGIN)(view) if environ["PATH_INFO"] == GUARDED else view
    return [*app(environ, start_response)]
