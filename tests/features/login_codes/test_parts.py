"""Codes as a way into an account."""

import pytest

from tests.support.federated import remove_password
from wsgiauth.features.login_codes.parts import can_log_in


def test_a_code_is_a_way_into_an_account_with_a_proven_address(site, ada):
    ada, ways = remove_password(ada), {"link": True, "operator": True, "https://id.example": False}
    for proven_by, is_one in {**ways, "": False}.items():
        ada.email_verified_by = proven_by
        assert site.site.ways_in.has_one(ada) is is_one, proven_by


@pytest.mark.parametrize("options", [{"LOGIN_CODES": False}], ids=["off"])
def test_without_codes_it_is_none(settings, site, ada, options):
    assert not can_log_in(ada, settings)
    assert not site.site.ways_in.has_one(remove_password(ada))
