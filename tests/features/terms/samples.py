"""What tests of all features ask of the terms."""

import pytest

from tests.features.terms.sites import MEMBERS, PAGE, TERMS, VERSION
from tests.support.demands import Case
from tests.support.driving import changed, post, send
from tests.support.sites import USERNAME
from wsgiauth.features.terms import acceptances
from wsgiauth.features.terms.demand import TERMS_REQUIRED
from wsgiauth.testing import bearer, logged_in, make_user


def settings(folder, provider):
    """Demand a version."""
    return TERMS


DEMANDS = (
    Case(
        keyword="terms",
        error=TERMS_REQUIRED,
        code=TERMS_REQUIRED,
        status=403,
        page=PAGE,
        settings=TERMS,
        members=MEMBERS,
        registration={"accept_terms": True},
    ),
)


def fill(site, user):
    """Accept the version."""
    acceptances.accept(user, VERSION)


def drive(site, provider):
    """Accept the terms of a site that demands them."""
    with changed(site, **TERMS) as demanding:
        tess = make_user(demanding, "tess")
        lacking = bearer(demanding, tess, terms=False)
        post(demanding, "/terms", {"version": VERSION}, lacking)
        send(demanding, "GET", "/terms", lacking)
        logged_in(demanding, tess).get("/auth/data")


def commands(folder):
    """Return the command of the terms."""
    return ("terms",)


WHOLE_READS = {
    ("acceptances.py", "count", "wsgiauth_terms_acceptance"): (
        "the command `terms` and `check` count"
    ),
    ("acceptances.py", "count", "part of wsgiauth_terms_acceptance"): "the same",
}


def accept_terms(scene):
    """A user accepts a version, and does so again."""
    for _ in range(2):
        acceptances.accept(scene.ada, "2026-11-28")


EVENTS = [
    pytest.param(
        accept_terms, [("terms_accepted", USERNAME, None, "2026-11-28")], id="accepted terms"
    ),
]
