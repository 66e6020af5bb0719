"""The way to another provider, for every URL from which a browser goes to one."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http import HTTPStatus
from urllib.parse import quote
from wsgiref.types import WSGIEnvironment

from wsgiauth import events
from wsgiauth.exceptions import Again, NotFoundError, ProviderError, RequestError
from wsgiauth.features.providers.oidc import Provider, Providers
from wsgiauth.features.providers.oidc.errands import CONFIRM, CONNECT, ERRAND, LOG_IN, Errand
from wsgiauth.features.providers.oidc.failures import BUSY
from wsgiauth.forms import Submission
from wsgiauth.messages import _
from wsgiauth.site import Site
from wsgiauth.web.responses import Response, json_response
from wsgiauth.web.urls import PROVIDER, next_in_cookie, routing_argument, with_next

# Where a user can go on after a failure, by the purpose of the errand.
PAGES = {
    LOG_IN: {"login": _("Back to the login page")},
    CONNECT: {"identities": _("Back to your ways to log in")},
    CONFIRM: {"confirm": _("Confirm in another way")},
}


def require_provider(environ: WSGIEnvironment, site: Site) -> Provider:
    """Return the provider that the path of a request names, or raise NotFoundError."""
    return find_provider(site, routing_argument(environ, PROVIDER))


def find_provider(site: Site, name: str) -> Provider:
    """Return the provider with this name, or raise NotFoundError."""
    found = site.require(Providers).find(name)
    if found is None:
        raise NotFoundError
    return found


def send_to_provider(submission: Submission, provider: Provider, errand: Errand) -> Response:
    """Send a browser to a provider, with the cookie of its errand; a script gets the URL.

    Raises:
        ProviderError: The provider cannot be used now. It is reported.
    """
    environ, site = submission.environ, submission.site
    with reporting(provider), beginning_again(provider, errand):
        kept = errand._replace(destination=next_in_cookie(errand.destination))
        begun = provider.begin(kept, redirect_uri=callback_url(site, provider))
    cookies = site.identifier.one_more_cookie(environ, ERRAND, begun.cookie)
    if submission.wants_json:
        detail = _("Continue at %(title)s.", title=provider.entry.title)
        return json_response({"detail": detail, "next": begun.url}, headers=cookies)
    return Response(HTTPStatus.SEE_OTHER, headers=(("Location", begun.url), *cookies))


def callback_url(site: Site, provider: Provider) -> str:
    """Return where the provider sends browsers back to; whatever a request says of its host."""
    root = (site.settings.PUBLIC_URL or "").rstrip("/")
    return f"{root}{quote(site.pages.mount)}/oidc/{provider.entry.name}/callback"


@contextmanager
def leading_back(pages: Callable[[], Mapping[str, str]]) -> Iterator[None]:
    """Let the page of each refusal of the `with` block lead to where the user can try again."""
    try:
        yield
    except RequestError as error:
        error.pages = pages()
        raise


@contextmanager
def beginning_again(provider: Provider, errand: Errand) -> Iterator[None]:
    """Let the page of each refusal lead on to what the user wanted; a login by a button.

    There is no button for a browser that is to load the same URL again, or has to wait.
    """
    pages = PAGES[errand.purpose].items()
    try:
        with leading_back(
            lambda: {with_next(path, errand.destination): text for path, text in pages}
        ):
            yield
    except ProviderError as error:
        if errand.purpose == LOG_IN and error.reason != BUSY:
            name, title = provider.entry.name, provider.entry.title
            error.again = Again(name, title, errand.destination, errand.remember)
        raise


@contextmanager
def reporting(provider: Provider, what: str = "") -> Iterator[None]:
    """Report each ProviderError of the `with` block; `what` comes before its reason."""
    try:
        yield
    except ProviderError as error:
        events.emit("provider_failed", reason=f"{provider.entry.name}: {what}{error.reason}")
        raise
