"""Events: which are told, of whom and from where; how they are logged; who hears of them."""

import ast
import json
import logging
import re
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextvars import Context
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import pytest
import webob

import wsgiauth
from tests.support import features
from tests.support.declared import COMPOSERS
from tests.support.event_scene import ADDRESS, CREDENTIALS, GRACE, LOGIN, NEW_PASSWORD, Scene
from tests.support.mails import with_mail
from tests.support.sites import EMAIL, PASSWORD, SAME_ORIGIN, USERNAME, echo
from wsgiauth import (
    AuthMiddleware,
    Group,
    User,
    accounts,
    events,
    hash_password,
    permission_required,
    storage,
)
from wsgiauth.authentication import sessions
from wsgiauth.authentication.restoring import (
    FormerAddress,
    find_restoration,
    make_restore_link,
    mark_change,
    restore_address,
)
from wsgiauth.events import kinds
from wsgiauth.events.models import RecordedEvent
from wsgiauth.exceptions import ConfigurationError, TakenError, ValidationError
from wsgiauth.feature import event_kinds_of
from wsgiauth.features.links.letters import request_reset
from wsgiauth.features.registry import FEATURES
from wsgiauth.mail.outbox import Outbox
from wsgiauth.mail.transports import DeliveryError
from wsgiauth.throttling.hash_slots import HashSlots

pytestmark = pytest.mark.promise(30)

KINDS_OF_EVENTS = event_kinds_of(FEATURES)
LEVELS = {each.name: each.level for each in KINDS_OF_EVENTS}

OTHER_ADDRESS = "2001:db8::7"
WRONG = {"username": USERNAME, "password": "mistyped words"}
UNKNOWN = {"username": "nobody@example.org", "password": "mistyped words"}
GRACE_IN_CODE = {
    "username": "Grace",
    "email": "grace@example.org",
    "hashed_password": hash_password(NEW_PASSWORD, rounds=4),
}
TYPED = (USERNAME, EMAIL, PASSWORD, *WRONG.values(), *UNKNOWN.values(), *GRACE.values())
CROSS_SITE = {**SAME_ORIGIN, "Sec-Fetch-Site": "cross-site"}


@pytest.fixture
def scene(settings, monkeypatch):
    made = Scene(settings, monkeypatch)
    made.heard.clear()
    yield made
    storage.discard_connection(made.database)


@pytest.fixture
def logged(scene, caplog):
    """Return a function that returns the log's records of events."""
    caplog.set_level(logging.INFO, logger="wsgiauth")
    caplog.clear()
    return lambda: [record for record in caplog.records if hasattr(record, "event")]


def told(scene, tellings):
    """Return what was told, with names in place of ids."""
    names = {None: None, scene.ada.id: USERNAME}
    names |= {user.id: user.username for user in User.objects.all()}
    return [(each.name, names[each.user_id], each.address, each.reason) for each in tellings]


def events_of(records):
    """Return the events that log records carry in their fields."""
    return [
        events.Event(
            each.event, each.args[0].time, each.user_id, each.address, each.reason, each.actor
        )
        for each in records
    ]


def typed_in(records):
    """Return what was typed by anybody and is in log records, the events in them included."""
    everything = " ".join(f"{vars(each)} {each.getMessage()}" for each in records).lower()
    return [typed for typed in TYPED if re.search(rf"\b{re.escape(typed.lower())}\b", everything)]


# What is told.


def change(**attributes):
    """Return an action that gives Ada other attributes."""

    def save(scene):
        for name, value in attributes.items():
            setattr(scene.ada, name, value)
        scene.ada.save()

    return save


def log_in_while_deactivated(scene):
    scene.while_hashing(lambda: User.update(is_active=False).execute())
    scene.log_in(status=401)


def log_in_while_another_does(scene):
    scene.monkeypatch.setattr("wsgiauth.site.HashSlots", partial(HashSlots, longest_wait=0))
    scene.limit(HASHING_THREADS=1)
    other = scene.client_of(scene.client.app, OTHER_ADDRESS)
    scene.while_hashing(lambda: other.post_json("/auth/login", UNKNOWN, status=503))
    scene.log_in(status=200)


def log_in_twice_by_form(scene):
    scene.log_in_by_form(status=303)
    scene.log_in_by_form(status=303)


def guess_a_name(scene):
    scene.limit(LOGIN_FAILURES_PER_ACCOUNT=1)
    scene.log_in(WRONG, status=401)
    scene.log_in(status=429)
    scene.log_in_by_form(status=429)


def guess_from_an_address(scene):
    scene.limit(LOGIN_FAILURES_PER_ACCOUNT=0, LOGIN_FAILURES_PER_ADDRESS=1)
    scene.log_in(UNKNOWN, status=401)
    scene.log_in(status=429)


def register_too_often(scene):
    scene.limit(REGISTRATIONS_PER_ADDRESS=1)
    scene.register(status=201)
    scene.register(status=429)


def log_out(scene, **request):
    scene.client.post("/auth/logout", **request)


def log_out_by_form(scene):
    scene.log_in_by_form()
    log_out(scene, headers=SAME_ORIGIN)


def refresh_with_a_copy(scene):
    tokens = scene.log_in(CREDENTIALS | {"refresh": True}, status=200).json
    copy = {"refresh_token": tokens["refresh_token"]}
    for _ in range(2):
        renewed = {"refresh_token": tokens["refresh_token"]}
        tokens = scene.client.post_json("/auth/refresh", renewed, status=200).json
    scene.client.post_json("/auth/refresh", copy, status=401)


def confirm(fields, scene, status):
    scene.client.post_json("/auth/confirm", fields, headers=scene.bearer(), status=status)


def change_password(current, scene, status):
    fields = {"current_password": current, "new_password": NEW_PASSWORD}
    scene.client.post_json("/auth/password", fields, headers=scene.bearer(), status=status)


def change_password_while_logged_out(scene):
    headers = scene.bearer()
    scene.while_hashing(lambda: sessions.revoke_all(scene.ada))
    fields = {"current_password": PASSWORD, "new_password": NEW_PASSWORD}
    scene.client.post_json("/auth/password", fields, headers=headers, status=401)


def fail_to_log_in(scene):
    for wrong in (UNKNOWN, WRONG):
        scene.log_in(wrong, status=401)
        scene.log_in_by_form(wrong, status=401)
    User.update(is_active=False).execute()
    scene.log_in(status=401)
    scene.log_in(WRONG, status=401)


def be_asked_by_others(scene):
    scene.log_in_by_form(headers=CROSS_SITE, status=403)
    scene.client.post("/auth/register", GRACE, headers=CROSS_SITE, status=403)
    scene.client.get("/auth/logout", headers=CROSS_SITE, status=403)
    scene.client.get("/auth/logout", headers={"Sec-Purpose": "prefetch"}, status=403)


def confirm_rightly_and_wrongly(scene):
    confirm({"password": PASSWORD}, scene, status=200)
    confirm(WRONG, scene, status=401)


def change_password_wrongly_and_rightly(scene):
    change_password("mistyped words", scene, status=401)
    change_password(PASSWORD, scene, status=200)


def ask_in_vain(scene):
    log_out(scene)
    log_out(scene, headers={"Authorization": "Bearer x.y.z"})
    scene.register({**GRACE, "username": USERNAME}, status=409)
    scene.register({**GRACE, "password": "short"}, status=422)
    scene.client.post_json("/auth/login", [], status=400)
    scene.client.get("/auth/me", status=401)


LOGOUT = ("logout", USERNAME, ADDRESS, None)
CROSS_ORIGIN = ("refused", None, ADDRESS, "cross-origin")


OVER_HTTP = [
    pytest.param(
        lambda scene: (scene.log_in(status=200), scene.log_in_by_form(status=303)),
        [LOGIN, LOGIN],
        id="login, JSON and form",
    ),
    pytest.param(
        fail_to_log_in,
        [
            ("login_failed", None, ADDRESS, "no such user"),
            ("login_failed", None, ADDRESS, "no such user"),
            ("login_failed", USERNAME, ADDRESS, "wrong password"),
            ("login_failed", USERNAME, ADDRESS, "wrong password"),
            ("login_failed", USERNAME, ADDRESS, "inactive"),
            ("login_failed", USERNAME, ADDRESS, "wrong password"),
        ],
        id="logins of nobody, with a wrong password and of an inactive user",
    ),
    pytest.param(
        log_in_while_deactivated,
        [("login_failed", USERNAME, ADDRESS, "changed meanwhile")],
        id="user changed while logging in",
    ),
    pytest.param(
        guess_a_name,
        [
            ("login_failed", USERNAME, ADDRESS, "wrong password"),
            ("throttled", None, ADDRESS, "account"),
            ("throttled", None, ADDRESS, "account"),
        ],
        id="account throttled, JSON and form",
    ),
    pytest.param(
        guess_from_an_address,
        [
            ("login_failed", None, ADDRESS, "no such user"),
            ("throttled", None, ADDRESS, "address"),
        ],
        id="address throttled",
    ),
    pytest.param(
        register_too_often,
        [
            ("registration", "Grace", ADDRESS, None),
            ("throttled", None, ADDRESS, "registrations"),
        ],
        id="registrations throttled",
    ),
    pytest.param(
        log_in_while_another_does,
        [("refused", None, OTHER_ADDRESS, "busy"), LOGIN],
        id="busy for too long",
    ),
    pytest.param(
        be_asked_by_others,
        [CROSS_ORIGIN, CROSS_ORIGIN, CROSS_ORIGIN, ("refused", None, ADDRESS, "prefetch")],
        id="login, registration and logout by another site, logout fetched in advance",
    ),
    pytest.param(
        lambda scene: scene.view(permission_required("reports.publish")(echo)),
        [LOGIN, ("refused", USERNAME, ADDRESS, "lacks reports.publish")],
        id="lacking permission",
    ),
    pytest.param(
        lambda scene: log_out(scene, headers=scene.bearer()), [LOGIN, LOGOUT], id="logout, JSON"
    ),
    pytest.param(log_out_by_form, [LOGIN, LOGOUT], id="logout, form"),
    pytest.param(log_in_twice_by_form, [LOGIN, LOGIN, LOGOUT], id="login that replaces a session"),
    pytest.param(
        lambda scene: scene.register(status=201),
        [("registration", "Grace", ADDRESS, None)],
        id="registration, JSON",
    ),
    pytest.param(
        lambda scene: scene.client.post("/auth/register", GRACE, headers=SAME_ORIGIN, status=303),
        [("registration", "Grace", ADDRESS, None), ("login", "Grace", ADDRESS, "pwd")],
        id="registration, form",
    ),
    pytest.param(
        refresh_with_a_copy,
        [LOGIN, ("refresh_reused", USERNAME, ADDRESS, None)],
        id="refresh with a copied token",
    ),
    pytest.param(
        confirm_rightly_and_wrongly,
        [
            *(LOGIN, ("confirmed", USERNAME, ADDRESS, "pwd")),
            *(LOGIN, ("login_failed", USERNAME, ADDRESS, "wrong password")),
        ],
        id="confirmation",
    ),
    pytest.param(
        change_password_wrongly_and_rightly,
        [
            *(LOGIN, ("login_failed", USERNAME, ADDRESS, "wrong password")),
            *(LOGIN, ("password_changed", USERNAME, ADDRESS, None)),
        ],
        id="change of the password",
    ),
    pytest.param(
        change_password_while_logged_out,
        [LOGIN, ("logout", USERNAME, ADDRESS, "all sessions")],
        id="change of the password by a login that ends meanwhile",
    ),
    pytest.param(ask_in_vain, [], id="requests that change nothing"),
]


def insert_with_an_id(scene):
    User(id=7000, **GRACE_IN_CODE).save(force_insert=True)


def save_what_is_gone(scene):
    gone = User.objects.get(id=scene.ada.id)
    User.delete().execute()
    gone.is_staff = True
    gone.save()


def delete_twice(scene):
    scene.ada.delete_instance()
    scene.ada.delete_instance()


def take_a_name(scene):
    accounts.create_user(**GRACE, settings=scene.settings)
    scene.ada.username = "grace"
    scene.ada.is_staff = True
    with pytest.raises(TakenError):
        scene.ada.save()


def break_a_rule(scene):
    scene.ada.username = "a da"
    scene.ada.is_staff = True
    with pytest.raises(ValidationError):
        scene.ada.save()


def break_a_rule_for_passwords(scene):
    with pytest.raises(ValidationError):
        wsgiauth.change_password(scene.ada, "short", settings=scene.settings)


def grant_what_is_no_permission(scene):
    with pytest.raises(ValueError, match="reports"):
        scene.ada.grant("a.b", "reports")


def change_nothing(scene):
    scene.ada.save()
    scene.ada.grant()
    break_a_rule_for_passwords(scene)
    grant_what_is_no_permission(scene)
    break_a_rule(scene)


def change_rights(scene):
    change(is_active=False)(scene)
    change(is_staff=True)(scene)
    change(is_superuser=True)(scene)
    change(is_staff=False)(scene)


def grant_and_revoke(scene):
    scene.ada.revoke("a.a")
    scene.ada.grant("b.b", "a.a")
    scene.ada.grant("a.a")
    scene.ada.revoke("a.a", "b.b")


def change_contacts(scene):
    change(language="de")(scene)
    change(email="augusta@example.org")(scene)
    change(email_verified_at=datetime.now(UTC))(scene)
    change(email_verified_at=None)(scene)


def grant_to_who_is_gone(scene):
    User.delete().execute()
    with pytest.raises(User.DoesNotExist):
        scene.ada.grant("a.b")


def save_only(scene):
    scene.ada.is_staff = scene.ada.is_superuser = True
    scene.ada.save(only=[User.is_staff])


def rights(reason, name=USERNAME):
    return ("rights_changed", name, None, reason)


def fail_to_mail(scene):
    def refuse(_message):
        raise DeliveryError("550", is_final=True)

    outbox = Outbox(with_mail(scene.settings), refuse, COMPOSERS)
    request_reset(outbox, USERNAME, mount="/auth")
    request_reset(outbox, "nobody@example.org", mount="/auth")
    outbox.stop()
    outbox.deliver()


def restore_former_address(scene):
    now = int(time.time())
    former = FormerAddress("former@example.org", "2026-01-01T00:00:00+00:00", "link")
    settings = with_mail(scene.settings)
    mark = mark_change(scene.ada.id, now + 60)
    link = make_restore_link(scene.ada.id, former, mark, settings, mount="/auth", now=now)
    assert restore_address(find_restoration(link.partition("?token=")[2], now=now))


def group_of_editors(scene):
    group = Group.objects.create(name="Blog editors")
    scene.ada.join(group)


IN_CODE = [
    pytest.param(
        group_of_editors,
        [("group_changed", None, None, "created Blog editors"), rights("joined Blog editors")],
        id="group",
    ),
    pytest.param(
        fail_to_mail, [("mail_failed", USERNAME, None, "reset: 550")], id="mail that is refused"
    ),
    pytest.param(
        lambda scene: User.objects.create(**GRACE_IN_CODE),
        [("registration", "Grace", None, None)],
        id="registration",
    ),
    pytest.param(
        lambda scene: User.objects.create(**GRACE_IN_CODE, is_staff=True, is_superuser=True),
        [
            ("registration", "Grace", None, None),
            rights("is_staff on", "Grace"),
            rights("is_superuser on", "Grace"),
        ],
        id="registration of an administrator",
    ),
    pytest.param(
        insert_with_an_id, [("registration", "Grace", None, None)], id="registration with an id"
    ),
    pytest.param(
        lambda scene: wsgiauth.change_password(scene.ada, NEW_PASSWORD, settings=scene.settings),
        [("password_changed", USERNAME, None, None)],
        id="password",
    ),
    pytest.param(
        change(hashed_password=GRACE_IN_CODE["hashed_password"], is_staff=True),
        [("password_changed", USERNAME, None, None), rights("is_staff on")],
        id="hash and right",
    ),
    pytest.param(
        change_rights,
        [rights(f"is_{each}") for each in ("active off", "staff on", "superuser on", "staff off")],
        id="rights",
    ),
    pytest.param(save_only, [rights("is_staff on")], id="one of two rights saved"),
    pytest.param(
        grant_and_revoke,
        [rights(each) for each in ("granted b.b", "granted a.a", "revoked a.a", "revoked b.b")],
        id="permissions, none twice",
    ),
    pytest.param(delete_twice, [("user_deleted", USERNAME, None, None)], id="deletion"),
    pytest.param(
        change(username="Augusta"),
        [("names_changed", "Augusta", None, "username")],
        id="another username",
    ),
    pytest.param(
        change_contacts,
        [
            ("language_changed", USERNAME, None, "de"),
            ("names_changed", USERNAME, None, "email"),
            ("names_changed", USERNAME, None, "email verified"),
            ("names_changed", USERNAME, None, "email not verified"),
        ],
        id="another language and address, proven and not",
    ),
    pytest.param(
        restore_former_address,
        [
            ("names_changed", USERNAME, None, "email"),
            ("address_restored", USERNAME, None, None),
        ],
        id="former e-mail",
    ),
    pytest.param(
        take_a_name, [("registration", "Grace", None, None)], id="name that is taken, and a right"
    ),
    pytest.param(change_nothing, [], id="nothing to save or to grant, and broken rules"),
    pytest.param(grant_to_who_is_gone, [], id="grant to a deleted user"),
    pytest.param(save_what_is_gone, [], id="right of a deleted user"),
]


def create(command, *options):
    names = ("--username", GRACE["username"], "--email", GRACE["email"])
    return lambda scene: scene.command(
        command, *names, *options, "--password-stdin", stdin=GRACE["password"]
    )


def run(*argv, stdin=""):
    return lambda scene: scene.command(*argv, stdin=stdin)


BY_COMMAND = [
    pytest.param(create("createuser"), [("registration", "Grace", None, None)], id="createuser"),
    pytest.param(
        create("createuser", "--staff"),
        [("registration", "Grace", None, None), rights("is_staff on", "Grace")],
        id="createuser --staff",
    ),
    pytest.param(
        create("createsuperuser"),
        [
            ("registration", "Grace", None, None),
            rights("is_staff on", "Grace"),
            rights("is_superuser on", "Grace"),
        ],
        id="createsuperuser",
    ),
    pytest.param(
        run("changepassword", "ada", "--password-stdin", stdin=NEW_PASSWORD),
        [("password_changed", USERNAME, None, None)],
        id="changepassword",
    ),
    pytest.param(
        lambda scene: [scene.command(change, "ada") for change in ("deactivate", "activate")],
        [rights("is_active off"), rights("is_active on")],
        id="deactivate, activate",
    ),
    pytest.param(
        lambda scene: [scene.command(change, "ada", "a.a") for change in ("grant", "revoke")],
        [rights("granted a.a"), rights("revoked a.a")],
        id="grant, revoke",
    ),
    pytest.param(
        lambda scene: (scene.log_in(), scene.log_in(), scene.command("logout", "ada")),
        [LOGIN, LOGIN, ("logout", USERNAME, None, "all sessions")],
        id="logout",
    ),
    pytest.param(
        lambda scene: (scene.log_in(), scene.command("logout", "--all")),
        [LOGIN, ("logout", None, None, "all sessions of all users")],
        id="logout --all",
    ),
    pytest.param(
        lambda scene: (scene.log_in(), scene.command("restored", "--yes")),
        [
            LOGIN,
            (
                "restored",
                None,
                None,
                "0 API keys, 0 waiting emails, 0 one-time secrets, 0 trusted browsers, 1 session,"
                " 0 app grants, 0 consents, 0 devices, 0 authorization requests",
            ),
        ],
        id="restored",
    ),
    pytest.param(
        run("set", "ada", "--username", "Augusta", "--staff"),
        [
            ("names_changed", "Augusta", None, "username"),
            rights("is_staff on", "Augusta"),
        ],
        id="set",
    ),
    pytest.param(
        run("deleteuser", "ada", "--yes"), [("user_deleted", USERNAME, None, None)], id="deleteuser"
    ),
    pytest.param(
        lambda scene: [
            scene.command("activate", "ada"),
            scene.command("logout", "ada"),
            scene.command("logout", "--all"),
            scene.command("users"),
        ],
        [],
        id="commands that change nothing",
    ),
]


OF_FEATURES = [each for cases in features.declared("EVENTS").values() for each in cases]


@pytest.mark.parametrize(("action", "expected"), OVER_HTTP + IN_CODE + OF_FEATURES)
def test_each_event_is_told_once_and_nothing_that_was_typed(scene, logged, action, expected):
    action(scene)
    assert told(scene, scene.heard) == expected
    assert events_of(logged()) == scene.heard
    assert typed_in(logged()) == []


@pytest.mark.parametrize(("action", "expected"), BY_COMMAND)
def test_a_command_tells_the_log_what_it_did_and_nothing_that_was_typed(
    scene, logged, action, expected
):
    action(scene)
    assert told(scene, events_of(logged())) == expected
    assert typed_in(logged()) == []


def test_a_hash_that_is_replaced_by_a_dearer_one_is_no_change_of_password(scene):
    scene.limit(BCRYPT_ROUNDS=5)
    scene.log_in(status=200)
    assert [each.name for each in scene.heard] == ["login"]


def test_each_event_is_in_a_case():
    cases = OVER_HTTP + IN_CODE + BY_COMMAND + OF_FEATURES
    found = {name for case in cases for (name, *_) in case.values[1]}
    for feature in FEATURES:
        missing = {each.name for each in feature.events} - found
        assert not missing, f"add cases to `EVENTS` of {features.place(feature.name)}"
    assert found == LEVELS.keys()


def test_the_source_emits_exactly_the_declared_events():
    sources = [path.read_text("utf-8") for path in Path(wsgiauth.__file__).parent.rglob("*.py")]
    emitted = [
        ast.unparse(call.args[0]).removeprefix("kinds.").lower()
        for source in sources
        if "emit(" in source  # to parse the others takes most of the time
        for call in ast.walk(ast.parse(source))
        if isinstance(call, ast.Call)
        and isinstance(call.func, ast.Attribute | ast.Name)
        and getattr(call.func, "attr", getattr(call.func, "id", "")) == "emit"
    ]
    # The kind of a factor names the event.
    named = {"kind.skipped": "passkey_skipped"}
    assert {named.get(each, each) for each in emitted} == LEVELS.keys()


def test_what_failed_is_a_warning_and_what_was_done_is_none_unless_it_can_be_an_attack():
    for each in KINDS_OF_EVENTS:
        is_warning = isinstance(each, kinds.RefusedAttempt) or each.is_warning
        assert (each.name, each.level == logging.WARNING) == (each.name, is_warning)


def test_each_event_is_declared_once_by_a_name_that_its_column_can_store():
    names = [each.name for each in KINDS_OF_EVENTS]
    assert len(names) == len({*names})
    assert max(map(len, names)) <= RecordedEvent.name.max_length


# Transactions of the application.


def test_what_is_rolled_back_is_not_told(scene, logged):
    with scene.database.atomic() as transaction:
        scene.ada.grant("a.b")
        change(is_staff=True)(scene)
        scene.ada.delete_instance()
        transaction.rollback()
    scene.ada.grant("b.b")
    assert told(scene, scene.heard) == [rights("granted b.b")]
    assert events_of(logged()) == scene.heard


def test_what_is_committed_is_told_then_and_in_order(scene, logged):
    with scene.database.atomic():
        scene.ada.grant("a.b")
        scene.ada.revoke("a.b")
        assert (scene.heard, logged()) == ([], [])
    assert told(scene, scene.heard) == [rights("granted a.b"), rights("revoked a.b")]
    assert events_of(logged()) == scene.heard


def test_what_is_refused_is_told_even_if_a_transaction_is_rolled_back(scene):
    def roll_back(environ, start_response):
        with scene.database.atomic() as transaction:
            answer = permission_required("a.b")(echo)(environ, start_response)
            transaction.rollback()
            return answer

    scene.view(roll_back)
    assert told(scene, scene.heard) == [LOGIN, ("refused", USERNAME, ADDRESS, "lacks a.b")]


# Recorders.


@pytest.fixture
def recorded(scene):
    """Return what a recorder is called with; it fails while `.fails` is set."""

    class Recorded(list):
        fails = False

        def __call__(self, event, details):
            self.append((event.name, scene.database.in_transaction()))
            if self.fails:
                raise RuntimeError

    called = Recorded()
    events.record(scene.database, [called])
    yield called
    events.record(scene.database, [])


CHANGES_IN_CODE = {
    "user_deleted": lambda user: user.delete_instance(),
    "rights_changed": lambda user: user.grant("a.b"),
    "rights_changed ": lambda user: accounts.update_user(user, is_staff=True),
    "language_changed": lambda user: accounts.update_user(user, language="de"),
    "names_changed": lambda user: accounts.update_user(user, username="Other"),
    "logout": lambda user: sessions.revoke_all(user),
}


def test_a_change_is_recorded_in_its_transaction_or_not_made(scene, recorded):
    scene.log_in()
    recorded.fails = True
    for name, change_in_code in CHANGES_IN_CODE.items():
        with pytest.raises(RuntimeError):
            change_in_code(User.get_by_id(scene.ada.id))
        assert recorded[-1] == (name.strip(), True)
        user = User.get_by_id(scene.ada.id)
        left = (user.username, user.permissions, user.sessions.count())
        assert (name, *left) == (name, USERNAME, frozenset(), 1)
        assert (user.is_staff, user.language) == (False, scene.ada.language)
        assert told(scene, scene.heard)[-1][0] == "login"


# The log.


def test_an_event_is_one_line_of_pairs_with_the_time_in_utc(scene, logged):
    scene.log_in()
    (record,) = logged()
    assert (record.name, record.levelno) == ("wsgiauth", logging.INFO)
    line = (
        rf"time=(\S+)Z event=login user_id={scene.ada.id} address={ADDRESS} reason=pwd"
        rf' actor="user {scene.ada.id}"'
    )
    (time,) = re.fullmatch(line, record.getMessage()).groups()
    now = datetime.now(UTC).replace(tzinfo=None)
    assert timedelta() <= now - datetime.fromisoformat(time) < timedelta(minutes=5)
    assert scene.heard[0].time.utcoffset() == timedelta()


def test_the_name_of_a_group_cannot_add_another_pair(scene, logged):
    Group.objects.create(name='a" event=login user_id=1')
    (record,) = logged()
    assert r' reason="created a\" event=login user_id=1" actor=' in record.getMessage()


def test_an_event_is_logged_at_its_level(logged):
    for kind in KINDS_OF_EVENTS:
        events.emit(kind)
    assert [(record.event, record.levelno) for record in logged()] == [*LEVELS.items()]


def test_a_json_formatter_finds_every_field(scene, logged):
    class JSONFormatter(logging.Formatter):
        def format(self, record):
            names = ("event", "user_id", "address", "reason", "actor")
            return json.dumps({name: getattr(record, name) for name in names})

    scene.log_in(WRONG)
    (record,) = logged()
    assert json.loads(JSONFormatter().format(record)) == {
        "event": "login_failed",
        "user_id": scene.ada.id,
        "address": ADDRESS,
        "reason": "wrong password",
        "actor": None,
    }


def test_what_an_operator_can_do_is_in_the_log_alone(scene, logged):
    events.emit(kinds.THROTTLED, reason="x", remedy="Wait.")
    events.emit(kinds.THROTTLED, reason="x")
    first, second = logged()
    assert first.getMessage().endswith(" reason=x actor=code remedy=Wait.")
    assert (first.remedy, hasattr(second, "remedy")) == ("Wait.", False)
    assert second.getMessage().endswith(" reason=x actor=code")
    assert [str(each).endswith("actor=code") for each in scene.heard] == [True, True]


PAIR = r'(\w+)=("(?:[^"\\]|\\.)*"|[^\s"]+)'


def pairs_of(line):
    """Return what a reader of `key=value` lines makes of one."""
    assert re.fullmatch(f"{PAIR}(?: {PAIR})*", line)
    return {
        key: json.loads(value) if value[0] == '"' else None if value == "-" else value
        for key, value in re.findall(PAIR, line)
    }


ADDRESSES = [
    "192.0.2.7",  # IPv4
    "2001:db8::7%eth0",  # IPv6 with a zone
    "",  # empty
    "-",  # dash
    "192.0.2.7\r\ntime=2026-01-01T00:00:00Z event=login",  # CR and LF
    "192.0.2.7 user_id=1 reason=-",  # pairs
    '192.0.2.7" user_id="1',  # quotes and a pair
    '\\" user_id=1 reason=\\"',  # backslashes, quotes and a pair
    "192.0.2.7\\",  # backslash at the end
    "\x1b[2K\x1b[1A192.0.2.7",  # escape sequence
    "\x9b31m\x85\x0b\x0c\x1c\x7f\0\t\b",  # other control characters
    "192.0.2.7\u2028\u2029\u202e\ufeff",  # separators and directions
    "żółw\u3000\U0001f422",  # letters and spaces of other scripts
    "\u0661\u0662\u0663",  # digits of another script
    "\udcff",  # surrogate
    "%s %(event)s {event}",  # placeholders
]


def test_no_address_breaks_the_line_or_passes_for_another_pair(scene, logged):
    headers = scene.bearer()
    scene.app = permission_required("a.b")(echo)
    for address in ADDRESSES:
        request = webob.Request.blank("/", headers=headers, environ={"REMOTE_ADDR": address})
        request.get_response(scene.site)
        line = logged()[-1].getMessage()
        assert re.fullmatch("[ -~]+", line)
        assert {**pairs_of(line), "time": ""} == {
            "time": "",
            "event": "refused",
            "user_id": str(scene.ada.id),
            "address": address,
            "reason": "lacks a.b",
            "actor": f"user {scene.ada.id}",
        }
        assert (scene.heard[-1].address, logged()[-1].address) == (address, address)


def test_a_server_that_tells_no_address_is_no_trouble(scene, logged):
    environ = webob.Request.blank("/auth/logout?", headers={"Purpose": "prefetch"}).environ
    assert "REMOTE_ADDR" not in environ
    scene.site(environ, lambda status, headers: None)
    assert told(scene, scene.heard) == [("refused", None, None, "prefetch")]
    assert pairs_of(logged()[0].getMessage())["address"] is None


def test_an_event_outside_any_site_is_logged_all_the_same(scene, logged):
    Context().run(events.emit, kinds.REFUSED, reason="busy")
    assert [(each.event, each.reason) for each in logged()] == [("refused", "busy")]
    assert scene.heard == []


# Those who listen.


def test_several_subscribers_are_called_in_order(scene):
    calls = []
    first, second = (lambda event, n=n: calls.append((n, event)) for n in (1, 2))
    site = AuthMiddleware(echo, scene.settings, on_event=iter([first, second]))
    for _ in range(2):
        scene.client_of(site).post_json("/auth/login", UNKNOWN, status=401)
    assert [number for number, _ in calls] == [1, 2, 1, 2]
    assert all(type(event) is events.Event for _, event in calls)
    assert calls[0][1] is calls[1][1]


def test_a_subscriber_that_fails_is_logged_once_and_changes_nothing(scene, caplog):
    def fail(event):
        raise LookupError("the subscriber's own")

    after = []
    site = AuthMiddleware(echo, scene.settings, on_event=[fail, after.append])
    caplog.clear()
    answer = scene.client_of(site).post_json("/auth/login", CREDENTIALS, status=200)
    headers = {"Authorization": f"Bearer {answer.json['access_token']}"}
    assert scene.client.get("/", headers=headers).json["user"] == USERNAME
    assert [event.name for event in after] == ["login"]
    (record,) = (each for each in caplog.records if each.levelno >= logging.ERROR)
    assert record.getMessage() == "a subscriber failed on the event login"
    assert record.exc_info[0] is LookupError
    assert "the subscriber's own" in caplog.text


def test_a_subscriber_that_fails_rolls_nothing_back(scene):
    def fail(event):
        raise LookupError

    site = AuthMiddleware(echo, scene.settings, on_event=fail)
    scene.client_of(site).post_json("/auth/register", GRACE, status=201)
    with storage.current().atomic():
        User.objects.get(username="Grace").grant("a.b")
    assert User.objects.get(username="Grace").permissions == {"a.b"}


def test_a_subscriber_may_ask_and_change_the_database(scene):
    def revoke_at_once(event):
        scene.heard.append(event)
        if event.reason == "granted a.b":
            User.objects.get(id=event.user_id).revoke("a.b")

    AuthMiddleware(echo, scene.settings, on_event=revoke_at_once)
    with storage.current().atomic():
        User.objects.get(id=scene.ada.id).grant("a.b")
    assert told(scene, scene.heard) == [rights("granted a.b"), rights("revoked a.b")]
    assert scene.ada.permissions == frozenset()


def test_what_cannot_be_called_is_no_subscriber(settings):
    for on_event in ("print", [print, None], {"login": print}):
        with pytest.raises(ConfigurationError, match="on_event must be a function"):
            AuthMiddleware(echo, settings, on_event=on_event)


@pytest.fixture
def other(scene, tmp_path):
    """Return another site of the same process."""
    settings = replace(scene.settings, DATABASE_URL=f"sqlite:///{tmp_path}/other.db")
    made = Scene(settings, scene.monkeypatch)
    made.heard.clear()
    yield made
    storage.discard_connection(made.database)


def test_two_sites_hear_of_their_own_accounts_only(scene, other):
    scene.log_in()
    other.log_in(WRONG)
    scene.ada.grant("a.b")
    other.ada.grant("c.d")
    assert told(scene, scene.heard) == [LOGIN, rights("granted a.b")]
    assert [(each.name, each.reason) for each in other.heard] == [
        ("login_failed", "wrong password"),
        ("rights_changed", "granted c.d"),
    ]


def test_a_user_of_another_site_is_that_sites_affair(scene, other):
    asked = []

    def grant_elsewhere(environ, start_response):
        with other.database.atomic():
            other.ada.grant("c.d")
        return echo(environ, start_response)

    AuthMiddleware(echo, other.settings)  # what was opened last is yet another one
    events.subscribe(other.database, [lambda event: asked.append(storage.current())])
    scene.view(grant_elsewhere)
    assert told(scene, scene.heard) == [LOGIN]
    assert asked == [other.database]


def in_a_thread(action):
    """Return what `action` returns in a thread that knows nothing of this one."""

    def act():
        try:
            return action()
        finally:
            storage.discard_connection(storage.current())

    with ThreadPoolExecutor(1) as thread:
        return thread.submit(act).result()


def test_code_outside_requests_is_heard_from_any_thread(scene):
    in_a_thread(lambda: User.objects.get(id=scene.ada.id).grant("a.b"))
    in_a_thread(lambda: change(is_staff=True)(scene))
    in_a_thread(lambda: User.objects.get(id=scene.ada.id).delete_instance())
    assert told(scene, scene.heard) == [
        rights("granted a.b"),
        rights("is_staff on"),
        ("user_deleted", USERNAME, None, None),
    ]


# The address.


def test_what_the_application_does_in_a_request_has_the_requests_address(scene):
    def grant(environ, start_response):
        environ["wsgiauth.user"].grant("a.b")
        return echo(environ, start_response)

    scene.view(grant)
    assert told(scene, scene.heard) == [LOGIN, ("rights_changed", USERNAME, ADDRESS, "granted a.b")]


def test_a_request_leaves_no_address_behind(scene):
    scene.client.get("/")
    scene.log_in()
    scene.ada.grant("a.b")
    assert scene.heard[-1].address is None


def test_an_application_that_fails_leaves_no_address_behind(scene):
    def fail(environ, start_response):
        raise LookupError

    with pytest.raises(LookupError):
        scene.view(fail)
    scene.ada.grant("a.b")
    assert scene.heard[-1].address is None


def test_a_request_within_a_request_leaves_the_outer_address_behind(scene):
    inner = scene.client_of(scene.site, OTHER_ADDRESS)

    def ask_within(environ, start_response):
        inner.post_json("/auth/login", UNKNOWN, status=401)
        environ["wsgiauth.user"].grant("a.b")
        return echo(environ, start_response)

    scene.view(ask_within)
    assert [each.address for each in scene.heard] == [ADDRESS, OTHER_ADDRESS, ADDRESS]


def test_threads_never_see_each_others_address(scene):
    together = threading.Barrier(4, timeout=60)

    def wait(environ, start_response):
        together.wait()
        return permission_required(f"a.{environ['QUERY_STRING']}")(echo)(environ, start_response)

    headers = scene.bearer()
    scene.app = wait

    def ask(number):
        try:
            client = scene.client_of(scene.site, f"192.0.2.{number}")
            client.get(f"/?n{number}", headers=headers, status=403)
        finally:
            storage.discard_connection(scene.database)

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(ask, range(4)))
    refused = {(each.address, each.reason) for each in scene.heard[1:]}
    assert refused == {(f"192.0.2.{number}", f"lacks a.n{number}") for number in range(4)}


def test_sessions_that_have_ended_are_not_ended_again(scene):
    assert sessions.revoke_all(scene.ada) == 0
    sessions.revoke("no-such-session", scene.ada)
    assert scene.heard == []
