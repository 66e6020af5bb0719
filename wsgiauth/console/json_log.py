"""The log of `--log json`: each line on standard error is a JSON object.

A line that anything else prints there, such as the application, becomes an object, too.
"""

import io
import json
import logging
import sys
import threading
from datetime import UTC, datetime
from typing import TextIO

_FIELDS = ("event", "user_id", "address", "reason", "actor")  # of `events.emit`
_LEVELS = {"note:": logging.INFO, "warning:": logging.WARNING}  # of printed lines

logger = logging.getLogger("wsgiauth")


class _Formatter(logging.Formatter):
    """Formats records as JSON in ASCII, so that no value can begin another line."""

    def format(self, record: logging.LogRecord) -> str:
        moment = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        fields = {"time": moment.replace("+00:00", "Z"), "level": record.levelname}
        if record.name == logger.name and hasattr(record, "event"):
            return json.dumps(fields | {name: getattr(record, name, None) for name in _FIELDS})
        fields |= {"logger": record.name, "message": record.getMessage().rstrip()}
        if record.exc_info:
            fields["exception"] = self.formatException(record.exc_info)
        return json.dumps(fields)


class _StandardError(io.TextIOBase):
    """Takes the place of a stream, and logs the lines that are printed to it.

    They go to the handler alone. A logger could have another handler, which prints to this stream.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._begun = threading.local()  # threads print one line in several pieces
        self._handler = logging.StreamHandler(stream)
        self._handler.setFormatter(_Formatter())

    def write(self, text: str) -> int:
        *lines, self._begun.line = (getattr(self._begun, "line", "") + text).split("\n")
        for line in filter(str.strip, lines):
            level = _LEVELS.get(line.split()[0], logging.ERROR)
            self._handler.handle(logging.LogRecord("stderr", level, "", 0, line, None, None))
        return len(text)

    def flush(self) -> None:
        if getattr(self._begun, "line", ""):
            self.write("\n")
        self._stream.flush()

    def fileno(self) -> int:
        """Return the descriptor, which other processes can inherit."""
        return self._stream.fileno()

    def take_over(self) -> None:
        """Make the handler the only one that prints to the terminal."""
        printing = (self, self._stream, sys.stdout, sys.__stdout__, sys.__stderr__)
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
