"""The first proof of an address: it ends all that a stranger added who registered with it."""

import json
import time

import pytest

from tests.conftest import insert_user
from tests.support import features
from tests.support.driving import make_site
from tests.support.sites import EMAIL, USERNAME
from wsgiauth import storage
from wsgiauth.accounts.models import User
from wsgiauth.authentication.password import make_reset_link, redeem_login, reset_password
from wsgiauth.features.oauth_server.tables import Grant
from wsgiauth.features.personal_data.file import pieces
from wsgiauth.mail.letters import secret_in

# The lists of the user's file that can still have entries.
KEPT = {
    "groups": "an operator or the application gave them",
    "permissions": "likewise",
    "sessions": "they are revoked",
    "app_grants": "they have ended",
    "app_sessions": "they name the apps that are to learn of the logout",
    "documents_of_apps": "apps publish them",
    "emails": "they wait",
    "waits": "they are about names and addresses",
    "failed_logins": "likewise",
    "events": "they happened",
}


@pytest.fixture
def site(database_url, tmp_path):
    """Return a site that offers everything, and sends no email."""
    middleware = make_site(database_url, tmp_path)
    middleware.site.outbox.keep_messages()
    yield middleware
    storage.discard_connection(middleware.database)


def by_a_new_password(site, user, secret):
    proven = {"now": time.time(), "at_first_proof": site.site.at_first_proof}
    return reset_password(
        user, secret, "other unrelated words", settings=site.site.settings, **proven
    )


def by_a_login(site, user, secret):
    proven = {"now": time.time(), "at_first_proof": site.site.at_first_proof}
    return redeem_login(user, secret, **proven)


@pytest.mark.promise(100)
@pytest.mark.every_database
@pytest.mark.parametrize("prove", [by_a_new_password, by_a_login])
def test_the_first_proof_leaves_nothing_of_what_a_stranger_added(site, prove):
    user = insert_user(USERNAME, EMAIL)
    features.fill(site, user)
    made = {"mount": "/auth", "now": time.time()}
    secret = secret_in(make_reset_link(user, site.site.settings, **made))
    assert prove(site, User.get_by_id(user.id), secret)
    stored = User.get_by_id(user.id)
    file = json.loads("".join(pieces(stored, site.site.settings, site.site.personal_data)))
    kept = {name for name, each in file.items() if isinstance(each, list) and each}
    assert kept <= KEPT.keys()
    assert all(each["is_revoked"] for each in file["sessions"])
    assert not Grant.select().where(Grant.stamp == stored.security_stamp).exists()
