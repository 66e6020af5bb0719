"""The JSON schemas of /auth/totp, for the OpenAPI document."""

from typing import Any

SCHEMAS: dict[str, dict[str, Any]] = {
    "AuthenticatorApps": {
        "type": "object",
        "required": ["devices", "recovery_codes_left"],
        "properties": {
            "devices": {
                "type": "array",
                "items": {
                    "type": "object",
                    "required": ["handle", "name"],
                    "properties": {
                        "handle": {"type": "string", "description": "Names it; not secret."},
                        "name": {"type": "string", "description": "As the user calls it."},
                    },
                },
            },
            "recovery_codes_left": {
                "type": "integer",
                "description": "How many recovery codes are not used yet.",
            },
            "login": {
                "$ref": "#/components/schemas/Token",
                "description": "Only after the first app was added: use these tokens, because"
                " the previous ones are not valid any more.",
            },
        },
    },
    "AuthenticatorSetUp": {
        "type": "object",
        "required": ["name", "secret", "uri"],
        "properties": {
            "name": {"type": "string", "description": "As it was sent."},
            "secret": {"type": "string", "description": "The key in Base32."},
            "uri": {"type": "string", "description": "An `otpauth:` link with the key."},
        },
    },
}
