"""The log of `--log json`: each line on standard error is a JSON object.

A line that anything else prints there, such as the application, becomes an object, too.
"""

import io
import json
import logging
import sys
import threading
from datetime import UTC, datetime
from typing import Any, TextIO

_FIELDS = ("event", "user_id", "address", "reason", "actor")  # of `events.emit`
_REMEDY = "remedy"  # of some of its records
_LEVELS = {"note:": logging.INFO, "warning:": logging.WARNING}  # of printed lines

logger = logging.getLogger("wsgiauth")


class _Formatter(logging.Formatter):
    """Formats records as JSON in ASCII, so that no value can begin another line."""

    def format(self, record: logging.LogRecord) -> str:
        moment = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        fields = {"time": moment.replace("+00:00", "Z"), "level": record.levelname}
        if record.name == logger.name and hasattr(record, "event"):
            names = (*_FIELDS, _REMEDY) if hasattr(record, _REMEDY) else _FIELDS
            return json.dumps(fields | {name: getattr(record, name, None) for name in names})
        fields |= {"logger": record.name, "message": record.getMessage().rstrip()}
        if record.exc_info:
            fields["exception"] = self.formatException(record.exc_info)
        return json.dumps(fields)


class _Handler(logging.StreamHandler[TextIO]):
    """Writes records as JSON; a log that cannot be written stops no request."""

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - of the base class
        # The base class prints the error to standard error, which leads back here.
        if not isinstance(sys.exception(), OSError | ValueError):
            super().handleError(record)


class _Lines(io.RawIOBase):
    """Logs the lines that are written to it.

    They go to the handler alone. A logger could have another handler, which prints to this stream.
    """

    def __init__(self, handler: _Handler) -> None:
        self._handler = handler
        self._begun = threading.local()  # threads print one line in several pieces

    def writable(self) -> bool:
        """Return True."""
        return True

    def write(self, data: Any) -> int:
        """Log the lines that end in these bytes."""
        *lines, self._begun.line = (getattr(self._begun, "line", b"") + bytes(data)).split(b"\n")
        for line in filter(str.strip, (each.decode(errors="backslashreplace") for each in lines)):
            level = _LEVELS.get(line.split()[0], logging.ERROR)
            self._handler.handle(logging.LogRecord("stderr", level, "", 0, line, None, None))
        return len(data)

    def flush(self) -> None:
        """Log the line that has begun."""
        if getattr(self._begun, "line", b""):
            self.write(b"\n")

    def fileno(self) -> int:
        """Return the descriptor, which other processes can inherit."""
        return self._handler.stream.fileno()


class _StandardError(io.TextIOWrapper):
    """Takes the place of a stream, and logs the lines that are printed to it."""

    def __init__(self, stream: TextIO) -> None:
        self._handler = _Handler(stream)
        self._handler.setFormatter(_Formatter())
        # A RawIOBase does as a buffer: each write is passed on at once.
        lines: Any = _Lines(self._handler)
        super().__init__(lines, "utf-8", "backslashreplace", "\n", write_through=True)

    def take_over(self) -> None:
        """Make the handler the only one that prints to the terminal."""
        printing = (self, self._handler.stream, sys.stdout, sys.__stdout__, sys.__stderr__)
        names = list(logging.root.manager.loggerDict)
        for each in (logging.root, *map(logging.getLogger, names)):
            for handler in [*each.handlers]:
                if isinstance(handler, logging.StreamHandler) and handler.stream in printing:
                    each.removeHandler(handler)
        logging.root.addHandler(self._handler)
        logger.disabled = False  # `dictConfig` disables the loggers that it does not name


def start() -> None:
    """Log as JSON, from INFO on, until the process ends."""
    sys.stderr = _StandardError(sys.stderr)
    logging.root.setLevel(logging.INFO)
    logging.captureWarnings(True)
    sys.excepthook = lambda *error: logger.critical("uncaught exception", exc_info=error)
    threading.excepthook = _log_exception_of_thread
    keep()


def keep() -> None:
    """Undo what an imported application has changed, if the log is JSON."""
    if isinstance(sys.stderr, _StandardError):
        sys.stderr.take_over()


def _log_exception_of_thread(error: threading.ExceptHookArgs) -> None:
    name = "" if error.thread is None else error.thread.name
    found = (error.exc_type, error.exc_value or error.exc_type(), error.exc_traceback)
    logger.critical("uncaught exception in the thread %s", name, exc_info=found)
