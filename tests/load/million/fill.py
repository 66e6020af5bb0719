"""Fill a database with users and all that belongs to them, in proportion, by COPY."""

import base64
import hashlib
import time
from datetime import UTC, datetime, timedelta
from itertools import count, islice

from tests.conftest import HASH_OF_PASSWORD
from tests.load.panel import row_of
from wsgiauth.features.keys import api_keys

GROUPS = 50  # as many at any size: their number is up to the operator
PERMISSIONS = 20
DAY = 86_400  # seconds
KEPT = 180  # days of the audit trail
CHUNK = 10_000  # rows that are sent at once
NAMES = (*["login"] * 12, *["logout"] * 5, "password_changed", "key_created", "rights_changed")
MAIL_DATA = '{"mount": "/auth"}'
AGENT = "Mozilla/5.0 (X11; Linux x86_64; rv:147.0) Gecko/20100101 Firefox/147.0"


def fill(database, users):
    """Insert so many users, three sessions and ten events for each, and the other rows."""
    now = int(time.time())
    execute = database.execute_sql
    # Foreign keys would be looked up for each row, and indexes be written in any order.
    execute("SET session_replication_role = replica")
    execute("SET maintenance_work_mem = '512MB'")
    dropped = _indexes(database)
    for name in dropped:
        execute(f"DROP INDEX {name}")
    for table, columns, rows in _tables(users, now):
        _copy(database, f"wsgiauth_{table}", columns, rows)
    kept = []
    _copy(database, "wsgiauth_key", KEY_COLUMNS, _keys(users, now, kept))
    execute("CREATE TABLE measured_key (user_id bigint, key text)")
    _copy(database, "measured_key", "user_id, key", kept)
    for definition in dropped.values():
        execute(definition)
    for table in ("user", "group", "event"):
        sequence = f"pg_get_serial_sequence('wsgiauth_{table}', 'id')"
        execute(f"SELECT setval({sequence}, MAX(id)) FROM wsgiauth_{table}")  # noqa: S608
    execute("SET session_replication_role = origin")
    execute("VACUUM ANALYZE")
    execute("CHECKPOINT")


def session_id(number):
    """Return the id of a session of the filling, of which user N has 3N-3, 3N-2 and 3N-1."""
    digest = hashlib.md5(b"session %d" % number, usedforsecurity=False).digest()
    return base64.urlsafe_b64encode(digest).decode()[:22]


def _indexes(database):
    """Return the indexes that are no constraints, with the statements that make them."""
    found = database.execute_sql(
        "SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = 'public'"
        " AND indexname NOT IN (SELECT conname FROM pg_constraint)"
    )
    return dict(found.fetchall())


def _copy(database, table, columns, rows):
    statement = f"COPY {table} ({columns}) FROM STDIN"
    with database.connection().cursor().copy(statement) as copy:
        some = []
        for row in rows:
            some.append("\t".join(map(str, row)))
            if len(some) == CHUNK:
                copy.write("\n".join(some) + "\n")
                some = []
        copy.write("".join(f"{row}\n" for row in some))


def _tables(users, now):
    """Yield each table, its columns and its rows, whose numbers are in proportion to `users`."""
    yield "user", USER_COLUMNS, _users(users)
    yield "group", "id, name, name_key", ((n, f"Group {n}", f"group {n}") for n in _upto(GROUPS))
    granted = ((n, f"app.action{m}") for n in _upto(GROUPS) for m in range(n % PERMISSIONS))
    yield "group_permission", "group_id, name", granted
    yield "membership", "group_id, user_id", _memberships(users)
    own = ((n, f"app.action{n % PERMISSIONS}") for n in range(1, users + 1, 10))
    yield "permission", "user_id, name", own
    yield "session", SESSION_COLUMNS, (_session(n, users, now) for n in range(3 * users))
    yield "event", EVENT_COLUMNS, (_event(n, users, now) for n in range(10 * users))
    counts = ((_digest("count", n), 0, 1, now + 1 + n % (30 * DAY)) for n in range(2 * users))
    yield "attempt_count", "id, retry_at, count, expires_at", counts
    line = f"{now}\\twrong password\\t192.0.2.1\\n"
    failed = ((_digest("failed", n), line, now + 1 + n % DAY) for n in range(users // 5))
    yield "failed_logins", "id, lines, expires_at", failed
    yield "one_time", ONE_TIME_COLUMNS, _secrets(users, now)
    totp = ((_digest("totp", n)[:32], n, "Phone", "00", 0, now, now) for n in range(1, users, 10))
    yield "totp", "id, user_id, name, salt, counter, created_at, confirmed_at", totp
    yield "passkey", PASSKEY_COLUMNS, (_passkey(n, now) for n in range(2, users, 10))
    yield "identity", IDENTITY_COLUMNS, (_identity(n, now) for n in range(3, users, 4))
    at_provider = (
        (session_id(3 * n - 3), _digest("identity", n), _digest("sid", n), "t", now)
        for n in range(3, users, 4)
    )
    columns = "session_id, identity_id, sid, is_first, authenticated_at"
    yield "provider_session", columns, at_provider


def add_mails(database, number):
    """Insert emails that are due, to active users; a person waits for one in ten."""
    now = int(time.time())
    users = (n for n in count(1) if row_of(n)["is_active"])
    rows = (
        (
            *(_digest("mail", n)[:32], "reset" if turn % 10 == 0 else "notice password_changed"),
            *(row_of(n)["username"], "\\N", MAIL_DATA, "", now - turn % 1000 - 1, 0, now + DAY),
        )
        for turn, n in enumerate(islice(users, number))
    )
    columns = "id, kind, name, user_id, data, language, due_at, attempts, expires_at"
    _copy(database, "wsgiauth_mail", columns, rows)
    database.execute_sql("VACUUM ANALYZE wsgiauth_mail")


def add_expired(database, users, number, *, others):
    """Insert so many expired sessions, and `others` expired counts and events that are too old."""
    now = int(time.time())
    first = time.monotonic_ns() // 10**7 * 10**7  # not to be inserted twice
    numbers = range(first, first + number)
    sessions = (_session(n, users, now - 40 * DAY) for n in numbers)
    _copy(database, "wsgiauth_session", SESSION_COLUMNS, sessions)
    counts = ((_digest("count", n), 0, 1, now - 1 - n % DAY) for n in numbers[:others])
    _copy(database, "wsgiauth_attempt_count", "id, retry_at, count, expires_at", counts)
    old = (
        (now - (400 + n % 300) * DAY, "login", n + 1, f"user {n + 1}", "\\N", "192.0.2.1", "pwd")
        for n in range(others)
    )
    _copy(database, "wsgiauth_event", EVENT_COLUMNS.removeprefix("id, "), old)
    for table in ("session", "attempt_count", "event"):
        database.execute_sql(f"VACUUM ANALYZE wsgiauth_{table}")


USER_COLUMNS = "id, " + ", ".join([*row_of(0), "security_stamp", "created_at", "language"])
SESSION_COLUMNS = (
    "id, user_id, stamp, created_at, expires_at, last_seen_at, ends_at, idle, authenticated_at,"
    " methods, generation, refreshed_at, address, agent"
)
EVENT_COLUMNS = "id, time, name, user_id, actor, system_user, address, reason"
ONE_TIME_COLUMNS = "id, purpose, user_id, stamp, subject, data, expires_at"
KEY_COLUMNS = "id, user_id, name, digest, permissions, created_at, expires_at"
PASSKEY_COLUMNS = (
    "id, user_id, name, credential_id, public_key, sign_count, relying_party, user_handle,"
    " transports, is_backed_up, created_at, last_used_at"
)
IDENTITY_COLUMNS = "id, user_id, provider, issuer, subject, name, joined, created_at, last_used_at"


def _users(number):
    start = datetime(2020, 1, 1, tzinfo=UTC).replace(tzinfo=None)
    for n in _upto(number):
        row = row_of(n) | {"hashed_password": HASH_OF_PASSWORD}
        created_at = start + timedelta(minutes=n)
        yield (n, *map(_text, row.values()), 0, created_at, "")


def _memberships(users):
    """Put the older half into the first group, and each third user into another one."""
    yield from ((1, n) for n in _upto(users // 2))
    yield from ((2 + n // 3 % (GROUPS - 1), n) for n in range(3, users + 1, 3))


def _session(number, users, now):
    """Return one that began within the last two weeks; each third has a refresh token."""
    begun = now - number * 7919 % (14 * DAY)
    ends_at = begun + 30 * DAY
    idle = 14 * DAY + DAY // 2
    user_id = number // 3 % users + 1
    created_at = datetime.fromtimestamp(begun, UTC).replace(tzinfo=None)
    times = (created_at, min(now, begun) + idle, begun, ends_at, idle, begun, "pwd")
    return (session_id(number), user_id, 0, *times, int(number % 3 == 2), begun, "192.0.2.1", AGENT)


def _event(number, users, now):
    user_id = number * 7919 % users + 1
    time_ = now - (10 * users - number) * KEPT * DAY // (10 * users)
    name = NAMES[number % len(NAMES)]
    if number % 50 == 49:
        actor = ("command line", "root")
    else:
        actor = (f"user {user_id if number % 9 else 1}", "\\N")
    if number == 77:  # the only one
        name = "users_exported"
    return (number + 1, time_, name, user_id, *actor, "192.0.2.1", "pwd")


def _secrets(users, now):
    for n in range(users // 2):
        is_code = n % 2 == 0
        kind, user_id = ("recovery", n // 20 * 20 + 1) if is_code else ("reset", n + 1)
        subject = "\\N" if is_code else _digest("subject", n)
        expires_at = 2**62 if is_code else now + 1 + n % DAY
        yield (_digest("secret", n), kind, user_id, 0, subject, "", expires_at)


def _passkey(n, now):
    own = (_digest("passkey", n), n, "Laptop", _digest("credential", n), "00" * 40, 1)
    return (*own, "example.org", _digest("handle", n), "internal", "f", now, now)


def _identity(n, now):
    issuer = "https://accounts.example.com"
    return (_digest("identity", n), n, "google", issuer, f"{n}", f"user{n}", "[]", now, now)


def _keys(users, now, kept):
    """Yield a key for one user of five, and append some of them, and their users, to `kept`."""
    for n in range(1, users + 1, 5):
        key_id, key = api_keys.make_key()
        if n * 31 % users < 5 * 500:
            kept.append((n, key))
        yield (key_id, n, "Export", api_keys.digest(key), "app.action1", now, now + 365 * DAY)


def _upto(number):
    return range(1, number + 1)


def _digest(kind, number):
    return hashlib.sha256(b"%s %d" % (kind.encode(), number)).hexdigest()


def _text(value):
    if value is None:
        return "\\N"
    if isinstance(value, datetime):
        return value.replace(tzinfo=None)
    return {True: "t", False: "f"}.get(value, value) if isinstance(value, bool) else value
