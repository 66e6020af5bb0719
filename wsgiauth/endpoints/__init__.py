"""The URLs under /auth, one file each: parse, act, respond.

An endpoint is a function from the request's environ and `Auth` to a `Response`. What it cannot
answer it raises, and `app` turns it into HTTP.
"""

from dataclasses import dataclass
from http import HTTPStatus
from typing import Self
from wsgiref.types import WSGIEnvironment

from wsgiauth import events
from wsgiauth.authentication.identity import Identifier
from wsgiauth.authentication.tokens import Tokens
from wsgiauth.endpoints.pages import SAMPLES
from wsgiauth.exceptions import RequestError
from wsgiauth.settings import Settings
from wsgiauth.throttling.hash_slots import HashSlots
from wsgiauth.throttling.throttle import Throttle
from wsgiauth.web.clients import Clients
from wsgiauth.web.cross_origin import is_same_origin
from wsgiauth.web.pages import Pages


@dataclass(frozen=True)
class Auth:
    """What every endpoint is given.

    Attributes:
        settings: The configuration.
        tokens: Issues and verifies access tokens.
        identifier: Reads and writes the callers' credentials.
        pages: Renders HTML.
        clients: Names the client of a request.
        throttle: Decides which attempt has to wait.
        hash_slots: Hands out the slots in which passwords are hashed.
    """

    settings: Settings
    tokens: Tokens
    identifier: Identifier
    pages: Pages
    clients: Clients
    throttle: Throttle
    hash_slots: HashSlots

    @classmethod
    def from_settings(cls, settings: Settings, mount: str) -> Self:
        """Make everything that the settings decide, and so check them.

        Args:
            settings: The configuration.
            mount: The path of /auth on this site.

        Raises:
            ConfigurationError: SECRET_KEY is missing or unfit, or a template is.
        """
        tokens = Tokens(settings)
        return cls(
            settings,
            tokens,
            Identifier(settings, tokens),
            Pages(mount, settings.TEMPLATES, site_name=settings.SITE_NAME, samples=SAMPLES),
            Clients(),
            Throttle(settings),
            HashSlots(settings),
        )


def require_same_origin(environ: WSGIEnvironment, auth: Auth) -> None:
    """Refuse what another site's page sent.

    Raises:
        RequestError: 403.
    """
    if not is_same_origin(environ, auth.settings.TRUSTED_ORIGINS):
        events.emit("refused", reason="cross-origin")
        raise RequestError(
            HTTPStatus.FORBIDDEN,
            "cross_origin",
            "This request came from another site, so nothing was done.",
        )
