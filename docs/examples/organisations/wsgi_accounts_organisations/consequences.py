"""What follows from a change in its transaction, whoever makes it.

When a user is deleted, the foreign key of a membership becomes NULL, and `_keep_owners` deletes the
row. If no owner is left, the oldest admin becomes one, or else the oldest member; without members,
the organisation is deleted. Users that were deleted by SQL are found at the next deletion.
"""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import peewee

from wsgiauth import extend
from wsgiauth.extend import Event, Settings, Site, User, database, emit

from .changes import DELETED, LEFT, ROLE_CHANGED
from .letters import NOTICE
from .members import lock_where
from .roles import Role
from .settings import count
from .tables import Member, Organisation

_RANK = peewee.Case(Member.role, [(str(each), each.rank) for each in Role])


def make_recorder(settings: Settings, site: Site | None) -> extend.Recorder:
    """Return the function that wsgiauth calls for each event."""

    def record(event: Event, details: Mapping[str, str]) -> None:
        if event.name == "user_deleted":
            _keep_owners()
        is_by_other = event.actor != f"user {event.user_id}"
        if event.name in (LEFT.name, ROLE_CHANGED.name) and is_by_other and settings.MAIL_URL:
            with suppress(extend.RetryLaterError):
                if site is not None:  # and no command
                    count(site, "organisation notices", str(event.user_id))
                user: User = User.get_by_id(event.user_id)
                extend.enqueue(None, NOTICE, user=user, data={"reason": event.reason})

    return record


def _keep_owners() -> None:
    gone: Any = Member.select(Member.organisation).where(Member.user.is_null()).distinct()
    for (organisation_id,) in gone.order_by(Member.organisation).tuples():
        this, is_here = Organisation.id == organisation_id, Member.organisation == organisation_id
        lock_where(this)
        Member.delete().where(is_here, Member.user.is_null()).execute()
        heirs: Any = Member.select().where(is_here).order_by(_RANK.desc(), Member.id).limit(1)
        # On MariaDB, a plain SELECT could miss what was committed before the lock.
        heir = (heirs.for_update() if database.for_update else heirs).first()
        slug = Organisation.select(Organisation.slug).where(this).scalar()
        if heir is None:
            Organisation.delete().where(this).execute()
            emit(DELETED, reason=slug)
        elif heir.role != Role.OWNER:
            Member.update(role=Role.OWNER).where(Member.id == heir.id).execute()
            emit(ROLE_CHANGED, user_id=heir.user_id, reason=f"{slug} {Role.OWNER}")
