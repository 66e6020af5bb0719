"""Codes as a way into an account."""

import pytest

from tests.support.federated import remove_password
from wsgiauth.accounts.models import User
from wsgiauth.features.login_codes.parts import can_log_in


@pytest.mark.parametrize("proven_by", ["link", "operator", "https://id.example", ""])
def test_a_code_is_a_way_into_an_account_with_a_proven_address(proven_by, site, ada):
    User.update(email_verified_by=proven_by).execute()
    ada = remove_password(ada)
    assert site.site.ways_in.has_one(ada) == (proven_by in ("link", "operator"))


@pytest.mark.parametrize("options", [{"LOGIN_CODES": False}], ids=["off"])
def test_without_codes_it_is_none(settings, site, ada, options):
    assert not can_log_in(ada, settings)
    assert not site.site.ways_in.has_one(remove_password(ada))
