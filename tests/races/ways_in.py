"""Races of API keys, and of accounts of providers as ways to log in."""

from tests.conftest import insert_user
from tests.races.race import NOW, SETTINGS, Race, race
from tests.support.declared import WAYS_IN
from tests.support.identities import account
from tests.support.sites import EMAIL, USERNAME
from wsgiauth.accounts.models import User
from wsgiauth.accounts.tables import Key
from wsgiauth.authentication.ways_in import WaysIn
from wsgiauth.features.keys import api_keys
from wsgiauth.features.keys.api_keys import MAX_KEYS
from wsgiauth.features.providers import identities, unclaimed
from wsgiauth.features.providers.identities import MOST_IDENTITIES, Identity
from wsgiauth.features.providers.provider_logins import disconnect as disconnect_identity
from wsgiauth.features.providers.unclaimed import connect_waiting
from wsgiauth.storage.models import NO_PASSWORD


def wait_for_user(subject):
    """Return an account of a provider that waits for its user in a browser."""
    cookie = unclaimed.start(account(subject), destination="/", remember=False, now=NOW)
    return unclaimed.find(cookie, NOW)


@race(
    "The last free place for an API key is taken twice",
    "The limit holds.",
    "one writer",
    "lock of the users",
)
class LastKey(Race):
    def prepare(self):
        ada = insert_user(USERNAME, EMAIL)
        for _ in range(MAX_KEYS - 1):
            api_keys.create(ada, "Key", (), now=NOW)
        return (ada,)

    def one(self, ada):
        return api_keys.create(ada, "Key", (), now=NOW) is not None

    def check(self, outcome, ada):
        assert outcome.is_once("TooManyKeysError")
        assert Key.select().count() == MAX_KEYS


@race("An API key is revoked, and used", "A revoked key stays revoked.", "one statement")
class RevokedKey(Race):
    def prepare(self):
        ada = insert_user(USERNAME, EMAIL)
        made = api_keys.create(ada, "Key", (), now=NOW)
        return ada, made.row.id, made.text

    def one(self, ada, key_id, text):
        return api_keys.revoke(ada, key_id)

    def other(self, ada, key_id, text):
        return api_keys.find(text, NOW) is not None

    def check(self, outcome, ada, key_id, text):
        assert outcome.one is True
        assert api_keys.find(text, NOW) is None


@race(
    "Two users connect one account of a provider",
    "One of them has it.",
    "unique key: wsgiauth_identity.id",
)
class TwoUsers(Race):
    def prepare(self):
        return insert_user(USERNAME, EMAIL), insert_user("Grace", "grace@example.org")

    def one(self, ada, grace):
        return identities.connect(ada, account(), NOW) is not None

    def other(self, ada, grace):
        return identities.connect(grace, account(), NOW) is not None

    def check(self, outcome, ada, grace):
        assert outcome.is_once("RequestError")
        assert Identity.select().count() == 1


@race(
    "A waiting account of a provider is connected twice",
    "One user has it.",
    "compare and set: wsgiauth_one_time.id",
)
class WaitsOnce(Race):
    def prepare(self):
        ada, grace = insert_user(USERNAME, EMAIL), insert_user("Grace", "grace@example.org")
        return ada, grace, wait_for_user("s-1")

    def one(self, ada, grace, waiting):
        connect_waiting(ada, waiting, NOW)
        return True

    def other(self, ada, grace, waiting):
        connect_waiting(grace, waiting, NOW)
        return True

    def check(self, outcome, *_):
        assert outcome.is_once("ProviderAccountExpiredError")


@race(
    "The last free place for an account of a provider is taken twice",
    "The limit holds.",
    "one writer",
    "lock of the users",
)
class LastIdentity(Race):
    def prepare(self):
        ada = insert_user(USERNAME, EMAIL)
        for number in range(MOST_IDENTITIES - 1):
            identities.connect(ada, account(str(number)), NOW)
        return ada, wait_for_user("one")

    def one(self, ada, waiting):
        connect_waiting(ada, waiting, NOW)
        return True

    def other(self, ada, waiting):
        return identities.connect(ada, account("other"), NOW) is not None

    def check(self, outcome, *_):
        assert outcome.is_once("RequestError")
        assert Identity.select().count() == MOST_IDENTITIES


@race("The last two ways to log in are removed", "One remains.", "one writer", "lock of the users")
class LastWayIn(Race):
    def prepare(self):
        ada = insert_user(USERNAME, EMAIL)
        User.update(hashed_password=NO_PASSWORD).execute()
        ada = User.get()
        handles = [identities.connect(ada, account(name), NOW).handle for name in ("1", "2")]
        return ada, *handles

    def one(self, ada, handle, _):
        return bool(disconnect_identity(ada, handle, WaysIn(WAYS_IN, SETTINGS)))

    def other(self, ada, _, handle):
        return bool(disconnect_identity(ada, handle, WaysIn(WAYS_IN, SETTINGS)))

    def check(self, outcome, ada, *handles):
        assert outcome.is_once("RequestError")
        assert Identity.select().count() == 1
