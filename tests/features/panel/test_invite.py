"""GET, POST /auth/admin/invite."""

import dataclasses
import json

import pytest
from webtest import TestApp

from tests.support.logins import make_stale
from tests.support.sites import BROWSER, PASSWORD, SAME_ORIGIN, echo
from wsgiauth import AuthMiddleware
from wsgiauth.accounts import update_user
from wsgiauth.accounts.groups import Group
from wsgiauth.accounts.known_permissions import register
from wsgiauth.accounts.models import User
from wsgiauth.events.models import RecordedEvent
from wsgiauth.mail.outbox import Mail
from wsgiauth.staff.administration import MANAGE_USERS

URL = "/auth/admin/invite"
GRACE = {"email": "grace@example.net"}
RIGHTS = [{"is_staff": True}, {"permissions": ["reports.read"]}, {"groups": ["editors"]}]


@pytest.fixture
def link(site, post):
    """Return a function that returns the link in the newest mail."""

    def newest_link():
        site.site.outbox.deliver()
        return post.links[-1].removeprefix("https://example.org")

    return newest_link


def accept(client, link, status=201):
    token = link.partition("=")[2]
    fields = {"token": token, "username": "Grace", "password": PASSWORD}
    return client.post_json("/auth/verify", fields, status=status)


@pytest.mark.every_database
@pytest.mark.promise(51)
def test_a_person_is_invited_with_rights(client, program, boss, link, post):
    fields = {**GRACE, "is_staff": True, "permissions": ["b.b", "a.a", "b.b"]}
    assert "on its way" in program(URL, fields, status=202).json["detail"]
    accept(client, link())
    assert post.recipients == ["grace@example.net"]
    grace = User.objects.get(username="Grace")
    assert (grace.is_staff, grace.is_superuser, grace.permissions) == (True, False, {"a.a", "b.b"})
    changes = RecordedEvent.select().where(RecordedEvent.actor == f"user {boss.id}")
    reasons = [each.reason for each in changes.order_by(RecordedEvent.id)]
    assert reasons[-4:] == [
        "invitation, is_staff, a.a, b.b",
        "is_staff on",
        "granted a.a",
        "granted b.b",
    ]


@pytest.mark.promise(49)
def test_the_rights_are_those_of_the_table(client, make, bearer):
    Group.objects.create(name="Editors")
    actors = {kind: bearer(make(f"A-{kind}", kind)) for kind in ("staff", "manager", "superuser")}
    for number, rights in enumerate(({}, *RIGHTS)):
        for actor, headers in actors.items():
            fields = {"email": f"{actor}{number}@example.net", **rights}
            RecordedEvent.delete().execute()
            Mail.delete().execute()
            answer = client.post_json(URL, fields, headers=headers, status="*")
            written = [each.name for each in RecordedEvent.select()]
            if actor == "superuser" or (actor == "manager" and not rights):
                assert (answer.status_int, written) == (202, ["link_sent"]), fields
            else:
                refused = (answer.status_int, answer.json["code"], Mail.select().count(), written)
                assert refused == (403, "forbidden", 0, []), fields


def test_a_browser_fills_in_the_form_from_the_list_of_users(browser, link, client):
    register("reports.publish")
    page = browser.get("/auth/admin/users").click("Invite a person")
    page.form["email"], page.form["username"] = "grace@example.net", "Grace"
    boxes = page.form.fields["permissions"]
    (box,) = (each for each in boxes if each._value == "reports.publish")
    box.checked = True
    answer = page.form.submit(headers=SAME_ORIGIN, status=303)
    notice = answer.follow().html.find(role="status").text
    assert notice == "The invitation is on its way. Its link works for 72 hours."
    client.get(link(), headers=BROWSER).mustcontain("Grace")
    accept(client, link())
    assert User.objects.get(username="Grace").permissions == {"reports.publish"}


def test_a_browser_chooses_the_groups_that_the_user_joins(browser, link, client):
    for name in ("Editors", "Writers"):
        Group.objects.create(name=name)
    page = browser.get(URL)
    page.form["email"] = "grace@example.net"
    page.form.fields["groups"][0].checked = True
    page.form.submit(headers=SAME_ORIGIN, status=303)
    assert accept(client, link()).json["groups"] == ["Editors"]


def test_a_group_that_there_is_not_is_named(browser, program):
    refused = program(URL, {**GRACE, "groups": ["x"]}, status=422).json
    assert refused["errors"] == {"groups": ["There is no group with this name."]}
    Group.objects.create(name="Editors")
    fields = {**GRACE, "groups": ["x", "Editors"]}
    page = browser.post(URL, fields, headers=SAME_ORIGIN, status=422)
    page.mustcontain("There is no group with this name.")
    assert page.form.fields["groups"][0].checked


@pytest.mark.promise(49)
def test_a_group_is_not_joined_if_the_right_to_give_it_is_lost_meanwhile(
    client, program, make, boss, link
):
    make("Root", "superuser")
    Group.objects.create(name="Editors")
    program(URL, {**GRACE, "groups": ["editors"]}, status=202)
    address = link()
    boss.is_superuser = False
    boss.save()
    boss.grant(MANAGE_USERS)
    accept(client, address, status=410)


def test_the_form_of_a_manager_gives_no_rights(make, browser_of):
    form = browser_of(make("Ann", "manager")).get(URL).form
    assert {name for name in form.fields if name} == {"account", "email", "username"}


def test_whoever_has_no_right_sees_no_link_and_need_not_confirm(make, browser_of, heard):
    ann = make("Ann", "staff")
    browser = browser_of(ann)
    browser.get("/auth/admin/users").mustcontain(no="Invite a person")
    make_stale()
    heard.clear()
    browser.get(URL, status=403).mustcontain(MANAGE_USERS)
    event = ("refused", ann.id, "lacks the right to invite")
    assert [(each.name, each.user_id, each.reason) for each in heard] == [event]


@pytest.mark.promise(46)
def test_an_invitation_needs_a_recent_proof(program, make):
    make_stale()
    for refused in (program(URL, status=401), program(URL, GRACE, status=401)):
        assert refused.json["code"] == "insufficient_user_authentication"


def test_what_is_wrong_is_named(program, browser, make):
    make("Tim")
    for fields, status, field in (
        ({"email": "grace"}, 422, "email"),
        ({**GRACE, "username": "a b"}, 422, "username"),
        ({**GRACE, "permissions": ["reports"]}, 422, "permissions"),
        ({"email": "TIM@example.org"}, 409, "email"),
        ({**GRACE, "username": "tim"}, 409, "username"),
    ):
        assert [*program(URL, fields, status=status).json["errors"]] == [field]
        page = browser.post(URL, fields, headers=SAME_ORIGIN, status=status)
        assert page.html.find(class_="error")
        assert page.form["email"].value == fields["email"]
    assert Mail.select().count() == 0


def test_all_that_is_wrong_is_named_at_once(program, make):
    make("Tim")
    wrong = {"email": "grace", "username": "tim", "permissions": ["reports"], "groups": ["Gone"]}
    assert program(URL, wrong, status=422).json["errors"] == {
        "email": ["Enter an email address such as ada@example.org."],
        "username": ["This username is taken."],
        "permissions": ["A permission has the form app.action, such as reports.publish."],
        "groups": ["There is no group with this name."],
    }


@pytest.mark.every_database
@pytest.mark.usefixtures("unsent")
def test_the_staff_invites_an_address_three_times_in_an_hour(program, browser_of, make):
    other = browser_of(make("Eve", "manager"))
    for _ in range(2):
        program(URL, GRACE, status=202)
    other.post(URL, {"email": "GRACE@example.net"}, headers=SAME_ORIGIN, status=303)
    refused = other.post(URL, GRACE, headers=SAME_ORIGIN, status=429)
    refused.mustcontain("The staff has sent this address as many emails as it can in an hour.")
    assert refused.form["email"].value == GRACE["email"]
    refused = program(URL, GRACE, status=429)
    assert 0 < int(refused.headers["Retry-After"]) <= 3600
    assert Mail.select().count() == 3
    program(URL, {"email": "joan@example.net"}, status=202)


def test_an_invitation_with_a_taken_name_is_not_counted(program, make):
    make("Tim")
    for _ in range(4):
        program(URL, {**GRACE, "username": "tim"}, status=409)
    program(URL, GRACE, status=202)


@pytest.mark.every_database
@pytest.mark.promise(49)
@pytest.mark.parametrize(
    "lose",
    [
        pytest.param(lambda ann: ann.revoke(MANAGE_USERS), id="permission"),
        pytest.param(lambda ann: update_user(ann, is_staff=False), id="staff"),
        pytest.param(lambda ann: ann.delete_instance(), id="account"),
    ],
)
def test_the_link_of_a_member_who_has_lost_the_right_is_dead(client, make, bearer, link, lose):
    ann = make("Ann", "manager")
    client.post_json(URL, GRACE, headers=bearer(ann))
    sent = link()
    lose(ann)
    assert accept(client, sent, status=410).json["code"] == "link_expired"
    assert User.objects.get_or_none(username="Grace") is None


@pytest.mark.promise(49)
def test_the_link_with_rights_of_a_superuser_who_is_none_any_more_is_dead(
    client, make, bearer, link, boss
):
    ann = make("Ann", "superuser")
    ann.grant(MANAGE_USERS)
    client.post_json(URL, {**GRACE, "is_staff": True}, headers=bearer(ann))
    sent = link()
    ann.is_superuser = False
    ann.save()
    accept(client, sent, status=410)


def test_a_right_that_is_lost_meanwhile_does_not_count(client, make, bearer, monkeypatch):
    ann = make("Ann", "manager")
    headers = bearer(ann)

    def lose(*_):
        monkeypatch.undo()
        ann.revoke(MANAGE_USERS)

    monkeypatch.setattr("wsgiauth.features.links.invite.cannot_invite", lose)
    client.post_json(URL, GRACE, headers=headers, status=403)
    assert Mail.select().count() == 0


def test_without_mail_nobody_is_invited(settings, site, boss, bearer):
    app = TestApp(AuthMiddleware(echo, dataclasses.replace(settings, MAIL_URL=None)))
    headers = bearer(boss)
    app.get(URL, headers=headers, status=404)
    app.post_json(URL, GRACE, headers=headers, status=404)
    app.get("/auth/admin/users", headers=headers | BROWSER).mustcontain(no="Invite a person")


@pytest.mark.usefixtures("unsent")
def test_the_mail_that_waits_has_no_link(program):
    program(URL, GRACE)
    (mail,) = Mail.select()
    assert json.loads(mail.data)["is_of_staff"]
    assert "token" not in mail.data


def test_what_clipboards_add_is_no_part_of_a_name(client, program, link, post):
    fields = {"email": "\ufeffgrace@example.net ", "username": "\u200bGrace\u200e"}
    program(URL, fields, status=202)
    client.post_json("/auth/verify", {"token": link().partition("=")[2], "password": PASSWORD})
    assert post.recipients == ["grace@example.net"]
    assert User.objects.get(username="Grace").email == "grace@example.net"
