"""What the feature declares, its tables and its URL."""

from pathlib import Path

import peewee

from wsgiauth.accounts.models import User
from wsgiauth.accounts.personal_data import Records
from wsgiauth.feature import Feature
from wsgiauth.forms.endpoint import Endpoint, require_login
from wsgiauth.storage import database
from wsgiauth.storage.models import Model
from wsgiauth.web.responses import json_response


class Badge(Model):
    """That a user has a badge."""

    user = peewee.ForeignKeyField(User, backref="+", on_delete="CASCADE")
    name = peewee.CharField(max_length=20)
    expires_at = peewee.BigIntegerField(index=True)
    level = peewee.IntegerField(null=True, default=1)

    class Meta:
        table_name = "badges_badge"


class Reason(Model):
    """What a badge was awarded for."""

    badge = peewee.ForeignKeyField(Badge, on_delete="CASCADE")
    text = peewee.CharField(max_length=100)

    class Meta:
        table_name = "badges_reason"


def award(user, name, expires_at=4_000_000_000):
    """Give a user a badge of the second level, with a reason."""
    with database.atomic():
        badge = Badge.create(user=user.id, name=name, expires_at=expires_at, level=2)
        Reason.create(badge=badge, text="merit")


def badges_of(user, settings):
    """Return the badges of a user, ready for JSON."""
    reasons = peewee.fn.COUNT(Reason.id).alias("reasons")
    rows = Badge.select(Badge.name, Badge.level, reasons).join(Reason, peewee.JOIN.LEFT_OUTER)
    own = rows.where(Badge.user == user.id).group_by(Badge.id, Badge.name, Badge.level)
    return [*own.order_by(Badge.id).dicts()]


class Badges(Endpoint):
    """GET /auth/badges: the user's own."""

    def get(self, environ, site):
        """Answer 200."""
        user = require_login(environ, site).user
        return json_response({"badges": badges_of(user, site.settings)})


FEATURE = Feature(
    name="badges",
    folder=Path(__file__).parent,
    urls={"/badges": Badges()},
    personal_data={"badges_badge": Records("badges", badges_of)},
    expiring={"badge": Badge},
    at_restore={"badge": Badge},
)
