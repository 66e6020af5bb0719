"""GET, POST /auth/username: a new username."""

from wsgiauth.accounts import names, update_user
from wsgiauth.accounts.listing import profile
from wsgiauth.accounts.models import User
from wsgiauth.exceptions import UnauthenticatedError, ValidationError
from wsgiauth.forms import FormPage, MemberForm, MemberSubmission, Refusal, see_other
from wsgiauth.forms.endpoint import LOGIN, AccountLink
from wsgiauth.forms.fields import Text
from wsgiauth.messages import _
from wsgiauth.openapi.problems import INVALID, TAKEN, THROTTLED
from wsgiauth.openapi.strings import USERNAME
from wsgiauth.settings import Settings
from wsgiauth.web.pages import UrlBelow
from wsgiauth.web.responses import Response, json_response


class UsernamePage(FormPage):
    """The form for a new username."""

    template = "username.html"
    username_url = UrlBelow("username")
    present: str
    username: str = ""  # the new name, as it was sent


class Username(MemberForm):
    """Changes the username, and revokes no session."""

    account_link = AccountLink(
        LOGIN, _("Change your username"), _("You stay logged in."), place=2, icon="person"
    )
    is_sensitive = True
    fields = (Text("username", USERNAME, required=True),)
    refusals = (INVALID, TAKEN, THROTTLED)

    def is_offered(self, settings: Settings) -> bool:
        """Return whether people have usernames."""
        return settings.USERNAMES

    def act(self, submission: MemberSubmission) -> Response:
        """Change the name."""
        site, present = submission.site, submission.member.user
        username = submission.fields["username"]
        problem = names.new_username_problem(username)
        if username == present.username:
            problem = _("This is already your username.")
        if problem is not None:
            raise ValidationError({"username": [problem]})
        # Counted even if the name is taken, because the answer says so.
        site.throttle.registration(submission.networks).begin()
        try:
            user = User.get_by_id(present.id)  # not the object that the page shows
            update_user(user, username=username)
        except User.DoesNotExist:
            raise UnauthenticatedError("invalid_token") from None
        site.throttle.follow(user, submission.networks)
        if submission.wants_json:
            return json_response(profile(user, site.settings))
        return see_other(submission, "account?done=username")

    def page(self, submission: MemberSubmission, refusal: Refusal) -> UsernamePage:
        """Return the form."""
        return UsernamePage(
            present=submission.member.user.username,
            username=submission.fields["username"],
            message=refusal.message,
            errors=refusal.errors,
        )
