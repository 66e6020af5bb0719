"""PostgreSQL reads no whole table, for any statement that wsgiauth can send."""

from contextlib import closing

import pytest
from webtest import AppError

from tests.support import features
from tests.support.everything import drive
from tests.support.hostile_provider import Provider
from tests.support.plans import forged_sizes, whole_reads
from tests.support.statements import places, recording
from wsgiauth import storage

# What reads a whole table, and why it can; by file and function.
_OF_KERNEL = {
    ("accounts/known_permissions.py", "known_permissions", "wsgiauth_permission"): (
        "the command `permissions` counts"
    ),
    ("accounts/listing.py", "group_documents", "wsgiauth_membership"): (
        "the command `groups` counts"
    ),
    ("accounts/listing.py", "user_pages", "part of wsgiauth_user_email_key"): (
        "the command `users` sorts those whose name begins so"
    ),
    ("accounts/listing.py", "user_pages", "part of wsgiauth_user_username_key"): ("the same"),
    ("accounts/tables.py", "count", "wsgiauth_user"): (
        "the application asks for the number of all users"
    ),
    ("authentication/sessions.py", "revoke_every_session", "wsgiauth_session"): (
        "all of them are deleted"
    ),
    ("cli/restored.py", "_print_unknown", "wsgiauth_one_time"): "the command `restored` counts",
    ("cli/restored.py", "_raise_stamps", "wsgiauth_key"): "all of them are deleted",
    ("cli/restored.py", "_raise_stamps", "wsgiauth_user"): "all of them are changed",
    ("cli/restored.py", "_newest_event", "wsgiauth_event"): (
        "only the events of the command itself are passed over"
    ),
    ("cli/restored.py", "_end", "part of wsgiauth_one_time"): "recovery codes are passed over",
    **{
        ("cli/restored.py", "_end", f"wsgiauth_{name}"): "all of them are deleted"
        for name in ("mail", "one_time", "session", "trusted_browser")
    },
    **{
        ("cli/upkeep.py", "delete_of_features", f"wsgiauth_oauth_{name}"): "all of them are deleted"
        for name in ("grant", "consent", "device", "request")
    },
    ("cli/mail.py", "send", "wsgiauth_mail"): "the command `mail` counts what it has left",
    ("figures/event_counts.py", "by_hour", "part of wsgiauth_event_count"): (
        "a day has at most 1,440 counts of an event"
    ),
    ("figures/accounts.py", "_emails", "wsgiauth_mail"): "a figure, which metrics keep a while",
    ("figures/accounts.py", "_sessions", "part of wsgiauth_session"): "the same",
    ("figures/accounts.py", "_users", "wsgiauth_user"): "the same",
    ("figures/event_counts.py", "by_name", "part of wsgiauth_event_count"): (
        "five minutes have at most some hundred counts"
    ),
    ("figures/event_counts.py", "purge", "part of wsgiauth_event_count"): (
        "the counts of an hour, once an hour"
    ),
    ("mail/outbox.py", "overdue", "part of wsgiauth_mail"): "`check` counts",
    ("throttling/failed_logins.py", "users_who_failed", "part of wsgiauth_failed_logins"): (
        "the failures of an hour or two are sorted, and each has cost a hash"
    ),
}


def of_features(what):
    """Return what the samples of features say of their statements, by file, function and table."""
    return {
        (f"features/{name}/{file}", function, table): why
        for name, reasons in features.declared(what).items()
        for (file, function, table), why in reasons.items()
    }


WHOLE = _OF_KERNEL | of_features("WHOLE_READS")
BY_STATISTICS = of_features("READS_BY_STATISTICS")
# Not sent to PostgreSQL.
OF_MARIADB = {"accounts/locks.py"}


@pytest.fixture(scope="module")
def driven(server_urls, empty_server, tmp_path_factory):
    """Return all statements as they were sent to PostgreSQL, and a database like theirs."""
    url = server_urls("postgresql")
    try:
        with pytest.MonkeyPatch.context() as patch, Provider() as provider:
            patch.setattr("wsgiauth.mail.worker.Worker._start", lambda *_: None)
            number_anew(url)
            with recording("postgres") as recorded:
                drive(url, tmp_path_factory.mktemp("everything"), provider)
        database = storage.open_database(url)
        yield recorded, database
        storage.discard_connection(database)
    except AppError as error:
        pytest.fail(str(error).partition("\n")[0])  # the status and the URL, without the page
    finally:
        empty_server("postgresql")


def number_anew(url):
    """Let the gallery have the numbers that its addresses name."""
    with closing(storage.open_database(url)) as database:
        for table in ("user", "group"):
            database.execute_sql(f"ALTER SEQUENCE wsgiauth_{table}_id_seq RESTART")


def test_every_place_that_begins_a_query_is_driven(driven):
    recorded, _ = driven
    unseen = [each for each in places() if not recorded.has_seen(each)]
    kernel = "tests/support/everything.py"
    advice = [
        f"{each}: send it in `drive` of {features.place_of(each.file, kernel)}"
        for each in sorted(unseen)
        if each.file not in OF_MARIADB
    ]
    assert {each.file for each in unseen} == OF_MARIADB, "\n".join(advice)


def test_no_statement_reads_a_whole_table(driven):
    recorded, database = driven
    with forged_sizes(database):
        found = {
            (*each.origin, what): each.sql
            for each in recorded.statements.values()
            for what in whole_reads(database, each.sql, each.parameters)
        }
    new = {each: found[each] for each in found.keys() - WHOLE.keys() - BY_STATISTICS.keys()}
    places = {features.place_of(file, "this test") for file, _function, _table in new}
    assert not new, f"say in `WHOLE_READS` of {places} why these can read a whole table: {new}"
    assert WHOLE.keys() <= found.keys()


@pytest.mark.parametrize(
    ("sql", "tables"),
    [
        ("SELECT * FROM wsgiauth_mail WHERE name = 'x'", {"wsgiauth_mail"}),
        ("SELECT id FROM wsgiauth_event ORDER BY id", {"wsgiauth_event"}),
        ("SELECT * FROM wsgiauth_event WHERE reason = 'x' ORDER BY id LIMIT 1", {"wsgiauth_event"}),
        ("SELECT * FROM wsgiauth_event ORDER BY reason LIMIT 1", {"wsgiauth_event"}),
        ("UPDATE wsgiauth_key SET name = 'x' WHERE name = 'y'", {"wsgiauth_key"}),
        (
            "SELECT * FROM wsgiauth_event WHERE id > 1 AND reason = 'x' ORDER BY id LIMIT 1",
            {"part of wsgiauth_event"},
        ),
        ("SELECT * FROM wsgiauth_event ORDER BY id LIMIT 1", set()),
        ("SELECT * FROM wsgiauth_event WHERE id = 1", set()),
        ("SELECT * FROM wsgiauth_group WHERE name = 'x'", set()),
    ],
    ids=[
        *("no index", "an index in its order", "a limit with a filter", "a limit after a sort"),
        *("an update", "a range with a filter", "a limit", "a primary key", "a small table"),
    ],
)
def test_a_whole_read_is_found(driven, sql, tables):
    _, database = driven
    with forged_sizes(database):
        assert whole_reads(database, sql, ()) == tables
