"""What the OpenAPI document says of API keys."""

from wsgiauth.features.keys.api_keys import MAX_KEYS
from wsgiauth.features.keys.keys import Keys
from wsgiauth.openapi.answers import Operation, answer, answer_or_page
from wsgiauth.openapi.callers import SESSIONS
from wsgiauth.openapi.schemas import array, nullable, obj, text, time

API_KEY = obj(
    "Key",
    id=text("Names the key; not a credential.", pattern="^[0-9A-Za-z]{12}$"),
    name=text("What its owner calls it."),
    permissions=array(
        text(),
        "What it can be used for, as long as its owner has them.",
        examples=[["reports.publish"]],
    ),
    created_at=time(),
    expires_at=time("When it ends."),
    last_used_at=nullable(
        time(
            "When it was last used, rounded down to the hour, but not before `created_at`. Null:"
            " never."
        )
    ),
)
KEYS = obj("Keys", keys=array(API_KEY, maxItems=MAX_KEYS))
NEW_KEY = obj(
    "NewKey",
    API_KEY,
    key=text(
        "The key, to be sent as `Authorization: Bearer`.",
        pattern="^wsgiauth_[0-9A-Za-z]{12}_[0-9A-Za-z]{49}$",
    ),
)

OPERATIONS = {
    Keys: {
        "get": Operation(
            "listKeys",
            "The caller's API keys",
            "The newest first; at most 20.",
            answers=(answer_or_page("The keys.", KEYS),),
            tag=SESSIONS,
        ),
        "post": Operation(
            "makeKey",
            "Create an API key, or revoke one",
            "Without `end`, creates a key, which only this answer has.",
            answers=(
                answer(200, "The key is revoked.", KEYS),
                answer(201, "The new key.", NEW_KEY),
            ),
            browser="A page with the new key. A reload that sends the form again makes no second"
            " key: 409 `already_done`.",
            example={"name": "nightly export", "permissions": ["reports.publish"]},
            tag=SESSIONS,
        ),
    },
}
