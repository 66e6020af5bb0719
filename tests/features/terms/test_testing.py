"""The terms in `wsgiauth.testing`: users have accepted them, unless a test says otherwise."""

import pytest
from webtest import TestApp

from tests.features.terms.sites import LATER, TERMS, VERSION, accepted_by
from tests.support.sites import echo
from wsgiauth import AuthMiddleware
from wsgiauth.events.models import RecordedEvent
from wsgiauth.features.terms import acceptances
from wsgiauth.storage import context
from wsgiauth.testing import api_key, bearer, logged_in, make_settings, make_user


@pytest.fixture(scope="module")
def site():
    """Return a site with terms that tests of an application make."""
    return AuthMiddleware(echo, make_settings(**TERMS))


@pytest.fixture(scope="module")
def plain():
    """Return a site without terms."""
    return AuthMiddleware(echo, make_settings())


def seen(client, **options):
    shown = client.get("/", **options).json
    return shown["user"] or shown["error"]


def versions(site, user):
    """Return what a user has accepted."""
    with context.using(site.database):
        return accepted_by(user)


def test_users_and_sessions_have_accepted_by_default(site):
    user = make_user(site, "default")
    assert versions(site, user) == [VERSION]
    assert seen(logged_in(site, user)) == "default"
    assert seen(TestApp(site), headers=bearer(site, user)) == "default"
    assert seen(logged_in(site)) == "ada"
    with context.using(site.database):
        own = RecordedEvent.select().where(RecordedEvent.user_id == user.id)
        names = [each.name for each in own]
    assert "terms_accepted" not in names


def test_a_user_without_the_terms_lacks_them_in_each_session(site):
    user = make_user(site, "lacking", terms=False)
    assert versions(site, user) == []
    assert seen(logged_in(site, user)) == "terms_required"
    assert seen(TestApp(site), headers=bearer(site, user)) == "terms_required"
    assert seen(TestApp(site), headers=api_key(site, user)) == "lacking"
    assert seen(logged_in(site, user, terms=True)) == "lacking"


def test_a_session_without_the_terms_withdraws_them_from_its_user(site):
    user = make_user(site, "withdrawn")
    with context.using(site.database):
        acceptances.accept(user, LATER)
    before = logged_in(site, user)
    for client in (logged_in(site, user, terms=False), before):
        assert seen(client) == "terms_required"
    assert versions(site, user) == []
    headers = bearer(site, user, terms=False)
    assert seen(TestApp(site), headers=headers) == "terms_required"


def test_an_unknown_demand_is_a_type_error(site, plain):
    for each, keyword in ((site, "term"), (plain, "terms")):
        user = make_user(each, f"typed-{keyword}")
        for function in (logged_in, bearer):
            with pytest.raises(TypeError, match=f"does not demand {keyword} of users"):
                function(each, user, **{keyword: False})
        with pytest.raises(TypeError, match=keyword):
            make_user(each, "unknown", **{keyword: False})
