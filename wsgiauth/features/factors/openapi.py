"""What the OpenAPI document says of second factors."""

from wsgiauth.features.factors.endpoints.passkeys import Passkeys
from wsgiauth.features.factors.endpoints.recovery_codes import RecoveryCodes
from wsgiauth.features.factors.endpoints.second import SecondStep
from wsgiauth.features.factors.endpoints.totp import AuthenticatorApps
from wsgiauth.openapi.answers import Operation, answer, answer_or_page
from wsgiauth.openapi.callers import SESSIONS
from wsgiauth.openapi.objects import DONE, TOKEN, WAITING_LOGIN
from wsgiauth.openapi.schemas import (
    Optional,
    array,
    boolean,
    integer,
    nullable,
    obj,
    object_of,
    text,
    time,
)

PASSKEYS = obj(
    "Passkeys",
    passkeys=array(
        object_of(
            handle=text("Names it; not secret."),
            name=text("As the user calls it."),
            created_at=time(),
            last_used_at=nullable(time("Null if it has not been used yet.")),
            backed_up=boolean("Whether it is on several devices of the user."),
            host=text("The host of the site that it was made for; it works there alone."),
        )
    ),
    recovery_codes_left=integer("How many recovery codes are not used yet."),
    login=Optional(
        {
            **TOKEN.reference,
            "description": "Only if the first second factor was added in a session with a token:"
            " the new tokens. The previous ones are no longer valid.",
        }
    ),
    creation_options={
        "type": "object",
        "description": "For a new passkey, within ten minutes:"
        " `PublicKeyCredentialCreationOptionsJSON`.",
    },
)
AUTHENTICATOR_APPS = obj(
    "AuthenticatorApps",
    devices=array(
        object_of(handle=text("Names it; not secret."), name=text("As the user calls it."))
    ),
    recovery_codes_left=integer("How many recovery codes are not used yet."),
    login=Optional(
        {
            **TOKEN.reference,
            "description": "Only after the first app was added: use these tokens, because the"
            " previous ones are no longer valid.",
        }
    ),
)
AUTHENTICATOR_SET_UP = obj(
    "AuthenticatorSetUp",
    name=text("As it was sent."),
    secret=text("The key in Base32."),
    uri=text("An `otpauth:` link with the key."),
)
RECOVERY_CODES_LEFT = obj("RecoveryCodesLeft", left=integer("Not used yet."))
RECOVERY_CODES = obj(
    "RecoveryCodes", recovery_codes=array(text(example="7H2M-9QKD-X4TN"), "Each works once.")
)

OPERATIONS = {
    Passkeys: {
        "get": Operation(
            "listPasskeys",
            "The caller's passkeys",
            "With the options for a new one.",
            answers=(answer_or_page("The passkeys.", PASSKEYS),),
        ),
        "post": Operation(
            "changePasskeys",
            "Add, rename or remove a passkey",
            "Send `name` and `credential`; `rename` and `name`; or `remove`.",
            answers=(
                answer(200, "A passkey was renamed or removed.", PASSKEYS),
                answer(201, "A passkey was added.", PASSKEYS),
            ),
            example={"name": "Laptop"},
        ),
    },
    AuthenticatorApps: {
        "get": Operation(
            "listAuthenticatorApps",
            "The caller's authenticator apps",
            "The page needs a fresh session.",
            answers=(answer_or_page("The apps.", AUTHENTICATOR_APPS),),
        ),
        "post": Operation(
            "changeAuthenticatorApps",
            "Add or remove an authenticator app",
            "Send `name`, and then the first `code`; or `remove`.",
            answers=(
                answer(200, "An app was added or removed.", AUTHENTICATOR_APPS),
                answer(201, "The set-up of an app began.", AUTHENTICATOR_SET_UP),
            ),
            example={"name": "Phone"},
        ),
    },
    RecoveryCodes: {
        "get": Operation(
            "countRecoveryCodes",
            "How many recovery codes are left",
            "The page needs a fresh session.",
            answers=(answer_or_page("The number.", RECOVERY_CODES_LEFT),),
        ),
        "post": Operation(
            "makeRecoveryCodes",
            "Make new recovery codes",
            "They replace the old ones, and are shown only in this answer.",
            answers=(
                answer(200, "The codes have been saved: none were made.", RECOVERY_CODES_LEFT),
                answer(201, "The new codes.", RECOVERY_CODES),
            ),
            browser="With `saved`, 303 to `next`, or to the account. Otherwise a page with the"
            " codes. A reload that sends the form again makes no new ones: 409 `already_done`.",
        ),
    },
    SecondStep: {
        "get": Operation(
            "showSecondStep",
            "The page that asks for a second factor",
            "For browsers whose user has just entered the right password, or a code from an email.",
            parameters=(WAITING_LOGIN,),
            tag=SESSIONS,
        ),
        "post": Operation(
            "completeLogin",
            "The second step of a login in a browser",
            "Sets the cookie of the session.\n\n"
            "Pending logins of the user in other browsers end. Programs send the code to"
            " /login instead.",
            answers=(answer(200, "Logged in, or cancelled.", DONE),),
            browser="303 to the page that the user wanted in this tab; with `cancel`, to the login"
            " page.",
            parameters=(WAITING_LOGIN,),
            example={"code": "123456"},
            tag=SESSIONS,
        ),
    },
}
