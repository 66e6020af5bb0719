"""GET, POST /auth/apps: users open apps, see which ones they have allowed, and revoke one."""

from http import HTTPStatus
from wsgiref.types import WSGIEnvironment

from wsgiauth.authentication.identity import UserSession
from wsgiauth.exceptions import RequestError, ValidationError
from wsgiauth.features.oauth_server import clients, grants
from wsgiauth.features.oauth_server.apps import (
    MOST_LISTED,
    App,
    LaunchableApp,
    list_apps,
    list_launchable,
)
from wsgiauth.forms import FormPage, ListForm, MemberSubmission, Refusal
from wsgiauth.forms.done import Notice, notice_of
from wsgiauth.forms.endpoint import PROGRAMS, AccountLink
from wsgiauth.forms.fields import Text
from wsgiauth.messages import _
from wsgiauth.openapi.answers import Problem
from wsgiauth.openapi.problems import INVALID
from wsgiauth.settings import Settings
from wsgiauth.site import Site
from wsgiauth.web.pages import UrlBelow
from wsgiauth.web.responses import Response

_NOTICES: dict[str, Notice] = {
    "revoked": lambda name: _("The app “%(name)s” can no longer use your account.", name=name)
}


class AppsPage(FormPage):
    """The apps that a user can open, and those that the user has allowed."""

    template = "apps.html"
    apps_url = UrlBelow("apps")
    apps: tuple[App, ...]
    launch: tuple[LaunchableApp, ...] = ()  # the apps that the user can open
    most: int = MOST_LISTED


_NO_SUCH_APP = Problem("NoSuchApp", 404, {"no_such_app": "The caller has no app with this id."})


class Apps(ListForm):
    """Lists the apps with what they can do, and revokes one."""

    account_link = AccountLink(
        PROGRAMS,
        _("Apps that use your account"),
        _("See which apps you can open with this account, and which have access to it."),
    )
    step = _("Revoke an app")
    fields = (
        Text("revoke", "The `id` of the app.", required=True, examples=["4f2a90c81d37be650912"]),
    )
    refusals = (INVALID, _NO_SUCH_APP)

    def is_offered(self, settings: Settings) -> bool:
        """Return whether the site is a provider."""
        return settings.OAUTH_SERVER

    def document(
        self, environ: WSGIEnvironment, member: UserSession, site: Site
    ) -> dict[str, object]:
        """Return the apps that have access, and those that the user can open."""
        apps = list_apps(member.user, site.tokens.now())
        return {
            "apps": [each.document() for each in apps],
            "launch": [each._asdict() for each in list_launchable(member.user)],
        }

    def act(self, submission: MemberSubmission) -> Response:
        """Revoke the app that `revoke` names."""
        user, client_id = submission.member.user, submission.fields["revoke"]
        if not client_id:
            raise ValidationError({"revoke": [_("Name an app.")]})
        found = clients.find_listed(client_id)  # also if the list is too long to name it
        if found is None or not grants.revoke(user, found[0].id, submission.site.tokens.now()):
            detail = _("That app has been revoked already.")
            raise RequestError(HTTPStatus.NOT_FOUND, "no_such_app", detail)
        return self.answer_changed(submission, "apps?done=revoked", name=found[1].name)

    def page(self, submission: MemberSubmission, refusal: Refusal) -> AppsPage:
        """Return the list."""
        return AppsPage(
            apps=tuple(list_apps(submission.member.user, submission.site.tokens.now())),
            launch=tuple(list_launchable(submission.member.user)),
            message=refusal.text,
            notice=notice_of(submission.environ, _NOTICES),
        )
