"""Requests that draw the answers of the kernel's endpoints that `tests.support.contract` leaves."""

from webtest import TestApp

from tests.support.contract import GARBAGE, Request, sent
from tests.support.federated import remove_password
from tests.support.sites import PASSWORD
from wsgiauth.accounts import update_user
from wsgiauth.accounts.models import User
from wsgiauth.storage import context
from wsgiauth.testing import bearer, make_user

BOB = {"username": "Bob", "email": "bob@example.org", "password": PASSWORD}
NEW = {"current_password": PASSWORD, "new_password": "another unrelated phrase"}
WRONG = {**NEW, "current_password": "wrong"}
CROSS_SITE = {"Sec-Fetch-Site": "cross-site"}


def answers(world):
    """Yield requests of anonymous clients and of users."""
    for _again in range(2):  # the second time, the name is taken
        yield sent("POST", "/register", BOB)
    ada = make_user(world.site, "ada", password=PASSWORD)
    right = {"username": "ada", "password": PASSWORD}
    for password in (PASSWORD, "wrong"):
        yield sent("POST", "/login", {**right, "password": password})
    yield sent("POST", "/login", right, site=world.make(PASSWORD_LOGIN="off"), accepts=({},))
    for token in (_refresh_token(world, ada), "x"):
        yield sent("POST", "/refresh", {"refresh_token": token})
    for method in ("GET", "POST"):
        for headers in ({}, CROSS_SITE):
            yield Request(method, "/logout", headers)
    for language in ("en", "xx"):
        yield sent("POST", "/language", {"language": language})
    login = bearer(world.site, ada)
    for end in ("0" * 16, "others"):
        yield sent("POST", "/sessions", {"end": end}, login)
    for password in ("wrong", PASSWORD):
        yield sent("POST", "/confirm", {"password": password}, login, accepts=({},))
    yield sent("POST", "/password", WRONG, bearer(world.site, ada))
    yield sent("POST", "/password", NEW, bearer(world.site, ada), accepts=({},))
    for name in ("bob", "lovelace"):
        yield sent("POST", "/username", {"username": name}, bearer(world.site, ada))
    frida = world.user()
    with context.using(world.site.database):
        frida = remove_password(frida)
    for fields, method in ((None, "GET"), (NEW, "POST")):
        yield sent(method, "/password", fields, cookies=world.stale(frida))
    yield from _throttled(world)
    yield from _last_superuser(world)


def _throttled(world):
    """Yield requests at the site where one attempt is free: the waits double from a second on."""
    login = bearer(world.limited, make_user(world.limited, "lin"))
    for _again in range(5):
        yield sent("POST", "/register", BOB, site=world.limited)
        wrong = {"username": "unknown", "password": "wrong"}
        yield sent("POST", "/login", wrong, site=world.limited)
        yield sent("POST", "/password", WRONG, login, site=world.limited)
        yield sent("POST", "/confirm", {"password": "wrong"}, login, site=world.limited)
        yield sent("POST", "/username", {"username": "Bob"}, login, site=world.limited)


def _last_superuser(world):
    """Yield the request that would delete the only superuser."""
    with context.using(world.site.database):
        for each in User.select().where(User.is_superuser):
            update_user(each, is_superuser=False)
    yield sent("POST", "/close", {}, world.login(is_superuser=True))
    yield Request("GET", "/me", GARBAGE)


def _refresh_token(world, user):
    fields = {"username": user.username, "password": PASSWORD, "refresh": True}
    return TestApp(world.site).post_json("/auth/login", fields).json["refresh_token"]


def without_a_database(world):
    """Return the renewal of a session."""
    token = _refresh_token(world, world.user(password=PASSWORD))
    return [sent("POST", "/refresh", {"refresh_token": token})]
