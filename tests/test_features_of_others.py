"""Features that the setting FEATURES adds to a site."""

from dataclasses import replace

import pytest
from webtest import TestApp

from tests.support.sites import BROWSER, echo
from wsgiauth import AuthMiddleware, storage
from wsgiauth.events.kinds import Change
from wsgiauth.exceptions import ConfigurationError
from wsgiauth.feature import Feature
from wsgiauth.features.factors.factors import KINDS
from wsgiauth.features.registry import FEATURES
from wsgiauth.forms.endpoint import SECURITY, AccountLink, Endpoint, require_login
from wsgiauth.settings.features import Declaration
from wsgiauth.settings.kinds import FeatureSettings
from wsgiauth.testing import logged_in
from wsgiauth.web.pages import Page
from wsgiauth.web.responses import json_response


class Badges(Endpoint):
    """Lists the badges of a user."""

    account_link = AccountLink(SECURITY, "Your badges", "What you have earned.")

    def get(self, environ, site):
        require_login(environ, site)
        return json_response({"badges": []})


BADGES = Feature(name="badges", urls={"/badges": Badges()})


@pytest.fixture
def badges(settings):
    """Return a site with the feature."""
    return AuthMiddleware(echo, replace(settings, FEATURES=(BADGES,)))


def test_its_url_answers_and_the_account_page_leads_there(badges):
    browser = logged_in(badges)
    assert browser.get("/auth/badges").json == {"badges": []}
    page = browser.get("/auth/account", headers=BROWSER)
    assert page.click("Your badges").json == {"badges": []}


def test_another_site_of_the_process_has_it_not(badges, site, ada):
    logged_in(site, ada).get("/auth/badges", status=404)
    assert "Your badges" not in logged_in(site, ada).get("/auth/account", headers=BROWSER)
    assert "/badges" not in TestApp(site).get("/auth/openapi.json").json["paths"]


def test_the_process_environment_names_it(settings, monkeypatch):
    named = {
        "FEATURES": f"{__name__}:BADGES",
        "SECRET_KEY": settings.SECRET_KEY,
        "DATABASE_URL": settings.DATABASE_URL,
    }
    for name, value in named.items():
        monkeypatch.setenv(name, value)
    TestApp(AuthMiddleware(echo)).get("/auth/badges", status=401)


def test_a_url_that_no_module_describes_is_left_out_of_the_document(badges):
    paths = TestApp(badges).get("/auth/openapi.json").json["paths"]
    assert "/badges" not in paths
    assert "/me" in paths


def test_its_order_is_after_ours_as_named(settings):
    other = Feature(name="another")
    made = AuthMiddleware(echo, replace(settings, FEATURES=(other, BADGES)))
    assert made.site.features == (*FEATURES, other, BADGES)


CONFLICTS = {
    "a name of ours": (
        Feature(name="terms"),
        "FEATURES must be further features; wsgiauth itself has terms.",
    ),
    "a URL of ours": (
        Feature(name="badges", urls={"/me": Badges()}),
        "Two features have the URL /me: the kernel and badges.",
    ),
    "a URL of another feature": (
        Feature(name="badges", urls={"/terms": Badges()}),
        "Two features have the URL /terms: terms and badges.",
    ),
    "a URL that the frame has": (
        Feature(name="badges", urls={"/account": Badges()}),
        "Two features have the URL /account: the kernel and badges.",
    ),
}


WRONG = {
    "a function as a question": (
        {"questions": (print,)},
        "questions must be a tuple of Question, such as (one,) for one.",
    ),
    "one event without a comma": (
        {"events": Change("badge_given", "Badge given")},
        "events must be a tuple of EventKind, such as (one,) for one.",
    ),
    "a list for a function": ({"pages": []}, "pages must be a function."),
    "a list for a dict": ({"expiring": []}, "expiring must be a dict."),
    "a string as a command": (
        {"commands": {"badges": "badges.commands"}},
        "commands must have objects of Command as its values.",
    ),
    "a string as the folder": (
        {"folder": "badges"},
        "folder must be a Path, such as Path(__file__).parent.",
    ),
    "an object for the settings": (
        {"settings": FeatureSettings()},
        "settings must be a class.",
    ),
    "a class as an endpoint": (
        {"urls": {"/badges": Badges}},
        "urls, '/badges' must be an object: Badges().",
    ),
    "a URL without a slash": (
        {"urls": {"badges": Badges()}},
        "urls, 'badges' must be a path below the mount, such as \"/badges\".",
    ),
    "a URL with the mount": (
        {"urls": {"/auth/badges": Badges()}},
        "urls, '/auth/badges' must be a path below the mount, such as \"/badges\".",
    ),
}


@pytest.mark.parametrize(("values", "problem"), WRONG.values(), ids=WRONG)
def test_a_wrong_declaration_is_refused_by_feature_and_attribute(values, problem):
    with pytest.raises(ConfigurationError) as caught:
        Feature(name="badges", **values)
    assert str(caught.value) == f"The feature badges: {problem}"


@pytest.mark.parametrize(("feature", "problem"), CONFLICTS.values(), ids=CONFLICTS)
def test_it_cannot_have_what_another_one_has(settings, feature, problem):
    with pytest.raises(ConfigurationError) as caught:
        AuthMiddleware(echo, replace(settings, FEATURES=(feature,)))
    assert str(caught.value) == problem


INTERNAL = {
    "replaces": frozenset({"/login"}),
    "credential_kinds": lambda settings: [],
    "way_in": lambda user, settings: True,
    "is_way_in": lambda settings: True,
    "factor_kinds": KINDS,
}


@pytest.mark.promise(105)
@pytest.mark.parametrize(("name", "value"), INTERNAL.items(), ids=INTERNAL)
def test_it_has_no_internal_attribute(settings, name, value):
    feature = Feature(name="badges", urls={"/login": Badges()}, **{name: value})
    with pytest.raises(ConfigurationError) as caught:
        AuthMiddleware(echo, replace(settings, FEATURES=(feature,)))
    problem = f"FEATURES must be features without {name}, which is internal; badges has it."
    assert str(caught.value) == problem


def test_a_declaration_alone_is_no_feature(settings):
    with pytest.raises(ConfigurationError, match=r"Declaration\(.*\) is no Feature"):
        AuthMiddleware(echo, replace(settings, FEATURES=(Declaration(name="badges"),)))


class Lost(Endpoint):
    """Sends a statement about a table that there is not."""

    def get(self, environ, site):
        """Fail."""
        storage.current().execute_sql("SELECT * FROM badges_badge")


def test_its_wrong_statement_can_be_found_by_the_log(settings, caplog):
    feature = Feature(name="badges", urls={"/badges": Lost()})
    site = AuthMiddleware(echo, replace(settings, FEATURES=(feature,)))
    TestApp(site).get("/auth/badges", status=503)
    assert f'File "{__file__}"' in caplog.text


class BadgesPage(Page):
    """A page whose template has a mistake."""

    template = "badges.html"


def test_a_mistake_in_its_template_is_found_at_start(settings, tmp_path):
    template = tmp_path / "templates/badges.html"
    template.parent.mkdir()
    template.write_text("\n{{ page.colour }}\n", encoding="utf-8")
    feature = Feature(name="badges", folder=tmp_path, pages=lambda: [BadgesPage()])
    with pytest.raises(ConfigurationError) as caught:
        AuthMiddleware(echo, replace(settings, FEATURES=(feature,)))
    assert f"{template}, line 2: " in str(caught.value)
    assert "has no attribute 'colour'" in str(caught.value)
