"""GET, POST /auth/close: users close their account, which deletes it."""

from http import HTTPStatus

from wsgiauth.accounts import delete_user
from wsgiauth.accounts.models import User
from wsgiauth.exceptions import InUseError, LastSuperuserError, RequestError, UnauthenticatedError
from wsgiauth.forms import FormPage, MemberForm, MemberSubmission, Refusal, see_other
from wsgiauth.forms.endpoint import LEAVING, AccountLink
from wsgiauth.messages import _
from wsgiauth.openapi.answers import Problem
from wsgiauth.web.pages import UrlBelow
from wsgiauth.web.responses import Response, json_response


class ClosePage(FormPage):
    """The consequences, and the button."""

    template = "close.html"
    close_url = UrlBelow("close")
    label: str
    email: str


NOT_DELETABLE = Problem(
    "NotDeletable",
    409,
    {
        "last_superuser": "The user is the last active superuser.",
        "in_use": "Data of the application refers to the account, so it cannot be deleted.",
    },
)


class Close(MemberForm):
    """Deletes the user and all of their data. Others can then register the names."""

    account_link = AccountLink(
        LEAVING,
        _("Close your account"),
        _("This deletes your account. It cannot be undone."),
        icon="trash",
    )
    is_sensitive = True
    refusals = (NOT_DELETABLE,)

    def act(self, submission: MemberSubmission) -> Response:
        """Delete the user."""
        try:
            delete_user(submission.member.user)
        except LastSuperuserError:
            raise RequestError(
                HTTPStatus.CONFLICT,
                "last_superuser",
                _("You are the last active superuser. Make another user a superuser first."),
            ) from None
        except InUseError:
            detail = _(
                "Your account cannot be closed now, because data of this site belongs to it. Ask"
                " the site's operator."
            )
            raise RequestError(HTTPStatus.CONFLICT, "in_use", detail) from None
        except User.DoesNotExist:
            raise UnauthenticatedError("invalid_token") from None
        cleared = (submission.site.identifier.expired_cookie(submission.environ),)
        if submission.wants_json:
            return json_response({"detail": _("Account closed.")}, headers=cleared)
        return see_other(submission, "login?done=closed", *cleared)

    def page(self, submission: MemberSubmission, refusal: Refusal) -> ClosePage:
        """Return the page with the button."""
        user = submission.member.user
        return ClosePage(label=user.label, email=user.email, message=refusal.text)
