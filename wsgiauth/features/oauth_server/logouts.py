"""Logout tokens: sent to apps when sessions have ended.

One thread reads and changes the rows. Requests have threads of their own, without the database, so
that no app waits for another one. An app that answers quickly goes before all that failed or were
slow, so it waits for them at most until one of the requests ends: see `logout_sending.DEADLINE`.

Implements OpenID Connect Back-Channel Logout 1.0. Delivery is at least once, as of emails: see
`mail.outbox`. No token is stored; each attempt signs a new one.
"""

import logging
import secrets
import time
import weakref
from collections.abc import Callable, Mapping
from contextlib import suppress
from queue import Empty, SimpleQueue
from threading import Thread
from typing import NamedTuple

from wsgiauth import events, storage
from wsgiauth.authentication.lifetimes import MINUTE
from wsgiauth.events import Event
from wsgiauth.features.oauth_server import app_sessions, renewed_sessions
from wsgiauth.features.oauth_server.event_kinds import LOGOUT_FAILED
from wsgiauth.features.oauth_server.tables import AppSession, Client
from wsgiauth.features.services.signed_tokens import SignedTokens
from wsgiauth.mail.outbox import RETRIES
from wsgiauth.mail.worker import Queue
from wsgiauth.messages import counted

LOGOUT_TOKEN = "logout+jwt"  # noqa: S105 - a header's `typ`, section 2.4
TOKEN_LIFETIME = 2 * MINUTE
LOGOUT_EVENT = "http://schemas.openid.net/event/backchannel-logout"
REST = 1 * MINUTE  # for which an app that failed gets no other logout token
SLOW = 1  # seconds; an app that takes as long is asked after those that do not
PARALLEL = 10  # requests, each to another app
POLL = 1  # seconds after which a thread that waits for answers looks for other tokens

_REFUSED = (400, 501)  # section 2.8: the app has understood the request, and cannot do it

logger = logging.getLogger("wsgiauth")


class _Answer(NamedTuple):
    """How a request has ended: with a status, or without one for a reason."""

    row: AppSession
    result: int | str
    begun_at: float


class Logouts(Queue):
    """Sends logout tokens that are due."""

    name = "logout"
    content = "logout tokens"

    def __init__(self, signed: SignedTokens, clock: Callable[[], float]) -> None:
        super().__init__()
        self._signed = signed
        self.now = clock  # seconds since the epoch
        # By client, until it answers quickly; in the past, it only goes after others.
        self._rest_until: dict[str, float] = {}

    def deliver(self) -> float | None:
        """Send every logout token that is due; return the seconds until the next one, or None.

        At most `PARALLEL` apps have a request, and each app at most one. The thread that is stopped
        only waits for these.
        """
        asked: set[str] = set()
        answers: SimpleQueue[_Answer] = SimpleQueue()
        while True:
            is_stopped = self.is_stopped()
            rows = [] if is_stopped else self._next(asked)
            for row in rows:
                if app_sessions.claim(row, self.now()) and self._send(row, answers):
                    asked.add(row.client_id)
            if not rows and not is_stopped and app_sessions.mark_deleted(self.now()):
                continue
            if asked:
                self._wait(asked, answers)
            elif not rows:
                break
        next_due = app_sessions.next_due(self._resting())
        return None if next_due is None else max(next_due - self.now(), 0)

    def _resting(self) -> set[str]:
        """Return the clients that failed in the last minute."""
        now = self.now()
        # The clock can be set back.
        waits = {client: until - now for client, until in self._rest_until.items()}
        return {client for client, wait in waits.items() if 0 < wait <= REST}

    def _next(self, asked: set[str]) -> list[AppSession]:
        """Return rows for the requests that can begin: of apps that answer quickly first."""
        now = self.now()
        without = asked | self._resting()
        due = [
            (self._rest_until.get(client, 0), due_at, client)
            for client, due_at in app_sessions.clients_due(now)
            if client not in without
        ]
        chosen = sorted(due)[: PARALLEL - len(asked)]
        rows = [app_sessions.oldest_due(client, now) for _, _, client in chosen]
        return [row for row in rows if row is not None]

    def _send(self, row: AppSession, answers: "SimpleQueue[_Answer]") -> bool:
        """Send the logout token of a claimed row, or delete the row; return whether it is sent."""
        if not row.client.logout_uri:  # it was removed meanwhile
            app_sessions.delete(row)
            return False
        if app_sessions.is_too_late(row, self.now()) or row.attempts > len(RETRIES) + 1:
            self._give_up(row, "too late")
            return False
        token, begun_at = self._token(row, row.client), self.now()

        def request() -> None:
            # Not before it is needed: http.client and ssl take two megabytes.
            from wsgiauth.features.oauth_server import logout_sending
            from wsgiauth.outgoing import OutgoingError

            result: int | str = "connection"
            try:
                result = logout_sending.send(row.client.logout_uri, token)
            except OutgoingError as error:
                result = str(error)
            finally:
                answers.put(_Answer(row, result, begun_at))

        try:
            Thread(target=request, name="wsgiauth logout", daemon=True).start()
        except RuntimeError:  # there are too many threads
            self._failed(row, "connection")
            return False
        return True

    def _wait(self, asked: set[str], answers: "SimpleQueue[_Answer]") -> None:
        """Wait for an answer, but look for other tokens that are due now and then."""
        storage.release_connection(storage.current())  # the apps can take long
        with suppress(Empty):
            answer = answers.get(timeout=POLL)
            asked.remove(answer.row.client_id)
            self._answered(answer)

    def _answered(self, answer: "_Answer") -> None:
        """Delete or postpone the row of a request that has ended."""
        row, result, begun_at = answer
        if self.now() - begun_at < SLOW:
            self._rest_until.pop(row.client_id, None)
        else:
            self._rest_until[row.client_id] = self.now()
        if isinstance(result, str):
            self._failed(row, result)
        elif 200 <= result < 300:
            app_sessions.delete(row)
        elif result in _REFUSED:
            self._give_up(row, f"status {result}")
        else:
            self._failed(row, f"status {result}")

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
