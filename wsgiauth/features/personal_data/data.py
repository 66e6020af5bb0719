"""GET /auth/data: users download everything that is stored about them."""

from collections.abc import Iterable, Iterator
from http import HTTPStatus
from itertools import chain
from wsgiref.types import WSGIEnvironment

from wsgiauth.extend import (
    APPLICATION_FAILED,
    LEAVING,
    RETRY_AFTER,
    AccountLink,
    Answer,
    Endpoint,
    Limit,
    Problem,
    Response,
    Site,
    UnauthenticatedError,
    User,
    _,
    emit,
    problems_of_session,
    require_fresh,
    require_not_in_advance,
    require_opened,
    require_same_origin,
)
from wsgiauth.features.personal_data.file import DATA_EXPORTED, pieces

_HOUR = 60 * 60  # seconds
_BLOCK = 65_536  # characters

# A file can be long, and each one is an event in the next.
_DOWNLOADS = Limit("personal data", 10, (_HOUR,), _HOUR)


_REFUSED = Problem(
    "DownloadRefused",
    403,
    {"cross_origin": "Another site made the browser send the request."},
)
_TOO_MANY = Problem(
    "TooManyDownloads",
    429,
    {"throttled": "The user has downloaded the file ten times in the last hour."},
    headers={"Retry-After": RETRY_AFTER},
)


class Data(Endpoint):
    """Streams the file."""

    account_link = AccountLink(
        LEAVING,
        _("Download your data"),
        _("Everything that this site stores about your account, in one file for programs."),
        place=-1,
        icon="download",
    )
    failures = (_REFUSED, _TOO_MANY, APPLICATION_FAILED)

    def problems(self, method: str) -> tuple[Problem | Answer, ...]:
        """Return those of a session with a recent proof, and of the application."""
        return (*super().problems(method), *problems_of_session(method, is_fresh=True))

    def get(self, environ: WSGIEnvironment, site: Site) -> Response:
        """Answer with the file, or fail if the audit trail cannot record the download."""
        require_same_origin(environ, site)  # another site's link must not use up the downloads
        # A browser saves the file, and would stay on the page that asked for the confirmation.
        member = require_fresh(environ, site, return_to="account").user
        user = User.find_by_id(member.id)
        if user is None:
            raise UnauthenticatedError("invalid_token")
        if environ["REQUEST_METHOD"] == "HEAD":
            return _file(())
        require_not_in_advance(environ)
        require_opened(environ, "document", "empty")  # `empty` is a script of this site
        site.attempt(_DOWNLOADS, str(user.id)).require_turn().begin()
        blocks = _blocks(pieces(user, site.settings, site.personal_data))
        first = next(blocks)  # the function or the database can fail before the answer begins
        emit(DATA_EXPORTED, user_id=user.id)
        return _file(chain([first], blocks))


def _file(blocks: Iterable[bytes]) -> Response:
    return Response(
        HTTPStatus.OK,
        content_type="application/json",
        headers=(("Content-Disposition", 'attachment; filename="personal-data.json"'),),
        app_iter=blocks,
    )


def _blocks(texts: Iterator[str]) -> Iterator[bytes]:
    """Yield the pieces in larger blocks, because a server sends each one by itself."""
    block, length = [], 0
    for text in texts:
        block.append(text)
        length += len(text)
        if length >= _BLOCK:
            yield "".join(block).encode()
            block, length = [], 0
    yield "".join(block).encode()
