"""Registration by code: the email of /auth/register has a code beside the link.

The code opens what the link opens, and the use of one ends the other: both need the row of the
link. An address that has an account gets a code to log in instead, if it was proven.
"""

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from http import HTTPStatus

from wsgiauth.accounts.tables import OneTimeSecret
from wsgiauth.authentication import one_time
from wsgiauth.authentication.methods import EMAIL_CODE
from wsgiauth.endpoints.register import is_open
from wsgiauth.exceptions import NotFoundError, ValidationError
from wsgiauth.features.links.invitations import read_invitation
from wsgiauth.features.links.mail_limits import MailLimits
from wsgiauth.features.links.verified_register import RegistrationCodes
from wsgiauth.features.links.verify import create_account, welcome
from wsgiauth.features.login_codes import codes
from wsgiauth.features.login_codes.code import hand_over_request
from wsgiauth.features.login_codes.codes import RightCode
from wsgiauth.features.login_codes.parts import ASKED
from wsgiauth.forms import TOKEN, Submission
from wsgiauth.forms.again import fields_to_change
from wsgiauth.messages import _
from wsgiauth.web.responses import Response, json_response, redirect
from wsgiauth.web.urls import mount_url

_SENT = _("If the address can have an account, an email with a link and a code is on its way.")
_EMAIL = "email"  # among the fields that a browser keeps: only of a registration


class CodesOfRegistrations(RegistrationCodes):
    """The part of a site that adds codes to the emails of registrations."""

    def send(self, submission: Submission, username: str, email: str) -> Response:
        """Insert the email, and answer with the request, or lead to the field for the code."""
        if submission.is_program:
            request = codes.ask_for_registration(submission, username, email)
            document = {"detail": _SENT, "request": request}
            return json_response(document, status=HTTPStatus.ACCEPTED)
        return _send_to_browser(submission, username, email, "code/enter")

    def to_change(self, submission: Submission) -> Mapping[str, str]:
        """Return the fields of the registration for which the browser waits."""
        asked = fields_to_change(submission, ASKED)
        return asked if is_registration(asked) else {}


def is_registration(asked: Mapping[str, str]) -> bool:
    """Return whether a browser has last asked for a code by registering; see `forms.again`."""
    return _EMAIL in asked


def register_again(submission: Submission, asked: Mapping[str, str]) -> Response:
    """Send another email to the address with which the browser has registered.

    Raises:
        NotFoundError: The registration has been closed since.
    """
    settings = submission.site.settings
    if not (is_open(settings) and settings.VERIFICATION):
        raise NotFoundError
    username, email = asked.get("username", ""), asked[_EMAIL]
    submission.site.require(MailLimits).count(email, submission.networks)
    return _send_to_browser(submission, username, email, "code/enter?done=another")


def _send_to_browser(submission: Submission, username: str, email: str, page: str) -> Response:
    request = codes.ask_for_registration(submission, username, email)
    asked = {"username": username, _EMAIL: email}
    return hand_over_request(submission, request, asked, _SENT, page)


def register(submission: Submission, right: RightCode, link: OneTimeSecret) -> Response:
    """Create the account of a right code, or open the page of its link for a browser.

    A browser is done if the site asks nothing more; the account then has no password. A program
    sends everything with the code, which works again if something is refused.
    """
    if submission.is_program:
        return _create(submission, right, link)
    if not submission.site.registration.fields:
        empty = replace(submission, fields=dict.fromkeys(submission.fields, ""))
        with suppress(ValidationError):  # the name is taken: the page asks for another one
            return _create(empty, right, link)
    return _open_page(submission, right, link)


def _create(submission: Submission, right: RightCode, link: OneTimeSecret) -> Response:
    invitation = read_invitation(link)._replace(is_by_code=True)
    created = create_account(submission, link, invitation)
    if created is None:
        raise codes.report_failure(right.row)
    one_time.use(right.row)
    return welcome(submission, created, EMAIL_CODE)


def _open_page(submission: Submission, right: RightCode, link: OneTimeSecret) -> Response:
    """Lead the browser to the page of the link, whose secret a new one replaces."""
    invitation = read_invitation(link)._replace(is_by_code=True)
    token = one_time.exchange(link, json.dumps(invitation._asdict()))
    if token is None:
        raise codes.report_failure(right.row)
    one_time.use(right.row)
    location = f"{mount_url(submission.environ)}/verify?{TOKEN}={token}"
    if submission.wants_json:
        return json_response({"detail": _("The code is right."), "next": location})
    return redirect(HTTPStatus.SEE_OTHER, location)
