"""The headers of a webhook, as the Standard Webhooks specification describes them."""

from base64 import b64encode
from collections.abc import Iterable

from wsgiauth.settings.webhook_entries import key_bytes
from wsgiauth.signed_values import keyed_digest


def headers_of(webhook_id: str, body: str, *, keys: Iterable[str], now: int) -> dict[str, str]:
    """Return the headers of a try, with a signature by each key of WEBHOOK_KEY."""
    signed = f"{webhook_id}.{now}.{body}".encode()
    digests = [keyed_digest(key_bytes(each), signed) for each in keys]
    return {
        "Content-Type": "application/json",
        "webhook-id": webhook_id,
        "webhook-timestamp": str(now),
        "webhook-signature": " ".join(f"v1,{b64encode(each).decode()}" for each in digests),
    }
