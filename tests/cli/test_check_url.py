"""`check --url`: what it finds at a site behind a proxy that is right, or wrong in one way."""

import socket
import ssl
import threading
import time
from contextlib import contextmanager
from dataclasses import replace
from socketserver import ThreadingMixIn
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

import pytest

from tests.support.mail_servers import make_certificate
from tests.support.oauth_apps import as_provider
from tests.support.service_keys import new_key, pem_of, write_key
from tests.support.sites import echo, free_port
from wsgiauth import AuthMiddleware, storage
from wsgiauth.cli import main
from wsgiauth.cli.check_url import Served, findings
from wsgiauth.cli.compression import compressed
from wsgiauth.console.command import CommandError

HOST = "site.example"
URL = f"https://{HOST}"
READY = "/auth/health/ready"
LANGUAGE = "/auth/language"
STATIC = [("Content-Type", "text/plain"), ("Content-Length", "0")]


class Proxy:
    """Passes requests on to a site by https, as a test wants it.

    Attributes:
        before: Changes the environ of a request.
        after: Changes the headers of a response, a list of pairs.
        body: Changes the body.
        statuses: Of the paths for which the proxy answers itself.
    """

    def __init__(self, app):
        self.app = app
        self.before = self.after = lambda _: None
        self.body = lambda body: body
        self.statuses = {READY: "200 OK"}
        self.asked = []

    def __call__(self, environ, start_response):
        self.asked.append(environ.copy())
        environ["wsgi.url_scheme"] = "https"
        self.before(environ)
        if environ["PATH_INFO"] in self.statuses:
            start_response(self.statuses[environ["PATH_INFO"]], STATIC)
            return [b""]
        sent = []
        body = self.body(b"".join(self.app(environ, lambda *each: sent.extend(each))))
        status, headers = sent[:2]
        headers.append(("Strict-Transport-Security", "max-age=31536000"))
        self.after(headers)
        without("Content-Length")(headers)
        start_response(status, [*headers, ("Content-Length", str(len(body)))])
        return [body]


class _Server(ThreadingMixIn, WSGIServer):
    daemon_threads = True

    def handle_error(self, *_):
        """Print nothing of a client that goes away."""


class _Handler(WSGIRequestHandler):
    def log_message(self, *_):
        """Print nothing."""


@contextmanager
def served_by(app, certificate=None):
    """Serve `app` on a port of the system's choice; yields the port."""
    server = make_server("127.0.0.1", 0, app, _Server, _Handler)
    if certificate is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        server.socket = context.wrap_socket(
            server.socket, server_side=True, do_handshake_on_connect=False
        )
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    return make_certificate(tmp_path_factory.mktemp("certificate"), HOST)


@pytest.fixture
def ports(monkeypatch):
    """Return the ports of this machine at which those of the site are: none, unless it is there."""
    found, known, nothing = {}, socket.getaddrinfo, free_port()

    def getaddrinfo(host, port, *arguments, **options):
        if host == HOST:
            host, port = "127.0.0.1", found.get(port, nothing)
        return known(host, port, *arguments, **options)

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    return found


@pytest.fixture
def behind(ports, monkeypatch, certificate):
    """Return a function that serves an application behind a proxy, which it returns."""
    monkeypatch.setenv("SSL_CERT_FILE", f"{certificate}.crt")
    opened = []

    def serve(app):
        proxy = Proxy(compressed(app))
        server = served_by(proxy, certificate)
        ports[443] = server.__enter__()
        opened.append(server)
        return proxy

    yield serve
    for each in opened:
        each.__exit__(None, None, None)


@pytest.fixture
def proxy(behind, settings):
    site = AuthMiddleware(echo, settings)
    yield behind(site)
    storage.discard_connection(site.database)


def found(url=URL, mount="/auth", **options):
    return [
        f"{'warning' if each.is_risk else 'note'}: {each.sentence}"
        for each in findings(Served(url, mount, **options))
    ]


def without(name):
    return lambda headers: headers.__setitem__(slice(None), [h for h in headers if h[0] != name])


def replacing(old, new, name="Set-Cookie"):
    def change(headers):
        headers[:] = [(n, v.replace(old, new) if n == name else v) for n, v in headers]

    return change


def adding(name, value):
    return lambda headers: headers.append((name, value))


def test_a_site_that_is_right_has_no_findings(proxy):
    assert found() == []


def test_it_sends_no_credentials_and_changes_nothing(proxy, database):
    before = [*database.connection().iterdump()]
    found()
    assert [*database.connection().iterdump()] == before
    assert {each.get("HTTP_COOKIE") for each in proxy.asked} == {None}
    sent = {each.get("HTTP_AUTHORIZATION") for each in proxy.asked}
    assert sent == {None, "Bearer wsgiauth-check"}  # which no key can be
    posts = {each["PATH_INFO"] for each in proxy.asked if each["REQUEST_METHOD"] == "POST"}
    assert posts == {LANGUAGE}


WRONG_RESPONSES = {
    "no HSTS": (without("Strict-Transport-Security"), "warning: Strict-Transport-Security is"),
    "short HSTS": (
        replacing("31536000", "60", "Strict-Transport-Security"),
        "note: Strict-Transport-Security lasts 60 seconds, less than a year.",
    ),
    "no policy of contents": (
        replacing("frame-ancestors", "x", "Content-Security-Policy"),
        "warning: The proxy removes or replaces Content-Security-Policy of the login page.",
    ),
    "no cache control": (
        without("Cache-Control"),
        "warning: The proxy removes or replaces Cache-Control of the login page.",
    ),
    "a header twice": (
        adding("X-Content-Type-Options", "nosniff"),
        "warning: X-Content-Type-Options of the login page comes twice",
    ),
    "an answer of a cache": (adding("Age", "7"), "warning: A cache answers for the login page"),
    "a hit of a cache": (adding("X-Cache", "HIT"), "warning: A cache answers for the login page"),
    "a late clock": (adding("Date", "Sat, 01 Jan 2000 00:00:00 GMT"), "warning: The clock of the"),
    "an early clock": (
        adding("Date", "Sat, 01 Jan 2124 00:00:00 GMT"),
        "seconds ahead of this machine's: codes of authenticator apps and tokens depend on it.",
    ),
    "no cookies": (without("Set-Cookie"), "warning: The proxy removes Set-Cookie, so users"),
    "cookies for scripts": (
        replacing("; HttpOnly", ""),
        "warning: The proxy changes cookies: __Host-wsgiauth-language lacks HttpOnly or",
    ),
    "cookies without Secure": (replacing("; Secure", ""), "warning: Cookies are not Secure: the"),
    "cookies without a prefix": (
        replacing("__Host-", ""),
        "note: Cookies have no prefix such as __Host-: the proxy must send X-Forwarded-Proto",
    ),
    "cookies of a path": (
        replacing("Path=/", "Path=/auth"),
        "warning: The proxy changes the path or domain of __Host-wsgiauth-language: browsers",
    ),
    "cookies of a domain": (
        replacing("Path=/", "Path=/; Domain=example"),
        "warning: The proxy changes the path or domain of __Host-wsgiauth-language: browsers",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize(("after", "sentence"), WRONG_RESPONSES.values(), ids=WRONG_RESPONSES)
def test_a_proxy_that_changes_responses_is_found(proxy, after, sentence):
    proxy.after = after
    (finding,) = found()
    assert sentence in finding


def by(**values):
    return lambda environ: environ.update(values)


def dropping(name):
    return lambda environ: environ.pop(name, None)


def believing(environ):
    environ["HTTP_HOST"] = environ.get("HTTP_X_FORWARDED_HOST", environ["HTTP_HOST"])


def believing_the_scheme(environ):
    environ["wsgi.url_scheme"] = environ.get("HTTP_X_FORWARDED_PROTO", "https")


WRONG_REQUESTS = {
    "the host of the server": (
        by(HTTP_HOST="127.0.0.1:8081"),
        "warning: A form of the site's own pages gets 403, code cross_origin: the proxy must",
    ),
    "no origin": (
        dropping("HTTP_ORIGIN"),
        "warning: A form of another site is not refused: does the proxy remove Origin?",
    ),
    "a scheme that the client says": (
        believing_the_scheme,
        "warning: The site believes a client's X-Forwarded-Proto: the proxy must replace it.",
    ),
    "a host that the client says": (
        believing,
        "warning: The site believes a client's X-Forwarded-Host or Forwarded: the proxy must",
    ),
    "no Authorization": (
        dropping("HTTP_AUTHORIZATION"),
        "warning: The Authorization header does not arrive, so tokens and API keys fail.",
    ),
    "no compression": (
        dropping("HTTP_ACCEPT_ENCODING"),
        "note: The login page is not compressed (",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize(("before", "sentence"), WRONG_REQUESTS.values(), ids=WRONG_REQUESTS)
def test_a_proxy_that_changes_requests_is_found(proxy, before, sentence):
    proxy.before = before
    (finding,) = found()
    assert finding.startswith(sentence)


def test_a_prefix_of_which_server_and_proxy_differ_is_found(proxy):
    proxy.before = by(SCRIPT_NAME="/site")
    form, password = found()
    begin = "warning: The login page has no form that leads to /auth (status 200): perhaps the"
    assert form.startswith(begin)
    assert password.startswith(f"note: {URL}/.well-known/change-password does not lead to")


def test_a_site_below_a_prefix_has_no_findings_but_the_address_for_password_managers(proxy):
    def strip(environ):
        if environ["PATH_INFO"].startswith("/site/"):
            environ |= {"SCRIPT_NAME": "/site", "PATH_INFO": environ["PATH_INFO"][5:]}

    proxy.before = strip
    (note,) = found(f"{URL}/site")
    assert note.startswith(f"note: {URL}/.well-known/change-password does not lead to {URL}/site/")


def test_a_proxy_that_changes_pages_is_found(proxy):
    proxy.body = lambda body: body.replace(b"<style>", b"<style> ")
    assert found() == ["warning: A proxy changes the pages, so browsers ignore their style."]


def test_a_site_that_is_not_ready_is_found_and_an_older_one_is_noted(proxy):
    proxy.statuses[READY] = "503 Service Unavailable"
    assert found() == [f"warning: {READY} says that the site is not ready."]
    proxy.statuses[READY] = "404 Not Found"
    (note,) = found()
    assert note.startswith(f"note: {READY} has the status 404: the site has an older version")


def test_a_page_for_password_managers_that_is_not_there_is_noted(proxy):
    path = "/.well-known/change-password"
    proxy.statuses[path] = "404 Not Found"
    wanted = f"{URL}/auth/password, where password managers look for it."
    assert found() == [f"note: {URL}{path} does not lead to {wanted}"]


def test_http_must_lead_to_https(proxy, ports, settings):
    site = AuthMiddleware(echo, settings)
    url = f"http://{HOST}/auth/login"
    with served_by(site) as ports[80]:
        assert found() == [f"warning: {url} does not lead to https (status 200)."]
    with served_by(_redirect) as ports[80]:
        assert found(f"{URL}:443") == []
    with served_by(_redirect) as ports[80], pytest.raises(CommandError) as caught:
        found(f"http://{HOST}")
    assert str(caught.value) == f"http://{HOST}/auth/me leads to {URL}/: give the URL of the site"
    storage.discard_connection(site.database)


def _empty(environ, start_response):
    start_response("200 OK", STATIC)
    return [b""]


def _redirect(environ, start_response):
    start_response("308 Permanent Redirect", [("Location", f"{URL}/")])
    return [b""]


def test_a_site_on_another_port_has_no_port_for_http(proxy, ports):
    ports[8443] = ports[443]
    notes = found(f"{URL}:8443")
    assert notes == []


def test_a_certificate_that_expires_is_found(proxy):
    assert found(now=lambda: time.time() + 40 * 3600)[-1].startswith("warning: The clock")
    (expires, _) = found(now=lambda: time.time() + 46 * 3600)
    assert expires in {
        f"warning: The certificate expires in {each}." for each in ("1 hour", "2 hours")
    }


def test_a_site_without_https_is_found(settings, ports):
    for secure, sentences in {
        "auto": [],
        "on": ["warning: Cookies are Secure, so browsers store none of a site without https."],
    }.items():
        site = Proxy(compressed(AuthMiddleware(echo, replace(settings, COOKIE_SECURE=secure))))
        site.before = by(**{"wsgi.url_scheme": "http"})
        with served_by(site) as ports[80], served_by(site) as port:
            assert found(f"http://127.0.0.1:{port}") == sentences
            first, *others = found(f"http://{HOST}")
        assert first == "warning: The site is served without https: the network can read passwords."
        assert others == sentences


def test_a_public_url_of_another_site_is_found(behind, settings, tmp_path):
    keys = write_key(tmp_path / "key", pem_of(new_key("RS256")))
    site = AuthMiddleware(echo, as_provider(settings, keys))
    proxy = behind(site)
    issuer = site.site.settings.PUBLIC_URL
    first, second = found()
    begin = f"warning: PUBLIC_URL is {issuer}, not {URL}, as /.well-known/"
    assert first == f"{begin}openid-configuration says."
    assert second == f"{begin}oauth-authorization-server says."
    proxy.body = lambda body: body.replace(issuer.encode(), URL.encode())
    assert found() == []
    storage.discard_connection(site.database)


def test_a_server_that_is_not_there_and_one_without_wsgiauth_are_refused(ports, settings, behind):
    with pytest.raises(CommandError) as caught:
        found()
    assert str(caught.value) == f"{URL}/auth/me cannot be read: connection"
    behind(_empty)
    with pytest.raises(CommandError, match=r"is not answered by wsgiauth \(status 200\); --mount"):
        found()


def test_the_command_prints_the_findings_and_is_strict_if_asked(proxy, capsys, monkeypatch):
    monkeypatch.delenv("SECRET_KEY", raising=False)
    monkeypatch.delenv("DATABASE_URL", raising=False)
    command = ["check", "--url", f"{URL}/"]
    assert main(command) == 0
    assert capsys.readouterr().out == "The site answers as it should.\n"
    proxy.after = without("Strict-Transport-Security")
    proxy.statuses[READY] = "404 Not Found"
    assert main([*command, "--strict"]) == 1
    printed = capsys.readouterr()
    assert [line.partition(":")[0] for line in printed.out.splitlines()] == ["warning", "note"]
    assert printed.err == "wsgiauth: there are warnings\n"


@pytest.mark.parametrize(
    "url",
    ["site.example", "ftp://site.example", "https://a:b@site.example", "https://[", "https://a:0"],
)
def test_a_value_that_is_not_the_url_of_a_site_is_wrong_usage(capsys, url):
    with pytest.raises(SystemExit) as caught:
        main(["check", "--url", url])
    assert caught.value.code == 2
    assert capsys.readouterr().err.endswith("such as https://www.example.org\n")
