"""GET, POST /auth/admin/users/several: one action, several users, each with their own outcome."""

import pytest

from tests.conftest import insert_users
from tests.support.logins import insert_session, make_stale, valid_session_ids
from tests.support.page_forms import account
from tests.support.sites import BROWSER, SAME_ORIGIN
from wsgiauth.accounts.groups import Group
from wsgiauth.accounts.models import User
from wsgiauth.events.models import RecordedEvent
from wsgiauth.exceptions import LastSuperuserError
from wsgiauth.features.panel.several import MOST, SHARED_ACTIONS
from wsgiauth.features.panel.user_actions import ACTIONS

every_database = pytest.mark.every_database

SEVERAL = "/auth/admin/users/several"
FORM = {**SAME_ORIGIN, "Content-Type": "application/x-www-form-urlencoded"}
UNKNOWN = 10**9


def url_of(action, *users, **further):
    fields = [f"action={action}", *(f"users={each.id}" for each in users)]
    return f"{SEVERAL}?" + "&".join([*fields, *map("=".join, further.items())])


def are_active(*users):
    return [User.get_by_id(each.id).is_active for each in users]


def named(page, section):
    """Return the users that a section of the page names, and the reasons beside them."""
    found = page.html.find(id=section)
    if found is None:
        return [], []
    within = found.parent
    return [each.text for each in within("li")], [each.text for each in within("dt")]


@pytest.fixture
def several(program):
    """Return a function that sends an action of `boss`, and returns what became of each user."""

    def send(action, *users, **further):
        numbers = [each if isinstance(each, int) else each.id for each in users]
        answer = program(SEVERAL, {"action": action, "users": numbers, **further})
        return [(each["id"], each["result"], each["detail"]) for each in answer.json["results"]]

    return send


# From the list to the change


def test_chosen_users_are_changed_after_a_question(browser, make):
    ann, tim, una = make("Ann"), make("Tim"), make("Una")
    form = browser.get("/auth/admin/users?q=").forms["several"]
    for box in form.fields["users"]:
        box.checked = box._value in (str(ann.id), str(tim.id))
    page = form.submit("action", value="deactivate")
    page.mustcontain("These users can no longer log in")
    assert named(page, "changed") == (["Tim", "Ann"], [])
    assert are_active(ann, tim, una) == [True, True, True]
    page = page.form.submit(headers=SAME_ORIGIN)
    assert page.html.find(role="status").text == "Users changed: 2 of 2"
    assert are_active(ann, tim, una) == [False, False, True]
    page.click("Ann").mustcontain("Ann@example.org")


def test_the_button_says_how_many_will_be_changed(browser, make):
    ann, tim = make("Ann"), make("Tim")
    Group.objects.create(name="Editors")
    insert_session(ann, "x")
    for action, text in {
        "deactivate": "Deactivate 2 users",
        "end-logins": "Revoke all sessions of 1 user",
        "join": "Add 2 users to the group",
    }.items():
        page = browser.get(url_of(action, ann, tim, group="Editors"))
        assert page.html.main.find("button", type="submit").text == text


def test_a_result_without_a_change_is_no_success(browser, make):
    ann = make("Ann", is_active=False)
    page = browser.post(SEVERAL, {"action": "deactivate", "users": [ann.id]}, headers=SAME_ORIGIN)
    assert page.html.find(role="alert").text == "No user was changed."
    assert page.html.find(role="status") is None


def test_a_checkbox_has_the_name_of_its_user_and_is_followed_by_a_link_to_the_actions(
    browser, make
):
    tim = make("Tim")
    page = browser.get("/auth/admin/users?q=tim")
    (box,) = page.html.select("input[name=users]")
    assert (box["aria-label"], box["value"]) == ("Tim", str(tim.id))
    assert box.find_next("a")["href"] == f"#{page.forms['several'].id}"


def test_the_way_back_leads_to_the_same_page_of_the_list(browser, make):
    make("Tim")
    page = browser.get("/auth/admin/users?q=ti&active=yes")
    page.forms["several"]["users"].checked = True
    page = page.forms["several"].submit("action", value="deactivate")
    for _ in range(2):
        assert page.click("Back to the users").request.path_qs.endswith("?q=ti&active=yes")
        page = page.form.submit(headers=SAME_ORIGIN) if page.forms else page


def test_the_list_offers_what_the_viewer_has_a_right_to(browser_of, make):
    for kind, offered in {
        "staff": [],
        "manager": ["activate", "deactivate", "end-logins"],
        "superuser": [*SHARED_ACTIONS],
    }.items():
        page = browser_of(make(f"A-{kind}", kind)).get("/auth/admin/users")
        buttons = page.html.select("button[name=action]")
        assert [each["value"] for each in buttons] == offered, kind
        assert bool(page.html.select("input[name=users]")) == bool(offered), kind


def test_without_a_choice_the_list_is_shown(browser):
    answer = browser.get(f"{SEVERAL}?action=activate&next=/auth/admin/users?q=a", status=303)
    assert answer.headers["Location"] == "/auth/admin/users?q=a"
    assert browser.get(SEVERAL, status=303).headers["Location"] == "/auth/admin/users"


@pytest.mark.promise(18)
def test_the_way_back_leads_to_no_other_site(browser, make):
    tim = make("Tim")
    for wanted in ("https://evil.example/", "//evil.example", "javascript:alert(1)"):
        answer = browser.get(f"{SEVERAL}?next={wanted}", status=303)
        assert answer.headers["Location"] == "/auth/admin/users"
        page = browser.get(f"{url_of('deactivate', tim)}&next={wanted}")
        page.form["next"] = wanted
        for each in (page, page.form.submit(headers=SAME_ORIGIN)):
            assert each.html.find("a", string="Back to the users")["href"] == "/auth/admin/users"
        User.update(is_active=True).execute()


def test_the_question_changes_nothing(browser, make):
    tim = make("Tim", "inactive")
    insert_session(tim, "his")
    Group.objects.create(name="Editors")
    RecordedEvent.delete().execute()
    for action in SHARED_ACTIONS:
        browser.get(url_of(action, tim, group="editors"))
        assert are_active(tim) == [False]
        assert not list(User.get_by_id(tim.id).groups)
        assert not RecordedEvent.select().exists(), action


def test_a_question_names_who_will_not_be_changed_and_why(browser, make, boss):
    tim, una = make("Tim"), make("Una", "inactive")
    page = browser.get(url_of("deactivate", tim, una, boss) + f"&users={UNKNOWN}")
    assert named(page, "changed") == (["Tim"], [])
    assert named(page, "others") == (
        ["Una", f"ID {UNKNOWN}", "Boss"],
        [
            "The account is inactive already.",
            "There is no user with this id.",
            "You cannot change your own account here: ask another superuser.",
        ],
    )
    assert [each.value for each in page.form.fields["users"]] == [str(tim.id)]


def test_a_question_names_who_has_no_session_to_revoke_or_is_in_the_group(browser, make, boss):
    ann, tim = make("Ann"), make("Tim")
    insert_session(tim, "his")
    page = browser.get(url_of("end-logins", ann, tim, boss))
    assert named(page, "changed")[0] == ["Tim"]
    assert named(page, "others") == (["Ann", "Boss"], ["The user has no session to revoke."])
    tim.join(Group.objects.create(name="Editors"))
    page = browser.get(url_of("join", ann, tim, group="editors"))
    assert named(page, "changed")[0] == ["Ann"]
    assert named(page, "others") == (["Tim"], ["The user is in this group already."])


def test_a_page_without_anyone_to_change_has_no_button(browser, make):
    assert not browser.get(url_of("activate", make("Tim"))).forms


def test_a_group_is_entered_on_the_page_that_asks(browser, make):
    ann, tim = make("Ann"), make("Tim")
    Group.objects.create(name="Editors")
    page = browser.get(url_of("join", ann, tim))
    assert [each["value"] for each in page.html.select("datalist option")] == ["Editors"]
    page.form["group"] = "Writers"
    page = page.form.submit(headers=SAME_ORIGIN, status=422)
    page.mustcontain("There is no group with this name.")
    assert page.form["group"].value == "Writers"
    page.form["group"] = "editors"
    assert named(page.form.submit(headers=SAME_ORIGIN), "changed")[0] == ["Ann", "Tim"]
    assert {each.username for each in Group.objects.find("Editors").members} == {"Ann", "Tim"}


# What becomes of each user


@every_database
def test_each_user_has_an_outcome(several, make, boss):
    ann, tim = make("Ann"), make("Tim", "inactive")
    assert several("deactivate", tim, ann, boss, UNKNOWN) == [
        (tim.id, "unchanged", "The account is inactive already."),
        (ann.id, "changed", ACTIONS["deactivate"].done),
        (boss.id, "refused", "You cannot change your own account here: ask another superuser."),
        (UNKNOWN, "refused", "There is no user with this id."),
    ]
    assert are_active(ann, tim, boss) == [False, False, True]


@every_database
def test_a_repeat_changes_nothing_more(several, make):
    Group.objects.create(name="Editors")
    for action in SHARED_ACTIONS:
        kind = "inactive" if action == "activate" else "user"
        users = [make(f"{name}-{action}", kind) for name in ("Ann", "Tim")]
        for user in users:
            insert_session(user, f"of {user.id}")
        first = several(action, *users, group="editors")
        RecordedEvent.delete().execute()
        again = several(action, *users, group="editors")
        assert [result for _, result, _ in first + again] == ["changed"] * 2 + ["unchanged"] * 2
        assert {detail for *_, detail in again} == {SHARED_ACTIONS[action].idle}
        assert not RecordedEvent.select().exists()


@every_database
def test_of_ones_own_sessions_the_one_in_use_goes_on(several, make, boss):
    tim = make("Tim")
    for user in (tim, boss):
        insert_session(user, f"of {user.username}")
    assert [result for _, result, _ in several("end-logins", tim, boss)] == ["changed"] * 2
    (left,) = valid_session_ids()
    assert left not in ("of Tim", "of Boss")


@pytest.mark.promise(51)
def test_each_change_has_its_event_and_its_actor_even_of_a_user_who_is_given_twice(
    several, make, boss
):
    ann, tim = make("Ann"), make("Tim")
    RecordedEvent.delete().execute()
    outcomes = several("deactivate", ann, tim, tim)
    assert [result for _, result, _ in outcomes] == ["changed"] * 2
    written = RecordedEvent.select().order_by(RecordedEvent.id)
    assert [(each.name, each.user_id, each.actor, each.reason) for each in written] == [
        ("rights_changed", each.id, f"user {boss.id}", "is_active off") for each in (ann, tim)
    ]


@every_database
@pytest.mark.promise(49)
def test_each_user_needs_the_right(client, make, bearer):
    headers = bearer(make("Ann", "manager"))
    users = [make(f"Tim-{kind}", kind) for kind in ("user", "staff", "superuser", "privileged")]
    body = {"action": "deactivate", "users": [each.id for each in users]}
    answer = client.post_json(SEVERAL, body, headers=headers)
    results = [each["result"] for each in answer.json["results"]]
    assert results == ["changed", "refused", "refused", "refused"]
    assert are_active(*users) == [False, True, True, True]


@pytest.mark.promise(49)
def test_a_manager_adds_no_user_to_a_group(client, make, bearer):
    tim, headers = make("Tim"), bearer(make("Ann", "manager"))
    Group.objects.create(name="Editors")
    body = {"action": "join", "users": [tim.id], "group": "Editors"}
    (result,) = client.post_json(SEVERAL, body, headers=headers).json["results"]
    assert result == {
        "id": tim.id,
        "result": "refused",
        "detail": "Only superusers can make this change.",
    }
    assert not list(User.get_by_id(tim.id).groups)


@pytest.mark.promise(49)
@pytest.mark.parametrize(
    ("error", "detail"),
    [
        (LastSuperuserError("Tim"), "This is the last active superuser."),
        (User.DoesNotExist(), "There is no user with this id."),
    ],
)
def test_what_is_refused_in_the_transaction_does_not_stop_the_others(
    several, make, monkeypatch, error, detail
):
    def fail(*_, **__):
        raise error

    users = make("Ann", "superuser"), make("Tim", "superuser")
    monkeypatch.setattr("wsgiauth.features.panel.several.administer", fail)
    outcomes = several("deactivate", *users)
    assert [(result, text.startswith(detail)) for _, result, text in outcomes] == [
        ("refused", True)
    ] * 2


# Who can send it


@pytest.mark.promise(49)
def test_whoever_can_change_no_other_account_is_refused_before_a_proof(client, make, bearer):
    headers = bearer(make("Ann", "staff"))
    make_stale()
    client.get(url_of("activate", make("Tim")), headers=headers, status=403)
    refused = client.post_json(SEVERAL, {}, headers=headers, status=403)
    assert refused.json["detail"] == "This change needs the permission wsgiauth.manage_users."


@pytest.mark.promise(49)
def test_to_others_it_does_not_exist(browser_of, make):
    tim = make("Tim")
    body = {"action": "deactivate", "users": str(tim.id)}
    for kind in ("user", "superuser without staff", "manager without staff"):
        browser = browser_of(make(kind.replace(" ", "-"), kind))
        browser.get(url_of("deactivate", tim), status=404)
        browser.post(SEVERAL, body, headers=SAME_ORIGIN, status=404)
        assert are_active(tim) == [True], kind


@pytest.mark.promise(17)
def test_a_form_of_another_site_changes_nobody(browser, make):
    tim = make("Tim")
    body = {"action": "deactivate", "users": str(tim.id)}
    browser.post(SEVERAL, body, headers={"Origin": "https://evil.example"}, status=403)
    assert are_active(tim) == [True]


@pytest.mark.promise(46)
def test_a_browser_confirms_and_finds_its_choice_again(browser, make):
    ann, tim = make("Ann"), make("Tim")
    url = url_of("deactivate", ann, tim)
    page = browser.get(url)
    make_stale()
    answer = browser.get(url, status=302)
    confirm = answer.follow()
    assert confirm.form["next"].value == url
    referer = {"Referer": f"http://localhost:80{url}"}
    answer = page.form.submit(headers=SAME_ORIGIN | referer, status=303)
    assert answer.follow().form["next"].value == url
    assert are_active(ann, tim) == [True, True]


def test_the_longest_choice_survives_the_proof(browser):
    make_stale()
    url = f"{SEVERAL}?next=%2Fauth%2Fadmin%2Fusers%3Fq%3Da&" + "&".join(
        [*(f"users={10**9 + each}" for each in range(MOST)), "action=deactivate"]
    )
    assert browser.get(url, status=302).follow().form["next"].value == url


# What is wrong with a request


def test_a_field_that_is_wrong_is_named(program):
    for name, body, field in (
        ("no action", {"users": [1]}, "action"),
        ("another action", {"action": "delete", "users": [1]}, "action"),
        ("no users", {"action": "activate"}, "users"),
        ("an empty list", {"action": "activate", "users": []}, "users"),
        ("51 users", {"action": "activate", "users": [1] * 51}, "users"),
        ("zero", {"action": "activate", "users": [0]}, "users"),
        ("negative", {"action": "activate", "users": [-1]}, "users"),
        ("no group", {"action": "join", "users": [1]}, "group"),
        ("other group", {"action": "join", "users": [1], "group": "x"}, "group"),
    ):
        assert [*program(SEVERAL, body, status=422).json["errors"]] == [field], name


def test_users_are_a_list_of_whole_numbers(program):
    for users in ("1", ["1"], [2**53]):
        refused = program(SEVERAL, {"action": "activate", "users": users}, status=400)
        assert refused.json["detail"] == "The field users must be a list of whole numbers.", users


def test_51_users_of_a_form_are_refused_on_a_page(browser):
    insert_users(51)
    fields = {"account": account(browser), "action": "deactivate"}
    body = [*fields.items(), *(("users", str(each)) for each in range(1, 52))]
    page = browser.post(SEVERAL, body, headers=FORM, status=422)
    page.mustcontain("Choose at least one user, and at most 50.")
    assert User.select().where(~User.is_active).count() == 0


@pytest.mark.promise(58)
def test_a_query_that_is_wrong_says_why(browser):
    actions = "activate, deactivate, end-logins, join"
    for query, message in {
        "action=activate&users=x": "users must be ids of users.",
        "action=activate&users=1" + "0" * 18: "users must be ids of users.",
        "action=activate&action=deactivate&users=1": "action is given more than once.",
        "action=nothing&users=1": f"action must be one of {actions}.",
        "action=activate" + "&users=1" * 51: "Choose at least one user, and at most 50.",
        "action=activate&users=%ff": "The query must be percent-encoded UTF-8",
        "action=activate" + "&users=1" * 120: "12,288 characters and 120 fields.",
    }.items():
        for accept in (BROWSER["Accept"], "application/json"):
            answer = browser.get(f"{SEVERAL}?{query}", headers={"Accept": accept}, status=422)
            answer.mustcontain(message)


@every_database
def test_a_group_that_cannot_be_is_no_failure(browser, make):
    tim = make("Tim")
    for group in ("%00", "%F4%8F%BF%BF", "x" * 2000):
        page = browser.get(url_of("join", tim, group=group))
        assert named(page, "changed")[0] == ["Tim"], group
