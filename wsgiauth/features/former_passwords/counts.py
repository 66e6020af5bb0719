"""How many users still have which hashes."""

from typing import Any

import peewee

from wsgiauth.accounts.former import HASH_START
from wsgiauth.accounts.models import User
from wsgiauth.accounts.tables import FormerPassword
from wsgiauth.storage.models import NO_PASSWORD

BCRYPT, NONE = "bcrypt", "none"


def count_hashes() -> dict[str, int]:
    """Return how many users have a hash of each scheme: bcrypt first, and none last."""
    former = count_former()
    without = User.select().where(User.hashed_password == NO_PASSWORD).count()
    plain = User.select().count() - without - sum(former.values())
    # bcrypt of something else than the password, such as an HMAC of it, has another name.
    counted = {BCRYPT: plain, **former, NONE: without}
    return {scheme: users for scheme, users in counted.items() if users}


def count_former() -> dict[str, int]:
    """Return how many users have a former password of each scheme."""
    is_current = FormerPassword.hash_start == peewee.fn.SUBSTR(User.hashed_password, 1, HASH_START)
    rows: Any = FormerPassword.select(
        FormerPassword.scheme, peewee.fn.COUNT(FormerPassword.user)
    ).join(User, on=is_current & (FormerPassword.user == User.id))
    return dict(rows.group_by(FormerPassword.scheme).order_by(FormerPassword.scheme).tuples())
