"""What the OpenAPI document says of the URLs of the kernel."""

from wsgiauth.authentication.session_list import LISTED
from wsgiauth.endpoints.account import Account
from wsgiauth.endpoints.close import Close
from wsgiauth.endpoints.confirm import Confirm
from wsgiauth.endpoints.language import ChooseLanguage
from wsgiauth.endpoints.login import LogIn
from wsgiauth.endpoints.logout import Logout
from wsgiauth.endpoints.me import Me
from wsgiauth.endpoints.openapi import OpenApi
from wsgiauth.endpoints.password import Password
from wsgiauth.endpoints.refresh import Refresh
from wsgiauth.endpoints.register import Register
from wsgiauth.endpoints.sessions import Sessions
from wsgiauth.endpoints.username import Username
from wsgiauth.openapi.answers import JSON, Body, Operation, answer, answer_or_page, leads
from wsgiauth.openapi.callers import CONTRACT, PERHAPS_SESSION, SESSION, SESSION_OR_KEY, SESSIONS
from wsgiauth.openapi.objects import (
    CLEARED_COOKIE,
    DETAIL,
    DONE,
    LOGIN,
    NEXT,
    PROFILE,
    PROFILE_LOCATION,
    TOKEN,
)
from wsgiauth.openapi.schemas import (
    Optional,
    array,
    boolean,
    header,
    nullable,
    obj,
    object_of,
    query,
    text,
    time,
)
from wsgiauth.openapi.strings import LANGUAGE_TAG

LANGUAGE_COOKIE = header(
    "LanguageCookie",
    "Keeps the language for a year.",
    text(
        pattern="^[^=;]+-language=[A-Za-z0-9-]+; Max-Age=31536000; Path=/; HttpOnly;"
        " SameSite=Lax(; Secure)?$"
    ),
)

LOGOUT_LOCATION = header(
    "LogoutLocation",
    "A path of this site, with its query; or a URL of the provider at which the session began.",
    text(minLength=1),
    example="/auth/login?done=logout",
)
TRUSTED_BROWSER = obj(
    "TrustedBrowser",
    handle=text("Names the browser in the list; no credential.", pattern="^[0-9a-f]{16}$"),
    is_current=boolean(
        "Whether this browser sent the request, with its cookie; false for a program."
    ),
    trusted_at=time(),
    last_used_at=nullable(time("When a login last skipped the second step; null: never.")),
    expires_at=time(),
    address=nullable(text("The address of the client when the browser became trusted.")),
    browser=text("The browser and the system, in words.", examples=["Firefox on Windows"]),
)

LOGINS = obj(
    "Logins",
    sessions=array(LOGIN, maxItems=LISTED),
    trusted_browsers=Optional(
        array(
            TRUSTED_BROWSER,
            "The browsers in which logins of the user need no second step, the newest first. Only"
            " with TRUSTED_BROWSER_DAYS.",
            maxItems=50,
        )
    ),
    apps=Optional(
        array(
            text(),
            "The names of the apps that keep their access if all sessions end; see `/apps`. Only"
            " with OAUTH_SERVER.",
            maxItems=100,
        )
    ),
)
_LOGGED_OUT = (
    answer(
        200,
        "The session has ended, and the cookie is deleted. `next`, if there is one, is"
        " a page of the provider at which the session began.",
        DETAIL,
        Set_Cookie=CLEARED_COOKIE,
    ),
    leads(
        303,
        "The same for clients that prefer HTML: to `next`, to the login page, or to"
        " the provider at which the session began.",
        Location=LOGOUT_LOCATION,
        Set_Cookie=CLEARED_COOKIE,
    ),
)

OPERATIONS = {
    OpenApi: {
        "get": Operation(
            "describe",
            "This document",
            "Its server is the mount of this site. It leaves out the paths that the settings turn"
            " off.",
            answers=(
                answer(
                    200,
                    "An OpenAPI 3.1 document.",
                    object_of(
                        openapi=text(pattern="^3\\.1\\."),
                        info={"type": "object"},
                        servers=array({"type": "object"}),
                        tags=array({"type": "object"}),
                        paths={"type": "object"},
                        components={"type": "object"},
                    ),
                ),
            ),
            tag=CONTRACT,
        )
    },
    Register: {
        "get": Operation(
            "showRegistration",
            "The page with the registration form",
            "For browsers. A user who is logged in gets a page that says so instead.",
            parameters=(NEXT,),
        ),
        "post": Operation(
            "register",
            "Create an account",
            "A program logs in next. With `MAIL_URL`, the address gets an email with a link that"
            " verifies it.",
            answers=(answer(201, "The account is created.", PROFILE, Location=PROFILE_LOCATION),),
            browser="303 to `next`, with the cookie of a new session. With PASSKEYS, the form of a"
            " browser can have `credential` instead of `password`: the `RegistrationResponseJSON`"
            " of a passkey, for the options of the page. It leads to `/account` first.",
            example={
                "username": "ada",
                "email": "ada@example.org",
                "password": "four unrelated words",
            },
        ),
    },
    Me: {
        "get": Operation(
            "showProfile",
            "The caller's own profile",
            "With an API key, the permissions are those of the key that its owner has; the flags"
            " are false, and there are no groups.",
            answers=(answer(200, "The profile.", PROFILE),),
            security=SESSION_OR_KEY,
        )
    },
    Password: {
        "get": Operation(
            "showPassword",
            "The page with the form to change the password",
            "For browsers. A user without a password needs a fresh session.",
            parameters=(NEXT,),
        ),
        "post": Operation(
            "changePassword",
            "Change the password, or set the first one",
            "A user without a password sets the first one after a recent proof: the second factor,"
            " a login at a provider that sends `auth_time`, or a code from an email. All other"
            " sessions of the user end, and with `end_keys`, all API keys are revoked. Use the"
            " returned tokens, because the previous ones are no longer valid.",
            answers=(answer(200, "The password is changed.", TOKEN),),
            browser="303 to `next` or `/account`, with a new cookie.",
            example={
                "current_password": "four unrelated words",
                "new_password": "some more unrelated words",
            },
        ),
    },
    Username: {
        "get": Operation(
            "showUsername",
            "The page to change the username",
        ),
        "post": Operation(
            "changeUsername",
            "Change the username",
            "All sessions continue.",
            answers=(answer(200, "The username is changed.", PROFILE),),
            example={"username": "lovelace"},
        ),
    },
    ChooseLanguage: {
        "get": Operation(
            "showLanguages",
            "The page with the languages of the site",
            parameters=(NEXT,),
            security=PERHAPS_SESSION,
        ),
        "post": Operation(
            "chooseLanguage",
            "Choose the language of pages, messages and emails",
            "Stores it in a cookie for a year, and for a user who is logged in, or who logs in in"
            " this browser within ten minutes.",
            answers=(
                answer(
                    200,
                    "The language is stored.",
                    {
                        "type": "object",
                        "required": ["language"],
                        "additionalProperties": False,
                        "properties": {"language": LANGUAGE_TAG},
                    },
                    Set_Cookie=LANGUAGE_COOKIE,
                ),
            ),
            example={"language": "en"},
            security=PERHAPS_SESSION,
        ),
    },
    Close: {
        "get": Operation(
            "showClose",
            "The page to close the account",
        ),
        "post": Operation(
            "closeAccount",
            "Close the account",
            "Deletes the caller with all sessions, permissions and links. This cannot be undone."
            " Others can then register the names.",
            answers=(answer(200, "The account is deleted.", DETAIL, Set_Cookie=CLEARED_COOKIE),),
            browser="303 to the login page, without the cookie.",
        ),
    },
    Account: {
        "get": Operation(
            "showAccount",
            "The caller's own account",
            "For programs the same as /me; for browsers a page with links to the other pages.",
            answers=(answer_or_page("The profile.", PROFILE),),
            security=SESSION,
        )
    },
    LogIn: {
        "get": Operation(
            "showLogin",
            "The page with the login form",
            "For browsers. A user who is logged in gets a page that says so instead, unless"
            " `switch` is given.",
            parameters=(
                NEXT,
                query(
                    "switch",
                    "Anything: shows the form even to a user who is logged in.",
                    text(),
                    example="1",
                ),
            ),
            tag=SESSIONS,
        ),
        "post": Operation(
            "logIn",
            "Log in",
            "Returns a token, and sets no cookie.\n\n"
            "If the request carries a valid bearer token, the session of that token ends. With"
            " PASSWORD_LOGIN off, 404.",
            answers=(answer(200, "Logged in.", TOKEN),),
            browser="303 to `next`, with a cookie. The `credential` of a passkey replaces the"
            " other fields, also with PASSWORD_LOGIN off.",
            example={"username": "ada", "password": "four unrelated words"},
            tag=SESSIONS,
        ),
    },
    Logout: {
        "get": Operation(
            "followLogout",
            "Log out by a link",
            "Like POST. With the cookie, the request must be a link that a person follows. A"
            ' script sends a POST; a link on a page with Turbo needs `data-turbo="false"`.',
            answers=_LOGGED_OUT,
            parameters=(NEXT,),
            tag=SESSIONS,
            security=PERHAPS_SESSION,
        ),
        "post": Operation(
            "logOut",
            "Log out",
            "Ends the session, clears the cookie, and forgets pending accounts of other providers"
            " in this browser. The answer is the same without a session. A body is not read.",
            answers=_LOGGED_OUT,
            parameters=(NEXT,),
            tag=SESSIONS,
            security=PERHAPS_SESSION,
        ),
    },
    Refresh: {
        "post": Operation(
            "refresh",
            "Renew the access token",
            "For 30 seconds, the previous refresh token gets the current one again; later, it ends"
            " the session.",
            answers=(answer(200, "The new tokens.", TOKEN),),
            body=Body(
                content={
                    JSON: object_of(
                        refresh_token=text(
                            "That of the login or of the last refresh.",
                            minLength=1,
                            examples=[
                                "wsgiauth-refresh_ZmFjdCBvciBmaWN0aW9u_1_bm8gb25lIHNpZ25lZCB0aGlzI"
                                "HRva2VuIGZvciB5b3U"
                            ],
                        )
                    )
                },
                about="At most 16 KiB, in UTF-8. Further fields are ignored.",
                example={
                    "refresh_token": "wsgiauth-refresh_ZmFjdCBvciBmaWN0aW9u_1_bm8gb25lIHNpZ25lZCB0"
                    "aGlzIHRva2VuIGZvciB5b3U"
                },
            ),
            tag=SESSIONS,
        )
    },
    Confirm: {
        "get": Operation(
            "showConfirmation",
            "The page that asks for the password or for a code again",
            "For browsers. A user without a second factor can also log in again at a connected"
            " provider or, without a password, enter a code from an email. With `resend`, which"
            " guards add for a form, the page says that the form was not processed.",
            parameters=(NEXT,),
            tag=SESSIONS,
        ),
        "post": Operation(
            "confirm",
            "Prove again who you are",
            "For requests that were refused with `insufficient_user_authentication`. Use the"
            " returned tokens, because the previous ones are no longer valid.",
            answers=(
                answer(
                    200,
                    "The session is fresh; or with a `provider`, `next` is a page there.",
                    {"anyOf": [TOKEN, DONE]},
                ),
            ),
            browser="303 to `next`, with a new cookie; with `provider`, to the provider.",
            example={"password": "four unrelated words"},
            tag=SESSIONS,
        ),
    },
    Sessions: {
        "get": Operation(
            "listLogins",
            "Where the caller is logged in",
            "The caller's session, those that ended because a refresh token was used twice, and"
            " the others, the newest first; at most 100.",
            answers=(answer_or_page("The sessions.", LOGINS),),
            tag=SESSIONS,
        ),
        "post": Operation(
            "endLogins",
            "End a session, or all others",
            "It can also end the trust in a browser. If the caller's own session ends, the cookie"
            " is deleted as well.",
            answers=(answer(200, "The remaining sessions.", LOGINS),),
            example={"end": "others"},
            tag=SESSIONS,
        ),
    },
}
