"""The fields and the JSON schemas of /auth/keys, for `keys` beside this file."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from wsgiauth.accounts import names
from wsgiauth.authentication.key_list import ListedKey
from wsgiauth.authentication.keys import DEFAULT_DAYS, MAX_DAYS, MAX_KEYS, MAX_PERMISSIONS

EXAMPLE_KEY = ListedKey(
    id="4fD8sKq2ZxLw",
    name="nightly export",
    permissions=("reports.publish",),
    created_at=datetime(2026, 11, 2, 9, 5, tzinfo=UTC),
    expires_at=datetime(2027, 1, 31, 9, 5, tzinfo=UTC),
    last_used_at=datetime(2026, 11, 3, 2, tzinfo=UTC),
)

KEY_FIELDS: Mapping[str, dict[str, Any]] = {
    "name": {
        "type": "string",
        "description": "What you call the new key.",
        "maxLength": names.KEY_NAME_MAX_LENGTH,
        "default": "",
        "examples": ["nightly export"],
    },
    "permissions": {
        "type": "array",
        "description": "What it can be used for: some of yours. Without any, it passes only checks"
        " that the client is logged in.",
        "items": {"type": "string", "maxLength": names.PERMISSION_MAX_LENGTH},
        "maxItems": MAX_PERMISSIONS,
        "default": [],
        "examples": [["reports.publish"]],
    },
    "days": {
        "type": "integer",
        "description": "After how many days it ends.",
        "minimum": 1,
        "maximum": MAX_DAYS,
        "default": DEFAULT_DAYS,
    },
    "end": {
        "type": "string",
        "description": "The `id` of a key that ends. Then no key is made.",
        "default": "",
    },
}

KEY_SCHEMAS: Mapping[str, dict[str, Any]] = {
    "Keys": {
        "type": "object",
        "required": ["keys"],
        "properties": {
            "keys": {
                "type": "array",
                "items": {"$ref": "#/components/schemas/Key"},
                "maxItems": MAX_KEYS,
            },
        },
    },
    "Key": {
        "type": "object",
        "required": list(EXAMPLE_KEY.document()),
        "properties": {
            "id": {
                "type": "string",
                "description": "Names the key; no credential.",
                "pattern": "^[0-9A-Za-z]{12}$",
            },
            "name": {"type": "string", "description": "What its owner calls it."},
            "permissions": {
                "type": "array",
                "items": {"type": "string"},
                "description": "What it can be used for, as long as its owner has them.",
                "examples": [["reports.publish"]],
            },
            "created_at": {"type": "string", "format": "date-time"},
            "expires_at": {
                "type": "string",
                "format": "date-time",
                "description": "When it ends.",
            },
            "last_used_at": {
                "type": ["string", "null"],
                "format": "date-time",
                "description": "When it was last used, rounded down to the hour, but not before"
                " `created_at`. Null: never.",
            },
        },
    },
    "NewKey": {
        "allOf": [
            {"$ref": "#/components/schemas/Key"},
            {
                "type": "object",
                "required": ["key"],
                "properties": {
                    "key": {
                        "type": "string",
                        "description": "The key, to be sent as `Authorization: Bearer`.",
                        "pattern": "^wsgiauth_[0-9A-Za-z]{12}_[0-9A-Za-z]{49}$",
                    },
                },
            },
        ]
    },
}
