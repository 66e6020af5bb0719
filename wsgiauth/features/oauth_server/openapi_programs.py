"""What the OpenAPI document says of the URLs that programs of other apps send requests to."""

from wsgiauth.features.oauth_server.endpoints.oauth_device import OAuthDevice
from wsgiauth.features.oauth_server.endpoints.oauth_par import OAuthPar
from wsgiauth.features.oauth_server.endpoints.oauth_register import OAuthRegister
from wsgiauth.features.oauth_server.endpoints.oauth_revoke import OAuthRevoke
from wsgiauth.features.oauth_server.endpoints.oauth_token import OAuthToken
from wsgiauth.features.oauth_server.endpoints.userinfo import UserInfo
from wsgiauth.features.oauth_server.openapi_schemas import (
    ACCESS_TOKEN_CHALLENGE,
    APP_TOKENS,
    CLIENT_CHALLENGE,
    CLIENT_OR_KEY_CHALLENGE,
    DEVICE_CODES,
    OAUTH_ERROR,
    PUSHED_REQUEST,
    REGISTERED_APP,
    USER_INFO,
)
from wsgiauth.features.services.introspect import Introspect
from wsgiauth.openapi.answers import (
    FORM,
    JSON,
    Addition,
    Answer,
    Body,
    Operation,
    Tag,
    answer,
)
from wsgiauth.openapi.callers import scheme
from wsgiauth.openapi.schemas import (
    Optional,
    array,
    object_of,
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

OF_INTROSPECTION = {
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
PROGRAMS = {
    OAuthToken: {
        "post": Operation(
            "issueAppTokens",
            "Exchange a code, a refresh token or a client's secret for tokens",
            "For the program of an app (RFC 6749).\n\n"
            "It authenticates by the `Authorization` header, or by `client_id` and"
            " `client_secret` in the form; a public client sends its `client_id`.",
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
            "For the program of an app, which authenticates as at /oauth/token (RFC 7009).\n\n"
            "The refresh token and introspection end at once; an access token is valid for"
            " some minutes.",
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
            "For the program of an app, which authenticates with its secret (RFC 9126).\n\n"
            "The form has the parameters of /authorize, and is checked as there. The app then"
            " sends the browser to /authorize with its `client_id` and the `request_uri`, which"
            " can be opened again until it expires.",
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
    OAuthDevice: {
        "post": Operation(
            "askForDeviceCodes",
            "A device asks for the codes with which a person allows it",
            "For the program of an app on a device without a keyboard (RFC 8628).\n\n"
            "It shows the user code and the address, and asks for its tokens at /oauth/token"
            " with the device code, every five seconds, until the person has decided.",
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
    OAuthRegister: {
        "post": Operation(
            "registerApp",
            "An app registers itself",
            "With `OAUTH_REGISTRATION`, anyone can create a public client (RFC 7591).\n\n"
            "Another `token_endpoint_auth_method` becomes `none`, and unknown scopes are left"
            " out. What is refused does not count. Each login to it asks for the consent of the"
            " user. It is deleted if it gets no tokens in its first day, or later for 30 days.",
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
}
