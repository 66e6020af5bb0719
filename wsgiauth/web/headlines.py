"""Headlines of error pages. Problem details have the name of the HTTP status instead."""

_REFUSED = "This request was refused"
_UNREADABLE = "The form could not be read"

# By the `code` of the failure.
HEADLINES = {
    "busy": "The site is busy",
    "cross_origin": _REFUSED,
    "embedded": _REFUSED,
    "forbidden": "You do not have permission to open this page",
    "inactive": "The account is not active",
    "insufficient_scope": "An API key cannot be used here",
    "insufficient_user_authentication": "Confirm that it is you",
    "invalid": "The address of this page has a wrong value",
    "invalid_code": "The code is not right",
    "invalid_grant": "You are not logged in",
    "invalid_passkey": "The passkey was not accepted",
    "invalid_token": "You are not logged in",
    "last_superuser": "This account cannot be closed",
    "length_required": _UNREADABLE,
    "link_expired": "This link cannot be used any more",
    "malformed": _UNREADABLE,
    "method_not_allowed": "This page cannot be used in this way",
    "no_such_login": "That login has already ended",
    "no_such_key": "That API key has already ended",
    "not_found": "This page does not exist",
    "other_account": "This link is for another account",
    "prefetch": _REFUSED,
    "throttled": "Too many attempts",
    "no_second_factor": "There is no second factor yet",
    "too_many_keys": "There are too many API keys",
    "too_large": "The form is too long",
    "second_factor_required": "Enter a code",
    "second_factor_switched_off": "Your second factor is switched off",
    "second_factor_setup_required": "Set up a second factor",
    "unauthenticated": "You are not logged in",
    "unavailable": "Accounts are not available at the moment",
    "unsupported_media_type": _UNREADABLE,
}
