"""An app's server that receives logout tokens, and verifies them with the keys of the site."""

from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from urllib.parse import parse_qs

import jwt
from webtest import TestApp

LOGOUT_EVENT = "http://schemas.openid.net/event/backchannel-logout"


class Receiver:
    """What a server got.

    Attributes:
        uri: Where it receives logout tokens.
        requests: The headers and the fields of each request.
        statuses: What to answer instead of 200, in order.
        action: Called before each answer.
    """

    def __init__(self, address):
        self.uri = f"{address}/logout?tenant=1"
        self.reset()

    def reset(self):
        self.requests, self.statuses = [], []
        self.action = lambda: None

    def take(self):
        """Return the logout tokens that came since the last call."""
        taken = [fields["logout_token"] for _, fields in self.requests]
        self.requests.clear()
        return taken


def verified(site, token, app):
    """Return the claims of a logout token for an app, as a library verifies it."""
    header = jwt.get_unverified_header(token)
    assert header["typ"] == "logout+jwt"
    keys = jwt.PyJWKSet.from_dict(TestApp(site).get("/auth/jwks.json").json)
    claims = jwt.decode(
        token,
        keys[header["kid"]],
        algorithms=[header["alg"]],
        audience=app.id,
        issuer="http://localhost",
        options={"verify_exp": False, "verify_iat": False},  # the clock is the one of the test
    )
    assert claims["events"] == {LOGOUT_EVENT: {}}
    assert "nonce" not in claims
    return claims


@contextmanager
def receiving():
    """Yield a `Receiver` on a port of the system's choice."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            fields = {name: values[0] for name, values in parse_qs(body.decode()).items()}
            assert self.path == "/logout?tenant=1"
            receiver.requests.append((self.headers, fields))
            receiver.action()
            status = receiver.statuses.pop(0) if receiver.statuses else 200
            self.send_response(status)
            self.send_header("Location", receiver.uri)
            self.end_headers()
            self.wfile.write(b"a body that nobody reads")

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        receiver = Receiver(f"http://127.0.0.1:{server.server_port}")
        thread = Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield receiver
        finally:
            server.shutdown()
            thread.join()
