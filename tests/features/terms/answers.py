"""Requests that draw the answers of /auth/terms, at a site that demands a version."""

from tests.features.terms.sites import TERMS
from tests.support.contract import JSON, Request, cookie_in, sent, unreadable
from wsgiauth.testing import bearer

PATH = "/terms"


def answers(world):
    """Yield requests of users who have not accepted the terms."""
    site = world.make(**TERMS)
    login = bearer(site, world.user(site, terms=False), terms=False)
    yield Request("GET", PATH, login, site=site)
    for version in ("2026-01-01", TERMS["TERMS_VERSION"]):
        yield sent("POST", PATH, {"version": version}, login, site=site)
    yield Request("GET", PATH, query="next=/reports", cookies=cookie_in(login), site=site)
    yield from unreadable(PATH, JSON, login, site=site)
    yield sent("POST", PATH, {"end": "all"}, login, site=site)
