"""The answers that pages of other origins can read (CORS, in the Fetch standard).

No answer allows credentials, so a page of another origin never reads what a cookie opens.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from http import HTTPStatus
from typing import TYPE_CHECKING, NamedTuple
from wsgiref.types import WSGIEnvironment

from wsgiauth.web.responses import Header, Response
from wsgiauth.web.uris import web_origin

if TYPE_CHECKING:
    from wsgiauth.site import Site

_MAX_AGE = 3600  # seconds; browsers keep a preflight for two hours at most
_ORIGIN_ALONE = re.compile("[^/?#]+://[^/?#]+")
_HEADERS = "authorization, content-type"  # `*` would not cover the first one
_HEADER = "[!#$%&'*+.^_`|~0-9A-Za-z-]+"  # RFC 9110 section 5.1
_HEADER_LIST = re.compile(rf"(?=.{{1,1000}}\Z){_HEADER}(?:, ?{_HEADER})*")
_EXPOSED = ("Access-Control-Expose-Headers", "WWW-Authenticate, Retry-After")


class CrossOrigin(NamedTuple):
    """Whose pages can read the answers of a URL, without credentials.

    Attributes:
        admits: Returns whether the pages of an origin can, in the spelling of `uris.web_origin`;
            None: the pages of all origins.

    Example:
        class PublicBadges(Endpoint):
            cross_origin = CrossOrigin()
    """

    admits: "Callable[[str, Site], bool] | None" = None

    def respond(
        self,
        environ: WSGIEnvironment,
        site: "Site",
        methods: Iterable[str],
        answer: Callable[[WSGIEnvironment], Response],
    ) -> Response:
        """Return the answer with the headers for its origin; answer a preflight itself.

        Args:
            methods: Those that the URL has.
        """
        allowed = self._allowed(environ, site)
        if allowed and is_preflight(environ):
            response = Response(HTTPStatus.NO_CONTENT, headers=self._permissions(environ, methods))
        else:
            response = answer(environ)
        headers: list[Header] = [] if self.admits is None else [("Vary", "Origin")]
        if allowed:
            headers += [("Access-Control-Allow-Origin", allowed), _EXPOSED]
        return replace(response, headers=(*response.headers, *headers))

    def _allowed(self, environ: WSGIEnvironment, site: "Site") -> str:
        """Return the origin that can read the answer, `*` for all origins, or ""."""
        if self.admits is None:
            return "*"
        sent: str = environ.get("HTTP_ORIGIN", "")
        origin = web_origin(sent) if _ORIGIN_ALONE.fullmatch(sent) else ""
        return sent if origin and self.admits(origin, site) else ""

    def _permissions(
        self, environ: WSGIEnvironment, methods: Iterable[str]
    ) -> tuple[Header, Header, Header]:
        """Return what a page can send; where all pages can read, also headers of any other name."""
        asked: str = environ.get("HTTP_ACCESS_CONTROL_REQUEST_HEADERS", "")
        is_more = self.admits is None and _HEADER_LIST.fullmatch(asked)
        return (
            ("Access-Control-Allow-Methods", ", ".join(methods)),
            ("Access-Control-Allow-Headers", f"{_HEADERS}, {asked}" if is_more else _HEADERS),
            ("Access-Control-Max-Age", str(_MAX_AGE)),
        )


ALL_ORIGINS = CrossOrigin()


def is_preflight(environ: WSGIEnvironment) -> bool:
    """Return whether a browser asks what a page of another origin can send."""
    return environ["REQUEST_METHOD"] == "OPTIONS" and "HTTP_ORIGIN" in environ
