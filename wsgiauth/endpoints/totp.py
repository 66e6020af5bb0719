"""GET, POST /auth/totp: the user's authenticator apps, which are second factors."""

from http import HTTPStatus
from typing import NamedTuple
from wsgiref.types import WSGIEnvironment

from markupsafe import Markup

from wsgiauth.accounts.models import User
from wsgiauth.authentication import factors, recovery_codes, totp
from wsgiauth.authentication.methods import ONE_TIME_CODE
from wsgiauth.authentication.totp import NAME_MAX_LENGTH, Totp
from wsgiauth.exceptions import ValidationError
from wsgiauth.forms import MemberForm, MemberSubmission, Refusal, choose_action, factor_changes
from wsgiauth.forms.endpoint import AccountLink, require_login
from wsgiauth.forms.factor_changes import cookies_of, must_set_up, tokens_of, upgrade
from wsgiauth.forms.handover import has_token, next_after_set_up
from wsgiauth.forms.proofs import CODE
from wsgiauth.settings import Settings
from wsgiauth.site import Site
from wsgiauth.web.pages import Page
from wsgiauth.web.qr_codes import qr_code
from wsgiauth.web.request import prefers_html, query_field
from wsgiauth.web.responses import REALM, Header, Response, json_response, redirect
from wsgiauth.web.urls import mount_url, with_next


class SetUp(NamedTuple):
    """What an app needs to be set up.

    Attributes:
        name: How the user calls it.
        key: The key in groups of four characters.
        uri: The `otpauth:` link with the key.
        qr: The same as a QR code; None without segno.
    """

    name: str
    key: str
    uri: str
    qr: Markup | None

    def __repr__(self) -> str:
        return "<Set-up of an app>"  # the key is secret


def set_up_of(submission: MemberSubmission, device: Totp) -> SetUp:
    """Return what an app of the user who sent a form needs."""
    settings = submission.site.settings
    address = (settings.PUBLIC_URL or "").partition("://")[2].rstrip("/")
    issuer = settings.SITE_NAME or address or REALM
    key = totp.derive_key(settings.FACTOR_KEY or "", device.salt)
    uri = totp.setup_uri(key, submission.member.user.username, issuer)
    text = totp.base32(key)
    groups = (text[start : start + 4] for start in range(0, len(text), 4))
    return SetUp(device.name, " ".join(groups), uri, qr_code(uri))


_NOTICES = {
    "added": "The app has been added. From now on, a login asks for a code.",
    "removed": "The app has been removed.",
}


class TotpPage(Page):
    """The user's authenticator apps, and the set-up of another.

    Attributes:
        totp_url: Where the forms are sent.
        account_url: The page of the account.
        codes_url: The page of the recovery codes.
        devices: The apps, by their handle.
        codes_left: How many recovery codes are left.
        set_up: The app that its first code is to confirm, or None.
        name: The name of another app, as it was sent before.
        next: Where to go afterwards; a safe path, or empty.
        logout_url: Where the form to log out is sent, if the user can do nothing else before they
            have a second factor; or empty.
        passkeys_url: The page to set up a passkey instead; or empty.
        message: Why a form was refused.
        notice: What has just been done, or nothing.
    """

    template = "totp.html"

    totp_url: str
    account_url: str
    codes_url: str
    devices: dict[str, str]
    codes_left: int
    set_up: SetUp | None = None
    name: str = ""
    next: str = ""
    logout_url: str = ""
    passkeys_url: str = ""
    message: str = ""
    notice: str = ""


class AuthenticatorApps(MemberForm):
    """Begins the set-up of an app, confirms it by its first code, and removes apps."""

    account_link = AccountLink(
        "Second step of logins", "Let a login also ask for a code of an app on your phone."
    )
    is_sensitive = True
    admits_incomplete = True  # of users without a factor: those with one are not fresh
    fields = ("name", CODE, "remove")

    def is_offered(self, settings: Settings) -> bool:
        """Return whether there are second factors."""
        return settings.FACTOR_KEY is not None

    def get(self, environ: WSGIEnvironment, site: Site) -> Response:
        """Answer with the page, or with the list as JSON."""
        if prefers_html(environ):
            return super().get(environ, site)
        return json_response(_document(require_login(environ, site).user))

    def act(self, submission: MemberSubmission) -> Response:
        """Remove an app, confirm one by its first code, or begin the set-up of one."""
        actions = {"remove": self._remove, CODE: self._confirm, "name": self._begin}
        return choose_action(submission, actions)(submission)

    def _remove(self, submission: MemberSubmission) -> Response:
        gone = "That app has already been removed."
        factor_changes.remove(submission, submission.fields["remove"], gone)
        if submission.wants_json:
            return json_response(_document(submission.member.user))
        return _see_other(submission, "totp?done=removed")

    def _confirm(self, submission: MemberSubmission) -> Response:
        user, site = submission.member.user, submission.site
        device = totp.pending_device(*submission.member)
        key, code = site.settings.FACTOR_KEY or "", submission.fields[CODE]
        if device is None or not factors.confirm(device, code, key, site.tokens.now()):
            detail = "This code is not right. Enter the one that the app shows now."
            raise ValidationError({CODE: [detail]})
        login = upgrade(submission, ONE_TIME_CODE)
        cookies = cookies_of(submission, login)
        if submission.wants_json or (login is not None and has_token(submission)):
            document = _document(user) | tokens_of(submission, login)
            return json_response(document, headers=cookies)
        page = "totp" if recovery_codes.count(user) else "recovery-codes"
        return _see_other(submission, f"{page}?done=added", cookies)

    def _begin(self, submission: MemberSubmission) -> Response:
        user, session_id = submission.member
        name = _checked(submission.fields["name"])
        if len(totp.devices(user)) >= totp.MOST_DEVICES:
            raise ValidationError({"name": ["You have too many apps. Remove one first."]})
        device = totp.begin(user, name, submission.site.tokens.now(), session_id=session_id)
        if not submission.wants_json:
            return _see_other(submission, "totp")
        set_up = set_up_of(submission, device)
        document = {"name": set_up.name, "secret": set_up.key.replace(" ", ""), "uri": set_up.uri}
        return json_response(document, status=HTTPStatus.CREATED)

    def page(self, submission: MemberSubmission, refusal: Refusal) -> Page:
        """Return the list."""
        mount, user = mount_url(submission.environ), submission.member.user
        devices, waiting = totp.devices(user), totp.pending_device(*submission.member)
        settings, must_add = submission.site.settings, must_set_up(submission)
        passkeys_url = with_next(f"{mount}/passkeys", next_after_set_up(submission))
        return TotpPage(
            totp_url=f"{mount}/totp",
            account_url=f"{mount}/account",
            codes_url=f"{mount}/recovery-codes",
            devices={each.id: each.name for each in devices},
            codes_left=recovery_codes.count(user),
            set_up=None if waiting is None else set_up_of(submission, waiting),
            name=submission.fields["name"],
            next=next_after_set_up(submission),
            logout_url=f"{mount}/logout" if must_add else "",
            passkeys_url=passkeys_url if must_add and settings.PASSKEYS else "",
            message=refusal.text,
            notice=_NOTICES.get(query_field(submission.environ, "done"), ""),
        )


def _document(user: User) -> dict[str, object]:
    listed = [{"handle": each.id, "name": each.name} for each in totp.devices(user)]
    return {"devices": listed, "recovery_codes_left": recovery_codes.count(user)}


def _checked(name: str) -> str:
    name = " ".join(name.split())
    if not name:
        raise ValidationError({"name": ["Give the app a name, such as Phone."]})
    if len(name) > NAME_MAX_LENGTH or not name.isprintable():
        detail = f"The name must have at most {NAME_MAX_LENGTH} printable characters."
        raise ValidationError({"name": [detail]})
    return name


def _see_other(
    submission: MemberSubmission, page: str, headers: tuple[Header, ...] = ()
) -> Response:
    location = with_next(f"{mount_url(submission.environ)}/{page}", submission.destination)
    return redirect(HTTPStatus.SEE_OTHER, location, headers=headers)
