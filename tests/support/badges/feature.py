"""The feature `badges`: users give themselves badges. It can be copied into another folder."""

import time
from dataclasses import dataclass
from pathlib import Path

import peewee

from wsgiauth import events
from wsgiauth.accounts.models import User
from wsgiauth.accounts.personal_data import Records
from wsgiauth.events.kinds import Change
from wsgiauth.feature import Command, Feature, Finding, Question
from wsgiauth.forms import FormPage, MemberForm, see_other
from wsgiauth.mail.letters import Addressed, Letter
from wsgiauth.messages import _
from wsgiauth.settings.kinds import FeatureSettings, key, string, whole_number
from wsgiauth.storage import database
from wsgiauth.storage.models import Model
from wsgiauth.web.pages import UrlBelow
from wsgiauth.web.responses import json_response

BADGE_GIVEN = Change("badge_given", _("Badge given"))


@dataclass(frozen=True, kw_only=True)
class BadgeSettings(FeatureSettings):
    """Its settings."""

    BADGES_COLOURS: int = whole_number(3, 1, 9, "how many colours there are")
    BADGES_KEY: str | None = key("signs badges")
    BADGES_SHOP: str | None = string(None, "where badges can be bought")


class Badge(Model):
    """A badge of a user."""

    user = peewee.ForeignKeyField(User, backref="+", on_delete="CASCADE")
    expires_at = peewee.BigIntegerField(index=True)

    class Meta:
        table_name = "badges_badge"


class BadgesPage(FormPage):
    """The button."""

    template = "badges.html"
    badges_url = UrlBelow("badges")

    @property
    def script(self):
        """The file of its script."""
        return "badges.js"


class Badges(MemberForm):
    """Gives a badge."""

    def act(self, submission):
        """Give it."""
        with database.atomic():
            events.emit(BADGE_GIVEN, user_id=submission.member.user.id)
        if submission.wants_json:
            return json_response({"detail": _("You have a new badge.")})
        return see_other(submission, "badges")

    def page(self, submission, refusal):
        """Return the page."""
        return BadgesPage(message=refusal.text)


class BadgeLetter(Letter):
    """The email about a badge."""

    template = "mail/badge.txt"
    badge: str


SAMPLE = BadgeLetter(badge="gold")


def compose(mail, settings, now):
    """Return the email."""
    return Addressed(SAMPLE, "ada@example.org", None, mail.language)


def own_badges(user, settings):
    """Yield the badges of a user."""
    for each in Badge.select().where(Badge.user == user):
        yield {"id": each.id}


def give(user):
    """Give a badge that has expired."""
    return Badge.create(user=user, expires_at=int(time.time()) - 60)


def ask(site):
    """Yield how many colours there are."""
    number = BadgeSettings.of(site.settings).BADGES_COLOURS
    yield Finding(f"There are {number} colours of badges.", is_risk=False)


FEATURE = Feature(
    name="badges",
    settings=BadgeSettings,
    folder=Path(__file__).parent,
    urls={"/badges": Badges()},
    permissions=lambda settings: ["badges.give"],
    pages=lambda: [BadgesPage()],
    events=(BADGE_GIVEN,),
    composers=lambda factors: {"badge": compose},
    letter_samples=(SAMPLE,),
    personal_data={"badges_badge": Records("badges", own_badges)},
    expiring={"badge": Badge},
    commands={"badges": Command(f"{__package__}.commands", "count the colours of badges")},
    questions=(Question(ask, needs_database=False),),
)
