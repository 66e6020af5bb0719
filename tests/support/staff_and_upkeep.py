"""A drive through the functions for applications, emails and upkeep."""

import time

from tests.support.declared import COMPOSERS
from tests.support.driving import moved_clock, post
from tests.support.mails import Clock, Post
from tests.support.sites import PASSWORD
from wsgiauth import Group, User, end_sessions, hash_password, update_user
from wsgiauth.authentication import one_time, sessions
from wsgiauth.mail import outbox
from wsgiauth.mail.transports import DeliveryError, MailServerError
from wsgiauth.testing import make_user
from wsgiauth.throttling.counts import Mark

HOUR, DAY = 3600, 86_400


def library(site):
    """What applications call themselves."""
    user, group = make_user(site, "olga"), Group.objects.create(name="Club")
    user.grant("a.b")
    user.revoke("a.b")
    user.join(group)
    for found in (user.groups, group.members, user.sessions, User.objects.filter(is_staff=True)):
        list(found)
    User.objects.count()
    User.objects.all().first()
    user.leave(group)
    update_user(user, email="olga@example.net")
    update_user(user, is_active=False)
    sessions.revoke_all(user)
    end_sessions(user)
    one_time.issue("unused", None, now=time.time(), lifetime=60, subject="x")
    one_time.end_about("x", "unused")
    boss = make_user(site, "head", password=PASSWORD, is_superuser=True)
    update_user(boss, is_superuser=False)
    outdated = hash_password(PASSWORD, rounds=5)
    User.update(hashed_password=outdated).where(User.id == boss.id).execute()
    headers = {"Accept-Language": "de"}
    post(site, "/login", {"username": "head", "password": PASSWORD}, headers, status=200)
    post(site, "/login", {"username": "head", "password": "wrong"}, status=401)
    site.site.throttle.locked_users()
    boss.delete_instance()


def mails(site):
    """Emails that are sent, sent again, and given up."""
    clock = Clock(int(time.time()) + 60)
    for error in (None, DeliveryError("later"), MailServerError("full")):
        post(site, "/forgot", {"username": "countess"})
        transport = Post()
        transport.errors = [] if error is None else [error]
        sender = outbox.Outbox(site.site.settings, transport, COMPOSERS, clock=clock)
        sender.deliver()
        clock.move(HOUR)
        sender.deliver()
    outbox.overdue(time.time())


def upkeep(site):
    """What expires, and what a request notes in passing."""
    mark = Mark("x")
    mark.make(1, 1)
    mark.prolong(2, 3)
    mark.delete()
    with moved_clock(site, 40 * DAY):
        post(site, "/login", {"username": "countess", "password": PASSWORD})
    sessions.revoke_every_session()
