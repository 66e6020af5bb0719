"""GET, POST /auth/admin/users/{id}/{action}: the rights of docs/staff.md over HTTP."""

import dataclasses
import time
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
from webtest import TestApp

from tests.support.factors import add_app
from tests.support.identities import account
from tests.support.keys import make_key
from tests.support.logins import insert_session, make_stale, valid_session_ids
from tests.support.sites import PASSWORD, SAME_ORIGIN, echo
from wsgiauth import AuthMiddleware, create_user, storage, update_user
from wsgiauth.accounts.groups import Group
from wsgiauth.accounts.models import User
from wsgiauth.accounts.tables import Key, OneTimeSecret, Session, has_keys
from wsgiauth.authentication import one_time, sessions
from wsgiauth.authentication.session_list import handle_of
from wsgiauth.events.models import RecordedEvent
from wsgiauth.exceptions import LastSuperuserError
from wsgiauth.features.factors import recovery_codes
from wsgiauth.features.factors.totp import Totp
from wsgiauth.features.keys import api_keys
from wsgiauth.features.panel.user_actions import ACTIONS
from wsgiauth.features.providers import identities
from wsgiauth.features.providers.identities import Identity
from wsgiauth.features.providers.provider_sessions import ProviderLogin
from wsgiauth.mail.letters import plain_text_of
from wsgiauth.mail.outbox import Mail
from wsgiauth.staff.administration import MANAGE_USERS, Party, Right
from wsgiauth.storage.models import utc_now

every_database = pytest.mark.every_database

FIELDS = {"permission": "reports.read", "group": "editors"}


def fresh(user):
    return User.get_by_id(user.id)


def url_of(user, action):
    return f"/auth/admin/users/{user.id}/{action}"


def state_of(user):
    """Return all that an action can change."""
    tables = (Key, Totp, OneTimeSecret, Identity)
    credentials = {row for table in tables for row in table.select(table.id).tuples()}
    present = fresh(user)
    return vars(present)["__data__"], present.permissions, valid_session_ids(), credentials


def submit(browser, user, action, fields=None, **options):
    headers = {**SAME_ORIGIN, "Content-Type": "application/x-www-form-urlencoded"}
    return browser.post(url_of(user, action), fields or {}, headers=headers, **options)


@pytest.mark.promise(49)
@pytest.mark.parametrize(
    ("actor", "target", "rights"),
    [
        ("staff", "user", []),
        ("manager", "user", [Right.SUPPORT, Right.MANAGE]),
        ("manager", "privileged", []),
        ("superuser", "user", list(Right)),
        ("superuser", "oneself", [Right.SUPPORT]),
    ],
)
def test_each_action_needs_its_right(client, site, make, bearer, actor, target, rights):
    ann = make("Ann", actor)
    add_app(site, ann)
    headers = bearer(ann)
    Session.update(methods="pwd otp").execute()  # what those who have a factor need to be fresh
    Group.objects.create(name="Editors")

    def prepare(name):
        tim = ann if target == "oneself" else make(name, target)
        insert_session(tim, f"to {name}")
        connected = connect(tim, f"s-{name}")
        add_app(site, tim)
        fields = FIELDS | {"login": handle_of(f"to {name}"), "key": make_key(tim)}
        return tim, fields | {"identity": connected.handle, "email": tim.email}

    tim, fields = prepare("Tim")
    recovery_codes.replace(tim, rounds=4)
    before = state_of(tim)
    for action in (action for action, each in ACTIONS.items() if each.right not in rights):
        refused = client.post_json(url_of(tim, action), fields, headers=headers, status=403)
        assert refused.json["code"] == "forbidden", action
    assert state_of(tim) == before
    for action in (action for action, each in ACTIONS.items() if each.right in rights):
        tim, fields = prepare(f"Tim-{action}")
        client.post_json(url_of(tim, action), fields, headers=headers, status=200)


@pytest.mark.promise(46)
def test_a_change_needs_a_recent_proof(client, make, boss, bearer):
    tim, headers = make("Tim"), bearer(boss)
    make_stale()
    for action in ACTIONS:
        for refused in (
            client.get(url_of(tim, action), headers=headers, status=401),
            client.post_json(url_of(tim, action), {}, headers=headers, status=401),
        ):
            assert refused.json["code"] == "insufficient_user_authentication", action


def test_a_browser_confirms_and_comes_back(browser, make):
    tim = make("Tim")
    make_stale()
    answer = browser.get(url_of(tim, "deactivate"), status=302)
    assert answer.headers["Location"].startswith("/auth/confirm?next=%2Fauth%2Fadmin%2Fusers%2F")
    answer = submit(browser, tim, "activate", status=303)
    assert answer.headers["Location"].startswith("/auth/confirm?resend=1&next=")


def test_whoever_has_no_right_need_not_confirm_first(client, make, bearer, heard):
    ann, tim = make("Ann", "staff"), make("Tim")
    headers = bearer(ann)
    make_stale()
    heard.clear()
    client.get(url_of(tim, "delete"), headers=headers, status=403)
    client.post_json(url_of(tim, "delete"), {}, headers=headers, status=403)
    event = ("refused", ann.id, "lacks the right to change an account", f"user {ann.id}")
    seen = [(each.name, each.user_id, each.reason, each.actor) for each in heard]
    assert seen == [event, event]


@pytest.mark.slow
def test_a_page_asks_before_an_action(browser, make):
    kinds = {"activate": "inactive", "unmake-staff": "staff", "unmake-superuser": "superuser"}
    for name in (name for name, each in ACTIONS.items() if not each.field):
        tim = make(f"Tim-{name}", kinds.get(name, "user"))
        page = browser.get(url_of(tim, name))
        page.mustcontain(ACTIONS[name].question, tim.username)
        answer = page.form.submit(headers=SAME_ORIGIN, status=303)
        user_url = f"/auth/admin/users/{tim.id}" if name != "delete" else "/auth/admin/users"
        assert answer.headers["Location"] == f"{user_url}?done={name}"
        assert answer.follow().html.find(role="status").text == ACTIONS[name].done


def test_get_changes_nothing(site, browser, make):
    tim = make("Tim", "permitted")
    insert_session(tim, "theirs")
    add_app(site, tim)
    key = make_key(tim)
    before = state_of(tim)
    for name in ACTIONS:
        browser.get(f"{url_of(tim, name)}?key={key}")
        assert state_of(tim) == before, name


# What each does


@every_database
@pytest.mark.promise(51)
def test_deactivation_ends_logins_and_activation_does_not_bring_them_back(program, make, heard):
    tim = make("Tim")
    insert_session(tim, "his")
    heard.clear()
    answer = program(url_of(tim, "deactivate"), {})
    assert (answer.json["is_active"], answer.json["logins"]) == (False, [])
    assert program(url_of(tim, "activate"), {}).json["is_active"]
    assert "his" not in valid_session_ids()
    reasons = [(each.user_id, each.reason) for each in heard if each.name == "rights_changed"]
    assert reasons == [(tim.id, "is_active off"), (tim.id, "is_active on")]


@every_database
def test_all_logins_of_another_user_end(program, make):
    tim = make("Tim")
    for name in ("one", "two"):
        insert_session(tim, name)
    assert program(url_of(tim, "end-logins"), {}).json["logins"] == []
    assert not {"one", "two"} & valid_session_ids()


def test_of_ones_own_logins_the_one_in_use_goes_on(program, boss):
    insert_session(boss, "other")
    (login,) = program(url_of(boss, "end-logins"), {}).json["logins"]
    assert login["is_current"]


@every_database
def test_one_login_ends(program, make):
    tim = make("Tim")
    for name in ("one", "two"):
        insert_session(tim, name)
    program(url_of(tim, "end-login"), {"login": handle_of("one")})
    assert {"one", "two"} & valid_session_ids() == {"two"}


@pytest.mark.promise(41)
def test_a_login_of_another_user_is_not_found(program, make, boss):
    insert_session(boss, "hers")
    body = {"login": handle_of("hers")}
    refused = program(url_of(make("Tim"), "end-login"), body, status=404)
    assert refused.json["code"] == "no_such_login"
    assert "hers" in valid_session_ids()


def test_a_field_that_is_wrong_is_named(program, make):
    tim = make("Tim")
    for action, body, field in (
        ("end-login", {}, "login"),
        ("end-key", {}, "key"),
        ("disconnect", {}, "identity"),
        ("disconnect", {"identity": "0123456789ab"}, "identity"),
        ("grant", {}, "permission"),
        ("grant", {"permission": "publish"}, "permission"),
        ("revoke", {"permission": "reports.*"}, "permission"),
        ("join", {"group": "Nobody"}, "group"),
        ("leave", {}, "group"),
    ):
        refused = program(url_of(tim, action), body, status=422)
        assert [*refused.json["errors"]] == [field], (action, body)


def test_a_browser_sees_what_is_wrong_beside_the_field(browser, make):
    page = submit(browser, make("Tim"), "grant", {"permission": "publish"}, status=422)
    assert page.form["permission"].value == "publish"
    page.mustcontain("A permission has the form app.action")


@every_database
@pytest.mark.promise(51)
def test_the_second_factors_of_a_user_are_removed(program, site, make, boss, post):
    tim, tom = make("Tim"), make("Tom")
    for user in (tim, tim, tom):
        add_app(site, user)
    recovery_codes.replace(tim, rounds=4)
    RecordedEvent.delete().execute()
    site.site.outbox.deliver()
    post.messages.clear()
    answer = program(url_of(tim, "remove-factors"), {})
    assert answer.json["second_factors"] == {"factors": [], "recovery_codes_left": 0}
    assert [each.user_id for each in Totp.select()] == [tom.id]
    written = RecordedEvent.select().order_by(RecordedEvent.id)
    assert [(each.name, each.user_id, each.actor, each.reason) for each in written] == [
        ("factor_removed", tim.id, f"user {boss.id}", "otp"),
        ("logout", tim.id, f"user {boss.id}", "all sessions"),
    ]
    site.site.outbox.deliver()
    assert post.recipients == ["Tim@example.org"]
    assert "method removed" in post.messages[0]["Subject"]


@every_database
@pytest.mark.promise(5)
def test_a_session_that_the_lost_factor_proved_ends_with_it(program, site, make):
    tim, tom = make("Tim"), make("Tom")
    add_app(site, tim)
    started = [sessions.start(each, site.site.tokens, methods="pwd otp") for each in (tim, tom)]
    of_tim, of_tom = (("Bearer", each.token) for each in started)
    program(url_of(tim, "remove-factors"), {})
    client = TestApp(site)
    client.authorization = of_tim
    assert client.get("/auth/me", status=401).json["code"] == "invalid_token"
    client.authorization = of_tom
    client.get("/auth/me")
    in_progress = sessions.start(tim, site.site.tokens, methods="pwd otp")  # has read Tim before
    assert in_progress is None


def test_a_login_then_asks_for_no_code(client, program, site, settings):
    tim = create_user("Tim", "tim@example.org", PASSWORD, settings=settings)
    add_app(site, tim)
    login = {"username": "Tim", "password": PASSWORD}
    refused = client.post_json("/auth/login", login, status=401)
    assert refused.json["code"] == "second_factor_required"
    program(url_of(tim, "remove-factors"), {})
    client.post_json("/auth/login", login)


def test_to_remove_no_second_factor_changes_nothing(program, make, heard):
    tim = make("Tim")
    heard.clear()
    program(url_of(tim, "remove-factors"), {})
    assert [each.name for each in heard if each.user_id == tim.id] == []


def test_the_owner_does_not_learn_the_address_of_the_staff(browser, site, make, post):
    tim = make("Tim")
    add_app(site, tim)
    browser.extra_environ["REMOTE_ADDR"] = "192.0.2.99"
    page = browser.get(url_of(tim, "remove-factors"))
    page.form.submit(headers=SAME_ORIGIN, status=303)
    site.site.outbox.deliver()
    assert "192.0.2.99" not in plain_text_of(post.messages[-1])


@every_database
@pytest.mark.promise(57)
def test_one_api_key_ends(client, program, make, boss):
    tim = make("Tim")
    other = make_key(tim)
    made = api_keys.create(tim, "Export", ["reports.read"], now=time.time())
    headers = {"Authorization": f"Bearer {made.text}"}
    client.get("/auth/me", headers=headers)
    RecordedEvent.delete().execute()
    answer = program(url_of(tim, "end-key"), {"key": made.row.id})
    assert [each["id"] for each in answer.json["keys"]] == [other]
    client.get("/auth/me", headers=headers, status=401)
    (event,) = RecordedEvent.select()
    assert (event.name, event.user_id, event.actor, event.reason) == (
        "key_ended",
        tim.id,
        f"user {boss.id}",
        made.row.id,
    )


def test_before_a_key_ends_a_page_names_it(browser, make):
    tim = make("Tim")
    key = make_key(tim, "Nightly export")
    page = browser.get(f"/auth/admin/users/{tim.id}").click("Revoke this key…")
    page.mustcontain(f"Nightly export ({key})", "can no longer use this API key")
    assert page.form["key"].attrs["type"] == "hidden"
    answer = page.form.submit(headers=SAME_ORIGIN, status=303)
    assert answer.follow().html.find(role="status").text == "The API key has been revoked."
    gone = page.form.submit(headers=SAME_ORIGIN, status=404)
    gone.mustcontain("This API key has already been revoked or has expired.")


@pytest.mark.promise(57)
def test_a_key_of_another_user_is_not_found(browser, program, make, boss):
    tim, key = make("Tim"), make_key(boss, "Hers")
    refused = program(url_of(tim, "end-key"), {"key": key}, status=404)
    assert refused.json["code"] == "no_such_key"
    browser.get(f"{url_of(tim, 'end-key')}?key={key}").mustcontain(no="Hers")
    assert has_keys(boss.id, time.time())


def connect(user, subject="s-1"):
    """Connect an account to a user whose sessions it begins, and return it."""
    return identities.connect(user, account(subject), time.time())


@every_database
@pytest.mark.promise(34)
def test_an_account_of_a_provider_is_disconnected(program, site, make, boss, post):
    tim = make("Tim")
    row, other = connect(tim), connect(tim, "s-2")
    tokens = site.site.tokens
    began = sessions.start(tim, tokens, federated_login=ProviderLogin(row.id, "", None)).session_id
    goes_on = sessions.start(tim, tokens).session_id
    RecordedEvent.delete().execute()
    site.site.outbox.deliver()
    post.messages.clear()
    answer = program(url_of(tim, "disconnect"), {"identity": row.handle})
    assert [each["id"] for each in answer.json["identities"]] == [other.handle]
    assert began not in valid_session_ids()
    assert goes_on in valid_session_ids()
    written = RecordedEvent.select().order_by(RecordedEvent.id)
    assert [(each.name, each.user_id, each.actor, each.reason) for each in written] == [
        ("logout", tim.id, f"user {boss.id}", "identity disconnected"),
        ("identity_disconnected", tim.id, f"user {boss.id}", "example"),
    ]
    site.site.outbox.deliver()
    assert post.recipients == ["Tim@example.org"]
    assert "an account at Example Firm" in plain_text_of(post.messages[0])


def test_before_a_disconnection_a_page_names_the_account(browser, make):
    tim = make("Tim")
    connect(tim)
    page = browser.get(f"/auth/admin/users/{tim.id}").click("Disconnect…")
    page.mustcontain("Example Firm: ada@example.com", "no longer log in with this account")
    assert page.form["identity"].attrs["type"] == "hidden"
    answer = page.form.submit(headers=SAME_ORIGIN, status=303).follow()
    assert answer.html.find(role="status").text == ACTIONS["disconnect"].done
    gone = page.form.submit(headers=SAME_ORIGIN, status=422)
    gone.mustcontain("This account is no longer connected.")


@every_database
@pytest.mark.promise(73)
def test_the_last_way_in_is_not_disconnected(browser, program, make):
    tim = make("Tim")
    row = connect(tim)
    User.update(hashed_password="").where(User.id == tim.id).execute()
    refused = program(url_of(tim, "disconnect"), {"identity": row.handle}, status=409)
    assert refused.json["code"] == "last_way_in"
    page = submit(browser, tim, "disconnect", {"identity": row.handle}, status=409)
    page.mustcontain("Send a link to choose a password first, or deactivate the account.")
    assert identities.rows_of(tim) == [row]


@every_database
@pytest.mark.promise(34)
def test_a_reset_link_goes_to_the_stored_address(program, site, make, post, heard):
    tim = make("Tim")
    heard.clear()
    program(url_of(tim, "reset-link"), {})
    User.update(username="Tom", username_key="tom").where(User.id == tim.id).execute()
    site.site.outbox.deliver()
    assert post.recipients == ["Tim@example.org"]
    assert post.links[0].startswith("https://example.org/auth/reset?token=")
    assert [(each.name, each.user_id, each.reason) for each in heard] == [
        ("link_sent", tim.id, "reset")
    ]


@every_database
@pytest.mark.usefixtures("unsent")
def test_the_staff_sends_a_user_three_links_in_an_hour(program, browser_of, client, make):
    tim, tom, other = make("Tim"), make("Tom"), browser_of(make("Eve", "superuser"))
    for _ in range(2):
        program(url_of(tim, "reset-link"), {})
    other.post(url_of(tim, "reset-link"), {"permission": ""}, headers=SAME_ORIGIN, status=303)
    refused = other.post(
        url_of(tim, "reset-link"), {"permission": ""}, headers=SAME_ORIGIN, status=429
    )
    assert "The staff has sent this user as many emails as it can in an hour." in refused
    refused = program(url_of(tim, "reset-link"), {}, status=429)
    assert 0 < int(refused.headers["Retry-After"]) <= 3600
    assert Mail.select().count() == 3
    program(url_of(tom, "reset-link"), {})
    client.post_json("/auth/forgot", {"username": "Tim"}, status=202)


def test_an_inactive_user_gets_no_link_and_it_is_not_counted(program, site, make, post):
    tim = make("Tim", "inactive")
    for _ in range(4):
        refused = program(url_of(tim, "reset-link"), {}, status=409)
        assert refused.json["code"] == "inactive"
    site.site.outbox.deliver()
    assert post.messages == []
    program(url_of(tim, "activate"), {})
    program(url_of(tim, "reset-link"), {})


def test_without_mail_there_are_no_links(settings, site, make, boss, bearer):
    app = AuthMiddleware(echo, dataclasses.replace(settings, MAIL_URL=None))
    client, headers, tim = TestApp(app), bearer(boss), make("Tim")
    client.post_json(url_of(tim, "reset-link"), {}, headers=headers, status=404)
    answer = client.get(f"/auth/admin/users/{tim.id}", headers=headers)
    assert "reset-link" not in answer.json["actions"]


@every_database
@pytest.mark.promise(47)
def test_a_permission_is_granted_and_revoked(program, make):
    tim = make("Tim")
    body = {"permission": " reports.publish "}
    granted = program(url_of(tim, "grant"), body).json["permissions"]
    assert [each["name"] for each in granted] == ["reports.publish"]
    assert program(url_of(tim, "revoke"), body).json["permissions"] == []


@every_database
def test_a_permission_that_nothing_asks_for_is_granted_after_a_question(browser, make):
    tim = make("Tim")
    Group.objects.create(name="Editors").grant("reports.publish")
    forms = browser.get(f"/auth/admin/users/{tim.id}").forms.values()
    form = next(each for each in forms if each.action.endswith("/grant"))
    form["permission"] = "reports.publsh"
    page = form.submit(headers=SAME_ORIGIN, status=422)
    page.mustcontain("Nothing in this application asks for reports.publsh. Grant it anyway?")
    assert tim.permissions == frozenset()
    for number, granted in enumerate(("reports.publish", "reports.publsh")):
        page.forms[number].submit(headers=SAME_ORIGIN, status=303)
        assert granted in tim.permissions


def test_a_program_grants_what_nothing_asks_for_unless_it_says_otherwise(program, make):
    tim = make("Tim")
    Group.objects.create(name="Editors").grant("reports.publish")
    body = {"permission": "reports.publsh"}
    refused = program(url_of(tim, "grant"), body | {"only_known": True}, status=422)
    assert refused.json["errors"] == {
        "permission": [
            "Nothing in this application asks for reports.publsh. Did you mean reports.publish?"
        ]
    }
    [granted] = program(url_of(tim, "grant"), body).json["permissions"]
    assert granted["name"] == "reports.publsh"


def test_a_known_permission_is_granted_without_a_question(program, make):
    Group.objects.create(name="Editors").grant("reports.publish")
    tim = make("Tim")
    for permission in ("reports.publish", MANAGE_USERS):
        program(url_of(tim, "grant"), {"permission": permission, "only_known": True})
    assert tim.permissions == {"reports.publish", MANAGE_USERS}


@pytest.mark.promise(47)
@every_database
def test_a_user_joins_a_group_and_leaves_it(program, make):
    tim, editors = make("Tim"), Group.objects.create(name="Editors")
    editors.grant("reports.publish")
    joined = program(url_of(tim, "join"), {"group": " EDITORS "}).json
    assert joined["groups"] == [{"id": editors.id, "name": "Editors"}]
    assert joined["permissions"] == [
        {"name": "reports.publish", "is_own": False, "groups": ["Editors"]}
    ]
    left = program(url_of(tim, "leave"), {"group": "Editors"}).json
    assert (left["groups"], left["permissions"]) == ([], [])


@pytest.mark.promise(49)
def test_a_permission_of_a_group_makes_a_user_more_than_ordinary(client, make, bearer):
    tim, headers = make("Tim"), bearer(make("Ann", "manager"))
    editors = Group.objects.create(name="Editors")
    tim.join(editors)
    client.post_json(url_of(tim, "end-logins"), {}, headers=headers)
    editors.grant("reports.publish")
    client.post_json(url_of(tim, "end-logins"), {}, headers=headers, status=403)


def test_a_flag_is_set_and_cleared(program, make):
    tim = make("Tim")
    for flag in ("staff", "superuser"):
        assert program(url_of(tim, f"make-{flag}"), {}).json[f"is_{flag}"]
        assert not program(url_of(tim, f"unmake-{flag}"), {}).json[f"is_{flag}"]


@every_database
@pytest.mark.promise(51)
def test_what_changes_nothing_says_so_and_is_no_event(browser, make, heard):
    Group.objects.create(name="Editors")
    kinds = {
        "activate": "user",
        "deactivate": "inactive",
        "grant": "permitted",
        "revoke": "user",
        "leave": "user",
        "make-staff": "staff",
        "unmake-staff": "user",
        "make-superuser": "superuser",
        "unmake-superuser": "user",
    }
    users = {action: make(f"Tim-{action}", kind) for action, kind in kinds.items()}
    heard.clear()
    for action, tim in users.items():
        page = submit(browser, tim, action, FIELDS, status=303).follow()
        assert page.html.find(role="status").text == "Nothing has changed.", action
        assert heard == [], action


@every_database
def test_an_address_is_marked_as_verified_unless_this_site_has_proven_it(program, make, heard):
    for name, proof, is_offered in (
        ("unverified", None, True),
        ("by-a-provider", "https://a.example", True),
        ("unknown", "", True),
        ("by-a-link", "link", False),
        ("by-an-operator", "operator", False),
    ):
        tim = make(name)
        if proof is not None:
            update_user(tim, email_verified_at=utc_now(), email_verified_by=proof)
        heard.clear()
        offered = program(f"/auth/admin/users/{tim.id}").json["actions"]
        assert ("verify-email" in offered) is is_offered, name
        answer = program(url_of(tim, "verify-email"), {"email": f" {tim.email.upper()}"})
        assert answer.json["email_verified_at"] is not None
        assert "verify-email" not in answer.json["actions"]
        assert fresh(tim).email_verified_by == ("operator" if is_offered else proof), name
        reasons = [(each.name, each.user_id, each.reason) for each in heard]
        assert reasons == [("names_changed", tim.id, "email verified")] * is_offered, name


def test_no_other_address_is_marked_as_verified_than_the_one_that_was_entered(browser, make):
    tim = make("Tim")
    page = browser.get(url_of(tim, "verify-email"))
    page.form["email"] = tim.email
    update_user(tim, email="boss@corp.example")
    refused = page.form.submit(headers=SAME_ORIGIN, status=422)
    assert refused.html.find(id="email-error").text == "This is not the address of the user."
    assert fresh(tim).email_verified_at is None


@pytest.mark.every_database
def test_an_address_is_corrected_and_counts_as_not_verified(site, program, make, heard, post):
    tim = make("Tim")
    update_user(tim, email_verified_at=utc_now(), email_verified_by="link")
    link = one_time.issue("reset", fresh(tim), now=time.time(), lifetime=60)
    heard.clear()
    answer = program(url_of(tim, "change-email"), {"email": " tim@corp.example "})
    assert (answer.json["email"], answer.json["email_verified_at"]) == ("tim@corp.example", None)
    assert (fresh(tim).email, fresh(tim).email_verified_by) == ("tim@corp.example", "")
    reasons = [(each.name, each.user_id, each.reason) for each in heard]
    assert reasons == [("names_changed", tim.id, "email")]
    assert one_time.find(link, "reset", now=time.time()) is None
    site.site.outbox.deliver()
    assert sorted(post.recipients) == ["Tim@example.org", "tim@corp.example"]


def test_an_address_that_cannot_be_is_refused_beside_the_field_and_the_same_is_no_change(
    browser, make
):
    tim = make("Tim")
    make("Ann")
    page = browser.get(f"/auth/admin/users/{tim.id}").click("Change the email address…", index=0)
    for email, status, said in (
        ("tim@", 422, "Enter an email address such as ada@example.org."),
        ("", 422, "Enter an email address."),
        ("ANN@example.org", 409, "This email address is taken."),
    ):
        page.form["email"] = email
        refused = page.form.submit(headers=SAME_ORIGIN, status=status)
        assert refused.html.find(id="email-error").text == said
        assert refused.form["email"].value == email
        assert fresh(tim).email == "Tim@example.org"
    page.form["email"] = tim.email
    page.form.submit(headers=SAME_ORIGIN, status=303).follow().mustcontain("Nothing has changed.")


def test_a_user_is_deleted(program, make):
    tim = make("Tim")
    answer = program(url_of(tim, "delete"), {})
    assert answer.json == {"detail": "The account has been deleted."}
    assert User.get_or_none(User.id == tim.id) is None
    program(url_of(tim, "delete"), {}, status=404)


def test_an_unknown_action_is_not_found(program, make):
    tim = make("Tim")
    for action in ("nothing", "constructor", "grant-all"):
        program(url_of(tim, action), {}, status=404)
        program(url_of(tim, action), status=404)


# What changes meanwhile


@pytest.mark.promise(49)
def test_a_right_that_is_lost_meanwhile_does_not_count(browser_of, make, monkeypatch):
    ann, tim = make("Ann", "manager"), make("Tim")
    browser = browser_of(ann)
    read = Party.read

    def lose(number):
        monkeypatch.undo()
        User.get_by_id(ann.id).revoke(MANAGE_USERS)
        return read(number)

    page = browser.get(url_of(tim, "deactivate"))
    monkeypatch.setattr(Party, "read", lose)
    refused = page.form.submit(headers=SAME_ORIGIN, status=403)
    refused.mustcontain("This change needs the permission wsgiauth.manage_users.")
    assert fresh(tim).is_active


def test_a_user_who_is_deleted_meanwhile_is_not_found(program, make, monkeypatch):
    def fail(*_, **__):
        raise User.DoesNotExist

    monkeypatch.setattr("wsgiauth.features.panel.user.administer", fail)
    assert program(url_of(make("Tim"), "delete"), {}, status=404).json["code"] == "not_found"


@pytest.mark.promise(49)
def test_the_last_active_superuser_is_not_removed(program, make, monkeypatch):
    def fail(*_, **__):
        raise LastSuperuserError("Tim")

    monkeypatch.setattr("wsgiauth.features.panel.user.administer", fail)
    refused = program(url_of(make("Tim", "superuser"), "delete"), {}, status=409)
    assert refused.json["code"] == "last_superuser"


@every_database
@pytest.mark.promise(49)
@pytest.mark.parametrize("action", ["deactivate", "unmake-superuser", "delete"])
def test_two_superusers_who_remove_each_other_at_once_leave_one(site, make, bearer, action):
    ann, tim = make("Ann", "superuser"), make("Tim", "superuser")
    headers = {user.id: bearer(user) for user in (ann, tim)}
    together = Barrier(2)

    def remove(actor, target):
        client = TestApp(site)
        together.wait()
        answer = client.post_json(url_of(target, action), {}, headers=headers[actor.id], status="*")
        storage.discard_connection(site.database)
        return answer.status_int

    with ThreadPoolExecutor(2) as threads:
        statuses = sorted(threads.map(remove, (ann, tim), (tim, ann)))
    assert statuses[0] == 200
    assert statuses[1] in (401, 403)
    assert User.select().where(User.is_superuser, User.is_active).count() == 1
