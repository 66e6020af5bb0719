"""The Peewee model of a login, and the query for a user's logins."""

import time
from datetime import datetime

import peewee

from wsgiauth import storage
from wsgiauth.accounts.models import User
from wsgiauth.authentication.methods import MAX_LENGTH
from wsgiauth.storage.models import Model, UTCDateTimeField, utc_now


class Session(Model):
    """A login. Its token is valid only while this row exists and its stamp is the user's.

    Times are in seconds since the epoch, except `created_at`.

    Attributes:
        id: Random; the token's `jti` claim (RFC 7519 section 4.1.7).
        user: The user who logged in.
        stamp: The user's `security_stamp` at the last proof.
        created_at: When the login began (UTC).
        expires_at: When it ends if it is not used.
        last_seen_at: When it was last used, as far as is known: it moves with `expires_at`.
        ends_at: When it ends whatever happens.
        idle: By how many seconds use moves `expires_at`; 0: use does not move it.
        authenticated_at: When the user last proved who they are.
        methods: By what, separated by spaces: names of RFC 8176 section 2, such as `pwd`.
        generation: The number of the current refresh token; 0: the login has none.
        refreshed_at: When that refresh token was issued.
        address: The client's address when the login began, or nothing.
        agent: The client's User-Agent then, cut and with printable ASCII only, or nothing.
    """

    id: "peewee.CharField[str]" = peewee.CharField(max_length=43, primary_key=True)
    user_id: int
    user: "peewee.ForeignKeyField[User]" = peewee.ForeignKeyField(
        User, backref="+", on_delete="CASCADE"
    )
    stamp: "peewee.IntegerField[int]" = peewee.IntegerField()
    created_at: "peewee.DateTimeField[datetime]" = UTCDateTimeField(default=utc_now)
    expires_at: "peewee.BigIntegerField[int]" = peewee.BigIntegerField(index=True)
    last_seen_at: "peewee.BigIntegerField[int]" = peewee.BigIntegerField(default=0)
    ends_at: "peewee.BigIntegerField[int]" = peewee.BigIntegerField(default=0)
    idle: "peewee.IntegerField[int]" = peewee.IntegerField(default=0)
    authenticated_at: "peewee.BigIntegerField[int]" = peewee.BigIntegerField(default=0)
    methods: "peewee.CharField[str]" = peewee.CharField(max_length=MAX_LENGTH, default="")
    generation: "peewee.IntegerField[int]" = peewee.IntegerField(default=0)
    refreshed_at: "peewee.BigIntegerField[int]" = peewee.BigIntegerField(default=0)
    address: "peewee.CharField[str]" = peewee.CharField(max_length=64, default="")
    agent: "peewee.CharField[str]" = peewee.CharField(max_length=255, default="")

    class Meta:
        table_name = "wsgiauth_session"


# A new password or a deactivation changes the user's stamp, and leaves the rows of the sessions
# that it ends to expire.
IS_VALID = User.is_active & (Session.stamp == User.security_stamp)


def live(user: User, now: float) -> "peewee.ModelSelect[Session]":
    """Return a user's valid sessions that expire after `now` (seconds since the epoch).

    The newest is first.
    """
    of_user = (
        Session.select()
        .join(User)
        .where(Session.user == user.id, Session.expires_at > int(now), IS_VALID)
    )
    return of_user.order_by(Session.created_at.desc(), Session.id)


def _sessions(user: User) -> "peewee.ModelSelect[Session]":
    return live(user, time.time()).bind(user.origin or storage.current())


User.sessions = property(_sessions)  # type: ignore[assignment]
