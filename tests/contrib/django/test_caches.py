"""Django's own caches, which are inside of `AuthMiddleware`, give no user the page of another."""

import pytest
from webtest import TestApp

from tests.support.sites import SAME_ORIGIN
from wsgiauth import testing

MEMORY = {"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}}
pytestmark = [pytest.mark.promise(62), pytest.mark.promise(63)]


@pytest.fixture(scope="module")
def cached(site):
    """Return the site with Django's cache for all pages."""
    from django.core.wsgi import get_wsgi_application
    from django.test import override_settings

    middleware = [
        "django.middleware.cache.UpdateCacheMiddleware",
        *site.settings.MIDDLEWARE,
        "django.middleware.cache.FetchFromCacheMiddleware",
    ]
    with override_settings(MIDDLEWARE=middleware, CACHES=MEMORY):
        yield site.application.around(get_wsgi_application())


@pytest.fixture(autouse=True)
def empty_cache(cached):
    from django.core.cache import cache

    cache.clear()


@pytest.mark.parametrize("path", ["/who", "/who?max-age=60"])
@pytest.mark.parametrize("scheme", ["cookie", "bearer", "key"])
def test_the_page_of_a_user_is_for_nobody_else(cached, make, bearer, key, scheme, path):
    user, other = make(), make()
    anonymous = TestApp(cached)

    def name(account):
        if scheme == "cookie":
            return testing.logged_in(cached, account).get(path).json["user"]
        headers = bearer(account) if scheme == "bearer" else key(account)
        return anonymous.get(path, headers=headers).json["user"]

    assert [name(user), name(other), name(user)] == [user.username, other.username, user.username]
    assert anonymous.get(path).json == {"user": None}
    assert [name(user), name(other)] == [user.username, other.username]


def test_after_a_logout_the_cache_has_nothing_for_the_old_cookie(cached, make):
    client = testing.logged_in(cached, make())
    kept = {"Cookie": f"wsgiauth={client.cookies['wsgiauth']}"}
    client.get("/who")
    client.post("/auth/logout", headers=SAME_ORIGIN, status=303)
    assert TestApp(cached).get("/who", headers=kept).json == {"user": None}


def test_the_cookie_of_a_login_is_for_nobody_else(cached, make, browser):
    user = make()
    browser(user).get("/who")
    for path in (f"/sign-on?name={user.username}", "/who"):
        client = TestApp(cached)
        client.get(path)
    assert "wsgiauth" not in client.cookies
    sent = [TestApp(cached).get(f"/sign-on?name={user.username}") for _ in range(2)]
    tokens = {each.headers.getall("Set-Cookie")[0] for each in sent}
    assert len(tokens) == 2


def test_pages_that_are_the_same_for_all_are_still_cached(cached, make):
    client = TestApp(cached)
    assert client.get("/time").text == client.get("/time").text
    assert "Vary" not in client.get("/time").headers
