"""The outbox: a request inserts one row, and a thread sends the mail afterwards.

The request looks up no account, so its answer and its time tell nothing about who has one. The
sender looks the account up, and only then creates the secret of the link.

Delivery is at least once. A sender claims a row by moving its `due_at` to the end of a lease, with
one UPDATE that compares, so that of many processes one sends it. If the process is killed, another
one sends the mail after the lease.
"""

import json
import logging
import secrets
import time
from collections.abc import Callable, Mapping
from email.message import EmailMessage
from typing import Any

import peewee

from wsgiauth import events, storage
from wsgiauth.accounts.models import User
from wsgiauth.accounts.names import EMAIL_MAX_LENGTH
from wsgiauth.authentication import one_time
from wsgiauth.mail.failures import DeliveryError, MailServerError
from wsgiauth.mail.letters import Addressed, Letters, secret_of
from wsgiauth.mail.models import Mail
from wsgiauth.mail.transports import Kept, Transport, sending
from wsgiauth.mail.worker import Worker
from wsgiauth.settings import Settings
from wsgiauth.storage import database
from wsgiauth.storage.connections import DATABASE_ERRORS

MINUTE = 60  # seconds
RETRIES = (1 * MINUTE, 5 * MINUTE, 30 * MINUTE)  # after each failed attempt
LEASE = 10 * MINUTE  # longer than a mail server can take: see `smtp.DEADLINE`
OVERDUE = 5 * MINUTE
LIFETIME = 24 * 60 * MINUTE  # how long a mail is worth sending
BATCH = 20

# Kinds of mails for which a person waits; they are sent in this order, before all others.
URGENT = ("reset", "address", "invitation")

# In `Mail.data`: that of the secret of the last attempt.
_DIGEST = "digest"

logger = logging.getLogger("wsgiauth")

# Looks up the account of a mail, and returns the letter; None if there is nothing to send.
Composer = Callable[[Mail, Settings, float], Addressed | None]


class Outbox:
    """Keeps mails and sends them.

    Args:
        settings: Those of the mails.
        transport: Sends the messages.
        composers: What makes the letter, by kind of mail.
        clock: Returns the time in seconds since the epoch.
    """

    def __init__(
        self,
        settings: Settings,
        transport: Transport,
        composers: Mapping[str, Composer],
        *,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._settings = settings
        self._letters = Letters(settings)
        self._transport = transport
        self._composers = composers
        self._now = clock
        self._worker = Worker(self.deliver)
        self._paused_until = self._warned_at = 0.0

    def enqueue(
        self,
        kind: str,
        *,
        name: str = "",
        user: User | None = None,
        data: Mapping[str, Any] | None = None,
    ) -> None:
        """Insert a mail, which is sent after this request or transaction.

        Args:
            kind: Which mail.
            name: The name that was typed.
            user: The user it is for, if that is known.
            data: What else its text needs.

        Raises:
            peewee.DatabaseError: The database failed.
        """
        chosen = storage.current()
        insert(kind, name=name, user=user, data=data, now=self._now())
        if chosen.in_transaction():
            chosen.after_commit(lambda: self._wake(chosen))
        else:
            self._wake(chosen)

    def deliver(self) -> float | None:
        """Send every mail that is due; return the seconds until the next one, or None.

        While the mail server takes nothing, one mail is tried in a minute.

        Raises:
            peewee.DatabaseError: The database failed.
        """
        pause = self._paused_until - self._now()
        if 0 < pause <= MINUTE:  # the clock can be set back
            return pause
        try:
            with sending(self._transport) as send:
                while rows := self._due():
                    for row in rows:
                        if self._claim(row):
                            self._send(row, send)
        except MailServerError as error:
            self._paused_until = self._now() + MINUTE
            logger.warning("mails are not sent, next attempt in a minute: %s", error)
            return MINUTE
        next_due = Mail.select(peewee.fn.MIN(Mail.due_at)).scalar()
        return None if next_due is None else max(next_due - self._now(), 0)

    def start(self) -> None:
        """Start the thread, for what other processes left; once in a process.

        A request calls this, and not the start of the site: a server can fork after that, and
        a thread that runs then would leave its locks held in the new process.
        """
        if not self._worker.has_begun:
            self._wake(storage.current())

    def stop(self) -> None:
        """End the thread; the next mail starts another one."""
        self._worker.stop()

    def keep_messages(self) -> list[EmailMessage]:
        """Send nothing from now on; return the list in which `deliver` puts the messages instead.

        For tests: no thread delivers any more.
        """
        if not isinstance(self._transport, Kept):
            self.stop()
            self._transport = Kept()
        return self._transport

    def _wake(self, chosen: peewee.Database) -> None:
        if not isinstance(self._transport, Kept):
            self._worker.wake(chosen)

    def _due(self) -> list[Mail]:
        """Return some mails that are due; to claim one changes when it is due."""
        due = Mail.select().where(Mail.due_at <= int(self._now()))
        rank = peewee.Case(
            Mail.kind, [(kind, number) for number, kind in enumerate(URGENT)], len(URGENT)
        )
        return list(due.order_by(rank, Mail.due_at).limit(BATCH))

    def _claim(self, row: Mail) -> bool:
        """Compare and set; return whether this process is to send the mail."""
        claimed = {"due_at": int(self._now()) + LEASE, "attempts": row.attempts + 1}
        with database.atomic():
            update = Mail.update(claimed).where(
                Mail.id == row.id, Mail.due_at == row.due_at, Mail.attempts == row.attempts
            )
            if not update.execute():
                return False
        row.attempts += 1
        return True

    def _send(self, row: Mail, send: Transport) -> None:
        """Send a claimed mail, and delete it or set when to try again.

        Raises:
            MailServerError: The mail server takes nothing; the attempt does not count.
        """
        user_id = row.user_id
        try:
            if row.expires_at <= self._now() or row.attempts > len(RETRIES) + 1:
                raise DeliveryError("too late", is_final=True)
            addressed = self._compose(row)
            if addressed is not None:
                user_id = addressed.user_id
                message = self._letters.message(addressed)
                storage.release_connection(storage.current())  # the mail server can take long
                send(message)
        except DATABASE_ERRORS:
            raise  # the lease ends, and the mail is tried again
        except MailServerError:
            _postpone(row, int(self._now()) + MINUTE, row.attempts - 1)
            raise
        except (Exception, SystemExit) as error:  # of a template, or of the site's `send_mail`
            self._failed(row, user_id, error)
            return
        _delete(row)

    def _compose(self, row: Mail) -> Addressed | None:
        """Return the letter, whose secret replaces that of an earlier attempt.

        Returns:
            None if there is nothing to send, or if the user is deleted meanwhile.
        """
        data = json.loads(row.data)
        earlier = data.pop(_DIGEST, None)
        row.data = json.dumps(data)
        try:
            addressed = self._composers[row.kind](row, self._settings, self._now())
        except (peewee.IntegrityError, User.DoesNotExist):
            return None
        secret = None if addressed is None else secret_of(addressed.letter)
        if secret is not None:
            with database.atomic():
                if earlier is not None:
                    one_time.end(earlier)
                stored = json.dumps({**data, _DIGEST: one_time.digest(secret)})
                Mail.update(data=stored).where(Mail.id == row.id).execute()
        return addressed

    def _failed(self, row: Mail, user_id: int | None, error: BaseException) -> None:
        # Only our own errors are known to have no address in their text.
        reason = str(error) if isinstance(error, DeliveryError) else type(error).__name__
        is_final = isinstance(error, DeliveryError) and error.is_final
        if is_final or row.attempts > len(RETRIES):
            _delete(row)
            events.emit("mail_failed", user_id=user_id, reason=f"{row.kind}: {reason}")
            return
        wait = RETRIES[row.attempts - 1]
        _postpone(row, int(self._now()) + wait, row.attempts)
        if abs(self._now() - self._warned_at) >= MINUTE:  # a server can refuse thousands
            self._warned_at = self._now()
            logger.warning(
                "a mail was not sent, next attempt in %d minutes: %s", wait // 60, reason
            )


def insert(
    kind: str,
    *,
    name: str = "",
    user: User | None = None,
    data: Mapping[str, Any] | None = None,
    now: float,
) -> None:
    """Insert a mail, which some process sends later; see `Outbox.enqueue`.

    Args:
        kind, name, user, data: See `Outbox.enqueue`.
        now: Seconds since the epoch.

    Raises:
        peewee.DatabaseError: The database failed.
    """
    with database.atomic():
        Mail.insert(
            id=secrets.token_hex(16),
            kind=kind,
            name=name[:EMAIL_MAX_LENGTH],
            user=None if user is None else user.id,
            data=json.dumps(data or {}),
            due_at=int(now),
            attempts=0,
            expires_at=int(now) + LIFETIME,
        ).execute()


def overdue(now: float) -> int:
    """Return how many mails should have been sent a while ago.

    Args:
        now: Seconds since the epoch.

    Raises:
        peewee.DatabaseError: The database failed.
    """
    number: int = Mail.select().where(Mail.due_at <= int(now) - OVERDUE).count()
    return number


def _postpone(row: Mail, due_at: int, attempts: int) -> None:
    with database.atomic():
        Mail.update(due_at=due_at, attempts=attempts).where(
            Mail.id == row.id, Mail.attempts == row.attempts
        ).execute()


def _delete(row: Mail) -> None:
    with database.atomic():
        Mail.delete().where(Mail.id == row.id).execute()
