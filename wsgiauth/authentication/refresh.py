"""Refresh tokens: each is used once, for a new access token and the next refresh token.

A token is a number with a signature; the session's row has the number of the current token, its
`generation`. A token that is used twice was copied (RFC 9700 section 4.14.2).
"""

import json
import re
import secrets
from typing import Any

from wsgiauth.accounts.models import IS_VALID_SESSION, User
from wsgiauth.accounts.tables import Session
from wsgiauth.authentication.lifetimes import CLOCK_SKEW
from wsgiauth.authentication.sessions import end_copied
from wsgiauth.authentication.tokens import IssuedTokens, Tokens
from wsgiauth.settings import Settings
from wsgiauth.signed_values import KeyedDigests, Purpose, encoded
from wsgiauth.storage import database
from wsgiauth.storage.conflicts import repeated_after_conflict
from wsgiauth.storage.statements import ModelStatement, Statement, given, is_given

GRACE = 30  # seconds in which the previous token gets the current pair again
MAX_LENGTH = 200  # characters

_PURPOSE = Purpose("refresh tokens")

# The id, the number and the signature. No dot, so it is never taken for a JWT, nor a JWT for it.
_PARTS = "([A-Za-z0-9_-]{1,43})_([1-9][0-9]{0,8})_([A-Za-z0-9_-]{43})"


class NumberedTokens:
    """Issues and verifies tokens that are an id and a number, with a signature.

    They are no `SignedValues`, because clients keep them for months: the form must stay as it is.
    """

    def __init__(self, settings: Settings, purpose: Purpose, prefix: str) -> None:
        self._digests = KeyedDigests(settings, purpose)
        self._prefix, self._form = prefix, re.compile(prefix + _PARTS)

    def issue(self, row_id: str, generation: int) -> str:
        """Return the token of a row with this number."""
        signature = encoded(self._digests.current(_message(row_id, generation)))
        return f"{self._prefix}{row_id}_{generation}_{signature}"

    def verify(self, token: str) -> tuple[str, int] | None:
        """Return the id and the number in a signed token, or None."""
        match = self._form.fullmatch(token[: MAX_LENGTH + 1])
        if match is None:
            return None
        row_id, generation = match[1], int(match[2])
        for digest in self._digests.all(_message(row_id, generation)):
            if secrets.compare_digest(encoded(digest), match[3]):
                return row_id, generation
        return None


class RefreshTokens(NumberedTokens):
    """The refresh tokens of sessions, with keys for this `JWT_ISSUER` and `JWT_AUDIENCE`."""

    def __init__(self, settings: Settings) -> None:
        purpose, site = _PURPOSE, (settings.JWT_ISSUER, settings.JWT_AUDIENCE)
        if any(site):
            purpose = purpose._replace(name=f"{purpose.name} {json.dumps(site)}")
        super().__init__(settings, purpose, "wsgiauth-refresh_")


_NEXT = given(Session.generation, "next")  # not an increment, which MariaDB does first
_NOW = given(Session.expires_at, "now")
_IS_SAME = (
    is_given(Session.id)
    & is_given(Session.generation)
    & is_given(Session.stamp)
    & (Session.expires_at > _NOW)
)


def _replacing(**changes: object) -> Any:
    return Session.update(
        generation=_NEXT,
        unused=_NEXT,
        refreshed_at=_NOW,
        last_seen_at=_NOW,
        expires_at=given(Session.expires_at),
        **changes,
    )


_FIND = ModelStatement(
    lambda: (
        Session.select(Session, User)
        .join(User)
        .where(is_given(Session.id), Session.expires_at > _NOW, IS_VALID_SESSION)
    )
)
_REPLACE = Statement(lambda: _replacing().where(_IS_SAME))
_REISSUE = Statement(
    lambda: _replacing(reissued=_NEXT, reissued_for=given(Session.reissued_for)).where(
        _IS_SAME, Session.unused == Session.generation
    )
)


def refresh(session_id: str, generation: int, tokens: Tokens) -> IssuedTokens | None:
    """Return a new access token and the number of the current refresh token.

    The current token is replaced. The previous token gets the current pair again for `GRACE`
    seconds, because several threads of one client can refresh at once. After that, it gets another
    pair if the response with the current pair seems lost, because neither of its tokens was
    presented. It does not get the current pair, because a thief with a copy of the previous token
    could have that pair, and wait until the owner has it, too. If a token of the lost pair comes
    later, or an older token, a token was copied: the session ends.

    Return None if the session has ended, or ends now.

    Raises:
        ClaimsError: The application has no claims for the token; the refresh token stays current.
    """
    now = int(tokens.now())
    row = _find(session_id, now)
    if row is not None and _is_to_replace(row, generation, now):
        claims = tokens.claims_for(row.user)
        if _replace(row, generation, tokens):
            return tokens.issue_for(row, claims)
    now = int(tokens.now())
    row = _find(session_id, now)  # another request may have replaced the token in between
    if row is None:
        return None
    if generation == _previous(row) and (_is_recent(row, now) or row.unused == row.generation):
        return tokens.issue_for(row, tokens.claims_for(row.user))
    if row.generation > generation:
        end_copied(row.id, row.user_id)
    return None


def _find(session_id: str, now: int) -> Session | None:
    return _FIND.first(id=session_id, now=now)


def _is_to_replace(row: Session, generation: int, now: int) -> bool:
    """Return whether the token is current, or the response with the current pair seems lost."""
    if generation == row.generation:
        return True
    is_unused = row.unused == row.generation
    return generation == _previous(row) and is_unused and not _is_recent(row, now)


def _previous(row: Session) -> int:
    """Return the number of the refresh token for which the current pair was issued."""
    return row.reissued_for if row.generation == row.reissued else row.generation - 1


def _is_recent(row: Session, now: int) -> bool:
    # The host that replaced it can have a clock that is ahead, which must not prolong the grace.
    return -CLOCK_SKEW <= now - row.refreshed_at <= GRACE


@repeated_after_conflict
def _replace(row: Session, presented: int, tokens: Tokens) -> bool:
    """Compare and set the number, and move the end; also in `row`. Return whether it was set."""
    seen = {"id": row.id, "generation": row.generation, "stamp": row.stamp}
    values = {**seen, "next": row.generation + 1}
    replace = _REPLACE
    if presented != row.generation:
        replace, values["reissued_for"] = _REISSUE, presented
    with database.atomic():
        now = int(tokens.now())  # after the wait for SQLite's lock, in which the session can end
        if row.idle:
            row.expires_at = min(now + row.idle, row.ends_at)
        is_replaced = bool(replace.execute(**values, now=now, expires_at=row.expires_at))
    row.generation += is_replaced
    return is_replaced


def _message(row_id: str, generation: int) -> bytes:
    return f"{row_id} {generation}".encode()
