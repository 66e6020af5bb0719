"""GET, POST /auth/restore: undo a change of the email address, by a link to the former address."""

from wsgiauth.accounts import names
from wsgiauth.accounts.models import User, has_usernames
from wsgiauth.authentication.restoring import Restoration, find_restoration, restore_address
from wsgiauth.features.links.link_form import EXPIRED, LinkExpiredError, LinkForm
from wsgiauth.forms import TOKEN, FormPage, Refusal, Submission
from wsgiauth.forms.fields import Text
from wsgiauth.messages import _
from wsgiauth.openapi.problems import TAKEN
from wsgiauth.settings import Settings
from wsgiauth.site import Site
from wsgiauth.web.pages import Page, UrlBelow
from wsgiauth.web.responses import Response, json_response


class RestorePage(FormPage):
    """The page with the button that restores the address."""

    template = "restore.html"
    restore_url = UrlBelow("restore")
    forgot_url = UrlBelow("forgot")
    token: str
    label: str
    email: str  # the address to restore
    present: str  # in part
    is_taken: bool = False  # another account has the address to restore


class RestoredPage(Page):
    """The next steps after the address was restored."""

    template = "restored.html"
    forgot_url = UrlBelow("forgot")
    login_url = UrlBelow("login")
    label: str
    email: str
    has_factors: bool = False  # which a thief may have added


class Restore(LinkForm):
    """Restores the address, and revokes all sessions, API keys, links and trusted browsers.

    The client stays anonymous, so the link alone opens nothing.
    """

    fields = (
        Text(
            TOKEN,
            "The field `token` in the link of the email.",
            required=True,
            examples=["Zr2kq0bq3ZyYTTe1GQkVjL3Fh4vXn6s8mWc5oPdAiUE"],
        ),
    )
    refusals = (TAKEN, EXPIRED)

    def is_offered(self, settings: Settings) -> bool:
        """Return whether the site sends email; no other way leads to a link."""
        return settings.MAIL_URL is not None and super().is_offered(settings)

    def act(self, submission: Submission) -> Response:
        """Restore the address; raise TakenError if another account has it."""
        restoration = _require_restoration(submission)
        if not restore_address(restoration):
            raise _link_expired(submission.site)
        if submission.wants_json:
            return json_response({"detail": _("Email address restored. Everyone was logged out.")})
        user, site = restoration.user, submission.site
        has_factors = bool(site.factors.of(user))
        page = RestoredPage(
            label=_label(restoration),
            email=restoration.former.email,
            has_factors=has_factors,
        )
        return submission.site.pages.render(submission.environ, page)

    def page(self, submission: Submission, refusal: Refusal) -> RestorePage:
        """Return the page with the button; raise LinkExpiredError for an expired link."""
        restoration = _require_restoration(submission)
        user, former = restoration.user, restoration.former
        is_owner = (User.email_key == names.key(former.email)) & (User.id != user.id)
        return RestorePage(
            token=submission.fields[TOKEN],
            label=_label(restoration),
            email=former.email,
            present=names.email_in_part(user.email),
            is_taken=User.select().where(is_owner).exists(),
            message=refusal.message,
        )


def _label(restoration: Restoration) -> str:
    """Return what the reader of the former mailbox calls the account: never the new address."""
    user, former = restoration.user, restoration.former
    return user.username if has_usernames() else former.email


def _require_restoration(submission: Submission) -> Restoration:
    now = submission.site.tokens.now()
    restoration = find_restoration(submission.fields[TOKEN], now=now)
    if restoration is None:
        raise _link_expired(submission.site)
    return restoration


def _link_expired(site: Site) -> LinkExpiredError:
    pages = {"login": _("Log in")}
    if site.settings.PASSWORD_LOGIN:
        pages["forgot"] = _("Choose a new password")
    return LinkExpiredError(_("Log in to see the email address of your account."), pages)
