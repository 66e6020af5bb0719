"""What apps send and are answered, and what is said about them, for the OpenAPI document."""

from wsgiauth.openapi.problems import CHALLENGE
from wsgiauth.openapi.schemas import (
    Optional,
    array,
    boolean,
    header,
    integer,
    nullable,
    obj,
    parameter,
    query,
    row_id,
    schema,
    text,
    time,
)
from wsgiauth.openapi.strings import LABEL, USERNAME

ANSWER_REFERRER_POLICY = header(
    "AnswerReferrerPolicy",
    "The app learns no URL of this site, and no other site an answer to the app.",
    text(enum=["no-referrer", "same-origin", "strict-origin"]),
)
APP_LOCATION = header(
    "AppLocation",
    "The redirect URI of the app with the answer, or a path of this site.",
    text(minLength=1),
    example="https://wiki.example.org/callback?code=hT3vRk0u.Wm8ZsQ2d&state=af0ifjsldkj&iss=https%3A%2F%2Fex"
    "ample.org",
)
CLIENT_CHALLENGE = header(
    "ClientChallenge",
    "Asks for Basic (RFC 7617), if the client sent an `Authorization` header.",
    text(const='Basic realm="wsgiauth", charset="UTF-8"'),
    required=False,
)
CLIENT_OR_KEY_CHALLENGE = header(
    "ClientOrKeyChallenge",
    "Asks for an API key or, if the secret of a client was wrong, for Basic (RFC 7617).",
    {"anyOf": [CLIENT_CHALLENGE.value["schema"], CHALLENGE.value["schema"]]},
)
ACCESS_TOKEN_CHALLENGE = header(
    "AccessTokenChallenge",
    "Asks for an access token (RFC 6750, section 3).",
    text(pattern='^Bearer realm="wsgiauth"(, error="(invalid_token|insufficient_scope)")?$'),
)
AUTHORIZE_RESPONSE_TYPE = parameter(
    "AuthorizeResponseType", query("response_type", "`code`.", text(), example="code")
)
AUTHORIZE_CLIENT = parameter(
    "AuthorizeClient", query("client_id", "The client.", text(), example="4f2a90c81d37be650912")
)
AUTHORIZE_REDIRECT_URI = parameter(
    "AuthorizeRedirectUri",
    query(
        "redirect_uri",
        "A registered redirect URI of the client, compared exactly. For a public client, a"
        " loopback address can have any port (RFC 8252, section 7.3).",
        text(),
        example="https://wiki.example.org/callback",
    ),
)
AUTHORIZE_SCOPE = parameter(
    "AuthorizeScope",
    query(
        "scope",
        "What the app asks for, separated by spaces. Scopes that the client or the user does not"
        " have are left out.",
        text(),
        example="openid profile email",
    ),
)
AUTHORIZE_STATE = parameter("AuthorizeState", query("state", "Comes back in the answer.", text()))
AUTHORIZE_NONCE = parameter("AuthorizeNonce", query("nonce", "Comes back in the ID token.", text()))
AUTHORIZE_CHALLENGE = parameter(
    "AuthorizeChallenge",
    query(
        "code_challenge",
        "The SHA-256 digest of the `code_verifier` (PKCE, RFC 7636). Every client needs it,"
        " but one of `client add --without-pkce`: without PKCE, this one must send `nonce`, `state`"
        " and the scope `openid`.",
        text(),
        example="E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM",
    ),
)
AUTHORIZE_CHALLENGE_METHOD = parameter(
    "AuthorizeChallengeMethod", query("code_challenge_method", "`S256`.", text(), example="S256")
)
AUTHORIZE_PROMPT = parameter(
    "AuthorizePrompt",
    query(
        "prompt",
        "`none` (answer at once, and show nothing), or some of `login` (ask for a new proof of"
        " identity), `consent` and `select_account` (show the page of consent again), and `create`"
        " (let the user register, where registration is open).",
        text(),
    ),
)
AUTHORIZE_REQUEST_URI = parameter(
    "AuthorizeRequestUri",
    query(
        "request_uri",
        "The name of a request that the app has pushed to /oauth/par, or of a long one during a"
        " login. Then only `client_id` counts beside it.",
        text(),
        example="urn:ietf:params:oauth:request_uri:KcGvQ0mXw3sT9yYh2bDq7Lr5Nf8Pj1Za6Ue4Ri0So-k",
    ),
)
AUTHORIZE_MAX_AGE = parameter(
    "AuthorizeMaxAge",
    query("max_age", "How old the last proof of identity can be, in seconds.", text()),
)
AUTHORIZE_LOGIN_HINT = parameter(
    "AuthorizeLoginHint",
    query(
        "login_hint",
        "The name with which the form of a login begins, if it has no space and the app was"
        " registered by an operator.",
        text(),
    ),
)
AUTHORIZE_ID_TOKEN_HINT = parameter(
    "AuthorizeIdTokenHint",
    query(
        "id_token_hint",
        "An ID token of the user that the app means, of at most 32 KiB; POST is better for a long"
        " one. For another user, also after a login, the answer is `login_required`.",
        text(),
    ),
)
LOGOUT_ID_TOKEN_HINT = parameter(
    "LogoutIdTokenHint",
    query(
        "id_token_hint",
        "An ID token that the app got in this session, of at most 32 KiB; it can have expired. It"
        " also names the client.",
        text(),
    ),
)
LOGOUT_CLIENT = parameter(
    "LogoutClient",
    query(
        "client_id", "The client. With `id_token_hint`, it must be the one of the token.", text()
    ),
)
LOGOUT_REDIRECT_URI = parameter(
    "LogoutRedirectUri",
    query(
        "post_logout_redirect_uri",
        "Where the browser gets to after the logout: a URI that the client has registered for this"
        " (`--logout-redirect`), compared exactly.",
        text(),
    ),
)
LOGOUT_STATE = parameter(
    "LogoutState", query("state", "Comes back at `post_logout_redirect_uri`.", text())
)
AUTHORIZE_RESOURCE = parameter(
    "AuthorizeResource",
    query(
        "resource",
        "The service that the access token is for (RFC 8707): one of SERVICES. Without it, the"
        " token is for `/userinfo`.",
        text(),
        example="reports",
    ),
)
AUTHORIZE_RESPONSE_MODE = parameter(
    "AuthorizeResponseMode",
    query("response_mode", "`query`, the default, or `form_post`.", text(), example="query"),
)
DEVICE_CODES = obj(
    "DeviceCodes",
    device_code=text("For /oauth/token, once."),
    user_code=text("For the person, who types it at `verification_uri`.", examples=["BCDF-GHJK"]),
    verification_uri=text(examples=["https://example.org/auth/device"]),
    verification_uri_complete=text(
        "The same page with the code, for a QR code.",
        examples=["https://example.org/auth/device?user_code=BCDF-GHJK"],
    ),
    expires_in=integer("The seconds until the codes expire."),
    interval=integer("The seconds between two questions."),
)
PUSHED_REQUEST = obj(
    "PushedRequest",
    request_uri=text(
        "For /authorize.",
        examples=["urn:ietf:params:oauth:request_uri:KcGvQ0mXw3sT9yYh2bDq7Lr5Nf8Pj1Za6Ue4Ri0So-k"],
    ),
    expires_in=integer("The seconds until it expires."),
)
WAITING_DEVICE = obj(
    "WaitingDevice",
    user_code=text(examples=["BCDF-GHJK"]),
    app=text("The name of the app on the device."),
    address=nullable(text("From where it asked.")),
    browser=text("Its browser and system, in words."),
    scopes=array(text(), "What it asks for."),
)
REGISTERED_APP = obj(
    "RegisteredApp",
    client_id=text(),
    client_id_issued_at=integer(),
    client_name=text(),
    redirect_uris=array(text()),
    scope=text(),
    token_endpoint_auth_method=text(enum=["none"]),
    grant_types=array(text()),
    response_types=array(text()),
)
REGISTERED_BY = nullable(
    text(
        "How the app registered itself: by a request (RFC 7591), or by the document that is its"
        " `client_id`. Null: an operator registered it.",
        enum=["request", "document"],
    )
)
LAST_USED_AT = nullable(
    time("When it got tokens for the first time on the last day on which it got some, in UTC.")
)
FOUND_APP = obj(
    "FoundApp",
    id=text("The `client_id`."),
    key=text("Names the app in paths of the panel.", pattern="^[0-9A-Za-z]{1,32}$"),
    name=text("For people."),
    kind=text("Public: without a secret.", enum=["public", "confidential", "service"]),
    is_trusted=boolean("Whether users are not asked for their consent."),
    host=text(
        "Of the first redirect URI, or the scheme of an app on a device; empty for a service.",
        examples=["wiki.example.org"],
    ),
    created_at=time("In UTC."),
    registered_itself=boolean("Whether the app registered itself, and not an operator."),
    registered_by=REGISTERED_BY,
    last_used_at=LAST_USED_AT,
    user_count=integer(
        "How many users have allowed it. 1,001 stands for more than 1,000.", minimum=0, maximum=1001
    ),
)
FOUND_APPS = obj(
    "FoundApps",
    apps=array(FOUND_APP, maxItems=50),
    next=nullable(text("The path and query of the next page. Null: this is the last.")),
)
APP_USER = obj(
    "AppUser",
    id=row_id(),
    username=USERNAME,
    label=LABEL,
    scopes=array(text(), "What the user has allowed.", examples=[["openid", "email"]]),
    allowed_at=time(),
)
APP_WITH_USERS = obj(
    "AppWithUsers",
    id=text("The `client_id`."),
    name=text("For people."),
    kind=text("Public: without a secret.", enum=["public", "confidential", "service"]),
    is_trusted=boolean("Whether users are not asked for their consent."),
    redirect_uris=array(text()),
    scopes=array(text(), "What it can ask for.", examples=[["openid", "email"]]),
    group=nullable(
        text(
            "The only group whose members it lets in; empty if the group was deleted. Null:"
            " everyone."
        )
    ),
    secrets=integer("How many are valid.", minimum=0, maximum=2),
    algorithm=nullable(
        text("What signs its ID tokens. Null: the key that signs all other tokens.")
    ),
    logout_uri=nullable(text("Where logout tokens are sent.")),
    logout_redirects=array(text(), "Where a logout that it began can lead."),
    launch_url=nullable(text("Where users open it.")),
    is_without_pkce=boolean("Whether it can send requests without PKCE."),
    audiences=array(text(), "The services whose tokens it can ask about."),
    created_at=time("In UTC."),
    registered_itself=boolean("Whether the app registered itself, and not an operator."),
    registered_by=REGISTERED_BY,
    expires_at=nullable(time("When an app that registered itself ends without further use.")),
    last_used_at=LAST_USED_AT,
    user_count=integer(
        "How many users have allowed it. 1,001 stands for more than 1,000.", minimum=0, maximum=1001
    ),
    users=array(APP_USER, maxItems=50),
    next=nullable(text("The path and query of the next page. Null: this is the last.")),
)
ALLOWED_APP = obj(
    "AllowedApp",
    id=text("The `client_id`."),
    name=text("For people."),
    hosts=array(
        text(),
        "Where it is, or the schemes of an app on a device.",
        examples=[["wiki.example.org", "localhost:8080"]],
    ),
    scopes=array(text(), "What it has been allowed.", examples=[["openid", "email"]]),
    allowed_at=time(),
    last_used_at=nullable(time("When it last got tokens that are still valid. Null: it has none.")),
)
LAUNCHABLE_APP = obj(
    "LaunchableApp",
    name=text("For people."),
    url=text("Where the user opens the app.", examples=["https://wiki.example.org/"]),
)
ALLOWED_APPS = obj(
    "AllowedApps",
    apps=array(ALLOWED_APP, "The apps that have access, or had it."),
    launch=array(
        LAUNCHABLE_APP,
        "The apps that operators offer to the caller, by name; never an app that registered"
        " itself.",
        maxItems=100,
    ),
)
APP_TOKENS = obj(
    "AppTokens",
    access_token=text(
        "A JWT (RFC 9068), for `/userinfo` or the `resource`.",
        pattern="^[A-Za-z0-9_-]+\\.[A-Za-z0-9_-]+\\.[A-Za-z0-9_-]+$",
    ),
    token_type=text(const="Bearer"),
    expires_in=integer("Lifetime of the access token in seconds.", minimum=60, maximum=300),
    refresh_token=Optional(text("Once, for new tokens. Not with `client_credentials`.")),
    scope=text("What was granted, separated by spaces.", examples=["openid email"]),
    id_token=Optional(
        text(
            "A JWT with the claims about the user, if the scopes have `openid`.",
            pattern="^[A-Za-z0-9_-]+\\.[A-Za-z0-9_-]+\\.[A-Za-z0-9_-]+$",
        )
    ),
)
USER_INFO = obj(
    "UserInfo",
    sub=text("The user's number."),
    preferred_username=Optional(text("With `profile`: the username.")),
    name=Optional(text("With `profile`: the username, too; with USERNAMES off, left out.")),
    locale=Optional(text("With `profile`: the language that the user has chosen, if any.")),
    email=Optional(text("With `email`.")),
    email_verified=Optional(
        boolean(
            "With `email`: whether a link of this site, an operator or a provider with"
            " `link=verified` has proven exactly this address."
        )
    ),
    groups=Optional(array(text(), "With `groups`: the names of the user's groups.")),
)
OAUTH_ERROR = schema(
    "OAuthError",
    {
        "type": "object",
        "description": "A failure, as RFC 6749, section 5.2, describes it.",
        "required": ["error", "error_description"],
        "properties": {
            "error": text(
                "A code of RFC 6749, RFC 6750, RFC 7591, RFC 8628 or RFC 8707.",
                enum=[
                    "invalid_request",
                    "invalid_client",
                    "invalid_grant",
                    "invalid_scope",
                    "invalid_target",
                    "unsupported_grant_type",
                    "invalid_token",
                    "insufficient_scope",
                    "authorization_pending",
                    "slow_down",
                    "access_denied",
                    "expired_token",
                    "invalid_redirect_uri",
                    "invalid_client_metadata",
                    "server_error",
                ],
            ),
            "error_description": text("For developers, in English."),
        },
    },
)
