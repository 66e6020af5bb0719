"""What apps and users learn of an address that another provider has verified."""

from contextlib import contextmanager
from urllib.parse import urljoin

import pytest
from webtest import TestApp

from tests.features.oauth_server.test_issuing import id_claims
from tests.support.oauth_apps import USERINFO
from tests.support.provider_site import Person, provider_site
from tests.support.sites import PASSWORD, Stage, echo, serving
from wsgiauth import AuthMiddleware, storage
from wsgiauth.accounts import update_user
from wsgiauth.storage.models import utc_now
from wsgiauth.testing import logged_in, make_settings, make_user, provider_account

CEO = "ceo@corp.example"
ISSUER = "https://work.example"
ENTRY = "work:https://id:secret@work.example"
SCRIPT = {"Accept": "application/json", "Sec-Fetch-Site": "same-origin"}
PROOFS = {
    "a link": ("link", ENTRY, True),
    "an operator": ("operator", ENTRY, True),
    "a provider with link=verified": (ISSUER, f"{ENTRY}?link=verified", True),
    "a provider with link=ask": (ISSUER, ENTRY, False),
    "a provider that has left OIDC_PROVIDERS": (ISSUER, "other:https://a:b@other.example", False),
    "an unknown proof": ("", f"{ENTRY}?link=verified", False),
}


@pytest.fixture
def further(entry):
    return {"OIDC_PROVIDERS": (entry,)}


@pytest.mark.promise(68)
@pytest.mark.parametrize(("proof", "entry", "is_proven"), PROOFS.values(), ids=PROOFS)
def test_every_answer_says_whether_the_address_is_proven(site, ada, wiki, proof, is_proven):
    """An entry that is removed, or that loses `link=verified`, counts no longer."""
    update_user(ada, email_verified_at=utc_now(), email_verified_by=proof)
    browser = logged_in(site, ada)
    tokens = wiki.log_in(browser, scope="openid email")
    bearer = {"Authorization": f"Bearer {tokens['access_token']}"}
    said = {
        "ID token": id_claims(wiki, tokens),
        "userinfo": TestApp(site).get(USERINFO, headers=bearer).json,
        "me": browser.get("/auth/me").json,
        "account": browser.get("/auth/account").json,
        "data": browser.get("/auth/data").json,
    }
    found = {name: each["email_verified"] for name, each in said.items()}
    assert found == dict.fromkeys(said, is_proven)


@contextmanager
def shop_of(home, address_of_ceo):
    """Serve a shop that trusts the addresses of a provider, where the owner of one is a user."""
    stage = Stage()
    with serving(stage) as address:
        app = home.register("Shop", f"{address}/auth/oidc/home/callback")
        issuer = home.address.replace("//", f"//{app.id}:{app.secret}@")
        settings = make_settings(
            PUBLIC_URL=address, OIDC_PROVIDERS=(f"home:{issuer}?link=verified",)
        )
        stage.app = AuthMiddleware(echo, settings)
        make_user(stage.app, "ceo", email=address_of_ceo, password=PASSWORD, is_verified=True)
        yield address
    storage.discard_connection(stage.app.database)


@pytest.mark.promise(68)
@pytest.mark.parametrize(
    ("entry", "user"),
    [(ENTRY, None), (f"{ENTRY}?link=verified", "ceo")],
    ids=["link=ask", "link=verified"],
)
@pytest.mark.slow
def test_a_stranger_at_a_provider_does_not_become_another_user_of_an_app(tmp_path, entry, user):
    with (
        provider_site(tmp_path, OIDC_PROVIDERS=(entry,)) as home,
        shop_of(home, CEO) as shop,
        Person(home.address, "stranger") as person,
    ):
        provider_account(home.app, "work", subject="666", email=CEO, email_verified=True)
        page = f"{home.address}/auth/complete"
        send(person, home.address, "/auth/oidc/work", until=page)
        created = person.http.post(page, json={"username": "stranger"}, headers=SCRIPT)
        assert created.is_success, created.text
        send(person, shop, "/auth/oidc/home")
        assert person.http.get(shop, headers=SCRIPT).json()["user"] == user


def send(person, address, path, until=None):
    """Log in with the provider of a button, and follow where it leads."""
    answer = person.http.post(f"{address}{path}", json={}, headers=SCRIPT)
    person.visit(urljoin(address, answer.json()["next"]), until)
