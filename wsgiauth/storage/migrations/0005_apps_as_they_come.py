"""Documents of unregistered apps, links to apps, their origins, and requests too long for a URL.

A process of the version before neither reads nor writes the columns and the tables. The models are
copies, frozen as they were when this migration was written.
"""

from ipaddress import IPv6Address
from urllib.parse import urlsplit

import peewee
from playhouse.migrate import migrate

MYSQL_TABLE = ["ENGINE=InnoDB", "DEFAULT CHARSET=utf8mb4", "COLLATE=utf8mb4_bin"]
CLIENT = "wsgiauth_oauth_client"
COLUMNS = {
    "document_url": peewee.CharField(max_length=500, null=True),
    "launch_url": peewee.TextField(null=True),
    "is_without_pkce": peewee.BooleanField(null=True),
    "audiences": peewee.TextField(null=True),
    "last_used_at": peewee.BigIntegerField(null=True),
}


def up(migrator, db):
    # MariaDB keeps columns if the process was killed before the migration was recorded.
    present = {each.name for each in db.get_columns(CLIENT)}
    for name, field in COLUMNS.items():
        if name not in present:
            migrate(migrator.add_column(CLIENT, name, field))

    class Table(peewee.Model):
        class Meta:
            database = db
            legacy_table_names = False
            table_settings = MYSQL_TABLE if isinstance(db, peewee.MySQLDatabase) else None

    class User(Table):  # only its key
        id = peewee.BigAutoField()

        class Meta:
            table_name = "wsgiauth_user"

    class Client(Table):  # only its key, and what has its origins
        id = peewee.CharField(max_length=32, primary_key=True)
        redirect_uris = peewee.TextField()
        is_public = peewee.BooleanField()

        class Meta:
            table_name = CLIENT

    class Origin(Table):
        origin = peewee.CharField(max_length=255)
        client = peewee.ForeignKeyField(Client, on_delete="CASCADE")

        class Meta:
            table_name = "wsgiauth_oauth_origin"
            primary_key = peewee.CompositeKey("origin", "client")

    class Document(Table):
        id = peewee.CharField(max_length=32, primary_key=True)
        url = peewee.CharField(max_length=500)
        content = peewee.TextField(null=True)
        problem = peewee.CharField(max_length=200)
        user = peewee.ForeignKeyField(User, on_delete="CASCADE", index=False)
        fetched_at = peewee.BigIntegerField()
        fresh_until = peewee.BigIntegerField()
        expires_at = peewee.BigIntegerField(index=True)

        class Meta:
            table_name = "wsgiauth_oauth_document"
            indexes = ((("user", "fetched_at"), False), (("fetched_at",), False))

    class StoredRequest(Table):
        id = peewee.CharField(max_length=43, primary_key=True)
        client_id = peewee.CharField(max_length=32)
        query = peewee.TextField()
        network = peewee.CharField(max_length=64)
        is_pushed = peewee.BooleanField()
        created_at = peewee.BigIntegerField()
        expires_at = peewee.BigIntegerField(index=True)

        class Meta:
            table_name = "wsgiauth_oauth_request"
            indexes = ((("network", "created_at"), False),)

    db.create_tables([Origin, Document, StoredRequest])
    for client in list(Client.select().where(Client.is_public)):
        for uri in client.redirect_uris.split("\n"):
            origin = origin_of(uri)
            if 0 < len(origin) <= 255:
                Origin.insert(origin=origin, client=client.id).on_conflict_ignore().execute()


def origin_of(uri):
    """Return the origin of a web URI as browsers write it, or "" for another one."""
    try:
        parts = urlsplit(uri)
        host, port = parts.hostname or "", parts.port
        if ":" in host:
            host = f"[{IPv6Address(host).compressed}]"
    except ValueError:
        return ""
    if parts.scheme not in ("http", "https") or not host:
        return ""
    is_default = port in (None, {"http": 80, "https": 443}[parts.scheme])
    return f"{parts.scheme}://{host}" + ("" if is_default else f":{port}")
