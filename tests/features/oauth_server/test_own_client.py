"""A site of wsgiauth whose users log in with another one: OIDC_PROVIDERS and OAUTH_SERVER."""

import pytest

from tests.support.factors import FACTOR_KEY, add_app
from tests.support.provider_site import Person, provider_site
from tests.support.sites import EMAIL, PASSWORD, USERNAME, Stage, echo, serving
from wsgiauth import AuthMiddleware, storage
from wsgiauth.features.oauth_server.logouts import Logouts
from wsgiauth.storage import context
from wsgiauth.testing import make_settings, make_user

SCRIPT = {"Accept": "application/json", "Sec-Fetch-Site": "same-origin"}


class Visitor(Person):
    """A user who logs in at another site with an account at the provider."""

    def __init__(self, provider, address, username):
        super().__init__(provider.address, username)
        self.elsewhere = address

    def send(self, path, **fields):
        """Send what a script of the other site sends, and return the answer."""
        return self.http.post(f"{self.elsewhere}{path}", json=fields, headers=SCRIPT)

    def log_in(self, path="/auth/oidc/home", **fields):
        """Log in at the provider, and return the last answer of the other site."""
        return self.visit(self.send(path, **fields).json()["next"])

    def register(self):
        """Log in for the first time."""
        self.log_in()
        assert self.send("/auth/complete", username="Augusta").is_success

    def ask(self, path):
        return self.http.get(f"{self.elsewhere}{path}", headers=SCRIPT).json()


@pytest.fixture(scope="module")
def provider(tmp_path_factory):
    with provider_site(tmp_path_factory.mktemp("provider"), FACTOR_KEY=FACTOR_KEY) as site:
        yield site


@pytest.fixture
def demand():
    """Return who must have a second factor at the other site."""
    return "offered"


@pytest.fixture
def username():
    return USERNAME


@pytest.fixture
def visitor(provider, demand, username):
    """Return a user at a new site, which is a new client of the provider."""
    stage = Stage()
    with serving(stage) as address:
        bye = [f"{address}/auth/login"]
        uri = f"{address}/auth/oidc/home"
        wiki = provider.register(
            "Wiki", f"{uri}/callback", logout_redirects=bye, logout_uri=f"{uri}/logout"
        )
        issuer = provider.address.replace("//", f"//{wiki.id}:{wiki.secret}@")
        stage.app = AuthMiddleware(
            echo,
            make_settings(
                PUBLIC_URL=address,
                OIDC_PROVIDERS=(f"home:{issuer}?second_factor=trusted&logout=provider",),
                SECOND_FACTOR=demand,
            ),
        )
        with Visitor(provider, address, username) as visitor:
            yield visitor
    storage.discard_connection(stage.app.database)


def test_a_person_registers_with_the_account_of_the_provider(provider, visitor):
    visitor.register()
    account = visitor.ask("/auth/me")
    assert (account["email"], account["email_verified"]) == (EMAIL, False)  # link=ask
    (identity,) = visitor.ask("/auth/identities")["identities"]
    assert identity["subject"] == str(provider.ada.id)


def test_a_person_logs_in_again_without_a_page(visitor):
    visitor.register()
    visitor.send("/auth/logout")
    visitor.pages.clear()
    visitor.log_in()
    assert (visitor.ask("/")["user"], visitor.pages) == ("Augusta", [])


def test_a_logout_ends_the_session_at_the_provider_too_if_the_person_agrees(visitor):
    visitor.register()
    visitor.pages.clear()
    login_page = f"{visitor.elsewhere}/auth/login"
    url = visitor.send("/auth/logout").json()["next"]
    assert visitor.visit(url, until=login_page) == login_page
    visitor.log_in()
    assert visitor.pages == ["Log out of this site?", "Log in"]


@pytest.mark.promise(92)
def test_a_logout_at_the_provider_ends_the_session_elsewhere(provider, visitor, unsent):
    logouts = provider.app.site.require(Logouts)
    logouts.stop()
    visitor.register()
    visitor.log_out()
    assert visitor.ask("/")["user"] == "Augusta"
    with context.using(provider.app.database):
        assert logouts.deliver() is None
    assert visitor.ask("/")["user"] is None


def test_a_confirmation_asks_for_a_new_proof_at_the_provider(visitor):
    visitor.register()
    visitor.pages.clear()
    visitor.log_in("/auth/confirm", provider="home")
    assert visitor.pages == ["Confirm that it is you"]


@pytest.mark.parametrize("demand", ["all"])
@pytest.mark.parametrize(
    ("username", "user"),
    [(USERNAME, None), ("Grace", "Augusta")],
    ids=["one factor", "two factors"],
)
def test_a_second_factor_at_the_provider_counts(provider, visitor, username, user):
    if username == "Grace":
        grace = make_user(provider.app, username, password=PASSWORD, is_verified=True)
        visitor.app = add_app(provider.app, grace)
    visitor.register()
    visitor.send("/auth/logout")
    visitor.log_in()
    assert visitor.ask("/").get("user") == user
