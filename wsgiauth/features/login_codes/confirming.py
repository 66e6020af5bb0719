"""Codes at /auth/confirm, of users without a password and without a second factor."""

from dataclasses import replace
from http import HTTPStatus

from wsgiauth.authentication.email_codes import REQUEST, SEND
from wsgiauth.authentication.freshness import confirm
from wsgiauth.authentication.methods import EMAIL_CODE
from wsgiauth.exceptions import UnauthenticatedError, ValidationError
from wsgiauth.feature import ConfirmationWay
from wsgiauth.features.login_codes import codes
from wsgiauth.features.login_codes.parts import WAITING, LoginCodes
from wsgiauth.forms import MemberSubmission, page_of, see_other
from wsgiauth.forms.handover import hand_over_renewed
from wsgiauth.forms.proofs import CODE
from wsgiauth.messages import _
from wsgiauth.web.responses import Response, json_response


def send_code(submission: MemberSubmission) -> Response:
    """Send a code to the user, whose browser then shows the field for it."""
    _require_codes(submission)
    if submission.is_program:  # it has no cookies
        raise ValidationError({SEND: [_("Ask for a code at /auth/code, as for a login.")]})
    site, environ, user = submission.site, submission.environ, submission.member.user
    former = site.identifier.sent_cookie(environ, WAITING)
    secret = codes.ask_for_code(submission, user.username, user)
    detail = _("An email with a code is on its way.")
    if former:
        codes.void_request(former)
    cookie = site.identifier.own_cookie(environ, WAITING, secret)
    if submission.wants_json:
        return json_response({"detail": detail}, status=HTTPStatus.ACCEPTED, headers=(cookie,))
    return see_other(submission, page_of(submission), cookie)


def confirm_by_code(submission: MemberSubmission) -> Response:
    """Renew the session, which is then fresh."""
    _require_codes(submission)
    site, environ, (user, session_id) = submission.site, submission.environ, submission.member
    if not submission.fields[CODE]:
        raise ValidationError({CODE: [_("Enter the code.")]})
    secret = submission.fields[REQUEST]
    if not submission.is_program:
        secret = site.identifier.sent_cookie(environ, WAITING)
    codes.use_code(codes.require_code(submission, secret, submission.fields[CODE], user))
    issued = confirm(session_id, user, site.tokens, methods=EMAIL_CODE)
    if issued is None:
        raise UnauthenticatedError("invalid_token")
    response = hand_over_renewed(submission, issued, _("Confirmed."))
    if submission.is_program:
        return response
    cookie = site.identifier.own_cookie(environ, WAITING, "")
    return replace(response, headers=(*response.headers, cookie))


def _require_codes(submission: MemberSubmission) -> None:
    """Refuse a user who confirms otherwise, and a site without codes."""
    found = submission.site.part(LoginCodes)
    if found is None or not found.can_confirm(submission.member.user):
        raise ValidationError({"password": [_("Confirm in another way.")]})


CONFIRMATIONS = {SEND: ConfirmationWay(send_code), REQUEST: ConfirmationWay(confirm_by_code)}
