"""A column for the key of each authenticator app; it has a default for older processes."""


def up(migrator, db):
    column = "ADD COLUMN key_id VARCHAR(16) NOT NULL DEFAULT ''"
    db.execute_sql(f"ALTER TABLE wsgiauth_totp {column}")
