"""Examples of what pages show of second factors and passkeys."""

from datetime import UTC, datetime

from wsgiauth.authentication.second_factors import Factor
from wsgiauth.endpoints.passkeys import ListedPasskey
from wsgiauth.endpoints.totp import SetUp, qr_code

_THEN = datetime(2026, 11, 2, 9, 5, tzinfo=UTC)
PASSKEY_OPTIONS = (
    '{"challenge": "", "allowCredentials": [], "userVerification": "required",'
    ' "origin": "https://example.org"}'
)
NEW_PASSKEY_OPTIONS = (
    '{"challenge": "", "user": {"id": ""}, "excludeCredentials": [],'
    ' "origin": "https://example.org"}'
)
_APP_LINK = "otpauth://totp/Library:ada?secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ&issuer=Library"
FACTORS = (Factor("otp", "5f0c8e1b7a9d2c34", "Tablet", _THEN, "Authenticator app"),)
APP = SetUp("Phone", "GEZD GNBV GY3T QOJQ GEZD GNBV GY3T QOJQ", _APP_LINK, qr_code(_APP_LINK))

PASSKEYS = tuple(
    ListedPasskey(
        handle=digit * 64,
        name=name,
        created_at=_THEN,
        last_used_at=_THEN if digit == "1" else None,
        is_backed_up=digit == "1",
        is_usable=digit == "1",
        host="example.org",
    )
    for digit, name in (("1", "Laptop"), ("2", "Blue key"))
)
