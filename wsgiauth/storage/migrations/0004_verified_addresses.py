"""When the user proved their e-mail address; for the users that exist, it is not known."""

import peewee


def up(migrator, db):
    time = "TIMESTAMP" if isinstance(db, peewee.PostgresqlDatabase) else "DATETIME"
    db.execute_sql(f"ALTER TABLE wsgiauth_user ADD COLUMN email_verified_at {time}")


def down(migrator, db):
    migrator.migrate(migrator.drop_column("wsgiauth_user", "email_verified_at"))
