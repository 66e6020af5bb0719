"""Calls of the functions that the application passed to `AuthMiddleware`."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from wsgiauth.events import actors
from wsgiauth.exceptions import ApplicationError

logger = logging.getLogger("wsgiauth")


@contextmanager
def application_code(name: str, *, passes: tuple[type[Exception], ...] = ()) -> Iterator[None]:
    """Run a function of the application in a `with` block, as the actor `code`.

    Args:
        name: The function, for the log.
        passes: The exceptions that the function is allowed to raise.

    Raises:
        ApplicationError: It raised another exception, which is logged and is the cause.
    """
    try:
        with actors.acting(actors.CODE):
            yield
    except passes:
        raise
    except Exception as error:
        logger.exception("%s failed", name)
        raise ApplicationError(f"{name} failed: {type(error).__name__}: {error}") from error
