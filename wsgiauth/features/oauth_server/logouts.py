"""Logout tokens: sent to apps when sessions have ended.

Implements OpenID Connect Back-Channel Logout 1.0. No token is stored; each attempt signs a new one.
"""

import logging
import secrets
import time
import weakref
from collections.abc import Callable, Mapping

from wsgiauth import events
from wsgiauth.authentication.lifetimes import MINUTE
from wsgiauth.events import Event
from wsgiauth.features.oauth_server import app_sessions, renewed_sessions
from wsgiauth.features.oauth_server.event_kinds import LOGOUT_FAILED
from wsgiauth.features.oauth_server.tables import AppSession, Client
from wsgiauth.features.services.signed_tokens import SignedTokens
from wsgiauth.mail.outbox import RETRIES
from wsgiauth.mail.posting import PostingQueue
from wsgiauth.messages import counted

LOGOUT_TOKEN = "logout+jwt"  # noqa: S105 - a header's `typ`, section 2.4
TOKEN_LIFETIME = 2 * MINUTE
LOGOUT_EVENT = "http://schemas.openid.net/event/backchannel-logout"

_REFUSED = (400, 501)  # section 2.8: the app has understood the request, and cannot do it

logger = logging.getLogger("wsgiauth")


class Logouts(PostingQueue[AppSession]):
    """Sends logout tokens that are due."""

    name = "logout"
    content = "logout tokens"
    rest = 1 * MINUTE

    def __init__(self, signed: SignedTokens, clock: Callable[[], float]) -> None:
        super().__init__(clock)
        self._signed = signed

    def due(self) -> list[tuple[str, int]]:
        """Return the clients with rows that are due."""
        return app_sessions.clients_due(self.now())

    def oldest_due(self, destination: str) -> AppSession | None:
        """Return the row of a client that is due for longest."""
        return app_sessions.oldest_due(destination, self.now())

    def claim(self, row: AppSession) -> bool:
        """Count an attempt."""
        return app_sessions.claim(row, self.now())

    def next_due(self, resting: Mapping[str, float]) -> float | None:
        """Return when the next logout token is due, but for apps that rest: for `LONGEST_WAIT`."""
        return app_sessions.next_due(resting.keys())

    def find_further(self) -> bool:
        """Mark rows whose session was deleted."""
        return app_sessions.mark_deleted(self.now())

    def request_of(self, row: AppSession) -> Callable[[], int] | None:
        """Return what sends the logout token of a row, or delete the row."""
        if not row.client.logout_uri:  # it was removed meanwhile
            app_sessions.delete(row)
            return None
        if app_sessions.is_too_late(row, self.now()) or row.attempts > len(RETRIES) + 1:
            self._give_up(row, "too late")
            return None
        token = self._token(row, row.client)

        def send() -> int:
            from wsgiauth.features.oauth_server import logout_sending  # see `PostingQueue`

            return logout_sending.send(row.client.logout_uri, token)

        return send

    def answered(self, row: AppSession, result: int | str) -> bool:
        """Delete or postpone the row."""
        reason = result if isinstance(result, str) else f"status {result}"
        if isinstance(result, int) and 200 <= result < 300:
            app_sessions.delete(row)
        elif result in _REFUSED:
            self._give_up(row, reason)
        else:
            self._failed(row, reason)
            return True
        return False

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
        if row.attempts > len(RETRIES):
            self._give_up(row, reason)
            return
        wait = RETRIES[row.attempts - 1]
        app_sessions.postpone(row, int(self.now()) + wait)
        logger.warning(
            "a logout token was not delivered to the app %s, next attempt in %s: %s",
            row.client_id,
            counted(wait // MINUTE, "minute"),
            reason,
        )

    def _give_up(self, row: AppSession, reason: str) -> None:
        app_sessions.delete(row)
        events.emit(LOGOUT_FAILED, user_id=row.user_id, reason=f"{row.client_id}: {reason}")


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
        """Mark what an event has ended; let codes follow a session with a new proof."""
        queue = self._queue()
        now = time.time() if queue is None else queue.now()
        renewed_sessions.follow(event, details, int(now))
        is_any = app_sessions.mark_ended(event, details.get("sid", ""), int(now))
        if is_any and queue is not None:
            queue.wake_after_commit()
