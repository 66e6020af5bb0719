"""The tables of the OpenID provider. Times are in seconds since the epoch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import peewee

from wsgiauth.accounts.models import User
from wsgiauth.accounts.tables import METHODS_MAX_LENGTH, Session
from wsgiauth.storage.models import Model

CLIENT_NAME_MAX_LENGTH = 100  # characters
RESOURCE_MAX_LENGTH = 255  # characters
DOCUMENT_URL_MAX_LENGTH = 500  # characters
ORIGIN_MAX_LENGTH = 255  # characters
REQUEST, DOCUMENT = "request", "document"  # how an app registers itself: see `Client`


class Client(Model):
    """An app with which users log in: a client of OAuth 2.1.

    Attributes:
        id: The `client_id`; of an app with a document, see `document_url`, a digest of the URL.
        name: For people.
        name_key: The name as it is compared (`names.key`), for lists and searches.
        digest: The SHA-256 digest of its secret, in hexadecimal digits; "" for a public client.
        former_digest: The same of its former secret, which is valid, too; "" without one.
        redirect_uris: Separated by line feeds; "" for a service.
        logout_uri: Where logout tokens are sent (OpenID Connect Back-Channel Logout 1.0); "":
            nowhere.
        logout_redirects: Where a logout that it began can lead, separated by line feeds.
        scopes: What it can ask for, separated by spaces.
        group_id: The only group whose members it lets in; None: everyone. No foreign key: a client
            whose group was deleted lets no user in.
        is_public: Whether it has no secret, as an app on a phone or in a browser.
        is_service: Whether it is a program that logs in as itself, without a user.
        is_trusted: Whether users are not asked for their consent.
        algorithm: What signs its ID tokens; "": the key that signs all other tokens.
        expires_at: When a client that has registered itself ends without further use; None: an
            operator has created it.
        document_url: The `client_id` of an app that registered itself by its document; None: it has
            none.
        launch_url: Where users open the app; None: no page links it.
        is_without_pkce: Whether it can send requests without PKCE; None: it cannot.
        audiences: The services whose tokens it can ask about, separated by line feeds; None: none.
        last_used_at: When it got tokens for the first time on the last day on which it got some;
            None: it never did, or a version without this column recorded nothing.
    """

    id: peewee.CharField[str] = peewee.CharField(max_length=32, primary_key=True)
    name: peewee.CharField[str] = peewee.CharField(max_length=CLIENT_NAME_MAX_LENGTH)
    name_key: peewee.CharField[str] = peewee.CharField(
        max_length=CLIENT_NAME_MAX_LENGTH, default=""
    )
    digest: peewee.CharField[str] = peewee.CharField(max_length=64, default="")
    former_digest: peewee.CharField[str] = peewee.CharField(max_length=64, default="")
    redirect_uris: peewee.TextField[str] = peewee.TextField()
    logout_uri: peewee.TextField[str] = peewee.TextField(default="")
    logout_redirects: peewee.TextField[str] = peewee.TextField(default="")
    scopes: peewee.TextField[str] = peewee.TextField()
    group_id: peewee.BigIntegerField[int | None] = peewee.BigIntegerField(null=True)
    is_public: peewee.BooleanField[bool] = peewee.BooleanField(default=False)
    is_service: peewee.BooleanField[bool] = peewee.BooleanField(default=False)
    is_trusted: peewee.BooleanField[bool] = peewee.BooleanField(default=False)
    algorithm: peewee.CharField[str] = peewee.CharField(max_length=8, default="")
    created_at: peewee.BigIntegerField[int] = peewee.BigIntegerField()
    expires_at: peewee.BigIntegerField[int | None] = peewee.BigIntegerField(null=True, index=True)
    document_url: peewee.CharField[str | None] = peewee.CharField(
        max_length=DOCUMENT_URL_MAX_LENGTH, null=True
    )
    launch_url: peewee.TextField[str | None] = peewee.TextField(null=True)
    is_without_pkce: peewee.BooleanField[bool | None] = peewee.BooleanField(null=True)
    audiences: peewee.TextField[str | None] = peewee.TextField(null=True)
    last_used_at: peewee.BigIntegerField[int | None] = peewee.BigIntegerField(null=True)

    class Meta:
        table_name = "wsgiauth_oauth_client"
        indexes = ((("name_key", "id"), False),)

    def __str__(self) -> str:
        return self.name

    @classmethod
    def of_row(cls, row: Sequence[Any]) -> Client:
        """Return the client in a row with its columns."""
        return cls(**values_of(cls, row))

    @property
    def client_id(self) -> str:
        """The `client_id` that the app and people know."""
        return self.document_url or self.id

    @property
    def registered_by(self) -> str | None:
        """How it registered itself: `REQUEST` (RFC 7591) or `DOCUMENT`; None: it did not."""
        if self.document_url is not None:
            return DOCUMENT
        return None if self.expires_at is None else REQUEST

    def has_expired(self, now: float) -> bool:
        """Return whether it has ended; its row may stay for a while."""
        return self.expires_at is not None and self.expires_at <= int(now)


class Consent(Model):
    """What a user has allowed an app.

    Attributes:
        scopes: All of them, separated by spaces; see `scopes.bound`.
        combinations: Which of them were allowed together: see `scopes.combinations_of`.
    """

    user_id: int
    user: peewee.ForeignKeyField[User] = peewee.ForeignKeyField(
        User, backref="+", on_delete="CASCADE", index=False
    )
    client_id: str
    client: peewee.ForeignKeyField[Client] = peewee.ForeignKeyField(
        Client, backref="+", on_delete="CASCADE", index=False
    )
    scopes: peewee.TextField[str] = peewee.TextField()
    combinations: peewee.TextField[str | None] = peewee.TextField(null=True)
    created_at: peewee.BigIntegerField[int] = peewee.BigIntegerField()

    class Meta:
        table_name = "wsgiauth_oauth_consent"
        primary_key = peewee.CompositeKey("user", "client")
        indexes = ((("client", "user"), False),)


class Grant(Model):
    """What an app got for one authorization code: its refresh token, and its access tokens.

    It is valid while it has the user's stamp, and while its session is valid; with `is_offline`,
    also without a session. See `grants.Grants`.

    Attributes:
        id: Random, from the code, so that only one use of the code can insert the row.
        session: None: it has ended.
        sid: The `sid` of ID tokens: the same for all grants of a session until a new password, and
            in no other one.
        stamp: The user's `security_stamp`; `ENDED` if the grant has ended.
        scopes: Separated by spaces; see `scopes.recorded`.
        resource: The service that its access tokens are for; "": this site's /auth/userinfo.
        generation: The number of the current refresh token.
        refreshed_at: When that token was issued.
        authenticated_at, methods: See `Session`: of the session when the code was used.
    """

    id: peewee.CharField[str] = peewee.CharField(max_length=22, primary_key=True)
    client_id: str
    client: peewee.ForeignKeyField[Client] = peewee.ForeignKeyField(
        Client, backref="+", on_delete="CASCADE"
    )
    user_id: int
    user: peewee.ForeignKeyField[User] = peewee.ForeignKeyField(
        User, backref="+", on_delete="CASCADE", index=False
    )
    session_id: str | None
    session: peewee.ForeignKeyField[Session | None] = peewee.ForeignKeyField(
        Session, backref="+", null=True, on_delete="SET NULL", on_update="CASCADE"
    )
    sid: peewee.CharField[str] = peewee.CharField(max_length=22)
    stamp: peewee.IntegerField[int] = peewee.IntegerField()
    scopes: peewee.TextField[str] = peewee.TextField()
    resource: peewee.CharField[str] = peewee.CharField(max_length=RESOURCE_MAX_LENGTH)
    is_offline: peewee.BooleanField[bool] = peewee.BooleanField()
    generation: peewee.IntegerField[int] = peewee.IntegerField(default=1)
    refreshed_at: peewee.BigIntegerField[int] = peewee.BigIntegerField()
    authenticated_at: peewee.BigIntegerField[int] = peewee.BigIntegerField()
    methods: peewee.CharField[str] = peewee.CharField(max_length=METHODS_MAX_LENGTH)
    created_at: peewee.BigIntegerField[int] = peewee.BigIntegerField()
    expires_at: peewee.BigIntegerField[int] = peewee.BigIntegerField(index=True)

    class Meta:
        table_name = "wsgiauth_oauth_grant"
        indexes = ((("user", "client"), False),)


class AppSession(Model):
    """A session of a user at an app with a `logout_uri`, to which it gets a logout token.

    Attributes:
        id: Of the first grant of the app in the session, or since it was to be logged out of it.
        user_id: No foreign key, because the logout token follows the deletion of the user, too.
        session: None: it has ended.
        sid: See `Grant`.
        due_at: When to send the logout token, or to send it again; after a claim, the end of the
            lease. None: the session goes on, or its end has not been noticed yet.
        attempts: How often a process has begun to send it.
        expires_at: When `purge` deletes the row, if no server has sent the token: see
            `app_sessions.KEPT`.
    """

    id: peewee.CharField[str] = peewee.CharField(max_length=22, primary_key=True)
    client_id: str
    client: peewee.ForeignKeyField[Client] = peewee.ForeignKeyField(
        Client, backref="+", on_delete="CASCADE", index=False
    )
    user_id: peewee.BigIntegerField[int] = peewee.BigIntegerField(index=True)
    session_id: str | None
    session: peewee.ForeignKeyField[Session | None] = peewee.ForeignKeyField(
        Session, backref="+", null=True, on_delete="SET NULL", on_update="CASCADE"
    )
    sid: peewee.CharField[str] = peewee.CharField(max_length=22)
    due_at: peewee.BigIntegerField[int | None] = peewee.BigIntegerField(null=True, index=True)
    attempts: peewee.IntegerField[int] = peewee.IntegerField(default=0)
    expires_at: peewee.BigIntegerField[int] = peewee.BigIntegerField(index=True)

    class Meta:
        table_name = "wsgiauth_oauth_session"
        indexes = ((("client", "sid"), True), (("client", "due_at"), False))


class DeviceRequest(Model):
    """A device that has asked for access, and waits for a person (RFC 8628).

    Attributes:
        id: The digest of the device code.
        user_code: What the person types, in its plain form.
        grant_id: The id of the row that the use of the device code inserts, as in `grants.Code`.
        scopes: As the client asked for them, separated by spaces.
        resource: See `Grant`.
        user_id, stamp, session_id: Of the user who has allowed the device; None: no user yet.
        is_refused: Whether a user has refused it.
        address, agent: See `Session`: of the device.
        interval: The seconds that the client has to wait between two questions.
        asked_at: When the client asked last.
    """

    id: peewee.CharField[str] = peewee.CharField(max_length=64, primary_key=True)
    user_code: peewee.CharField[str] = peewee.CharField(max_length=8, unique=True)
    client_id: str
    client: peewee.ForeignKeyField[Client] = peewee.ForeignKeyField(
        Client, backref="+", on_delete="CASCADE"
    )
    grant_id: peewee.CharField[str] = peewee.CharField(max_length=22)
    scopes: peewee.TextField[str] = peewee.TextField()
    resource: peewee.CharField[str] = peewee.CharField(max_length=RESOURCE_MAX_LENGTH)
    user_id: int | None
    user: peewee.ForeignKeyField[User | None] = peewee.ForeignKeyField(
        User, backref="+", null=True, on_delete="CASCADE"
    )
    stamp: peewee.IntegerField[int] = peewee.IntegerField(default=0)
    session_id: peewee.CharField[str] = peewee.CharField(max_length=43, default="")
    is_refused: peewee.BooleanField[bool] = peewee.BooleanField(default=False)
    address: peewee.CharField[str] = peewee.CharField(max_length=64)
    agent: peewee.CharField[str] = peewee.CharField(max_length=255)
    interval: peewee.IntegerField[int] = peewee.IntegerField()
    asked_at: peewee.BigIntegerField[int] = peewee.BigIntegerField(default=0)
    expires_at: peewee.BigIntegerField[int] = peewee.BigIntegerField(index=True)

    class Meta:
        table_name = "wsgiauth_oauth_device"


class Origin(Model):
    """An origin (RFC 6454) whose pages can use a public client.

    Attributes:
        origin: Of a redirect URI of the client.
    """

    origin: peewee.CharField[str] = peewee.CharField(max_length=ORIGIN_MAX_LENGTH)
    client_id: str
    client: peewee.ForeignKeyField[Client] = peewee.ForeignKeyField(
        Client, backref="+", on_delete="CASCADE"
    )

    class Meta:
        table_name = "wsgiauth_oauth_origin"
        primary_key = peewee.CompositeKey("origin", "client")


class Document(Model):
    """What a client ID metadata document said when it was fetched, or why it could not be used.

    Attributes:
        id: As of its client: see `Client.id`.
        content: What counts of it, as JSON; None: it could not be used.
        problem: Why it could not be used; "": it can.
        user: Whose request caused the fetch.
        fresh_until: When to fetch it again.
    """

    id: peewee.CharField[str] = peewee.CharField(max_length=32, primary_key=True)
    url: peewee.CharField[str] = peewee.CharField(max_length=DOCUMENT_URL_MAX_LENGTH)
    content: peewee.TextField[str | None] = peewee.TextField(null=True)
    problem: peewee.CharField[str] = peewee.CharField(max_length=200)
    user_id: int
    user: peewee.ForeignKeyField[User] = peewee.ForeignKeyField(
        User, backref="+", on_delete="CASCADE", index=False
    )
    fetched_at: peewee.BigIntegerField[int] = peewee.BigIntegerField()
    fresh_until: peewee.BigIntegerField[int] = peewee.BigIntegerField()
    expires_at: peewee.BigIntegerField[int] = peewee.BigIntegerField(index=True)

    class Meta:
        table_name = "wsgiauth_oauth_document"
        indexes = ((("user", "fetched_at"), False), (("fetched_at",), False))


class StoredRequest(Model):
    """An authorization request that is too long for a URL, or that a client has pushed (RFC 9126).

    Attributes:
        id: Random: the end of its `request_uri`.
        client_id: See `Client.id`; no foreign key, because an app with a document may have no row.
        query: Its parameters.
        network: Of the browser that sent it; `client:` and the client's id if it was pushed.
        is_pushed: Whether the client proved its secret.
    """

    id: peewee.CharField[str] = peewee.CharField(max_length=43, primary_key=True)
    client_id: peewee.CharField[str] = peewee.CharField(max_length=32)
    query: peewee.TextField[str] = peewee.TextField()
    network: peewee.CharField[str] = peewee.CharField(max_length=64)
    is_pushed: peewee.BooleanField[bool] = peewee.BooleanField()
    created_at: peewee.BigIntegerField[int] = peewee.BigIntegerField()
    expires_at: peewee.BigIntegerField[int] = peewee.BigIntegerField(index=True)

    class Meta:
        table_name = "wsgiauth_oauth_request"
        indexes = ((("network", "created_at"), False),)


def values_of(model: Any, row: Sequence[Any]) -> dict[str, Any]:
    """Return the values in a row with the columns of a model, for a new object."""
    fields = model._meta.sorted_fields
    return {each.name: each.python_value(value) for each, value in zip(fields, row, strict=True)}
