"""The responses that hand a new or renewed session over: a token to a program, else a cookie."""

from collections.abc import Callable
from dataclasses import replace
from http import HTTPStatus
from wsgiref.types import WSGIEnvironment

from wsgiauth import events, logins
from wsgiauth.access import refusal_of
from wsgiauth.accounts.listing import profile
from wsgiauth.accounts.models import User
from wsgiauth.authentication import lifetimes, sessions
from wsgiauth.authentication.demands import DemandError
from wsgiauth.authentication.federated_logins import FederatedLogin, FederatedLogins
from wsgiauth.authentication.identity import bearer_token
from wsgiauth.authentication.methods import PASSWORD
from wsgiauth.authentication.tokens import IssuedTokens
from wsgiauth.events import kinds
from wsgiauth.exceptions import ClaimsError, UnmetDemandError
from wsgiauth.forms import NEXT, MemberSubmission, PublicForm, Submission, see_other
from wsgiauth.forms.done import ASKED_FOR, created_cookie, done_cookies
from wsgiauth.logins import login_cookie, login_cookies
from wsgiauth.messages import _
from wsgiauth.openapi.answers import Scheme
from wsgiauth.openapi.callers import PERHAPS_SESSION
from wsgiauth.site import Site
from wsgiauth.web.clients import Client
from wsgiauth.web.failures import SWITCH, restriction
from wsgiauth.web.pages import Page, ProviderButton
from wsgiauth.web.request import query_field
from wsgiauth.web.responses import Header, Response, json_response, redirect
from wsgiauth.web.urls import ROUTE, leads_to, mount_url, path_below, root_url, with_next

_DEAD_ENDS = ("/logout", "/login", "/second", "/confirm")
REFRESH = "refresh"  # a field in JSON: whether to return a refresh token, too
REMEMBER = "remember"  # the checkbox "Keep me logged in", and its field in JSON


class LoggedInPage(Page):
    """The login page of a user who is logged in."""

    template = "logged_in.html"
    label: str
    continue_url: str
    switch_url: str  # the login form, for another account
    logout_url: str
    was_sent_here: bool  # by a page, perhaps for lack of a permission


class GuestForm(PublicForm):
    """A form for anonymous clients; users who are logged in get a page that says so."""

    def security(self, method: str) -> tuple[Scheme | None, ...]:
        """Return the schemes of a session, which the page looks at."""
        return PERHAPS_SESSION if method == "get" else ()

    def is_switching(self, environ: WSGIEnvironment, site: Site) -> bool:
        """Return whether a user who is logged in wants another account."""
        return bool(query_field(environ, SWITCH))

    def get(self, environ: WSGIEnvironment, site: Site) -> Response:
        """Answer with the form, with `LoggedInPage`, or with the way to what a session lacks."""
        if self.is_switching(environ, site):
            return super().get(environ, site)
        wanted = site.destinations.safe(query_field(environ, NEXT))
        identity = site.identifier.identify(environ)
        if identity.lacking is not None and not identity.lacking.demand.is_met_by_login:
            unmet = refusal_of(identity.lacking, environ)
            if unmet.page == environ[ROUTE]:  # this page would lead to itself without end
                raise unmet
            return redirect(HTTPStatus.SEE_OTHER, _page_of_demand(environ, site, unmet, wanted))
        if identity.session is None:
            return super().get(environ, site)
        login, logout = f"{mount_url(environ)}/login", f"{mount_url(environ)}/logout"
        page = LoggedInPage(
            label=identity.session.user.label,
            continue_url=destination_after_login(environ, site, wanted),
            switch_url=with_next(f"{login}?{SWITCH}=1", wanted),
            logout_url=with_next(logout, with_next(login, wanted) if wanted else ""),
            was_sent_here=bool(wanted),
        )
        return site.pages.render(environ, page)


def logged_in_user(environ: WSGIEnvironment, site: Site) -> User | None:
    """Return the user of a session that lacks nothing; an API key has no session."""
    session = site.identifier.identify(environ).session
    return None if session is None else session.user


def login_buttons(environ: WSGIEnvironment, site: Site) -> tuple[ProviderButton, ...]:
    """Return the buttons of the site's providers."""
    federated = site.part(FederatedLogins)
    return federated.buttons(mount_url(environ)) if federated else ()


def forgot_url(submission: Submission) -> str | None:
    """Return the URL of /auth/forgot, or None if the site sends no links for a new password."""
    site = submission.site
    is_offered = site.outbox is not None and site.settings.PASSWORD_LOGIN
    url = with_next(f"{mount_url(submission.environ)}/forgot", submission.destination)
    return url if is_offered else None


def start_browser_session(
    submission: Submission,
    user: User,
    *,
    methods: str = PASSWORD,
    federated_login: FederatedLogin | None = None,
    is_permitted: Callable[[], bool] | None = None,
) -> IssuedTokens | None:
    """Start the session of a browser; return None if the user changed at the same moment."""
    return logins.start_browser_session(
        submission.environ,
        submission.site,
        user,
        methods=methods,
        remember=REMEMBER in submission.flags,
        federated_login=federated_login,
        is_permitted=is_permitted,
    )


def start_program_session(submission: Submission, user: User, methods: str) -> IssuedTokens | None:
    """Start the session of a program; return None if the user changed at the same moment."""
    site, flags = submission.site, submission.flags
    lifetime = lifetimes.of_program(site.settings)
    if REFRESH in flags:
        lifetime = lifetimes.of_refreshable(site.settings, remember=REMEMBER in flags)
    client = Client.of(submission.environ, site.pages.readers.name_asked_for(submission.environ))
    return sessions.start(
        user, site.tokens, lifetime, methods=methods, client=client, of_site=site.sessions
    )


def start_session(submission: Submission, user: User, methods: str) -> IssuedTokens | None:
    """Start the session of a program or a browser; report a user who changed meanwhile."""
    if submission.is_program:
        issued = start_program_session(submission, user, methods)
    else:
        issued = start_browser_session(submission, user, methods=methods)
    if issued is None:
        events.emit(kinds.LOGIN_FAILED, user_id=user.id, reason="changed meanwhile")
    return issued


def start_first_session(submission: Submission, user: User, proof: str) -> IssuedTokens | None:
    """Start the session of a browser that has created an account; None if it has to log in.

    An error of the application's `claims` or of a demand is logged. It must not look as if there
    were no account.

    Args:
        proof: The method of `authentication.methods` of a user without a password.
    """
    try:
        methods = PASSWORD if user.has_password else proof
        return start_browser_session(submission, user, methods=methods)
    except (ClaimsError, DemandError):
        return None


def end_previous_session(submission: Submission) -> None:
    """End the session that the request carries, if it carries one (ASVS 5.0, 7.2.4)."""
    previous = submission.site.identifier.identify_anyway(submission.environ).any_session
    if previous is not None:
        sessions.revoke(previous.session_id, previous.user)


def hand_over(submission: Submission, issued: IssuedTokens) -> Response:
    """Return the cookie of a new session; a script never sees the token."""
    cookies = _new_cookies(submission, issued)
    location = _way_to_demand(submission, issued) or destination_after_login(
        submission.environ, submission.site, submission.destination
    )
    if submission.wants_json:
        return json_response({"detail": _("Logged in."), "next": location}, headers=cookies)
    return redirect(HTTPStatus.SEE_OTHER, location, headers=cookies)


def _way_to_demand(submission: Submission, issued: IssuedTokens) -> str:
    """Return the page on which a session meets what it lacks; "" if it lacks nothing.

    Return "", too, if it reaches the page that the browser wants nevertheless.
    """
    lacking = submission.site.identifier.lacking_session(issued.token)
    if lacking is None:
        return ""
    environ, wanted = submission.environ, submission.destination
    mount, unmet = mount_url(environ), refusal_of(lacking, environ)
    is_reachable = any(leads_to(wanted, f"{mount}{each}") for each in unmet.reachable)
    if is_reachable and destination_after_login(environ, submission.site, wanted) == wanted:
        return ""
    return _page_of_demand(environ, submission.site, unmet, wanted)


def _page_of_demand(
    environ: WSGIEnvironment, site: Site, unmet: UnmetDemandError, wanted: str
) -> str:
    """Return the page on which a session meets a demand, with the page that the browser wants."""
    mount = mount_url(environ)
    if path_below(wanted, mount) == unmet.page:  # it was open when the former session ended
        _path, mark, query = wanted.partition("?")
        return f"{mount}{unmet.page}{mark}{query}"
    return with_next(
        f"{mount}{unmet.page}", wanted and destination_after_login(environ, site, wanted)
    )


def hand_over_tokens(submission: Submission, issued: IssuedTokens) -> Response:
    """Return the tokens of a new session to a program."""
    if has_token(submission):
        # The new token replaces the one that was sent. A script that sent the browser's cookie
        # fetches a token without logging the user out of the pages.
        end_previous_session(submission)
    return json_response(token_document(submission.environ, submission.site, issued))


def token_document(environ: WSGIEnvironment, site: Site, issued: IssuedTokens) -> dict[str, object]:
    """Return the tokens of a session (RFC 6749 section 5.1), and its restriction, if any."""
    document: dict[str, object] = {
        "access_token": issued.token,
        "token_type": "bearer",
        "expires_in": issued.expires_in,
    }
    if issued.generation:
        refresh_tokens = site.refresh_tokens
        document["refresh_token"] = refresh_tokens.issue(issued.session_id, issued.generation)
    lacking = site.identifier.lacking_session(issued.token)
    return document if lacking is None else document | restriction(refusal_of(lacking, environ))


def account_created(
    submission: Submission, user: User, issued: IssuedTokens | None, *, done: str = ""
) -> Response:
    """Answer with the profile, or send the browser on; it may have got a session, too.

    `done` is the notice of the account page, which then comes first.
    """
    if submission.wants_json:
        location = ("Location", f"{mount_url(submission.environ)}/me")
        cookies = () if issued is None else _new_cookies(submission, issued)
        document = profile(user, submission.site.settings)
        return json_response(document, status=HTTPStatus.CREATED, headers=(location, *cookies))
    if issued is None:  # or the user was deactivated at the same moment
        return see_other(submission, with_next("login", submission.destination))
    account = f"{mount_url(submission.environ)}/account"
    if done:
        destination = with_next(f"{account}?done={done}", submission.destination)
        response = hand_over(replace(submission, destination=destination), issued)
        notice = done_cookies(submission.environ, destination)
        return replace(response, headers=(*response.headers, *notice))
    if not submission.site.ways_in.has_one(user):  # the page says so, and leads to the ways
        submission = replace(submission, destination=account)
    response = hand_over(submission, issued)
    created = created_cookie(submission.environ, submission.site, user, ASKED_FOR)
    return replace(response, headers=(*response.headers, created))


def destination_after_login(environ: WSGIEnvironment, site: Site, destination: str) -> str:
    """Return `destination`, a safe `next`, if a login can lead there; otherwise the home page.

    Example:
        url = destination_after_login(environ, site, submission.destination)
    """
    home, mount = f"{root_url(environ)}/", mount_url(environ)
    # A link to the login with the logout as `next` would end every new session.
    dead_ends = [*_DEAD_ENDS, *(each.page for each in site.admission.demands if each.page)]
    if any(leads_to(destination, f"{mount}{page}") for page in dead_ends):
        return home
    return destination or home


def next_after_set_up(submission: Submission) -> str:
    """Return where the page of a demand leads; empty if no page asked for it."""
    wanted = submission.destination
    if not wanted:
        return ""
    return destination_after_login(submission.environ, submission.site, wanted)


def _new_cookies(submission: Submission, issued: IssuedTokens) -> tuple[Header, ...]:
    end_previous_session(submission)
    return login_cookies(submission.environ, submission.site, issued)


def hand_over_renewed(
    submission: MemberSubmission, issued: IssuedTokens, detail: str, *, path: str = ""
) -> Response:
    """Return the token of a renewed session, or its cookie and a redirect to `next`.

    Args:
        issued: The tokens of the session, which has a new id.
        detail: The sentence for scripts.
        path: The default of `next`, below the mount; empty for the home page.
    """
    if has_token(submission):
        return json_response(token_document(submission.environ, submission.site, issued))
    sent = submission.environ, submission.site, submission.destination
    location = destination_after_login(*sent)
    if path and not submission.destination:
        location = mount_url(submission.environ) + path
    location = _way_to_demand(submission, issued) or location
    headers = (login_cookie(submission.environ, submission.site, issued),)
    if submission.wants_json:
        return json_response({"detail": detail, "next": location}, headers=headers)
    done = () if submission.destination else done_cookies(submission.environ, location)
    return redirect(HTTPStatus.SEE_OTHER, location, headers=(*headers, *done))


def has_token(submission: Submission) -> bool:
    """Return whether a request carries a bearer token."""
    return bearer_token(submission.environ.get("HTTP_AUTHORIZATION", "")) is not None
