"""GET, POST /auth/login: a session for a name and a password, or for a passkey."""

from http import HTTPStatus

from wsgiauth import events
from wsgiauth.authentication import lifetimes
from wsgiauth.authentication.browser_keys import LOG_IN, BrowserKeys, KeyProof
from wsgiauth.authentication.email_codes import EmailCodes
from wsgiauth.authentication.federated_logins import FederatedLogins
from wsgiauth.authentication.methods import PASSWORD
from wsgiauth.authentication.tokens import IssuedTokens
from wsgiauth.endpoints.register import is_open
from wsgiauth.events import kinds
from wsgiauth.exceptions import RequestError, ValidationError
from wsgiauth.forms import Refusal, Submission, tabs
from wsgiauth.forms.done import Done, just_done
from wsgiauth.forms.endpoint import unauthorized
from wsgiauth.forms.fields import Flag, Text
from wsgiauth.forms.handover import (
    REFRESH,
    REMEMBER,
    GuestForm,
    forgot_url,
    hand_over,
    hand_over_tokens,
    login_buttons,
    start_browser_session,
    start_session,
)
from wsgiauth.forms.proofs import (
    ACCOUNT_NAME,
    CODE,
    CREDENTIAL,
    NAME_FIELD,
    PasskeyPage,
    ask_for_second_step,
    invalid_passkey,
    missing_name,
    passkey_options,
    require_factor,
    typed_problem,
)
from wsgiauth.logins import check_password
from wsgiauth.messages import _
from wsgiauth.openapi.answers import Problem
from wsgiauth.openapi.problems import APPLICATION_FAILED, CHALLENGE, INVALID, THROTTLED
from wsgiauth.site import Site
from wsgiauth.web.failures import SWITCH, UNSENT
from wsgiauth.web.pages import UrlBelow
from wsgiauth.web.request import query_field
from wsgiauth.web.responses import Response
from wsgiauth.web.urls import leads_to, mount_url, with_next

_NOTICES = {
    "closed": _("Your account is closed."),
    "logout": _("You are logged out."),
    "reset": _("Your password has been changed. Log in with the new one."),
}
_UNSENT = _(
    "You are not logged in, so the form that you sent was not processed. Log in, then fill it in"
    " again."
)
_TO_CONNECT = _(
    "Log in to your account on this site as usual. You can then connect it to the account of the"
    " other provider."
)


class LoginPage(PasskeyPage):
    """The login form."""

    template = "login.html"
    typed = ("username", "password")
    login_url = UrlBelow("login")
    register_url: str | None  # None if registration is closed
    forgot_url: str | None = None  # None if the site sends no email
    code_url: str | None = None  # None if the site sends no codes to log in
    username: str = ""
    remember_days: int = 30  # 0: "Keep me logged in" is not offered
    remember: bool = False
    was_logged_out: bool = False  # the browser has the cookie of a session that has ended


_REFUSED = Problem(
    "InvalidCredentials",
    401,
    {
        "invalid_credentials": "The name and the password do not match an active account.",
        "second_factor_required": "The password, or the code of the email, is right, and the user"
        " has a second factor, of `methods`: send the same again with its code.",
        "invalid_code": "The code is not right.",
    },
    headers={"WWW-Authenticate": CHALLENGE},
)
_WITHOUT_PASSWORDS = Problem(
    "WithoutPasswords",
    404,
    {"not_found": "PASSWORD_LOGIN is off: no login has a password."},
)


class LogIn(GuestForm):
    """Starts a session: a token for a program, a cookie for a browser or a script."""

    fields = (
        NAME_FIELD,
        Text(
            "password",
            "More than 72 bytes, or NUL: 422, which is no attempt.",
            required=True,
            format="password",
            examples=["four unrelated words"],
        ),
        Text(
            CODE,
            "Of the second factor, or a recovery code: after the failure `second_factor_required`.",
        ),
        Text(CREDENTIAL, None),
        Flag(REFRESH, "Whether to return a refresh token, too."),
        Flag(REMEMBER, "Whether the refresh token lives for weeks instead of hours."),
    )
    refusals = (_REFUSED, _WITHOUT_PASSWORDS, INVALID, THROTTLED)
    failures = (APPLICATION_FAILED,)

    def act(self, submission: Submission) -> Response:
        """Start a session, unless the login needs a second factor first."""
        if submission.fields[CREDENTIAL] and not submission.is_program:
            return hand_over(submission, _log_in_with_passkey(submission))
        if not submission.site.settings.PASSWORD_LOGIN:
            detail = _("This site has no logins with a password.")
            raise RequestError(HTTPStatus.NOT_FOUND, "not_found", detail)
        name, password = submission.fields[ACCOUNT_NAME], submission.fields["password"]
        _require_possible(submission.site, name, password)
        user = check_password(submission.site, submission.networks, name, password)
        methods = PASSWORD
        if user is not None and submission.site.factors.is_needed_by(user):
            if not submission.fields[CODE]:
                return ask_for_second_step(submission, user)
            methods = f"{PASSWORD} {require_factor(submission, user)}"
        issued = None if user is None else start_session(submission, user, methods)
        if issued is None:
            raise unauthorized(
                "invalid_credentials",
                _("The username and password do not match an active account.")
                if submission.site.settings.USERNAMES
                else _("The email address and password do not match an active account."),
            )
        finish = hand_over_tokens if submission.is_program else hand_over
        return finish(submission, issued)

    def page(self, submission: Submission, refusal: Refusal) -> LoginPage:
        """Return the form."""
        mount, destination = mount_url(submission.environ), submission.destination
        register_url = with_next(f"{mount}/register", destination)
        done, codes = just_done(submission.environ), submission.site.part(EmailCodes)
        return LoginPage(
            register_url=register_url if is_open(submission.site.settings) else None,
            forgot_url=forgot_url(submission),
            code_url=f"{mount}/{codes.path}" if codes is not None else None,
            next=destination,
            username=submission.fields[ACCOUNT_NAME] or done.name or _suggested_name(submission),
            passkey_options=passkey_options(submission.site, LOG_IN),
            providers=login_buttons(submission.environ, submission.site),
            remember_days=lifetimes.remembered_days(submission.site.settings),
            remember=REMEMBER in submission.flags,
            message=refusal.text,
            was_logged_out=not refusal.text and _was_logged_out(submission),
            notice=_notice(submission, done),
        )


def _require_possible(site: Site, name: str, password: str) -> None:
    """Refuse a name or password that no account has, without a look-up, a count or a hash."""
    errors: dict[str, list[str]] = {}
    if not name:
        errors["username"] = [missing_name(site.settings)]
    problem = typed_problem(site, password, _("Enter your password."))
    if problem is not None:
        errors["password"] = [problem]
    if errors:
        raise ValidationError(errors)


def _was_logged_out(submission: Submission) -> bool:
    environ = submission.environ
    if query_field(environ, SWITCH):
        return False
    return submission.site.identifier.identify_anyway(environ).error == "invalid_token"


def _suggested_name(submission: Submission) -> str:
    return submission.site.pages.name_for(submission.environ, submission.destination)


def _notice(submission: Submission, done: Done) -> str:
    """Return the notice about the last change, or the reason for the login."""
    environ, site = submission.environ, submission.site
    if site.identifier.has_rival_cookies(environ):
        return _(
            "Your browser sends two different cookies named %(name)s, so this site cannot tell"
            " which one is yours. Delete the cookies of this site and of its parent domain in the"
            " settings of your browser, then log in again.",
            name=site.identifier.cookie_name(environ),
        )
    if query_field(environ, "done") == UNSENT:
        return _UNSENT
    if _leads_to_complete(submission):
        return _TO_CONNECT
    return _NOTICES.get(done.word, "")


def _leads_to_complete(submission: Submission) -> bool:
    """Return whether an account from elsewhere waits for its user to log in."""
    environ, site, destination = submission.environ, submission.site, submission.destination
    federated = site.part(FederatedLogins)
    if federated is None or not leads_to(destination, f"{mount_url(environ)}/complete"):
        return False
    return bool(tabs.sent_cookies(environ, site, federated.waiting, destination))


def _log_in_with_passkey(submission: Submission) -> IssuedTokens:
    """Start a session of the user whose passkey it is, without a name or a password."""
    proof, issued = _accept_passkey(submission), None
    if proof is not None:
        issued = start_browser_session(submission, proof.user, methods=proof.methods)
    if issued is None:  # or the user has just changed
        events.emit(kinds.LOGIN_FAILED, reason="passkey")
        raise invalid_passkey()
    return issued


def _accept_passkey(submission: Submission) -> KeyProof | None:
    """Return whose passkey it is; count an attempt that costs a query or a signature."""
    site = submission.site
    keys, now = site.part(BrowserKeys), site.tokens.now()
    presented = keys.read(submission.fields[CREDENTIAL], LOG_IN, now=now) if keys else None
    if keys is None or presented is None:
        return None
    attempt = site.throttle.of_client(keys.limit, submission.networks)
    attempt.begin()
    proof = presented.accept()
    if proof is not None:
        attempt.succeeded()
        site.throttle.login_without_password(proof.user).begin()
    return proof
