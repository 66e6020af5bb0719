"""GET, POST /auth/code: ask for an email with a code to log in."""

from collections.abc import Mapping
from dataclasses import replace
from http import HTTPStatus

from wsgiauth.authentication import lifetimes
from wsgiauth.exceptions import ValidationError
from wsgiauth.features.links.detours import keep_next
from wsgiauth.features.links.letters import storable_name
from wsgiauth.features.login_codes import codes
from wsgiauth.features.login_codes.parts import ASKED, WAITING
from wsgiauth.forms import FormPage, Refusal, Submission, see_other
from wsgiauth.forms.again import asked_cookie, fields_to_change
from wsgiauth.forms.fields import Flag
from wsgiauth.forms.handover import REMEMBER, GuestForm
from wsgiauth.forms.proofs import ACCOUNT_NAME, NAME_FIELD, missing_name
from wsgiauth.messages import _
from wsgiauth.openapi.problems import INVALID, THROTTLED
from wsgiauth.settings import Settings
from wsgiauth.web.pages import UrlBelow
from wsgiauth.web.responses import Response, json_response
from wsgiauth.web.urls import mount_url, with_next

_REMEMBERED = "on"
_DETAIL = _("If there is an active account, an email with a code is on its way to its address.")


class CodePage(FormPage):
    """The form to ask for a code."""

    template = "code.html"
    typed = ("username",)
    code_url = UrlBelow("code")
    login_url: str
    enter_url: str | None = None  # None if the browser has not asked for a code yet
    username: str = ""  # as it was sent
    remember_days: int = 30  # 0: "Keep me logged in" is not offered
    remember: bool = False


class AskForCode(GuestForm):
    """Sends a code. The answer does not depend on whether there is an account."""

    fields = (
        NAME_FIELD,
        Flag(REMEMBER, "For browsers: whether the login that follows outlives the browser window."),
    )
    refusals = (INVALID, THROTTLED)

    def is_offered(self, settings: Settings) -> bool:
        """Return whether the site sends codes."""
        return settings.LOGIN_CODES

    def act(self, submission: Submission) -> Response:
        """Insert the email, for any name; a former code of this browser ends."""
        name = submission.fields[ACCOUNT_NAME]
        if not name:
            raise ValidationError({"username": [missing_name(submission.site.settings)]})
        if submission.is_program:
            document = {"detail": _DETAIL, "request": codes.ask_for_code(submission, name)}
            return json_response(document, status=HTTPStatus.ACCEPTED)
        return send_to_browser(submission, name, "code/enter")

    def page(self, submission: Submission, refusal: Refusal) -> CodePage:
        """Return the form."""
        site, environ = submission.site, submission.environ
        mount, destination = mount_url(environ), submission.destination
        has_code = bool(site.identifier.sent_cookie(environ, WAITING))
        typed = fields_to_change(submission, ASKED)
        return CodePage(
            login_url=with_next(f"{mount}/login", destination),
            enter_url=with_next(f"{mount}/code/enter", destination) if has_code else None,
            next=destination,
            username=submission.fields[ACCOUNT_NAME] or typed.get(ACCOUNT_NAME, ""),
            remember_days=lifetimes.remembered_days(site.settings),
            remember=REMEMBER in submission.flags or bool(typed.get(REMEMBER)),
            message=refusal.message,
            errors=refusal.errors,
        )


def send_to_browser(submission: Submission, name: str, page: str) -> Response:
    """Insert the email for a browser, which goes to `page`; a former code of it ends."""
    remember = _REMEMBERED if REMEMBER in submission.flags else ""
    asked = {ACCOUNT_NAME: storable_name(name), REMEMBER: remember}
    secret = codes.ask_for_code(submission, name)
    return hand_over_request(submission, secret, asked, _DETAIL, page)


def hand_over_request(
    submission: Submission, secret: str, asked: Mapping[str, str], detail: str, page: str
) -> Response:
    """Store a request for a code in the browser that asked; a former one of it ends.

    Args:
        asked: The fields of the form, for `send_again`.
        detail: The sentence for scripts.
        page: Where the browser goes, below the mount.
    """
    site, environ = submission.site, submission.environ
    former = site.identifier.sent_cookie(environ, WAITING)
    if former:
        codes.void_request(former)
    cookies = (
        site.identifier.own_cookie(environ, WAITING, secret),
        asked_cookie(submission, ASKED, asked),
        *keep_next(submission),  # perhaps the user opens a link of the email instead
    )
    if submission.wants_json:
        return json_response({"detail": detail}, status=HTTPStatus.ACCEPTED, headers=cookies)
    return see_other(submission, with_next(page, submission.destination), *cookies)


def send_again(submission: Submission, asked: Mapping[str, str]) -> Response:
    """Send another email to the name for which the browser has asked for one; see `forms.again`."""
    if not asked.get(ACCOUNT_NAME):
        return see_other(submission, with_next("code", submission.destination))
    flags = submission.flags | {REMEMBER} if asked[REMEMBER] else submission.flags
    sent = replace(submission, flags=flags)
    return send_to_browser(sent, asked[ACCOUNT_NAME], "code/enter?done=again")
