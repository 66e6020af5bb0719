"""GET, POST /auth/terms: users accept the terms of use."""

from collections.abc import Sequence
from datetime import datetime
from http import HTTPStatus
from wsgiref.types import WSGIEnvironment

from wsgiauth.extend import (
    INVALID,
    Flag,
    FormPage,
    ListForm,
    MemberSubmission,
    Refusal,
    Response,
    Settings,
    Site,
    Text,
    UrlBelow,
    UserSession,
    ValidationError,
    _,
    destination_after_login,
    json_response,
    log_out_everywhere,
    must_send_again,
    prefers_html,
    query_field,
    redirect,
    see_other,
)
from wsgiauth.features.terms.acceptances import Accepted, accept, list_accepted
from wsgiauth.features.terms.demand import OTHER_VERSION_SENT, Terms

_ALL = "all"


class TermsPage(FormPage):
    """The version of the terms, and the form that accepts it, unless the user has."""

    template = "terms.html"
    terms_url = UrlBelow("terms")
    logout_url = UrlBelow("logout")
    data_url = UrlBelow("data")
    close_url = UrlBelow("close")
    version: str
    since: datetime  # the day of the version
    text_url: str  # TERMS_URL
    privacy_url: str  # PRIVACY_URL, or ""
    accepted_at: datetime | None = None  # when the user accepted this version, or a later one
    is_resent: bool = False  # a form was not processed, and must be sent again


class TermsOfUse(ListForm):
    """Records that the user accepts the version that the page has shown."""

    step = _("Terms of use")
    fields = (
        Text("version", "The `terms_version` that the user has seen.", examples=["2026-11-28"]),
        Text("end", "`all`: log out everywhere instead."),
        Flag("accept", "The checkbox of the page, which JSON does not need."),
    )
    refusals = (INVALID, OTHER_VERSION_SENT)

    def is_offered(self, settings: Settings) -> bool:
        """Return whether the site has a version of its terms."""
        return settings.TERMS_VERSION is not None

    def get(self, environ: WSGIEnvironment, site: Site) -> Response:
        """Answer with the page or as JSON; lead on who has accepted, perhaps in another tab."""
        wanted = site.destinations.safe(query_field(environ, "next"))
        if wanted and prefers_html(environ):
            member = self.require_member(environ, site)
            if _accepted(list_accepted(member.user), site.require(Terms)) is not None:
                return redirect(
                    HTTPStatus.SEE_OTHER, destination_after_login(environ, site, wanted)
                )
        return super().get(environ, site)

    def from_json(self, sent: dict[str, object], site: Site) -> dict[str, object]:
        """Read what is no string, or not to be accepted, as no version, which is refused."""
        version = sent.get("version")
        is_sent = isinstance(version, str) and sent.get("accept") is not False
        return {**sent, "version": version if is_sent else ""}

    def act(self, submission: MemberSubmission) -> Response:
        """Accept the version, or log out everywhere."""
        environ, site, user = submission.environ, submission.site, submission.member.user
        if submission.fields["end"] == _ALL:
            cleared = log_out_everywhere(environ, user, site)
            if submission.wants_json:
                return json_response({"detail": _("Logged out.")}, headers=cleared)
            return see_other(submission, "login?done=logout", *cleared)
        terms, version = site.require(Terms), submission.fields["version"]
        terms.require_same(version, terms.members(environ))
        if version != terms.version:
            raise ValidationError({"version": [_("Send the version of the terms.")]})
        if not (submission.is_program or "accept" in submission.flags):
            raise ValidationError({"accept": [_("Accept the terms of use to continue.")]})
        accept(user, version)
        location = destination_after_login(environ, site, submission.destination)
        if submission.is_program:
            return json_response(self.document(environ, submission.member, site))
        if submission.wants_json:
            return json_response({"detail": _("Terms accepted."), "next": location})
        return redirect(HTTPStatus.SEE_OTHER, location)

    def page(self, submission: MemberSubmission, refusal: Refusal) -> TermsPage:
        """Return the page."""
        terms = submission.site.require(Terms)
        accepted = _accepted(list_accepted(submission.member.user), terms)
        return TermsPage(
            version=terms.version,
            since=terms.since,
            text_url=terms.url,
            privacy_url=terms.privacy_url,
            accepted_at=None if accepted is None else accepted.accepted_at,
            is_resent=must_send_again(submission.environ),
            next=submission.destination,
            message=refusal.text_without("accept"),
            errors=refusal.errors,
        )

    def document(
        self, environ: WSGIEnvironment, member: UserSession, site: Site
    ) -> dict[str, object]:
        """Return the version of the site, and what the user has accepted."""
        terms = site.require(Terms)
        return {
            **terms.members(environ),
            "privacy_url": terms.privacy_url or None,
            "accepted": [each.document() for each in list_accepted(member.user)],
        }


def _accepted(accepted: Sequence[Accepted], terms: Terms) -> Accepted | None:
    """Return the acceptance of the version of the site, or of the first later one, or None."""
    enough = [each for each in accepted if each.version >= terms.version]
    return enough[-1] if enough else None
