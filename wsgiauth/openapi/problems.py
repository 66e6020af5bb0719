"""The failures that several endpoints share."""

from wsgiauth.openapi.answers import Problem, leads
from wsgiauth.openapi.schemas import header

CHALLENGE = header(
    "Challenge",
    "Asks for a bearer token (RFC 6750, section 3), or for a recent proof (RFC 9470); where an API"
    " key is accepted and `BASIC_AUTH` is on, first for Basic (RFC 7617).",
    {
        "type": "string",
        "pattern": '^(Basic realm="wsgiauth", charset="UTF-8", )?Bearer realm="wsgiauth"(, error='
        '"(invalid_token|insufficient_user_authentication", (acr_values="[^"]+|max_age="[0-9]+))'
        '")?$',
    },
)
RETRY_AFTER = header(
    "RetryAfter", "Seconds until the next attempt.", {"type": "integer", "minimum": 1}
)
_CHALLENGE = {"WWW-Authenticate": CHALLENGE}
_RETRY = {"Retry-After": RETRY_AFTER}

# Of the body of a request.
MALFORMED = Problem(
    "Malformed",
    400,
    {
        "malformed": "The body is not well-formed, not in UTF-8 or shorter than its"
        " Content-Length, or a field has another type or is given twice."
    },
)
LENGTH_REQUIRED = Problem(
    "LengthRequired", 411, {"length_required": "The request has no Content-Length."}
)
TOO_LARGE = Problem("TooLarge", 413, {"too_large": "The body is larger than 16 KiB."})
UNSUPPORTED_MEDIA_TYPE = Problem(
    "UnsupportedMediaType",
    415,
    {
        "unsupported_media_type": "The body is neither JSON nor a URL-encoded form, or is JSON"
        " with the `Content-Type` of a form, as `curl --data` sends it."
    },
)
OF_BODY = (MALFORMED, LENGTH_REQUIRED, TOO_LARGE, UNSUPPORTED_MEDIA_TYPE)
INVALID = Problem(
    "Invalid",
    422,
    {"invalid": "A field is missing or empty, or breaks a rule; see `errors`."},
    has_errors=True,
)
INVALID_QUERY = Problem(
    "InvalidQuery",
    422,
    {
        "invalid": "A parameter of the query has a wrong value or is given twice, or the query"
        " cannot be read; see `errors`."
    },
    has_errors=True,
)

# Of the caller.
NO_SESSION = Problem(
    "Unauthenticated",
    401,
    {
        "unauthenticated": "There are no credentials.",
        "invalid_token": "The credentials are malformed or expired, or their session has ended.",
    },
    headers=_CHALLENGE,
)
NOT_FRESH = Problem(
    "NotFresh",
    401,
    {
        "insufficient_user_authentication": "The user proved too long ago who they are (RFC 9470):"
        " send the password, or a code of the second factor, to `/confirm`."
    },
    headers=_CHALLENGE,
)
FACTOR_DEMANDED = Problem(
    "",
    401,
    {
        "insufficient_user_authentication": "The site demands a second factor that the session"
        " lacks: send its code to `/confirm`.",
        "second_factor_setup_required": "The site demands a second factor, and the user has none:"
        " set one up at `/totp` or `/passkeys`.",
        "second_factor_switched_off": "The site demands a second factor, and no longer has the"
        " type of the user's: only an operator can help.",
    },
    headers=_CHALLENGE,
)
WRONG_PASSWORD = Problem(
    "WrongPassword",
    401,
    {"invalid_credentials": "The password is wrong."},
    headers=_CHALLENGE,
)
WRONG_CODE = Problem(
    "WrongCode",
    401,
    {"invalid_code": "The code is not right."},
    headers=_CHALLENGE,
)
KEY_NOT_ACCEPTED = Problem(
    "KeyNotAccepted",
    403,
    {"insufficient_scope": "The request came with an API key, and needs a session."},
)
NOT_OF_STAFF = Problem(
    "NotFound",
    404,
    {"not_found": "The path leads to nothing, or the caller is not a member of the staff."},
)
NO_RIGHT = Problem(
    "Forbidden",
    403,
    {"forbidden": "The member of the staff does not have the right for this change."},
)
NO_SUCH_LOGIN = Problem(
    "NoSuchLogin", 404, {"no_such_login": "There is no such session; perhaps it has ended."}
)
TAKEN = Problem(
    "Taken",
    409,
    {"taken": "The username or the email address belongs to another account; see `errors`."},
    has_errors=True,
)
LAST_WAY_IN = Problem(
    "LastWayIn",
    409,
    {"last_way_in": "The user could not log in any more."},
)
THROTTLED = Problem(
    "Throttled",
    429,
    {
        "throttled": "Too many attempts, new accounts or emails: this request was not tried."
        " `Retry-After` says when to try again."
    },
    headers=_RETRY,
)

# Of the site.
APPLICATION_FAILED = Problem(
    "ApplicationFailed",
    500,
    {
        "application_error": "A function of the application failed, for claims, for a new user or"
        " for the file of a person's own data. Nothing has changed."
    },
)
UNAVAILABLE = Problem(
    "Unavailable",
    503,
    {
        "unavailable": "The account database does not answer. Requests without credentials do not"
        " need it."
    },
    headers=_RETRY,
)
BUSY = Problem(
    "Busy",
    503,
    {"busy": "Too many passwords are being hashed."},
    headers=_RETRY,
)

# How browsers are led on.
TO_LOGIN = leads(
    302,
    "For browsers without a session: `Location` is the login page. Where the site demands a second"
    " factor that the session lacks: the page to confirm, or to set one up.",
    name="ToLogin",
)
TO_LOGIN_OR_CONFIRM = leads(
    302,
    "For browsers without a session, or whose user has not recently proven their identity:"
    " `Location` is the login page, or the page to confirm.",
    name="ToLoginOrConfirm",
)
TO_CONFIRM = leads(
    303,
    "For browsers whose user has not recently proven their identity: `Location` is the page to"
    " confirm.",
    name="ToConfirm",
)
