"""The rules of a logout that an app begins: where it may lead, and which session it names."""

from urllib.parse import parse_qsl, urlencode

import pytest

from tests.support.oauth_apps import App
from tests.support.tables import row_by_row
from wsgiauth.features.oauth_server import clients
from wsgiauth.features.oauth_server.logout_requests import LogoutRequest, read_logout
from wsgiauth.features.services.signed_tokens import ID_TOKEN, SignedTokens

NOW = 2_000_000_000  # seconds since the epoch, when these tests happen
BYE = "https://wiki.example.org/bye"
EVIL = "https://evil.example.org/bye"
UNKNOWN = "The app that sent you here is not known to this site."
INVALID = "The app that sent you here made a request that is not valid."
NOT_REGISTERED = "The app Wiki asked to send you to an address that it has not registered here."


@pytest.fixture
def wiki(site):
    """Return an app to which a logout can lead back."""
    return App(site, logout_redirects=[BYE, f"{BYE}?from=site"])


@pytest.fixture
def signed(site):
    """Return the keys of the site."""
    return site.site.require(SignedTokens)


@pytest.fixture
def read(signed):
    """Return a function that reads a request with these parameters."""
    return lambda *pairs, **named: read_logout(urlencode([*pairs, *named.items()]), signed, NOW)


def hint(signed, app, **claims):
    """Return an ID token of the app, which has expired."""
    usual = {"sub": "1", "aud": app.id, "exp": 1, "sid": "a-sid"}
    return signed.sign({**usual, **claims}, kind=ID_TOKEN)


def test_a_request_can_name_nothing(read):
    assert read() == LogoutRequest()
    assert read(logout_hint="ada", ui_locales="de", state="") == LogoutRequest()


@pytest.mark.promise(89)
def test_an_app_leads_to_its_own_uri_with_its_state(read, wiki):
    request = read(client_id=wiki.id, post_logout_redirect_uri=BYE, state="a b")
    assert (request.client.id, request.sid, request.problem) == (wiki.id, "", "")
    assert request.location == f"{BYE}?state=a+b"
    assert read_again(read, request).location == request.location
    with_query = read(client_id=wiki.id, post_logout_redirect_uri=f"{BYE}?from=site", state="x")
    assert with_query.location == f"{BYE}?from=site&state=x"
    assert read(client_id=wiki.id, post_logout_redirect_uri=BYE).location == BYE


def test_an_id_token_names_the_app_and_the_session(read, wiki, signed):
    request = read(id_token_hint=hint(signed, wiki), post_logout_redirect_uri=BYE)
    assert (request.client.id, request.sid, request.location) == (wiki.id, "a-sid", BYE)
    assert read_again(read, request).location == BYE
    both = read(id_token_hint=hint(signed, wiki), client_id=wiki.id)
    assert (both.client.id, both.sid, both.location) == (wiki.id, "a-sid", "")
    assert read(id_token_hint=hint(signed, wiki, sid=None)).problem == ""


def read_again(read, request):
    """Return the request to which the form of the page leads."""
    assert "id_token_hint" not in request.query
    return read(*parse_qsl(request.query))


@pytest.mark.promise(89)
@row_by_row(
    ("changes", "problem"),
    [
        pytest.param({"post_logout_redirect_uri": EVIL}, NOT_REGISTERED, id="another URI"),
        pytest.param({"post_logout_redirect_uri": f"{BYE}/"}, NOT_REGISTERED, id="longer"),
        pytest.param({"post_logout_redirect_uri": f"{BYE}?x"}, NOT_REGISTERED, id="a query"),
        pytest.param({"client_id": "0123456789abcdef0123"}, UNKNOWN, id="another client"),
        pytest.param({"client_id": ""}, UNKNOWN, id="no client"),
        pytest.param({"id_token_hint": "x"}, INVALID, id="no ID token"),
        pytest.param({"state": "x" * 9000}, INVALID, id="too long"),
    ],
)
def test_a_mistake_leads_nowhere(read, wiki, changes, problem):
    usual = {"client_id": wiki.id, "post_logout_redirect_uri": BYE, "state": "x"}
    request = read(**usual | changes)
    assert request.problem == problem
    assert (request.location, request.sid) == ("", "")
    assert "id_token" not in request.query


@pytest.mark.promise(89)
@row_by_row("name", ["client_id", "post_logout_redirect_uri", "state", "id_token_hint"])
def test_a_parameter_that_is_given_twice_is_a_mistake(read, wiki, signed, name):
    usual = {"client_id": wiki.id, "post_logout_redirect_uri": BYE, "state": "x"}
    usual["id_token_hint"] = hint(signed, wiki)
    for value in (usual[name], EVIL):
        assert read((name, value), **usual) == LogoutRequest(problem=INVALID)


@pytest.mark.promise(89)
def test_no_other_app_leads_to_the_uri(read, site, wiki, signed):
    other = App(site, "Other")
    request = read(id_token_hint=hint(signed, other), post_logout_redirect_uri=BYE)
    assert (request.location, request.sid) == ("", "")
    for changes in ({"aud": other.id}, {"aud": [wiki.id]}, {"aud": None}, {"iss": "https://x"}):
        token = hint(signed, wiki, **changes)
        assert read(id_token_hint=token, client_id=wiki.id) == LogoutRequest(problem=INVALID)


def test_a_service_is_no_app(read):
    service = clients.create("Job", scopes=["reports.read"], is_service=True, now=0).row
    request = read(client_id=service.id)
    assert (request.client, request.problem) == (None, UNKNOWN)
