"""Requests that between them draw every answer of the staff panel."""

import json

from tests.support.contract import GARBAGE, JSON, Request, sent
from tests.support.oauth_apps import App
from tests.support.sites import SAME_ORIGIN
from wsgiauth.accounts.groups import Group
from wsgiauth.storage import context
from wsgiauth.testing import bearer, make_user

INVITATIONS = "/admin/invitations"
LISTS = (
    "/admin",
    "/admin/users",
    "/admin/users.csv",
    "/admin/groups",
    "/admin/apps",
    INVITATIONS,
    "/admin/events",
)
GROUP, GROUP_ACTION = "/admin/groups/{0}", "/admin/groups/{0}/{1}"
APP, APP_ACTION = "/admin/apps/{0}", "/admin/apps/{0}/{1}"
SEVERAL = "/admin/users/several"
USER, ACTION = "/admin/users/{0}", "/admin/users/{0}/{1}"


def answers(world):
    """Yield the requests of the panel, and of one where each person gets one email an hour."""
    yield from (Request(*each) for each in panel_requests(world.site))
    site = world.make(MAILS_PER_ACCOUNT="1")
    login, user = world.login(site, is_staff=True, is_superuser=True), world.user(site)
    for _again in range(2):
        yield sent("POST", "/admin/invite", {"email": "pat@example.org"}, login, site=site)
        yield sent("POST", ACTION.format(user.id, "reset-link"), {}, login, site=site)


def panel_requests(site):
    """Yield requests: of an anonymous client, of a user, of the staff and of a superuser."""
    with context.using(site.database):
        boss = make_user(site, "boss", is_staff=True, is_superuser=True)
        tim, una = make_user(site, "tim"), make_user(site, "una", is_active=False)
        headers = bearer(site, boss)
        viewer = bearer(site, make_user(site, "viewer", is_staff=True))
        others = ({}, GARBAGE, bearer(site, tim))
        stale = bearer(site, boss, confirmed_minutes_ago=60)
        group = Group.objects.create(name="Editors")
    wiki = App(site).id
    revoke = APP_ACTION.format(wiki, "revoke")
    grant, group_grant = ACTION.format(tim.id, "grant"), GROUP_ACTION.format(group.id, "grant")
    forms = {grant: {"permission": "a.b"}, group_grant: {"permission": "a.b"}}
    forms[revoke] = {"user": str(tim.id)}
    forms[SEVERAL] = {"action": "activate", "users": [tim.id]}
    forms["/admin/groups"] = {"name": "Writers"}
    forms["/admin/invite"] = forms[INVITATIONS] = {"email": "una@example.net"}
    pages = (USER.format(tim.id), GROUP.format(group.id), APP.format(wiki))
    for path in (*LISTS, *pages, grant, group_grant, revoke):
        for each in (*others, headers):
            yield "GET", path, each
    token = stale["Authorization"].partition(" ")[2]
    for path, fields in forms.items():
        for each in (*others, headers, viewer):
            yield "POST", path, JSON | each, json.dumps(fields)
        for each, cookies in ((stale, {}), (SAME_ORIGIN, {"wsgiauth": token})):
            if path not in ("/admin/groups", INVITATIONS):
                yield "GET", path, each, None, None, cookies
            yield "POST", path, JSON | each, "{}", None, cookies
        for body in ("{}", "{", " " * (16 * 1024 + 1)):
            yield "POST", path, JSON | headers, body
        yield "POST", path, JSON | headers, "{}", {"CONTENT_LENGTH": ""}
        yield "POST", path, {"Content-Type": "text/plain"} | headers, ""
    for path in (grant, group_grant, revoke, "/admin/invite", SEVERAL):
        yield "GET", path, viewer
    for query in ("", f"action=activate&users={tim.id}", "action=nothing&users=1"):
        for each in (*others, headers):
            yield "GET", SEVERAL, each, None, {"QUERY_STRING": query}
    for each in (*others, headers):
        yield "GET", "/admin/invite", each
    yield "POST", "/admin/invite", JSON | headers, json.dumps({"email": "una@example.org"})
    for path in (USER.format(10**17), ACTION.format(tim.id, "nothing"), GROUP.format(10**17)):
        yield "GET", path, headers
    for path, query in (*((each, "staff=maybe") for each in LISTS[1:3]), (LISTS[-1], "name=x")):
        yield "GET", path, headers, None, {"QUERY_STRING": query}
    for path in ("/admin/groups", "/admin/apps", APP.format(wiki)):
        yield "GET", path, headers, None, {"QUERY_STRING": "after=%ff"}
    yield "GET", APP.format("none"), headers
    yield "POST", APP_ACTION.format(wiki, "nothing"), JSON | headers, "{}"
    yield "POST", APP_ACTION.format(wiki, "delete"), JSON | headers, "{}"
    yield "POST", GROUP_ACTION.format(group.id, "nothing"), JSON | headers, "{}"
    yield "POST", ACTION.format(una.id, "reset-link"), JSON | headers, "{}"
    yield "POST", ACTION.format(tim.id, "end-key"), JSON | headers, '{"key": "ended"}'
