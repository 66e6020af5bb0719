"""What the OpenAPI document says of passkeys."""

from collections.abc import Mapping
from typing import Any

from wsgiauth.authentication.passkeys import NAME_MAX_LENGTH
from wsgiauth.forms.passkey_page import CREDENTIAL

PASSKEY_FIELDS: Mapping[str, dict[str, Any]] = {
    "name": {
        "type": "string",
        "description": "How the user calls a new passkey.",
        "maxLength": NAME_MAX_LENGTH,
        "default": "",
        "examples": ["Laptop"],
    },
    CREDENTIAL: {
        "type": "string",
        "description": "The new passkey: what `navigator.credentials.create` returned for the"
        " `creation_options`, as JSON (`RegistrationResponseJSON`).",
        "default": "",
    },
    "remove": {
        "type": "string",
        "description": "Removes the passkey of this `handle`.",
        "default": "",
    },
}

PASSKEY_SCHEMAS: Mapping[str, dict[str, Any]] = {
    "Passkeys": {
        "type": "object",
        "required": ["passkeys", "recovery_codes_left", "creation_options"],
        "properties": {
            "passkeys": {
                "type": "array",
                "items": {
                    "type": "object",
                    "required": [
                        *("handle", "name", "created_at", "last_used_at", "backed_up", "host")
                    ],
                    "properties": {
                        "handle": {"type": "string", "description": "Names it; not secret."},
                        "name": {"type": "string", "description": "As the user calls it."},
                        "created_at": {"type": "string", "format": "date-time"},
                        "last_used_at": {
                            "type": ["string", "null"],
                            "format": "date-time",
                            "description": "Null if it has not been used yet.",
                        },
                        "backed_up": {
                            "type": "boolean",
                            "description": "Whether it is on several devices of the user.",
                        },
                        "host": {
                            "type": "string",
                            "description": "The host of the site that it was made for; it works"
                            " there alone.",
                        },
                    },
                },
            },
            "recovery_codes_left": {
                "type": "integer",
                "description": "How many recovery codes are not used yet.",
            },
            "login": {
                "$ref": "#/components/schemas/Token",
                "description": "Only if the first second factor was added to a login with a token:"
                " the new tokens; the previous ones are not valid any more.",
            },
            "creation_options": {
                "type": "object",
                "description": "For a new passkey, within ten minutes:"
                " `PublicKeyCredentialCreationOptionsJSON`.",
            },
        },
    }
}
