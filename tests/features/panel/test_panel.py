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
OF_PROVIDERS = "/admin/apps"  # tested in tests/features/oauth_server/test_admin_apps.py
PANEL = [path for path in ROUTES if path.startswith("/admin") and not path.startswith(OF_PROVIDERS)]
PATHS = [path.replace("{id}", "1").replace("{action}", "grant") for path in PANEL]


def test_the_panel_begins_with_the_overview(browser):
    assert browser.get("/auth/admin").click("Users").request.path == "/auth/admin/users"
    assert browser.get("/auth/admin/users").click("Overview").request.path == "/auth/admin"
    browser.get("/auth/admin/", status=404)


@pytest.mark.promise(49)
def test_an_anonymous_client_is_asked_to_log_in(client):
    for path in PATHS:
        refused = client.get(f"/auth{path}", headers=BROWSER, status=302)
        assert refused.headers["Location"].startswith("/auth/login?next=%2Fauth%2Fadmin"), path
        assert client.get(f"/auth{path}", status=401).json["code"] == "unauthenticated", path


@pytest.mark.promise(49)
@pytest.mark.parametrize("kind", ["user", "manager without staff", "superuser without staff"])
def test_for_all_others_there_is_no_panel(client, make, bearer, kind):
    headers = bearer(make("Tim", kind))
    unknown = client.get("/auth/nowhere", headers=headers, status=404)
    for path, route in zip(PATHS, PANEL, strict=True):
        refused = [client.get(f"/auth{path}", headers=headers, status=404)]
        if "POST" in ROUTES[route].handlers:
            refused += [
                client.post_json(f"/auth{path}", body, headers=headers, status=404)
                for body in ({}, {"permission": []})
            ]
        assert [each.json for each in refused] == [unknown.json] * len(refused), path


@pytest.mark.promise(49)
@pytest.mark.parametrize("kind", ["user", "superuser without staff"])
def test_the_page_of_an_error_does_not_show_a_panel_to_others(make, browser_of, kind):
    browser = browser_of(make("Tim", kind))
    unknown = browser.get("/auth/nowhere", status=404)
    for path in (*PATHS, "/admin/nowhere"):
        assert browser.get(f"/auth{path}", status=404).text == unknown.text, path
        browser.post(f"/auth{path}", {}, status=[404, 405, 415]).mustcontain(no="<header")


@pytest.mark.promise(49)
def test_an_anonymous_client_sees_no_panel_around_an_error(client):
    unknown = client.get("/auth/nowhere", headers=BROWSER, status=404)
    assert client.get("/auth/admin/nowhere", headers=BROWSER, status=404).text == unknown.text


def test_the_staff_see_an_error_in_the_panel_with_the_way_back(make, browser_of):
    tim, editors = make("Tim"), Group.objects.create(name="Editors")
    browser = browser_of(make("Ann", "staff"))
    user, group = f"users/{tim.id}", f"groups/{editors.id}"
    for path, status, section, text, url in (
        ("users/999", 404, "Users", "Back to the users", "users"),
        (f"{user}/delete", 403, "Users", "Back to the user", user),
        (f"{user}/nothing", 404, "Users", "Back to the users", "users"),
        ("users?active=perhaps", 422, "Users", "Back to the users", "users"),
        ("invite", 403, "Users", "Back to the users", "users"),
        ("nowhere", 404, "Users", "Back to the users", "users"),
        ("groups/999", 404, "Groups", "Back to the groups", "groups"),
        (f"{group}/delete", 403, "Groups", "Back to the group", group),
        ("events?since=then", 422, "Audit trail", "Back to the audit trail", "events"),
    ):
        html = browser.get(f"/auth/admin/{path}", status=status).html
        sections = [each.text for each in html.header.nav.find_all("a")]
        assert sections == ["Overview", "Users", "Groups", "Audit trail"], path
        assert html.header.find(attrs={"aria-current": True}).text == section, path
        back, *others = html.main.find_all("a")
        assert (back.text, back["href"]) == (text, f"/auth/admin/{url}"), path
        assert [each.text for each in others] == ["Use another account"] * (status == 403), path


def test_off_no_page_shows_it_or_links_to_it(settings, browser_of, boss):
    page = browser_of(boss)
    page.app = AuthMiddleware(echo, dataclasses.replace(settings, ADMIN_PANEL=False))
    page.get("/auth/admin/users", status=404).mustcontain(no="<header")
    page.get("/auth/account").mustcontain(no="Administration")


def test_off_there_is_no_panel(settings, make, boss):
    off = TestApp(AuthMiddleware(echo, dataclasses.replace(settings, ADMIN_PANEL=False)))
    for path in PATHS:
        off.get(f"/auth{path}", status=404)
        off.post_json(f"/auth{path}", {}, status=404)
    assert not {*off.get("/auth/openapi.json").json["paths"]} & {*PANEL}


def test_the_page_of_the_account_links_to_it_for_staff(make, browser_of):
    browser_of(make("Ann", "staff")).get("/auth/account").mustcontain(">Administration</h2>")
    other = browser_of(make("Tim", "superuser without staff"))
    other.get("/auth/account").mustcontain(no="Administration")


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
def test_an_api_key_does_not_open_the_panel(site, client, boss):
    headers = api_key(site, boss, ["reports.read"])
    for path in PATHS:
        refused = client.get(f"/auth{path}", headers=headers, status=403)
        assert refused.json["code"] == "insufficient_scope", path


@pytest.mark.promise(58)
def test_a_long_body_is_refused(browser, make):
    fields = {"permission": "x" * (16 * 1024)}
    path = f"/auth/admin/users/{make('Tim').id}/grant"
    browser.post(path, fields, headers=SAME_ORIGIN, status=413)


@pytest.mark.promise(58)
def test_names_are_escaped(browser, make):
    tim = make("Tim")
    User.update(username=HOSTILE, username_key=HOSTILE, email=HOSTILE).where(
        User.id == tim.id
    ).execute()
    editors = Group.objects.create(name="Editors")
    tim.join(editors)
    Group.update(name=HOSTILE).execute()
    user, group = f"users/{tim.id}", f"groups/{editors.id}"
    for path in ("users?q=%22", user, f"{user}/grant", "groups", group):
        page = browser.get(f"/auth/admin/{path}")
        page.mustcontain("&lt;script", no="<script>alert")
        assert "default-src 'none'" in page.headers["Content-Security-Policy"], path
