"""GET, POST /auth/confirm: a user who is logged in proves their identity again."""

from collections.abc import Mapping
from typing import NamedTuple

from wsgiauth.accounts.models import User
from wsgiauth.authentication.browser_keys import CONFIRM
from wsgiauth.authentication.email_codes import REQUEST, SEND, EmailCodes
from wsgiauth.authentication.federated_logins import FederatedLogins
from wsgiauth.authentication.freshness import confirm
from wsgiauth.authentication.methods import ONE_TIME_CODE, PASSWORD
from wsgiauth.events.actors import checked, feature_code
from wsgiauth.exceptions import UnauthenticatedError, ValidationError
from wsgiauth.feature import ConfirmationWay
from wsgiauth.forms import NEXT, MemberForm, MemberSubmission, Refusal
from wsgiauth.forms.endpoint import BackLink, Endpoint, SiteMap
from wsgiauth.forms.fields import Text
from wsgiauth.forms.handover import forgot_url, hand_over_renewed
from wsgiauth.forms.proofs import (
    CODE,
    CREDENTIAL,
    PasskeyPage,
    has_refused_code,
    has_refused_recovery_code,
    passkey_options,
    require_factor,
    requiring_password,
    typed_problem,
)
from wsgiauth.messages import _
from wsgiauth.openapi.answers import Answer, Problem
from wsgiauth.openapi.problems import (
    APPLICATION_FAILED,
    CHALLENGE,
    FACTOR_DEMANDED,
    INVALID,
    THROTTLED,
)
from wsgiauth.site import Site
from wsgiauth.web.failures import RESEND, SWITCH, must_send_again
from wsgiauth.web.responses import Response
from wsgiauth.web.urls import mount_url, path_below, root_url, with_next

PROVIDER = "provider"  # the field of the buttons that lead to a provider


class NextStep(NamedTuple):
    """The purpose of the page that comes next, and another page to go to."""

    words: str = ""  # the purpose; empty if it has no name
    subject: str = ""  # the name of the user or group that it is about
    back_url: str = "/"  # a page that needs no confirmation
    back_text: str = _("Back to the home page")


class ConfirmPage(PasskeyPage):
    """The form that asks for the password, the second factor or, without one, a provider."""

    template = "confirm.html"
    confirm_url: str
    switch_url: str  # the login form, for another account or a new session
    label: str
    has_password: bool = True
    has_factor: bool = False  # the form asks for it instead of the password
    has_app: bool = False  # the code is from an authenticator app
    has_codes: bool = False  # recovery codes are left
    sends_code: bool = False  # by email, to a user without a password
    has_code: bool = False  # the browser has asked for one
    # Only a new login helps: at a provider, it starts a fresh session, but confirms none.
    can_log_in_again: bool = False
    is_resent: bool = False  # a form was not processed, and must be sent again
    next_step: NextStep
    forgot_url: str | None = None  # None where the site sends no email


# By whether users log in with a password.
_NO_PASSWORD = {
    True: _("Your account has no password. Log in again at a provider."),
    False: _("Log in again at a provider."),
}
_NO_PASSWORD_BUT_CODES = {
    True: _("Your account has no password. Ask for a code by email."),
    False: _("Ask for a code by email."),
}


_WRONG_PROOF = Problem(
    "WrongProof",
    401,
    {
        "invalid_credentials": "The password is wrong.",
        "invalid_code": "The code is not right.",
        "invalid_passkey": "The passkey is not right.",
    },
    headers={"WWW-Authenticate": CHALLENGE},
)

# The others are of features, as buttons.
OWN_FIELDS = ("password", CODE, CREDENTIAL, NEXT)


class Confirm(MemberForm):
    """Makes the session fresh, for changes that need a recent proof.

    Args:
        site_map: Finds the next page, so that the form shows no words of the query.
        ways: See `Feature.confirmations`.
    """

    fields = (
        Text(
            "password",
            "Of a user without a second factor.",
            format="password",
            examples=["four unrelated words"],
        ),
        Text(CODE, "Of the second factor, or a recovery code; with `request`, of an email."),
        Text(
            CREDENTIAL,
            "For browsers: the `AuthenticationResponseJSON` of a passkey, for the options of the"
            " page.",
        ),
        Text(
            PROVIDER,
            "Of a user without a second factor: a connected provider, which must send `auth_time`."
            " The answer sets a cookie, with which a browser comes back.",
        ),
        Text(
            REQUEST,
            "Of a user with neither a password nor a second factor: `request` of the answer of"
            " /code. Only with `LOGIN_CODES`.",
        ),
        Text(SEND, "For browsers: anything asks for an email with a code."),
    )
    failures = (APPLICATION_FAILED,)
    leads_elsewhere = True

    def problems(self, method: str) -> tuple[Problem | Answer, ...]:
        """Return those of the form, which gives a session its second factor."""
        found = super().problems(method)
        return tuple(each for each in found if each is not FACTOR_DEMANDED or method == "get")

    def __init__(self, site_map: SiteMap, ways: Mapping[str, ConfirmationWay]) -> None:
        self._map = site_map
        self._ways = ways
        of_ways = (problem for way in ways.values() for problem in way.refusals)
        self.refusals = (INVALID, _WRONG_PROOF, THROTTLED, *of_ways)

    def strings(self, site: Site) -> tuple[str, ...]:
        """Return also the fields of the ways of further features."""
        return tuple(dict.fromkeys((*super().strings(site), *self._ways)))

    def act(self, submission: MemberSubmission) -> Response:
        """Renew the session, which is then fresh, or let a feature answer."""
        user, site = submission.member.user, submission.site
        for field, way in self._ways.items():
            if submission.fields[field] and not site.factors.is_needed_by(user):
                return way.act(submission)
        user, methods = _prove(submission)
        issued = confirm(submission.member.session_id, user, site.tokens, methods=methods)
        if issued is None:
            raise UnauthenticatedError("invalid_token")
        return hand_over_renewed(submission, issued, _("Confirmed."))

    def page(self, submission: MemberSubmission, refusal: Refusal) -> ConfirmPage:
        """Return the forms, without the password."""
        environ, destination = submission.environ, submission.destination
        mount = mount_url(environ)
        (user, session_id), site = submission.member, submission.site
        methods = [each.method for each in site.factors.of(user)]
        federated, codes = site.part(FederatedLogins), site.part(EmailCodes)
        sends_code = has_code = False
        if codes is not None and not methods and codes.can_confirm(user):
            sends_code = True
            has_code = bool(site.identifier.sent_cookie(environ, codes.waiting))
        has_password = site.ways_in.has_password(user)
        proves_elsewhere = not methods and not has_password
        connected = federated.connected(user) if federated and proves_elsewhere else ()
        is_resent = must_send_again(environ)
        url = f"{mount}/confirm{f'?{RESEND}=1' if is_resent else ''}"
        providers = federated.buttons_of(user, url) if federated and not methods else ()
        proves_here = bool(providers) or sends_code
        return ConfirmPage(
            confirm_url=url,
            switch_url=with_next(f"{mount}/login?{SWITCH}=1", destination),
            label=user.label,
            has_password=has_password,
            providers=providers,
            has_factor=bool(methods),
            has_app=ONE_TIME_CODE in methods,
            can_log_in_again=not proves_here and any(each.is_offered for each in connected),
            has_codes=site.factors.codes_left(user) > 0,
            passkey_options=passkey_options(site, CONFIRM, session_id, user=user),
            is_code_refused=has_refused_code(submission, refusal),
            is_recovery=has_refused_recovery_code(submission, refusal),
            sends_code=sends_code,
            has_code=has_code,
            is_resent=is_resent,
            next_step=self._next_step(submission),
            forgot_url=forgot_url(submission),
            next=destination,
            message=refusal.text,
        )

    def _next_step(self, submission: MemberSubmission) -> NextStep:
        environ, site = submission.environ, submission.site
        mount = mount_url(environ)
        path = path_below(submission.destination, mount)
        found = self._map.find(path, submission.member.user, site.settings)
        # A session that lacks something must not learn the name of the subject of another page.
        if found is None or site.identifier.identify(environ).lacking is not None:
            return NextStep(back_url=f"{root_url(environ)}/")
        endpoint, arguments = found
        step = NextStep(back_url=f"{mount}/{Endpoint.back.path}", back_text=Endpoint.back.text)
        with feature_code(self._map.owner(endpoint), "the words about the step after a proof"):
            back = checked(BackLink, endpoint.back).filled(arguments)
            step = NextStep(back_url=f"{mount}/{back.path}", back_text=back.text)
            words = endpoint.step_in_words(arguments, submission.member.user)
            subject = endpoint.name_in(arguments)
            return checked(NextStep, step._replace(words=words, subject=subject))
        return step


def _prove(submission: MemberSubmission) -> tuple[User, str]:
    """Return the user as read before the proof, and the methods that they have proven."""
    (user, session_id), codes = submission.member, submission.site.part(EmailCodes)
    has_passwords = submission.site.settings.PASSWORD_LOGIN
    factors = submission.site.factors
    is_by_key = bool(submission.fields[CREDENTIAL] and factors.first_of(user))
    if is_by_key or factors.is_needed_by(user):
        methods = require_factor(
            submission, user, CONFIRM, session_id, missing=_("Enter a code."), session_id=session_id
        )
        return user, methods
    if codes is not None and codes.can_confirm(user):
        raise ValidationError({SEND: [_NO_PASSWORD_BUT_CODES[has_passwords]]})
    if not submission.site.ways_in.has_password(user):
        raise ValidationError({PROVIDER: [_NO_PASSWORD[has_passwords]]})
    password = submission.fields["password"]
    problem = typed_problem(submission.site, password, _("Enter your password."))
    if problem is not None:
        raise ValidationError({"password": [problem]})
    with requiring_password(submission, password) as proven:
        return proven, PASSWORD
