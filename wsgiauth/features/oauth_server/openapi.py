"""What the OpenAPI document says of logins to other apps, and of the panel's pages about apps."""

from wsgiauth.features.oauth_server.endpoints.admin_app import APP_ACTIONS, AdminApp, ChangeApp
from wsgiauth.features.oauth_server.endpoints.admin_apps import AdminApps
from wsgiauth.features.oauth_server.endpoints.apps import Apps
from wsgiauth.features.oauth_server.endpoints.authorize import Authorize
from wsgiauth.features.oauth_server.endpoints.consent import Consent
from wsgiauth.features.oauth_server.endpoints.device import Device
from wsgiauth.features.oauth_server.endpoints.oauth_device import OAuthDevice
from wsgiauth.features.oauth_server.endpoints.oauth_logout import OAuthLogout
from wsgiauth.features.oauth_server.endpoints.oauth_par import OAuthPar
from wsgiauth.features.oauth_server.endpoints.oauth_register import OAuthRegister
from wsgiauth.features.oauth_server.endpoints.oauth_revoke import OAuthRevoke
from wsgiauth.features.oauth_server.endpoints.oauth_token import OAuthToken
from wsgiauth.features.oauth_server.endpoints.userinfo import UserInfo
from wsgiauth.features.oauth_server.openapi_schemas import (
    ACCESS_TOKEN_CHALLENGE,
    ALLOWED_APP,
    ALLOWED_APPS,
    ANSWER_REFERRER_POLICY,
    APP_LOCATION,
    APP_TOKENS,
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
    CLIENT_CHALLENGE,
    CLIENT_OR_KEY_CHALLENGE,
    DEVICE_CODES,
    FOUND_APPS,
    LOGOUT_CLIENT,
    LOGOUT_ID_TOKEN_HINT,
    LOGOUT_REDIRECT_URI,
    LOGOUT_STATE,
    OAUTH_ERROR,
    PUSHED_REQUEST,
    REGISTERED_APP,
    USER_INFO,
    WAITING_DEVICE,
)
from wsgiauth.features.services.introspect import Introspect
from wsgiauth.openapi.answers import (
    FORM,
    HTML,
    HTML_PAGE,
    JSON,
    Addition,
    Answer,
    Body,
    Operation,
    Tag,
    answer,
    answer_or_page,
    leads,
    page,
)
from wsgiauth.openapi.callers import COOKIES, PERHAPS_COOKIES, scheme
from wsgiauth.openapi.objects import DETAIL
from wsgiauth.openapi.schemas import (
    Optional,
    array,
    in_path,
    object_of,
    query,
    text,
)

APPS = Tag("apps", "Logins to other apps with the account here: OpenID Connect and OAuth 2.1.")
CLIENT = scheme(
    "client",
    "a client",
    "The id and the secret of a client, each percent-encoded (RFC 6749, section 2.3.1).",
    type="http",
    scheme="basic",
)
APP_TOKEN = scheme(
    "appToken",
    "an access token of an app",
    "An access token that /oauth/token has issued for /userinfo. It identifies no other request to"
    " this site.",
    type="http",
    scheme="bearer",
    bearerFormat="JWT",
)

_OF_CLIENT = tuple(
    Answer(status=status, about=about, content={JSON: OAUTH_ERROR}, name=name)
    for status, name, about in (
        (411, "ClientLengthRequired", "The request has no Content-Length."),
        (413, "ClientTooLarge", "The body is larger than 16 KiB."),
        (415, "ClientUnsupported", "The body is not a URL-encoded form."),
    )
)
_CREDENTIALS = {
    "client_id": Optional(text("The client, unless the `Authorization` header names it.")),
    "client_secret": Optional(
        text("Its secret, unless the header has it; a public client has none.")
    ),
}
_UNKNOWN = answer(
    401,
    "The client is unknown, or its secret is wrong or missing (`invalid_client`).",
    OAUTH_ERROR,
    WWW_Authenticate=CLIENT_CHALLENGE,
)
_OF_APPLICATION = answer(
    500,
    "The function of the application that adds claims failed (`server_error`). Nothing has"
    " changed: a code or a refresh token can still be used.",
    OAUTH_ERROR,
)
_OF_ACCESS_TOKEN = (
    _OF_APPLICATION,
    answer(
        401,
        "There is no access token (`invalid_request`), or it is wrong, for another URL, or has"
        " ended (`invalid_token`).",
        OAUTH_ERROR,
        WWW_Authenticate=ACCESS_TOKEN_CHALLENGE,
    ),
    answer(
        403,
        "The token lacks the scope `openid` (`insufficient_scope`).",
        OAUTH_ERROR,
        WWW_Authenticate=ACCESS_TOKEN_CHALLENGE,
    ),
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
ADDITIONS = {
    (Introspect, "post"): Addition(
        about="With OAUTH_SERVER, a client can ask by its secret instead, as at /oauth/token: in"
        " the header, or by `client_id` and `client_secret` beside `token`. It learns of its own"
        " tokens and, if it logs in as itself, of those for the services of `client add"
        " --audience`; any other one is not active. `username` then needs the scope `profile`.",
        answers=(
            Answer(
                status=400,
                about="A client authenticates in two ways (`invalid_request`).",
                content={JSON: OAUTH_ERROR},
                name="TwoWays",
            ),
            Answer(
                status=401,
                about="The client is unknown or public, or its secret is wrong or missing"
                " (`invalid_client`).",
                content={JSON: OAUTH_ERROR},
                headers={"WWW-Authenticate": CLIENT_OR_KEY_CHALLENGE},
                name="NotAuthenticated",
            ),
        ),
        security=(CLIENT, None),
    )
}
OPERATIONS = {
    Authorize: {
        "get": Operation(
            "authorize",
            "An app asks who the user is",
            "For browsers, which the app sends here (RFC 6749, OpenID Connect Core 1.0). The"
            " answer leads back to the app, after a login and the consent of the user if they are"
            " needed. With a wrong client or redirect URI, or with names and values of more than"
            " 8,192 bytes in all, or a `state` of more than 4,096 bytes, the answer is a page,"
            " never a redirect. Every other mistake is an answer to the app. Parameters that are"
            " not listed are ignored; `request` and a `request_uri` that /oauth/par has not issued"
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
            "Those that have access, and in `launch` those that the caller can open. The last used"
            " first: the 100 apps that the caller has allowed last, and apps that"
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
    OAuthToken: {
        "post": Operation(
            "issueAppTokens",
            "Exchange a code, a refresh token or a client's secret for tokens",
            "For the program of an app (RFC 6749). It authenticates by the `Authorization` header,"
            " or by `client_id` and `client_secret` in the form; a public client sends its"
            " `client_id`.",
            answers=(
                answer(200, "The tokens.", APP_TOKENS),
                answer(
                    400,
                    "The form is incomplete or cannot be read (`invalid_request`); the code or the"
                    " refresh token is wrong, was used or has ended, or it is of another client,"
                    " redirect URI or verifier (`invalid_grant`); the scope has what was never"
                    " asked for, or more than the client (`invalid_scope`); the grant is not for"
                    " this resource, or the site has no such service (`invalid_target`); the"
                    " client cannot use this type (`unauthorized_client`); or the type is another"
                    " one (`unsupported_grant_type`). For a device: the person has not decided yet"
                    " (`authorization_pending`), it asks too often (`slow_down`), the person has"
                    " refused (`access_denied`), or the code has expired (`expired_token`).",
                    OAUTH_ERROR,
                ),
                _UNKNOWN,
                _OF_APPLICATION,
                *_OF_CLIENT,
            ),
            body=Body(
                content={
                    FORM: object_of(
                        grant_type=text(
                            "`authorization_code`, `refresh_token` or"
                            " `urn:ietf:params:oauth:grant-type:device_code`; a client that logs"
                            " in as itself has only `client_credentials`."
                        ),
                        code=Optional(
                            text("With `authorization_code`: the code, once and within a minute.")
                        ),
                        redirect_uri=Optional(
                            text("With a code: as in the request to `/authorize`.")
                        ),
                        device_code=Optional(
                            text("With the type for devices: the code of /oauth/device.")
                        ),
                        code_verifier=Optional(text("With a code: the verifier of PKCE.")),
                        refresh_token=Optional(
                            text("With `refresh_token`: the last one. Each use replaces it.")
                        ),
                        scope=Optional(
                            text(
                                "With a refresh token: scopes that were asked for at first; those"
                                " granted come back. With `client_credentials`: fewer than the"
                                " client has."
                            )
                        ),
                        resource=Optional(
                            text(
                                "The service of the request, if it is sent. With"
                                " `client_credentials`: one of `SERVICES`, unless there is only"
                                " one."
                            )
                        ),
                        **_CREDENTIALS,
                    )
                },
                about="At most 16 KiB.",
            ),
            tag=APPS,
            security=(CLIENT, None),
        )
    },
    OAuthRevoke: {
        "post": Operation(
            "revokeAppToken",
            "End what a token belongs to",
            "For the program of an app, which authenticates as at /oauth/token (RFC 7009). The"
            " refresh token and introspection end at once; an access token is valid for some"
            " minutes.",
            answers=(
                answer(
                    200,
                    "The token is not valid any more, or never was one of the app.",
                    {"type": "object", "maxProperties": 0},
                ),
                answer(
                    400,
                    "The form is incomplete or cannot be read (`invalid_request`), or the token is"
                    " one of `client_credentials`, which lasts until it expires"
                    " (`unsupported_token_type`).",
                    OAUTH_ERROR,
                ),
                _UNKNOWN,
                *_OF_CLIENT,
            ),
            body=Body(
                content={
                    FORM: object_of(
                        token=text("A refresh token or an access token."),
                        token_type_hint=Optional(text("Is not needed.")),
                        **_CREDENTIALS,
                    )
                },
                about="At most 16 KiB.",
            ),
            tag=APPS,
            security=(CLIENT, None),
        )
    },
    OAuthPar: {
        "post": Operation(
            "pushAuthorizationRequest",
            "Send the request of an app in advance",
            "For the program of an app, which authenticates with its secret (RFC 9126). The form"
            " has the parameters of /authorize, and is checked as there. The app then sends the"
            " browser to /authorize with its `client_id` and the `request_uri`, which can be"
            " opened again until it expires.",
            answers=(
                answer(201, "The name of the request.", PUSHED_REQUEST),
                answer(
                    400,
                    "The form cannot be read, or /authorize would refuse the request, by the code"
                    " that it would send to the app; for another redirect URI, `invalid_request`."
                    " Or the client logs in as itself (`unauthorized_client`).",
                    OAUTH_ERROR,
                ),
                _UNKNOWN,
                answer(413, "The request is too long (`invalid_request`).", OAUTH_ERROR),
                *(each for each in _OF_CLIENT if each.status != 413),
            ),
            body=Body(
                content={FORM: {"type": "object", "additionalProperties": text()}},
                about="The parameters of a request, and the client's credentials. At most 8,192"
                " bytes of names and values, and an `id_token_hint` of at most 32 KiB.",
            ),
            tag=APPS,
            security=(CLIENT, None),
        )
    },
    UserInfo: {
        "get": Operation(
            "getUserInfo",
            "For an app: the claims about a user",
            "With an access token of the app that is for this URL (OpenID Connect Core 1.0,"
            " section 5.3). It accepts no cookie.",
            answers=(
                answer(200, "The claims that the scopes of the token open.", USER_INFO),
                *_OF_ACCESS_TOKEN,
            ),
            tag=APPS,
            security=(APP_TOKEN,),
        ),
        "post": Operation(
            "postUserInfo",
            "The same, by a form",
            "The token is in the header, or in the form (RFC 6750, section 2.2).",
            answers=(
                answer(200, "The claims that the scopes of the token open.", USER_INFO),
                *_OF_ACCESS_TOKEN,
            ),
            body=Body(
                content={
                    FORM: object_of(
                        access_token=Optional(text("The access token, unless the header has it."))
                    )
                },
                about="At most 16 KiB.",
                required=False,
            ),
            tag=APPS,
            security=(APP_TOKEN, None),
        ),
    },
    OAuthLogout: {
        "get": Operation(
            "logOutFromApp",
            "An app asks to log its user out here, too",
            "For browsers, which the app sends here (OpenID Connect RP-Initiated Logout 1.0). With"
            " an ID token of this session, the session ends at once, as by /logout. Otherwise a"
            " page asks, with a form of /logout; without a session, there is nothing to ask. Then"
            " the browser gets to `post_logout_redirect_uri`. With a mistake, such as a wrong"
            " client or URI, the answer is a page, never a redirect. Parameters that are not"
            " listed are ignored, `logout_hint` and `ui_locales` among them.",
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
    OAuthDevice: {
        "post": Operation(
            "askForDeviceCodes",
            "A device asks for the codes with which a person allows it",
            "For the program of an app on a device without a keyboard (RFC 8628). It shows the"
            " user code and the address, and asks for its tokens at /oauth/token with the device"
            " code, every five seconds, until the person has decided.",
            answers=(
                answer(200, "The codes.", DEVICE_CODES),
                answer(
                    400,
                    "The form cannot be read (`invalid_request`), the client registered itself or"
                    " logs in as itself (`unauthorized_client`) or does not have all of the scopes"
                    " (`invalid_scope`), or the site has no such service (`invalid_target`).",
                    OAUTH_ERROR,
                ),
                _UNKNOWN,
                *_OF_CLIENT,
            ),
            body=Body(
                content={
                    FORM: object_of(
                        scope=Optional(text("What the app asks for.")),
                        resource=Optional(
                            text("The service of `SERVICES` for which it wants a token.")
                        ),
                        **_CREDENTIALS,
                    )
                },
                about="At most 16 KiB.",
            ),
            tag=APPS,
            security=(CLIENT, None),
        )
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
            "Without `decision`, the answer says which app waits under the code, and from where it"
            " asked. Wrong codes count for the user and for the client.",
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
    OAuthRegister: {
        "post": Operation(
            "registerApp",
            "An app registers itself",
            "With `OAUTH_REGISTRATION`, anyone can create a public client (RFC 7591). Another"
            " `token_endpoint_auth_method` becomes `none`, and unknown scopes are left out. What"
            " is refused does not count. Each login to it asks for the consent of the user. It is"
            " deleted if it gets no tokens in its first day, or later for 30 days.",
            answers=(
                answer(201, "The client.", REGISTERED_APP),
                answer(
                    400,
                    "A redirect URI cannot be accepted (`invalid_redirect_uri`), or another"
                    " member, or too many apps have registered themselves"
                    " (`invalid_client_metadata`).",
                    OAUTH_ERROR,
                ),
                *_OF_CLIENT,
            ),
            body=Body(
                content={
                    JSON: object_of(
                        redirect_uris=array(
                            text(),
                            "Where a login leads: https, localhost, or the scheme of an app.",
                            minItems=1,
                            maxItems=20,
                            examples=[["http://localhost:33418/callback"]],
                        ),
                        client_name=Optional(
                            text(
                                "The name for people, of a few plain words; otherwise the host of"
                                " the first URI takes its place.",
                                maxLength=100,
                                examples=["Editor"],
                            )
                        ),
                        scope=Optional(
                            text(
                                "What it can ask for; by default openid, profile, email and"
                                " offline_access.",
                                examples=["openid profile"],
                            )
                        ),
                        token_endpoint_auth_method=Optional(
                            text("There is no secret.", enum=["none"])
                        ),
                    )
                },
                about="At most 16 KiB, in UTF-8. Further members are ignored, and nothing that"
                " they name is fetched.",
                example={
                    "redirect_uris": ["http://localhost:33418/callback"],
                    "client_name": "Editor",
                },
            ),
            tag=APPS,
        )
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
}
