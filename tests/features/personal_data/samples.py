"""What tests of all features ask of the file of a user's data, and of the tables of the kernel."""

import pytest

from tests.support.event_scene import ADDRESS, LOGIN
from tests.support.features import fill as fill_all
from tests.support.sites import USERNAME
from wsgiauth.accounts.groups import Group
from wsgiauth.accounts.models import User
from wsgiauth.accounts.tables import RESET
from wsgiauth.authentication.password import make_reset_link
from wsgiauth.figures import event_counts
from wsgiauth.mail.outbox import ask_for
from wsgiauth.storage import context
from wsgiauth.testing import logged_in, make_user

HOME = ("192.0.2.1",)


def fill(site, user):
    """Join a group, ask for a new password, fail to log in until there is a wait, and count."""
    group = Group.objects.create(name=f"group of {user.username}")
    group.grant("group.read")
    user.join(group)
    user.grant(f"{user.username.lower()}.read")
    make_reset_link(user, site.site.settings, mount="/auth", now=site.site.tokens.now())
    ask_for(site.site.outbox, RESET, name=user.email, data={"mount": "/auth"})
    for _ in range(5):
        fail(site, user.username)
    event_counts.add(user.id, "login_failed", 1)


def fail(site, name):
    """Fail to log in under a name."""
    attempt = site.site.throttle.login(name, HOME)
    attempt.begin()
    attempt.failed("wrong password")


def drive(site, provider):
    """Download the file of a user with rows in every table."""
    user = make_user(site, "phil")
    with context.using(site.database):
        fill_all(site, user)
    logged_in(site, User.get_by_id(user.id)).get("/auth/data")


def commands(folder):
    """Return the command that writes the file."""
    return ("personal-data cli",)


EVENTS = [
    pytest.param(
        lambda scene: scene.client.get("/auth/data", headers=scene.bearer()),
        [LOGIN, ("data_exported", USERNAME, ADDRESS, None)],
        id="download of own data",
    ),
]
