"""What the OpenAPI document says of the file of a user's own data."""

from wsgiauth.extend.openapi import (
    SESSION,
    Operation,
    answer,
    array,
    boolean,
    nullable,
    schema,
    text,
    time,
)
from wsgiauth.features.personal_data.data import Data

PERSONAL_DATA = schema(
    "PersonalData",
    {
        "type": "object",
        "description": "The account in the names of OpenID Connect, the list of each table, and"
        " `application` if the application adds its own data. `incomplete` names the lists of"
        " which a part could not be read. More lists can come with later versions.",
        "required": ["sub", "preferred_username", "email", "email_verified", "created_at"],
        "properties": {
            "sub": text("The number of the account."),
            "preferred_username": text(),
            "email": text(),
            "email_verified": boolean(
                "Whether a link of this site, an operator or a provider with `link=verified` has"
                " proven exactly this address."
            ),
            "email_verified_at": nullable(time()),
            "email_verified_by": nullable(text()),
            "locale": nullable(text()),
            "has_password": boolean(),
            "is_active": boolean(),
            "is_staff": boolean(),
            "is_superuser": boolean(),
            "created_at": time(),
            "last_login_at": nullable(time()),
            "application": {"type": "object", "additionalProperties": True},
        },
        "additionalProperties": array({}),
    },
)

OPERATIONS = {
    Data: {
        "get": Operation(
            "downloadPersonalData",
            "Everything that is stored about the user, as a file",
            "The lists have an entry for each stored row, without secrets, digests and data of"
            " other users. Each download is an event; at most ten in an hour. A browser that must"
            " confirm first comes back to /account.",
            answers=(
                answer(
                    200,
                    "The file.",
                    PERSONAL_DATA,
                    Content_Disposition={
                        "schema": text(enum=['attachment; filename="personal-data.json"'])
                    },
                ),
            ),
            security=SESSION,
        )
    },
}
