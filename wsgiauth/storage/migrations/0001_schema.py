"""All tables of version 1.0.

The models are copies, frozen as they were when this migration was written.
"""

import peewee
from playhouse.sqlite_ext import AutoIncrementField

# Databases of versions before 1.0 have these tables, if the last of their migrations is applied.
# Their rows in the table of migrations stay, so processes of those versions still start.
BEFORE_1_0 = "SELECT 1 FROM wsgiauth_migration WHERE name = '0012_email_domains'"

EMAIL_DOMAIN = "wsgiauth_user_email_domain"  # an index, for searches by the staff and by operators

# Names are compared byte by byte: their keys are already folded, and MariaDB's own idea of which
# letters are the same would let one user log in under another's name.
MYSQL_TABLE = ["ENGINE=InnoDB", "DEFAULT CHARSET=utf8mb4", "COLLATE=utf8mb4_bin"]


def up(migrator, db):
    if db.execute_sql(BEFORE_1_0).fetchone():
        return
    is_sqlite = isinstance(db, peewee.SqliteDatabase)
    # SQLite would give the number of a deleted row to the next; whoever kept it would not know.
    number = AutoIncrementField if is_sqlite else peewee.BigAutoField
    # PostgreSQL's own order of strings is that of a language, in which names that begin alike are
    # not always together.
    bytewise = '"C"' if isinstance(db, peewee.PostgresqlDatabase) else None

    def default(value):  # also for rows that another version of wsgiauth inserts
        return [peewee.SQL(f"DEFAULT {value}")]

    class Table(peewee.Model):
        class Meta:
            database = db
            legacy_table_names = False  # indexes begin with the name of the table, too
            table_settings = MYSQL_TABLE if isinstance(db, peewee.MySQLDatabase) else None

    class User(Table):
        id = number()
        username = peewee.CharField(max_length=150)
        username_key = peewee.CharField(max_length=150, unique=True, collation=bytewise)
        email = peewee.CharField(max_length=254)
        email_key = peewee.CharField(max_length=254, unique=True, collation=bytewise)
        hashed_password = peewee.CharField(max_length=60)
        security_stamp = peewee.IntegerField()
        is_active = peewee.BooleanField()
        is_staff = peewee.BooleanField()
        is_superuser = peewee.BooleanField()
        created_at = peewee.DateTimeField()
        email_verified_at = peewee.DateTimeField(null=True)
        last_login_at = peewee.DateTimeField(null=True)
        language = peewee.CharField(max_length=35, constraints=default("''"))
        locks = peewee.IntegerField(constraints=default(0))
        email_verified_by = peewee.CharField(max_length=255, constraints=default("''"))

        class Meta:
            table_name = "wsgiauth_user"
            # For the lists of the staff panel.
            indexes = (
                (("is_active", "id"), False),
                (("is_staff", "id"), False),
                (("is_superuser", "id"), False),
                (("email_verified_at", "id"), False),
                (("last_login_at", "id"), False),
            )

    class Session(Table):
        id = peewee.CharField(max_length=43, primary_key=True)
        user = peewee.ForeignKeyField(User, on_delete="CASCADE")
        stamp = peewee.IntegerField()
        created_at = peewee.DateTimeField()
        expires_at = peewee.BigIntegerField(index=True)
        last_seen_at = peewee.BigIntegerField()
        ends_at = peewee.BigIntegerField()
        idle = peewee.IntegerField()
        authenticated_at = peewee.BigIntegerField()
        methods = peewee.CharField(max_length=64)
        generation = peewee.IntegerField()
        refreshed_at = peewee.BigIntegerField()
        address = peewee.CharField(max_length=64)
        agent = peewee.CharField(max_length=255)
        unused = peewee.IntegerField(constraints=default(0))
        reissued = peewee.IntegerField(constraints=default(0))
        reissued_for = peewee.IntegerField(constraints=default(0))

        class Meta:
            table_name = "wsgiauth_session"
            without_rowid = is_sqlite  # found in one step by its id; servers have no such thing

    class Permission(Table):
        user = peewee.ForeignKeyField(User, on_delete="CASCADE")
        name = peewee.CharField(max_length=100)

        class Meta:
            table_name = "wsgiauth_permission"
            primary_key = peewee.CompositeKey("user", "name")

    class Group(Table):
        id = number()
        name = peewee.CharField(max_length=150)
        name_key = peewee.CharField(max_length=150, unique=True)

        class Meta:
            table_name = "wsgiauth_group"

    class GroupPermission(Table):
        group = peewee.ForeignKeyField(Group, on_delete="CASCADE", index=False)
        name = peewee.CharField(max_length=100)

        class Meta:
            table_name = "wsgiauth_group_permission"
            primary_key = peewee.CompositeKey("group", "name")

    # The primary key finds the members of a group by their numbers, the index the groups of a user.
    class Membership(Table):
        group = peewee.ForeignKeyField(Group, on_delete="CASCADE", index=False)
        user = peewee.ForeignKeyField(User, on_delete="CASCADE", index=False)

        class Meta:
            table_name = "wsgiauth_membership"
            primary_key = peewee.CompositeKey("group", "user")
            indexes = ((("user", "group"), False),)

    class AttemptCount(Table):
        id = peewee.CharField(max_length=64, primary_key=True)
        retry_at = peewee.BigIntegerField()
        count = peewee.IntegerField()
        expires_at = peewee.BigIntegerField(index=True)

        class Meta:
            table_name = "wsgiauth_attempt_count"

    class RecordedEvent(Table):
        id = number()
        time = peewee.BigIntegerField()
        name = peewee.CharField(max_length=32)
        user_id = peewee.BigIntegerField(null=True)
        actor = peewee.CharField(max_length=32)
        system_user = peewee.CharField(max_length=64, null=True)
        address = peewee.CharField(max_length=64, null=True)
        reason = peewee.TextField(null=True)

        class Meta:
            table_name = "wsgiauth_event"
            # Each ends with the order of the pages.
            indexes = (
                (("time", "id"), False),
                (("user_id", "time", "id"), False),
                (("actor", "time", "id"), False),
                (("name", "time", "id"), False),
            )

    class Mail(Table):
        id = peewee.CharField(max_length=32, primary_key=True)
        kind = peewee.CharField(max_length=32)
        name = peewee.CharField(max_length=254)
        user = peewee.ForeignKeyField(User, null=True, on_delete="CASCADE")
        data = peewee.TextField()
        due_at = peewee.BigIntegerField(index=True)
        attempts = peewee.IntegerField()
        expires_at = peewee.BigIntegerField()
        language = peewee.CharField(max_length=35, constraints=default("''"))

        class Meta:
            table_name = "wsgiauth_mail"
            indexes = ((("kind", "due_at"), False),)  # finds the emails for which a person waits

    class OneTimeSecret(Table):
        id = peewee.CharField(max_length=64, primary_key=True)
        purpose = peewee.CharField(max_length=32)
        user = peewee.ForeignKeyField(User, null=True, on_delete="CASCADE")
        stamp = peewee.IntegerField()
        subject = peewee.CharField(max_length=64, null=True, index=True)
        data = peewee.TextField()
        expires_at = peewee.BigIntegerField(index=True)

        class Meta:
            table_name = "wsgiauth_one_time"

    class Key(Table):
        id = peewee.CharField(max_length=12, primary_key=True)
        user = peewee.ForeignKeyField(User, on_delete="CASCADE")
        name = peewee.CharField(max_length=100)
        digest = peewee.CharField(max_length=64)
        permissions = peewee.TextField()
        created_at = peewee.BigIntegerField()
        expires_at = peewee.BigIntegerField(index=True)
        last_used_at = peewee.BigIntegerField(null=True)

        class Meta:
            table_name = "wsgiauth_key"

    class Totp(Table):
        id = peewee.CharField(max_length=32, primary_key=True)
        user = peewee.ForeignKeyField(User, on_delete="CASCADE")
        name = peewee.CharField(max_length=50)
        salt = peewee.CharField(max_length=64)
        counter = peewee.BigIntegerField()
        created_at = peewee.BigIntegerField()
        confirmed_at = peewee.BigIntegerField()
        key_id = peewee.CharField(max_length=16, constraints=default("''"))

        class Meta:
            table_name = "wsgiauth_totp"

    class Passkey(Table):
        id = peewee.CharField(max_length=64, primary_key=True)
        user = peewee.ForeignKeyField(User, on_delete="CASCADE")
        name = peewee.CharField(max_length=50)
        credential_id = peewee.TextField()
        public_key = peewee.TextField()
        sign_count = peewee.BigIntegerField()
        relying_party = peewee.CharField(max_length=253)
        user_handle = peewee.CharField(max_length=86)
        transports = peewee.CharField(max_length=64)
        is_backed_up = peewee.BooleanField()
        created_at = peewee.BigIntegerField()
        last_used_at = peewee.BigIntegerField()

        class Meta:
            table_name = "wsgiauth_passkey"

    class FailedLogins(Table):
        id = peewee.CharField(max_length=64, primary_key=True)
        lines = peewee.CharField(max_length=1000)
        expires_at = peewee.BigIntegerField(index=True)

        class Meta:
            table_name = "wsgiauth_failed_logins"

    class Identity(Table):
        id = peewee.CharField(max_length=64, primary_key=True)
        user = peewee.ForeignKeyField(User, on_delete="CASCADE")
        provider = peewee.CharField(max_length=32)
        issuer = peewee.CharField(max_length=255)
        subject = peewee.CharField(max_length=255)
        name = peewee.CharField(max_length=100)
        joined = peewee.TextField()
        created_at = peewee.BigIntegerField()
        last_used_at = peewee.BigIntegerField()

        class Meta:
            table_name = "wsgiauth_identity"

    class ProviderSession(Table):
        session = peewee.ForeignKeyField(
            Session, on_delete="CASCADE", on_update="CASCADE", index=False
        )
        identity = peewee.ForeignKeyField(Identity, on_delete="CASCADE")
        sid = peewee.CharField(max_length=64, index=True)
        is_first = peewee.BooleanField()
        authenticated_at = peewee.BigIntegerField(null=True)

        class Meta:
            table_name = "wsgiauth_provider_session"
            primary_key = peewee.CompositeKey("session", "identity", "sid")

    class FormerPassword(Table):
        user = peewee.ForeignKeyField(User, primary_key=True, on_delete="CASCADE")
        scheme = peewee.CharField(max_length=32)
        parameters = peewee.CharField(max_length=64)
        salt = peewee.CharField(max_length=255)
        hash_start = peewee.CharField(max_length=29)

        class Meta:
            table_name = "wsgiauth_former_password"

    class TrustedBrowser(Table):
        id = peewee.CharField(max_length=16, primary_key=True)
        user = peewee.ForeignKeyField(User, on_delete="CASCADE")
        digest = peewee.CharField(max_length=64, unique=True)
        stamp = peewee.IntegerField()
        factors = peewee.CharField(max_length=64)
        created_at = peewee.BigIntegerField()
        last_used_at = peewee.BigIntegerField(null=True)
        expires_at = peewee.BigIntegerField(index=True)
        address = peewee.CharField(max_length=64)
        agent = peewee.CharField(max_length=255)

        class Meta:
            table_name = "wsgiauth_trusted_browser"

    db.create_tables(Table.__subclasses__())
    if isinstance(db, peewee.MySQLDatabase):  # which has no indexes of expressions
        db.execute_sql(
            "ALTER TABLE wsgiauth_user ADD COLUMN email_domain VARCHAR(254)"
            " AS (SUBSTRING_INDEX(email_key, '@', -1)) VIRTUAL,"
            f" ADD INDEX {EMAIL_DOMAIN} (email_domain, id)"
        )
        return
    domain = "split_part(email_key, '@', 2)"
    if is_sqlite:
        domain = "substr(email_key, instr(email_key, '@') + 1)"
    db.execute_sql(f"CREATE INDEX {EMAIL_DOMAIN} ON wsgiauth_user (({domain}), id)")
