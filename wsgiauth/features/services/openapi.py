"""What the OpenAPI document says of tokens for other services."""

from wsgiauth.features.services.introspect import Introspect
from wsgiauth.features.services.jwks import PublishedKeys
from wsgiauth.features.services.key_files import MAX_FILES
from wsgiauth.features.services.service_tokens import MAX_SCOPE
from wsgiauth.features.services.signed_tokens import MAX_LENGTH
from wsgiauth.features.services.token import Token
from wsgiauth.openapi.answers import JSON, Body, Operation, Tag, answer
from wsgiauth.openapi.callers import KEYS, SESSION_OR_KEY
from wsgiauth.openapi.schemas import Optional, array, boolean, integer, obj, object_of, schema, text

SERVICES = Tag("services", "Tokens for other services.")

SERVICE_TOKEN = obj(
    "ServiceToken",
    access_token=text(
        "A JWT (RFC 9068), for the service alone.",
        maxLength=MAX_LENGTH,
        pattern="^[A-Za-z0-9_-]+\\.[A-Za-z0-9_-]+\\.[A-Za-z0-9_-]+$",
    ),
    token_type=text(const="bearer"),
    expires_in=integer(
        "Lifetime of the token in seconds.", minimum=60, maximum=3600, examples=[300]
    ),
    scope=text(
        "The permissions in the token, separated by spaces; perhaps none.",
        examples=["reports.read"],
    ),
)
KEY_SET = obj(
    "KeySet",
    keys=array(
        object_of(
            kty={"description": "The type of the key.", "enum": ["EC", "OKP", "RSA"]},
            use={"const": "sig"},
            alg={
                "description": "The only algorithm that the key is used with.",
                "enum": ["ES256", "EdDSA", "RS256"],
            },
            kid=text("The thumbprint of the key (RFC 7638), as in the header of a token."),
        ),
        minItems=1,
        maxItems=MAX_FILES,
    ),
)
INACTIVE_TOKEN = schema(
    "InactiveToken",
    {
        "type": "object",
        "required": ["active"],
        "additionalProperties": False,
        "properties": {"active": boolean(const=False)},
    },
)
ACTIVE_TOKEN = obj(
    "ActiveToken",
    active=boolean(const=True),
    sub=text(
        "The id of the user, which never changes; or `client:` and the id of a client that logs in"
        " as itself.",
        pattern="^([1-9][0-9]*|client:[0-9A-Za-z]+)$",
    ),
    username=Optional(
        text("The user's name at this moment. Not of a client that logs in as itself.")
    ),
    scope=text("The permissions that the token gives at this moment, sorted, separated by spaces."),
    token_type={
        "description": "`refresh_token`: of an app, and no access token.",
        "enum": ["bearer", "refresh_token"],
    },
    iat=integer("When it was issued, in seconds since the epoch."),
    exp=integer("When it expires at the latest, in seconds since the epoch."),
    iss=Optional(
        text("The issuer: of a token for a service `PUBLIC_URL`, of an access token `JWT_ISSUER`.")
    ),
    aud=Optional(text("The service that the token is for; of an access token `JWT_AUDIENCE`.")),
    client_id=Optional(
        text("The client that obtained the token; of a token of /token `wsgiauth`.")
    ),
)

OPERATIONS = {
    Token: {
        "post": Operation(
            "issueServiceToken",
            "Get a token for another service",
            "The service verifies it by the keys of /jwks.json.\n\n"
            "It identifies no request to this site. A form is refused.",
            answers=(answer(200, "The token.", SERVICE_TOKEN),),
            body=Body(
                content={
                    JSON: object_of(
                        audience=text(
                            "The service: one of SERVICES.",
                            minLength=1,
                            maxLength=200,
                            examples=["reports"],
                        ),
                        scope=Optional(
                            text(
                                "Permissions, separated by spaces. The token gets those that the"
                                " caller has.",
                                default="",
                                maxLength=MAX_SCOPE,
                                pattern="^([A-Za-z0-9_-]+\\.[A-Za-z0-9_-]+("
                                " [A-Za-z0-9_-]+\\.[A-Za-z0-9_-]+)*)?$",
                                examples=["reports.read reports.publish"],
                            )
                        ),
                    )
                },
                about="At most 16 KiB, in UTF-8. Further fields are ignored.",
                example={"audience": "reports", "scope": "reports.read"},
            ),
            tag=SERVICES,
            security=SESSION_OR_KEY,
        )
    },
    PublishedKeys: {
        "get": Operation(
            "getServiceKeys",
            "The public keys of tokens for other services",
            "A JWK Set (RFC 7517), the key that signs last.",
            answers=(
                answer(
                    200,
                    "The keys, which can be stored for an hour.",
                    KEY_SET,
                    Cache_Control={
                        "description": "Any cache can store it for an hour.",
                        "required": True,
                        "schema": text(const="public, max-age=3600"),
                    },
                ),
            ),
            tag=SERVICES,
        )
    },
    Introspect: {
        "post": Operation(
            "introspect",
            "For another service: whether a token is active now",
            "Introspection (RFC 7662) of access tokens, tokens for services and API keys. The"
            " caller's API key, as a bearer token or (with `BASIC_AUTH=keys`) as the password of"
            " its owner's name, needs the permission `wsgiauth.introspect`.\n\n"
            "A token for a service is active as long as the session or key that obtained it, or"
            " as the client that logged in as itself has one of its scopes. `scope` of a"
            " superuser's access token has only the permissions that were granted. The question"
            " is not a use of the token.",
            answers=(
                answer(
                    200,
                    "What the token is now, or only that it is not active.",
                    {"oneOf": [ACTIVE_TOKEN, INACTIVE_TOKEN]},
                ),
            ),
            body=Body(
                content={JSON: object_of(token=text("What the service was sent.", minLength=1))},
                about="As JSON or, as RFC 7662 says, as a form. At most 16 KiB, in UTF-8. Further"
                " fields, such as `token_type_hint`, are ignored.",
                example={"token": "wsgiauth_RgE5s4jKq2Lz_0123"},
            ),
            tag=SERVICES,
            security=KEYS,
        )
    },
}
