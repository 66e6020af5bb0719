"""GET, POST /auth/admin/groups, and the groups below it."""

from urllib.parse import quote

import pytest

from tests.conftest import insert_users
from tests.support.logins import make_stale
from tests.support.sites import SAME_ORIGIN
from wsgiauth.accounts.groups import Group
from wsgiauth.accounts.models import User
from wsgiauth.accounts.tables import Membership
from wsgiauth.features.panel import groups as groups_module
from wsgiauth.staff.administration import MANAGE_USERS

GROUPS = "/auth/admin/groups"


@pytest.fixture
def editors(site):
    """Return a group with a permission."""
    group = Group.objects.create(name="Editors")
    group.grant("reports.publish")
    return group


def names(page):
    return [link.text for link in page.html.select(".links strong, .rows a")]


def join_all(group):
    rows = [{"group": group.id, "user": user.id} for user in User.select(User.id)]
    Membership.insert_many(rows).execute()


def submit(page, text, status=303, **fields):
    """Send the first form with a button of this text."""
    form = next(each for each in page.forms.values() if text in str(each.html))
    for name, value in fields.items():
        form[name] = value
    return form.submit(headers=SAME_ORIGIN, status=status)


# The list


@pytest.mark.every_database
def test_groups_are_listed_by_name_on_pages_of_fifty(browser, program):
    for number in range(60):
        Group.objects.create(name=f"Group {number:02}")
    page = browser.get(GROUPS)
    assert (len(names(page)), names(page)[0]) == (50, "Group 00")
    last = page.click("Next page")
    assert names(last)[-1] == "Group 59"
    assert names(last.click("First page"))[0] == "Group 00"
    first = program(GROUPS).json
    second = program(first["next"]).json
    assert (len(first["groups"]), len(second["groups"]), second["next"]) == (50, 10, None)


def test_a_group_is_listed_with_the_numbers_of_its_members_and_permissions(
    browser, program, make, editors
):
    for name in ("Tim", "Tom"):
        make(name).join(editors)
    row = browser.get(GROUPS).html.select_one(".links .monogram + *")
    assert row.text == "Editors 2 members, 1 permission"
    [listed] = program(GROUPS).json["groups"]
    assert listed == {
        "id": editors.id,
        "name": "Editors",
        "member_count": 2,
        "permission_count": 1,
    }


def test_the_members_of_a_large_group_are_not_all_counted(browser, program, editors):
    insert_users(1001)
    join_all(editors)
    browser.get(GROUPS).mustcontain("more than 1,000 members")
    assert program(GROUPS).json["groups"][0]["member_count"] == 1001


@pytest.mark.promise(50)
def test_a_page_of_groups_costs_three_queries(browser, editors, queries):
    assert len(queries(lambda: browser.get(GROUPS))) == 3  # one for the session, two for the list


def test_a_list_without_groups_says_what_a_group_is_or_leads_to_the_first(browser):
    browser.get(GROUPS).mustcontain("There are no groups.", "Create")
    Group.objects.create(name="Editors")
    page = browser.get(f"{GROUPS}?after=z")
    page.mustcontain("There are no more groups.")
    first = page.click("First page")
    assert names(first) == names(browser.get(f"{GROUPS}?after=%00")) == ["Editors"]
    assert first.html.form in first.html.select_one(".links").find_all_previous("form")


@pytest.mark.promise(51)
@pytest.mark.every_database
def test_a_group_is_created(browser, heard):
    heard.clear()
    answer = submit(browser.get(GROUPS), "Create", name=" Editors ")
    group = Group.objects.find("editors")
    assert answer.headers["Location"] == f"{GROUPS}/{group.id}?done=create"
    page = answer.follow()
    assert page.html.find(role="status").text.startswith("The group has been created.")
    page.mustcontain("The group has no permissions.", "The group has no members.")
    assert [(each.name, each.reason) for each in heard] == [("group_changed", "created Editors")]


def test_a_program_creates_a_group(program):
    answer = program(GROUPS, {"name": "Editors"}, status=201)
    assert answer.json == {"id": Group.objects.find("Editors").id, "name": "Editors"}
    assert answer.headers["Location"] == f"{GROUPS}/{answer.json['id']}"


def test_a_name_that_is_taken_or_wrong_is_refused(program, browser, editors):
    for name, status in (("EDITORS", 409), ("", 422), ("-x", 422)):
        refused = program(GROUPS, {"name": name}, status=status).json
        assert [*refused["errors"]] == ["name"]
        assert "e-mail" not in refused["detail"]
        page = browser.post(GROUPS, {"name": name}, headers=SAME_ORIGIN, status=status)
        assert page.form["name"].value == name
        assert names(page) == ["Editors"]


# One group


@pytest.mark.every_database
def test_the_page_has_permissions_and_members(browser, make, editors):
    tim = make("Tim")
    tim.join(editors)
    page = browser.get(GROUPS).click("Editors")
    page.mustcontain("reports.publish", "1 member. ", "Tim<wbr>@example<wbr>.org")
    assert "Tim@example.org" in page.html.main.text
    assert page.click("Tim").request.path == f"/auth/admin/users/{tim.id}"
    assert page.click("All members").request.url.endswith(f"/auth/admin/users?group={editors.id}")


def test_of_many_members_the_newest_are_shown(browser, editors):
    insert_users(60)
    join_all(editors)
    page = browser.get(f"{GROUPS}/{editors.id}")
    assert (len(names(page)), names(page)[0]) == (50, "User59")
    page.mustcontain("61 members, the newest accounts first.")


def test_a_program_gets_the_group(program, editors):
    assert program(f"{GROUPS}/{editors.id}").json == {
        "id": editors.id,
        "name": "Editors",
        "permissions": ["reports.publish"],
        "member_count": 0,
    }


@pytest.mark.promise(47)
@pytest.mark.every_database
def test_permissions_are_granted_and_revoked(browser, make, editors):
    tim = make("Tim")
    tim.join(editors)
    page = browser.get(f"{GROUPS}/{editors.id}")
    page = submit(page, "Grant", permission=MANAGE_USERS).follow()
    assert page.html.find(role="status").text == "The permission has been granted to the group."
    assert tim.permissions == {"reports.publish", MANAGE_USERS}
    submit(page, "Revoke").follow().mustcontain("The permission has been revoked from the group.")
    assert tim.permissions == {MANAGE_USERS}


@pytest.mark.promise(51)
def test_what_changes_nothing_says_so_and_is_no_event(browser, make, editors, heard):
    make("Tim").join(editors)
    make("Tom")
    heard.clear()
    for action, fields in (
        ("grant", {"permission": "reports.publish"}),
        ("revoke", {"permission": "blog.edit"}),
        ("add", {"user": "Tim"}),
        ("remove", {"user": "Tom"}),
    ):
        url = f"{GROUPS}/{editors.id}/{action}"
        page = browser.post(url, fields, headers=SAME_ORIGIN, status=303).follow()
        assert page.html.find(role="status").text == "Nothing has changed.", action
        assert heard == [], action


@pytest.mark.parametrize("chosen", ["reports.publish", "reports.publsh anyway"])
def test_a_permission_that_nothing_asks_for_is_granted_after_a_question(browser, editors, chosen):
    writers = Group.objects.create(name="Writers")
    page = submit(
        browser.get(f"{GROUPS}/{writers.id}"), "Grant", 422, permission=" reports.publsh "
    )
    page.mustcontain(
        "Nothing in this application asks for", "Did you mean reports.publish?", no=["Error:"]
    )
    assert writers.permissions == frozenset()
    submit(page, f"Grant {chosen}").follow().mustcontain("The permission has been granted")
    assert writers.permissions == {chosen.removesuffix(" anyway")}


def test_a_permission_that_is_wrong_is_named(browser, editors):
    page = submit(browser.get(f"{GROUPS}/{editors.id}"), "Grant", 422, permission="edit")
    page.mustcontain("A permission has the form app.action", "Back to the group")
    assert page.form["permission"].value == "edit"
    submit(page, "Grant", 422, permission="nothing.like_it").mustcontain(
        "Grant nothing.like_it anyway", no=["Did you mean"]
    )


@pytest.mark.promise(47)
@pytest.mark.every_database
@pytest.mark.parametrize("typed", [" TIM ", "tim@example.org"])
def test_a_member_is_added_by_a_name(browser, make, editors, boss, heard, typed):
    tim = make("Tim")
    heard.clear()
    answer = submit(browser.get(f"{GROUPS}/{editors.id}"), "Add", user=typed)
    assert answer.headers["Location"] == f"{GROUPS}/{editors.id}?done=add"
    page = answer.follow()
    assert page.html.find(role="status").text == "The user has been added to the group."
    assert (names(page), tim.permissions) == (["Tim"], {"reports.publish"})
    assert [(each.name, each.user_id, each.reason, each.actor) for each in heard] == [
        ("rights_changed", tim.id, "joined Editors", f"user {boss.id}")
    ]


@pytest.mark.promise(47)
@pytest.mark.every_database
def test_a_member_is_removed(browser, make, editors, heard):
    tim = make("Tim")
    tim.join(editors)
    heard.clear()
    answer = submit(browser.get(f"{GROUPS}/{editors.id}"), "Remove")
    assert answer.headers["Location"] == f"{GROUPS}/{editors.id}?done=remove"
    page = answer.follow()
    assert page.html.find(role="status").text == "The user has been removed from the group."
    assert (names(page), [*tim.groups]) == ([], [])
    assert [(each.name, each.reason) for each in heard] == [("rights_changed", "left Editors")]


def test_a_program_adds_and_removes_a_member(program, make, editors):
    make("Tim")
    path = f"{GROUPS}/{editors.id}"
    for action, count in (("add", 1), ("remove", 0)):
        assert program(f"{path}/{action}", {"user": "Tim"}).json["member_count"] == count


def test_a_user_that_there_is_not_is_named_in_the_field(browser, editors):
    message = "No user matches. Check the spelling."
    for typed in ("Tom", "tom@example.org", "", "\x00"):
        url = f"{GROUPS}/{editors.id}/add"
        page = browser.post(url, {"user": typed}, headers=SAME_ORIGIN, status=422)
        assert page.html.find(id="user-error").text == message
        assert page.form["user"].value == typed


def test_a_user_who_is_deleted_meanwhile_is_not_added(program, make, editors, monkeypatch):
    tim = make("Tim")
    monkeypatch.setattr(groups_module, "find_user", lambda name: tim)
    tim.delete_instance()
    refused = program(f"{GROUPS}/{editors.id}/add", {"user": "Tim"}, status=422)
    assert [*refused.json["errors"]] == ["user"]


def test_a_group_that_is_deleted_meanwhile_is_not_found(program, make, editors, monkeypatch):
    make("Tim")
    original = groups_module.require_row

    def last_read(environ, model):
        row = original(environ, model)
        editors.delete_instance()
        return row

    monkeypatch.setattr(groups_module, "require_row", last_read)
    program(f"{GROUPS}/{editors.id}/add", {"user": "Tim"}, status=404)


@pytest.mark.promise(49)
def test_superusers_do_not_change_their_own_groups(browser, boss, make, editors):
    refused = browser.post(
        f"{GROUPS}/{editors.id}/add", {"user": "Boss"}, headers=SAME_ORIGIN, status=403
    )
    refused.mustcontain("You cannot change your own account here: ask another superuser.")
    boss.join(editors)
    browser.get(f"{GROUPS}/{editors.id}").mustcontain("Boss<wbr>@example<wbr>.org", no=["Remove"])


@pytest.mark.every_database
def test_a_group_is_deleted_after_a_question(browser, make, editors):
    make("Tim").join(editors)
    page = browser.get(f"{GROUPS}/{editors.id}").click("Delete the group")
    page.mustcontain("Editors", "No user is deleted.")
    answer = page.form.submit(headers=SAME_ORIGIN)
    assert answer.headers["Location"] == f"{GROUPS}?done=delete"
    answer.follow().mustcontain("The group has been deleted.")
    assert Group.objects.find("Editors") is None


def test_a_program_changes_and_deletes_a_group(program, editors):
    path = f"{GROUPS}/{editors.id}"
    granted = program(f"{path}/grant", {"permission": "blog.edit"}).json
    assert granted["permissions"] == ["blog.edit", "reports.publish"]
    assert program(f"{path}/delete", {}).json == {"detail": "The group has been deleted."}
    program(f"{path}/delete", {}, status=404)


def test_what_is_not_there_is_not_found(program, editors):
    for path in ("/99", "/99/grant", "/x", f"/{editors.id}/nothing"):
        program(f"{GROUPS}{path}", status=404)


# Who may


@pytest.mark.promise(49)
@pytest.mark.parametrize("kind", ["staff", "manager"])
def test_whoever_is_no_superuser_only_views(client, make, browser_of, bearer, editors, kind, heard):
    ann = make("Ann", kind)
    headers, browser = bearer(ann), browser_of(ann)
    browser.get(GROUPS).mustcontain("Only superusers can change groups.", no=["<form"])
    browser.get(f"{GROUPS}/{editors.id}").mustcontain(
        "Only superusers can change this group.", no=["<form"]
    )
    fields = {"name": "Writers", "permission": "reports.read", "user": "Ann"}
    heard.clear()
    for path in ("", *(f"/{editors.id}/{action}" for action in groups_module.GROUP_ACTIONS)):
        refused = client.post_json(GROUPS + path, fields, headers=headers, status=403)
        assert refused.json["code"] == "forbidden"
    event = ("refused", ann.id, "lacks the right to change a group")
    assert [(each.name, each.user_id, each.reason) for each in heard] == [event] * 6
    assert [(each.name, each.permissions) for each in Group.select()] == [
        ("Editors", {"reports.publish"})
    ]


@pytest.mark.promise(46)
def test_a_change_needs_a_recent_proof(program, editors):
    make_stale()
    own = f"/{editors.id}"
    for path in ("", f"{own}/grant", f"{own}/delete", "/99/grant", f"{own}/nothing"):
        refused = program(GROUPS + path, {"name": "Writers"}, status=401)
        assert refused.json["code"] == "insufficient_user_authentication", path
    program(GROUPS)


def test_a_form_about_what_is_not_there_is_not_found(program, browser, editors):
    for path in (f"{GROUPS}/99/grant", f"{GROUPS}/{editors.id}/nothing"):
        for answer in (
            browser.get(path, status=404),
            browser.post(path, {"permission": "a.b"}, headers=SAME_ORIGIN, status=404),
        ):
            answer.mustcontain("This page does not exist")
        refused = program(path, {"permission": "a.b"}, status=404)
        assert refused.json["code"] == "not_found"


def test_what_clipboards_add_is_no_part_of_the_name_of_a_user(program, make, editors):
    tim = make("Tim")
    for name in ("Tim", "tim@example.org"):
        typed = f"\u200b {name}\ufeff\u200e"
        program(f"{GROUPS}/{editors.id}/add", {"user": typed})
        assert [*tim.groups] == [editors]
        trail = program(f"/auth/admin/events?user={quote(typed)}").json
        assert [each["reason"] for each in trail["events"]][:1] == ["joined Editors"]
        tim.leave(editors)
