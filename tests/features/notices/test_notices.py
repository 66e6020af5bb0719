"""Notices: who is told what, and that a mail is committed with what it tells, or not at all."""

import gc
import json
import re
import threading
import time
import weakref
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from urllib.parse import urlsplit

import pytest
from webtest import TestApp

from tests.conftest import insert_user
from tests.support.authenticators import Authenticator, add_passkey
from tests.support.declared import CHANGES as KINDS
from tests.support.declared import WAYS_IN
from tests.support.factors import add_app
from tests.support.identities import account
from tests.support.keys import make_key
from tests.support.mails import MAIL, Post, with_mail
from tests.support.sites import EMAIL, PASSWORD, USERNAME, echo
from wsgiauth import AuthMiddleware, User, change_password, events, storage
from wsgiauth.accounts import NewAccount, create_user, delete_user, update_user
from wsgiauth.accounts.tables import OneTimeSecret
from wsgiauth.authentication import sessions
from wsgiauth.authentication.restoring import find_restoration
from wsgiauth.authentication.ways_in import WaysIn
from wsgiauth.cli import main
from wsgiauth.events import actors, record
from wsgiauth.exceptions import ConfigurationError
from wsgiauth.features.factors import factors, recovery_codes
from wsgiauth.features.notices.notices import SAMPLES, TEMPLATES, Notices
from wsgiauth.features.providers import identities
from wsgiauth.features.providers.provider_logins import disconnect as disconnect_identity
from wsgiauth.languages.dates import moment_in_words
from wsgiauth.mail.letters import plain_text_of, secret_in
from wsgiauth.mail.outbox import Mail
from wsgiauth.mail.site_outbox import make_outbox
from wsgiauth.testing import logged_in
from wsgiauth.web.clients import Client

ADDRESS = "192.0.2.7"
NEW_PASSWORD = "other unrelated birds"
NEW_EMAIL = "lovelace@example.net"
FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:147.0) Gecko/20100101 Firefox/147.0"
SAFARI = "Mozilla/5.0 (iPhone; CPU iPhone OS 26_0) Version/26.0 Mobile Safari/604.1"


@pytest.fixture
def post():
    return Post()


@pytest.fixture
def changes():
    """Return the settings that a test changes."""
    return {}


@pytest.fixture
def site(settings, post, changes, unsent):
    """Return a site whose mails are sent when `deliver` says so."""
    made = AuthMiddleware(echo, replace(with_mail(settings), **changes), send_mail=post)
    yield made
    storage.discard_connection(made.database)


@pytest.fixture
def deliver(site, post):
    """Return a function that sends what is due and returns the recipients, sorted."""

    def send():
        post.messages.clear()
        assert site.site.outbox.deliver() is None
        return sorted(post.recipients)

    return send


def log_in(client, password=PASSWORD, *, address=ADDRESS, agent=FIREFOX, **fields):
    return client.post_json(
        "/auth/login",
        {"username": USERNAME, "password": password, **fields},
        headers={"User-Agent": agent},
        extra_environ={"REMOTE_ADDR": address},
    ).json


def change_over_http(client, user):
    bearer = {"Authorization": f"Bearer {log_in(client)['access_token']}"}
    fields = {"current_password": PASSWORD, "new_password": NEW_PASSWORD}
    client.post_json(
        "/auth/password", fields, headers=bearer, extra_environ={"REMOTE_ADDR": ADDRESS}
    )


def replay(client):
    """Send a refresh token twice too often."""
    pairs = [log_in(client, refresh=True)]
    for status in (200, 200, 401):
        sent = {"refresh_token": pairs[-1 if status == 200 else 0]["refresh_token"]}
        environ = {"REMOTE_ADDR": "192.0.2.66"}
        pairs.append(
            client.post_json("/auth/refresh", sent, status=status, extra_environ=environ).json
        )


def body(post):
    (message,) = post.messages
    return " ".join(plain_text_of(message).split())


def time_of(message):
    return next(
        line.removeprefix("When: ")
        for line in plain_text_of(message).splitlines()
        if line.startswith("When: ")
    )


# What is told, and to whom


CHANGES = {
    "password_changed": lambda user, settings: change_password(
        user, NEW_PASSWORD, settings=settings
    ),
    "names_changed": lambda user, settings: update_user(user, email=NEW_EMAIL),
    "user_deleted": lambda user, settings: delete_user(user),
    "key_created": lambda user, settings: User.get_or_none(id=user.id) and make_key(user),
}
SUBJECTS = {
    "password_changed": "Your password for example.org was changed",
    "names_changed": "Your email address for example.org was changed",
    "user_deleted": "Your account at example.org was deleted",
    "key_created": "A new API key for your account at example.org",
}
RECIPIENTS = {name: [EMAIL] for name in CHANGES} | {"names_changed": sorted([EMAIL, NEW_EMAIL])}


@pytest.mark.every_database
@pytest.mark.promise(34)
@pytest.mark.parametrize("is_verified", [True, False], ids=["verified", "not verified"])
def test_a_change_is_told_to_the_addresses_that_were_stored(
    site, settings, deliver, post, is_verified
):
    for name, change in CHANGES.items():
        user = insert_user(USERNAME, EMAIL)
        if is_verified:
            update_user(user, email_verified_at=datetime.now(UTC))
        change(user, settings)
        assert deliver() == RECIPIENTS[name]
        assert {each["Subject"] for each in post.messages} == {SUBJECTS[name]}
        for message in post.messages:
            # An address that is not verified can be a stranger's, whom the user tells something.
            names_user = is_verified and message["To"] == EMAIL
            assert (f"account {USERNAME}" in plain_text_of(message)) is names_user
            assert (USERNAME in plain_text_of(message)) is names_user
            assert re.fullmatch(r"\d\d? [A-Z][a-z]+ \d{4} at \d\d:\d\d UTC", time_of(message))
            assert "IP address: " not in plain_text_of(message)  # code has no address
        User.delete().execute()


@pytest.mark.every_database
def test_a_change_that_is_rolled_back_leaves_no_mail(site, ada, settings):
    for change in CHANGES.values():
        with site.database.atomic() as transaction:
            change(User.get(), settings)
            assert Mail.select().exists()
            transaction.rollback()
        assert not Mail.select().exists()


@pytest.mark.every_database
def test_without_its_mail_a_change_is_not_made(site, ada, settings, monkeypatch):
    def fail(*_, **__):
        raise RuntimeError

    monkeypatch.setattr("wsgiauth.features.notices.notices.enqueue", fail)
    for change in CHANGES.values():
        with pytest.raises(RuntimeError):
            change(User.get(), settings)
        (stored,) = User.select()
        assert (stored.email, stored.security_stamp) == (EMAIL, 0)


@pytest.mark.promise(54)
@pytest.mark.every_database
def test_the_owners_change_is_told_with_the_clients_address(client, ada, deliver, post):
    change_over_http(client, ada)
    (row,) = Mail.select()  # which has no secret
    assert row.user_id is None
    assert json.loads(row.data).keys() == {
        "address",
        "at",
        "browser",
        "email",
        "factor",
        "mount",
        "provider",
        "reason",
        "time",
        "user_id",
        "username",
    }
    assert deliver() == [EMAIL]
    assert f"IP address: {ADDRESS}" in body(post)
    assert post.links == ["https://example.org/auth/forgot"]


def test_the_link_leads_to_where_the_site_is_mounted(settings, post, unsent, database):
    made = with_mail(settings, PUBLIC_URL="https://example.org/shop/")
    site = AuthMiddleware(echo, made, mount="/users", send_mail=post)
    ada = create_user(USERNAME, EMAIL, PASSWORD, settings=settings)
    change_password(ada, NEW_PASSWORD, settings=settings)
    site.site.outbox.deliver()
    assert post.links == ["https://example.org/shop/users/forgot"]
    storage.discard_connection(site.database)


@pytest.mark.promise(34)
@pytest.mark.every_database
def test_a_thief_who_changes_the_address_next_stops_no_notice(site, ada, settings, deliver, post):
    change_password(ada, NEW_PASSWORD, settings=settings)
    update_user(ada, email=NEW_EMAIL)
    delete_user(ada)
    deliver()
    to_owner = {each["Subject"] for each in post.messages if each["To"] == EMAIL}
    assert to_owner == {SUBJECTS["password_changed"], SUBJECTS["names_changed"]}


@pytest.mark.promise(34)
def test_a_new_address_that_is_verified_is_told_the_name(site, ada, deliver, post):
    update_user(ada, email=NEW_EMAIL, email_verified_at=datetime.now(UTC))
    deliver()
    named = {each["To"]: USERNAME in plain_text_of(each) for each in post.messages}
    assert named == {EMAIL: False, NEW_EMAIL: True}


@pytest.mark.every_database
@pytest.mark.promise(34)
def test_the_old_address_is_the_stored_one_even_if_the_object_is_stale(site, ada, deliver):
    stale = User.get_by_id(ada.id)
    update_user(ada, email=NEW_EMAIL)
    deliver()
    update_user(stale, email="third@example.net")
    assert deliver() == [NEW_EMAIL, "third@example.net"]
    ada.email = EMAIL  # not saved
    ada.delete_instance()
    assert deliver() == ["third@example.net"]


def test_an_address_that_is_saved_again_or_a_user_who_is_deleted_gets_no_notice(site, ada):
    update_user(ada, email=EMAIL)
    assert not Mail.select().exists()
    delete_user(ada)
    Mail.delete().execute()
    events.emit(KINDS["factor_guessed"], user_id=ada.id)
    assert not Mail.select().exists()


def test_of_many_new_keys_a_few_are_told_but_each_that_a_command_makes(site, ada, settings):
    for _ in range(7):
        make_key(ada)
    assert Mail.select().count() == 5
    record(site.database, [Notices(replace(with_mail(settings), SECRET_KEY=None))])  # a command's
    make_key(ada)
    assert Mail.select().count() == 6


def test_no_other_change_is_told(site, client, ada, settings):
    update_user(ada, username="Countess", is_staff=True)
    ada.grant("a.b")
    update_user(ada, username=USERNAME)
    log_in(client)
    log_in(client, agent=SAFARI, address="198.51.100.1")
    sessions.revoke_all(User.get_by_id(ada.id))
    sessions.revoke_every_session()
    assert not Mail.select().exists()


def test_a_rehash_at_the_login_is_no_new_password(site, ada, settings):
    dearer = TestApp(AuthMiddleware(echo, with_mail(settings, BCRYPT_ROUNDS=5), send_mail=Post()))
    before = User.get_by_id(ada.id).hashed_password
    log_in(dearer)
    assert User.get_by_id(ada.id).hashed_password != before
    assert not Mail.select().exists()
    storage.discard_connection(storage.current())


def test_a_registration_is_not_told(client, site):
    fields = {"username": "Grace", "email": "grace@example.org", "password": PASSWORD}
    client.post_json("/auth/register", fields)
    assert [each.kind for each in Mail.select()] == ["address"]  # the link alone


def test_a_site_without_mail_records_none(settings, database):
    site = AuthMiddleware(echo, settings)
    ada = create_user(USERNAME, EMAIL, PASSWORD, settings=settings)
    change_password(ada, NEW_PASSWORD, settings=settings)
    assert not Mail.select().exists()
    storage.discard_connection(site.database)


# Which factor


SHOWN_NAMES = ["Phone", "O'Neil's Pixel 10, blue"]
HIDDEN_NAMES = [
    "=?utf-8?q?=0ABcc:x?=",  # could be a header
    "evil.example",
    "<b>%(time)s",
    "Phone”: not you? Call now",  # could be a sentence of ours
    "Phone 0800 12345",
]


@pytest.mark.promise(34)
@pytest.mark.parametrize("is_proven", [True, False])
def test_a_notice_names_the_app_to_a_proven_address(site, ada, deliver, post, is_proven):
    if is_proven:
        update_user(ada, email_verified_at=datetime.now(UTC))
    for name in (*SHOWN_NAMES, *HIDDEN_NAMES):
        add_app(site, ada, name)
        factors.remove(ada)
        deliver()
        is_shown = is_proven and name in SHOWN_NAMES
        which = f"Which: authenticator app “{name}”" if is_shown else "Which: authenticator app"
        for message in post.messages:
            assert which in plain_text_of(message).splitlines()
            assert name not in message["Subject"]
        assert [each["Subject"].partition(" at ")[0] for each in post.messages] == [
            "New two-step verification method",
            "Two-step verification method removed",
        ]


@pytest.mark.every_database
@pytest.mark.parametrize("changes", [{"PASSKEYS": True}])
def test_a_notice_names_all_passkeys_that_were_removed_at_once(site, ada, deliver, post):
    update_user(ada, email_verified_at=datetime.now(UTC))
    for name in ("Laptop", "Key"):
        browser = Authenticator()
        browser.origin, browser.host = MAIL["PUBLIC_URL"], urlsplit(MAIL["PUBLIC_URL"]).hostname
        add_passkey(site, ada, name, browser)
    deliver()
    which = [plain_text_of(each).partition("Which: ")[2].split("\n")[0] for each in post.messages]
    assert sorted(which) == ["passkey “Key”", "passkey “Laptop”"]
    factors.remove_all(ada)
    deliver()
    assert re.search("Which: passkey “(Laptop, Key|Key, Laptop)”", body(post))


def test_a_notice_says_which_browser_became_trusted_and_that_recovery_codes_are_new(
    site, ada, deliver, post
):
    details = {"agent": FIREFOX}
    for _ in range(6):
        events.emit(KINDS["trust_given"], user_id=ada.id, details=details)
    assert deliver() == [EMAIL] * 5
    assert post.messages[0]["Subject"] == "Trusted browser at example.org"
    assert "With: Firefox on Linux" in plain_text_of(post.messages[0])
    recovery_codes.replace(ada, rounds=4)
    deliver()
    assert "Which: new recovery codes" in body(post)


# Which app


ALLOWED = {"client": "Wiki", "scopes": "email openid reports.publish"}
FOOT = f"example.org sent this email to {EMAIL} to protect an account there."


@pytest.mark.promise(90)
def test_the_owner_is_told_which_app_can_do_what(site, ada, deliver, post):
    update_user(ada, email_verified_at=datetime.now(UTC))
    for _ in range(6):
        events.emit(KINDS["consent_given"], user_id=ada.id, details=ALLOWED)
    assert deliver() == [EMAIL] * 5
    assert post.messages[0]["Subject"] == "An app can use your account at example.org"
    text = plain_text_of(post.messages[0])
    assert text.startswith(f"The account {USERNAME} at example.org was used to log in to an app")
    lines = ["Recognize you when you log in again", "See your email address"]
    lines += ["Use your permission reports.publish"]
    assert re.findall("^- (.*)", text, re.MULTILINE) == lines
    assert "\nApp: Wiki\n" in text
    end = f"“Apps that use your account”:\n\nhttps://example.org/auth/apps\n\n{FOOT}\n"
    assert text.endswith(end)


def test_a_notice_of_an_app_has_no_link_if_the_mount_is_not_known(
    site, ada, deliver, post, settings
):
    record(site.database, [Notices(with_mail(settings))])  # a command's
    events.emit(KINDS["consent_given"], user_id=ada.id, details=ALLOWED)
    deliver()
    assert body(post).endswith(f"on the page “Apps that use your account”. {FOOT}")
    assert "/auth/" not in body(post)


@pytest.mark.promise(94)
@pytest.mark.parametrize("has_page", [True, False])
def test_the_owner_is_told_of_each_device(site, ada, deliver, post, settings, has_page):
    if not has_page:
        record(site.database, [Notices(with_mail(settings))])  # a command's
    update_user(ada, email_verified_at=datetime.now(UTC) if has_page else None)
    events.emit(
        KINDS["device_allowed"], user_id=ada.id, details={"client": "TV", "scopes": "email"}
    )
    assert deliver() == [EMAIL]
    assert post.messages[0]["Subject"] == "A device can use your account at example.org"
    sentence = "was used to log in to an app on a device. It can: - See your email address"
    assert sentence in body(post)
    assert ("App: TV" in body(post)) is has_page
    end = ": https://example.org/auth/apps" if has_page else "."
    advice = f"revoke the app, on the page “Apps that use your account”{end}"
    assert body(post).endswith(f"{advice} {FOOT}")


OFFLINE = {"client": "Wiki", "client_host": "", "scopes": "offline_access openid"}


@pytest.mark.promise(90)
@pytest.mark.parametrize(
    "first", ["offline_access_given", "consent_given", "device_allowed"], ids=str
)
def test_the_owner_is_told_of_lasting_access_once_in_an_hour_for_an_app(
    site, ada, deliver, post, first
):
    update_user(ada, email_verified_at=datetime.now(UTC))

    def give(name, client_id="wiki"):
        events.emit(KINDS[name], user_id=ada.id, reason=client_id, details=OFFLINE)
        return deliver()

    assert give(first) == [EMAIL]
    assert give("offline_access_given") == []
    assert give("offline_access_given", "another") == [EMAIL]
    assert "- Keep this access after you log out here" in plain_text_of(post.messages[-1])
    assert "\nApp: Wiki\n" in plain_text_of(post.messages[-1])


def test_a_consent_without_lasting_access_does_not_hide_a_later_one(site, ada, deliver):
    events.emit(KINDS["consent_given"], user_id=ada.id, reason="wiki", details=ALLOWED)
    events.emit(KINDS["offline_access_given"], user_id=ada.id, reason="wiki", details=OFFLINE)
    assert deliver() == [EMAIL] * 2


@pytest.mark.parametrize("is_proven", [True, False])
def test_a_notice_names_an_app_that_registered_itself_by_its_host(
    site, ada, deliver, post, is_proven
):
    update_user(ada, email_verified_at=datetime.now(UTC) if is_proven else None)
    details = {**OFFLINE, "client": "Your bank", "client_host": "editor.example"}
    events.emit(KINDS["consent_given"], user_id=ada.id, details=details)
    deliver()
    assert "bank" not in body(post)
    assert ("App: editor.example" in body(post)) is is_proven


def test_an_app_without_scopes_knows_that_there_is_an_account(site, ada, deliver, post):
    events.emit(KINDS["consent_given"], user_id=ada.id, details={**ALLOWED, "scopes": ""})
    assert deliver() == [EMAIL]
    assert "can now: - Know that you have an account here When:" in body(post)


@pytest.mark.promise(88)
@pytest.mark.parametrize(
    ("changes", "advice"),
    [
        ({}, "If you do not know it, choose a new password now"),
        ({"PASSWORD_LOGIN": False, "LOGIN_CODES": True}, "revoke the sessions that you do not"),
    ],
    ids=["passwords", "no passwords"],
)
def test_the_owner_is_told_of_a_token_of_an_app_that_was_used_twice(
    site, ada, deliver, post, advice
):
    update_user(ada, email_verified_at=datetime.now(UTC))
    for _ in range(6):
        events.emit(KINDS["grant_reused"], user_id=ada.id, details={"client": "Wiki"})
    assert deliver() == [EMAIL] * 5
    assert post.messages[0]["Subject"] == "An app was logged out at example.org for safety"
    text = plain_text_of(post.messages[0])
    assert "\nApp: Wiki\n" in text
    assert "If you use the app, log in to it again." in text
    assert advice in text


@pytest.mark.parametrize(
    ("name", "is_proven"),
    [
        pytest.param("wiki.example.org", True, id="like a link"),
        pytest.param("call 0800 12345", True, id="a telephone number"),
        pytest.param("Wiki", False, id="an address that is not proven"),
    ],
)
@pytest.mark.parametrize("event", ["consent_given", "device_allowed", "grant_reused"])
def test_a_notice_does_not_name_such_an_app(site, ada, deliver, post, event, name, is_proven):
    update_user(ada, email_verified_at=datetime.now(UTC) if is_proven else None)
    events.emit(KINDS[event], user_id=ada.id, details={**ALLOWED, "client": name})
    deliver()
    assert "App:" not in body(post)
    assert name not in body(post)


# Which provider


PROVIDERS = {"OIDC_PROVIDERS": ("example:https://id:secret@accounts.example.com?title=My+Firm",)}


@pytest.mark.promise(34)
@pytest.mark.parametrize(
    ("changes", "shown"),
    [
        pytest.param(PROVIDERS, "My Firm", id="the title of the entry"),
        pytest.param({}, "example", id="the name without an entry"),
    ],
)
def test_the_owner_is_told_of_a_provider_but_not_what_it_calls_the_user(
    site, ada, deliver, post, shown
):
    external = account(name="call 0800 12345", username="evil")
    for is_proven in (False, True):
        if is_proven:
            update_user(ada, email_verified_at=datetime.now(UTC))
        row = identities.connect(ada, external, 2_000_000_000)
        disconnect_identity(ada, row.handle, WaysIn(WAYS_IN, site.site.settings))
        assert deliver() == [EMAIL] * 2
        assert [each["Subject"].partition(" at ")[0] for each in post.messages] == [
            "New way to log in",
            "Way to log in removed",
        ]
        for message in post.messages:
            text = plain_text_of(message)
            assert f"an account at {shown}, which" in text
            assert (f"account {USERNAME}" in text) is is_proven
            assert not re.search("0800|evil|example.com|s-1", text)


def test_a_user_who_registers_with_a_provider_gets_no_notice(site, settings):
    new = NewAccount("Grace", "grace@example.org", None, settings=settings)
    identities.register(new, account(), 2_000_000_000)
    assert not Mail.select().exists()


# What could be read as a link is not shown


LIKE_LINKS = [
    "evil.example/now",
    "https:evil",
    "evil.example",
    "www.evil.example",
    "evil\N{FULLWIDTH FULL STOP}example",
    "evil\N{IDEOGRAPHIC FULL STOP}example",
    "evil\N{HALFWIDTH IDEOGRAPHIC FULL STOP}example",
    "localhost\N{FULLWIDTH SOLIDUS}now",
]


@pytest.mark.promise(34)
def test_a_name_that_looks_like_a_link_is_not_shown(site, ada, settings, deliver, post):
    update_user(ada, email_verified_at=datetime.now(UTC))
    for username in LIKE_LINKS:
        update_user(ada, username=username)
        change_password(ada, NEW_PASSWORD, settings=settings)
        deliver()
        (told,) = post.messages
        assert username not in str(told)
        assert "our account" in plain_text_of(told)
    for change in CHANGES.values():
        change(ada, settings)
    deliver()
    assert len(post.messages) == 4
    for message in post.messages:
        assert LIKE_LINKS[-1] not in str(message)
        assert "our account" in plain_text_of(message)


@pytest.mark.promise(34)
def test_only_an_address_is_shown_as_one(client, ada, deliver, post):
    shown = {
        "2001:db8::7": "IP address: 2001:db8::7",
        "[2001:db8::7]:8000": "IP address: 2001:db8::7",
        "fe80::1%evil.example/x": "IP address: fe80::1 ",
        "https://evil.example": None,
        "": None,
    }
    token, passwords = log_in(client)["access_token"], [PASSWORD, NEW_PASSWORD]
    for remote, expected in shown.items():
        fields = {"current_password": passwords[0], "new_password": passwords[1]}
        token = client.post_json(
            "/auth/password",
            fields,
            headers={"Authorization": f"Bearer {token}"},
            extra_environ={"REMOTE_ADDR": remote},
        ).json["access_token"]
        passwords.reverse()
        deliver()
        assert "evil" not in body(post)
        assert ("IP address: " in body(post)) == (expected is not None)
        assert (expected or "When: ") in body(post)


def test_a_mistake_in_a_template_is_refused_at_start(settings, tmp_path):
    made = replace(with_mail(settings), TEMPLATES=tmp_path)
    (tmp_path / "mail").mkdir()
    for template in TEMPLATES.values():
        (tmp_path / template).write_text("Subject\n\n{{ letter.missing }}")
        samples = [("notices", each) for each in SAMPLES if each.template == template]
        with pytest.raises(ConfigurationError, match=f"{template}, line 3"):
            make_outbox(made, {}, samples, Post())
        (tmp_path / template).rename(tmp_path / "mistake")
    (tmp_path / "mistake").rename(tmp_path / template)
    with pytest.raises(ConfigurationError, match=f"{template}, line 3"):
        AuthMiddleware(echo, made, send_mail=Post())


# To an address that is not proven, clients can cause a few mails in a day


def change_again_and_again(client, times, login=None):
    """Change the password over HTTP so often, as a client that stays logged in; return the login.

    Args:
        login: Its token and its password, if it has changed the password before.
    """
    token, password = login or (log_in(client)["access_token"], PASSWORD)
    for _ in range(times):
        fields = {"current_password": password, "new_password": f"{password} x"}
        bearer = {"Authorization": f"Bearer {token}"}
        token = client.post_json("/auth/password", fields, headers=bearer).json["access_token"]
        password = fields["new_password"]
    return token, password


@pytest.mark.every_database
@pytest.mark.promise(34)
def test_a_stranger_whose_address_was_typed_gets_five_notices_in_a_day_and_an_owner_all(
    client, ada, deliver
):
    login = change_again_and_again(client, 6)
    assert deliver() == [EMAIL] * 5
    update_user(ada, email_verified_at=datetime.now(UTC))
    change_again_and_again(client, 6, login)
    assert deliver() == [EMAIL] * 6


@pytest.mark.every_database
@pytest.mark.promise(34)
def test_so_they_get_of_what_a_streamed_response_changes(site, client, ada, settings, deliver):
    def change(environ, start_response):
        start_response("200 OK", [("Content-Type", "text/plain")])
        for each in range(7):
            change_password(ada, f"{NEW_PASSWORD} {each}", settings=settings)
            yield b"changed"

    site._app = change
    client.get("/")
    assert deliver() == [EMAIL] * 5


@pytest.mark.every_database
@pytest.mark.parametrize(
    ("is_verified", "number"), [(False, 5), (True, 7)], ids=["not verified", "verified"]
)
def test_accounts_that_are_closed_one_after_the_other_share_the_limit(
    site, client, deliver, is_verified, number
):
    for each in range(7):
        email = EMAIL.upper() if each % 2 else EMAIL
        fields = {"username": f"ada{each}", "email": email, "password": PASSWORD}
        client.post_json("/auth/register", fields)
        user = User.get(username=fields["username"])
        if is_verified:
            update_user(user, email_verified_at=datetime.now(UTC))
        logged_in(site, user).post_json("/auth/close", {}, headers={"Sec-Fetch-Site": "none"})
    assert len(deliver()) == number


@pytest.mark.every_database
def test_the_old_address_is_limited_and_the_proven_one_is_not(site, client, settings, deliver):
    def leave(environ, start_response):
        user = User.get(username=USERNAME)
        update_user(user, email=NEW_EMAIL, email_verified_at=datetime.now(UTC))
        user.delete_instance()
        return echo(environ, start_response)

    site._app = leave
    for _ in range(6):
        create_user(USERNAME, EMAIL, PASSWORD, settings=settings)
        client.get("/")
    told = deliver()
    assert (told.count(EMAIL), told.count(NEW_EMAIL)) == (5, 12)


@pytest.mark.every_database
def test_what_code_does_outside_requests_is_not_limited(site, ada, settings, deliver):
    for each in range(6):
        change_password(ada, f"{NEW_PASSWORD} {each}", settings=settings)
    assert deliver() == [EMAIL] * 6


# A refresh token that was used twice


@pytest.mark.every_database
@pytest.mark.promise(44)
def test_the_owner_is_told_of_five_replayed_refresh_tokens_in_a_day_and_each_ends_its_login(
    client, ada, deliver, post
):
    replay(client)
    assert deliver() == [EMAIL]
    assert "IP address: 192.0.2.66" in body(post)
    assert "refresh token that was used before" in body(post)
    for _ in range(5):
        replay(client)
    assert deliver() == [EMAIL] * 4
    assert User.get_by_id(ada.id).sessions.count() == 0


# Logins


class TestLogins:
    @pytest.fixture
    def changes(self):
        return {"LOGIN_NOTICES": True}

    @pytest.mark.every_database
    def test_a_login_from_another_address_or_browser_is_told_once(self, client, ada, deliver, post):
        log_in(client)
        assert deliver() == []
        log_in(client, address="198.51.100.1")
        assert deliver() == [EMAIL]
        assert "IP address: 198.51.100.1 With: Firefox on Linux" in body(post)
        log_in(client, agent=SAFARI)
        assert deliver() == [EMAIL]
        assert f"IP address: {ADDRESS} With: Safari on iPhone" in body(post)
        log_in(client)
        log_in(client, agent=SAFARI)
        log_in(client, address="198.51.100.1")
        assert deliver() == []

    def test_a_login_in_the_same_ipv6_network_with_another_version_is_not_told(
        self, client, ada, deliver
    ):
        log_in(client, address="2001:db8::1")
        log_in(client, address="2001:db8::ffff", agent=FIREFOX.replace("147", "150"))
        assert deliver() == []
        log_in(client, address="2001:db8:0:1::1")
        assert deliver() == [EMAIL]

    def test_a_failed_login_or_a_session_that_code_starts_is_not_told(self, site, client, ada):
        log_in(client)
        wrong = {"username": USERNAME, "password": "mistyped words"}
        client.post_json(
            "/auth/login", wrong, status=401, extra_environ={"REMOTE_ADDR": "203.0.113.1"}
        )
        logged_in(site, ada)
        assert not Mail.select().exists()

    def test_the_first_login_of_another_user_at_the_place_is_not_told(
        self, client, ada, settings, deliver
    ):
        log_in(client)
        grace = create_user("Grace", "grace@example.org", PASSWORD, settings=settings)
        client.post_json("/auth/login", {"username": grace.username, "password": PASSWORD})
        assert deliver() == []

    def test_behind_a_unix_socket_a_new_browser_is_told(self, client, ada, deliver, post):
        log_in(client, address="")
        log_in(client, address="", agent=SAFARI)
        assert deliver() == [EMAIL]
        assert "IP address: " not in body(post)

    @pytest.mark.every_database
    def test_a_login_that_is_rolled_back_leaves_no_mail_and_is_not_remembered(
        self, site, client, ada, tokens, deliver
    ):
        log_in(client)

        def roll_back(environ, start_response):
            with site.database.atomic() as transaction:
                user = User.get_by_id(ada.id)
                assert sessions.start(user, tokens, client=Client.of(environ)) is not None
                assert Mail.select().exists()
                transaction.rollback()
            return echo(environ, start_response)

        site._app = roll_back
        client.get("/", extra_environ={"REMOTE_ADDR": "198.51.100.1"})
        assert deliver() == []
        log_in(client, address="198.51.100.1", agent="")
        assert deliver() == [EMAIL]


# Sites and commands


@pytest.mark.every_database
def test_of_two_sites_with_one_database_the_one_where_it_happens_tells(site, settings, ada, post):
    other = AuthMiddleware(
        echo, with_mail(settings, PUBLIC_URL="https://example.net"), mount="/x", send_mail=post
    )
    change_over_http(TestApp(site), ada)
    (row,) = Mail.select()
    assert json.loads(row.data)["mount"] == "/auth"
    storage.discard_connection(other.database)


def test_the_thread_is_woken_when_the_change_is_committed(site, settings, ada, monkeypatch):
    woken = []
    monkeypatch.setattr("wsgiauth.mail.worker.Worker.wake", lambda *_: woken.append(1))
    with site.database.atomic():
        change_password(ada, NEW_PASSWORD, settings=settings)
        assert woken == []
    assert woken == [1]


@pytest.mark.slow
def test_a_site_that_is_no_longer_used_leaves_its_mails_to_others(settings, database):
    site = AuthMiddleware(echo, with_mail(settings), send_mail=Post())
    ada = create_user(USERNAME, EMAIL, PASSWORD, settings=settings)
    outbox, opened = weakref.ref(site.site.outbox), site.database
    del site
    gc.collect()
    assert outbox() is None
    change_password(ada, NEW_PASSWORD, settings=settings)
    assert storage.current() is opened
    assert Mail.select().count() == 1
    storage.discard_connection(opened)


class TestFormerAddress:
    """The link with which the former address undoes a change."""

    @pytest.fixture
    def ada(self, ada):
        update_user(ada, email_verified_at=datetime.now(UTC) - timedelta(hours=73))
        return ada

    @pytest.fixture
    def notices(self, post, deliver):
        """Return a function that returns the texts of due emails, by recipient."""

        def by_recipient():
            deliver()
            return {each["To"]: " ".join(plain_text_of(each).split()) for each in post.messages}

        return by_recipient

    @pytest.mark.every_database
    @pytest.mark.promise(87)
    def test_only_the_former_address_gets_the_link_and_a_part_of_the_new_one(self, ada, notices):
        change = datetime.now(UTC)
        update_user(ada, email=NEW_EMAIL, email_verified_at=change)
        sent = notices()
        assert "https://example.org/auth/restore?token=" in sent[EMAIL]
        assert "was changed to l…@example.net. " in sent[EMAIL]
        assert f"until {moment_in_words(change + timedelta(hours=72))}:" in sent[EMAIL]
        assert "restore" not in sent[NEW_EMAIL]
        assert "…" not in sent[NEW_EMAIL]

    @pytest.mark.promise(87)
    def test_an_address_that_was_proven_too_shortly_gets_no_link(self, ada, notices):
        for hours in (None, 0, 71):
            proven = None if hours is None else datetime.now(UTC) - timedelta(hours=hours)
            update_user(ada, email=EMAIL)
            notices()
            ada.email_verified_at = proven
            ada.save()
            update_user(ada, email=NEW_EMAIL)
            sent = notices()[EMAIL]
            assert "/restore" not in sent
            assert ("l…@example.net" in sent) is (hours is not None)

    @pytest.mark.every_database
    @pytest.mark.promise(87)
    def test_the_staff_changes_an_address_for_good(self, site, ada, notices, settings):
        update_user(ada, email=NEW_EMAIL)
        secret = secret_in(notices()[EMAIL]).partition(" ")[0]
        assert find_restoration(secret, now=time.time())
        with actors.acting("user 77"):
            update_user(ada, email="third@example.net", email_verified_at=datetime.now(UTC))
        assert not any("/restore" in each for each in notices().values())
        assert find_restoration(secret, now=time.time()) is None

    @pytest.mark.promise(87)
    def test_the_link_ends_72_hours_after_the_change_however_late_the_email_is(
        self, site, ada, notices
    ):
        update_user(ada, email=NEW_EMAIL)
        changed_at = int(time.time()) - 20 * 3600
        (row,) = (each for each in Mail.select() if "former" in json.loads(each.data))
        row.data = json.dumps({**json.loads(row.data), "at": changed_at})
        row.save()
        OneTimeSecret.update(expires_at=changed_at + 72 * 3600).execute()
        secret = secret_in(notices()[EMAIL]).partition(" ")[0]
        found = find_restoration(secret, now=time.time())
        assert found.secret.expires_at == changed_at + 72 * 3600

    def test_an_email_that_is_sent_again_has_the_only_link(self, site, ada, post, notices):
        update_user(ada, email=NEW_EMAIL)
        post.errors += [ValueError(), ValueError()]
        site.site.outbox.deliver()
        Mail.update(due_at=0).execute()
        assert secret_in(notices()[EMAIL])
        assert OneTimeSecret.select().where(OneTimeSecret.data != "").count() == 1

    @pytest.mark.promise(87)
    def test_a_change_by_the_staff_ends_a_link_that_is_not_sent_yet(self, site, ada, notices):
        update_user(ada, email=NEW_EMAIL)
        with actors.acting("user 77"):
            update_user(ada, email="third@example.net", email_verified_at=datetime.now(UTC))
        assert not any("/restore" in each for each in notices().values())

    def test_a_deleted_user_gets_the_notice_without_a_link(self, site, ada, notices):
        update_user(ada, email=NEW_EMAIL)
        delete_user(ada)
        assert "/restore" not in notices()[EMAIL]

    def test_a_waiting_email_has_no_secret(self, site, ada, notices):
        update_user(ada, email=NEW_EMAIL)
        (mark,) = OneTimeSecret.select()
        waiting = [each.data for each in Mail.select() if "former" in each.data]
        assert (mark.data, mark.id in waiting[0]) == ("", True)


class TestCommands:
    @pytest.fixture(autouse=True)
    def _environ(self, settings, monkeypatch, site, ada):
        for name, value in {**MAIL, "DATABASE_URL": settings.DATABASE_URL}.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setenv("BCRYPT_ROUNDS", "4")
        monkeypatch.delenv("SECRET_KEY", raising=False)
        yield
        storage.discard_connection(storage.current())

    @pytest.mark.every_database
    def test_a_command_leaves_its_notice_to_the_server(self, site, monkeypatch, deliver, post):
        commands = {
            ("changepassword", USERNAME, "--password-stdin"): [EMAIL],
            ("set", USERNAME, "--email", NEW_EMAIL): sorted([EMAIL, NEW_EMAIL]),
            ("deleteuser", USERNAME, "--yes"): [NEW_EMAIL],
        }
        monkeypatch.setattr("sys.stdin.readline", lambda: NEW_PASSWORD, raising=False)
        for command, recipients in commands.items():
            threads = set(threading.enumerate())
            post.messages.clear()
            assert main([*command]) == 0
            assert post.messages == []
            assert set(threading.enumerate()) <= threads
            storage.discard_connection(storage.current())  # that of the command
            storage.context.use(site.database)
            assert deliver() == recipients
            told = plain_text_of(post.messages[0])
            assert "/forgot" not in told  # the command does not know the mount
            assert "https://example.org" in told

    def test_without_mail_a_command_leaves_none(self, monkeypatch):
        monkeypatch.delenv("MAIL_URL")
        assert main(["set", USERNAME, "--email", NEW_EMAIL]) == 0
        assert not Mail.select().exists()

    @pytest.mark.every_database
    @pytest.mark.promise(87)
    def test_a_command_changes_an_address_for_good(self, ada, deliver, post):
        update_user(ada, email_verified_at=datetime.now(UTC) - timedelta(days=30))
        update_user(ada, email="second@example.net")
        deliver()
        secret = secret_in(" ".join(post.links))
        assert main(["set", USERNAME, "--email", NEW_EMAIL]) == 0
        deliver()
        assert not any("/restore" in each for each in post.links)
        assert find_restoration(secret, now=time.time()) is None
