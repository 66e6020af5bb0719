"""GET, POST /auth/reset: a new password, by a link.

The link is a login instead where there are no passwords, and for a user whose passkey replaces the
password: a new password would make the lost passkey a second factor.
"""

from dataclasses import replace
from http import HTTPStatus

from wsgiauth.accounts.models import User, is_proven_here
from wsgiauth.authentication.methods import EMAIL
from wsgiauth.authentication.password import find_link, is_mailed, redeem_login, reset_password
from wsgiauth.exceptions import RequestError
from wsgiauth.features.links.detours import forget_next, kept_next
from wsgiauth.features.links.link_form import EXPIRED, LinkExpiredError, LinkForm
from wsgiauth.forms import TOKEN, FormPage, Refusal, Submission, see_other
from wsgiauth.forms.fields import Text
from wsgiauth.forms.handover import hand_over, start_session
from wsgiauth.forms.new_keys import INVALID_OR_BROWSER, browser_required
from wsgiauth.forms.proofs import ask_for_second_step
from wsgiauth.messages import _
from wsgiauth.openapi.answers import Problem
from wsgiauth.openapi.problems import APPLICATION_FAILED, THROTTLED
from wsgiauth.openapi.strings import NEW_PASSWORD
from wsgiauth.settings import Settings
from wsgiauth.site import Site
from wsgiauth.storage import database
from wsgiauth.throttling.hash_slots import Claim
from wsgiauth.web.pages import UrlBelow
from wsgiauth.web.responses import Response, json_response
from wsgiauth.web.urls import with_next

OTHER_ACCOUNT = Problem(
    "OtherAccountLink",
    403,
    {"other_account": "The link is a login, and the browser is logged in as another user."},
)


class ResetPage(FormPage):
    """The form to choose a new password."""

    template = "reset.html"
    reset_url = UrlBelow("reset")
    token: str
    label: str
    has_password: bool = True
    is_login: bool = False  # the link logs in, without a password
    removes_factors: bool = False  # the link removes the other ways to log in


class Reset(LinkForm):
    """Changes the password, and revokes all sessions of the user, who then logs in again.

    Without a password, logs a browser in.
    """

    fields = (
        Text(
            TOKEN,
            "The field `token` in the link of the email.",
            required=True,
            examples=["Zr2kq0bq3ZyYTTe1GQkVjL3Fh4vXn6s8mWc5oPdAiUE"],
        ),
        Text("password", NEW_PASSWORD, required=True),
    )

    refusals = (INVALID_OR_BROWSER, OTHER_ACCOUNT, EXPIRED, THROTTLED)
    failures = (APPLICATION_FAILED,)

    def is_offered(self, settings: Settings) -> bool:
        """Return whether users log in with a password, or can get a link instead of a code."""
        return (settings.PASSWORD_LOGIN or settings.LOGIN_CODES) and super().is_offered(settings)

    def act(self, submission: Submission) -> Response:
        """Set the new password."""
        site, secret = submission.site, submission.fields[TOKEN]
        user, is_login = _require_holder(submission)
        if is_login:
            return _log_in(submission, user)
        with site.hash_slots.slot(Claim(submission.networks)):
            is_changed = reset_password(
                user,
                secret,
                submission.fields["password"],
                settings=site.settings,
                now=site.tokens.now(),
                at_first_proof=site.at_first_proof,
            )
        if not is_changed:
            raise _link_expired(site)
        if not site.factors.is_needed_by(user):  # otherwise a right code makes the client known
            changed = User.find_by_id(user.id) or user  # with the new stamp
            site.throttle.recognise(changed, submission.networks)
        if submission.wants_json:
            return json_response({"detail": _("Password changed. Log in with the new one.")})
        login = with_next("login?done=reset", kept_next(submission))
        return see_other(submission, login, *forget_next(submission), name=user.label)

    def page(self, submission: Submission, refusal: Refusal) -> ResetPage:
        """Return the form without the password; raise LinkExpiredError for an expired link."""
        (user, is_login), site = _require_holder(submission), submission.site
        has_others = site.factors.are_offered or bool(site.settings.OIDC_PROVIDERS)
        return ResetPage(
            token=submission.fields[TOKEN],
            label=user.label,
            has_password=user.has_password,
            is_login=is_login,
            removes_factors=not is_proven_here(user) and (is_login or has_others),
            message=refusal.message,
            errors=refusal.errors,
        )


def _require_holder(submission: Submission) -> tuple[User, bool]:
    """Return the user of the link, and whether the link is a login."""
    site = submission.site
    has_passwords = site.settings.PASSWORD_LOGIN
    row = find_link(submission.fields[TOKEN], now=site.tokens.now())
    user = None if row is None else row.user
    if row is None or user is None or not (has_passwords or is_mailed(row)):
        raise _link_expired(site)
    has_first = is_mailed(row) and is_proven_here(user) and bool(site.factors.first_of(user))
    if has_passwords and not has_first:
        return user, False
    _require_no_other_user(submission, user)
    return user, True


def _require_no_other_user(submission: Submission, user: User) -> None:
    """Refuse to replace the session of another user by that of a link, perhaps a stranger's."""
    session = submission.site.identifier.identify_anyway(submission.environ).any_session
    if submission.is_program or session is None or session.user == user:
        return
    detail = _(
        "This link logs in to another account. You are logged in as %(user)s: log out first, then"
        " open the link again.",
        user=session.user.label,
    )
    error = RequestError(HTTPStatus.FORBIDDEN, "other_account", detail)
    error.pages = {"account": _("Your account")}
    raise error


def _log_in(submission: Submission, user: User) -> Response:
    """Start a session, unless the login needs a second factor first."""
    site = submission.site
    if submission.is_program:
        raise browser_required(_("This link logs in a browser: open it there."))
    site.throttle.login_without_password(user).begin()
    with database.atomic():
        stored = redeem_login(
            user,
            submission.fields[TOKEN],
            now=site.tokens.now(),
            at_first_proof=site.at_first_proof,
        )
        if stored is None:
            raise _link_expired(site)
        site.factors.report_skipped(stored, EMAIL)
    kept = replace(submission, destination=kept_next(submission))
    if site.factors.is_needed_by(stored):
        response = ask_for_second_step(kept, stored, methods=EMAIL)
    else:
        issued = start_session(kept, stored, EMAIL)
        if issued is None:  # the user has just changed
            raise _link_expired(site)
        site.throttle.recognise(stored, submission.networks)
        response = hand_over(kept, issued)
    return replace(response, headers=(*response.headers, *forget_next(submission)))


def _link_expired(site: Site) -> LinkExpiredError:
    if site.outbox is None:
        advice = _("Ask the administrators of this site for a new one.")
        return LinkExpiredError(advice, {"login": _("Go to the login page")})
    page = "forgot" if site.settings.PASSWORD_LOGIN else "code"
    return LinkExpiredError(_("Ask for a new one."), {page: _("Ask for a new link")})
