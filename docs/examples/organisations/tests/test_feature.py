"""The feature as a whole."""

from wsgi_accounts_organisations import FEATURE

from wsgiauth.testing import check_feature


def test_the_feature_keeps_the_rules_of_wsgiauth():
    check_feature(FEATURE, {"ADMIN_PANEL": True, "MAIL_URL": "memory:"}, languages=["de"])
