"""Client ID metadata documents without a network: apps whose `client_id` is a URL."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from wsgiauth.features.oauth_server.documents import Documents
from wsgiauth.middleware import AuthMiddleware
from wsgiauth.testing.people import require_middleware

if TYPE_CHECKING:
    from wsgiauth.outgoing import Reply

Answer = Mapping[str, object] | str | bytes | int | Exception


@contextmanager
def client_documents(
    application: AuthMiddleware, documents: Mapping[str, Answer]
) -> Iterator[None]:
    """Let the site read the documents of apps from a dictionary, instead of from their hosts.

    A context manager. Only the connection is replaced: the rules of URLs, sizes and contents, what
    is kept, and the limits stay.

    Args:
        documents: By URL: a dictionary, which is sent as JSON; a string or bytes, sent as they are
            with the type of JSON; the status of a failure; or an exception, which stands for a host
            that does not answer. Any other URL has the status 404.

    Raises:
        ValueError: The site reads no documents, because OAUTH_REGISTRATION is off.
    """
    part = require_middleware(application).site.part(Documents)
    if part is None:
        raise ValueError("The site reads no documents: make_settings(OAUTH_REGISTRATION=True).")
    former, part.fetch = part.fetch, lambda url: _reply(documents.get(url, 404))
    try:
        yield
    finally:
        part.fetch = former


def _reply(answer: Answer) -> "Reply":
    from email.message import Message

    from wsgiauth.features.oauth_server.documents import MAX_SIZE
    from wsgiauth.outgoing import CONNECTION, TOO_LARGE, OutgoingError, Reply

    headers = Message()
    headers["Content-Type"] = "application/json"
    if isinstance(answer, Exception):
        raise OutgoingError(CONNECTION) from answer
    if isinstance(answer, int):
        return Reply(answer, headers, b"")
    text = json.dumps(answer) if isinstance(answer, Mapping) else answer
    body = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    if len(body) > MAX_SIZE:
        raise OutgoingError(TOO_LARGE)
    return Reply(200, headers, body)
