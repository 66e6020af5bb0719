"""Requests of an app as a form, whose `id_token_hint` can be too long for a URL."""

from urllib.parse import urlencode
from wsgiref.types import WSGIEnvironment

from wsgiauth.features.oauth_server.authorization import HINT
from wsgiauth.features.services.signed_tokens import (
    ID_TOKEN,
    MAX_ID_TOKEN,
    MAX_LENGTH,
    SignedTokens,
)
from wsgiauth.web.request import MAX_BODY, read_form, too_large

MAX_FORM = MAX_BODY + MAX_ID_TOKEN  # bytes

_NAMES = ("sub", "aud", "exp", "sid")  # of the claims that name the user of a hint
_INVALID = "invalid"


def read_query(environ: WSGIEnvironment, signed: SignedTokens, *, most: int = MAX_BODY) -> str:
    """Return the form as a query with which the browser can be sent on.

    Proxies refuse a URL of 32 KiB, so a long ID token is replaced by one without its other claims.

    Args:
        most: Characters of the query.

    Raises:
        RequestError: See `read_form`; 413 also if the other fields alone are too long.
    """
    fields = {name: str(value) for name, value in read_form(environ, most=MAX_FORM).items()}
    shorten_hint(fields, signed)
    query = urlencode(fields)
    if len(query) > most:
        raise too_large()
    return query


def shorten_hint(fields: dict[str, str], signed: SignedTokens) -> None:
    """Replace a long ID token among the parameters of a request."""
    if len(fields.get(HINT, "")) > MAX_LENGTH:
        fields[HINT] = _shortened(fields[HINT], signed)


def _shortened(token: str, signed: SignedTokens) -> str:
    claims = signed.id_token_claims(token)
    if claims is None:
        return _INVALID
    return signed.sign({name: claims[name] for name in _NAMES if name in claims}, kind=ID_TOKEN)
