"""Sites whose users accept terms, and what such a site asks of them."""

from dataclasses import replace

from wsgiauth import AuthMiddleware, User
from wsgiauth.features.terms import acceptances
from wsgiauth.features.terms.tables import Acceptance
from wsgiauth.storage import context
from wsgiauth.web.urls import with_next

OLDER, VERSION, LATER = "2025-01-31", "2026-11-02", "2027-03-01"
TEXT = "/terms"
TERMS = {"TERMS_URL": TEXT, "TERMS_VERSION": VERSION}
PAGE = "/auth/terms"
MEMBERS = {"terms_url": TEXT, "terms_version": VERSION}
LACKING = {"restriction": "terms_required", **MEMBERS}
SCRIPT = {"Accept": "application/json", "Sec-Fetch-Site": "same-origin"}


def to_page(wanted=""):
    """Return where a browser is led that wants a page."""
    return with_next(PAGE, wanted)


def with_terms(settings, app, *, version=VERSION, of=None, **arguments):
    """Return an application whose users accept a version; `of` are further settings."""
    changes = {**TERMS, "TERMS_VERSION": version, **(of or {})}
    return AuthMiddleware(app, replace(settings, **changes), **arguments)


def accepted_by(user):
    """Return the versions that a user has accepted, the latest first."""
    return [each.version for each in acceptances.list_accepted(user)]


def number_of_rows(site):
    """Return how many acceptances a site has."""
    with context.using(site.database):
        return Acceptance.select().count()


def known_to(site, user):
    """Return a user as another application on the same database knows them."""
    with context.using(site.database):
        return User.get_by_id(user.id)


def reasons(heard):
    """Return the versions in the events about acceptances."""
    return [each.reason for each in heard if each.name == "terms_accepted"]
