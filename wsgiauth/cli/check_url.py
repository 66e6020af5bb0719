"""The questions of `check --url`: what a browser and a program get from the served site.

The requests have no credentials and change nothing, and follow no redirect. Everything else is
another machine's: neither settings nor a database is needed.
"""

import json
import re
import socket
import ssl
import time
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from email.utils import parsedate_to_datetime
from functools import cached_property
from hashlib import sha256
from http import HTTPStatus
from urllib.parse import urlencode, urlsplit

from wsgiauth.console.command import CommandError
from wsgiauth.feature import Finding
from wsgiauth.messages import counted
from wsgiauth.outgoing import OutgoingError, Reply, Request, Rules, send
from wsgiauth.web.cookies import DOMAIN_PREFIX, HOST_PREFIX

_RULES = Rules(deadline=10, max_size=1024 * 1024)
_HTML = {"Accept": "text/html"}
_LOOPBACK = ("127.0.0.1", "::1", "localhost")
_YEAR = 365 * 24 * 3600
_CLOCKS_APART = 30  # seconds: a code of an authenticator app is another one
_LEFT = 0.1  # of its lifetime, when a certificate should have been renewed
_SHOWN = 200  # characters of what the site says
_ELSEWHERE = "forged.invalid"  # RFC 6761: a host that does not exist
_HEADERS = {  # of each page of wsgiauth, with a part of the value
    "Cache-Control": "no-store",
    "Content-Security-Policy": "frame-ancestors",
    "Referrer-Policy": "",
    "X-Content-Type-Options": "nosniff",
}
_TRUST = (
    "the proxy must send X-Forwarded-Proto, and the server must trust it from the proxy's address"
)


class Served:
    """A site at a URL, which is asked as an anonymous client asks it.

    Args:
        url: The root of the site, without a slash at its end.
        mount: The path of wsgiauth below it.
        now: Returns the time, in seconds since the epoch.
    """

    def __init__(self, url: str, mount: str, now: Callable[[], float] = time.time) -> None:
        self.url, self.mount, self.now = url, mount, now
        self.parts = urlsplit(url)
        self.origin = f"{self.parts.scheme}://{self.parts.netloc}"
        self.is_https = self.parts.scheme == "https"

    def ask(
        self,
        path: str,
        headers: Mapping[str, str] = {},
        fields: Mapping[str, str] | None = None,
        *,
        root: str | None = None,
    ) -> Reply:
        """Return the reply to a GET, or to a form with these fields.

        Args:
            root: What the path is below, instead of the URL of the site.

        Raises:
            CommandError: There is none.
        """
        url = (self.url if root is None else root) + path
        body = None if fields is None else urlencode(fields)
        form = {"Content-Type": "application/x-www-form-urlencoded"} if body else {}
        try:
            return send(Request(url, {**form, **headers}, body), _RULES)
        except OutgoingError as error:
            raise CommandError(f"{url} cannot be read: {error}") from None

    @cached_property
    def page(self) -> Reply:
        """The login page."""
        return self.ask(f"{self.mount}/login", _HTML)

    @cached_property
    def chosen(self) -> Reply:
        """The reply to a form of the site's own pages."""
        return self.choose_language(Origin=self.origin)

    @cached_property
    def foreign(self) -> Reply:
        """The reply to a form of another site."""
        return self.choose_language(Origin=f"https://{_ELSEWHERE}")

    def choose_language(self, **headers: str) -> Reply:
        """Return the reply to the only form that an anonymous client can send without effect."""
        language = self.page.headers.get("Content-Language", "en")
        names = {name.replace("_", "-"): value for name, value in headers.items()}
        accepted = {"Accept": "application/json", **names}
        return self.ask(f"{self.mount}/language", accepted, {"language": language})


def findings(served: Served) -> Iterator[Finding]:
    """Yield what is wrong or remarkable.

    Raises:
        CommandError: There is no site, or it is not wsgiauth's.
    """
    asked = f"{served.mount}/me"
    reply = served.ask(asked)
    location = reply.headers.get("Location")
    if location is not None:
        raise CommandError(
            f"{served.url}{asked} leads to {location[:_SHOWN]}: give the URL of the site"
        )
    if _document(reply).get("code") != "unauthenticated":
        raise CommandError(
            f"{served.url}{asked} is not answered by wsgiauth (status {reply.status}); --mount says"
            " where it is mounted"
        )
    for question in _QUESTIONS:
        yield from question(served)


def _document(reply: Reply) -> Mapping[str, object]:
    found = None
    with suppress(ValueError, RecursionError):
        found = json.loads(reply.body)
    return found if isinstance(found, dict) else {}


def _note(sentence: str) -> Finding:
    return Finding(sentence, is_risk=False)


def _transport(served: Served) -> Iterator[Finding]:
    if not served.is_https:
        if served.parts.hostname not in _LOOPBACK:
            yield Finding("The site is served without https: the network can read passwords.")
        return
    sent = served.page.headers.get("Strict-Transport-Security", "")
    seconds = re.search('max-age="?([0-9]{1,18})', sent, re.IGNORECASE)
    if seconds is None:
        yield Finding(
            "Strict-Transport-Security is missing: a browser's first request can go over http, and"
            " the network can change it."
        )
    elif int(seconds[1]) < _YEAR:
        yield _note(f"Strict-Transport-Security lasts {seconds[1]} seconds, less than a year.")


def _plain_http(served: Served) -> Iterator[Finding]:
    if not served.is_https or served.parts.port not in (None, 443):
        return
    host = served.parts.netloc.removesuffix(":443")
    url = f"http://{host}{served.parts.path}{served.mount}/login"
    with suppress(OutgoingError):  # usually because nothing listens there
        reply = send(Request(url, _HTML), _RULES)
        if not reply.headers.get("Location", "").startswith("https://"):
            yield Finding(f"{url} does not lead to https (status {reply.status}).")


def _certificate(served: Served) -> Iterator[Finding]:
    """Warn of a certificate that expires; one that is invalid already has no reply."""
    if not served.is_https:
        return
    host = served.parts.hostname or ""
    address = (host, served.parts.port or 443)
    with (
        suppress(OSError),  # `send` has connected before
        socket.create_connection(address, _RULES.deadline) as connection,
        ssl.create_default_context().wrap_socket(connection, server_hostname=host) as secured,
    ):
        found = secured.getpeercert() or {}
        times = [ssl.cert_time_to_seconds(str(found[each])) for each in ("notBefore", "notAfter")]
        left = times[1] - served.now()
        if left < _LEFT * (times[1] - times[0]):
            yield Finding(f"The certificate expires in {counted(int(left / 3600), 'hour')}.")


def _headers(served: Served) -> Iterator[Finding]:
    for name, part in _HEADERS.items():
        values = served.page.headers.get_all(name, [])
        if not values or part not in ", ".join(values):
            yield Finding(f"The proxy removes or replaces {name} of the login page.")
        elif len(values) > 1:
            yield Finding(f"{name} of the login page comes twice: let wsgiauth alone send it.")


def _page(served: Served) -> Iterator[Finding]:
    reply, form = served.page, f'action="{served.parts.path}{served.mount}/'
    is_html = reply.headers.get_content_type() == "text/html"
    if reply.status != HTTPStatus.OK or not is_html or form.encode() not in reply.body:
        yield Finding(
            f"The login page has no form that leads to {served.parts.path}{served.mount} (status"
            f" {reply.status}): perhaps the server does not know the path below which it is served."
        )
    policy = reply.headers.get("Content-Security-Policy", "")
    for tag in ("style", "script"):
        for begun in reply.body.split(f"<{tag}>".encode())[1:]:
            content, is_closed, _ = begun.partition(f"</{tag}>".encode())
            if is_closed and b64encode(sha256(content).digest()).decode() not in policy:
                yield Finding(f"A proxy changes the pages, so browsers ignore their {tag}.")
                break


def _cache(served: Served) -> Iterator[Finding]:
    served.ask(f"{served.mount}/login", _HTML)  # a cache has it now
    headers = served.ask(f"{served.mount}/login", _HTML).headers
    states = [headers.get(name, "") for name in ("CF-Cache-Status", "X-Cache", "X-Cache-Status")]
    if "Age" in headers or any("hit" in each.lower() for each in states):
        yield Finding("A cache answers for the login page, although it is no-store.")


def _clock(served: Served) -> Iterator[Finding]:
    reply = served.ask(f"{served.mount}/login", _HTML)
    with suppress(OverflowError, TypeError, ValueError):  # without a date, or with another
        seconds = parsedate_to_datetime(reply.headers["Date"]).timestamp() - served.now()
        if abs(seconds) > _CLOCKS_APART:
            apart = "ahead of" if seconds > 0 else "behind"
            yield Finding(
                f"The clock of the site is {abs(seconds):.0f} seconds {apart} this machine's: codes"
                " of authenticator apps and tokens depend on it."
            )


def _compression(served: Served) -> Iterator[Finding]:
    reply = served.ask(f"{served.mount}/login", {**_HTML, "Accept-Encoding": "gzip"})
    if "Content-Encoding" not in reply.headers:
        yield _note(f"The login page is not compressed ({len(reply.body) // 1000} kB).")


def _forms(served: Served) -> Iterator[Finding]:
    reply = served.chosen
    if reply.status != HTTPStatus.OK:
        code = str(_document(reply).get("code"))[:_SHOWN]
        yield Finding(
            f"A form of the site's own pages gets {reply.status}, code {code}: the proxy must pass"
            " on the Host header and the body. Without it, cookies cannot be checked."
        )
    else:
        yield from _cookies(served, reply.headers.get_all("Set-Cookie", []))
    if served.foreign.status != HTTPStatus.FORBIDDEN:
        yield Finding("A form of another site is not refused: does the proxy remove Origin?")


def _cookies(served: Served, cookies: list[str]) -> Iterator[Finding]:
    if not cookies:
        yield Finding("The proxy removes Set-Cookie, so users cannot log in.")
    for cookie in cookies[:1]:  # the others have the same attributes
        name = cookie.partition("=")[0][:_SHOWN]
        attributes = {each.strip().lower() for each in cookie.split(";")[1:]}
        if "httponly" not in attributes or "samesite=lax" not in attributes:
            yield Finding(f"The proxy changes cookies: {name} lacks HttpOnly or SameSite=Lax.")
        if served.is_https and "secure" not in attributes:
            yield Finding(f"Cookies are not Secure: {_TRUST}.")
        elif not served.is_https and "secure" in attributes:
            yield Finding("Cookies are Secure, so browsers store none of a site without https.")
        elif served.is_https and not name.startswith((HOST_PREFIX, DOMAIN_PREFIX)):
            yield _note(f"Cookies have no prefix such as {HOST_PREFIX}: {_TRUST}.")
        is_of_host = name.startswith(HOST_PREFIX)
        if is_of_host and ("path=/" not in attributes or "domain=" in cookie.lower()):
            yield Finding(f"The proxy changes the path or domain of {name}: browsers refuse it.")


def _forged(served: Served) -> Iterator[Finding]:
    forged = {"X_Forwarded_Host": _ELSEWHERE, "Forwarded": f"host={_ELSEWHERE}"}
    reply = served.choose_language(**forged, Origin=f"https://{_ELSEWHERE}")
    if reply.status == HTTPStatus.OK and served.foreign.status == HTTPStatus.FORBIDDEN:
        yield Finding(
            "The site believes a client's X-Forwarded-Host or Forwarded: the proxy must replace or"
            " remove it."
        )
    reply = served.choose_language(Origin=served.origin, X_Forwarded_Proto="http")
    if served.is_https and _is_secure(served.chosen) and not _is_secure(reply):
        yield Finding("The site believes a client's X-Forwarded-Proto: the proxy must replace it.")


def _is_secure(reply: Reply) -> bool:
    return "; secure" in reply.headers.get("Set-Cookie", "").lower()


def _bearer(served: Served) -> Iterator[Finding]:
    reply = served.ask(f"{served.mount}/me", {"Authorization": "Bearer wsgiauth-check"})
    if _document(reply).get("code") != "invalid_token":
        yield Finding("The Authorization header does not arrive, so tokens and API keys fail.")


def _public_url(served: Served) -> Iterator[Finding]:
    for name in ("openid-configuration", "oauth-authorization-server"):
        issuer = _document(served.ask(f"/.well-known/{name}")).get("issuer")
        if isinstance(issuer, str) and issuer.rstrip("/") != served.url:
            yield Finding(
                f"PUBLIC_URL is {issuer[:_SHOWN]}, not {served.url}, as /.well-known/{name} says."
            )


def _change_password(served: Served) -> Iterator[Finding]:
    path, wanted = "/.well-known/change-password", f"{served.url}{served.mount}/password"
    location = served.ask(path, _HTML, root=served.origin).headers.get("Location")
    if location not in (wanted, wanted.removeprefix(served.origin)):
        yield _note(
            f"{served.origin}{path} does not lead to {wanted}, where password managers look for it."
        )


def _health(served: Served) -> Iterator[Finding]:
    path = f"{served.mount}/health/ready"
    status = served.ask(path).status
    if status == HTTPStatus.SERVICE_UNAVAILABLE:
        yield Finding(f"{path} says that the site is not ready.")
    elif status != HTTPStatus.OK:
        yield _note(
            f"{path} has the status {status}: the site has an older version of wsgiauth, or the"
            " proxy admits only others."
        )


_QUESTIONS: tuple[Callable[[Served], Iterator[Finding]], ...] = (
    _transport,
    _plain_http,
    _certificate,
    _headers,
    _page,
    _cache,
    _clock,
    _compression,
    _forms,
    _forged,
    _bearer,
    _public_url,
    _change_password,
    _health,
)
