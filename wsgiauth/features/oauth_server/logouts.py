"""Logout tokens: sent to apps by a thread, when sessions have ended.

Implements OpenID Connect Back-Channel Logout 1.0. Delivery is at least once, as of emails: see
`mail.outbox`. No token is stored; each attempt signs a new one.
"""

import logging
import secrets
import time
import weakref
from collections.abc import Callable, Mapping

from wsgiauth import events, storage
from wsgiauth.authentication.lifetimes import MINUTE
from wsgiauth.events import Event
from wsgiauth.features.oauth_server import app_sessions, logout_sending
from wsgiauth.features.oauth_server.logout_sending import UnansweredError
from wsgiauth.features.oauth_server.tables import AppSession, Client
from wsgiauth.features.services.signed_tokens import SignedTokens
from wsgiauth.mail.outbox import RETRIES
from wsgiauth.mail.worker import Queue
from wsgiauth.messages import counted

LOGOUT_TOKEN = "logout+jwt"  # noqa: S105 - a header's `typ`, section 2.4
TOKEN_LIFETIME = 2 * MINUTE
LOGOUT_EVENT = "http://schemas.openid.net/event/backchannel-logout"
REST = 1 * MINUTE  # for which an app that failed gets no other logout token

_REFUSED = (400, 501)  # section 2.8: the app has understood the request, and cannot do it

logger = logging.getLogger("wsgiauth")


class Logouts(Queue):
    """Sends logout tokens that are due."""

    name = "logout"
    content = "logout tokens"

    def __init__(self, signed: SignedTokens, clock: Callable[[], float]) -> None:
        super().__init__()
        self._signed = signed
        self.now = clock  # seconds since the epoch
        self._rest_until: dict[str, float] = {}  # by client

    def deliver(self) -> float | None:
        """Send every logout token that is due; return the seconds until the next one, or None.

        An app that fails delays those for other apps once in a minute, by the deadline of one
        request.
        """
        while rows := app_sessions.due(self.now(), self._resting()):
            for row in rows:
                if row.client_id not in self._resting() and app_sessions.claim(row, self.now()):
                    self._send(row)
        next_due = app_sessions.next_due(self._resting())
        return None if next_due is None else max(next_due - self.now(), 0)

    def _resting(self) -> set[str]:
        """Return the clients that failed in the last minute."""
        now = self.now()
        # The clock can be set back.
        waits = {client: until - now for client, until in self._rest_until.items()}
        return {client for client, wait in waits.items() if 0 < wait <= REST}

    def _send(self, row: AppSession) -> None:
        """Send the logout token of a claimed row, and delete or postpone the row."""
        if not row.client.logout_uri:  # it was removed meanwhile
            app_sessions.delete(row)
            return
        if row.expires_at <= self.now() or row.attempts > len(RETRIES) + 1:
            self._give_up(row, "too late")
            return
        token = self._token(row, row.client)
        storage.release_connection(storage.current())  # the app can take long
        try:
            status = logout_sending.send(row.client.logout_uri, token)
        except UnansweredError as error:
            self._failed(row, str(error))
            return
        if 200 <= status < 300:
            app_sessions.delete(row)
        elif status in _REFUSED:
            self._give_up(row, f"status {status}")
        else:
            self._failed(row, f"status {status}")

    def _token(self, row: AppSession, client: Client) -> str:
        now = int(self.now())
        return self._signed.sign(
            {
                "sub": str(row.user_id),
                "aud": client.id,
                "iat": now,
                "exp": now + TOKEN_LIFETIME,
                "jti": secrets.token_urlsafe(16),
                "sid": row.sid,
                "events": {LOGOUT_EVENT: {}},
            },
            kind=LOGOUT_TOKEN,
            algorithm=client.algorithm,
        )

    def _failed(self, row: AppSession, reason: str) -> None:
        self._rest_until[row.client_id] = self.now() + REST
        if row.attempts > len(RETRIES):
            self._give_up(row, reason)
            return
        wait = RETRIES[row.attempts - 1]
        app_sessions.postpone(row, int(self.now()) + wait)
        logger.warning(
            "the app %s did not accept a logout token, next attempt in %s: %s",
            row.client_id,
            counted(wait // MINUTE, "minute"),
            reason,
        )

    def _give_up(self, row: AppSession, reason: str) -> None:
        app_sessions.delete(row)
        events.emit("logout_failed", user_id=row.user_id, reason=f"{row.client_id}: {reason}")


class EndedSessions:
    """Marks the sessions at apps that a change has ended, in the transaction of the change.

    Without a queue, as of a command, another process sends the logout tokens.
    """

    def __init__(self, queue: Logouts | None) -> None:
        # A weak reference, because the thread of the queue ends with the queue: see `worker`.
        self._queue: Callable[[], Logouts | None] = (
            weakref.ref(queue) if queue is not None else lambda: None
        )

    def __call__(self, event: Event, details: Mapping[str, str]) -> None:
        """Mark what an event has ended."""
        queue = self._queue()
        now = time.time() if queue is None else queue.now()
        is_any = app_sessions.mark_ended(event, details.get("sid", ""), int(now))
        if is_any and queue is not None:
            queue.wake_after_commit()
