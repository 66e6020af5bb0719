"""Ten thousand mails, a bad mail server, and senders that are killed.

Run it with `make measure NAME=mail-soak`; `python -m tests.load.mail_soak NUMBER DATABASE_URL` is
for another number, or an empty database of a server. A third of what the mail server is asked for
fails: it answers 4xx, or ends the connection before or after it has accepted the message. Two
processes send; every few seconds one of them is killed and another one started. Fails if a mail is
lost: if it neither arrives nor waits.
"""

import json
import logging
import random
import sys
import tempfile
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP

from tests.conftest import insert_users
from tests.support.declared import COMPOSERS
from tests.support.mails import MAIL
from tests.support.sites import FORKSERVER, SECRET_KEY, free_port, spawned
from wsgiauth import Settings, storage
from wsgiauth.features.links.letters import request_reset
from wsgiauth.mail import outbox as outboxes
from wsgiauth.mail.outbox import Mail
from wsgiauth.mail.site_outbox import make_outbox
from wsgiauth.storage import database
from wsgiauth.storage.connections import DATABASE_ERRORS
from wsgiauth.storage.schema import migrate

NUMBER = 10_000
FAILURES = 1 / 3
ACCEPTED, LOST_AFTER = "accepted", "connection lost after acceptance"
FAILING = ("450 to RCPT", "451 to DATA", "connection lost before acceptance", LOST_AFTER)
SENDERS = 2
LIFE = (3, 10)  # seconds between two kills
# Instead of the minutes of `outbox`.
RETRIES = (1,) * 30
LEASE = 5
PATIENCE = 120  # seconds without a mail that leaves the outbox


# The mail server, in its process


class BadServer:
    """Accepts two thirds of the messages at once.

    Attributes:
        accepted: How often each address got a message.
        answers: How often it did what.
    """

    def __init__(self):
        self.accepted = Counter()
        self.answers = Counter()
        self._random = random.Random(1)  # noqa: S311 - no secret

    async def handle_RCPT(self, server, session, envelope, address, options):  # noqa: N802
        fails = self._random.random() < FAILURES
        session.answer = self._random.choice(FAILING) if fails else ACCEPTED
        self.answers[session.answer] += 1
        if session.answer == "450 to RCPT":
            return "450 come back"
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server, session, envelope):  # noqa: N802
        if session.answer == "451 to DATA":
            return "451 come back"
        if session.answer in (ACCEPTED, LOST_AFTER):
            self.accepted.update(envelope.rcpt_tos)
        if session.answer != ACCEPTED:
            server.transport.abort()
        return "250 OK"


class _Controller(Controller):
    def factory(self):
        return SMTP(self.handler, hostname="mail.example.org")


def receive(file, pipe):
    """Serve until told otherwise; then write what happened into a file."""
    logging.getLogger("mail.log").setLevel(logging.CRITICAL)  # of connections that it aborts
    handler = BadServer()
    server = _Controller(handler, hostname="127.0.0.1", port=free_port())
    server.start()
    pipe.send(server.port)
    pipe.recv()
    server.stop()
    file.write_text(json.dumps([handler.accepted, handler.answers]))


# The senders, in theirs


def send(settings):
    """Send what is due until killed, as the thread of a server does."""
    logging.getLogger("wsgiauth").setLevel(logging.ERROR)
    outboxes.RETRIES, outboxes.LEASE = RETRIES, LEASE
    storage.open_database(settings.DATABASE_URL)
    outbox = make_outbox(settings, COMPOSERS, ())
    while True:
        with suppress(*DATABASE_ERRORS):
            outbox.deliver()
        time.sleep(0.05)


def started(settings):
    """Return a new process that sends."""
    process = FORKSERVER.Process(target=send, args=(settings,), daemon=True)
    process.start()
    return process


def fill(settings, number):
    """Insert mails, each for a user of its own."""
    insert_users(number)
    outbox = make_outbox(settings, COMPOSERS, ())
    outbox.keep_messages()  # in this process, none is sent
    with database.atomic():
        for index in range(number):
            request_reset(outbox, f"user{index}", mount="/auth")


def drain(settings):
    """Let processes send and kill them until no mail waits, or none is sent any more.

    Returns the number of kills, and of the mails that wait.
    """
    senders = [started(settings) for _ in range(SENDERS)]
    kills, waiting, changed_at = 0, Mail.select().count(), time.monotonic()
    while waiting and time.monotonic() < changed_at + PATIENCE:
        time.sleep(random.uniform(*LIFE))  # noqa: S311 - no secret
        victim = random.randrange(SENDERS)  # noqa: S311
        senders[victim].kill()
        senders[victim].join()
        senders[victim] = started(settings)
        kills += 1
        before, waiting = waiting, Mail.select().count()
        if waiting != before:
            changed_at = time.monotonic()
    for each in senders:
        each.kill()
        each.join()
    return kills, waiting


def report(number, waiting, accepted, answers):
    """Print what arrived, and return how many mails are lost."""
    extra = sum(accepted.values()) - len(accepted)
    lost = number - len(accepted) - waiting
    print("The mail server:", ", ".join(f"{count} {what}" for what, count in answers.items()))
    print(f"Of {number} mails, {len(accepted)} arrived, {waiting} wait and {lost} are lost.")
    print(
        f"{extra} extra copies arrived: {answers[LOST_AFTER]} because the server ended the"
        " connection after it had accepted a message, the others because a sender was killed."
    )
    return lost


def main(number, url, folder):
    """Run, print the figures, and return whether every mail arrived."""
    storage.open_database(url, prepare=migrate)
    file = folder / "received.json"
    with spawned(receive, file) as (_, port):
        mail = {**MAIL, "MAIL_URL": f"smtp://127.0.0.1:{port}"}
        settings = Settings(SECRET_KEY=SECRET_KEY, DATABASE_URL=url, **mail)
        fill(settings, number)
        began = time.monotonic()
        kills, waiting = drain(settings)
        seconds = time.monotonic() - began
    accepted, answers = json.loads(file.read_text())
    rate = len(accepted) / seconds
    print(f"{seconds:.0f} seconds, {rate:.0f} mails a second, {kills} senders killed.")
    return not report(number, waiting, accepted, answers) and not waiting


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        number = int(sys.argv[1]) if len(sys.argv) > 1 else NUMBER
        url = sys.argv[2] if len(sys.argv) > 2 else f"sqlite:///{name}/soak.db"
        sys.exit(0 if main(number, url, Path(name)) else 1)
