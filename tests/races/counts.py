"""Races of counts, and of what else is remembered for a while.

Each change is one statement. In a transaction of its own, it is not committed when its rival
begins.
"""

from tests.races.race import NOW, Race, race
from wsgiauth.storage import database
from wsgiauth.storage.upkeep import purge_expired
from wsgiauth.throttling.counts import AttemptCount, Counter, Limit, Mark
from wsgiauth.throttling.failed_logins import HOUR, FailedLogins, FailureLog, list_failures

COUNTER = Counter("counter", Limit("test", free=5, waits=(60,), window=3600))
LOG = FailureLog("log")
MARK = Mark("mark")


def count():
    return AttemptCount.get_by_id(COUNTER.id).count


class _Counted(Race):
    before = 0

    def prepare(self):
        for _ in range(self.before):
            COUNTER.add(NOW)
        return ()

    def one(self):
        with database.atomic():
            return COUNTER.add(NOW)


@race("Two first attempts are counted", "Both count.", "unique key: wsgiauth_attempt_count.id")
class FirstAttempts(_Counted):
    def check(self, outcome):
        assert (outcome.one, outcome.other, count()) == (True, True, 2)


@race("Two further attempts are counted", "Both count.", "one statement")
class FurtherAttempts(_Counted):
    before = 2

    def check(self, outcome):
        assert (outcome.one, outcome.other, count()) == (True, True, 4)


@race(
    "The last free attempt is taken twice",
    "One of them has to wait.",
    "compare and set: wsgiauth_attempt_count.retry_at",
)
class LastAttempt(_Counted):
    before = 4

    def check(self, outcome):
        assert outcome.is_once(False)
        assert count() == 5


@race("An attempt is counted, and another taken back", "Neither change is lost.", "one statement")
class TakenBack(_Counted):
    before = 2

    def other(self):
        COUNTER.take_back()
        return True

    def check(self, outcome):
        assert (outcome.one, outcome.other, count()) == (True, True, 2)


@race(
    "A count expires, and begins again",
    "The new count stays.",
    "compare and set: wsgiauth_attempt_count.expires_at",
)
class BegunAgain(Race):
    def prepare(self):
        AttemptCount.insert(id=COUNTER.id, retry_at=0, count=7, expires_at=NOW).execute()
        return ()

    def one(self):
        with database.atomic():
            COUNTER.remember(NOW, 60)

    def other(self):
        return purge_expired(AttemptCount, NOW)

    def check(self, outcome):
        assert (count(), AttemptCount.get().expires_at) == (0, NOW + 60)


@race("Two failed logins under one name", "Both are listed.", "one statement")
class TwoFailures(Race):
    def prepare(self):
        expires_at = NOW + HOUR
        FailedLogins.insert(id=LOG.row_of(NOW // HOUR), lines="", expires_at=expires_at).execute()
        return ()

    def one(self):
        with database.atomic():
            LOG.add(NOW, "one")

    def other(self):
        with database.atomic():
            LOG.add(NOW, "other")

    def check(self, outcome):
        assert {each.reason for each in list_failures([LOG], NOW)} == {"one", "other"}


@race(
    "Two notices, of which one is permitted",
    "One is sent.",
    "unique key: wsgiauth_attempt_count.id",
)
class TwoNotices(Race):
    def one(self):
        with database.atomic():
            return MARK.make(NOW, 60)

    def check(self, outcome):
        assert outcome.is_once(False)
