"""The outbox: a request inserts one row, and a thread sends the email afterwards.

The request looks up no account, so its response and its time do not reveal who has one. The sender
looks the account up, and only then creates the secret of the link.

Delivery is at least once. A sender claims a row by one UPDATE that compares, and moves its `due_at`
to the end of a lease. If the process is killed, another one sends the email after the lease.
"""

from __future__ import annotations

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
from wsgiauth.accounts.tables import ADDRESS, CODE, INVITATION, REGISTRATION, RESET
from wsgiauth.authentication import one_time
from wsgiauth.events import kinds
from wsgiauth.events.actors import is_outage
from wsgiauth.mail.letters import Addressed, Letters
from wsgiauth.mail.transports import DeliveryError, Kept, MailServerError, Transport, sending
from wsgiauth.mail.worker import Queue
from wsgiauth.messages import counted
from wsgiauth.settings import Settings
from wsgiauth.settings.checks import MAX_TAG_LENGTH
from wsgiauth.storage import context, database
from wsgiauth.storage.conflicts import repeated_after_conflict
from wsgiauth.storage.connections import frames_of
from wsgiauth.storage.models import Model
from wsgiauth.storage.statements import ModelStatement, Statement, given, insert_row, is_given

MINUTE = 60  # seconds
RETRIES = (1 * MINUTE, 5 * MINUTE, 30 * MINUTE)  # after each failed attempt
LEASE = 10 * MINUTE  # longer than a mail server can take: see `smtp.DEADLINE`
OVERDUE = 5 * MINUTE
LIFETIME = 24 * 60 * MINUTE  # how long an email is worth sending
BATCH = 20

# Kinds of emails for which a person waits; they are sent in this order, before all others.
URGENT = (CODE, REGISTRATION, RESET, ADDRESS, INVITATION)

_DIGEST = "digest"  # of the last attempt's secret, in `Mail.data`

logger = logging.getLogger("wsgiauth")


class Mail(Model):
    """An email to send. Times are in seconds since the epoch.

    Example:
        def name_in(mail: Mail) -> str:
            return str(json.loads(mail.data)["name"])
    """

    # Random, so that no number is used twice.
    id: peewee.CharField[str] = peewee.CharField(max_length=32, primary_key=True)
    kind: peewee.CharField[str] = peewee.CharField(max_length=32)
    # As it was typed, if no account has been looked up for it.
    name: peewee.CharField[str] = peewee.CharField(max_length=EMAIL_MAX_LENGTH, default="")
    user_id: int | None
    user: peewee.ForeignKeyField[User | None] = peewee.ForeignKeyField(
        User, null=True, backref="+", on_delete="CASCADE"
    )
    # Further values for the letter, and the digest of the last secret, in JSON.
    data: peewee.TextField[str] = peewee.TextField()
    # The language of the request or of the account's owner; an empty string if unknown.
    language: peewee.CharField[str] = peewee.CharField(max_length=MAX_TAG_LENGTH, default="")
    # When to send it, or to try again; after a claim, the end of the lease.
    due_at: peewee.BigIntegerField[int] = peewee.BigIntegerField(index=True)
    # How often a process has begun to send it.
    attempts: peewee.IntegerField[int] = peewee.IntegerField(default=0)
    expires_at: peewee.BigIntegerField[int] = peewee.BigIntegerField()

    class Meta:
        table_name = "wsgiauth_mail"
        indexes: tuple[tuple[tuple[str, str], bool]] = ((("kind", "due_at"), False),)


_IS_DUE = Mail.due_at <= given(Mail.due_at, "now")
_IS_OURS = is_given(Mail.id) & is_given(Mail.attempts)
_LIMIT = given(Mail.attempts, "limit")

_DUE = ModelStatement(lambda: Mail.select().where(_IS_DUE).order_by(Mail.due_at).limit(_LIMIT))
_URGENT = ModelStatement(
    lambda: Mail.select().where(_IS_DUE, is_given(Mail.kind)).order_by(Mail.due_at).limit(_LIMIT)
)
_NEXT_DUE = Statement(lambda: Mail.select(peewee.fn.MIN(Mail.due_at)))
_CLAIM = Statement(
    lambda: Mail.update(
        due_at=given(Mail.due_at, "lease_ends_at"), attempts=Mail.attempts + 1
    ).where(_IS_OURS, is_given(Mail.due_at))
)
_KEEP_DATA = Statement(lambda: Mail.update(data=given(Mail.data)).where(is_given(Mail.id)))
_POSTPONE = Statement(
    lambda: Mail.update(due_at=given(Mail.due_at), attempts=given(Mail.attempts, "counted")).where(
        _IS_OURS
    )
)
_DELETE = Statement(lambda: Mail.delete().where(is_given(Mail.id)))

# Looks up the account of an email, and returns the letter, or None if there is nothing to send.
Composer = Callable[[Mail, Settings, float], Addressed | None]


class FeatureComposer:
    """The composer of a feature, whose name is for the log."""

    def __init__(self, feature: str, compose: Composer) -> None:
        self.feature, self._compose = feature, compose

    def __call__(self, mail: Mail, settings: Settings, now: float) -> Addressed | None:
        """Return the letter."""
        return self._compose(mail, settings, now)


class Outbox(Queue):
    """Keeps emails and sends them.

    Example:
        def can_send(outbox: Outbox | None) -> bool:
            return outbox is not None
    """

    name = "mail"
    content = "emails"

    def __init__(
        self,
        settings: Settings,
        transport: Transport,
        composers: Mapping[str, Composer],
        *,
        clock: Callable[[], float] = time.time,
    ) -> None:
        super().__init__()
        self._settings = settings
        self._letters = Letters(settings)
        self._transport = transport
        self._composers = composers  # by kind
        self.now = clock  # seconds since the epoch
        self._paused_until = self._warned_at = 0.0

    def deliver(self) -> float | None:
        """Send every email that is due; return the seconds until the next one, or None.

        While the mail server accepts no email, this tries one in a minute.
        """
        pause = self._paused_until - self.now()
        if 0 < pause <= MINUTE:  # the clock can be set back
            return pause
        try:
            with sending(self._transport) as send:
                while rows := self._due():
                    for row in rows:
                        if self._claim(row):
                            self._send(row, send)
        except MailServerError as error:
            self._paused_until = self.now() + MINUTE
            logger.warning("emails are not sent, next attempt in a minute: %s", error)
            return MINUTE
        (next_due,) = _NEXT_DUE.fetchone() or (None,)
        return None if next_due is None else max(next_due - self.now(), 0)

    def keep_messages(self) -> list[EmailMessage]:
        """Send nothing from now on, for tests; return the list to which `deliver` adds messages."""
        if not isinstance(self._transport, Kept):
            self.stop()
            self._transport = Kept()
        return self._transport

    def _check_kind(self, kind: str) -> None:
        """Raise a LookupError if no feature of this site writes emails of a kind."""
        if kind not in self._composers:
            raise LookupError(f"no feature has the email {kind!r} in its `composers`")

    def _wake(self, chosen: peewee.Database) -> None:
        if not isinstance(self._transport, Kept):
            super()._wake(chosen)

    def _due(self) -> list[Mail]:
        now, found = int(self.now()), list[Mail]()
        for kind in URGENT:  # a query for each uses an index, and need not sort all emails
            found += _URGENT.all(kind=kind, now=now, limit=BATCH - len(found))
        return found or _DUE.all(now=now, limit=BATCH)

    @repeated_after_conflict
    def _claim(self, row: Mail) -> bool:
        """Compare and set; return whether this process sends the email."""
        seen = {"id": row.id, "due_at": row.due_at, "attempts": row.attempts}
        with database.atomic():
            if not _CLAIM.execute(lease_ends_at=int(self.now()) + LEASE, **seen):
                return False
        row.attempts += 1
        return True

    def _send(self, row: Mail, send: Transport) -> None:
        """Send a claimed email, and delete or postpone it. A MailServerError is no attempt."""
        user_id = row.user_id
        try:
            if row.expires_at <= self.now() or row.attempts > len(RETRIES) + 1:
                raise DeliveryError("too late", is_final=True)
            addressed = self._compose(row)
            if addressed is not None:
                user_id = addressed.user_id
                message = self._letters.message(addressed)
                storage.release_connection(storage.current())  # the mail server can take long
                send(message)
        except MailServerError:
            _postpone(row, int(self.now()) + MINUTE, row.attempts - 1)
            raise
        except (Exception, SystemExit) as error:  # of a template, or of the site's `send_mail`
            if is_outage(error):
                raise  # the lease ends, and the email is tried again
            self._failed(row, user_id, error)
            return
        _delete(row)

    def _compose(self, row: Mail) -> Addressed | None:
        """Return the letter, whose secret replaces the secret of an earlier attempt.

        Return None if there is nothing to send, or if the user was deleted meanwhile.
        """
        data = json.loads(row.data)
        earlier = data.pop(_DIGEST, None)
        row.data = json.dumps(data)
        if row.kind not in self._composers:  # perhaps another version, or its command, sends it
            raise DeliveryError("no feature has it in its `composers`")
        try:
            addressed = self._composers[row.kind](row, self._settings, self.now())
        except (peewee.IntegrityError, User.DoesNotExist):
            return None
        if addressed is not None and addressed.letter.secret:
            with database.atomic():
                if earlier is not None:
                    one_time.end(earlier)
                stored = json.dumps({**data, _DIGEST: one_time.digest(addressed.letter.secret)})
                _KEEP_DATA.execute(id=row.id, data=stored)
        return addressed

    def _failed(self, row: Mail, user_id: int | None, error: BaseException) -> None:
        reason, is_final = type(error).__name__, False  # the text of an error can have an address
        lines = f"\n{frames_of(error)}"
        if isinstance(error, DeliveryError):
            reason, is_final, lines = str(error), error.is_final, ""
        if is_final or row.attempts > len(RETRIES):
            _delete(row)
            events.emit(kinds.MAIL_FAILED, user_id=user_id, reason=f"{row.kind}: {reason}")
            return
        wait = RETRIES[row.attempts - 1]
        _postpone(row, int(self.now()) + wait, row.attempts)
        if abs(self.now() - self._warned_at) >= MINUTE:  # a server can refuse thousands
            self._warned_at = self.now()
            composer = self._composers.get(row.kind)
            owner = f" of {composer.feature}" if isinstance(composer, FeatureComposer) else ""
            template = _missing_template(error)
            logger.warning(
                "an email was not sent, next attempt in %s: %s (%s%s)%s",
                counted(wait // MINUTE, "minute"),
                f"{reason}: {template}" if template else reason,
                row.kind,
                owner,
                lines,
            )


def _missing_template(error: BaseException) -> str:
    """Return the name of the template that there is not, or an empty string."""
    from jinja2 import TemplateNotFound  # here: few processes send emails

    return str(error.name) if isinstance(error, TemplateNotFound) else ""


def enqueue(
    outbox: Outbox | None,
    kind: str,
    *,
    name: str = "",
    user: User | None = None,
    data: Mapping[str, object],
    language: str = "",
) -> None:
    """Insert an email to send after this transaction; without an outbox, another process does.

    Raises:
        LookupError: No feature has a composer for this kind.

    Example:
        with database.atomic():
            enqueue(site.outbox, "badges", user=user, data={"name": "early"})
    """
    if outbox is not None:
        outbox._check_kind(kind)
    now = int(time.time() if outbox is None else outbox.now())
    insert_row(
        Mail,
        id=secrets.token_hex(16),
        kind=kind,
        name=name[:EMAIL_MAX_LENGTH],
        user=None if user is None else user.id,
        data=json.dumps(data),
        language=language,
        due_at=now,
        attempts=0,
        expires_at=now + LIFETIME,
    )
    if outbox is not None:
        outbox.wake_after_commit()


def ask_for(
    outbox: Outbox,
    kind: str,
    *,
    name: str = "",
    user: User | None = None,
    data: Mapping[str, object],
) -> None:
    """Insert an email in the language that the client asks for; see `enqueue`.

    Example:
        ask_for(require_part(site.outbox), "badges", user=user, data={"name": "early"})
    """
    environ = context.current_request()[1]
    site: Any = None if environ is None else environ["wsgiauth.site"]
    language = site.pages.readers.name_asked_for(environ) if site else ""
    enqueue(outbox, kind, name=name, user=user, data=data, language=language)


def overdue(now: float) -> int:
    """Return how many emails should have been sent a while ago."""
    return int(Mail.select().where(Mail.due_at <= int(now) - OVERDUE).count())


@repeated_after_conflict
def _postpone(row: Mail, due_at: int, attempts: int) -> None:
    with database.atomic():
        _POSTPONE.execute(id=row.id, attempts=row.attempts, due_at=due_at, counted=attempts)


@repeated_after_conflict
def _delete(row: Mail) -> None:
    with database.atomic():
        _DELETE.execute(id=row.id)
