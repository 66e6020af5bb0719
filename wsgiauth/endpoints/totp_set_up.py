"""What an authenticator app needs to be set up: its key, as text, as a link and as a QR code."""

from typing import NamedTuple

from markupsafe import Markup

from wsgiauth.authentication import totp
from wsgiauth.authentication.totp import Totp
from wsgiauth.forms import MemberSubmission
from wsgiauth.web.qr_codes import qr_code
from wsgiauth.web.responses import REALM


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
