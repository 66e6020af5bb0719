"""An index by which the outbox finds the emails for which a person waits, among any number."""


def up(migrator, db):
    db.execute_sql("CREATE INDEX wsgiauth_mail_kind_due_at ON wsgiauth_mail (kind, due_at)")
