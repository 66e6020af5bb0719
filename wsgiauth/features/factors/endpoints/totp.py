"""GET, POST /auth/totp: list, set up and remove the user's authenticator apps."""

from collections.abc import Mapping, Sequence, Sized
from http import HTTPStatus
from typing import NamedTuple
from wsgiref.types import WSGIEnvironment

from markupsafe import Markup

from wsgiauth.authentication.identity import UserSession
from wsgiauth.authentication.methods import ONE_TIME_CODE
from wsgiauth.authentication.second_factors import Factor
from wsgiauth.exceptions import ValidationError
from wsgiauth.features.factors import factors, recovery_codes, totp
from wsgiauth.features.factors.factor_form import FactorForm, check_name, must_set_up
from wsgiauth.features.factors.totp import NAME_MAX_LENGTH, Totp
from wsgiauth.forms import FormPage, MemberSubmission, Refusal, see_other
from wsgiauth.forms.done import Notice, notice_of
from wsgiauth.forms.endpoint import SECURITY, AccountLink, Overview, State
from wsgiauth.forms.fields import Text
from wsgiauth.forms.handover import next_after_set_up
from wsgiauth.forms.proofs import CODE
from wsgiauth.messages import _, pgettext
from wsgiauth.openapi.problems import APPLICATION_FAILED
from wsgiauth.settings import Settings
from wsgiauth.site import Site
from wsgiauth.web.pages import UrlBelow
from wsgiauth.web.responses import REALM, Response, json_response
from wsgiauth.web.urls import mount_url, with_next


class SetUp(NamedTuple):
    """The key of a new app as text, as a link and as a QR code."""

    name: str
    key: str  # in groups of four characters
    uri: str  # `otpauth:`
    qr: Markup | None  # None without segno

    def __repr__(self) -> str:
        return "<Set-up of an app>"  # the key is secret


_MOST_OF_ISSUER = (
    60  # characters; the link has the issuer twice, with 9 characters for a Chinese one
)


def set_up_of(submission: MemberSubmission, device: Totp) -> SetUp:
    """Return the key of a new app in all forms."""
    settings = submission.site.settings
    address = (settings.PUBLIC_URL or "").partition("://")[2].rstrip("/")
    issuer = settings.SITE_NAME or address or REALM
    key = totp.derive_key(settings.FACTOR_KEY or "", device.salt)
    uri = totp.setup_uri(key, submission.member.user.label, issuer[:_MOST_OF_ISSUER])
    text = totp.base32(key)
    groups = (text[start : start + 4] for start in range(0, len(text), 4))
    return SetUp(device.name, " ".join(groups), uri, qr_code(uri))


_EXAMPLE = pgettext("name of a device", "Phone")  # the proposed name of an app
_NOTICES: Mapping[str, Notice] = {
    "added": lambda name: _(
        "The authenticator app “%(name)s” has been added. From now on, you need a code to log in.",
        name=name,
    ),
    "removed": lambda name: _("The authenticator app “%(name)s” has been removed.", name=name),
    "last": lambda name: _(
        "The authenticator app “%(name)s” has been removed. Logins no longer ask for a second"
        " step.",
        name=name,
    ),
}


class TotpPage(FormPage):
    """The user's authenticator apps, and the set-up of another."""

    template = "totp.html"
    totp_url = UrlBelow("totp")
    codes_url = UrlBelow("recovery-codes")
    devices: Sequence[Factor]  # the apps of the user, the oldest first
    codes_left: int  # recovery codes
    is_last: bool = False  # the user has no other second factor
    set_up: SetUp | None = None  # of an app that waits for its first code
    name: str  # of another app: a proposal, or as it was sent
    logout_url: str = ""  # for users who must have a second factor first
    passkeys_url: str = ""  # to add a passkey instead
    has_first_key: bool = False  # passkeys replace the password; see `SecondFactors.first_of`


def _on_or_off(overview: Overview) -> State:
    if overview.factors:
        return State(pgettext("two-step verification", "On"), "good")
    return State(pgettext("two-step verification", "Off"))


class AuthenticatorApps(FactorForm):
    """Begins the set-up of an app, confirms it by its first code, and removes apps."""

    account_link = AccountLink(
        SECURITY,
        _("Two-step verification"),
        _("Protect your logins with a code from an app on your phone."),
        icon="shield",
        state=_on_or_off,
    )
    step = _("Change two-step verification")
    path = "totp"
    gone = _("That app has already been removed.")
    fields = (
        Text(
            "name",
            "Begins the set-up of an app under this name.",
            maxLength=NAME_MAX_LENGTH,
            examples=["Phone"],
        ),
        Text(CODE, "The first code of the app whose set-up began in this session; confirms it."),
        Text("remove", "Removes the app of this `handle`."),
    )
    failures = (APPLICATION_FAILED,)

    def is_offered(self, settings: Settings) -> bool:
        """Return whether there are second factors."""
        return settings.FACTOR_KEY is not None

    def document(
        self, environ: WSGIEnvironment, member: UserSession, site: Site
    ) -> dict[str, object]:
        """Return the apps."""
        listed = [{"handle": each.id, "name": each.name} for each in totp.devices(member.user)]
        return {"devices": listed, "recovery_codes_left": recovery_codes.count(member.user)}

    def act(self, submission: MemberSubmission) -> Response:
        """Remove an app, confirm one by its first code, or begin the set-up of one."""
        if submission.fields["remove"]:
            return self.remove(submission)
        if submission.fields[CODE]:
            return self._confirm(submission)
        return self._begin(submission)

    def _confirm(self, submission: MemberSubmission) -> Response:
        site, device = submission.site, totp.pending_device(*submission.member)
        keys, code = totp.factor_keys(site.settings), submission.fields[CODE]
        if device is None or not factors.confirm(device, code, keys, site.tokens.now()):
            detail = _("This code is wrong. Enter the one that the app shows now.")
            raise ValidationError({CODE: [detail]})
        return self.answer_added(submission, ONE_TIME_CODE, done="added", name=device.name)

    def _begin(self, submission: MemberSubmission) -> Response:
        user, session_id = submission.member
        name = check_name(submission.fields["name"], _EXAMPLE, NAME_MAX_LENGTH)
        if len(totp.devices(user)) >= totp.MOST_DEVICES:
            raise ValidationError({"name": [_("You have too many apps. Remove one first.")]})
        device = totp.begin(user, name, submission.site.tokens.now(), session_id=session_id)
        if not submission.wants_json:
            return see_other(submission, with_next(self.path, submission.destination))
        set_up = set_up_of(submission, device)
        document = {"name": set_up.name, "secret": set_up.key.replace(" ", ""), "uri": set_up.uri}
        return json_response(document, status=HTTPStatus.CREATED)

    def page(self, submission: MemberSubmission, refusal: Refusal) -> TotpPage:
        """Return the list."""
        mount, user = mount_url(submission.environ), submission.member.user
        listed, waiting = factors.list_factors(user), totp.pending_device(*submission.member)
        settings, must_add = submission.site.settings, must_set_up(submission)
        passkeys_url = with_next(f"{mount}/passkeys", next_after_set_up(submission))
        devices = [each for each in listed if each.method == ONE_TIME_CODE]
        return TotpPage(
            devices=devices,
            codes_left=recovery_codes.count(user),
            is_last=len(listed) == 1,
            set_up=None if waiting is None else set_up_of(submission, waiting),
            name=submission.fields["name"] if "name" in refusal.errors else _proposal(devices),
            next=next_after_set_up(submission),
            logout_url=f"{mount}/logout" if must_add else "",
            passkeys_url=passkeys_url if must_add and settings.PASSKEYS else "",
            has_first_key=bool(submission.site.factors.first_of(user)),
            message=refusal.text_without("name", *([] if waiting is None else [CODE])),
            errors=refusal.errors,
            notice=notice_of(submission.environ, _NOTICES),
        )


def _proposal(devices: Sized) -> str:
    """Return a name for one more device, which no one has to type."""
    number = len(devices) + 1
    if number == 1:
        return _EXAMPLE
    return pgettext("name of a device", "Phone %(number)s", number=number)


def qr_code(text: str) -> Markup | None:
    """Return the QR code of `text` as inline SVG.

    Return None without segno (the extra `totp`), or if `text` is too long, as with a long username
    in emoji: the page also has the key. The SVG has no style, which the Content-Security-Policy
    would refuse, and no text.
    """
    try:
        import segno
    except ImportError:
        return None
    try:
        code = segno.make_qr(text)
    except segno.DataOverflowError:
        return None
    svg = code.svg_inline(scale=5, border=4, light="#fff", svgclass=None, lineclass=None)
    return Markup(svg)  # noqa: S704 - only shapes
