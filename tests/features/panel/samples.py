"""What tests of all features ask of the staff panel."""

from unittest.mock import patch

import pytest
from webtest import TestApp

from tests.features.panel.answers import panel_requests
from tests.load.panel import PAGES, url_of
from tests.support.driving import post, send
from tests.support.event_scene import ADDRESS, LOGIN
from tests.support.sites import BROWSER, USERNAME
from wsgiauth import Group, User
from wsgiauth.features.panel.groups import GROUP_ACTIONS
from wsgiauth.features.panel.user_actions import ACTIONS
from wsgiauth.testing import app_client, bearer, make_user


def settings(folder, provider):
    """Offer the panel."""
    return {"ADMIN_PANEL": "on"}


def pages(site, user):
    """Return the page that asks about several users."""
    return ("/auth/admin/users/several?action=deactivate&users=2",)


def drive(site, provider):
    """Open every page, and take every action of the staff panel."""
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


WHOLE_READS = {
    ("overview.py", "_new_users", "part of wsgiauth_user"): (
        "it counts the users of a week, until its time limit"
    ),
    ("user_search.py", "_ids", "wsgiauth_user"): "it reads 1,001 users at most",
    ("user_search.py", "_select", "wsgiauth_user"): (
        "a search of the list can examine all users, until its time limit"
    ),
    ("user_search.py", "_select", "part of wsgiauth_user"): "the same",
}


def path_values(site, user):
    """Return a user, and an action of users, groups and apps."""
    return {"id": user.id, "action": "revoke"}


def download_users(scene):
    scene.ada.is_staff = True
    scene.ada.save()
    scene.client.get("/auth/admin/users.csv?q=ada", headers=scene.bearer())


EVENTS = [
    pytest.param(
        download_users,
        [
            ("rights_changed", USERNAME, None, "is_staff on"),
            LOGIN,
            ("users_exported", None, ADDRESS, "a search"),
        ],
        id="download of users",
    ),
]
