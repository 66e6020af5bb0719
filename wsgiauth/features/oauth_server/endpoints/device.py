"""GET, POST /auth/device: a person types the code of a device, and allows it or refuses.

A link can bring the code (`user_code`) into the field, but only the form looks for its device: so
each guess counts.
"""

from http import HTTPStatus

from wsgiauth.authentication.scopes import ScopeInWords, in_words, with_resource
from wsgiauth.exceptions import InsufficientAuthenticationError, RequestError, ValidationError
from wsgiauth.features.oauth_server import devices, grants, limits
from wsgiauth.features.oauth_server.decisions import ALLOW, REFUSE, is_fresh_for
from wsgiauth.features.oauth_server.scopes import lacking, offered
from wsgiauth.features.oauth_server.tables import DeviceRequest
from wsgiauth.forms import FormPage, MemberForm, MemberSubmission, Refusal, see_other
from wsgiauth.forms.done import notice_of
from wsgiauth.forms.fields import Text
from wsgiauth.messages import _
from wsgiauth.openapi.answers import Answer, Problem
from wsgiauth.openapi.problems import INVALID, THROTTLED, TO_LOGIN, UNAVAILABLE
from wsgiauth.settings import Settings
from wsgiauth.web.clients import is_browser, user_agent_in_words
from wsgiauth.web.pages import UrlBelow
from wsgiauth.web.request import query_field
from wsgiauth.web.responses import Response, json_response
from wsgiauth.web.urls import mount_url, with_next

_CODE = "user_code"
_NOTICES = {
    "allowed": _("The device has been allowed. It continues by itself within some seconds."),
    "refused": _("The device has been refused."),
}


class DevicePage(FormPage):
    """The field for the code, or the question about the device that it belongs to."""

    template = "device.html"
    typed = (_CODE,)
    device_url = UrlBelow("device")
    user_code: str = ""
    client_name: str = ""  # "": there is no question yet
    address: str = ""  # of the device
    browser: str = ""  # its system, in words
    is_browser: bool = False  # whether they name a browser; others say nothing of a device
    scopes: tuple[ScopeInWords, ...] = ()
    scope: str = ""  # the same, for the form
    lacking: tuple[str, ...] = ()  # permissions that it asks for and the user does not have
    label: str = ""


_NO_SUCH_DEVICE = Problem("NoSuchDevice", 404, {"no_such_device": "No device waits for this code."})
_NOT_ADMITTED = Problem(
    "NotInGroup", 403, {"forbidden": "The user is not in the group of the app."}
)


class Device(MemberForm):
    """Finds a device by its code. Each wrong code counts for the user and for the client."""

    step = _("Connect a device")
    is_navigation = True
    fields = (
        Text(
            _CODE,
            "The code that the device shows, in any letter case, with or without the hyphen.",
            required=True,
            examples=["BCDF-GHJK"],
        ),
        Text(
            "decision", "`allow` or `refuse`; empty to ask which device it is.", examples=["allow"]
        ),
        Text(
            "scope",
            "The scopes that the user has seen, separated by spaces. No others are allowed.",
            examples=["openid profile"],
        ),
    )
    refusals = (INVALID, _NO_SUCH_DEVICE, _NOT_ADMITTED, THROTTLED)

    def problems(self, method: str) -> tuple[Problem | Answer, ...]:
        """Return those of the form."""
        if method == "get":
            return (UNAVAILABLE, TO_LOGIN)
        return super().problems(method)

    def is_offered(self, settings: Settings) -> bool:
        """Return whether the site is a provider."""
        return settings.OAUTH_SERVER

    def act(self, submission: MemberSubmission) -> Response:
        """Show the question, or take the decision."""
        site, session, fields = submission.site, submission.member, submission.fields
        if not fields[_CODE]:
            raise ValidationError({_CODE: [_("Enter the code that the device shows.")]})
        row = _require_device(submission, fields[_CODE])
        if not fields["decision"]:
            page = _question(submission, row)
            if submission.wants_json:
                return json_response(_document(page))
            return site.pages.render(submission.environ, page)
        if fields["decision"] not in (ALLOW, REFUSE):
            raise ValidationError({"decision": [_("Allow the device, or refuse it.")]})
        now, is_allowed = site.tokens.now(), fields["decision"] == ALLOW
        if is_allowed:
            shown, scopes = fields["scope"].split(), _scopes(submission, row)
            if not set(shown).issuperset(with_resource([], row.resource)):
                raise ValidationError({"decision": [_("Allow the device, or refuse it.")]})
            scopes = [each for each in scopes if each in shown]
            if not is_fresh_for(scopes, session, site):
                return _ask_to_confirm(submission, row)
            is_done = devices.allow(row, session, scopes, now)
        else:
            is_done = devices.refuse(row, session.user, now)
        if not is_done:
            raise _unknown_code()
        done = "allowed" if is_allowed else "refused"
        if submission.wants_json:
            return json_response({"detail": _NOTICES[done]})
        return see_other(submission, f"device?done={done}")

    def page(self, submission: MemberSubmission, refusal: Refusal) -> DevicePage:
        """Return the field, with the code that was typed or that a link has brought."""
        environ = submission.environ
        code = submission.fields[_CODE] or query_field(environ, _CODE)
        return DevicePage(
            user_code=code[: devices.MAX_CODE],
            message=refusal.message,
            errors=refusal.errors,
            notice=notice_of(environ, _NOTICES),
        )


def _question(submission: MemberSubmission, row: DeviceRequest) -> DevicePage:
    possible = _scopes(submission, row)
    wanted = with_resource(possible, row.resource)
    return DevicePage(
        user_code=devices.in_words(row.user_code),
        client_name=row.client.name,
        address=row.address,
        browser=user_agent_in_words(row.agent),
        is_browser=is_browser(row.agent),
        scopes=in_words(wanted),
        scope=" ".join(wanted),
        lacking=lacking(row.client, row.scopes.split(), possible, resource=row.resource),
        label=submission.member.user.label,
    )


def _require_device(submission: MemberSubmission, typed: str) -> DeviceRequest:
    site = submission.site
    attempt = limits.device_code(site, submission.member.user, submission.networks)
    attempt.begin()
    row = devices.find(typed, site.tokens.now())
    if row is None:
        raise _unknown_code()
    attempt.succeeded()
    if not grants.allowance(row.client, submission.member.user).is_admitted:
        raise RequestError(HTTPStatus.FORBIDDEN, "forbidden", _("You cannot use this app"))
    return row


def _ask_to_confirm(submission: MemberSubmission, row: DeviceRequest) -> Response:
    """Send the browser to a new proof, and back with the code."""
    if submission.wants_json:
        raise InsufficientAuthenticationError(submission.site.freshness.max_age)
    page = f"{mount_url(submission.environ)}/device?user_code={devices.in_words(row.user_code)}"
    return see_other(submission, with_next("confirm", page))


def _scopes(submission: MemberSubmission, row: DeviceRequest) -> list[str]:
    user, settings = submission.member.user, submission.site.settings
    return offered(row.client, row.scopes.split(), user, settings, resource=row.resource)


def _unknown_code() -> RequestError:
    detail = _("No device waits for this code. Compare it with the device, or start again there.")
    return RequestError(HTTPStatus.NOT_FOUND, "no_such_device", detail)


def _document(page: DevicePage) -> dict[str, object]:
    return {
        "user_code": page.user_code,
        "app": page.client_name,
        "address": page.address or None,
        "browser": str(page.browser),
        "scopes": page.scope.split(),
    }
