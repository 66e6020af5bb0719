"""PostgreSQL reads no whole table, for any statement that wsgiauth can send."""

from contextlib import closing

import pytest
from webtest import AppError

from tests.support.everything import drive
from tests.support.hostile_provider import Provider
from tests.support.plans import forged_sizes, whole_reads
from tests.support.statements import places, recording
from wsgiauth import storage

# What reads a whole table, and why it can; by file and function.
WHOLE = {
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
    ("features/former_passwords/counts.py", "count_former", "wsgiauth_former_password"): (
        "`check` counts"
    ),
    ("features/former_passwords/counts.py", "count_hashes", "wsgiauth_user"): (
        "the command `hashes` counts"
    ),
    ("features/former_passwords/counts.py", "count_former", "wsgiauth_user"): "the same",
    (
        *("features/former_passwords/site_passwords.py", "_count_groups"),
        "wsgiauth_former_password",
    ): "a login counts every five minutes",
    (
        *("features/former_passwords/site_passwords.py", "has_any"),
        "wsgiauth_former_password",
    ): "a login stops at the first row",
    (
        *("features/oauth_server/app_sessions.py", "count_overdue"),
        "part of wsgiauth_oauth_session",
    ): "`check` counts",
    ("features/oauth_server/app_sessions.py", "next_due", "part of wsgiauth_oauth_session"): (
        "rows of an app that fails are passed over"
    ),
    ("features/oauth_server/app_sessions.py", "mark_ended", "wsgiauth_oauth_client"): (
        "the deletion of a group, which is rare, looks for its apps"
    ),
    ("features/oauth_server/client_pages.py", "find_clients", "wsgiauth_oauth_client"): (
        "a search of the panel can examine the names of all apps, which are at most some thousands"
    ),
    ("features/oauth_server/clients.py", "rows_of_clients", "wsgiauth_oauth_client"): (
        "the commands `client list` and `client export` list all clients"
    ),
    ("features/oauth_server/questions.py", "_lacks_algorithms", "wsgiauth_oauth_client"): (
        "`check` looks for rare clients"
    ),
    ("features/oauth_server/questions.py", "_lacks_clients", "wsgiauth_oauth_client"): (
        "`check` asks whether there is one"
    ),
    ("features/oauth_server/questions.py", "_lacks_services", "wsgiauth_oauth_client"): (
        "`check` looks for programs"
    ),
    ("features/panel/user_search.py", "_select", "wsgiauth_user"): (
        "a search of the panel's list can examine all users, until its time limit"
    ),
    ("features/panel/user_search.py", "_select", "part of wsgiauth_user"): "the same",
    ("features/factors/passkeys/__init__.py", "is_used", "wsgiauth_passkey"): (
        "`check` asks whether there is one"
    ),
    ("authentication/sessions.py", "revoke_every_session", "wsgiauth_session"): (
        "all of them are deleted"
    ),
    ("features/terms/acceptances.py", "count", "wsgiauth_terms_acceptance"): (
        "the command `terms` and `check` count"
    ),
    ("features/terms/acceptances.py", "count", "part of wsgiauth_terms_acceptance"): "the same",
    ("features/factors/totp.py", "count_by_key", "wsgiauth_totp"): "`check` counts",
    ("features/factors/totp.py", "is_used", "wsgiauth_totp"): "a start stops at the first app",
    ("features/providers/questions.py", "count_stranded", "wsgiauth_identity"): "`check` counts",
    ("features/providers/questions.py", "count_stranded", "wsgiauth_passkey"): "`check` counts",
    ("cli/mail.py", "send", "wsgiauth_mail"): "the command `mail` counts what it has left",
    ("mail/outbox.py", "overdue", "part of wsgiauth_mail"): "`check` counts",
    ("features/audit/trail.py", "_matching", "part of wsgiauth_event"): (
        "of the events since a position, those of its second are passed over"
    ),
}
# Not sent to PostgreSQL.
OF_MARIADB = {"accounts/locks.py"}

# The same, or along an index, as the planner chooses by what it knows of the values.
BY_STATISTICS = {
    ("features/oauth_server/app_sessions.py", "clients_due", "wsgiauth_oauth_client"): (
        "the clients of operators, which are some, and in many sites all"
    ),
    ("features/oauth_server/app_sessions.py", "clients_due", "part of wsgiauth_oauth_session"): (
        "the rows that are due, where the planner expects fewer of them than apps"
    ),
}


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
    assert {each.file for each in unseen} == OF_MARIADB, "\n".join(sorted(map(str, unseen)))


def test_no_statement_reads_a_whole_table(driven):
    recorded, database = driven
    with forged_sizes(database):
        found = {
            (*each.origin, what): each.sql
            for each in recorded.statements.values()
            for what in whole_reads(database, each.sql, each.parameters)
        }
    assert WHOLE.keys() <= found.keys() <= WHOLE.keys() | BY_STATISTICS.keys(), found


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
