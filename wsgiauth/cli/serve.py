"""The command that serves a WSGI application with waitress, or the login alone."""

import argparse
import contextvars
import errno
import ipaddress
import os
import re
import socket
import sys
from collections.abc import Iterable, Mapping
from typing import Any
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

import waitress

from wsgiauth import storage
from wsgiauth.cli import graceful
from wsgiauth.cli.applications import make_login_site, middleware_of
from wsgiauth.cli.compression import compressed
from wsgiauth.cli.connections import Acceptor
from wsgiauth.console.command import (
    Arguments,
    CommandError,
    UsageError,
    environment,
    import_application,
    print_cause,
)
from wsgiauth.console.output import print_error, print_line
from wsgiauth.console.parser import Parser, natural, positive
from wsgiauth.gate import parse_rules
from wsgiauth.middleware import AuthMiddleware

# Bytes. waitress keeps those above 512 KiB in a temporary file, before the application sees any.
# The greatest upload to PyPI, for an application; and four times the greatest body of the login.
MAX_BODY, MAX_BODY_ALONE = 100 * 1024 * 1024, 64 * 1024
_BEHIND_PROXY: Mapping[str, Any] = {
    "trusted_proxy_headers": "x-forwarded-for x-forwarded-host x-forwarded-proto",
    "clear_untrusted_proxy_headers": True,
}


def add_commands(parser: Parser) -> None:
    """Add the commands of this module."""
    added = parser.command(
        "serve",
        serve,
        examples=("wsgi:application --listen 127.0.0.1:8080 --threads 8",),
        details="Texts of 500 bytes to 4 MiB are compressed. At SIGTERM, it answers the requests"
        " that it has received.",
    )
    added.add_argument(
        "application",
        metavar="MODULE:APPLICATION",
        nargs="?",
        type=_application,
        help="the module, which is imported from the current folder, and the name of the"
        " application in it, such as hello:application; without it, wsgiauth serves the login"
        " alone, for services behind a proxy that asks /auth/check",
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
    added.add_argument(
        "--require",
        metavar="PATH=PERMISSION",
        action="append",
        default=[],
        help="demand a permission, or several with commas between them, for a path of the"
        " application, which gets an AuthMiddleware if it has none; PATH alone demands a login; a"
        " path that ends in / covers everything below it; can be given several times",
    )
    added.add_argument(
        "--public",
        metavar="PATH",
        action="append",
        help="a path that these options leave open, while all others need a login, as with"
        " --require /; rules of the application itself still count; can be given several times",
    )
    added.add_argument(
        "--max-body",
        metavar="BYTES",
        type=positive,
        help="refuse the longer bodies of requests, such as uploads, before the application and the"
        f" login see them ({MAX_BODY}; for the login alone {MAX_BODY_ALONE})",
    )
    added.add_argument(
        "--max-connections-per-client",
        metavar="N",
        type=natural,
        default=50,
        help="how many connections a client can have, which is an IPv4 address or an IPv6 network"
        " /64 (50); above it, those that wait longest for a request are closed; 0 is no limit;"
        " --trusted-proxy has none",
    )
    added.add_argument(
        "--trusted-proxy",
        metavar="ADDRESS",
        type=_proxy,
        help="the IP address of a proxy, whose X-Forwarded-For, -Proto and -Host are believed; *"
        " stands for any address, if only the proxy can reach this server",
    )


def serve(arguments: Arguments) -> None:
    """Serve the application until the process is interrupted or terminated; see `graceful`.

    Connections are refused until the application is imported, so that a proxy sends their requests
    to another process. A failing import would reset them.
    """
    if arguments.application is None and (arguments.require or arguments.public):
        raise UsageError("--require and --public need an application")
    os.environ.update(environment(arguments))
    # Without the context of the command, which would be the actor of the application's changes.
    contextvars.Context().run(_serve, arguments)


def _serve(arguments: Arguments) -> None:
    path: str | None = arguments.application
    application = make_login_site() if path is None else _restricted(_imported(path), arguments)
    max_body = arguments.max_body or (MAX_BODY_ALONE if path is None else MAX_BODY)
    trusted: str | None = arguments.trusted_proxy
    proxy = {} if trusted is None else {"trusted_proxy": trusted, **_BEHIND_PROXY}
    host = arguments.listen[0]
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as listening:
        _listen(listening, arguments.listen)
        connections: graceful.Connections = {}
        server = waitress.create_server(
            _without_bodies_for_head(compressed(application)),
            connections,
            sockets=[listening],
            threads=arguments.threads,
            max_request_body_size=max_body + 1,  # which waitress refuses
            **proxy,
        )
        server.channel_class = Acceptor(arguments.max_connections_per_client, trusted)
        loop = graceful.Loop(server, connections)
        name = f"[{host}]" if ":" in host else host
        print_line(f"Serving on http://{name}:{listening.getsockname()[1]}/")
        sys.stdout.flush()
        loop.run()


def _without_bodies_for_head(application: WSGIApplication) -> WSGIApplication:
    """Return an application that answers HEAD without a body (RFC 9110 section 9.3.2).

    waitress would send the body. A proxy that shares one connection among several clients could
    take it for the answer to the next request.
    """

    def served(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        if environ["REQUEST_METHOD"] != "HEAD":
            return application(environ, start_response)
        from webob import Request  # here, because most servers do without

        return Request(environ).get_response(application)(environ, start_response)

    return served


def _imported(path: str) -> WSGIApplication:
    try:
        application = import_application(path)
    except CommandError as error:
        print_cause(error)
        raise
    if not callable(application):
        raise CommandError(
            f"{path} is not callable; name a WSGI application, as in hello:application"
        )
    sys.path.insert(0, "")  # for later imports of the application
    return application


def _restricted(application: WSGIApplication, arguments: Arguments) -> WSGIApplication:
    """Return the application behind the rules of the options."""
    if not arguments.require and arguments.public is None:
        if storage.current_or_none() is None:  # nothing in it made an AuthMiddleware
            print_error(
                f"warning: {arguments.application} has no AuthMiddleware: nothing needs a login."
                " Wrap it, or give --require or --public."
            )
        return application
    require, public = parse_rules(arguments.require), arguments.public
    found = middleware_of(application)
    if found is None:
        return AuthMiddleware(application, public=public, require=require)
    found.restrict(public, require)
    return application


def _listen(listening: socket.socket, address: tuple[str, int]) -> None:
    """Accept connections at the address; localhost is 127.0.0.1, because browsers try both."""
    host, port = address
    if os.name == "posix":  # pragma: no branch - on Windows, another program could bind it, too
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if listening.family == socket.AF_INET6:
        listening.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
    try:
        listening.bind(address)
        listening.listen()
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
        raise argparse.ArgumentTypeError(
            f"{text!r} is not of the form MODULE:APPLICATION, such as hello:application"
        )
    return text


def _proxy(text: str) -> str:
    try:
        return text if text == "*" else str(ipaddress.ip_address(text))
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not an IP address") from None


def _address(text: str) -> tuple[str, int]:
    matched = re.fullmatch(r"(?:\[([0-9a-fA-F:.]+)\]|([^:\[\]]+)):([0-9]{1,5})", text)
    if matched is None or int(matched[3]) > 65535:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not of the form HOST:PORT, such as localhost:8080"
        )
    return matched[1] or matched[2], int(matched[3])
