"""The command that serves a WSGI application with waitress."""

import argparse
import contextvars
import errno
import os
import re
import signal
import socket
import sys
import traceback
from types import FrameType
from typing import NoReturn

import waitress

from wsgiauth.cli.command import Arguments, CommandError, environment, import_application
from wsgiauth.cli.output import print_line
from wsgiauth.cli.parser import Parser, positive


def add_commands(parser: Parser) -> None:
    """Add the commands of this module."""
    added = parser.command("serve", serve)
    added.add_argument(
        "application",
        metavar="MODULE:APPLICATION",
        type=_application,
        help="the module, which is imported from the current folder, and the name of the"
        " application in it, such as hello:application",
    )
    added.add_argument(
        "--listen",
        metavar="HOST:PORT",
        type=_address,
        default="127.0.0.1:8080",
        help="where to accept connections (127.0.0.1:8080); port 0 is any free port",
    )
    added.add_argument(
        "--threads",
        metavar="N",
        type=positive,
        default=8,
        help="how many requests are processed at the same time (8)",
    )


def serve(arguments: Arguments) -> None:
    """Serve the application until the process is interrupted or terminated."""
    host, port = arguments.listen
    os.environ.update(environment(arguments))
    with _listen(host, port) as listening:
        # Without the context of the command, which would be the actor of what the application does.
        contextvars.Context().run(_serve, arguments, listening)


def _serve(arguments: Arguments, listening: socket.socket) -> None:
    try:
        application = import_application(arguments.application)
    except CommandError as error:
        if error.__cause__ is not None:  # a mistake in the application's code: show where
            traceback.print_exception(error.__cause__)
        raise
    if not callable(application):
        raise CommandError(
            f"{arguments.application} is not callable; name a WSGI application, as in"
            " hello:application"
        )
    sys.path.insert(0, "")  # for what the application imports later
    server = waitress.create_server(application, sockets=[listening], threads=arguments.threads)
    is_terminated = False

    def terminate(_signal: int, _frame: FrameType | None) -> NoReturn:
        nonlocal is_terminated
        is_terminated = True
        sys.exit()

    signal.signal(signal.SIGTERM, terminate)
    host = arguments.listen[0]
    name = f"[{host}]" if ":" in host else host
    print_line(f"Serving on http://{name}:{listening.getsockname()[1]}/")
    sys.stdout.flush()
    server.run()  # returns after SystemExit and KeyboardInterrupt
    if not is_terminated:
        raise KeyboardInterrupt


def _listen(host: str, port: int) -> socket.socket:
    """Return a socket that is bound to the address; the name localhost is 127.0.0.1.

    Browsers try the IPv6 address of localhost, too, and use the one that accepts connections.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise CommandError(
                f"port {port} is in use; stop the program that uses it, or choose another port"
                f" with --listen {host}:{port + 1}"
            ) from None
        raise CommandError(
            f"cannot listen on {host}:{port} ({error.strerror}); choose another address with"
            " --listen HOST:PORT"
        ) from None


def _application(text: str) -> str:
    if not re.fullmatch(r"\w+(\.\w+)*:\w+", text):
        raise argparse.ArgumentTypeError(f"{text!r} is not of the form MODULE:APPLICATION")
    return text


def _address(text: str) -> tuple[str, int]:
    matched = re.fullmatch(r"(?:\[([0-9a-fA-F:.]+)\]|([^:\[\]]+)):([0-9]{1,5})", text)
    if matched is None or int(matched[3]) > 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is not of the form HOST:PORT")
    return matched[1] or matched[2], int(matched[3])
