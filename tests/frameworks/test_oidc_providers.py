"""The whole way of a login, with providers that others have made, and whose code is not ours.

`oidc-provider` of npm is certified; `oidc-provider-mock` of PyPI is made with Authlib. Their ID
tokens differ: one has no address of email, the other names no key and has a list as audience.
"""

import time
from dataclasses import replace
from functools import partialmethod
from urllib.parse import urlsplit

import pytest

from tests.support.factors import FACTOR_KEY, add_app
from tests.support.logins import make_stale
from tests.support.oidc_provider import Person, entry_of, oidc_provider
from tests.support.oidc_provider_mock import oidc_provider_mock
from tests.support.sites import BROWSER, PASSWORD, SAME_ORIGIN, Stage, echo, serving
from wsgiauth import AuthMiddleware, storage
from wsgiauth.accounts import find_user
from wsgiauth.authentication.tokens import Tokens
from wsgiauth.testing import logged_in

CERTIFIED, MOCK = "oidc-provider", "oidc-provider-mock"
SCRIPT = {"Accept": "application/json", "Sec-Fetch-Site": "same-origin"}


class Visitor(Person):
    """A person at the site and at the provider, with one browser."""

    def __init__(self, address, issuer):
        super().__init__(issuer)
        self.address = address

    def send(self, path, **fields):
        """Send what a script of the site sends, and return the answer."""
        return self.client.post(f"{self.address}{path}", json=fields, headers=SCRIPT)

    def ask(self, path):
        return self.client.get(f"{self.address}{path}", headers=SCRIPT).json()

    def begin(self, path="/auth/oidc/work", **fields):
        """Begin something at the site; return the URL of the provider."""
        answer = self.send(path, **fields)
        assert answer.status_code == 200, answer.text
        return answer.json()["next"]

    def come_back(self, url, login="ada"):
        """Log in at the provider, and return the site's answer."""
        url = self.visit(url, login=login, sub=login, password="any password")
        assert url.startswith(f"{self.address}/auth/oidc/work/callback?")
        return self.client.get(url, headers=BROWSER)

    def log_in(self, login="ada", **fields):
        """Log in at the site by the provider; return the path to which this leads."""
        answer = self.come_back(self.begin(**fields), login)
        assert answer.status_code == 303, answer.text
        return urlsplit(answer.headers["Location"]).path

    def register(self, login="ada", username="Ada"):
        """Log in for the first time, and get an account."""
        assert self.log_in(login) == "/auth/complete"
        answer = self.send("/auth/complete", username=username)
        assert answer.status_code in (200, 201), answer.text

    def log_out(self):
        return self.send("/auth/logout").json()

    @property
    def user(self):
        """The name of the user that the application sees."""
        return self.ask("/page")["user"]


@pytest.fixture(scope="module")
def certified():
    with oidc_provider() as provider:
        yield provider


@pytest.fixture(scope="module")
def mock():
    grace = {"sub": "grace", "email": "grace@example.org"}  # not verified
    ada = {"sub": "ada", "email": "ada@example.org", "email_verified": True}
    with oidc_provider_mock({**ada, "preferred_username": "ada"}, grace) as issuer:
        yield issuer


@pytest.fixture(scope="module")
def stage():
    return Stage()


@pytest.fixture(scope="module")
def address(stage):
    with serving(stage) as address:
        yield address


@pytest.fixture
def kind():
    return CERTIFIED


@pytest.fixture
def people():
    return {}


@pytest.fixture
def issuer(request, kind, address, people):
    """Return the issuer of a provider that knows the site and these people."""
    if kind == MOCK:
        return request.getfixturevalue("mock")
    provider = request.getfixturevalue("certified")
    provider.configure(address, people=people)
    return provider.issuer


@pytest.fixture
def parameters():
    """Return the parameters of the entry."""
    return {"link": "verified"}


@pytest.fixture
def clock(monkeypatch):
    """Return a list with the seconds by which the clock of the site differs."""
    ahead = [0]

    class Clocked(Tokens):
        """Tokens by that clock."""

        __init__ = partialmethod(Tokens.__init__, clock=lambda: time.time() + ahead[0])

    monkeypatch.setattr("wsgiauth.site.Tokens", Clocked)
    return ahead


@pytest.fixture
def site(settings, stage, address, issuer, parameters, clock):
    entry = entry_of(issuer, **parameters)
    changed = {"OIDC_PROVIDERS": (entry,), "PUBLIC_URL": address, "FACTOR_KEY": FACTOR_KEY}
    stage.app = AuthMiddleware(echo, replace(settings, **changed))
    yield stage.app
    storage.discard_connection(stage.app.database)


@pytest.fixture
def visitor(site, address, issuer):
    with Visitor(address, issuer) as visitor:
        yield visitor


BOTH = pytest.mark.parametrize("kind", [CERTIFIED, MOCK])


@BOTH
def test_the_first_login_creates_an_account_and_the_next_one_finds_it(visitor):
    visitor.register()
    assert visitor.user == "Ada"
    account = visitor.ask("/auth/me")
    assert (account["email"], account["email_verified"]) == ("ada@example.org", True)
    assert account["has_password"] is False
    visitor.log_out()
    assert visitor.user is None
    assert visitor.log_in(next="/page?number=2") == "/page"
    assert visitor.user == "Ada"


@BOTH
def test_an_address_that_the_provider_has_not_verified_is_not_proven(
    certified, visitor, address, kind
):
    if kind == CERTIFIED:
        certified.configure(address, people={"grace": {"email_verified": False}})
    assert visitor.log_in("grace") == "/auth/complete"
    visitor.send("/auth/complete", username="Grace", email="grace@example.org")
    assert visitor.ask("/auth/me")["email_verified"] is False


@BOTH
def test_an_account_is_connected_and_logs_in_from_then_on(visitor, address, ada):
    fields = {"username": "Ada", "password": PASSWORD}
    visitor.client.post(f"{address}/auth/login", data=fields, headers=SAME_ORIGIN)
    answer = visitor.come_back(visitor.begin("/auth/identities", connect="work"), "grace")
    assert answer.status_code == 303
    (identity,) = visitor.ask("/auth/identities")["identities"]
    assert (identity["provider"], identity["subject"]) == ("work", "grace")
    visitor.log_out()
    assert visitor.log_in("grace") == "/"
    assert visitor.user == "Ada"


@BOTH
def test_a_stale_session_is_confirmed_by_another_login_at_the_provider(visitor):
    visitor.register()
    make_stale()
    refused = visitor.send("/auth/identities", connect="work")
    assert refused.json()["code"] == "insufficient_user_authentication"
    pages = len(visitor.pages)
    answer = visitor.come_back(visitor.begin("/auth/confirm", provider="work"))
    assert answer.status_code == 303
    assert len(visitor.pages) > pages  # the provider has asked again
    assert visitor.send("/auth/identities", connect="work").status_code == 200


def test_a_second_login_does_not_ask_at_the_provider(visitor):
    visitor.register()
    pages = len(visitor.pages)
    visitor.log_out()
    visitor.log_in()
    assert (visitor.user, len(visitor.pages)) == ("Ada", pages)


@pytest.mark.parametrize("parameters", [{"logout": "provider"}], ids=[""])
@BOTH
def test_a_logout_continues_at_the_provider_and_comes_back(visitor, kind, address):
    visitor.register()
    url = visitor.log_out()["next"]
    assert visitor.user is None
    assert visitor.visit(url, logout="yes") == f"{address}/auth/login"
    if kind == CERTIFIED:  # the other one has no sessions
        pages = len(visitor.pages)
        visitor.log_in()
        assert len(visitor.pages) > pages


@pytest.mark.promise(74)
def test_a_logout_at_the_provider_ends_the_session_here_and_no_other(visitor, site, address):
    visitor.register()
    otherwise = logged_in(site, find_user("Ada"))
    with Visitor(address, visitor.issuer) as another:
        another.log_in()
        visitor.visit(f"{visitor.issuer}/session/end", logout="yes")
        assert (visitor.user, another.user) == (None, "Ada")
    assert otherwise.get("/page").json["user"] == "Ada"


@pytest.mark.promise(72)
def test_a_user_with_an_app_is_asked_for_its_code(visitor, site):
    visitor.register()
    app = add_app(site, find_user("Ada"))
    visitor.log_out()
    assert visitor.log_in() == "/auth/second"
    assert visitor.user is None
    visitor.send("/auth/second", code=app.code())
    assert visitor.user == "Ada"


TWO_FACTORS = {"ada": {"amr": ["pwd", "otp", "mfa"]}}


@pytest.mark.parametrize(
    ("people", "parameters", "path"),
    [
        (TWO_FACTORS, {"second_factor": "trusted"}, "/"),
        ({}, {"second_factor": "trusted"}, "/auth/second"),
        (TWO_FACTORS, {}, "/auth/second"),
    ],
    ids=["proven and trusted", "not proven", "not trusted"],
)
def test_a_second_factor_of_the_provider_counts_if_it_is_trusted(visitor, site, path):
    visitor.register()
    add_app(site, find_user("Ada"))
    visitor.log_out()
    assert visitor.log_in() == path


@pytest.mark.parametrize("algorithm", ["RS256", "PS256", "ES256", "EdDSA", "Ed25519"])
def test_a_token_of_each_algorithm_is_accepted(visitor, certified, address, algorithm):
    certified.configure(address, algorithm=algorithm)
    visitor.register()
    assert visitor.user == "Ada"


def test_claims_are_taken_from_the_id_token_if_they_are_there(visitor, certified, address):
    certified.configure(address, conform=False)
    visitor.register()
    assert visitor.ask("/auth/me")["email_verified"] is True


@pytest.mark.promise(71)
def test_the_provider_can_change_its_keys(visitor, certified, address, clock):
    visitor.register()
    visitor.log_out()
    certified.configure(address, keys=("2", "1"))
    answer = visitor.come_back(visitor.begin())
    assert answer.status_code == 502  # keys are fetched at most once a minute
    clock[0] = 61
    visitor.log_in()
    assert visitor.user == "Ada"


def test_cancelling_at_the_provider_is_no_login(visitor, address):
    url = visitor.cancel(visitor.begin())
    assert url.startswith(f"{address}/auth/oidc/work/callback?error=access_denied")
    answer = visitor.client.get(url, headers=BROWSER)
    assert (answer.status_code, visitor.user) == (403, None)
    visitor.register()
