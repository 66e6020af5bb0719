"""What the file says of each table: nothing secret, nothing of another user, and nothing less."""

import json
import re
import time
from datetime import timedelta
from functools import partial
from itertools import chain

import pytest

from tests.conftest import insert_user
from tests.features.factors.samples import give_passkey
from tests.features.personal_data.samples import fail
from tests.support import features
from tests.support.driving import make_site
from tests.support.factors import add_app
from tests.support.federated import connected, logged_in_at_provider
from tests.support.identities import ISSUER
from tests.support.keys import make_key
from tests.support.schema import MODELS
from tests.support.sites import EMAIL, PASSWORD, USERNAME
from wsgiauth import personal_data, storage
from wsgiauth import site as site_module
from wsgiauth.accounts import create_user, update_user
from wsgiauth.accounts.groups import Group
from wsgiauth.accounts.models import User
from wsgiauth.accounts.tables import Key, OneTimeSecret, Session
from wsgiauth.authentication import one_time, sessions
from wsgiauth.authentication.password import make_reset_link
from wsgiauth.events import actors
from wsgiauth.events.models import RecordedEvent
from wsgiauth.feature import personal_data_of
from wsgiauth.features.factors import recovery_codes
from wsgiauth.features.factors.passkeys import Passkey
from wsgiauth.features.factors.totp import Totp
from wsgiauth.features.links.invitations import Invitation
from wsgiauth.features.links.letters import issue_invitation
from wsgiauth.features.notices.notices import COMPOSERS
from wsgiauth.features.personal_data.file import pieces
from wsgiauth.features.providers.identities import Identity
from wsgiauth.features.providers.provider_sessions import ProviderSession
from wsgiauth.features.registry import FEATURES
from wsgiauth.mail.outbox import ask_for, enqueue
from wsgiauth.storage.models import utc_now
from wsgiauth.testing import logged_in
from wsgiauth.throttling.failed_logins import FailedLogins
from wsgiauth.throttling.throttle import Throttle

RANDOM = re.compile("[0-9a-f]{12,}|[0-9A-Za-z_-]{20,}")  # the form of digests and of secrets
NOTICE = min(COMPOSERS)  # the kind of an email
LISTED = personal_data_of(FEATURES)
PUBLIC = {*chain.from_iterable(features.declared("PUBLIC_COLUMNS").values())}
GRACE = "Grace"


@pytest.fixture
def site(database_url, tmp_path, monkeypatch):
    """Return a site that offers everything, and keeps its emails; no wait of its users passes."""
    stopped = partial(Throttle, clock=partial(int, time.time()))
    for module in (site_module, personal_data):
        monkeypatch.setattr(module, "Throttle", stopped)
    middleware = make_site(database_url, tmp_path)
    middleware.site.outbox.keep_messages()
    yield middleware
    storage.discard_connection(middleware.database)


@pytest.fixture
def read(site):
    """Return a function that reads the file of a user."""

    def read_file(user):
        stored = User.get_by_id(user.id)
        return json.loads("".join(pieces(stored, site.site.settings, site.site.personal_data)))

    return read_file


@pytest.fixture
def ada(site):
    """Return a user who has had the account for a day."""
    return a_day_old(insert_user(USERNAME, EMAIL))


@pytest.fixture
def grace(site):
    """Return another user, likewise."""
    return a_day_old(insert_user(GRACE, "grace@example.net"))


def a_day_old(user):
    User.update(created_at=utc_now() - timedelta(days=1)).where(User.id == user.id).execute()
    return User.get_by_id(user.id)


@pytest.mark.promise(86)
@pytest.mark.every_database
def test_the_file_has_nothing_of_another_user(site, ada, grace, read):
    features.fill(site, ada)
    before = read(ada)
    features.fill(site, grace)
    with actors.acting(f"user {grace.id}"):
        Group.objects.create(name="unknown to Ada")
    after = read(ada)
    assert after == before
    assert GRACE not in json.dumps(after)


@pytest.mark.promise(86)
def test_the_file_has_what_every_table_has_of_the_user_but_no_secret_and_no_digest(site, ada, read):
    features.fill(site, ada)
    found = read(ada)
    for table, list_of in LISTED.items():
        assert found[list_of.name], f"the file has nothing of {table}, where the user has a row"
    text = json.dumps(found)
    stored = {
        (f"{model._meta.table_name}.{name}", random)
        for model in MODELS
        for row in model.select().dicts()
        for name, value in row.items()
        for random in RANDOM.findall(str(value))
    }
    assert {name.partition(".")[2] for name, _ in stored} >= {"digest", "salt", "sid", "subject"}
    public = {each for name, each in stored if name in PUBLIC}
    shown = {name for name, each in stored if each in text and each not in public}
    assert not shown, "the file has secrets; what is none is in PUBLIC_COLUMNS of some samples"
    assert ada.hashed_password not in text
    assert not {"digest", "salt", "hashed_password", "security_stamp"} & set(
        re.findall(r"\w+", text)
    )


def test_a_former_password_is_its_scheme_and_a_trusted_browser_what_it_is(site, ada, read):
    features.fill(site, ada)
    found = read(ada)
    assert found["former_passwords"] == [{"scheme": "scrypt", "parameters": "n=16,r=8,p=1,l=64"}]
    (browser,) = found["trusted_browsers"]
    assert (browser["address"], browser["user_agent"]) == ("192.0.2.1", "Mozilla/5.0")
    assert (browser["last_used_at"], browser["trusted_at"][-1]) == (None, "Z")


def test_a_session_is_in_the_file_until_its_row_is_deleted(site, ada, read):
    logged_in(site, ada)
    Session.update(address="192.0.2.1", agent="Mozilla/5.0", authenticated_at=0).execute()
    (listed,) = read(ada)["sessions"]
    assert listed["auth_time"] == "1970-01-01T00:00:00Z"
    assert (listed["amr"], listed["address"]) == (["pwd"], "192.0.2.1")
    assert (listed["user_agent"], listed["is_revoked"]) == ("Mozilla/5.0", False)
    User.update(security_stamp=User.security_stamp + 1).execute()
    assert read(ada)["sessions"] == [{**listed, "is_revoked": True}]
    sessions.revoke_all(User.get_by_id(ada.id))
    Session.delete().execute()
    assert read(ada)["sessions"] == []


def test_a_secret_is_its_purpose_and_its_end(site, ada, read):
    now = site.site.tokens.now()
    make_reset_link(ada, site.site.settings, mount="/auth", now=now)
    recovery_codes.replace(ada, rounds=4)
    listed = sorted(read(ada)["one_time_secrets"], key=lambda each: each["purpose"])
    assert [each["purpose"] for each in listed] == ["recovery"] * 10 + ["reset"]
    assert {each["expires_at"] for each in listed[:-1]} == {None}
    assert listed[-1]["expires_at"].endswith("Z")


def test_an_invitation_of_the_address_is_in_the_file(site, read):
    now = site.site.tokens.now()
    for email in ("ADA@example.org", "grace@example.net"):
        issue_invitation(Invitation(email=email), None, site.site.settings, mount="/auth", now=now)
    listed = read(insert_user(USERNAME, EMAIL))["one_time_secrets"]
    assert [each["purpose"] for each in listed] == ["invitation"]


@pytest.mark.promise(86)
def test_a_link_that_another_user_asked_for_is_not_in_the_file(site, ada, grace, read):
    one_time.issue("address", grace, now=0, lifetime=2**33, subject=ada.email, data=ada.email)
    assert OneTimeSecret.select().count() == 1
    assert read(ada)["one_time_secrets"] == []


def test_an_email_that_waits_is_its_kind(site, ada, grace, read):
    outbox = site.site.outbox
    ask_for(outbox, "reset", name="ADA", data={"mount": "/secret"})
    ask_for(outbox, "reset", name=grace.email, data={"mount": "/auth"})
    enqueue(outbox, NOTICE, user=ada, data={"event": "login"}, language="de")
    enqueue(outbox, NOTICE, user=grace, data={"event": "login"})
    listed = sorted(read(ada)["emails"], key=lambda each: each["kind"])
    assert [(each["kind"], each["name"], each["locale"]) for each in listed] == [
        (NOTICE, None, "de"),
        ("reset", "ADA", None),
    ]


def test_failed_logins_under_both_names_and_their_wait_are_in_the_file(site, ada, read):
    for name in (USERNAME, EMAIL):
        fail(site, name)
    listed = read(ada)["failed_logins"]
    assert [each["reason"] for each in listed] == ["wrong password"] * 2
    assert all(each["time"].endswith("Z") for each in listed)
    for _ in range(4):
        fail(site, USERNAME)
    (wait,) = read(ada)["waits"]
    assert (wait["reason"], wait["name"]) == ("account", "username")
    assert wait["until"].endswith("Z")


@pytest.mark.promise(86)
def test_failed_logins_from_before_a_creation_without_an_event_are_not_in_the_file(site, ada, read):
    fail(site, USERNAME)
    User.update(created_at=utc_now()).execute()
    assert read(ada)["failed_logins"] == []


@pytest.mark.promise(86)
def test_failed_logins_of_an_earlier_owner_of_the_name_are_not_in_the_file(site, read, settings):
    fail(site, USERNAME)
    user = create_user(USERNAME, EMAIL, PASSWORD, settings=settings)
    assert read(user)["failed_logins"] == []
    imported = a_day_old(user)  # after the registration, which is an event
    assert read(imported)["failed_logins"] == []


@pytest.mark.promise(86)
def test_failed_logins_under_a_name_that_was_taken_over_are_not_in_the_file(site, ada, grace, read):
    changes = [(ada, {"username": "newcomer"}), (grace, {"email": "new@example.org"})]
    for user, change in changes:
        fail(site, *change.values())
        update_user(user, **change)
        assert read(user)["failed_logins"] == [], change
    RecordedEvent.update(time=RecordedEvent.time - 60).execute()
    assert [len(read(user)["failed_logins"]) for user, _ in changes] == [1, 1]


def test_the_file_has_more_failed_logins_than_the_staff_sees(site, ada, read):
    fail(site, USERNAME)
    row = FailedLogins.get()
    for hour in range(1, 13):
        time, _, rest = row.lines.partition("\t")
        lines = f"{int(time) - hour * 3600}\t{rest}"
        FailedLogins.insert(id=f"x{hour}", lines=lines, expires_at=2**34).execute()
    assert len(read(ada)["failed_logins"]) == 1


def test_factors_are_their_names_and_times(site, ada, read):
    add_app(site, ada)
    give_passkey(site, ada, "Laptop")
    Totp.insert(id="x", user=ada.id, name="Tablet", salt="s", created_at=2**31).execute()
    Totp.update(created_at=0, confirmed_at=60).where(Totp.name == "Phone").execute()
    Passkey.update(created_at=0, last_used_at=60, transports="usb nfc").execute()
    found = read(ada)
    assert found["authenticator_apps"] == [
        {
            "name": "Phone",
            "created_at": "1970-01-01T00:00:00Z",
            "confirmed_at": "1970-01-01T00:01:00Z",
        },
        {"name": "Tablet", "created_at": "2038-01-19T03:14:08Z", "confirmed_at": None},
    ]
    (passkey,) = found["passkeys"]
    assert passkey["relying_party"] == "example.org"
    assert passkey["credential_id"] == Passkey.get().credential_id
    assert passkey["transports"] == ["usb", "nfc"]
    assert passkey["last_used_at"] == "1970-01-01T00:01:00Z"
    Passkey.update(last_used_at=0).execute()
    assert read(ada)["passkeys"][0]["last_used_at"] is None


def test_an_api_key_is_in_the_file_also_after_it_has_expired(ada, read):
    key_id = make_key(ada, name="export", permissions=["a.read"])
    Key.update(expires_at=60).execute()
    (listed,) = read(ada)["api_keys"]
    assert (listed["id"], listed["name"]) == (key_id, "export")
    assert (listed["permissions"], listed["expires_at"]) == (["a.read"], "1970-01-01T00:01:00Z")


def test_an_account_of_a_provider_is_its_issuer_and_subject(site, ada, read):
    group = Group.objects.create(name="Readers")
    row = connected(site, ada, subject="7", name="ada@there.example")
    Identity.update(joined=json.dumps([group.id])).execute()
    logged_in_at_provider(site, ada, row, sid="x")
    found = read(ada)
    (listed,) = found["provider_accounts"]
    assert (listed["iss"], listed["sub"]) == (ISSUER, "7")
    assert (listed["name"], listed["groups"]) == ("ada@there.example", ["Readers"])
    (login,) = found["provider_logins"]
    assert (login["iss"], login["sub"], login["began_session"]) == (ISSUER, "7", True)
    assert login["auth_time"].endswith("Z")
    ProviderSession.update(authenticated_at=None).execute()
    assert read(ada)["provider_logins"][0]["auth_time"] is None


def test_an_event_says_whether_it_was_the_user(site, ada, read):
    with actors.acting(f"user {ada.id}"):
        ada.grant("a.own")
    with actors.acting(f"user {ada.id} key 4fD8sKq2ZxLw"):
        ada.grant("a.key")
    with actors.acting("user 777 key 4fD8sKq2ZxLw"):
        ada.grant("a.staff")
    with actors.acting("command line grace"):
        ada.grant("a.operator")
    ada.grant("a.code")
    RecordedEvent.update(address="192.0.2.1").execute()
    events = read(ada)["events"]
    assert [(each["reason"], each["by"], each["key"], each["address"]) for each in events] == [
        ("granted a.own", "self", None, "192.0.2.1"),
        ("granted a.key", "self", "4fD8sKq2ZxLw", "192.0.2.1"),
        ("granted a.staff", "staff", None, None),
        ("granted a.operator", "operator", None, None),
        ("granted a.code", "application", None, None),
    ]
    assert {each["account"] for each in events} == {"self"}


def test_the_groups_and_permissions_are_names(ada, read):
    ada.grant("b.write", "a.read")
    ada.join(Group.objects.create(name="Editors"))
    found = read(ada)
    assert (found["groups"], found["permissions"]) == (["Editors"], ["a.read", "b.write"])


def test_a_login_by_the_application_has_the_address(site, ada, read):
    logged_in(site, ada)
    RecordedEvent.update(address="192.0.2.1").execute()
    (event,) = read(ada)["events"]
    assert (event["by"], event["address"]) == ("application", "192.0.2.1")


@pytest.mark.promise(86)
def test_a_change_of_another_account_says_neither_whose_nor_what(site, ada, grace, read):
    with actors.acting(f"user {ada.id} key 4fD8sKq2ZxLw"):
        grace.grant("a.secret")
        Group.objects.create(name="Unknown")
    RecordedEvent.update(address="192.0.2.1").execute()
    events = read(ada)["events"]
    assert [each["event"] for each in events] == ["rights_changed", "group_changed"]
    for each in events:
        assert (each["account"], each["by"], each["reason"]) == ("other", "self", None)
        assert (each["key"], each["address"]) == ("4fD8sKq2ZxLw", "192.0.2.1")
