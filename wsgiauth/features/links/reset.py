"""GET, POST /auth/reset: a new password, by a link."""

from wsgiauth.accounts.models import User, is_proven_here
from wsgiauth.authentication.password import find_holder, reset_password
from wsgiauth.features.links.detours import forget_next, kept_next
from wsgiauth.features.links.link_form import LinkExpiredError, LinkForm
from wsgiauth.forms import TOKEN, FormPage, Refusal, Submission, see_other
from wsgiauth.forms.fields import Text
from wsgiauth.messages import _
from wsgiauth.openapi.strings import NEW_PASSWORD
from wsgiauth.settings import Settings
from wsgiauth.site import Site
from wsgiauth.throttling.hash_slots import Claim
from wsgiauth.web.pages import UrlBelow
from wsgiauth.web.responses import Response, json_response
from wsgiauth.web.urls import with_next


class ResetPage(FormPage):
    """The form to choose a new password."""

    template = "reset.html"
    reset_url = UrlBelow("reset")
    token: str
    label: str
    has_password: bool = True
    removes_factors: bool = False  # the new password removes the other ways to log in


class Reset(LinkForm):
    """Changes the password, and revokes all sessions of the user, who then logs in again."""

    fields = (
        Text(
            TOKEN,
            "The field `token` in the link of the email.",
            required=True,
            examples=["Zr2kq0bq3ZyYTTe1GQkVjL3Fh4vXn6s8mWc5oPdAiUE"],
        ),
        Text("password", NEW_PASSWORD, required=True),
    )

    def is_offered(self, settings: Settings) -> bool:
        """Return whether users log in with a password."""
        return settings.PASSWORD_LOGIN and super().is_offered(settings)

    def act(self, submission: Submission) -> Response:
        """Set the new password."""
        site, secret = submission.site, submission.fields[TOKEN]
        user = _require_holder(submission)
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
            changed = User.get_or_none(User.id == user.id) or user  # with the new stamp
            site.throttle.recognise(changed, submission.networks)
        if submission.wants_json:
            return json_response({"detail": _("Password changed. Log in with the new one.")})
        login = with_next("login?done=reset", kept_next(submission))
        return see_other(submission, login, *forget_next(submission), name=user.label)

    def page(self, submission: Submission, refusal: Refusal) -> ResetPage:
        """Return the form without the password; raise LinkExpiredError for an expired link."""
        user, site = _require_holder(submission), submission.site
        return ResetPage(
            token=submission.fields[TOKEN],
            label=user.label,
            has_password=user.has_password,
            removes_factors=not is_proven_here(user)
            and (site.factors.are_offered or bool(site.settings.OIDC_PROVIDERS)),
            message=refusal.message,
            errors=refusal.errors,
        )


def _require_holder(submission: Submission) -> User:
    user = find_holder(submission.fields[TOKEN], now=submission.site.tokens.now())
    if user is None:
        raise _link_expired(submission.site)
    return user


def _link_expired(site: Site) -> LinkExpiredError:
    if site.outbox is None:
        advice = _("Ask the administrators of this site for a new one.")
        return LinkExpiredError(advice, {"login": _("Go to the login page")})
    return LinkExpiredError(_("Ask for a new one."), {"forgot": _("Ask for a new link")})
