"""The JSON schemas of the panel's users, for `user` beside this file, and an example."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from wsgiauth.accounts.held_permissions import HeldPermission
from wsgiauth.admin.account import Account
from wsgiauth.admin.actions import ACTIONS
from wsgiauth.admin.groups import ListedGroup
from wsgiauth.admin.users import USER_PROPERTIES
from wsgiauth.authentication.factor_list import ListedFactor, SecondFactors
from wsgiauth.authentication.keys import MAX_KEYS
from wsgiauth.authentication.session_list import LISTED, ListedSession
from wsgiauth.endpoints.key_schemas import EXAMPLE_KEY
from wsgiauth.web.urls import ID

USER_ID: dict[str, Any] = {
    "name": ID,
    "in": "path",
    "required": True,
    "description": "The number of the user.",
    "schema": {"type": "integer", "format": "int64", "minimum": 1, "maximum": 10**18 - 1},
}


EXAMPLE_ACCOUNT = Account(
    id=7,
    username="grace",
    email="grace@example.org",
    is_active=True,
    is_staff=False,
    is_superuser=False,
    created_at=datetime(2026, 3, 1, 9, 30, tzinfo=UTC),
    email_verified_at=datetime(2026, 3, 1, 9, 35, tzinfo=UTC),
    last_login_at=datetime(2026, 11, 2, 9, 5, tzinfo=UTC),
    permissions=(HeldPermission("reports.publish", True, ("Editors",)),),
    groups=(ListedGroup(3, "Editors"),),
    logins=(
        ListedSession(
            handle="5f0c8e1b7a9d2c34",
            is_current=False,
            is_reused=False,
            created_at=datetime(2026, 11, 2, 9, 5, tzinfo=UTC),
            last_seen_at=datetime(2026, 11, 2, 9, 35, tzinfo=UTC),
            expires_at=datetime(2026, 11, 2, 10, 35, tzinfo=UTC),
            ends_at=datetime(2026, 11, 2, 21, 5, tzinfo=UTC),
            address="192.0.2.1",
            browser="Firefox on Windows",
            methods=("pwd",),
        ),
    ),
    second_factors=SecondFactors(
        factors=(
            ListedFactor(
                method="otp", name="Phone", added_at=datetime(2026, 3, 1, 9, 40, tzinfo=UTC)
            ),
        ),
        recovery_codes_left=8,
    ),
    keys=(EXAMPLE_KEY,),
    actions=ACTIONS,
)


ACCOUNT_SCHEMAS: Mapping[str, dict[str, Any]] = {
    "Account": {
        "type": "object",
        "required": list(EXAMPLE_ACCOUNT.document()),
        "properties": {
            **USER_PROPERTIES,
            "permissions": {
                "type": "array",
                "items": {"$ref": "#/components/schemas/HeldPermission"},
            },
            "groups": {
                "type": "array",
                "items": {"$ref": "#/components/schemas/Group"},
            },
            "logins": {
                "type": "array",
                "items": {"$ref": "#/components/schemas/Login"},
                "maxItems": LISTED,
            },
            "second_factors": {
                "description": "Null: the site has no second factors.",
                "anyOf": [{"$ref": "#/components/schemas/SecondFactors"}, {"type": "null"}],
            },
            "keys": {
                "type": "array",
                "description": "The API keys; never a secret.",
                "items": {"$ref": "#/components/schemas/Key"},
                "maxItems": MAX_KEYS,
            },
            "actions": {
                "type": "array",
                "description": "What the caller can do with the user.",
                "items": {"type": "string", "enum": list(ACTIONS)},
            },
        },
    },
    "SecondFactors": {
        "type": "object",
        "required": ["factors", "recovery_codes_left"],
        "properties": {
            "factors": {
                "type": "array",
                "items": {
                    "type": "object",
                    "required": ["method", "name", "added_at"],
                    "properties": {
                        "method": {
                            "type": "string",
                            "description": "What it proves, by RFC 8176: `otp` for an"
                            " authenticator app.",
                            "examples": ["otp"],
                        },
                        "name": {"type": "string", "description": "As the user calls it."},
                        "added_at": {
                            "type": "string",
                            "format": "date-time",
                            "description": "When it became a factor.",
                        },
                    },
                },
            },
            "recovery_codes_left": {
                "type": "integer",
                "description": "How many recovery codes are not used yet.",
                "minimum": 0,
            },
        },
    },
    "HeldPermission": {
        "type": "object",
        "required": [*HeldPermission._fields],
        "properties": {
            "name": {"type": "string", "examples": ["reports.publish"]},
            "is_own": {
                "type": "boolean",
                "description": "Whether it is granted to the user themselves.",
            },
            "groups": {
                "type": "array",
                "description": "The groups of the user that have it.",
                "items": {"type": "string"},
            },
        },
    },
}
