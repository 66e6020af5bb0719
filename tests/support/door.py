"""The feature that the examples of `wsgiauth.extend` are about: users have badges.

An example runs below this module, as the code of an endpoint: it has `environ`, `site`, `settings`,
the `user` who sent the request, `ada`, and a `submission`.
"""

from __future__ import annotations

# ruff: noqa: F401, F403, F405 - what the examples use, and the door as a feature may import it
import json
import logging
import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from wsgiref.types import WSGIEnvironment

import peewee

from wsgiauth.extend import *
from wsgiauth.extend import _


class Badge(Model):
    """A badge of a user."""

    id: peewee.AutoField[int] = peewee.AutoField()
    user_id: int
    user: peewee.ForeignKeyField[User] = peewee.ForeignKeyField(
        User, backref="+", on_delete="CASCADE"
    )
    name: peewee.CharField[str] = peewee.CharField()
    expires_at: peewee.BigIntegerField[int] = peewee.BigIntegerField(default=2**40, index=True)

    class Meta:
        table_name = "badges_badge"


@dataclass(frozen=True, kw_only=True)
class BadgeSettings(FeatureSettings):
    """Its settings."""

    BADGES_COLOURS: int = whole_number(3, 1, 9, "how many colours there are")


class BadgesPage(FormPage):
    """The badges of a user."""

    template = "badges.html"


class AllBadgesPage(PanelPage):
    """All badges."""

    template = "admin/badges.html"
    names: Sequence[str] = ()
    message: str = ""


class Badges(Endpoint):
    """GET: how many badges there are."""

    def get(self, environ: WSGIEnvironment, site: Site) -> Response:
        """Answer with the number."""
        return json_response({"number": Badge.select().count()})


class BadgeLetter(Letter):
    """The email about a new badge."""

    template = "mail/badges.txt"
    name: str


def list_badges(arguments: object) -> None:
    """Print nothing."""


BADGE_GIVEN = Change("badges_given", _("Badge given"), icon="check")
NO_BADGES_LEFT = Problem("NoBadgesLeft", 409, {"no_badges_left": "All badges are given."})
TAKE = Action(name="take", button=_("Take"), question=_("It goes."), done=_("It is gone."))
