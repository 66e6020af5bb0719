"""/auth/admin/apps: the staff see apps and their users, and end them."""

import re
import time

import pytest
from webtest import TestApp

from tests.support.oauth_apps import App, store_registration
from tests.support.sites import BROWSER, SAME_ORIGIN
from wsgiauth.accounts import update_user
from wsgiauth.events.models import RecordedEvent
from wsgiauth.features.oauth_server import clients
from wsgiauth.features.oauth_server.endpoints import admin_app
from wsgiauth.features.oauth_server.endpoints.admin_app import UserApps
from wsgiauth.features.oauth_server.tables import Client
from wsgiauth.staff.administration import MANAGE_USERS
from wsgiauth.testing import bearer, logged_in, make_group, make_user

APPS = "/auth/admin/apps"
JSON = {"Accept": "application/json"}


@pytest.fixture
def boss(site):
    return make_user(site, "boss", is_staff=True, is_superuser=True)


@pytest.fixture
def panel(site, boss):
    """Return the browser of a superuser in the staff."""
    return staff_browser(site, boss)


@pytest.fixture
def program(site, boss):
    """Return a function that sends a request of the superuser as a program does."""
    headers = bearer(site, boss)

    def send(path="", fields=None, **options):
        if fields is None:
            return TestApp(site).get(f"{APPS}{path}", headers=headers, **options).json
        return TestApp(site).post_json(f"{APPS}{path}", fields, headers=headers, **options).json

    return send


def staff_browser(site, user):
    browser = logged_in(site, user)
    browser.extra_environ["HTTP_ACCEPT"] = BROWSER["Accept"]
    return browser


def show(browser, path="", **options):
    return browser.get(f"{APPS}{path}", **options)


def confirm(browser, page, **options):
    """Send the form of a page that asks first."""
    form = next(each for each in page.forms.values() if each.action.startswith(APPS))
    return form.submit(headers=SAME_ORIGIN, **options)


def titles(page):
    return [each.text for each in page.html.select("main tbody th a")]


def changes():
    query = RecordedEvent.select().order_by(RecordedEvent.id.desc())
    return [(each.name, each.user_id, each.actor, each.reason) for each in query.limit(1)]


def test_the_trail_names_the_app_of_an_event_until_it_is_removed(browser, wiki, panel, ada):
    wiki.log_in(browser)
    trail, user_page = "/auth/admin/events?name=consent_given", f"/auth/admin/users/{ada.id}"
    allowed = re.compile("App allowed *Wiki$")
    for page in (panel.get(trail), panel.get(user_page)):
        rows = [" ".join(each.text.split()) for each in page.html.select("tbody th, tbody td")]
        assert any(map(allowed.match, rows)), rows
        assert page.html.find("a", string="Wiki")["href"] == f"/auth/admin/apps/{wiki.id}"
    program = panel.get(trail, headers=JSON).json
    assert [each["reason"] for each in program["events"]] == [wiki.id]
    clients.remove(Client.get_by_id(wiki.id))
    panel.get(trail).mustcontain(wiki.id)


def test_the_apps_are_listed_for_people_and_programs(site, browser, wiki, panel, program):
    wiki.log_in(browser)
    App(site, "Blog", is_trusted=True)
    page = show(panel)
    assert titles(page) == ["Blog", "Wiki"]
    nav = [(each.text, "aria-current" in each.attrs) for each in page.html.header.nav("a")]
    assert nav[-1] == ("Apps", True)
    page.mustcontain("wiki.example.org", "with a secret", "Trusted", "1 user", no="(by itself)")
    listed = program()
    assert [(each["name"], each["user_count"]) for each in listed["apps"]] == [
        *(("Blog", 0), ("Wiki", 1))
    ]
    assert listed["next"] is None


def test_apps_are_found_by_name(site, wiki, panel):
    App(site, "Blog")
    form = show(panel).forms[0]
    form["q"] = "wIK"
    page = form.submit()
    assert titles(page) == ["Wiki"]
    assert titles(page.click("All apps")) == ["Blog", "Wiki"]
    show(panel, "?q=none").mustcontain("No app matches.")


def test_without_apps_the_page_says_so(panel):
    show(panel).mustcontain("No app is registered.")
    show(panel, "?after=1.zz").mustcontain("There are no more apps.")


def test_the_apps_that_registered_themselves_are_listed_alone(site, browser, wiki, panel, program):
    wiki.log_in(browser)
    app = store_registration({"client_name": "Editor", "redirect_uris": ["a.b:/"]}, time.time())
    form = show(panel).forms[0]
    form["registered"] = True
    page = form.submit()
    assert titles(page) == ["Editor"]
    page.mustcontain("(by request)", "client remove --self-registered --matching")
    assert titles(page.click("All apps")) == ["Editor", "Wiki"]
    [shown] = program("?registered=itself")["apps"]
    assert (shown["id"], shown["key"], shown["registered_by"]) == (app.id, app.id, "request")
    clients.remove(Client.get_by_id(app.id))
    show(panel, "?registered=itself").mustcontain("No app has registered itself.")


def test_an_app_is_shown_with_its_last_use_and_its_document(browser, wiki, panel, program):
    assert "Last used" not in show(panel, f"/{wiki.id}")
    wiki.log_in(browser)
    url = "https://wiki.example.org/app.json"
    Client.update(document_url=url, last_used_at=1_700_000_000).execute()
    show(panel, f"/{wiki.id}").mustcontain("14 November 2023", "(by document)", url)
    page = show(panel)
    page.mustcontain("14 November 2023", "(by document)")
    assert page.click("Wiki").request.path == f"{APPS}/{wiki.id}"
    shown = program(f"/{wiki.id}")
    assert (shown["id"], shown["last_used_at"]) == (url, "2023-11-14T22:13:20Z")


@pytest.mark.parametrize("after", ["?after=%ff", "?q=a&q=b", "?registered=all"])
def test_a_query_that_cannot_be_read_is_refused(program, after):
    program(after, status=422)


def test_a_long_list_has_pages(site, panel, program):
    for number in range(51):
        App(site, f"App {number:02}")
    last = show(panel, "?q=app").click("Next page")
    assert titles(last) == ["App 50"]
    assert len(titles(last.click("First page"))) == 50
    following = program()["next"]
    assert [each["name"] for each in program(following.removeprefix(APPS))["apps"]] == ["App 50"]


def test_an_app_is_shown_with_its_users(site, browser, wiki, panel, program, ada):
    wiki.log_in(browser, scope="openid email reports.read")
    page = show(panel).click("Wiki")
    page.mustcontain("https://wiki.example.org/callback", "account number, email address")
    assert page.click("^Ada$").request.path == f"/auth/admin/users/{ada.id}"
    shown = program(f"/{wiki.id}")
    [user] = shown["users"]
    assert (user["id"], user["username"], shown["user_count"]) == (ada.id, "Ada", 1)
    assert (shown["kind"], shown["next"]) == ("confidential", None)
    assert set(user["scopes"]) == {"openid", "email"}
    show(panel, "/unknown", status=404).mustcontain("Back to the apps")


def test_the_users_of_an_app_have_pages(site, browser, wiki, panel, monkeypatch, program, grace):
    monkeypatch.setattr("wsgiauth.features.oauth_server.client_pages.PAGE", 1)
    wiki.log_in(browser)
    wiki.log_in(logged_in(site, grace))
    last = show(panel, f"/{wiki.id}").click("Next page")
    last.mustcontain("2 users", "Grace", no=">Ada<")
    last.click("First page").mustcontain(">Ada<")
    following = program(f"/{wiki.id}")["next"].removeprefix(APPS)
    assert [each["username"] for each in program(following)["users"]] == ["Grace"]
    show(panel, f"/{wiki.id}?after=999999").mustcontain("There are no more users.")


def test_an_app_is_shown_with_all_of_its_fields(site, panel):
    group = make_group(site, "Editors")
    made = clients.create(
        "Wiki",
        ["https://wiki.example.org/x"],
        group=group,
        is_trusted=True,
        algorithm="ES256",
        logout_uri="https://wiki.example.org/ended",
        logout_redirects=["https://wiki.example.org/bye"],
        launch_url="https://wiki.example.org/start",
        is_without_pkce=True,
        now=1,
    )
    page = show(panel, f"/{made.row.id}")
    page.mustcontain("Editors", "ES256", "/ended", "/bye", "Users are not asked")
    page.mustcontain("/start", "Also without PKCE", no="Asks about tokens")
    service = clients.create(
        "Nightly", is_service=True, scopes=["a.b"], audiences=("maps", "reports"), now=1
    )
    facts = show(panel, f"/{service.row.id}").html.select("dl.facts > div")
    asked = [each.dd.text for each in facts if each.dt.text == "Asks about tokens for"]
    assert asked == ["maps", "reports"]
    group.delete_instance()
    show(panel, f"/{made.row.id}").mustcontain("deleted")


# Revoking it for a user


@pytest.mark.promise(92)
def test_the_staff_revoke_an_app_of_a_user(site, browser, wiki, panel, boss, ada):
    tokens = wiki.log_in(browser)
    page = show(panel, f"/{wiki.id}").click("Revoke…")
    page.mustcontain("<h1>Revoke Wiki for Ada</h1>", no="Username or email address")
    answer = confirm(panel, page, status=303).follow()
    answer.mustcontain("The app can no longer use the account of Ada.", "No user has allowed")
    wiki.refresh(tokens["refresh_token"], 400)
    assert changes() == [("consent_revoked", ada.id, f"user {boss.id}", wiki.id)]


def test_a_page_names_the_user_whose_name_was_entered(browser, wiki, panel, program, ada):
    wiki.log_in(browser)
    page = show(panel, f"/{wiki.id}").click("Revoke for a user")
    form = page.forms[0]
    form["username"] = "nobody"
    form.submit().mustcontain("No user matches. Check the spelling.")
    form["username"] = f" {ada.email}"
    asked = form.submit()
    asked.mustcontain("Revoke Wiki for Ada")
    confirm(panel, asked, status=303)
    assert program(f"/{wiki.id}")["user_count"] == 0
    again = confirm(panel, asked, status=303).follow()
    again.mustcontain("Ada has not allowed this app.")


def test_a_name_that_is_the_number_of_another_user_is_a_name(site, browser, wiki, panel, program):
    wiki.log_in(browser)
    owner = program(f"/{wiki.id}")["users"][0]["id"]
    namesake = make_user(site, str(owner))
    page = show(panel, f"/{wiki.id}/revoke?username={owner}")
    assert page.html.select_one("main input[name=user]")["value"] == str(namesake.id)
    assert program(f"/{wiki.id}/revoke", {"username": str(owner)})["user_count"] == 1
    assert program(f"/{wiki.id}/revoke", {"user": str(owner)})["user_count"] == 0


def test_a_program_names_a_user_that_exists(wiki, program, ada):
    for fields in ({"user": "999999999"}, {"user": ada.username}, {"username": "x"}, {}):
        answer = program(f"/{wiki.id}/revoke", fields, status=422)
        assert [*answer["errors"]] == [*(fields or {"username": ""})], fields


def test_the_answer_to_a_program_has_the_first_page_of_users(
    site, browser, wiki, program, monkeypatch, grace, ada
):
    monkeypatch.setattr("wsgiauth.features.oauth_server.client_pages.PAGE", 1)
    for each in (browser, logged_in(site, grace), logged_in(site, make_user(site, "mary"))):
        wiki.log_in(each)
    answer = program(f"/{wiki.id}/revoke", {"user": str(ada.id)})
    assert ([each["username"] for each in answer["users"]], answer["user_count"]) == (["Grace"], 2)
    assert answer["next"] == f"{APPS}/{wiki.id}?after={grace.id}"


RIGHTS = {  # who revokes for an ordinary user, for a member of the staff, and removes
    "staff": ({"is_staff": True}, (403, 403, 403)),
    "manager": ({"is_staff": True, "permissions": [MANAGE_USERS]}, (200, 403, 403)),
    "superuser": ({"is_staff": True, "is_superuser": True}, (200, 200, 200)),
}


@pytest.mark.promise(49)
@pytest.mark.parametrize(("fields", "statuses"), RIGHTS.values(), ids=RIGHTS)
def test_each_action_needs_its_right(site, browser, wiki, boss, ada, fields, statuses):
    wiki.log_in(browser)
    member = make_user(site, "member", **fields)
    headers = bearer(site, member)
    actions = [("revoke", str(ada.id)), ("revoke", str(boss.id)), ("delete", "")]
    found = [
        TestApp(site)
        .post_json(f"{APPS}/{wiki.id}/{name}", {"user": user}, headers=headers, status="*")
        .status_int
        for name, user in actions
    ]
    assert found == [*statuses]


def test_a_member_of_the_staff_sees_the_actions_that_they_can_do(site, browser, wiki):
    wiki.log_in(browser)
    viewer = staff_browser(site, make_user(site, "viewer", is_staff=True))
    page = show(viewer, f"/{wiki.id}")
    page.mustcontain("You do not have permission to change this app.", no="Revoke")
    show(viewer, f"/{wiki.id}/delete", status=403).mustcontain("Only superusers can remove apps.")
    manager = make_user(site, "manager", is_staff=True, permissions=[MANAGE_USERS])
    show(staff_browser(site, manager), f"/{wiki.id}").mustcontain("Revoke for a user", no="Remove")


@pytest.mark.promise(49)
def test_a_right_that_was_just_taken_away_does_not_count(wiki, panel, boss, monkeypatch):
    """The superuser is demoted while the form is on its way."""
    page = show(panel, f"/{wiki.id}/delete")
    govern = admin_app.govern

    def demote(*args, **options):
        update_user(boss, is_superuser=False)
        return govern(*args, **options)

    monkeypatch.setattr(admin_app, "govern", demote)
    make_user(panel.app, "other", is_superuser=True)
    confirm(panel, page, status=403).mustcontain("Only superusers can remove apps.")
    assert clients.find(wiki.id, 0) is not None


@pytest.mark.promise(49)
def test_an_action_is_not_offered_for_a_user_with_more_rights(site, browser, wiki, boss, ada):
    for each in (browser, logged_in(site, boss)):
        wiki.log_in(each)
    fields = {"is_staff": True, "permissions": [MANAGE_USERS]}
    manager = staff_browser(site, make_user(site, "manager", **fields))
    page = show(manager, f"/{wiki.id}")
    assert [each["href"] for each in page.html.select("main li a.button")] == [
        f"{APPS}/{wiki.id}/revoke?user={ada.id}"
    ]
    for query in (f"user={boss.id}", "username=boss"):
        refused = show(manager, f"/{wiki.id}/revoke?{query}", status=403)
        refused.mustcontain("Only superusers can change members of the staff")
    make_group(site, "Editors", permissions=["pages.edit"])
    ada.join("Editors")
    assert not show(manager, f"/{wiki.id}").html.select("main li a.button")


# Removing it


@pytest.mark.promise(92)
def test_a_superuser_removes_an_app(browser, wiki, panel, boss):
    tokens = wiki.log_in(browser)
    page = show(panel, f"/{wiki.id}").click("Remove the app")
    answer = confirm(panel, page, status=303)
    assert answer.location.endswith(f"{APPS}?done=delete")
    answer.follow().mustcontain("The app has been removed.")
    assert wiki.refresh(tokens["refresh_token"], 401)["error"] == "invalid_client"
    assert changes() == [("client_removed", None, f"user {boss.id}", wiki.id)]


def test_a_program_removes_an_app_once(wiki, program):
    assert program(f"/{wiki.id}/delete", {}) == {"detail": "The app has been removed."}
    program(f"/{wiki.id}/delete", {}, status=404)


def test_an_app_that_is_removed_meanwhile_does_not_exist(wiki, program, monkeypatch):
    monkeypatch.setattr(clients, "remove", lambda client: False)
    program(f"/{wiki.id}/delete", {}, status=404)


def test_there_is_no_other_action(wiki, program):
    program(f"/{wiki.id}/nothing", {}, status=404)


def test_a_service_has_no_users(panel, program):
    service = clients.create("Nightly", is_service=True, scopes=["reports.read"], now=1).row
    show(panel).mustcontain("Nightly", no="0 users")
    page = show(panel, f"/{service.id}")
    page.mustcontain("Service</h2>", no=["Users who have allowed", "Revoke"])
    show(panel, f"/{service.id}/revoke", status=404)
    program(f"/{service.id}/revoke", {"username": "boss"}, status=404)
    asked = page.click("Remove the service")
    asked.mustcontain("The program gets no more tokens.", "Service: ", no="No user can log in")
    confirm(panel, asked, status=303)


# The page of a user


def test_the_page_of_a_user_says_that_there_may_be_more_apps(
    browser, wiki, panel, ada, monkeypatch
):
    wiki.log_in(browser)
    note, url = "Only the apps that were allowed last are listed.", f"/auth/admin/users/{ada.id}"
    assert note not in panel.get(url)
    monkeypatch.setattr(UserApps, "most", 1)
    assert note in panel.get(url)


def test_the_page_of_a_user_names_their_apps(site, browser, wiki, panel, ada):
    url = f"/auth/admin/users/{ada.id}"
    panel.get(url).mustcontain("No app uses the account.")
    assert panel.get(url, headers=JSON).json["apps"] == []
    tokens = wiki.log_in(browser)
    page = panel.get(url)
    page.mustcontain("account number, username and language, email address")
    assert page.click("^Wiki$").request.path == f"{APPS}/{wiki.id}"
    [listed] = panel.get(url, headers=JSON).json["apps"]
    assert (listed["id"], listed["name"]) == (wiki.id, "Wiki")
    viewer = staff_browser(site, make_user(site, "viewer", is_staff=True))
    viewer.get(url).mustcontain(">Wiki<", no="Revoke the app")
    confirm(panel, page.click("Revoke the app"), status=303)
    wiki.refresh(tokens["refresh_token"], 400)


# Where there is no such section


@pytest.mark.parametrize("further", [{"ADMIN_PANEL": False}, {"OAUTH_SERVER": False}], ids=str)
def test_off_there_is_no_such_page(panel):
    show(panel, status=404).mustcontain(no="admin/apps")


@pytest.mark.promise(49)
def test_for_others_there_is_no_such_page(browser, wiki):
    for path in ("", f"/{wiki.id}", f"/{wiki.id}/delete"):
        browser.get(f"{APPS}{path}", status=404)
