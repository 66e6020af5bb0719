"""SUPPORT_URL, TERMS_URL and PRIVACY_URL: where pages lead to them."""

from dataclasses import replace

import pytest
from webtest import TestApp

from tests.support.sites import echo
from tests.support.tables import row_by_row
from tests.web.pages import ERROR, PAGES, REQUEST
from wsgiauth import AuthMiddleware
from wsgiauth.web.pages import Pages, SiteLinks
from wsgiauth.web.urls import LOGIN_AT

LINKS = SiteLinks("mailto:help@example.org", "/terms?a&b", "https://example.org/privacy")
NEW_ACCOUNTS = ("register.html", "verified_register.html", "invitation.html", "complete.html")


def shown(page, links=LINKS, environ=REQUEST):
    return shown_by(Pages("/auth", links=links), page, environ)


def shown_by(pages, page, environ=REQUEST):
    return TestApp(pages.render(environ, page)).get("/", expect_errors=True).html


def addresses(part):
    return [each["href"] for each in part.find_all("a")]


def test_the_foot_of_each_page_has_the_links():
    pages = Pages("/auth", links=LINKS)
    feet = {name: shown_by(pages, page).find("nav", "about") for name, page in PAGES.items()}
    assert {name: addresses(foot) for name, foot in feet.items()} == {
        name: list(LINKS) for name in PAGES
    }


def test_only_a_link_that_is_set_is_shown():
    for name in SiteLinks._fields:
        only = SiteLinks()._replace(**{name: getattr(LINKS, name)})
        foot = shown(PAGES["login.html"], only).find("nav", "about")
        assert addresses(foot) == [each for each in only if each]


def test_a_site_without_links_has_no_foot():
    html = shown(PAGES["login.html"].replaced(languages=()), SiteLinks())
    assert html.find("nav", "about") is None


@row_by_row(
    ("links", "expected"),
    [
        pytest.param(LINKS, [LINKS.terms, LINKS.privacy], id="both"),
        pytest.param(LINKS._replace(privacy=""), [LINKS.terms], id="terms"),
        pytest.param(LINKS._replace(terms=""), [LINKS.privacy], id="privacy"),
    ],
)
def test_a_new_account_accepts_the_terms(links, expected):
    for name in NEW_ACCOUNTS:
        (sentence,) = shown(PAGES[name], links).select("form > p.hint:has(a)")
        assert addresses(sentence) == expected, name


def test_an_error_says_where_to_get_help():
    main = shown(ERROR).main
    assert LINKS.support in addresses(main)
    assert "ask for help" not in shown(ERROR, SiteLinks()).main.text


def test_a_page_of_another_host_has_no_path_of_this_one():
    html = shown(ERROR, environ={**REQUEST, LOGIN_AT: "https://auth.example.org"})
    assert addresses(html.find("nav", "about")) == [LINKS.support, LINKS.privacy]


def test_the_settings_name_the_links(settings):
    names = ("SUPPORT_URL", "TERMS_URL", "PRIVACY_URL")
    app = AuthMiddleware(echo, replace(settings, **dict(zip(names, LINKS, strict=True))))
    page = TestApp(app).get("/auth/login")
    assert addresses(page.html.find("nav", "about")) == list(LINKS)
