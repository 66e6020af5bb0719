"""The parts that features add to a site."""

from dataclasses import replace

import pytest

from tests.support.identities import ENTRY
from wsgiauth.authentication.federated_logins import FederatedLogins
from wsgiauth.exceptions import NotFoundError
from wsgiauth.features.providers.provider_logins import ProviderLogins
from wsgiauth.features.registry import FEATURES
from wsgiauth.site import Site

PUBLIC = "https://example.org"


def test_a_part_is_found_by_its_class_and_by_its_interface(settings):
    settings = replace(settings, OIDC_PROVIDERS=(ENTRY,), PUBLIC_URL=PUBLIC)
    site = Site.from_settings(settings, "/auth", FEATURES)
    assert site.part(FederatedLogins) is site.require(ProviderLogins)


def test_a_site_has_no_part_of_a_feature_that_is_off(settings):
    site = Site.from_settings(settings, "/auth", FEATURES)
    assert site.part(FederatedLogins) is None
    with pytest.raises(NotFoundError):
        site.require(FederatedLogins)


def test_a_kernel_without_features_has_no_part(settings):
    site = Site.from_settings(settings, "/auth", ())
    assert site.parts == ()
    assert not site.factors.are_offered
