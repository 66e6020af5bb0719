"""Import the users and roles of Flask-Security."""

import os
from datetime import UTC

from importing import import_accounts
from sqlalchemy import MetaData, create_engine, select

from wsgiauth import Group

IS_SINGLE_HASH = False  # as SECURITY_PASSWORD_SINGLE_HASH was
PERMISSIONS = {"reports-publish": "reports.publish"}

engine = create_engine(os.environ["OLD_DATABASE_URL"])
metadata = MetaData()
metadata.reflect(engine)
users, roles, members = (metadata.tables[name] for name in ("user", "role", "roles_users"))


def import_groups(connection):
    for role in connection.execute(select(roles)):
        group = Group.objects.find(role.name) or Group.objects.create(name=role.name)
        names = [name for name in (role.permissions or "").split(",") if name]
        missing = [name for name in names if name not in PERMISSIONS]
        if missing:
            raise SystemExit(f"PERMISSIONS lacks {', '.join(missing)} of the role {role.name}")
        group.grant(*(PERMISSIONS[name] for name in names))


def in_utc(time):
    return time and time.replace(tzinfo=UTC)


def accounts(connection):
    for row in connection.execute(select(users)):
        of_user = select(roles.c.name).join(members).where(members.c.user_id == row.id)
        yield {
            "username": row.username,
            "email": row.email,
            "email_verified_at": in_utc(row.confirmed_at),
            "email_verified_by": row.confirmed_at and "link",
            "hashed_password": row.password,
            "is_peppered": not IS_SINGLE_HASH,
            "is_active": row.active,
            "created_at": in_utc(row.create_datetime),
            "groups": connection.scalars(of_user).all(),
        }


with engine.connect() as connection:
    import_groups(connection)
    import_accounts(accounts(connection))
