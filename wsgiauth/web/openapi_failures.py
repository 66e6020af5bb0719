"""The failures that the OpenAPI document describes, each written once."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Failure:
    """A failure, as problem details and perhaps as a page.

    Attributes:
        status: The HTTP status.
        codes: The stable names of its causes.
        description: When it is answered.
        header: A header of its own, by component.
        has_page: Whether a client that prefers HTML gets a page.
        has_errors: Whether it has messages by field.
    """

    status: int
    codes: tuple[str, ...]
    description: str
    header: str | None = None
    has_page: bool = True
    has_errors: bool = False


_NO_CREDENTIALS = (
    "There are no credentials (code `unauthenticated`), or they are malformed, expired or of a"
    " login that has ended (code `invalid_token`)."
)
MISSING_FACTOR = (
    "insufficient_user_authentication",
    "second_factor_setup_required",
    "second_factor_switched_off",
)
_MISSING_FACTOR_TEXT = (
    "The site demands a second factor that the login lacks: send its code to `/confirm` (code"
    " `insufficient_user_authentication`), or set one up at `/totp` or `/passkeys` (code"
    " `second_factor_setup_required`). If the site no longer has the type of the user's second"
    " factor, only an operator can help (code `second_factor_switched_off`)."
)

FAILURES: Mapping[str, Failure] = {
    "Malformed": Failure(
        400,
        ("malformed",),
        "The body is not well-formed, not in UTF-8 or shorter than its Content-Length, or a field"
        " is not a string or is given twice.",
    ),
    "InvalidCredentials": Failure(
        401,
        ("invalid_credentials", "second_factor_required", "invalid_code"),
        "The name and the password do not match an active account (code `invalid_credentials`);"
        " they do, and the user has a second factor (code `second_factor_required`, with its"
        " `methods`): send the same again with a `code`; or that code is not right (code"
        " `invalid_code`).",
        header="Challenge",
        has_page=False,
    ),
    "NoPendingLogin": Failure(
        401,
        ("unauthenticated", "invalid_code", "invalid_passkey"),
        "The request has no login that waits for its second factor (code `unauthenticated`), the"
        " code is not right (code `invalid_code`), or the passkey is not (code `invalid_passkey`).",
        header="Challenge",
    ),
    "Unauthenticated": Failure(
        401,
        ("unauthenticated", "invalid_token", *MISSING_FACTOR),
        f"{_NO_CREDENTIALS} {_MISSING_FACTOR_TEXT}",
        header="Challenge",
    ),
    "UnauthenticatedOrWrongPassword": Failure(
        401,
        ("unauthenticated", "invalid_token", "invalid_credentials", *MISSING_FACTOR),
        f"{_NO_CREDENTIALS} The password is wrong (code `invalid_credentials`)."
        f" {_MISSING_FACTOR_TEXT}",
        header="Challenge",
    ),
    "UnauthenticatedOrWrongProof": Failure(
        401,
        (
            *("unauthenticated", "invalid_token", "invalid_credentials", "invalid_code"),
            "invalid_passkey",
        ),
        f"{_NO_CREDENTIALS} The password is wrong (code `invalid_credentials`), the code of the"
        " second factor (code `invalid_code`), or the passkey (code `invalid_passkey`).",
        header="Challenge",
    ),
    "UnauthenticatedOrNotFresh": Failure(
        401,
        ("unauthenticated", "invalid_token", *MISSING_FACTOR),
        f"{_NO_CREDENTIALS} The user proved too long ago who they are (code"
        " `insufficient_user_authentication`, RFC 9470): send the password, or a code of the second"
        f" factor, to `/confirm`. {_MISSING_FACTOR_TEXT}",
        header="Challenge",
    ),
    "InvalidGrant": Failure(
        401,
        ("invalid_grant",),
        "The refresh token is malformed, was used before, or is of a login that has ended.",
        header="Challenge",
    ),
    "LogoutRefused": Failure(
        403,
        ("cross_origin", "prefetch", "embedded", "insufficient_scope"),
        "Another site made the browser send the request (code `cross_origin`), the browser fetched"
        " the page in advance (code `prefetch`), or it is HEAD or part of a page, such as an image"
        " (code `embedded`), or it came with an API key (code `insufficient_scope`). Nothing was"
        " done.",
    ),
    "KeyNotAccepted": Failure(
        403,
        ("insufficient_scope",),
        "The request came with an API key, and needs a login.",
    ),
    "OtherAccountPage": Failure(
        403,
        ("other_account", "insufficient_scope"),
        "Another account asked for the link (code `other_account`), or the request came with an API"
        " key (code `insufficient_scope`). The link can still be used.",
    ),
    "OtherAccount": Failure(
        403,
        ("other_account", "insufficient_scope"),
        "Another account asked for the link (code `other_account`), or the request came with an API"
        " key (code `insufficient_scope`). The link can still be used.",
        has_page=False,
    ),
    "Forbidden": Failure(
        403,
        ("forbidden", "insufficient_scope"),
        "The caller is a member of the staff who does not have the right for this change (code"
        " `forbidden`), or the request came with an API key (code `insufficient_scope`).",
    ),
    "NotFound": Failure(
        404,
        ("not_found",),
        "There is no such thing, or the caller is not a member of the staff.",
    ),
    "NotFoundOrEnded": Failure(
        404,
        ("not_found", "no_such_login", "no_such_key"),
        "There is no such user or action, the caller is not a member of the staff (code"
        " `not_found`), or the user has no such login any more (code `no_such_login`) or no such"
        " API key (code `no_such_key`).",
    ),
    "NoSuchLogin": Failure(
        404,
        ("no_such_login",),
        "The caller has no login of this handle, or has it no longer.",
        has_page=False,
    ),
    "NoSuchKey": Failure(
        404,
        ("no_such_key",),
        "The caller has no API key of this id, or has it no longer.",
        has_page=False,
    ),
    "TooManyKeys": Failure(
        409,
        ("too_many_keys",),
        "The caller has as many API keys as one can have. End one first.",
        has_page=False,
    ),
    "NoSecondFactor": Failure(
        409,
        ("no_second_factor",),
        "The caller has no authenticator app and no passkey, which the codes would stand for.",
        has_page=False,
    ),
    "Taken": Failure(
        409,
        ("taken",),
        "The username or the e-mail address belongs to another account; see `errors`.",
        has_page=False,
        has_errors=True,
    ),
    "TakenGroup": Failure(
        409, ("taken",), "Another group has the name.", has_page=False, has_errors=True
    ),
    "LastSuperuser": Failure(
        409,
        ("last_superuser",),
        "The caller is the last active superuser.",
        has_page=False,
    ),
    "Conflict": Failure(
        409,
        ("last_superuser", "inactive"),
        "The user is the last active superuser (code `last_superuser`), or cannot use a link,"
        " because the account is not active (code `inactive`).",
        has_page=False,
    ),
    "Gone": Failure(
        410,
        ("link_expired",),
        "The link was used or has expired, or the password or the address was changed since it was"
        " sent.",
    ),
    "LinkExpired": Failure(
        410,
        ("link_expired",),
        "The link was used or has expired, or the password or the address was changed since it was"
        " sent.",
        has_page=False,
    ),
    "LengthRequired": Failure(411, ("length_required",), "The request has no Content-Length."),
    "TooLarge": Failure(413, ("too_large",), "The body is larger than 16 KiB."),
    "UnsupportedMediaType": Failure(
        415, ("unsupported_media_type",), "The body is neither JSON nor a URL-encoded form."
    ),
    "Invalid": Failure(
        422,
        ("invalid",),
        "A field is missing or empty, or breaks a rule; see `errors`.",
        has_page=False,
        has_errors=True,
    ),
    "InvalidQuery": Failure(
        422,
        ("invalid",),
        "A parameter of the query has a wrong value or is given twice, or the query cannot be read;"
        " see `errors`.",
        has_errors=True,
    ),
    "Throttled": Failure(
        429,
        ("throttled",),
        "Too many logins failed, too many accounts were created or renamed from one address, or too"
        " many mails were asked for. This request was not tried.",
        header="RetryAfter",
        has_page=False,
    ),
    "Unavailable": Failure(
        503,
        ("unavailable",),
        "The account database does not answer. Requests without credentials do not need it.",
        header="RetryAfter",
    ),
    "UnavailableOrBusy": Failure(
        503,
        ("unavailable", "busy"),
        "The account database does not answer (code `unavailable`), or too many passwords are being"
        " hashed (code `busy`).",
        header="RetryAfter",
    ),
}
