"""Who gets into the panel, and how."""

import dataclasses

import pytest
from webtest import TestApp

from tests.support.sites import BROWSER, SAME_ORIGIN, echo
from wsgiauth import AuthMiddleware, User
from wsgiauth.accounts.groups import Group
from wsgiauth.app import ROUTES
from wsgiauth.testing import api_key

HOSTILE = "\"'><script>alert(1)</script>"
PANEL = [path for path in ROUTES if path.startswith("/admin")]
PATHS = [path.replace("{id}", "1").replace("{action}", "grant") for path in PANEL]


def test_the_panel_begins_with_the_users(browser):
    answer = browser.get("/auth/admin", status=303)
    assert answer.headers["Location"] == "/auth/admin/users"
    browser.get("/auth/admin/", status=404)


@pytest.mark.promise(49)
@pytest.mark.parametrize("path", PATHS)
def test_an_anonymous_client_is_asked_to_log_in(client, path):
    refused = client.get(f"/auth{path}", headers=BROWSER, status=302)
    assert refused.headers["Location"].startswith("/auth/login?next=%2Fauth%2Fadmin")
    assert client.get(f"/auth{path}", status=401).json["code"] == "unauthenticated"


@pytest.mark.promise(49)
@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("kind", ["user", "manager without staff", "superuser without staff"])
def test_for_all_others_there_is_no_panel(client, make, bearer, path, kind):
    headers = bearer(make("Tim", kind))
    unknown = client.get("/auth/nowhere", headers=headers, status=404)
    assert client.get(f"/auth{path}", headers=headers, status=404).json == unknown.json
    if "POST" in ROUTES[_route(path)].handlers:
        for body in ({}, {"permission": []}):
            refused = client.post_json(f"/auth{path}", body, headers=headers, status=404)
            assert refused.json == unknown.json


def _route(path):
    return dict(zip(PATHS, PANEL, strict=True))[path]


@pytest.mark.promise(49)
@pytest.mark.parametrize("path", [*PATHS, "/admin/nowhere"])
@pytest.mark.parametrize("kind", ["user", "superuser without staff"])
def test_the_page_of_an_error_does_not_show_a_panel_to_others(make, browser_of, path, kind):
    browser = browser_of(make("Tim", kind))
    unknown = browser.get("/auth/nowhere", status=404)
    assert browser.get(f"/auth{path}", status=404).text == unknown.text
    assert browser.post(f"/auth{path}", {}, status=[404, 405, 415]).html.find("header") is None


@pytest.mark.promise(49)
def test_an_anonymous_client_sees_no_panel_around_an_error(client):
    unknown = client.get("/auth/nowhere", headers=BROWSER, status=404)
    assert client.get("/auth/admin/nowhere", headers=BROWSER, status=404).text == unknown.text


@pytest.mark.parametrize(
    ("path", "status", "section", "way_back"),
    [
        ("users/999", 404, "Users", ("Back to the users", "users")),
        ("users/{id}/delete", 403, "Users", ("Back to the user", "users/{id}")),
        ("users/{id}/nothing", 404, "Users", ("Back to the users", "users")),
        ("users?active=perhaps", 422, "Users", ("Back to the users", "users")),
        ("invite", 403, "Users", ("Back to the users", "users")),
        ("nowhere", 404, "Users", ("Back to the users", "users")),
        ("groups/999", 404, "Groups", ("Back to the groups", "groups")),
        ("groups/{id}/delete", 403, "Groups", ("Back to the group", "groups/{id}")),
        ("events?since=then", 422, "Audit trail", ("Back to the audit trail", "events")),
    ],
)
def test_the_staff_see_an_error_in_the_panel_with_the_way_back(
    make, browser_of, path, status, section, way_back
):
    tim, editors = make("Tim"), Group.objects.create(name="Editors")
    number = editors.id if "groups" in path else tim.id
    browser = browser_of(make("Ann", "staff"))
    html = browser.get(f"/auth/admin/{path.format(id=number)}", status=status).html
    assert [each.text for each in html.header.nav.find_all("a")] == [
        "Users",
        "Groups",
        "Audit trail",
    ]
    assert html.header.find(attrs={"aria-current": True}).text == section
    text, url = way_back
    link = html.main.find("a", string=text)
    assert link["href"] == f"/auth/admin/{url.format(id=number)}"
    other = ["Use another account"] if status == 403 else []
    assert [each.text for each in html.main.find_all("a")] == [text, *other]


def test_off_an_error_page_shows_no_panel(settings, browser_of, boss):
    page = browser_of(boss)
    page.app = AuthMiddleware(echo, dataclasses.replace(settings, ADMIN_PANEL=False))
    assert page.get("/auth/admin/users", status=404).html.find("header") is None


@pytest.mark.parametrize("path", PATHS)
def test_off_there_is_no_panel(settings, make, boss, path):
    off = TestApp(AuthMiddleware(echo, dataclasses.replace(settings, ADMIN_PANEL=False)))
    off.get(f"/auth{path}", status=404)
    off.post_json(f"/auth{path}", {}, status=404)
    assert not {*off.get("/auth/openapi.json").json["paths"]} & {*PANEL}


@pytest.mark.parametrize(
    ("kind", "is_linked"), [("staff", True), ("superuser without staff", False)]
)
def test_the_page_of_the_account_links_to_it_for_staff(make, browser_of, kind, is_linked):
    page = browser_of(make("Tim", kind)).get("/auth/account")
    assert bool(page.html.find("h2", string="Administration")) == is_linked


def test_off_no_page_links_to_it(settings, browser_of, boss, site):
    page = browser_of(boss)
    page.app = AuthMiddleware(echo, dataclasses.replace(settings, ADMIN_PANEL=False))
    page.get("/auth/account").mustcontain(no="Administration")


@pytest.mark.promise(58)
def test_another_site_changes_nothing(browser, make, heard):
    tim = make("Tim")
    headers = {**BROWSER, "Sec-Fetch-Site": "cross-site"}
    path = f"/auth/admin/users/{tim.id}/deactivate"
    heard.clear()
    fields = {"permission": "a.b"}
    browser.post(path, fields, headers=headers, status=403).mustcontain("another site")
    browser.post_json(path, {}, headers=headers, status=302)
    assert [(each.name, each.reason) for each in heard] == [("refused", "cross-origin")]
    assert type(tim).get_by_id(tim.id).is_active


@pytest.mark.promise(57)
@pytest.mark.parametrize("path", PATHS)
def test_an_api_key_does_not_open_the_panel(site, client, boss, path):
    headers = api_key(site, boss, ["reports.read"])
    refused = client.get(f"/auth{path}", headers=headers, status=403)
    assert refused.json["code"] == "insufficient_scope"


@pytest.mark.promise(58)
def test_a_long_body_is_refused(browser, make):
    fields = {"permission": "x" * (16 * 1024)}
    path = f"/auth/admin/users/{make('Tim').id}/grant"
    browser.post(path, fields, headers=SAME_ORIGIN, status=413)


@pytest.mark.promise(58)
@pytest.mark.parametrize(
    "path", ["users?q=%22", "users/{id}", "users/{id}/grant", "groups", "groups/{group}"]
)
def test_names_are_escaped(browser, make, path):
    tim = make("Tim")
    User.update(username=HOSTILE, username_key=HOSTILE, email=HOSTILE).where(
        User.id == tim.id
    ).execute()
    editors = Group.objects.create(name="Editors")
    tim.join(editors)
    Group.update(name=HOSTILE).execute()
    page = browser.get(f"/auth/admin/{path.format(id=tim.id, group=editors.id)}")
    page.mustcontain("&lt;script", no="<script>alert")
    assert "default-src 'none'" in page.headers["Content-Security-Policy"]
