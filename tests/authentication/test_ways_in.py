"""The ways into an account: how many there are, and that the last one stays."""

import pytest

from tests.support.declared import WAYS_IN
from tests.support.identities import ISSUER, account
from wsgiauth import Settings, storage
from wsgiauth.accounts.models import User
from wsgiauth.accounts.tables import Session
from wsgiauth.authentication import sessions
from wsgiauth.authentication.ways_in import WaysIn
from wsgiauth.exceptions import RequestError, ValidationError
from wsgiauth.features.factors.passkeys import Passkey
from wsgiauth.features.providers import identities
from wsgiauth.features.providers.identities import Identity
from wsgiauth.features.providers.provider_logins import disconnect as disconnect_identity
from wsgiauth.features.providers.provider_sessions import ProviderLogin

NOW = 2_000_000_000
OTHER = "https://other.example.com"
MOVED = {"PASSKEYS": True, "PUBLIC_URL": "https://moved.example"}


@pytest.fixture
def without_password(ada):
    """Return a user without a password."""
    User.update(hashed_password="").where(User.id == ada.id).execute()
    return User.get_by_id(ada.id)


def site(*issuers, **settings):
    entries = [
        f"name{number}:{each.replace('https://', 'https://id:secret@')}"
        for number, each in enumerate(issuers)
    ]
    return Settings(
        **{"OIDC_PROVIDERS": tuple(entries), "PUBLIC_URL": "https://example.org", **settings}
    )


def add_passkey(user):
    Passkey.create(
        id="p",
        user=user,
        name="Key",
        credential_id="",
        public_key="",
        sign_count=0,
        relying_party="example.org",
        user_handle="",
        created_at=NOW,
    )


def disconnect(user, settings, **options):
    [row] = identities.rows_of(user)[:1]
    return disconnect_identity(user, row.handle, WaysIn(WAYS_IN, settings), **options)


def test_the_account_of_a_provider_is_disconnected_and_its_sessions_end(ada, tokens):
    row = identities.connect(ada, account(), tokens.now())
    login = ProviderLogin(row.id, "", None)
    began = [sessions.start(ada, tokens, federated_login=login).session_id for _ in range(3)]
    others = sessions.start(ada, tokens).session_id
    assert disconnect(ada, site(), except_session=began[1]) == "ada@example.com"
    assert {each.id for each in Session.select()} == {began[1], others}
    assert identities.rows_of(ada) == []


def test_what_is_not_connected_is_not_disconnected(ada, grace):
    identities.connect(grace, account(), NOW)
    handle = identities.rows_of(grace)[0].handle
    for user, wanted in ((ada, handle), (grace, "other"), (grace, ""), (grace, handle[:-1])):
        with pytest.raises(ValidationError):
            disconnect_identity(user, wanted, WaysIn(WAYS_IN, site()))
    ada.delete_instance()
    with pytest.raises(ValidationError):
        disconnect_identity(ada, handle, WaysIn(WAYS_IN, site()))


@pytest.mark.promise(73)
@pytest.mark.every_database
def test_the_last_way_in_stays_with_its_sessions(without_password, tokens):
    user, settings = without_password, site(ISSUER)
    row = identities.connect(user, account(), tokens.now())
    sessions.start(user, tokens, federated_login=ProviderLogin(row.id, "", None))
    with pytest.raises(RequestError) as refused:
        disconnect(user, settings)
    assert (refused.value.status, refused.value.code) == (409, "last_way_in")
    assert (Identity.select().count(), Session.select().count()) == (1, 1)


@pytest.mark.promise(73)
@pytest.mark.parametrize(
    ("providers", "further", "is_left"),
    [
        pytest.param([ISSUER, OTHER], {}, True, id="another provider"),
        pytest.param([ISSUER], {}, False, id="a provider that the site no longer has"),
        pytest.param([], {"PASSKEYS": True}, True, id="a passkey"),
        pytest.param([], {}, False, id="a passkey that the site no longer asks for"),
        pytest.param([], MOVED, False, id="a passkey of another host"),
    ],
)
def test_ways_in_are_those_that_the_site_offers(without_password, providers, further, is_left):
    user = without_password
    identities.connect(user, account(), NOW)
    if providers:
        identities.connect(user, account("s-2", issuer=OTHER), NOW + 1)
    else:
        add_passkey(user)
    offered = site(*providers, **further)
    if is_left:
        disconnect(user, offered)
        assert WaysIn(WAYS_IN, offered).has_one(user)
    else:
        with pytest.raises(RequestError, match="only way"):
            disconnect(user, offered)


def disconnect_own(url, number):
    """Disconnect one of two accounts of a user, in one of eight processes."""
    storage.open_database(url)
    user = User.get()
    rows = identities.rows_of(user)
    try:
        disconnect_identity(user, rows[number % 2].handle, WaysIn(WAYS_IN, site(ISSUER)))
    except (RequestError, ValidationError, IndexError) as error:
        return getattr(error, "code", "gone")
    return "disconnected"


@pytest.mark.promise(73)
@pytest.mark.every_database
def test_processes_that_disconnect_at_the_same_time_leave_one(
    settings, without_password, in_processes
):
    for subject in ("s-1", "s-2"):
        identities.connect(without_password, account(subject), NOW)
    results = in_processes(disconnect_own, settings.DATABASE_URL, range(8))
    assert results.count("disconnected") == 1
    assert Identity.select().count() == 1


@pytest.mark.promise(105)
@pytest.mark.parametrize("answer", ["no", 1, None, (False,)])
def test_a_way_that_returns_no_boolean_counts_as_none(without_password, answer, caplog):
    ways = WaysIn([("badges", lambda user, settings: answer)], site())
    assert not ways.has_one(without_password)
    assert "a function of badges failed" in caplog.text
    with pytest.raises(TypeError):
        ways.can_log_in(without_password)
