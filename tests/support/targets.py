"""Which tests each command of the Makefile runs: `pytest --target NAME`.

A test belongs to one of five parts, by its file, its fixtures and its marks:

- ``databases`` needs PostgreSQL or MariaDB, or has processes that race on any database;
- ``browsers`` needs Chromium, Firefox or WebKit;
- ``programs`` runs what is not wsgiauth: other servers, frameworks in processes of their own,
  command lines, type checkers, builds, and the programs of the documentation;
- ``slow`` takes a fifth of a second or more a test, imports a framework, or tests what all
  features have in common: the documentation, languages, releases, events, secrets in logs, several
  tabs, hostile providers, servers and drivers;
- all others need Python and SQLite alone.

``make test`` runs the last, and ``make check`` the last two. Without a target, a run has the tests
of ``make check``; a file or folder of another part runs as a whole if the command names it.
"""

from functools import cache
from pathlib import Path

TESTS = Path(__file__).parent.parent
TARGETS = ("test", "check", "programs", "browsers", "databases")
FILES = {
    "browsers": (
        "docs/test_apps_page.py",
        "docs/test_guide.py",
        "docs/test_site.py",
        "docs/test_subdomains_page.py",
        "engines",
        "languages/test_phone.py",
        "mail/test_journey.py",
        "test_accessibility.py",
        "test_browser.py",
        "test_browser_cross_origin.py",
        "test_browser_journeys.py",
        "test_browser_oauth.py",
        "test_browser_panel.py",
        "test_browser_passkeys.py",
        "test_browser_providers.py",
        "test_browser_ways_in.py",
    ),
    "programs": (
        "contrib/test_django_versions.py",
        "contrib/test_flask_servers.py",
        "contrib/test_flask_versions.py",
        "docs/test_clients.py",
        "docs/test_code_page.py",
        "docs/test_command_line_page.py",
        "docs/test_deployment.py",
        "docs/test_django_page.py",
        "docs/test_events_page.py",
        "docs/test_examples.py",
        "docs/test_examples_of_tools.py",
        "docs/test_extend_with_wheel.py",
        "docs/test_factors_page.py",
        "docs/test_flask_page.py",
        "docs/test_forward_auth_page.py",
        "docs/test_from_auth0_and_firebase_page.py",
        "docs/test_from_django_auth_page.py",
        "docs/test_from_flask_login_page.py",
        "docs/test_from_flask_security_page.py",
        "docs/test_from_pyramid_jwt_page.py",
        "docs/test_guards_page.py",
        "docs/test_health_page.py",
        "docs/test_log_in_with_this_site_page.py",
        "docs/test_logins_page.py",
        "docs/test_mail_page.py",
        "docs/test_migration.py",
        "docs/test_organisations.py",
        "docs/test_own_data_page.py",
        "docs/test_prometheus.py",
        "docs/test_pyramid_page.py",
        "docs/test_readme.py",
        "docs/test_remote_user.py",
        "docs/test_servers.py",
        "docs/test_services_page.py",
        "docs/test_testing_page.py",
        "docs/test_two_sites.py",
        "docs/test_webhooks_page.py",
        "endpoints/test_openapi_tools.py",
        "features/oauth_server/real_clients",
        "features/providers/oidc/test_proxy.py",
        "frameworks",
        "test_framing.py",
        "test_packaging.py",
        "test_typing.py",
    ),
    "databases": (
        "storage/test_pooler.py",
        "storage/test_synchronous.py",
        "test_concurrency.py",
        "test_leftovers.py",
        "test_races.py",
    ),
    "slow": (
        "cli/test_serve.py",
        "contrib/django",
        "contrib/test_django_users.py",
        "contrib/test_flask.py",
        "contrib/test_flask_extensions.py",
        "contrib/test_pyramid.py",
        "docs",
        "endpoints/test_openapi.py",
        "endpoints/test_tabs.py",
        "features/health/test_served.py",
        "features/oauth_server/test_own_client.py",
        "features/providers/oidc/test_transport.py",
        "languages",
        "release",
        "storage/test_faults.py",
        "test_drivers.py",
        "test_events.py",
        "test_hostile.py",
        "test_hostile_provider.py",
        "test_sample.py",
        "test_secrets.py",
        "test_waitress.py",
        "test_without_passwords.py",
    ),
}
PARTS = {TESTS / name: part for part, names in FILES.items() for name in names}
OF_DATABASES = {"in_processes", "server_urls"}  # fixtures
RUN_BY = {  # the parts of files whose tests a target runs, or looks through
    "test": {None},
    "check": {None, "slow"},
    "programs": {"programs"},
    "browsers": {"browsers"},
    "databases": {None, "slow", "databases"},
}


@cache
def part_of(path):
    """Return the part that a file belongs to as a whole, or None; the nearest name decides."""
    return next((PARTS[each] for each in (path, *path.parents) if each in PARTS), None)


def target_for(path, named):
    """Return the target of a run without one, for a file or folder; None runs everything.

    Args:
        path: The file or folder.
        named: The files and folders that the command names.
    """
    whole = [each for each in named if part_of(each) not in RUN_BY["check"]]
    is_named = any({path, *path.parents} & {each} or path in each.parents for each in whole)
    return None if is_named else "check"


def has_file(target, path):
    """Return whether a target runs tests of a file, so that others are not even imported.

    It looks through a folder that belongs to another part if it runs a file of the folder.
    """
    if target is None or part_of(path) in RUN_BY[target]:
        return True
    below = (part for each, part in PARTS.items() if path in each.parents)
    return path.is_dir() and (part_of(path) is None or not RUN_BY[target].isdisjoint(below))


def has_test(target, item):
    """Return whether a target runs a test of a file that it has."""
    of_databases = is_of_databases(item)
    if target == "databases":
        return of_databases
    if target in ("test", "check"):
        return not of_databases and not (target == "test" and item.get_closest_marker("slow"))
    return True


def is_of_databases(item):
    """Return whether a test needs a database server, or races."""
    kind = item.callspec.params.get("database_url") if hasattr(item, "callspec") else None
    return (
        part_of(item.path) == "databases"
        or kind not in (None, "sqlite")
        or not OF_DATABASES.isdisjoint(item.fixturenames)
    )


def database_kinds(target, fixtures):
    """Return the kinds of database that a test marked `every_database` runs on."""
    if target in ("test", "check"):
        return ("sqlite",)
    if target == "databases" and "in_processes" not in fixtures:
        return ("postgresql", "mariadb")
    return ("sqlite", "postgresql", "mariadb")
