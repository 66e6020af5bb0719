"""Report a failed account database: in the log, and by a 503."""

import logging
from http import HTTPStatus
from wsgiref.types import WSGIEnvironment

from wsgiauth.messages import _
from wsgiauth.storage import current
from wsgiauth.storage.connections import (
    discard_connection,
    frames_of,
    is_of_statement,
    reason_of,
)
from wsgiauth.web.failures import failure
from wsgiauth.web.readers import LANGUAGE_OF_USER
from wsgiauth.web.responses import Response

RETRY_AFTER = 5  # seconds until a request is worth another try

logger = logging.getLogger("wsgiauth")


def report_failure(error: Exception) -> None:
    """Log that the database failed, and close this thread's connection.

    For a wrong statement, the log shows the lines of code that sent it.
    """
    lines = f"\n{frames_of(error)}" if is_of_statement(error) else ""
    logger.error(
        "the account database failed: %s: %s%s", type(error).__name__, reason_of(error), lines
    )
    discard_connection(current())


def unavailable(environ: WSGIEnvironment, error: Exception) -> Response:
    """Report that the database failed, and return the 503."""
    report_failure(error)
    environ[LANGUAGE_OF_USER] = ""  # the response must not wait for the database again
    return failure(
        environ,
        HTTPStatus.SERVICE_UNAVAILABLE,
        "unavailable",
        _("The account database is not available. Try again in a moment."),
        headers=(("Retry-After", str(RETRY_AFTER)),),
    )
