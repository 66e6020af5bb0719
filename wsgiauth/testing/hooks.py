"""The webhooks that the application sends."""

from wsgiauth.features.webhooks.queue import Sent, Webhooks
from wsgiauth.middleware import AuthMiddleware
from wsgiauth.storage import context
from wsgiauth.testing.people import require_middleware

__all__ = ["Sent", "webhooks"]


def webhooks(application: AuthMiddleware) -> list[Sent]:
    """Return all webhooks that the site would have sent since the first call, in their order.

    Nothing goes over the network. The first call stops the site's thread that sends webhooks, so
    call this before the actions of your test. Each `Sent` has `url`, `headers` and `body`, and as
    `document` the body as a dictionary.

    Raises:
        ValueError: The site sends no webhooks, because it has no WEBHOOKS.
    """
    queue = require_middleware(application).site.part(Webhooks)
    if queue is None:
        raise ValueError("The site sends no webhooks: use make_settings(WEBHOOKS=…).")
    kept = queue.keep_requests()
    with context.using(application.database):
        queue.deliver()
    return sorted(kept, key=lambda each: each.headers["webhook-id"])
