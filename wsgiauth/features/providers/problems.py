"""The failures that several URLs of providers share, for the OpenAPI document."""

from dataclasses import replace

from wsgiauth.openapi.answers import Problem
from wsgiauth.openapi.problems import RETRY_AFTER

NO_SUCH_PROVIDER = Problem(
    "NoSuchProvider", 404, {"not_found": "OIDC_PROVIDERS has no such provider."}
)
IDENTITY_REFUSED = Problem(
    "IdentityRefused",
    409,
    {
        "identity_taken": "Another user has the account of the provider.",
        "too_many_identities": "The user has the maximum number of accounts of providers.",
    },
)
PROVIDER_FAILED = Problem(
    "ProviderFailed",
    502,
    {"provider_failed": "The provider sent an answer that is refused, or is configured wrongly."},
)
PROVIDER_UNAVAILABLE = Problem(
    "ProviderUnavailable",
    503,
    {"provider_unavailable": "The provider does not answer."},
    headers={"Retry-After": RETRY_AFTER},
)
PROVIDER_REFUSED = replace(PROVIDER_FAILED, name="ProviderRefused")  # by `act` of a form
