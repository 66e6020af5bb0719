"""The second factors of a user, of every type."""

import pytest

from tests.support.factors import FACTOR_KEY, add_app
from wsgiauth import Settings, change_password
from wsgiauth.accounts.models import User
from wsgiauth.authentication.second_factors import Factor, SecondFactors
from wsgiauth.exceptions import UnauthenticatedError
from wsgiauth.features.factors import factors, recovery_codes, totp
from wsgiauth.features.factors.totp import Totp
from wsgiauth.storage.models import from_timestamp

pytestmark = pytest.mark.every_database

WITHOUT = Settings()
WITH = Settings(FACTOR_KEY=FACTOR_KEY)


def test_the_factors_of_a_user_are_listed_the_oldest_first(ada, site):
    add_app(site, ada)
    add_app(site, ada, "Tablet")
    Totp.update(confirmed_at=1).where(Totp.name == "Tablet").execute()
    tablet, phone = factors.list_factors(ada)
    assert tablet == Factor(
        "otp", Totp.get(Totp.name == "Tablet").id, "Tablet", from_timestamp(1), "Authenticator app"
    )
    assert phone.name == "Phone"


def test_a_type_that_the_site_does_not_have_does_not_count(ada, site):
    add_app(site, ada)
    assert factors.are_offered(WITH)
    assert SecondFactors(factors.KINDS, WITH).is_needed_by(ada)
    assert not factors.are_offered(WITHOUT)
    assert not SecondFactors(factors.KINDS, WITHOUT).is_needed_by(ada)
    assert len(factors.list_factors(ada)) == 1


def test_without_apps_a_recovery_code_is_accepted(ada):
    code, *_ = recovery_codes.replace(ada, rounds=4)
    assert not SecondFactors(factors.KINDS, WITHOUT).accept(ada, "123456", 0)
    assert SecondFactors(factors.KINDS, WITHOUT).accept(ada, code, 0) == "otp recovery"


def test_a_session_that_has_ended_meanwhile_adds_no_factor(ada, settings):
    totp.begin(ada, "Phone", 0, session_id="ended")
    device = totp.pending_device(ada, "ended")
    change_password(User.get_by_id(ada.id), "four other words", settings=settings)
    code = totp.code_of_step(totp.derive_key(FACTOR_KEY, device.salt), 0)
    with pytest.raises(UnauthenticatedError):
        factors.confirm(device, code, (FACTOR_KEY,), 0)
    with pytest.raises(UnauthenticatedError):
        recovery_codes.replace(ada, rounds=4)
    assert not factors.list_factors(ada)
    assert recovery_codes.count(ada) == 0
