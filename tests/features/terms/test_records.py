"""What is stored about acceptances, and who sees it: users, the staff, and operators."""

import json
from datetime import UTC, datetime, timedelta

import peewee
import pytest
from webtest import TestApp

from tests.features.terms.sites import (
    LATER,
    OLDER,
    PAGE,
    TERMS,
    VERSION,
    accepted_by,
    known_to,
    number_of_rows,
)
from tests.support.sites import BROWSER, EMAIL, PASSWORD, SECRET_KEY, USERNAME
from wsgiauth import storage
from wsgiauth.accounts import create_user, delete_user, update_user
from wsgiauth.accounts.models import User
from wsgiauth.events.models import RecordedEvent
from wsgiauth.features.terms import acceptances
from wsgiauth.features.terms.feature import FEATURE
from wsgiauth.features.terms.tables import Acceptance
from wsgiauth.mail.outbox import Mail
from wsgiauth.storage import context
from wsgiauth.testing import bearer, logged_in, make_user

ADA = ("--username", USERNAME, "--email", EMAIL)


def rows():
    """Return what is stored, by user and version."""
    found = Acceptance.select().order_by(Acceptance.user, Acceptance.version).tuples()
    return [tuple(each) for each in found]


@pytest.mark.every_database
def test_a_row_has_the_user_the_version_and_the_time(site, ada):
    before = int(datetime.now(UTC).timestamp())
    assert acceptances.accept(ada, VERSION)
    ((user, version, accepted_at),) = rows()
    assert (user, version) == (ada.id, VERSION)
    assert before <= accepted_at <= before + 60
    assert not acceptances.accept(ada, VERSION)
    assert not acceptances.accept(ada, OLDER)
    assert acceptances.accept(ada, LATER)
    assert accepted_by(ada) == [LATER, VERSION]
    with pytest.raises(peewee.IntegrityError):
        Acceptance.insert(user=ada.id, version=VERSION, accepted_at=1).execute()


@pytest.mark.every_database
def test_a_lost_race_leaves_one_row_and_one_event(site, ada, heard, monkeypatch):
    """The other request commits between the SELECT and the INSERT."""
    insert = acceptances.insert

    def insert_second(user, version):
        monkeypatch.setattr(acceptances, "insert", insert)
        assert insert(user, version)
        return insert(user, version)

    monkeypatch.setattr(acceptances, "insert", insert_second)
    assert not acceptances.accept(ada, VERSION)
    assert accepted_by(ada) == [VERSION]
    assert heard == []


@pytest.mark.every_database
def test_the_rows_end_with_the_user_and_the_event_stays(site, ada, grace):
    for each in (ada, grace):
        acceptances.accept(each, VERSION)
    ada_id = ada.id
    delete_user(ada)
    assert [each[0] for each in rows()] == [grace.id]
    recorded = RecordedEvent.select().where(RecordedEvent.name == "terms_accepted")
    assert {each.user_id for each in recorded} == {ada_id, grace.id}


def test_a_user_sees_their_acceptances_in_the_file_of_their_data(make_site, ada):
    """Also when the site has no version any more."""
    site = make_site()
    ada = known_to(site, ada)
    with context.using(site.database):
        for each in (OLDER, VERSION):
            acceptances.accept(ada, each)
        documents = [each.document() for each in acceptances.list_accepted(ada)]
    assert [each["version"] for each in documents] == [VERSION, OLDER]
    without = make_site(version=None)
    for each in (site, without):
        headers = bearer(each, known_to(each, ada))
        file = TestApp(each).get("/auth/data", headers=headers).json
        assert file["accepted_terms"] == documents


@pytest.fixture
def boss(site):
    """Return the header of a superuser who has accepted the terms."""
    return bearer(site, make_user(site, "boss", is_staff=True, is_superuser=True))


def test_the_staff_see_what_a_user_has_accepted(client, ada, boss):
    url = f"/auth/admin/users/{ada.id}"
    assert client.get(url, headers=boss).json["accepted_terms"] == []
    page = client.get(url, headers={**BROWSER, **boss})
    assert page.html.find("h2", id="accepted_terms").text == "Accepted terms"
    page.mustcontain("The user has not accepted any terms.")
    for each in (OLDER, VERSION):
        acceptances.accept(ada, each)
    shown = client.get(url, headers=boss).json["accepted_terms"]
    assert shown == [each.document() for each in acceptances.list_accepted(ada)]
    page = client.get(url, headers={**BROWSER, **boss})
    heading = page.html.find("h2", id="accepted_terms")
    names = heading.find_parent("section") or heading.find_next("ul")
    assert names.text.index(VERSION) < names.text.index(OLDER)
    assert names.find("button") is None


@pytest.mark.promise(97)
def test_no_action_of_the_staff_accepts_for_a_user(client, ada, boss):
    for action in ("accepted_terms", "accept-terms", "terms", "end"):
        fields = {"name": VERSION, "version": VERSION, "accept": True}
        url = f"/auth/admin/users/{ada.id}/{action}"
        client.post_json(url, fields, headers=boss, status="4*")
    made = {"username": "eve", "email": "eve@example.org", "accept_terms": True}
    client.post_json("/auth/admin/users", made, headers=boss, status="4*")
    assert accepted_by(ada) == []


def test_the_trail_names_the_event(client, ada, boss, site):
    acceptances.accept(ada, VERSION)
    page = client.get("/auth/admin/events", headers={**BROWSER, **boss})
    page.mustcontain("Terms accepted", VERSION)


def test_no_email_is_sent(make_site, ada):
    of = {"MAIL_URL": "memory:", "MAIL_FROM": "a@example.org", "PUBLIC_URL": "https://example.org"}
    site = make_site(of=of)
    headers = bearer(site, known_to(site, ada), terms=False)
    TestApp(site).post_json(PAGE, {"version": VERSION}, headers=headers)
    with context.using(site.database):
        assert Mail.select().count() == 0
    assert number_of_rows(site) == 1


# The commands


@pytest.fixture
def three(person, settings):
    """Return three users, of whom one has accepted two versions, one the older, one nothing."""
    grace = create_user("Grace", "grace@example.org", PASSWORD, settings=settings)
    eve = create_user("Eve", "eve@example.org", PASSWORD, settings=settings)
    for user, versions in ((person, (OLDER, VERSION)), (grace, (OLDER,))):
        for each in versions:
            acceptances.accept(user, each)
    return person, grace, eve


@pytest.fixture
def run(wsgiauth, database):
    """Return a function that runs a command, and closes the database that it opens."""

    def run_command(*argv, **options):
        result = wsgiauth(*argv, **options)
        storage.discard_connection(storage.current())
        context.use(database)
        return result

    return run_command


@pytest.fixture
def terms(run, monkeypatch):
    """Return a function that runs the command on a site with terms, or with another version."""

    def run_terms(*options, **changes):
        values = TERMS | changes
        for name, value in values.items():
            if value is None:
                monkeypatch.delenv(name, raising=False)
            else:
                monkeypatch.setenv(name, value)
        status, output, errors = run("terms", *options)
        assert (status, errors) == (0, "")
        return output

    return run_terms


VERSIONS = [{"version": VERSION, "users": 1}, {"version": OLDER, "users": 2}]


@pytest.mark.every_database
@pytest.mark.parametrize(
    ("version", "accepted", "missing"), [(OLDER, 2, 1), (VERSION, 1, 2), (LATER, 0, 3)]
)
def test_the_command_counts_who_has_accepted(terms, three, version, accepted, missing):
    counted = json.loads(terms("--json", TERMS_VERSION=version))
    assert counted == {
        "version": version,
        "accepted": accepted,
        "missing": missing,
        "versions": VERSIONS,
    }
    output = terms(TERMS_VERSION=version).splitlines()
    users = "user" if accepted == 1 else "users"
    first = f"{accepted} active {users} accepted the terms of {version}; {missing} did not."
    assert output[0] == first
    assert [each.split() for each in output[-2:]] == [[VERSION, "1"], [OLDER, "2"]]


def test_only_active_users_are_missing(terms, three):
    ada, _, eve = three
    for each in (ada, eve):
        update_user(each, is_active=False)
    counted = json.loads(terms("--json"))
    assert (counted["accepted"], counted["missing"]) == (0, 1)
    assert counted["versions"] == VERSIONS


def test_the_command_works_without_the_setting(terms, three):
    counted = json.loads(terms("--json", TERMS_VERSION=None, TERMS_URL=None))
    assert counted["version"] is None
    assert counted["versions"] == VERSIONS
    assert "accepted the terms" not in terms(TERMS_VERSION=None, TERMS_URL=None)


def test_the_command_works_with_an_empty_table(terms, database):
    counted = json.loads(terms("--json"))
    assert counted == {"version": VERSION, "accepted": 0, "missing": 0, "versions": []}
    assert terms().startswith(f"0 active users accepted the terms of {VERSION}; 0 did not.")


@pytest.mark.every_database
def test_check_counts_too(run, three, monkeypatch):
    for name, value in {**TERMS, "SECRET_KEY": SECRET_KEY}.items():
        monkeypatch.setenv(name, value)
    _, output, _ = run("check")
    assert f"note: 1 active user accepted the terms of {VERSION}; 2 did not" in output
    assert "a day to come" not in output


def test_check_notes_a_day_to_come(run, person, monkeypatch):
    tomorrow = f"{datetime.now(UTC) + timedelta(days=2):%Y-%m-%d}"
    for name, value in {**TERMS, "SECRET_KEY": SECRET_KEY, "TERMS_VERSION": tomorrow}.items():
        monkeypatch.setenv(name, value)
    _, output, _ = run("check")
    assert f"note: TERMS_VERSION is {tomorrow}, a day to come" in output


def test_check_says_nothing_without_the_setting(make_site):
    site = make_site(version=None)
    with context.using(site.database):
        assert [each for question in FEATURE.questions for each in question.ask(site.site)] == []


@pytest.mark.promise(97)
def test_no_command_accepts_for_a_user(run, monkeypatch, settings, tmp_path):
    for name, value in TERMS.items():
        monkeypatch.setenv(name, value)
    made = run("createuser", *ADA, "--password-stdin", stdin=f"{PASSWORD}\n")
    assert made[0] == 0
    table = tmp_path / "users.csv"
    table.write_text("username,email,accept_terms\nGrace,grace@example.org,true\n")
    assert run("import", str(table))[0] != 0
    table.write_text("username,email\nGrace,grace@example.org\n")
    assert run("import", str(table))[0] == 0
    assert User.select().count() == 2
    assert not Acceptance.select().exists()


def test_code_that_creates_a_user_accepts_nothing(site, settings):
    user = create_user("eve", "eve@example.org", PASSWORD, settings=settings)
    assert accepted_by(user) == []
    seen = logged_in(site, user, terms=False).get("/").json
    assert seen["error"] == "terms_required"
