"""What `check` says about the provider."""

import pytest

from tests.support.service_keys import new_key, pem_of, with_services, write_key
from tests.support.sites import echo
from wsgiauth import AuthMiddleware, storage
from wsgiauth.features.oauth_server import clients
from wsgiauth.features.oauth_server.questions import QUESTIONS
from wsgiauth.features.oauth_server.tables import AppSession


@pytest.fixture
def make_site(settings, tmp_path):
    """Return a function that makes a provider with one key."""
    made = []

    def make(algorithm="RS256", *, is_on=True, services=("reports",)):
        path = write_key(tmp_path / algorithm, pem_of(new_key(algorithm)))
        changes = {"OAUTH_SERVER": is_on, "SERVICES": services}
        made.append(AuthMiddleware(echo, with_services(settings, path, **changes)))
        return made[-1].site

    yield make
    for each in made:
        storage.discard_connection(each.database)


def findings(site):
    return [finding for question in QUESTIONS for finding in question.ask(site)]


def add_client(algorithm=""):
    uris = ["https://wiki.example.org/login"]
    return clients.create("Wiki", uris, algorithm=algorithm, now=0).row


def test_keys_without_rsa_are_a_risk(make_site):
    site = make_site("ES256")
    add_client()
    (finding,) = findings(site)
    assert finding.sentence.startswith("OAUTH_SERVER: SERVICE_KEYS has no RSA key.")
    assert finding.is_risk


@pytest.mark.every_database
def test_a_provider_without_an_app_is_a_note(make_site):
    site = make_site()
    (finding,) = findings(site)
    assert finding.sentence.startswith("OAUTH_SERVER is on, but no app is registered: ")
    assert not finding.is_risk
    add_client()
    assert findings(site) == []


def test_services_between_commas_are_a_risk(make_site):
    site = make_site(services=("https://example.org/mcp,reports", "https://example.org/b#a.b,c.d"))
    add_client()
    (finding,) = findings(site)
    assert finding.sentence.startswith("SERVICES has one service https://example.org/mcp,reports: ")
    assert finding.is_risk


@pytest.mark.every_database
def test_an_app_whose_algorithm_has_no_key_any_more_is_a_risk(make_site):
    site = make_site()
    add_client("RS256")
    client = add_client("ES256")
    (finding,) = findings(site)
    assert finding.sentence.startswith(
        f"OAUTH_SERVER: SERVICE_KEYS has no key for ES256, which the app Wiki ({client.id}) demands"
    )
    assert finding.is_risk


@pytest.mark.every_database
@pytest.mark.parametrize(("services", "count"), [((), 1), (("reports",), 0)], ids=["none", "one"])
def test_a_program_without_a_service_to_use_is_a_risk(make_site, services, count):
    site = make_site(services=services)
    add_client()
    made = clients.create("Export", is_service=True, scopes=["reports.read"], now=0)
    found = findings(site)
    assert len(found) == count
    for each in found:
        assert f"the program Export ({made.row.id}) can get no token" in each.sentence
        assert each.is_risk


def test_logout_tokens_that_were_not_sent_for_five_minutes_are_a_risk(make_site, settings):
    site = make_site()
    AppSession.insert(
        id="first", client=add_client().id, user_id=1, sid="session", due_at=1, expires_at=2
    ).execute()
    (finding,) = findings(site)
    assert finding.sentence.startswith("1 logout token overdue: ")
    assert finding.is_risk


@pytest.mark.every_database
def test_an_app_without_pkce_is_a_note(make_site):
    site = make_site()
    uris = ["https://wiki.example.org/login"]
    client = clients.create("Wiki", uris, is_without_pkce=True, now=0).row
    (finding,) = findings(site)
    assert finding.sentence.startswith(f"The app Wiki ({client.id}) can log users in without PKCE")
    assert not finding.is_risk


def test_a_site_that_is_no_provider_is_asked_nothing(make_site):
    assert findings(make_site("ES256", is_on=False)) == []
