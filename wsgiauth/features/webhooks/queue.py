"""The queue, which sends webhooks that are due."""

import json
import logging
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, NamedTuple

from wsgiauth.authentication.lifetimes import HOUR, MINUTE
from wsgiauth.features.webhooks import rows
from wsgiauth.features.webhooks.failures import Failures
from wsgiauth.features.webhooks.receivers import Receiver
from wsgiauth.features.webhooks.signing import headers_of
from wsgiauth.features.webhooks.tables import Webhook
from wsgiauth.mail.posting import PostingQueue
from wsgiauth.messages import counted
from wsgiauth.settings import Settings

# Seconds after each failed try.
RETRIES = (5, 5 * MINUTE, 30 * MINUTE, 2 * HOUR, 5 * HOUR, 10 * HOUR, 10 * HOUR)

_GONE = 410  # the receiver wants no more

logger = logging.getLogger("wsgiauth")


class Sent(NamedTuple):
    """A request that was kept instead of sent; its `repr` hides the content."""

    url: str
    headers: Mapping[str, str]
    body: str

    @property
    def document(self) -> dict[str, Any]:
        """The body, parsed."""
        parsed: dict[str, Any] = json.loads(self.body)
        return parsed

    def __repr__(self) -> str:
        return "<Sent>"


class Webhooks(PostingQueue[Webhook]):
    """Sends webhooks to the receivers of a site."""

    name = "webhooks"
    content = "webhooks"
    rest = RETRIES[0]

    def __init__(
        self, settings: Settings, receivers: Mapping[str, Receiver], clock: Callable[[], float]
    ) -> None:
        super().__init__(clock)
        self.failures = Failures()
        self._keys = settings.WEBHOOK_KEY
        self._receivers = receivers
        self._kept: list[Sent] | None = None
        self._looked_at = 0.0  # for rows of other URLs
        self._warned_at: dict[str, float] = {}  # by host

    def keep_requests(self) -> list[Sent]:
        """Send nothing from now on, for tests; return the list to which `deliver` adds."""
        if self._kept is None:
            self.stop()
            self._kept = []
        return self._kept

    def due(self) -> Iterator[tuple[str, int]]:
        """Yield the URLs with rows that are due, by one look-up in an index for each."""
        for destination in self._receivers:
            due_at = rows.next_due(destination)
            if due_at is not None and due_at <= self.now():
                yield destination, due_at

    def oldest_due(self, destination: str) -> Webhook | None:
        """Return the row of a URL that is due for longest."""
        return rows.oldest_due(destination, self.now())

    def claim(self, row: Webhook) -> bool:
        """Take the lease of a row."""
        return rows.claim(row, self.now())

    def next_due(self, resting: Mapping[str, float]) -> float | None:
        """Return when the next webhook can be sent."""
        found = {each: rows.next_due(each) for each in self._receivers}
        return min(
            (max(at, resting.get(each, 0)) for each, at in found.items() if at is not None),
            default=None,
        )

    def find_further(self) -> bool:
        """Once a minute, delete rows that are too many or of other URLs, and report failures."""
        now = self.now()
        if abs(now - self._looked_at) >= MINUTE:
            self._looked_at = now
            self.failures.report(now)
            for destination in self._receivers:
                rows.trim_ended(destination)
            number = rows.drop_unknown(self._receivers.keys(), now)
            if number:
                what = counted(number, "webhook")
                logger.warning("%s deleted, because WEBHOOKS no longer has the URL", what)
        return False

    def request_of(self, row: Webhook) -> Callable[[], int]:
        """Return what sends a row, with the time of this try."""
        url, body = self._receivers[row.destination].url, row.body
        headers = headers_of(row.id, body, keys=self._keys, now=int(self.now()))
        if self._kept is not None:
            return partial(_keep, self._kept, Sent(url, headers, body))

        def send() -> int:
            from wsgiauth.features.webhooks import sending  # see `PostingQueue`

            return sending.send(url, headers, body)

        return send

    def answered(self, row: Webhook, result: int | str) -> bool:
        """Delete, postpone or end the row."""
        host, now = self._receivers[row.destination].host, int(self.now())
        reason = result if isinstance(result, str) else f"status {result}"
        if isinstance(result, int) and 200 <= result < 300:
            rows.delete(row)
            return False
        if result == _GONE:
            number = rows.end(row, reason, now) + rows.end_all(row.destination, reason, now)
            self.failures.add(host, reason, now, number)
            return False
        if row.attempts >= len(RETRIES):
            if rows.end(row, reason, now):
                self.failures.add(host, reason, now)
            return True
        wait = RETRIES[row.attempts]
        rows.postpone(row, reason, now + wait)
        self._warn(host, wait, reason)
        return True

    def _warn(self, host: str, wait: int, reason: str) -> None:
        if abs(self.now() - self._warned_at.get(host, 0)) < MINUTE:  # thousands can fail
            return
        self._warned_at[host] = self.now()
        after = counted(wait, "second") if wait < MINUTE else counted(wait // MINUTE, "minute")
        logger.warning("a webhook was not delivered to %s, next try in %s: %s", host, after, reason)

    def _wake(self, chosen: object) -> None:
        if self._kept is None:
            super()._wake(chosen)  # type: ignore[arg-type]


def _keep(kept: list[Sent], sent: Sent) -> int:
    kept.append(sent)
    return 200
