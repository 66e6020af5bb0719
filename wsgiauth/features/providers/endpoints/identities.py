"""GET, POST /auth/identities: list, connect and disconnect the user's accounts of providers."""

from collections.abc import Mapping
from wsgiref.types import WSGIEnvironment

from wsgiauth.authentication.federated_logins import Connected
from wsgiauth.authentication.identity import UserSession
from wsgiauth.exceptions import NotFoundError, ValidationError
from wsgiauth.features.providers.identities import list_identities
from wsgiauth.features.providers.oidc import Providers
from wsgiauth.features.providers.oidc.errands import CONNECT, Errand
from wsgiauth.features.providers.problems import PROVIDER_REFUSED, PROVIDER_UNAVAILABLE
from wsgiauth.features.providers.provider_logins import ProviderLogins, disconnect
from wsgiauth.features.providers.redirects import ProviderEndpoint, find_provider, send_to_provider
from wsgiauth.forms import FormPage, ListForm, MemberSubmission, Refusal
from wsgiauth.forms.done import Notice, notice_of
from wsgiauth.forms.endpoint import LOGIN, AccountLink, Overview, State
from wsgiauth.forms.fields import Text
from wsgiauth.messages import _, ngettext, pgettext
from wsgiauth.openapi.problems import INVALID, LAST_WAY_IN
from wsgiauth.settings.oidc import ProviderEntry
from wsgiauth.site import Site
from wsgiauth.web.pages import ProviderButton, UrlBelow
from wsgiauth.web.responses import Response
from wsgiauth.web.urls import mount_url

_NOTICES: Mapping[str, Notice] = {
    "connected": lambda title: _(
        "The account of %(title)s has been connected. You can now log in with it.", title=title
    ),
    "disconnected": lambda name: _("The account “%(name)s” has been disconnected.", name=name),
}


class IdentitiesPage(FormPage):
    """The accounts of providers that a user has connected, and a button to connect another."""

    template = "identities.html"
    identities_url = UrlBelow("identities")
    password_url = UrlBelow("password")
    identities: tuple[Connected, ...]
    has_password: bool = True


def _how_many(overview: Overview) -> State:
    count = len(overview.connected)
    if not count:
        return State(pgettext("connected accounts", "None yet"))
    return State(ngettext("%(num)s account", "%(num)s accounts", count))


class Identities(ProviderEndpoint, ListForm):
    """Connects an account by a login at its provider, and disconnects accounts."""

    account_link = AccountLink(
        LOGIN,
        _("Accounts of other providers"),
        _("Log in here with an account that you have elsewhere."),
        place=3,
        icon="link",
        state=_how_many,
    )
    step = _("Connect or disconnect an account")
    is_sensitive = True
    fields = (
        Text(
            "connect",
            "The name of a provider. The answer sets a cookie, with which a browser comes back"
            " from the provider.",
        ),
        Text(
            "disconnect",
            "The `id` of an account. Other sessions that began or were confirmed with it end.",
        ),
    )
    leads_elsewhere = True
    refusals = (INVALID, LAST_WAY_IN, PROVIDER_REFUSED, PROVIDER_UNAVAILABLE)

    def document(
        self, environ: WSGIEnvironment, member: UserSession, site: Site
    ) -> dict[str, object]:
        """Return the accounts, and the providers of the site."""
        return {
            "identities": [each.document() for each in list_identities(member.user)],
            "providers": [{"name": each.name, "title": each.title} for each in _entries(site)],
        }

    def act(self, submission: MemberSubmission) -> Response:
        """Disconnect an account, or send the browser to a provider to connect one."""
        if not submission.fields["disconnect"]:
            return _connect(submission)
        user, session_id = submission.member
        handle, ways_in = submission.fields["disconnect"], submission.site.ways_in
        name = disconnect(user, handle, ways_in, except_session=session_id)
        return self.answer_changed(submission, "identities?done=disconnected", name=name)

    def page(self, submission: MemberSubmission, refusal: Refusal) -> IdentitiesPage:
        """Return the list and the buttons."""
        environ, site, user = submission.environ, submission.site, submission.member.user
        url = f"{mount_url(environ)}/identities"
        return IdentitiesPage(
            identities=tuple(site.require(ProviderLogins).connected(user)),
            providers=tuple(
                ProviderButton(each.name, each.title, url, each.icon) for each in _entries(site)
            ),
            has_password=user.has_password,
            message=refusal.text,
            notice=notice_of(environ, _NOTICES),
        )


def _entries(site: Site) -> list[ProviderEntry]:
    return [each.entry for each in site.require(Providers)]


def _connect(submission: MemberSubmission) -> Response:
    site, user = submission.site, submission.member.user
    try:
        provider = find_provider(site, submission.fields["connect"])
    except NotFoundError:
        raise ValidationError({"connect": [_("Choose one of the providers.")]}) from None
    errand = Errand(CONNECT, submission.destination, user_id=user.id)
    return send_to_provider(submission, provider, errand)
