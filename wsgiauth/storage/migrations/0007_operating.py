"""Waiting webhooks, counts of events, and what the staff and metrics count.

A process of the version before neither reads nor writes the tables and the columns. The models are
copies, frozen as they were when this migration was written.
"""

import peewee
from playhouse.migrate import migrate

MYSQL_TABLE = ["ENGINE=InnoDB", "DEFAULT CHARSET=utf8mb4", "COLLATE=utf8mb4_bin"]
USER = "wsgiauth_user"
COUNT, FAILURES = "wsgiauth_attempt_count", "wsgiauth_failed_logins"


def up(migrator, db):
    # MariaDB keeps columns and indexes if the process was killed before the migration was recorded.
    if "kind" not in {each.name for each in db.get_columns(COUNT)}:
        migrate(migrator.add_column(COUNT, "kind", peewee.CharField(max_length=16, null=True)))
    if ["kind", "retry_at"] not in [each.columns for each in db.get_indexes(COUNT)]:
        migrate(migrator.add_index(COUNT, ("kind", "retry_at")))
    if ["created_at", "id"] not in [each.columns for each in db.get_indexes(USER)]:
        migrate(migrator.add_index(USER, ("created_at", "id")))
    if "user_id" not in {each.name for each in db.get_columns(FAILURES)}:
        migrate(migrator.add_column(FAILURES, "user_id", peewee.BigIntegerField(null=True)))
    if ["user_id"] not in [each.columns for each in db.get_indexes(FAILURES)]:
        migrate(migrator.add_index(FAILURES, ("user_id",)))

    class Table(peewee.Model):
        class Meta:
            database = db
            legacy_table_names = False
            table_settings = MYSQL_TABLE if isinstance(db, peewee.MySQLDatabase) else None

    class Webhook(Table):
        id = peewee.CharField(max_length=40, primary_key=True)
        destination = peewee.CharField(max_length=32)
        event = peewee.CharField(max_length=32)
        body = peewee.TextField()
        created_at = peewee.BigIntegerField()
        due_at = peewee.BigIntegerField(null=True, index=True)
        attempts = peewee.IntegerField()
        failure = peewee.CharField(max_length=100)
        expires_at = peewee.BigIntegerField(index=True)

        class Meta:
            table_name = "wsgiauth_webhook"
            indexes = ((("destination", "due_at"), False),)

    class EventCount(Table):
        minute = peewee.BigIntegerField()
        name = peewee.CharField(max_length=32)
        count = peewee.BigIntegerField()

        class Meta:
            table_name = "wsgiauth_event_count"
            primary_key = peewee.CompositeKey("minute", "name")

    db.create_tables([Webhook, EventCount])
