"""/auth/check: a proxy asks whether to admit another request, and who sent it.

nginx (`auth_request`), Caddy (`forward_auth`) and Traefik (`forwardAuth`) send the headers of each
request here before they pass it to a service that is not WSGI. The guards decide.

Trusted: X-Forwarded-Method, -Uri, -Host and -Proto, which the proxy sets. Without the proxy, a
program that sets them learns only its own permissions, and pages of other sites cannot set them.
With `preflight=pass`, a proxy that passes on the X-Forwarded-Method of a client admits anyone.
"""

from functools import lru_cache
from http import HTTPStatus
from typing import NamedTuple
from urllib.parse import parse_qsl, quote, unquote
from wsgiref.types import WSGIEnvironment

from wsgiauth import events
from wsgiauth.access import Guard
from wsgiauth.accounts.groups import group_names
from wsgiauth.accounts.names import group_problem, is_permission, key
from wsgiauth.authentication.identity import set_caller
from wsgiauth.events import actors, kinds
from wsgiauth.exceptions import RequestError
from wsgiauth.forms.endpoint import Endpoint
from wsgiauth.messages import _, ngettext
from wsgiauth.openapi.answers import Answer, Problem
from wsgiauth.openapi.problems import FACTOR_DEMANDED, NO_SESSION, NOT_FRESH, TO_LOGIN_OR_CONFIRM
from wsgiauth.settings import Settings
from wsgiauth.site import Site
from wsgiauth.web.cross_origin import host_of
from wsgiauth.web.failures import ONLY_UNAUTHORIZED, failure
from wsgiauth.web.request import JSON, MAX_QUERY, MAX_QUERY_FIELDS
from wsgiauth.web.responses import Response
from wsgiauth.web.urls import ASKED_AT, ASKED_FOR, LOGIN_AT

MAX_GROUPS = 8192  # characters of Remote-Groups: the limit of Apache and others for one header
MOST_PERMISSIONS = 16  # in a query, so that there is room for each other field
MOST_NAMED = 50  # groups in a query

_PREFLIGHT = "preflight=pass"
# The fields of the query. The proxy writes it, so another field is a mistake.
_FIELDS = ("permission", "fresh", "second_factor", "groups", _PREFLIGHT)

# Printable ASCII, except the characters that separate or encode.
_PLAIN = "".join(chr(code) for code in range(0x20, 0x7F) if chr(code) not in ",%")

_PASSED = Response(HTTPStatus.NO_CONTENT)  # names no user


class _Needs(NamedTuple):
    login: Guard  # refuses anonymous clients
    further: tuple[Guard, ...]
    groups: frozenset[str] | None  # the keys of the groups to send; None for all
    passes_preflights: bool


_MALFORMED = Problem(
    "MalformedQuery",
    400,
    {
        "malformed": "A parameter of the query is unknown or has a wrong value, or the query"
        " cannot be read."
    },
)
_NO_RIGHT = Problem(
    "NotAdmitted",
    403,
    {
        "forbidden": "The caller lacks the permission, or has so many groups that Remote-Groups"
        " would be too long.",
        "insufficient_scope": "The API key lacks a permission.",
    },
)


class Check(Endpoint):
    """Decides about the request that the X-Forwarded headers describe.

    The query says what the request needs: `permission`, which can be repeated, `fresh` and
    `second_factor`. With `preflight=pass`, a CORS preflight, which never has credentials, needs
    nothing. `groups` names the groups that the service gets to know.
    """

    answers_any_method = True
    failures = (_MALFORMED, _NO_RIGHT)

    def problems(self, method: str) -> tuple[Problem | Answer, ...]:
        """Return those of the guards."""
        return (
            *super().problems(method),
            TO_LOGIN_OR_CONFIRM,
            NO_SESSION,
            NOT_FRESH,
            FACTOR_DEMANDED,
        )

    def is_offered(self, settings: Settings) -> bool:
        """Return whether FORWARD_AUTH is on."""
        return settings.FORWARD_AUTH

    def get(self, environ: WSGIEnvironment, site: Site) -> Response:
        """Answer 204 with the user, or with the refusal of a guard."""
        needs = _needs(environ.get("QUERY_STRING", ""), "HTTP_X_FORWARDED_URI" in environ)
        original = _original(environ, site)
        if needs.passes_preflights and _is_preflight(original):
            return _PASSED
        with_groups = needs.groups != frozenset()
        caller = site.identifier.find_caller(original, with_groups=with_groups)
        user, session_id, error, key_id = caller[:4]
        if user is not None:
            actors.identify(user.id, key_id)
        if user is None or needs.further:
            set_caller(original, user, session_id, error, key_id)
            for guard in (needs.login, *needs.further):
                refusal = guard.refusal(original, self)
                if refusal is not None:
                    return refusal
        assert user is not None  # noqa: S101 - `login` refuses an anonymous client
        groups = tuple(group_names(user))
        admitted = _admitted(user.username, user.id, user.email, groups, needs.groups)
        if admitted is not None:
            return admitted
        reason = f"Remote-Groups would be longer than {MAX_GROUPS} characters"
        events.emit(kinds.REFUSED, user_id=user.id, reason=reason)
        detail = _("Your account is in too many groups for this page.")
        return failure(original, HTTPStatus.FORBIDDEN, "forbidden", detail)


def _original(environ: WSGIEnvironment, site: Site) -> WSGIEnvironment:
    """Return the environ of the request that the proxy asks about.

    Without X-Forwarded-Uri, it accepts no page and no redirect.
    """
    # A method that the proxy does not name is empty, which is not a safe method.
    original = {**environ, "REQUEST_METHOD": environ.get("HTTP_X_FORWARDED_METHOD", "")}
    # Proxies remove Upgrade, which belongs to one connection.
    if (
        "HTTP_SEC_WEBSOCKET_KEY" in environ
        or "HTTP_SEC_WEBSOCKET_VERSION" in environ
        or environ.get("HTTP_SEC_FETCH_MODE") == "websocket"
    ):
        original["HTTP_UPGRADE"] = "websocket"
    host = environ.get("HTTP_X_FORWARDED_HOST", "")
    if site.settings.COOKIE_DOMAIN is not None:
        original["HTTP_HOST"] = host or environ.get("HTTP_HOST", "")
        if not _is_own_page(original):
            original["HTTP_SEC_FETCH_SITE"] = "cross-site"
    if "HTTP_X_FORWARDED_URI" in environ:
        original[ASKED_FOR] = environ["HTTP_X_FORWARDED_URI"]
        if site.destinations.admits(host) and host != host_of(site.settings.PUBLIC_URL or ""):
            original["HTTP_HOST"] = host
            original[ASKED_AT] = f"https://{host}"
            original[LOGIN_AT] = (site.settings.PUBLIC_URL or "").rstrip("/")
    else:
        original[ONLY_UNAUTHORIZED] = True
        original["HTTP_ACCEPT"] = JSON
        original.pop("HTTP_HX_REQUEST", None)
    return original


def _is_own_page(original: WSGIEnvironment) -> bool:
    """Return whether Origin names the host that the proxy was asked for.

    With COOKIE_DOMAIN, browsers send the cookie to all hosts of the domain, and SameSite does not
    tell them apart.
    """
    scheme = original.get("HTTP_X_FORWARDED_PROTO", original["wsgi.url_scheme"])
    return original.get("HTTP_ORIGIN") == f"{scheme}://{original['HTTP_HOST']}"


def _is_preflight(original: WSGIEnvironment) -> bool:
    """Return whether a request is a CORS preflight (Fetch standard, section 3.3.2)."""
    return original["REQUEST_METHOD"] == "OPTIONS" and bool(
        original.get("HTTP_ORIGIN") and original.get("HTTP_ACCESS_CONTROL_REQUEST_METHOD")
    )


@lru_cache(maxsize=256)  # an operator writes a few of them; a stranger can write any number
def _needs(query: str, leads_to_login: bool) -> _Needs:
    """Return the needs in a query; refuse a wrong one, so that the proxy admits nothing by it."""
    try:
        if len(query) > MAX_QUERY:
            raise ValueError
        pairs = parse_qsl(
            query, keep_blank_values=True, errors="strict", max_num_fields=MAX_QUERY_FIELDS
        )
    except ValueError:
        message = ngettext(
            "The query is not readable, or has more than %(num)s field.",
            "The query is not readable, or has more than %(num)s fields.",
            MAX_QUERY_FIELDS,
        )
        raise _malformed(message) from None
    fields = {f"preflight={value}" if field == "preflight" else field for field, value in pairs}
    permissions = [value for field, value in pairs if field == "permission"]
    if not fields.issubset(_FIELDS):
        raise _malformed(_("The query can only have %(fields)s.", fields=", ".join(_FIELDS)))
    if not all(map(is_permission, permissions)):
        raise _malformed(_("A permission has the form <app>.<action>."))
    login = Guard(to_login_page=leads_to_login)
    asked_for = [login._replace(permission=each) for each in permissions]
    if "fresh" in fields or "second_factor" in fields:
        proof = login._replace(fresh="fresh" in fields, second_factor="second_factor" in fields)
        asked_for.append(proof)
    sent = [value for field, value in pairs if field == "groups"]  # encoded as in Remote-Groups
    named = [unquote(name) for value in sent if value for name in value.split(",")]
    if len(permissions) > MOST_PERMISSIONS or len(named) > MOST_NAMED:
        message = _(
            "The query can name at most %(permissions)s permissions and %(groups)s groups.",
            permissions=MOST_PERMISSIONS,
            groups=MOST_NAMED,
        )
        raise _malformed(message)
    groups = _group_keys(named) if sent else None
    return _Needs(login, tuple(asked_for), groups, _PREFLIGHT in fields)


def _group_keys(named: list[str]) -> frozenset[str]:
    """Return the keys of groups; refuse what cannot be the name of one."""
    for name in named:
        problem = group_problem(name)
        if problem is not None:
            raise _malformed(problem)
    return frozenset(map(key, named))


@lru_cache(maxsize=4096)  # the same users ask again and again
def _admitted(
    username: str, user_id: int, email: str, groups: tuple[str, ...], sent: frozenset[str] | None
) -> Response | None:
    """Return the 204 that names a user, or None if Remote-Groups would be too long.

    The header is not cut: the service may refuse users by a group that it would then not see.
    """
    chosen = groups if sent is None else (each for each in groups if key(each) in sent)
    listed = ",".join(map(_encoded, chosen))
    if len(listed) > MAX_GROUPS:
        return None
    names = (
        ("Remote-User", _encoded(username)),
        ("Remote-Id", str(user_id)),
        ("Remote-Email", _encoded(email)),
        ("Remote-Groups", listed),
    )
    return Response(HTTPStatus.NO_CONTENT, headers=names)


def _encoded(text: str) -> str:
    return quote(text, safe=_PLAIN)  # `urllib.parse.unquote` restores the string


def _malformed(detail: str) -> RequestError:
    return RequestError(HTTPStatus.BAD_REQUEST, "malformed", detail)
