"""What the OpenAPI document says of logins to other apps, and of the panel's pages about apps."""

from wsgiauth.features.oauth_server.endpoints.admin_app import APP_ACTIONS, AdminApp, ChangeApp
from wsgiauth.features.oauth_server.endpoints.admin_apps import AdminApps
from wsgiauth.features.oauth_server.endpoints.apps import Apps
from wsgiauth.features.oauth_server.endpoints.authorize import Authorize
from wsgiauth.features.oauth_server.endpoints.consent import Consent
from wsgiauth.features.oauth_server.endpoints.device import Device
from wsgiauth.features.oauth_server.endpoints.oauth_logout import OAuthLogout
from wsgiauth.features.oauth_server.openapi_programs import APPS, OF_INTROSPECTION, PROGRAMS
from wsgiauth.features.oauth_server.openapi_schemas import (
    ALLOWED_APP,
    ALLOWED_APPS,
    ANSWER_REFERRER_POLICY,
    APP_LOCATION,
    APP_WITH_USERS,
    AUTHORIZE_CHALLENGE,
    AUTHORIZE_CHALLENGE_METHOD,
    AUTHORIZE_CLIENT,
    AUTHORIZE_ID_TOKEN_HINT,
    AUTHORIZE_LOGIN_HINT,
    AUTHORIZE_MAX_AGE,
    AUTHORIZE_NONCE,
    AUTHORIZE_PROMPT,
    AUTHORIZE_REDIRECT_URI,
    AUTHORIZE_REQUEST_URI,
    AUTHORIZE_RESOURCE,
    AUTHORIZE_RESPONSE_MODE,
    AUTHORIZE_RESPONSE_TYPE,
    AUTHORIZE_SCOPE,
    AUTHORIZE_STATE,
    FOUND_APPS,
    LOGOUT_CLIENT,
    LOGOUT_ID_TOKEN_HINT,
    LOGOUT_REDIRECT_URI,
    LOGOUT_STATE,
    WAITING_DEVICE,
)
from wsgiauth.openapi.answers import (
    FORM,
    HTML,
    HTML_PAGE,
    Answer,
    Body,
    Operation,
    answer,
    answer_or_page,
    leads,
    page,
)
from wsgiauth.openapi.callers import COOKIES, PERHAPS_COOKIES
from wsgiauth.openapi.objects import DETAIL
from wsgiauth.openapi.schemas import (
    array,
    in_path,
    object_of,
    query,
    text,
)

_OF_REQUEST = (
    AUTHORIZE_RESPONSE_TYPE,
    AUTHORIZE_CLIENT,
    AUTHORIZE_REDIRECT_URI,
    AUTHORIZE_SCOPE,
    AUTHORIZE_STATE,
    AUTHORIZE_NONCE,
    AUTHORIZE_CHALLENGE,
    AUTHORIZE_CHALLENGE_METHOD,
    AUTHORIZE_PROMPT,
    AUTHORIZE_MAX_AGE,
    AUTHORIZE_LOGIN_HINT,
    AUTHORIZE_ID_TOKEN_HINT,
    AUTHORIZE_RESOURCE,
    AUTHORIZE_RESPONSE_MODE,
    AUTHORIZE_REQUEST_URI,
)
_ACTION = in_path("action", "What to do.", text(enum=[*APP_ACTIONS]))
MEMBERS = {
    "Account": {
        "apps": array(
            ALLOWED_APP,
            "The apps that the user has allowed, the last used first; only on a site with"
            " OAUTH_SERVER.",
        )
    }
}
ADDITIONS = OF_INTROSPECTION
OPERATIONS = {
    Authorize: {
        "get": Operation(
            "authorize",
            "An app asks who the user is",
            "For browsers, which the app sends here (RFC 6749, OpenID Connect Core 1.0). The"
            " answer leads back to the app, after a login and the consent of the user if they"
            " are needed.\n\n"
            "With a wrong client or redirect URI, or with names and values of more than 8,192"
            " bytes in all, or a `state` of more than 4,096 bytes, the answer is a page, never"
            " a redirect. Every other mistake is an answer to the app. Parameters that are not"
            " listed are ignored; `request` and a `request_uri` that /oauth/par has not issued"
            " are refused.",
            answers=(
                page(
                    "With `response_mode=form_post`: a page whose form sends the answer to the"
                    " app.",
                    Referrer_Policy=ANSWER_REFERRER_POLICY,
                ),
                leads(
                    303,
                    "`Location` is the redirect URI of the app, with a `code` or with `error` and"
                    " `error_description`, and with `state` and `iss` (RFC 9207). Before that, it"
                    " is /login, /confirm or /consent, whatever `Accept` says.",
                    Referrer_Policy=ANSWER_REFERRER_POLICY,
                    Location=APP_LOCATION,
                ),
            ),
            browser="A user who is not in the group of the app gets a page that says so, with 403.",
            parameters=_OF_REQUEST,
            tag=APPS,
            security=COOKIES,
        ),
        "post": Operation(
            "beginAuthorization",
            "Begin the same request by a form",
            "The form has the parameters of the query. A page of any site can send it. It is never"
            " the consent of the user.",
            answers=(
                leads(
                    303,
                    "`Location` is /authorize with the parameters as its query, or with a"
                    " `request_uri` instead of long ones. With long parameters that have a"
                    " mistake, it is the app.",
                ),
                page("With a mistake in a long request with `response_mode=form_post`."),
            ),
            body=Body(
                content={FORM: {"type": "object", "additionalProperties": text()}},
                about="The parameters of a request. At most 16 KiB, and an `id_token_hint` of at"
                " most 32 KiB.",
            ),
            tag=APPS,
        ),
    },
    Consent: {
        "get": Operation(
            "showConsent",
            "The page on which a user allows an app what it asks for",
            answers=(
                leads(
                    303,
                    "`Location` is the redirect URI of the app, with a `code` or with `error` and"
                    " `error_description`, and with `state` and `iss` (RFC 9207). Or it is"
                    " /authorize or /login.",
                    Referrer_Policy=ANSWER_REFERRER_POLICY,
                    Location=APP_LOCATION,
                ),
            ),
            parameters=_OF_REQUEST,
            tag=APPS,
        ),
        "post": Operation(
            "decideConsent",
            "Allow an app what it asks for, or refuse",
            "The query is the request of the app. Only the scopes of the form are allowed.",
            answers=(
                answer(
                    200,
                    "Where the answer is for the app.",
                    object_of(location=text("The redirect URI of the app, with the answer.")),
                ),
                leads(
                    303,
                    "`Location` is the redirect URI of the app, with a `code` or with `error` and"
                    " `error_description`, and with `state` and `iss` (RFC 9207). Before the user"
                    " has allowed the app, it is /consent.",
                    Referrer_Policy=ANSWER_REFERRER_POLICY,
                    Location=APP_LOCATION,
                ),
            ),
            browser="303 to the app, or with `response_mode=form_post` a page whose form brings"
            " the answer to it.",
            parameters=_OF_REQUEST,
            example={"decision": "allow", "scope": "openid email"},
            tag=APPS,
        ),
    },
    Apps: {
        "get": Operation(
            "listApps",
            "The apps of the caller",
            "Those that have access, and in `launch` those that the caller can open.\n\n"
            "The last used first: the 100 apps that the caller has allowed last, and apps that"
            " operators trust, while they have tokens.",
            answers=(answer_or_page("The apps.", ALLOWED_APPS),),
            tag=APPS,
        ),
        "post": Operation(
            "revokeApp",
            "Revoke an app",
            "Its refresh tokens end at once. It needs the consent of the user again.",
            answers=(answer(200, "The app is revoked.", ALLOWED_APPS),),
            example={"revoke": "4f2a90c81d37be650912"},
            tag=APPS,
        ),
    },
    OAuthLogout: {
        "get": Operation(
            "logOutFromApp",
            "An app asks to log its user out here, too",
            "For browsers, which the app sends here (OpenID Connect RP-Initiated Logout 1.0).\n\n"
            "With an ID token of this session, the session ends at once, as by /logout."
            " Otherwise a page asks, with a form of /logout; without a session, there is"
            " nothing to ask. Then the browser gets to `post_logout_redirect_uri`. With a"
            " mistake, such as a wrong client or URI, the answer is a page, never a redirect."
            " Parameters that are not listed are ignored, `logout_hint` and `ui_locales` among"
            " them.",
            answers=(
                page(
                    "A page, whatever `Accept` says: it asks whether to log out, or says that"
                    " there is no session.",
                    Referrer_Policy=ANSWER_REFERRER_POLICY,
                ),
                leads(
                    303,
                    "There is no session any more. `Location` is `post_logout_redirect_uri` with"
                    " `state`, or /oauth/logout without that URI. For a session that began at"
                    " another provider with `logout=provider`, it is a page of that provider.",
                    Referrer_Policy=ANSWER_REFERRER_POLICY,
                    Location=APP_LOCATION,
                ),
                Answer(
                    status=400,
                    about="The same pages, whatever `Accept` says, for a request that leads"
                    " nowhere: the site has no such client, the client has not registered this"
                    " URI, the ID token is not one of this site and of this client, or a"
                    " parameter is given twice.",
                    content={HTML: HTML_PAGE},
                    headers={"Referrer-Policy": ANSWER_REFERRER_POLICY},
                ),
            ),
            parameters=(
                LOGOUT_ID_TOKEN_HINT,
                LOGOUT_CLIENT,
                LOGOUT_REDIRECT_URI,
                LOGOUT_STATE,
            ),
            tag=APPS,
            security=PERHAPS_COOKIES,
        ),
        "post": Operation(
            "beginLogoutFromApp",
            "Begin the same request by a form",
            "The form has the parameters of the query. A page of any site can send it. It never"
            " logs out by itself.",
            answers=(leads(303, "`Location` is /oauth/logout with the parameters as its query."),),
            body=Body(
                content={FORM: {"type": "object", "additionalProperties": text()}},
                about="The parameters of a request. At most 16 KiB, and an `id_token_hint` of at"
                " most 32 KiB.",
            ),
            tag=APPS,
        ),
    },
    Device: {
        "get": Operation(
            "showDevice",
            "The page on which a person connects a device",
            "For browsers. A link can bring the code into the field, but only the form looks for"
            " its device.",
            parameters=(query("user_code", "The code that the device shows.", text()),),
            tag=APPS,
        ),
        "post": Operation(
            "decideDevice",
            "Find a device by its code, and allow it or refuse",
            "Without `decision`, the answer says which app waits under the code, and from"
            " where it asked.\n\n"
            "Wrong codes count for the user and for the client.",
            answers=(
                answer(
                    200,
                    "The device that waits, or what was done.",
                    {"oneOf": [WAITING_DEVICE, DETAIL]},
                ),
            ),
            browser="Without a decision, a page that asks for it; afterwards 303 to a page that"
            " says what was done.",
            example={"user_code": "BCDF-GHJK", "decision": "allow", "scope": "openid profile"},
            tag=APPS,
        ),
    },
    AdminApps: {
        "get": Operation(
            "findApps",
            "Find apps",
            "At most 50, by name.",
            answers=(answer_or_page("The apps.", FOUND_APPS),),
            parameters=(
                query("q", "A part of the name, in any letter case.", text()),
                query(
                    "registered",
                    "`itself`: only apps that registered themselves.",
                    text(enum=["", "itself"]),
                ),
                query("after", "Where the page begins, as in a `next`.", text()),
            ),
        )
    },
    AdminApp: {
        "get": Operation(
            "showApp",
            "An app, and its users",
            "At most 50 of the users who have allowed the app, the oldest account first.",
            answers=(answer_or_page("The app.", APP_WITH_USERS),),
            parameters=(
                in_path("client", "The `client_id`.", text(pattern="^[0-9A-Za-z]{1,32}$")),
                query("after", "Where the page begins, as in a `next`.", text()),
            ),
        )
    },
    ChangeApp: {
        "get": Operation(
            "askBeforeAppAction",
            "The page that asks before an app changes",
            parameters=(
                in_path("client", "The `client_id`.", text(pattern="^[0-9A-Za-z]{1,32}$")),
                _ACTION,
            ),
        ),
        "post": Operation(
            "changeApp",
            "Revoke an app for a user, or remove it",
            "`revoke` needs the right to revoke the sessions of the user, `delete` a superuser.",
            answers=(
                answer(
                    200,
                    "The app as it is now; after `delete`, that it is done.",
                    {"anyOf": [APP_WITH_USERS, DETAIL]},
                ),
            ),
            parameters=(
                in_path("client", "The `client_id`.", text(pattern="^[0-9A-Za-z]{1,32}$")),
                _ACTION,
            ),
            example={"user": "7"},
        ),
    },
    **PROGRAMS,
}
