"""What the OpenAPI document says of the links of emails, and of the invitations of the staff."""

from wsgiauth.features.links.email import Email
from wsgiauth.features.links.forgot import Forgot
from wsgiauth.features.links.invitations_page import Invitations
from wsgiauth.features.links.invite import Invite
from wsgiauth.features.links.reset import Reset
from wsgiauth.features.links.restore import Restore
from wsgiauth.features.links.verified_register import VerifiedRegister
from wsgiauth.features.links.verify import Verify
from wsgiauth.openapi.answers import Operation, answer, answer_or_page
from wsgiauth.openapi.callers import PERHAPS_COOKIES, PERHAPS_SESSION
from wsgiauth.openapi.objects import DETAIL, NEXT, PROFILE, PROFILE_LOCATION
from wsgiauth.openapi.schemas import Optional, array, boolean, nullable, obj, query, text, time
from wsgiauth.openapi.strings import EMAIL

OPEN_INVITATION = obj(
    "OpenInvitation",
    email=EMAIL,
    username=text("Empty: the person chooses one.", examples=["grace"]),
    is_staff=boolean(),
    permissions=array(text()),
    groups=array(text(), "The names of the groups at the time of the invitation."),
    actor=text("Who invites, as in an event; empty if that is unknown.", examples=["user 1"]),
    until=nullable(time("When the link ends. Null: the email has not been sent yet.")),
)
REGISTRATION_REQUEST = obj(
    "RegistrationRequest",
    DETAIL,
    request=Optional(
        text("With LOGIN_CODES: the secret of this request, for the code at /code/enter.")
    ),
)
INVITATIONS = obj("Invitations", invitations=array(OPEN_INVITATION, maxItems=200))
_EXAMPLE = "Zr2kq0bq3ZyYTTe1GQkVjL3Fh4vXn6s8mWc5oPdAiUE"
_TOKEN = query("token", "The secret of the link.", text(), example=_EXAMPLE)

OPERATIONS = {
    Email: {
        "get": Operation(
            "showEmail",
            "The page to change the email address",
        ),
        "post": Operation(
            "askForEmail",
            "Ask for an email with a link that verifies an email address",
            "The account gets the address when the user, logged in, opens the link and"
            " confirms.\n\n"
            "An unverified current address is verified in the same way. The answer is the same"
            " if another account has the address.",
            answers=(answer(202, "The request is accepted.", DETAIL),),
            example={"email": "ada@example.net"},
        ),
    },
    Forgot: {
        "get": Operation(
            "showForgot",
            "The page to ask for a new password",
            parameters=(NEXT,),
        ),
        "post": Operation(
            "askForNewPassword",
            "Ask for an email with a link to choose a new password",
            "The answer is the same whether there is an account or not.",
            answers=(answer(202, "The request is accepted.", DETAIL),),
            example={"username": "ada"},
        ),
    },
    Reset: {
        "get": Operation(
            "showReset",
            "The page to choose a new password",
            "For browsers: the link of an email leads here.",
            parameters=(_TOKEN,),
        ),
        "post": Operation(
            "resetPassword",
            "Choose a new password with the link of an email",
            "All sessions and API keys of the user are revoked, and the client is not logged"
            " in.\n\n"
            "The link of an email verifies the address; if it was never verified before, the"
            " second factors are removed. After a 422, the link can still be used. Without"
            " passwords, and for a user who registered with a passkey and has no password, the"
            " link logs a browser in instead.",
            answers=(answer(200, "The password is changed.", DETAIL),),
            example={
                "token": _EXAMPLE,
                "password": "some more unrelated words",
            },
        ),
    },
    Restore: {
        "get": Operation(
            "showRestoration",
            "The page to restore a former email address",
            "For browsers: the link of an email leads here.",
            parameters=(_TOKEN,),
        ),
        "post": Operation(
            "restoreAddress",
            "Restore a former email address with the link of an email",
            "Undoes later changes of the address.\n\n"
            "All sessions, API keys, links and trusted browsers of the user end; the password"
            " and the second factors stay. The client is not logged in. After a 409, the link"
            " can still be used.",
            answers=(answer(200, "The address is restored.", DETAIL),),
            browser="200 and a page with the next steps.",
            example={"token": _EXAMPLE},
        ),
    },
    Verify: {
        "get": Operation(
            "showVerification",
            "The page that says what the link of an email does",
            "For browsers: the link of an email leads here. For the link of /email, the user must"
            " be logged in.",
            parameters=(_TOKEN,),
            security=PERHAPS_COOKIES,
        ),
        "post": Operation(
            "verifyAddress",
            "Verify an email address with the link of an email",
            "The link of an invitation or a registration creates the account, with this"
            " `password`, and with this `username` instead of the one in the link; the client"
            " is not logged in. The link of /email is for the session of the user who asked for"
            " it: the address becomes theirs, and their sessions continue.\n\n"
            "Except after a 410, the link can still be used.",
            answers=(
                answer(200, "The address is verified.", DETAIL),
                answer(201, "The account is created.", PROFILE, Location=PROFILE_LOCATION),
            ),
            browser="303 to the home page with a cookie, or to `/account` if the link is for an"
            " address.",
            example={
                "token": _EXAMPLE,
                "username": "ada",
                "password": "four unrelated words",
            },
            security=PERHAPS_SESSION,
        ),
    },
    VerifiedRegister: {
        "get": Operation(
            "showRegistration",
            "The page with the registration form",
            "For browsers. A user who is logged in gets a page that says so instead.",
            parameters=(NEXT,),
        ),
        "post": Operation(
            "register",
            "Ask for an email with a link to create an account",
            "The answer is the same whether the address has an account or not.",
            answers=(answer(202, "The request is accepted.", REGISTRATION_REQUEST),),
            browser="A page that says what to do next. With LOGIN_CODES, 303 to `/code/enter`, with"
            " a cookie instead of `request`.",
            example={"username": "ada", "email": "ada@example.org"},
        ),
    },
    Invite: {
        "get": Operation(
            "askForInvitation",
            "The page that invites a person",
        ),
        "post": Operation(
            "invite",
            "Invite a person to create an account",
            "By an email, whose link works for 72 hours, as long as the caller keeps the"
            " right.\n\n"
            "429 (code `throttled`) after `MAILS_PER_ACCOUNT` invitations to one address in an"
            " hour.",
            answers=(answer(202, "The invitation is on its way.", DETAIL),),
            browser="303 to the users.",
            example={"email": "grace@example.org", "username": "grace"},
        ),
    },
    Invitations: {
        "get": Operation(
            "listInvitations",
            "The open invitations",
            "At most 200, the newest first; one of each address. Not those that people asked for"
            " themselves.",
            answers=(answer_or_page("The invitations.", INVITATIONS),),
        ),
        "post": Operation(
            "revokeInvitation",
            "Revoke the invitations of an address",
            "Their links no longer work.\n\nBy members of the staff who could send them.",
            answers=(answer(200, "The invitations are revoked.", DETAIL),),
            example={"email": "grace@example.org"},
        ),
    },
}
