"""An example of each page of second factors."""

from wsgiauth.endpoints.samples import (
    FACTORS,
    NEW_PASSKEY_OPTIONS,
    PASSKEY_OPTIONS,
    THEN,
    WRONG_CODE,
)
from wsgiauth.features.factors.endpoints.passkeys import ListedPasskey, PasskeysPage
from wsgiauth.features.factors.endpoints.recovery_codes import RecoveryCodesPage
from wsgiauth.features.factors.endpoints.second import SecondPage
from wsgiauth.features.factors.endpoints.totp import SetUp, TotpPage, qr_code
from wsgiauth.web.pages import Page

_APP_LINK = "otpauth://totp/Library:ada?secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ&issuer=Library"
APP = SetUp("Phone", "GEZD GNBV GY3T QOJQ GEZD GNBV GY3T QOJQ", _APP_LINK, qr_code(_APP_LINK))

PASSKEYS = tuple(
    ListedPasskey(
        handle=digit * 64,
        name=name,
        created_at=THEN,
        last_used_at=THEN if digit == "1" else None,
        is_backed_up=digit == "1",
        is_usable=digit == "1",
        host="example.org",
    )
    for digit, name in (("1", "Laptop"), ("2", "Blue key"))
)

_CODES = RecoveryCodesPage(left=3)

_SECOND = SecondPage(
    second_url="/auth/second?login=0",
    label="ada",
    has_app=True,
    apps=("Phone", "Tablet"),
    has_codes=True,
    passkey_options=PASSKEY_OPTIONS,
    message=WRONG_CODE,
)

PAGES: tuple[Page, ...] = (
    _SECOND.replaced(trust_days=30),
    _SECOND,
    PasskeysPage(
        passkeys=(),
        codes_left=0,
        name="Firefox on Linux",
        proposal="Firefox on Linux",
        next="/",
        logout_url="/auth/logout",
        message="The passkey was not added. Try again.",
    ),
    PasskeysPage(
        passkeys=PASSKEYS,
        codes_left=0,
        is_first=True,
        name="Firefox on Linux",
        proposal="Firefox on Linux",
        passkey_options=NEW_PASSKEY_OPTIONS,
    ),
    PasskeysPage(
        passkeys=PASSKEYS,
        codes_left=8,
        name=" ",
        proposal="Firefox on Linux",
        renamed="2" * 64,
        errors={"name": ["Enter a name, such as Laptop."]},
        passkey_options=NEW_PASSKEY_OPTIONS,
    ),
    TotpPage(
        devices=FACTORS,
        codes_left=8,
        name="Phone",
        set_up=APP,
        errors={"code": ["This code is wrong. Enter the one that the app shows now."]},
    ),
    TotpPage(
        devices=(),
        codes_left=0,
        name="Phone",
        next="/",
        logout_url="/auth/logout",
        passkeys_url="/auth/passkeys",
    ),
    _CODES.replaced(next="/", added="app", added_name="Phone"),
    _CODES.replaced(next="/", added="passkey", added_name="Laptop"),
    _CODES.replaced(left=0, set_up_url="/auth/totp"),
    _CODES.replaced(
        next="/",
        codes=("7H2M-9QKD-X4TN", "C0VW-3PRB-6ZJE"),
        label="ada",
        host="example.org",
        made_at=THEN,
    ),
)
