"""A demand for tests: its user must be in a group. Its column is a subquery with a parameter."""

from collections.abc import Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http import HTTPStatus

import peewee
import pytest

from wsgiauth.accounts.groups import Group
from wsgiauth.accounts.tables import Membership
from wsgiauth.authentication.demands import Admission, Demand
from wsgiauth.authentication.sessions import Sessions
from wsgiauth.exceptions import UnmetDemandError
from wsgiauth.feature import Feature
from wsgiauth.features import registry

GROUP = "badge"
BADGE = "badge_required"


class Badge(Demand):
    """Demands that users are in the group `badge`."""

    error = BADGE
    keyword = "badge"

    def columns(self, proof):
        """Return whether the user is in the group."""
        rows = Membership.select().join(Group).where(Group.name == GROUP)
        return (peewee.fn.EXISTS(rows.where(Membership.user == proof.user)),)

    def is_met(self, user, values):
        """Return whether the user is in the group."""
        return bool(values[0])

    def refusal(self, user, environ):
        """Return the error, which leads to a page that is not there."""
        return UnmetDemandError(
            HTTPStatus.FORBIDDEN,
            BADGE,
            "Fetch a badge, then try again.",
            page="/badge",
            reachable=["/badge", "/me"],
            members={"badge_url": f"{environ['wsgiauth.root']}/badges"},
        )

    def arrange(self, user, session, *, is_met):
        """Let the user join the group, or leave it."""
        if is_met:
            user.join(Group.objects.find(GROUP) or Group.objects.create(name=GROUP))
        else:
            for group in Group.select().where(Group.name == GROUP):
                user.leave(group)


@dataclass(frozen=True, kw_only=True)
class Case:
    """A demand, and what says so: a case of `tests/test_admission.py`.

    Attributes:
        keyword: Of `wsgiauth.testing`.
        error: `wsgiauth.error`.
        code, status: Of problem details; the code also of `restriction`.
        page: To which a browser is led.
        members: Of problem details and of tokens.
        features: Further features of the site.
        registration: Fields of new users that meet it.
        is_derived: Whether it also ends the grants of apps and service tokens.
    """

    keyword: str
    error: str
    code: str
    status: int
    page: str
    settings: Mapping = field(default_factory=dict)
    members: Mapping = field(default_factory=dict)
    features: tuple = ()
    is_derived: bool = False
    is_met_by_passkey: bool = False
    registration: Mapping = field(default_factory=dict)

    @contextmanager
    def on(self):
        """Let sites have the demand."""
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(registry, "FEATURES", (*registry.FEATURES, *self.features))
            yield


@contextmanager
def demanded(application, demand):
    """Let a site that is there already demand something."""
    of_site = vars(application.site.sessions)
    former, site = dict(of_site), application.site
    of_site.update(vars(Sessions(site.tokens, Admission((demand,)))))
    try:
        yield
    finally:
        of_site.update(former)


def demanding(*demands):
    """Return a feature that demands something of sessions."""
    return Feature(name="demanding", demands=lambda settings: demands)
