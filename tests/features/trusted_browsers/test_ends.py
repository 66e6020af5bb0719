"""What ends the trust in a browser, and what does not."""

import pytest
from webtest import TestApp

from tests.conftest import insert_user
from tests.support.authenticators import PASSKEYS, Authenticator
from tests.support.factors import FACTOR_KEY, add_app
from tests.support.sites import PASSWORD
from tests.support.trusted import DAYS, is_asked, trust
from wsgiauth import change_password, end_sessions, hash_password, storage, update_user
from wsgiauth.accounts.models import User
from wsgiauth.accounts.tables import TrustedBrowser
from wsgiauth.authentication import sessions
from wsgiauth.authentication.lifetimes import DAY
from wsgiauth.authentication.password import make_reset_link
from wsgiauth.authentication.trusted_browsers import TrustedBrowsers
from wsgiauth.features.factors import factors, recovery_codes, totp
from wsgiauth.features.factors.passkeys.relying_party import RelyingParty
from wsgiauth.features.factors.totp import STEP, Totp
from wsgiauth.web.clients import Client

OTHER_PASSWORD = "four other words"

pytestmark = [pytest.mark.every_database, pytest.mark.promise(84)]


def new_password(site, user):
    change_password(user, OTHER_PASSWORD, settings=site.site.settings)


def new_hash(site, user):
    User.update(hashed_password=hash_password(OTHER_PASSWORD, rounds=4)).execute()


def reset(site, user):
    now = site.site.tokens.now()
    link = make_reset_link(user, site.site.settings, mount="/auth", now=now)
    form = {"token": link.partition("token=")[2], "password": OTHER_PASSWORD}
    TestApp(site).post_json("/auth/reset", form)


def confirm_app(site, user):
    now = site.site.tokens.now()
    device = totp.begin(user, "Tablet", now)
    code = totp.code_of_step(totp.derive_key(FACTOR_KEY, device.salt), int(now) // STEP - 1)
    assert factors.confirm(device, code, (FACTOR_KEY,), now)


def new_app(site, user):
    confirm_app(site, user)


def new_app_by_another_way(site, user):
    add_app(site, user, "Tablet")


def changed_app(site, user):
    confirm_app(site, user)
    assert factors.remove(user, Totp.get(Totp.name == "Phone").id)


def new_passkey(site, user):
    party, now = site.site.part(RelyingParty), site.site.tokens.now()
    credential = Authenticator().create(party.creation_options(user, now))
    factors.add_passkey(party, user, "Laptop", credential, now)


def all_factors(site, user):
    assert factors.remove_all(user)


def new_codes(site, user):
    recovery_codes.replace(user, rounds=4)


def log_out_others(site, user):
    sessions.revoke_all(user, except_id="x")


def log_out_everywhere(site, user):
    assert end_sessions(user) == 0  # there are no sessions, and the trust ends nevertheless


def log_out_all_users(site, user):
    sessions.revoke_every_session()


def deactivation(site, user):
    update_user(user, is_active=False)
    update_user(user, is_active=True)


def deactivation_by_query(site, user):
    User.update(is_active=False).execute()
    User.update(is_active=True).execute()


ENDS = {
    "a new password": new_password,
    "a new hash by a query": new_hash,
    "a link for a forgotten password": reset,
    "a new app": new_app,
    "a new app by another way": new_app_by_another_way,
    "an app in place of another": changed_app,
    "a new passkey": new_passkey,
    "new recovery codes": new_codes,
    "the removal of all factors": all_factors,
    "the logout of all other sessions": log_out_others,
    "the logout everywhere": log_out_everywhere,
    "the logout of all users": log_out_all_users,
    "a deactivation": deactivation,
    "a deactivation by a query": deactivation_by_query,
}
# These leave the row, which does not count any more.
QUERIES = (new_hash, new_app_by_another_way, deactivation_by_query)


def new_username(site, user):
    update_user(user, username="countess")


def same_password_at_another_cost(site, user):
    hashed = hash_password(PASSWORD, rounds=5)
    stamp = User.security_stamp
    User.update(hashed_password=hashed, security_stamp=stamp).execute()


def set_up_without_code(site, user):
    totp.begin(user, "Tablet", site.site.tokens.now())


def other_user_logged_out(site, user):
    end_sessions(insert_user("Grace", "grace@example.org"))


def changed_rights(site, user):
    update_user(user, is_staff=True)


KEEPS = {
    "a new username": new_username,
    "the same password at another cost": same_password_at_another_cost,
    "a set-up of an app that is not finished": set_up_without_code,
    "a logout of another user everywhere": other_user_logged_out,
    "new rights": changed_rights,
}


def password_after(end):
    return OTHER_PASSWORD if end in (new_password, new_hash, reset) else PASSWORD


@pytest.fixture
def site(make_site):
    return make_site(**PASSKEYS)


def test_the_trust_ends_with_each_of_these_in_its_transaction(browser, again, site, ada):
    assert not is_asked(again())
    for words, end in ENDS.items():
        with storage.database.atomic() as transaction:
            end(site, User.get_by_id(ada.id))
            if not factors.list_factors(ada):
                add_app(site, ada)
            assert TrustedBrowser.select().exists() == (end in QUERIES), words
            assert is_asked(again(), password=password_after(end)), words
            transaction.rollback()
        assert TrustedBrowser.select().exists(), words
    assert not is_asked(browser)


def test_the_trust_stays_with_each_of_these(browser, again, site, ada):
    for words, change in KEEPS.items():
        with storage.database.atomic() as transaction:
            change(site, User.get_by_id(ada.id))
            assert not is_asked(again(), User.get_by_id(ada.id).username), words
            transaction.rollback()


def test_the_last_recovery_code_ends_the_trust(browser, site, ada):
    *others, code, last = recovery_codes.replace(ada, rounds=4)
    for each in others:
        recovery_codes.use(ada, each, rounds=4)
    trust(browser, code)
    assert recovery_codes.count(ada) == 1
    assert not is_asked(browser)
    other = TestApp(site)
    trust(other, last)
    assert is_asked(browser)
    assert is_asked(other)


@pytest.mark.promise(84)
@pytest.mark.every_database
def test_a_former_recovery_code_gives_no_trust_after_new_ones(site, ada, app):
    """The former code was accepted, and the owner made new ones before the browser is trusted."""
    recovery_codes.replace(ada, rounds=4)
    browsers, factors_of = site.site.require(TrustedBrowsers), site.site.factors
    before = factors_of.state(ada)
    recovery_codes.replace(ada, rounds=4)
    given = browsers.trust("", ada, before, factors_of, client=Client(), now=site.site.tokens.now())
    assert (given, TrustedBrowser.select().count()) == ("", 0)


def test_the_trust_ends_after_the_days(browser, site, clock):
    grace = insert_user("Grace", "grace@example.org")
    add_app(site, grace)
    factors.remove_all(grace)  # which changes nothing for Ada
    clock.move(DAYS * DAY - 1)
    assert not is_asked(browser)
    clock.move(1)
    assert is_asked(browser)


def test_a_site_that_offers_no_trust_any_more_asks_everyone(browser, make_site, ada):
    browser.app = TestApp(make_site(TRUSTED_BROWSER_DAYS=7)).app
    assert not is_asked(browser)
    browser.app = TestApp(make_site(TRUSTED_BROWSER_DAYS=0)).app
    assert is_asked(browser)
    recovery_codes.replace(ada, rounds=4)
    assert not TrustedBrowser.select().exists()


def test_the_end_of_the_trust_is_an_event_once(browser, ada, heard):
    for _ in range(2):  # then there is nothing to end
        end_sessions(ada)
    assert [(each.name, each.user_id, each.reason) for each in heard] == [
        ("trust_ended", ada.id, "all browsers")
    ]
