"""A drive through the staff panel, the functions for applications, emails and upkeep."""

import time
from unittest.mock import patch

from webtest import TestApp

from tests.endpoints.panel_requests import panel_requests
from tests.load.panel import PAGES, url_of
from tests.support.driving import moved_clock, post, send
from tests.support.mails import Clock, Post
from tests.support.sites import BROWSER, PASSWORD
from wsgiauth import Group, User, end_sessions, hash_password, update_user
from wsgiauth.authentication import one_time, sessions
from wsgiauth.features.audit import trail
from wsgiauth.features.panel.groups import GROUP_ACTIONS
from wsgiauth.features.panel.user_actions import ACTIONS
from wsgiauth.features.registry import COMPOSERS
from wsgiauth.mail import outbox
from wsgiauth.mail.transports import DeliveryError, MailServerError
from wsgiauth.testing import app_client, bearer, make_user
from wsgiauth.throttling.counts import Mark

HOUR, DAY = 3600, 86_400


def panel(site, _):
    """Every page and every action of the staff panel."""
    for request in panel_requests(site):
        send(site, *request)
    boss, tim = User.get(User.username == "boss"), make_user(site, "tom")
    login = bearer(site, boss)
    group = Group.objects.create(name="Desk")
    tim.join(group)
    make_user(site, "second", is_superuser=True)
    for action in ACTIONS:
        for body in ({}, {"permission": "a.b"}, {"group": group.id}, {"user": "tim"}):
            send(site, "GET", f"/admin/users/{tim.id}/{action}", login)
            post(site, f"/admin/users/{tim.id}/{action}", body, login)
    tim = make_user(site, "tam")
    for action in GROUP_ACTIONS:
        for body in ({"permission": "a.b"}, {"user": "tam"}, {"name": "Office"}, {}):
            post(site, f"/admin/groups/{group.id}/{action}", body, login)
    group = Group.objects.create(name="Old")
    client = TestApp(site)
    with patch("wsgiauth.features.panel.user_search.COUNTED", 0):  # as if many users matched
        for page in PAGES.values():
            query = url_of(page.replace("group=1", f"group={group.id}"), 10)
            client.get(query, headers=login | BROWSER)
    for page in PAGES.values():
        client.get(url_of(page, 10), headers=login | BROWSER)
    client.get("/auth/admin/users.csv?q=a", headers=login)
    client.get("/auth/admin/groups?after=A", headers=login)
    client.get("/auth/admin/apps?after=1.a", headers=login)
    client.get("/auth/admin/apps?q=wiki", headers=login)
    app = app_client(site)
    app.log_in(make_user(site, "lise"))
    helper = make_user(site, "hedy", is_staff=True, permissions=["wsgiauth.manage_users"])
    client.get(f"/auth/admin/apps/{app.client_id}", headers=bearer(site, helper) | BROWSER)
    given = {"user": "1", "actor": "user 1", "name": "login", "since": "2020-01-01"}
    given |= {"until": "2040-01-01", "before": "2000000000-1"}
    for number in range(2 ** len(given)):
        some = {name: given[name] for bit, name in enumerate(given) if number >> bit & 1}
        client.get("/auth/admin/events", some, headers=login)
    client.get("/auth/admin/events?actor=command+line+root", headers=login)


def library(site, _):
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
    boss.delete_instance()


def mails(site, _):
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
    follower = trail.Follower()
    follower.poll()
    for filters in (trail.ALL, trail.Filters(name="login")):
        for last in (None, 5):
            with patch("wsgiauth.features.audit.trail.PAGE", 3):
                list(trail.stream(filters, last=last))
    with moved_clock(site, 40 * DAY):
        post(site, "/login", {"username": "countess", "password": PASSWORD})
    sessions.revoke_every_session()
