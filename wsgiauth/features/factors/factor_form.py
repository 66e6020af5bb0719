"""The base class of the forms for second factors."""

from http import HTTPStatus
from typing import ClassVar
from wsgiref.types import WSGIEnvironment

from wsgiauth.authentication.freshness import methods_of, renew
from wsgiauth.authentication.identity import UserSession
from wsgiauth.authentication.methods import has_second_factor, with_method
from wsgiauth.authentication.second_factors import demands_second_factor_of
from wsgiauth.authentication.tokens import IssuedTokens
from wsgiauth.exceptions import UnauthenticatedError, ValidationError
from wsgiauth.features.factors import factors, recovery_codes
from wsgiauth.forms import ListForm, MemberSubmission, see_other
from wsgiauth.forms.endpoint import require_login
from wsgiauth.forms.handover import has_token, token_document
from wsgiauth.logins import login_cookie
from wsgiauth.messages import _, ngettext
from wsgiauth.site import Site
from wsgiauth.storage import database
from wsgiauth.web.responses import Header, Response, json_response
from wsgiauth.web.urls import with_next


class FactorForm(ListForm):
    """Adds and removes second factors of one kind."""

    is_sensitive = True
    path: ClassVar[str]  # below the mount
    gone: ClassVar[str]  # the message for a factor that the user does not have any more

    def require_reader(self, environ: WSGIEnvironment, site: Site) -> UserSession:
        """Return the user who asks for the list: not by a session that lacks a factor."""
        return require_login(environ, site, admits_lacking=False)

    def remove(self, submission: MemberSubmission) -> Response:
        """Remove the factor that `remove` names, unless the user must keep it."""
        user, handle = submission.member.user, submission.fields["remove"]
        names = {each.handle: each.name for each in factors.list_factors(user)}
        was_second = submission.site.factors.is_needed_by(user)
        with database.atomic():  # a refusal rolls it back
            if not factors.remove(user, handle):
                raise ValidationError({"remove": [self.gone]})
            if must_set_up(submission):
                detail = _(
                    "You need two-step verification to log in here. Add another app or passkey,"
                    " then remove this one."
                )
                raise ValidationError({"remove": [detail]})
            submission.site.ways_in.require_one(user)
        is_last = was_second and not submission.site.factors.is_needed_by(user)
        done = "last" if is_last else "removed"
        page = with_next(f"{self.path}?done={done}", submission.destination)
        return self.answer_changed(submission, page, name=names[handle])

    def answer_added(
        self,
        submission: MemberSubmission,
        method: str,
        *,
        done: str,
        name: str,
        status: HTTPStatus = HTTPStatus.OK,
    ) -> Response:
        """Answer after a factor was added; the first factor renews the session."""
        user, site = submission.member.user, submission.site
        issued = _renew(submission, method)
        renewed: dict[str, object] = {}
        cookies: tuple[Header, ...] = ()
        if issued is not None and has_token(submission):
            renewed = {"login": token_document(submission.environ, site, issued)}
        elif issued is not None:
            cookies = (login_cookie(submission.environ, site, issued),)
        if submission.wants_json or renewed:
            document = self.document(submission.environ, submission.member, site) | renewed
            return json_response(document, status=status, headers=cookies)
        needs_codes = site.factors.is_needed_by(user) and not recovery_codes.count(user)
        page = "recovery-codes" if needs_codes else self.path
        location = with_next(f"{page}?done={done}", submission.destination)
        return see_other(submission, location, *cookies, name=name)


def must_set_up(submission: MemberSubmission) -> bool:
    """Return whether the sender of a form must have a second factor, and has none."""
    user, site = submission.member.user, submission.site
    is_demanded = demands_second_factor_of(user, site.settings)
    return is_demanded and not site.factors.is_needed_by(user)


def check_name(name: str, example: str, max_length: int) -> str:
    """Return the name of a factor without superfluous spaces, or raise ValidationError."""
    name = " ".join(name.split())
    if not name:
        raise ValidationError({"name": [_("Enter a name, such as %(example)s.", example=example)]})
    if len(name) > max_length or not name.isprintable():
        detail = ngettext(
            "The name must have at most %(num)s printable character.",
            "The name must have at most %(num)s printable characters.",
            max_length,
        )
        raise ValidationError({"name": [detail]})
    return name


def _renew(submission: MemberSubmission, method: str) -> IssuedTokens | None:
    """Return the renewed session, or None if the session already had a second factor."""
    user, session_id = submission.member
    methods = methods_of(session_id)
    if has_second_factor(methods):
        return None
    tokens = submission.site.tokens
    claims = tokens.claims_for(user)
    issued = renew(session_id, user, tokens, claims, methods=with_method(methods, method))
    if issued is None:
        raise UnauthenticatedError("invalid_token")
    return issued
