"""What the OpenAPI document says of the terms of use."""

from wsgiauth.extend.openapi import (
    DETAIL,
    NEXT,
    Operation,
    answer,
    answer_or_page,
    array,
    leads,
    nullable,
    obj,
    text,
    time,
)
from wsgiauth.features.terms.demand import TERMS_VERSION
from wsgiauth.features.terms.terms import TermsOfUse

ACCEPTED_TERMS = obj("AcceptedTerms", version=text(format="date"), accepted_at=time())
TERMS = obj(
    "Terms",
    TERMS_VERSION,
    privacy_url=nullable(text("Where the privacy policy can be read.", format="uri-reference")),
    accepted=array(ACCEPTED_TERMS, "The versions that the user has accepted, the latest first."),
)

MEMBERS = {
    "Account": {
        "accepted_terms": array(
            ACCEPTED_TERMS,
            "The versions of the terms that the user has accepted, the latest first; only on a site"
            " with TERMS_VERSION.",
        )
    }
}
OPERATIONS = {
    TermsOfUse: {
        "get": Operation(
            "showTerms",
            "The version of the terms, and the versions that the caller has accepted",
            "Until the user has accepted this version or a later one, a session reaches this URL,"
            " `/me`, `/data`, `/close`, `/confirm`, `/language` and `/logout`. Any other URL that"
            " needs a session answers 403 `terms_required`, or leads a browser here and back.",
            answers=(
                answer_or_page("The terms.", TERMS),
                leads(303, "For browsers whose user has accepted the terms: `Location` is `next`."),
            ),
            parameters=(NEXT,),
        ),
        "post": Operation(
            "acceptTerms",
            "Accept the terms",
            "It counts for all sessions of the user at once.",
            answers=(
                answer(
                    200,
                    "The terms are accepted. With `end`, the user is logged out, and there is only"
                    " `detail`.",
                    {"anyOf": [TERMS, DETAIL]},
                ),
            ),
            example={"version": "2026-11-28"},
        ),
    },
}
