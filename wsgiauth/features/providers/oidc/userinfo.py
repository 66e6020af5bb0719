"""Answers of the userinfo endpoint (OpenID Connect Core 1.0, section 5.3.2): JSON, or signed."""

from wsgiauth.features.providers.oidc.documents import Document, optional, parse_document
from wsgiauth.features.providers.oidc.signed_tokens import (
    Expected,
    TokenError,
    audiences_of,
    check_validity,
    is_token,
    verify_signature,
)


def read_userinfo(body: bytes, expected: Expected, now: float) -> Document | None:
    """Return the claims of an answer, or None if it is neither JSON nor a signed token.

    Whose they are is for the caller to compare.

    Raises:
        TokenError: The provider has not signed the token, or not for this site.
        ProviderError: The provider's keys cannot be fetched.
    """
    document = parse_document(body)
    if document is not None:
        return document
    token = body.decode("ascii", errors="replace").strip()
    if not is_token(token):
        return None
    claims = verify_signature(
        token, expected, {"jwt"}, lambda metadata: metadata.userinfo_algorithms
    ).claims
    # It answers our request, so both can be left out.
    if optional(claims, "iss") not in (None, expected.issuer):
        raise TokenError("iss")
    if optional(claims, "aud") is not None and expected.client_id not in audiences_of(claims):
        raise TokenError("aud")
    check_validity(claims, now)
    return claims
