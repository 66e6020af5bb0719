"""The way of a browser to a provider: every URL that leads to one uses this module."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http import HTTPStatus
from urllib.parse import quote
from wsgiref.types import WSGIEnvironment

from wsgiauth import events
from wsgiauth.exceptions import Again, NotFoundError, RequestError, ValidationError
from wsgiauth.features.providers.event_kinds import PROVIDER_FAILED
from wsgiauth.features.providers.oidc import Provider, Providers
from wsgiauth.features.providers.oidc.errands import CONFIRM, CONNECT, ERRAND, LOG_IN, Errand
from wsgiauth.features.providers.oidc.failures import BUSY, ProviderError
from wsgiauth.features.providers.oidc.remedies import remedy_of
from wsgiauth.features.providers.provider_logins import ProviderLogins
from wsgiauth.forms import MemberSubmission, Submission
from wsgiauth.forms.endpoint import Endpoint
from wsgiauth.messages import _
from wsgiauth.settings import Settings
from wsgiauth.site import Site
from wsgiauth.web.responses import Response, json_response
from wsgiauth.web.urls import PROVIDER, routing_argument, with_next

BUTTON = "provider"  # the field of the buttons at /auth/confirm

# Where a user can go on after a failure, by the purpose of the errand.
PAGES = {
    LOG_IN: {"login": _("Back to the login page")},
    CONNECT: {"identities": _("Back to your ways to log in")},
    CONFIRM: {"confirm": _("Confirm in another way")},
}


class ProviderEndpoint(Endpoint):
    """A URL of sites with providers."""

    def is_offered(self, settings: Settings) -> bool:
        """Return whether there are providers."""
        return bool(settings.OIDC_PROVIDERS)


def require_provider(environ: WSGIEnvironment, site: Site) -> Provider:
    """Return the provider that the path of a request names, or raise NotFoundError."""
    return find_provider(site, routing_argument(environ, PROVIDER))


def find_provider(site: Site, name: str) -> Provider:
    """Return the provider with this name, or raise NotFoundError."""
    found = site.require(Providers).find(name)
    if found is None:
        raise NotFoundError
    return found


def ask_provider(submission: MemberSubmission) -> Response:
    """Send the browser to a provider of the user, to confirm a session by a new login there."""
    site, user, name = submission.site, submission.member.user, submission.fields[BUTTON]
    logins = site.part(ProviderLogins)
    buttons = logins.buttons_of(user) if logins else ()
    if name not in [each.name for each in buttons]:
        refusal = _("An account of this provider cannot confirm that it is you.")
        raise ValidationError({BUTTON: [refusal]})
    errand = Errand(CONFIRM, submission.destination, user_id=user.id)
    return send_to_provider(submission, find_provider(site, name), errand)


def send_to_provider(submission: Submission, provider: Provider, errand: Errand) -> Response:
    """Send a browser to a provider, with the cookie of its errand; a script gets the URL."""
    environ, site = submission.environ, submission.site
    with reporting(provider), beginning_again(provider, errand):
        begun = provider.begin(errand, redirect_uri=callback_url(site, provider))
    cookies = site.identifier.one_more_cookie(environ, ERRAND, begun.cookie)
    if submission.wants_json:
        detail = _("Continue at %(title)s.", title=provider.entry.title)
        return json_response({"detail": detail, "next": begun.url}, headers=cookies)
    return Response(HTTPStatus.SEE_OTHER, headers=(("Location", begun.url), *cookies))


def callback_url(site: Site, provider: Provider) -> str:
    """Return the URL to which the provider sends browsers back; no Host header changes it."""
    root = (site.settings.PUBLIC_URL or "").rstrip("/")
    return f"{root}{quote(site.pages.mount)}/oidc/{provider.entry.name}/callback"


@contextmanager
def leading_back(pages: Callable[[], Mapping[str, str]]) -> Iterator[None]:
    """Add links to `pages`, where the user can try again, to each refusal of the `with` block."""
    try:
        yield
    except RequestError as error:
        error.pages = pages()
        raise


@contextmanager
def beginning_again(provider: Provider, errand: Errand) -> Iterator[None]:
    """Let each refusal of the `with` block lead back to the errand: a login by a button.

    A browser that is to load the same URL again gets no button.
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
        report(provider, f"{what}{error.reason}")
        raise


def report(provider: Provider, reason: str) -> None:
    """Report a failure of a provider, with its remedy."""
    events.emit(
        PROVIDER_FAILED, reason=f"{provider.entry.name}: {reason}", remedy=remedy_of(reason)
    )
