"""The challenges of 401 responses for Bearer and Basic, in WWW-Authenticate."""

from wsgiref.types import WSGIEnvironment

from wsgiauth.web.request import is_by_script
from wsgiauth.web.responses import REALM, Header

# RFC 7617 section 2.1: clients that know the charset encode names as UTF-8.
_BASIC: Header = ("WWW-Authenticate", f'Basic realm="{REALM}", charset="UTF-8"')


def challenge(
    error: str | None, *, max_age: int | None = None, acr_values: str | None = None
) -> Header:
    """Return the header that asks for a bearer token (RFC 6750 section 3).

    Args:
        error: `invalid_token` if a token was presented, or None.
        max_age: The age of the user's last proof in seconds, at most (RFC 9470 section 3).
        acr_values: The absolute URI of the kind of proof (RFC 9470 section 3).
    """
    reason = f', error="{error}"' if error else ""
    limit = "" if max_age is None else f', max_age="{max_age}"'
    kind = "" if acr_values is None else f', acr_values="{acr_values}"'
    return ("WWW-Authenticate", f'Bearer realm="{REALM}"{reason}{kind}{limit}')


def challenges(environ: WSGIEnvironment, error: str | None) -> tuple[Header, ...]:
    """Return the challenges to a client whose credentials are missing or rejected.

    With BASIC_AUTH, the first is for Basic (RFC 7617), because some programs read only the first. A
    request of a page gets none for Basic, because the browser would show its own dialog. `error` is
    `invalid_token` if a token or a key was rejected.
    """
    accepts_basic = environ["wsgiauth.site"].settings.BASIC_AUTH == "keys"
    basic = (_BASIC,) if accepts_basic and not _is_of_page(environ) else ()
    return (*basic, challenge(error))


def _is_of_page(environ: WSGIEnvironment) -> bool:
    """Return whether a page in a browser sent the request.

    Thunderbird sends Sec-Fetch-Mode for calendars, with methods that no page can use in the mode
    `no-cors` (Fetch standard, section 5.4, the constructor of Request).
    """
    mode = environ.get("HTTP_SEC_FETCH_MODE")
    if mode == "no-cors":
        return environ["REQUEST_METHOD"] in ("GET", "HEAD", "POST")
    return mode is not None or is_by_script(environ)
