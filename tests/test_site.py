"""The parts that features add to a site."""

from dataclasses import replace

import pytest
from webtest import TestApp

from tests.support.identities import ENTRY
from tests.support.sites import echo
from wsgiauth import AuthMiddleware
from wsgiauth.authentication.descriptions import DescribedClaims, DescribedStrings
from wsgiauth.authentication.federated_logins import FederatedLogins
from wsgiauth.authentication.sessions import Sessions
from wsgiauth.authentication.tokens import Tokens
from wsgiauth.events.kinds import DeclaredKinds
from wsgiauth.exceptions import ConfigurationError, NotFoundError, RetryLaterError
from wsgiauth.extend import Endpoint, Feature
from wsgiauth.features.providers.provider_logins import ProviderLogins
from wsgiauth.features.registry import FEATURES
from wsgiauth.figures import Figures
from wsgiauth.figures.event_counts import EventCounts
from wsgiauth.parts import Parts
from wsgiauth.site import Site
from wsgiauth.staff.event_reasons import EventReasons
from wsgiauth.staff.user_lists import UserList
from wsgiauth.testing import make_settings
from wsgiauth.throttling.counts import Limit
from wsgiauth.web.pages import ErrorPage

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


def test_a_kernel_without_features_has_no_part_but_its_own(settings):
    site = Site.from_settings(settings, "/auth", ())
    assert {type(each) for each in site.parts.all(object)} == {
        Tokens,
        Sessions,
        Figures,
        EventCounts,
        DeclaredKinds,
    }
    assert not site.factors.are_offered


def test_a_feature_counts_attempts_by_subject_and_by_network(ada, site):
    limit = Limit("badges", free=2, waits=(60,), window=60)
    networks = ("2001:db8::/64", "2001:db8::/48")
    for _turn in range(2):
        site.site.attempt(limit, "7").require_turn().begin()
        site.site.attempt(limit, networks=networks).require_turn().begin()
    for waiting in (site.site.attempt(limit, "7"), site.site.attempt(limit, networks=networks)):
        with pytest.raises(RetryLaterError):
            waiting.require_turn()
    site.site.attempt(limit, "8", networks=("2001:db8:0:1::/64", networks[1])).require_turn()


class Shown(Endpoint):
    """GET: a page that names the mount."""

    def get(self, environ, site):
        page = ErrorPage(status=200, title="Badges", detail=f"Below {site.mount}")
        return site.render(environ, page, headers=(("X-Badges", "2"),))


def test_a_feature_renders_a_page():
    feature = Feature(name="badges", urls={"/badges": Shown()})
    site = AuthMiddleware(echo, make_settings(FEATURES=(feature,)), mount="/account")
    shown = TestApp(site).get("/account/badges")
    assert (shown.html.h1.text, shown.headers["X-Badges"]) == ("Badges", "2")
    shown.mustcontain("Below /account")


def part_of(interface, **attributes):
    """Return a class of parts with every method of an interface."""
    methods = dict.fromkeys(interface.__abstractmethods__, lambda self: None)
    return type(interface.__name__, (interface,), {**methods, **attributes})


def test_two_features_that_name_api_keys_are_refused():
    kinds = {name: part_of(EventReasons, events={name}, names_keys=True) for name in "ab"}
    with pytest.raises(ConfigurationError, match="Two features have the part EventReasons"):
        Parts({name: {each: lambda _, c=each: c()} for name, each in kinds.items()})


@pytest.mark.parametrize(
    ("interface", "name", "own", "others"),
    [
        pytest.param(DescribedStrings, "prefix", "app_", ["app_", "app", "app_key"], id="prefix"),
        pytest.param(DescribedClaims, "claim", "grant", ["grant"], id="claim"),
        pytest.param(UserList, "name", "apps", ["apps"], id="list of a user"),
        pytest.param(EventReasons, "events", {"a", "b"}, [{"b", "c"}], id="reasons of an event"),
    ],
)
def test_parts_between_which_an_order_would_decide_are_refused(interface, name, own, others):
    def parts(*values):
        kinds = [part_of(interface, **{name: each}) for each in values]
        return Parts({f"f{i}": {each: lambda _, c=each: c()} for i, each in enumerate(kinds)})

    assert len(parts(own, type(own)("x")).all(interface)) == 2
    for other in others:
        with pytest.raises(
            ConfigurationError, match=f"Two features have the part {interface.__name__}"
        ):
            parts(own, other)
