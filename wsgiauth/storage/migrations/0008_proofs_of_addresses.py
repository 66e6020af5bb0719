"""A column for what proved an address; it has a default for older processes.

The default, unknown, counts as little as the word of a provider. So do the addresses of users who
have, or had, an account of a provider: it may have vouched for them. All others were proven here.
Only these can keep their second factors when they reset a password, so they are found now.
"""


def up(migrator, db):
    column = "ADD COLUMN email_verified_by VARCHAR(255) NOT NULL DEFAULT ''"
    db.execute_sql(f"ALTER TABLE wsgiauth_user {column}")
    db.execute_sql(
        "UPDATE wsgiauth_user SET email_verified_by = 'link' WHERE email_verified_at IS NOT NULL"
        " AND id NOT IN (SELECT user_id FROM wsgiauth_identity)"
        " AND id NOT IN (SELECT user_id FROM wsgiauth_event"
        " WHERE name = 'identity_connected' AND user_id IS NOT NULL)"
    )
