"""What Schemathesis expects of answers to what it makes from openapi.json.

It takes a request that fits the schemas for a right one, and any other for a wrong one. Where no
schema can tell, these are the statuses of both.
"""

import schemathesis

from wsgiauth.app import ROUTES

OPERATIONS = [
    {
        "include-name": "POST /register",
        # A name can be taken, or break a rule that no schema can tell.
        "checks": {"positive_data_acceptance": {"expected-statuses": [201, 409, 422]}},
    },
    {
        "include-name": "GET /check",
        # The name of a group can break a rule that no schema can tell.
        "checks": {"positive_data_acceptance": {"expected-statuses": ["2xx", 302, 400, 401, 403]}},
    },
    {
        "include-name": "POST /password",
        "checks": {
            "positive_data_acceptance": {"expected-statuses": [200, 302, 401, 422]},
            "negative_data_rejection": {"expected-statuses": ["4xx", 302]},
        },
    },
    {
        "include-name": [
            f"{method.upper()} {path}"
            for path, endpoint in ROUTES.items()
            if path.startswith("/admin")
            for method in endpoint.handlers
        ],
        # Others than the staff get 404, and the rows are seldom there. A name can be taken.
        "checks": {
            "positive_data_acceptance": {
                "expected-statuses": ["2xx", 302, 303, 401, 404, 409, 422],
            },
            "negative_data_rejection": {"expected-statuses": ["4xx", 302, 303]},
        },
    },
    {
        "include-name": [
            f"{method} {path}"
            for path in ("/reset", "/restore", "/verify")
            for method in ("GET", "POST")
        ],
        # No token is one of a link.
        "checks": {
            "positive_data_acceptance": {"expected-statuses": [410]},
            "negative_data_rejection": {"expected-statuses": ["4xx"]},
        },
    },
    *(
        {
            "include-name": name,
            "checks": {
                "positive_data_acceptance": {"expected-statuses": expected},
                "negative_data_rejection": {"expected-statuses": ["4xx", 302]},
            },
        }
        for name, expected in (
            ("POST /code/enter", [200, 401, 422]),
            ("POST /sessions", [200, 302, 401, 404, 422]),
            ("POST /email", [202, 302, 401, 422]),
            ("POST /identities", [200, 302, 401, 422]),
            ("POST /username", [200, 302, 401, 409, 422]),
            ("POST /close", [200, 302, 401]),
            ("POST /terms", [200, 302, 401, 409, 422]),
            ("POST /token", [200, 302, 400, 401]),
            ("POST /keys", [200, 201, 302, 303, 401, 404, 409, 422]),
        )
    ),
    {
        "include-name": ["GET /complete", "POST /complete"],
        # No account of a provider waits.
        "checks": {
            "positive_data_acceptance": {"expected-statuses": [410]},
            "negative_data_rejection": {"expected-statuses": ["4xx"]},
        },
    },
    {
        "include-name": ["GET /oidc/{provider}/callback", "POST /oidc/{provider}/logout"],
        # No browser has begun, and no token is signed by the provider.
        "checks": {"positive_data_acceptance": {"expected-statuses": [400, 404]}},
    },
    {
        "include-name": ["GET /authorize", "POST /authorize", "GET /consent", "POST /consent"],
        # There is no such client; a form can have too many fields.
        "checks": {
            "positive_data_acceptance": {"expected-statuses": [302, 303, 400, 401]},
            "negative_data_rejection": {"expected-statuses": ["4xx", 302, 303]},
        },
    },
    {
        "include-name": ["GET /oauth/logout", "POST /oauth/logout"],
        # There is no such client; a form can have too many fields.
        "checks": {
            "positive_data_acceptance": {"expected-statuses": [200, 303, 400]},
            "negative_data_rejection": {"expected-statuses": ["4xx", 200, 303]},
        },
    },
    {
        "include-name": "POST /apps",
        # No app has been allowed.
        "checks": {
            "positive_data_acceptance": {"expected-statuses": [302, 401, 404]},
            "negative_data_rejection": {"expected-statuses": ["4xx", 302]},
        },
    },
    {
        "include-name": ["POST /oauth/token", "POST /oauth/revoke", "POST /oauth/device"],
        # There is no such client.
        "checks": {
            "positive_data_acceptance": {"expected-statuses": [400, 401]},
            "negative_data_rejection": {"expected-statuses": ["4xx"]},
        },
    },
    {
        "include-name": "POST /device",
        # No device waits, and a user can try some codes.
        "checks": {
            "positive_data_acceptance": {"expected-statuses": [302, 401, 404, 429]},
            "negative_data_rejection": {"expected-statuses": ["4xx", 302]},
        },
    },
    {
        "include-name": "POST /oauth/register",
        # Rules of URIs and names that no schema can tell; an address can register some apps. What
        # is null or empty counts as missing.
        "checks": {
            "positive_data_acceptance": {"expected-statuses": [201, 400, 429]},
            "negative_data_rejection": {"expected-statuses": ["4xx", 201]},
        },
    },
    {
        "include-name": "POST /confirm",
        # A browser without a login is sent to the login page, whatever it sends. Either of
        # two fields is needed.
        "checks": {
            "positive_data_acceptance": {"expected-statuses": [200, 302, 401, 422]},
            "negative_data_rejection": {"expected-statuses": ["4xx", 302]},
        },
    },
    {
        "include-name": [
            "GET /second",
            "POST /second",
            "GET /passkeys",
            "POST /passkeys",
            "GET /totp",
            "POST /totp",
            "GET /recovery-codes",
            "POST /recovery-codes",
        ],
        # No login is pending, no code is right, one of several fields is needed, and
        # there are no recovery codes without a second factor.
        "checks": {
            "positive_data_acceptance": {
                "expected-statuses": [200, 201, 302, 401, 409, 422],
            },
            "negative_data_rejection": {"expected-statuses": ["4xx", 302]},
        },
    },
]


def contract_config(examples, seed, **generation):
    """Return the configuration for so many examples of each operation."""
    return schemathesis.Config.from_dict(
        {
            "seed": seed,
            "generation": {"max-examples": examples, **generation},
            "operations": OPERATIONS,
        }
    )
