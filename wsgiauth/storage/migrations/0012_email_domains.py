"""An index of the domains of email addresses, for searches by the staff and by operators.

The databases compute the values, so older processes need not know of it.
"""

import peewee

_INDEX = "wsgiauth_user_email_domain"


def up(migrator, db):
    if isinstance(db, peewee.MySQLDatabase):  # which has no indexes of expressions
        db.execute_sql(
            "ALTER TABLE wsgiauth_user ADD COLUMN email_domain VARCHAR(254)"
            " AS (SUBSTRING_INDEX(email_key, '@', -1)) VIRTUAL,"
            f" ADD INDEX {_INDEX} (email_domain, id)"
        )
        return
    domain = "split_part(email_key, '@', 2)"
    if isinstance(db, peewee.SqliteDatabase):
        domain = "substr(email_key, instr(email_key, '@') + 1)"
    db.execute_sql(f"CREATE INDEX {_INDEX} ON wsgiauth_user (({domain}), id)")
