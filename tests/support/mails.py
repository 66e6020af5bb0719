"""Settings with mail, a clock to move, and a transport that fails when it is told to."""

from dataclasses import replace

from wsgiauth.mail.letters import plain_text_of

MAIL = {
    "MAIL_URL": "callable:",
    "MAIL_FROM": "Library <accounts@example.org>",
    "PUBLIC_URL": "https://example.org",
}


def with_mail(settings, **changes):
    """Return settings with which the application sends mails itself."""
    return replace(settings, **{**MAIL, **changes})


class Clock:
    """A clock that tests move.

    Attributes:
        now: Seconds since the epoch.
    """

    def __init__(self, now=2_000_000_000):
        self.now = now

    def __call__(self):
        return self.now

    def move(self, seconds):
        self.now += seconds


class Post:
    """A transport that keeps the messages.

    Attributes:
        messages: What was sent.
        errors: What to raise instead, in order.
    """

    def __init__(self):
        self.messages = []
        self.errors = []

    def __call__(self, message):
        if self.errors:
            raise self.errors.pop(0)
        self.messages.append(message)

    @property
    def recipients(self):
        return [each["To"] for each in self.messages]

    @property
    def links(self):
        return [
            word
            for each in self.messages
            for word in plain_text_of(each).split()
            if word.startswith("http")
        ]
