"""The responses of guards and of /auth to failures: a page, a redirect, or a challenge.

Browsers are redirected to log in, and other clients get a challenge. Scripts of pages get it, too:
they would follow a redirect and read the login page as the answer. htmx gets the challenge with
HX-Redirect: otherwise, it would put the login page into a part of its page. Every environ here has
the keys of `AuthMiddleware`, and every path that is passed lacks its SCRIPT_NAME. A host whose
login is at another one is sent there: see `web.urls.LOGIN_AT`.
"""

from collections.abc import Mapping
from http import HTTPStatus
from itertools import chain
from typing import NamedTuple
from urllib.parse import urlsplit
from wsgiref.types import WSGIEnvironment

from wsgiauth.exceptions import (
    INSUFFICIENT_SCOPE,
    Again,
    InsufficientAuthenticationError,
    UnmetDemandError,
)
from wsgiauth.messages import Joined, _
from wsgiauth.web.cross_origin import SAFE_METHODS, host_of
from wsgiauth.web.pages import PLAIN, Around, ErrorPage, Pages, ProviderButton
from wsgiauth.web.request import IS_NAVIGATION, is_by_script, prefers_html, query_field
from wsgiauth.web.responses import Header, Response, phrase, problem, redirect
from wsgiauth.web.urls import (
    ASKED_AT,
    Destinations,
    path_asked_for,
    path_below,
    root_url,
    safe_next,
    with_next,
)
from wsgiauth.web.www_authenticate import challenge, challenges

SWITCH = "switch"  # in the query of the login page: show the form even to a logged-in user
RESEND = "resend"  # in the query of the page to confirm: the user must send a form again
UNSENT = "unsent"  # as `done` in the query of the login page: the same

# In an environ: the proxy that asks leads a browser on only after a 401.
ONLY_UNAUTHORIZED = "wsgiauth.only_unauthorized"
FORM_HAS_PAGE = "wsgiauth.form_has_page"  # in an environ: a GET of its URL shows its form
# In an environ, for a POST: a list. A form that an error page can send again adds its fields.
SENT_FIELDS = "wsgiauth.sent_fields"


_REFUSED = _("This request was refused")
_UNREADABLE = _("The form could not be read")

_WORTH_A_RETRY = (
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    HTTPStatus.TOO_MANY_REQUESTS,
    HTTPStatus.SERVICE_UNAVAILABLE,
)

# By code, for error pages; features declare those of theirs. Problem details have the name of the
# HTTP status instead.
HEADLINES = {
    "already_done": _("This was done already"),
    "application_error": _("An error occurred on this site"),
    "browser_required": _("Only a browser can do this"),
    "busy": _("The site is busy"),
    "cross_origin": _REFUSED,
    "embedded": _REFUSED,
    "forbidden": _("You do not have permission to open this page"),
    "in_use": _("The account cannot be deleted"),
    "inactive": _("The account is inactive"),
    "insufficient_scope": _("An API key cannot be used here"),
    "insufficient_user_authentication": _("Confirm that it is you"),
    "invalid": _("The address of this page is not valid"),
    "invalid_code": _("The code is wrong"),
    "invalid_grant": _("You are not logged in"),
    "invalid_passkey": _("The passkey was not accepted"),
    "invalid_token": _("You are not logged in"),
    "last_way_in": _("The last way to log in cannot be removed"),
    "last_superuser": _("This account cannot be closed"),
    "length_required": _UNREADABLE,
    "malformed": _UNREADABLE,
    "method_not_allowed": _("This page cannot be used in this way"),
    "no_such_login": _("This session has already ended"),
    "not_found": _("This page does not exist"),
    "other_account": _("This page is for another account"),
    "prefetch": _REFUSED,
    "throttled": _("Too many attempts"),
    "too_large": _("The form is too long"),
    "second_factor_required": _("Enter a code"),
    "second_factor_switched_off": _("Your two-step verification is switched off"),
    "second_factor_setup_required": _("Set up two-step verification"),
    "unauthenticated": _("You are not logged in"),
    "unavailable": _("Accounts are not available at the moment"),
    "unsupported_media_type": _UNREADABLE,
}
_RESEND = _("Go back, and send the form again.")
# For people, where the detail of problem details is for programmers.
_ADVICE = {
    "length_required": _RESEND,
    "malformed": _RESEND,
    "method_not_allowed": _("Go back, and use the links and buttons of the page."),
    "too_large": _("Go back, and shorten what you entered."),
    "unavailable": _(
        "This page needs the accounts of this site, which do not answer now. Try again in a moment."
    ),
    "unsupported_media_type": _RESEND,
}


def failure(
    environ: WSGIEnvironment,
    status: HTTPStatus,
    code: str,
    detail: str,
    *,
    errors: Mapping[str, list[str]] | None = None,
    further: Mapping[str, object] | None = None,
    headers: tuple[Header, ...] = (),
    pages: Mapping[str, str] | None = None,
    again: Again | None = None,
    around: Around = PLAIN,
) -> Response:
    """Return a page or problem details, as the client's `Accept` prefers.

    Beside the arguments of `problem`, a page has links to `pages`, by their paths below the mount;
    a button that begins a login `again`; and the surroundings `around` it. It shows `errors`
    instead of `detail`, or advice instead of a `detail` for programmers.
    """
    if not prefers_html(environ):
        found = problem(status, code, detail, errors=errors, further=further, headers=headers)
        return found.for_reader(environ)
    renderer: Pages = environ["wsgiauth.site"].pages
    mount = root_url(environ) + renderer.mount
    login = f"{mount}/login"
    login_url, login_text, wanted = None, "", _wanted(environ)
    if status == HTTPStatus.UNAUTHORIZED:
        login_url, login_text = login, _("Log in")
    elif code in ("forbidden", "other_account"):  # another account can have the permission
        if code == "other_account":  # after a form, too
            wanted = _page_to_return_to(environ)
        login_url, login_text = f"{login}?{SWITCH}=1", _("Use another account")
    retry = _ways_to_retry(environ, status, mount, has_way_back=bool(around.back_url))
    page = ErrorPage(
        around=around,
        status=status.value,
        title=renderer.headlines.get(code, HEADLINES.get(code, phrase(status))),
        detail=Joined(chain.from_iterable((errors or {}).values())) or _ADVICE.get(code, detail),
        login_url=login_url and with_next(login_url, wanted),
        login_text=login_text,
        links={
            **retry.links,
            **{f"{mount}/{path}": text for path, text in (pages or {}).items()},
        },
        form_url=retry.form_url,
        again_url=retry.again_url,
        again_fields=retry.again_fields,
    )
    if again is not None:
        button = ProviderButton(again.provider, again.title, f"{mount}/oidc/{again.provider}")
        page = page.replaced(providers=(button,), next=again.destination, remember=again.remember)
    return renderer.render(environ, page, status=status, headers=headers)


class _Retry(NamedTuple):
    """How an error page leads to another try; see `ErrorPage`."""

    links: Mapping[str, str] = {}
    form_url: str | None = None
    again_url: str = ""
    again_fields: tuple[tuple[str, str], ...] = ()


def _ways_to_retry(
    environ: WSGIEnvironment, status: HTTPStatus, mount: str, *, has_way_back: bool
) -> _Retry:
    """Return a link to the same page, or to that of a form that was too large or not processed.

    The Referer names the page of a form. It has no path if the address of the page has a secret. A
    browser that sends no Referer is led to the address of the form, if that has a page. A form
    without secrets that the site could not process is on the page of the error itself.
    """
    if status not in _WORTH_A_RETRY:
        return _Retry()
    if environ["REQUEST_METHOD"] in SAFE_METHODS:
        page = _asked_for(environ)
        return _Retry({page: _("Try again")} if page else {})
    sent, url = tuple(environ.get(SENT_FIELDS, ())), _asked_for(environ)
    if status is HTTPStatus.SERVICE_UNAVAILABLE and sent and url:
        return _Retry(again_url=url, again_fields=sent)
    page = _page_of_this_site(environ, "HTTP_REFERER")
    if FORM_HAS_PAGE in environ and "HTTP_REFERER" not in environ and not has_way_back:
        page = url
    if not path_below(page, mount):
        return _Retry(form_url="")
    return _Retry({page: _("Back to the form")}, form_url=page)


def ask_to_log_in(
    environ: WSGIEnvironment,
    login_url: str | None,
    error: str | None = None,
    *,
    accepts_keys: bool = True,
    destination: str = "",
) -> Response:
    """Return a redirect to the login page for an anonymous browser (302), or the challenge.

    The fields of a form are not kept. The login page says so, and leads back to the form.

    Args:
        login_url: The path of the login page; None: always answer with the challenge.
        error: `invalid_token` if a token was rejected.
        accepts_keys: Whether the URL accepts API keys.
        destination: A safe `next` instead of the page that was asked for.
    """
    location = ""
    if login_url and _is_browser(environ):
        location = _login_location(environ, login_url, destination)
    if location and not _is_htmx(environ):
        return redirect(HTTPStatus.FOUND, location)
    asked = challenges(environ, error) if accepts_keys else (challenge(error),)
    return failure(
        environ,
        HTTPStatus.UNAUTHORIZED,
        error or "unauthenticated",
        _("This token or API key is invalid, expired or revoked.")
        if error is not None and "HTTP_AUTHORIZATION" in environ
        else _("Log in to open this page."),
        headers=(*asked, *_hx_redirect(location)),
    )


def ask_to_confirm(environ: WSGIEnvironment, confirm_url: str, max_age: int) -> Response:
    """Return a redirect or a challenge for a client whose last proof is older than `max_age`.

    A browser goes to the page to confirm and back (302); after a form, back to the page of the form
    (303), whose fields are not kept, as the page to confirm says. Other clients get the challenge
    of RFC 9470.
    """
    url = root_url(environ) + confirm_url
    location = _there_and_back(environ, url) if _is_browser(environ) else ""
    if location and not _is_htmx(environ):
        is_form = environ["REQUEST_METHOD"] not in SAFE_METHODS
        return redirect(HTTPStatus.SEE_OTHER if is_form else HTTPStatus.FOUND, location)
    error = InsufficientAuthenticationError(max_age)
    headers = (challenge(error.code, max_age=max_age), *_hx_redirect(location))
    detail = _("Confirm that it is you at %(url)s, then try again.", url=url)
    return failure(environ, error.status, error.code, detail, headers=headers)


def refuse_key(environ: WSGIEnvironment, detail: str) -> Response:
    """Return the 403 for an API key that is not sufficient (RFC 6750 section 3.1)."""
    headers = (challenge(INSUFFICIENT_SCOPE),)
    return failure(environ, HTTPStatus.FORBIDDEN, INSUFFICIENT_SCOPE, detail, headers=headers)


def refuse_unmet(environ: WSGIEnvironment, error: UnmetDemandError) -> Response:
    """Return a redirect to the page on which a user meets a demand, or the error that names it."""
    mount = environ["wsgiauth.site"].pages.mount
    url = f"{root_url(environ)}{mount}{error.page}"
    # A page that refuses the session itself would lead to itself without end.
    if error.is_final or url.partition("?")[0] == path_asked_for(environ).partition("?")[0]:
        return unmet_failure(environ, error, error.detail)
    resend = RESEND if error.says_unsent else ""
    location = _there_and_back(environ, url, resend) if _is_browser(environ) else ""
    if location and not _is_htmx(environ):
        # As `ask_to_log_in` where a login can meet it, otherwise as `ask_to_confirm`.
        is_form = environ["REQUEST_METHOD"] not in SAFE_METHODS
        is_login = error.status is HTTPStatus.UNAUTHORIZED
        status = HTTPStatus.SEE_OTHER if is_form and not is_login else HTTPStatus.FOUND
        return redirect(status, location)
    detail = Joined([error.detail, _("The page is %(url)s.", url=url)])
    return unmet_failure(environ, error, detail, headers=_hx_redirect(location))


def must_send_again(environ: WSGIEnvironment) -> bool:
    """Return whether a form was not processed because of a demand or an old proof.

    Its page says so, because the user must send the form again.

    Example:
        page = BadgesPage(notice=_("Send the form again.") if must_send_again(environ) else "")
    """
    return bool(query_field(environ, RESEND))


def restriction(error: UnmetDemandError) -> dict[str, object]:
    """Return how a successful JSON response names what a session lacks."""
    return {"restriction": error.code, **error.members}


def unmet_failure(
    environ: WSGIEnvironment,
    error: UnmetDemandError,
    detail: str,
    *,
    headers: tuple[Header, ...] = (),
) -> Response:
    """Return the error about an unmet demand."""
    headers, status = (*error.headers, *headers), error.status
    if ONLY_UNAUTHORIZED in environ and status is not HTTPStatus.UNAUTHORIZED:
        headers, status = (*headers, challenge(None)), HTTPStatus.UNAUTHORIZED
    return failure(environ, status, error.code, detail, further=error.members, headers=headers)


def _is_browser(environ: WSGIEnvironment) -> bool:
    if IS_NAVIGATION in environ:
        return True
    if "HTTP_AUTHORIZATION" in environ:
        return False
    return _is_htmx(environ) or (prefers_html(environ) and not is_by_script(environ))


def _is_htmx(environ: WSGIEnvironment) -> bool:
    return environ.get("HTTP_HX_REQUEST") == "true"


def _hx_redirect(location: str) -> tuple[Header, ...]:
    return (("HX-Redirect", location),) if location else ()


def _login_location(environ: WSGIEnvironment, login_url: str, destination: str) -> str:
    """Return the URL of the login page. After a form, only wsgiauth's own leads back."""
    url = root_url(environ) + login_url
    if destination:
        return with_next(url, destination)
    page = _page_to_return_to(environ)
    if environ["REQUEST_METHOD"] in SAFE_METHODS:
        return with_next(url, page)
    if login_url != f"{environ['wsgiauth.site'].pages.mount}/login":  # a page of the application
        return url
    if page.partition("?")[0] in (url, url.removesuffix("login") + "second"):
        return url
    return with_next(f"{url}?done={UNSENT}", page)


def _there_and_back(environ: WSGIEnvironment, url: str, resend: str = RESEND) -> str:
    """Return `url` with a `next`, and after a form also with `resend`."""
    if resend and environ["REQUEST_METHOD"] not in SAFE_METHODS:
        url = f"{url}?{resend}=1"
    return with_next(url, _page_to_return_to(environ))


def _page_to_return_to(environ: WSGIEnvironment) -> str:
    """Return the page for after the login as a `next`, or "".

    It is the requested page, after a form the page in the Referer, and for htmx, which requests
    parts of pages, the page in the browser.
    """
    if _is_htmx(environ):
        return _page_of_this_site(environ, "HTTP_HX_CURRENT_URL")
    if environ["REQUEST_METHOD"] in SAFE_METHODS:
        return _wanted(environ)
    return _page_of_this_site(environ, "HTTP_REFERER") or _asked_for(environ)


def _wanted(environ: WSGIEnvironment) -> str:
    """Return the requested page as a `next`, or ""."""
    if environ["REQUEST_METHOD"] not in SAFE_METHODS:
        return ""
    return _asked_for(environ)


def _asked_for(environ: WSGIEnvironment) -> str:
    # Omit a path that the login page would refuse: encoded again, it can make the Location header
    # longer than proxies accept.
    destinations: Destinations = environ["wsgiauth.site"].destinations
    return destinations.safe(path_asked_for(environ))


def _page_of_this_site(environ: WSGIEnvironment, header: str) -> str:
    """Return the path and query of the URL in a header as a `next`; "" if of another site."""
    url = environ.get(header, "")
    if host_of(url) != environ.get("HTTP_HOST", ""):
        return ""
    path = safe_next(urlsplit(url)._replace(scheme="", netloc="", fragment="").geturl(), "")
    return f"{environ.get(ASKED_AT, '')}{path}" if path else ""
