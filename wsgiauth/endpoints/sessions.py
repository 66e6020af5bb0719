"""GET, POST /auth/sessions: list and revoke the user's sessions and trusted browsers."""

from http import HTTPStatus
from wsgiref.types import WSGIEnvironment

from wsgiauth.authentication import sessions
from wsgiauth.authentication.federated_logins import FederatedLogins
from wsgiauth.authentication.identity import UserSession
from wsgiauth.authentication.lasting_access import LastingAccess
from wsgiauth.authentication.session_list import (
    LISTED,
    ListedSession,
    count_sessions,
    list_sessions,
    revoke_by_handle,
)
from wsgiauth.authentication.trusted_browsers import ListedBrowser, TrustedBrowsers
from wsgiauth.exceptions import RequestError, ValidationError
from wsgiauth.forms import FormPage, ListForm, MemberSubmission, Refusal
from wsgiauth.forms.done import notice_of
from wsgiauth.forms.endpoint import SECURITY, AccountLink, Endpoint, Overview, State
from wsgiauth.forms.fields import Flag, Text
from wsgiauth.messages import _, ngettext
from wsgiauth.openapi.problems import INVALID, NO_SUCH_LOGIN
from wsgiauth.settings import Settings
from wsgiauth.site import Site
from wsgiauth.web.pages import UrlBelow
from wsgiauth.web.responses import Response
from wsgiauth.web.urls import mount_url

OTHERS = "others"  # in the field `end`: all sessions but the caller's

_TRUSTED = "trusted"  # whether `end` names a trusted browser, which its handle does not say

_NOTICES = {
    "login": _("The session has been revoked."),
    "browser": _(
        "Logins in that browser ask for the second step again. Sessions there continue until you"
        " revoke them."
    ),
    "browsers": _("Logins in all browsers ask for the second step again."),
    OTHERS: _("You are logged out everywhere else."),
}
_NO_SESSION = _("That session has already ended.")
_NO_BROWSER = _("That browser is no longer trusted.")


class SessionsPage(FormPage):
    """The lists of the user's sessions and trusted browsers."""

    template = "sessions.html"
    sessions_url = UrlBelow("sessions")
    password_url = UrlBelow("password")
    sessions: tuple[ListedSession, ...]
    limit: int = LISTED
    browsers: tuple[ListedBrowser, ...] = ()  # that the user trusts
    apps: tuple[str, ...] = ()  # names of the apps that keep their access without a session
    most_apps: int = 10  # named on the page
    apps_url: str = ""  # where the user ends their access


def _how_many(overview: Overview) -> State:
    count = count_sessions(overview.user, overview.site.tokens.now())
    return State(ngettext("%(num)s session", "%(num)s sessions", count))


class Sessions(ListForm):
    """Lists sessions and trusted browsers; revokes one, or all other sessions and all browsers."""

    account_link = AccountLink(
        SECURITY,
        _("Where you are logged in"),
        _("See all your sessions, and revoke those that you do not recognize."),
        icon="laptop",
        state=_how_many,
    )
    fields = (
        Text(
            "end",
            "The `handle` of one session or trusted browser; or `others`: all sessions but the"
            " caller's, and the trust in all browsers.",
            required=True,
            examples=["others"],
        ),
        Flag(
            _TRUSTED,
            "Whether `end` is the handle of a trusted browser. `detail` of a 404 then says so.",
        ),
    )
    refusals = (INVALID, NO_SUCH_LOGIN)

    def variant(self, settings: Settings) -> Endpoint:
        """Return the endpoint whose link names trusted browsers, on a site that offers them."""
        return SessionsAndBrowsers() if settings.TRUSTED_BROWSER_DAYS else self

    def document(
        self, environ: WSGIEnvironment, member: UserSession, site: Site
    ) -> dict[str, object]:
        """Return the sessions, and the trusted browsers where the site has them."""
        document: dict[str, object] = {
            "sessions": [each.document() for each in _listed(member, site)]
        }
        if site.part(TrustedBrowsers) is not None:
            trusted = _trusted(environ, member, site)
            document["trusted_browsers"] = [each.document() for each in trusted]
        lasting = site.part(LastingAccess)
        if lasting is not None:
            document["apps"] = list(lasting.names(member.user, site.tokens.now()))
        return document

    def act(self, submission: MemberSubmission) -> Response:
        """Revoke the session or the trusted browser that `end` names, or all others."""
        end, (user, current_id) = submission.fields["end"], submission.member
        browsers = submission.site.part(TrustedBrowsers)
        if not end:
            raise ValidationError({"end": [_("Name a session, or `others`.")]})
        if end == OTHERS:
            has_revoked = bool(sessions.revoke_all(user, except_id=current_id))
            done = OTHERS if has_revoked or browsers is None else "browsers"
            return self.answer_changed(submission, f"sessions?done={done}")
        ended_id = revoke_by_handle(user, end, submission.site.tokens.now())
        if ended_id is None:
            if browsers is not None and browsers.revoke(user, end):
                return self.answer_changed(submission, "sessions?done=browser")
            detail = _NO_BROWSER if _TRUSTED in submission.flags else _NO_SESSION
            raise RequestError(HTTPStatus.NOT_FOUND, "no_such_login", detail)
        if ended_id != current_id:
            return self.answer_changed(submission, "sessions?done=login")
        cleared = submission.site.identifier.expired_cookie(submission.environ)
        return self.answer_changed(submission, "login?done=logout", cleared)

    def page(self, submission: MemberSubmission, refusal: Refusal) -> SessionsPage:
        """Return the list."""
        user, federated = submission.member.user, submission.site.part(FederatedLogins)
        titles = federated.titles(user) if federated else {}
        listed = _listed(submission.member, submission.site)
        page = SessionsPage(
            sessions=tuple(each._replace(provider=titles.get(each.handle, "")) for each in listed),
            browsers=tuple(_trusted(submission.environ, submission.member, submission.site)),
            message=refusal.text,
            notice=notice_of(submission.environ, _NOTICES),
        )
        lasting = submission.site.part(LastingAccess)
        if lasting is None:
            return page
        return page.replaced(
            apps=tuple(lasting.names(user, submission.site.tokens.now())),
            apps_url=f"{mount_url(submission.environ)}/{lasting.path}",
        )


class SessionsAndBrowsers(Sessions):
    """The same on a site that offers to trust browsers."""

    account_link = AccountLink(
        SECURITY,
        _("Where you are logged in"),
        _("See your sessions and trusted browsers, and revoke those that you do not recognize."),
        icon="laptop",
        state=_how_many,
    )


def _listed(member: UserSession, site: Site) -> list[ListedSession]:
    return list_sessions(member.user, site.tokens.now(), member.session_id)


def _trusted(environ: WSGIEnvironment, member: UserSession, site: Site) -> list[ListedBrowser]:
    browsers = site.part(TrustedBrowsers)
    if browsers is None:
        return []
    cookie = site.identifier.sent_cookie(environ, browsers.cookie)
    return browsers.list_browsers(member.user, site.factors, site.tokens.now(), cookie)
