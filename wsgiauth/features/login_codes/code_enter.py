"""GET, POST /auth/code/enter: log in by the code of an email."""

from dataclasses import replace
from wsgiref.types import WSGIEnvironment

from wsgiauth.accounts.tables import OneTimeSecret
from wsgiauth.authentication.email_codes import REQUEST
from wsgiauth.authentication.methods import EMAIL_CODE
from wsgiauth.exceptions import ValidationError
from wsgiauth.features.login_codes import codes
from wsgiauth.features.login_codes.code import send_again
from wsgiauth.features.login_codes.parts import ASKED, WAITING
from wsgiauth.features.login_codes.registering import is_registration, register, register_again
from wsgiauth.forms import FormPage, Refusal, Submission, page_of, see_other
from wsgiauth.forms.again import AGAIN, CHANGE, asked_fields, require_wait, seconds_to_wait
from wsgiauth.forms.done import notice_of
from wsgiauth.forms.fields import Flag, Text
from wsgiauth.forms.handover import (
    REFRESH,
    REMEMBER,
    GuestForm,
    hand_over,
    hand_over_tokens,
    logged_in_user,
    start_session,
)
from wsgiauth.forms.proofs import (
    ACCOUNT_NAME,
    CODE,
    CREDENTIAL,
    ask_for_second_step,
    require_factor,
)
from wsgiauth.messages import _
from wsgiauth.openapi.answers import Problem
from wsgiauth.openapi.problems import APPLICATION_FAILED, CHALLENGE, INVALID, TAKEN, THROTTLED
from wsgiauth.settings import Settings
from wsgiauth.site import Site
from wsgiauth.storage import database
from wsgiauth.web.pages import UrlBelow
from wsgiauth.web.responses import Response
from wsgiauth.web.urls import mount_url, with_next

_SECOND = "second"  # in JSON: the code of a second factor
_NOTICES = {
    "again": _(
        "If there is an active account, another email is on its way to its address. The former code"
        " no longer works."
    ),
    "another": _(
        "If the address can have an account, another email is on its way. The former code no longer"
        " works."
    ),
}


class EnterCodePage(FormPage):
    """The form for the code. It does not show whether there is an account."""

    template = "code_enter.html"
    typed = (CODE,)
    enter_url = UrlBelow("code/enter")
    register_url = UrlBelow("register")
    code_url: str  # the form to ask for a code
    login_url: str
    has_code: bool  # the browser has asked for one
    can_ask_again: bool = False  # for another one, without typing the name
    is_registration: bool = False  # the browser has asked for it by registering
    code: str = ""  # as it was typed, after a request for another email
    name: str = ""  # for which the browser has asked for one, as it was typed
    change_url: str = ""  # the form with that name
    wait: int = 0  # seconds, until another email can be asked for
    minutes: int = codes.MINUTES
    link_minutes: int = 60


_REFUSED = Problem(
    "CodeRefused",
    401,
    {
        "invalid_code": "The code is not right.",
        "second_factor_required": "The password, or the code of the email, is right, and the user"
        " has a second factor, of `methods`: send the same again with its code.",
    },
    headers={"WWW-Authenticate": CHALLENGE},
)


class EnterCode(GuestForm):
    """Starts a session: a token for a program, a cookie for a browser or a script."""

    fields = (
        Text(
            CODE,
            "The code of the email, in digits of any script. Spaces, hyphens and a sentence around"
            " it do not count.",
            required=True,
            examples=["1234 5678"],
        ),
        Text(
            REQUEST,
            "`request` of the answer of /code, or of /register.",
            required=True,
            examples=["Zr2kq0bq3ZyYTTe1GQkVjL3Fh4vXn6s8mWc5oPdAiUE"],
        ),
        Text(
            _SECOND,
            "The code of the second factor, or a recovery code: after the failure"
            " `second_factor_required`.",
        ),
        Text(
            "username",
            "To register: instead of the one that was sent to /register.",
            needs="USERNAMES",
        ),
        Text("password", "To register: a password; the account can do without one."),
        Flag(REFRESH, "Whether to return a refresh token, too."),
        Flag(REMEMBER, "Whether the refresh token lives for weeks instead of hours."),
        Flag(
            AGAIN,
            "For browsers: send another email instead, to the name for which the browser has asked"
            " for one.",
        ),
    )
    refusals = (INVALID, _REFUSED, TAKEN, THROTTLED)
    failures = (APPLICATION_FAILED,)

    def is_offered(self, settings: Settings) -> bool:
        """Return whether the site sends codes."""
        return settings.LOGIN_CODES

    def strings(self, site: Site) -> tuple[str, ...]:
        """Return the fields, with those of the site that a registration by code takes.

        Another field of the same name is not one of the registration: see `_of_account`.
        """
        own = super().strings(site)
        if not site.settings.VERIFICATION:
            return own
        taken = {each.name for each in self.fields}
        return (*own, *(each for each in site.registration.names if each not in taken))

    def is_switching(self, environ: WSGIEnvironment, site: Site) -> bool:
        """Return whether a user who is logged in wants another account, or has asked for a code."""
        return _has_code(environ, site) or super().is_switching(environ, site)

    def act(self, submission: Submission) -> Response:
        """Start a session, unless the login needs a second factor first."""
        site = submission.site
        if _is_done(submission):
            return see_other(submission, page_of(submission))
        if AGAIN in submission.flags and not submission.is_program:
            require_wait(submission, ASKED)
            asked = asked_fields(submission, ASKED)
            again = register_again if is_registration(asked) else send_again
            return again(submission, asked)
        right = codes.require_code(submission, _request(submission), submission.fields[CODE])
        if isinstance(right.opens, OneTimeSecret):
            response = register(_of_account(submission), right, right.opens)
            return response if submission.is_program else _without_cookie(submission, response)
        user, methods = right.opens, EMAIL_CODE
        if right.remember and not submission.is_program:
            submission = replace(submission, flags=submission.flags | {REMEMBER})
        is_two_step = site.factors.is_needed_by(user)
        if is_two_step and submission.is_program:
            if not submission.fields[_SECOND]:
                return ask_for_second_step(submission, user, methods=methods)
            second = {CODE: submission.fields[_SECOND], CREDENTIAL: ""}
            sent = replace(submission, fields={**submission.fields, **second})
            methods = f"{methods} {require_factor(sent, user, methods=methods)}"
        elif is_two_step:
            codes.use_code(right)
            return _without_cookie(
                submission, ask_for_second_step(submission, user, methods=methods)
            )
        site.throttle.login_without_password(user).begin()
        with database.atomic():
            codes.use_code(right)
            site.factors.report_skipped(user, EMAIL_CODE)
        issued = start_session(submission, user, methods)
        if issued is None:  # the user has just changed
            raise codes.invalid_code()
        if not is_two_step:  # otherwise a right second factor makes the client known
            site.throttle.recognise(user, submission.networks)
        if submission.is_program:
            return hand_over_tokens(submission, issued)
        return _without_cookie(submission, hand_over(submission, issued))

    def page(self, submission: Submission, refusal: Refusal) -> EnterCodePage:
        """Return the form, without the code."""
        mount, destination = mount_url(submission.environ), submission.destination
        asked = asked_fields(submission, ASKED)
        name = asked.get("email") or asked.get(ACCOUNT_NAME, "")
        form = "register" if is_registration(asked) else "code"
        return EnterCodePage(
            code_url=with_next(f"{mount}/code", destination),
            login_url=with_next(f"{mount}/login", destination),
            next=destination,
            has_code=_has_code(submission.environ, submission.site),
            can_ask_again=bool(asked),
            is_registration=is_registration(asked),
            code=submission.fields[CODE] if AGAIN in submission.flags else "",
            name=name,
            change_url=with_next(f"{mount}/{form}?{CHANGE}=1", destination) if name else "",
            wait=seconds_to_wait(submission, ASKED),
            link_minutes=submission.site.settings.LINK_MINUTES,
            notice=notice_of(submission.environ, _NOTICES),
            message=refusal.message,
            errors=refusal.errors,
        )


def _is_done(submission: Submission) -> bool:
    """Return whether another tab of the browser has logged in by the code."""
    environ, site = submission.environ, submission.site
    if submission.wants_json or _has_code(environ, site):
        return False
    return logged_in_user(environ, site) is not None


def _has_code(environ: WSGIEnvironment, site: Site) -> bool:
    """Return whether the browser has asked for a code."""
    return bool(site.identifier.sent_cookie(environ, WAITING))


def _of_account(submission: Submission) -> Submission:
    """Return a submission whose fields are those of an account.

    The site can have a field with the name of one of the code, and then gets it from the page.
    """
    own = dict.fromkeys((CODE, REQUEST, _SECOND), "")
    return replace(submission, fields={**submission.fields, **own})


def _request(submission: Submission) -> str:
    """Return the secret of the request, or refuse a form that has no code or no request."""
    sent = submission.fields
    errors: dict[str, list[str]] = {}
    if not sent[CODE]:
        errors[CODE] = [_("Enter the code.")]
    if not submission.is_program:
        secret = submission.site.identifier.sent_cookie(submission.environ, WAITING)
    else:
        secret = sent[REQUEST]
        if not secret:
            errors[REQUEST] = [_("Send the value of request from the answer of /auth/code.")]
    if errors:
        raise ValidationError(errors)
    return secret


def _without_cookie(submission: Submission, response: Response) -> Response:
    """Return a response that deletes the cookies of the request."""
    own_cookie, environ = submission.site.identifier.own_cookie, submission.environ
    cookies = (own_cookie(environ, WAITING, ""), own_cookie(environ, ASKED, ""))
    return replace(response, headers=(*response.headers, *cookies))
