"""The way to another provider, for every URL from which a browser goes to one."""

from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from urllib.parse import quote
from wsgiref.types import WSGIEnvironment

from wsgiauth import events
from wsgiauth.authentication.identity import ERRAND
from wsgiauth.authentication.oidc import Provider
from wsgiauth.authentication.oidc.errands import Errand
from wsgiauth.exceptions import NotFoundError, ProviderError
from wsgiauth.forms import Submission
from wsgiauth.forms.endpoint import require_part
from wsgiauth.messages import _
from wsgiauth.site import Site
from wsgiauth.web.pages import ProviderButton
from wsgiauth.web.responses import Response, json_response
from wsgiauth.web.urls import PROVIDER, mount_url, routing_argument


def provider_buttons(environ: WSGIEnvironment, site: Site) -> tuple[ProviderButton, ...]:
    """Return the buttons with which a page leads to a login at each provider."""
    url = f"{mount_url(environ)}/oidc"
    entries = [each.entry for each in site.providers or ()]
    return tuple(ProviderButton(each.name, each.title, f"{url}/{each.name}") for each in entries)


def require_provider(environ: WSGIEnvironment, site: Site) -> Provider:
    """Return the provider that the path of a request names, or raise NotFoundError."""
    return find_provider(site, routing_argument(environ, PROVIDER))


def find_provider(site: Site, name: str) -> Provider:
    """Return the provider with this name, or raise NotFoundError."""
    found = require_part(site.providers).find(name)
    if found is None:
        raise NotFoundError
    return found


def send_to_provider(submission: Submission, provider: Provider, errand: Errand) -> Response:
    """Send a browser to a provider, with the cookie of its errand; a script gets the URL.

    Raises:
        ProviderError: The provider cannot be used now. It is reported.
    """
    environ, site = submission.environ, submission.site
    with reporting(provider):
        begun = provider.begin(errand, redirect_uri=callback_url(site, provider))
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
def reporting(provider: Provider, what: str = "") -> Iterator[None]:
    """Report each ProviderError of the `with` block; `what` comes before its reason."""
    try:
        yield
    except ProviderError as error:
        events.emit("provider_failed", reason=f"{provider.entry.name}: {what}{error.reason}")
        raise
